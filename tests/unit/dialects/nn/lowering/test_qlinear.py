"""Operations in the mode `qlinear` at the integer level: the same values as by their meanings, bit for bit."""

import numpy as np
import pytest

from qmlir.interpreter.run import interpret
from qmlir.text.parsing import parse_module
from tests.unit.dialects.nn.lower.driver import ENVIRONMENT, check, lowered

MODE = "{requantize = #kernel.requantize<qlinear>}"
I8 = "!quant.uniform<i8:f32, 0.75:-3>"
OTHER = "!quant.uniform<i8:f32, 0.375:7>"
U8 = "!quant.uniform<u8:f32, 1.5:129>"
NARROW = "!quant.uniform<i8<-100:100>:f32, 1.125:5>"
PROBABILITY = ("!quant.uniform<i8:f32, 0.00390625:-128>", "!quant.uniform<u8:f32, 0.00390625>", OTHER)
"""Results of a softmax; with so large a step as the last has, everything is rounded away."""


@pytest.mark.parametrize("result", [I8, U8, NARROW])
@pytest.mark.parametrize("shapes", [("40x5x", "40x5x"), ("40x5x", "5x"), ("40x1x", "40x5x"), ("", "")])
@pytest.mark.parametrize("name", ["add", "mul"])
def test_functions_of_two_values(name: str, shapes: tuple[str, str], result: str) -> None:
    shape = shapes[1] if shapes[0] == "40x1x" else shapes[0]
    check(
        f"nn.{name} {MODE}", [f"tensor<{shapes[0]}{I8}>", f"tensor<{shapes[1]}{OTHER}>"], [f"tensor<{shape}{result}>"]
    )
    check(
        f"nn.{name} {MODE}", [f"tensor<{shapes[0]}{U8}>", f"tensor<{shapes[1]}{OTHER}>"], [f"tensor<{shape}{result}>"]
    )


@pytest.mark.parametrize("data", [I8, U8])
@pytest.mark.parametrize(
    ("windows", "size"),
    [
        ("kernel = [2, 3], strides = [1, 2], pads = [1, 0, 0, 2]", "6x4"),
        ("kernel = [2, 3], pads = [1, 0, 0, 2], count_include_pad = true", "6x7"),
        ("kernel = [3, 3], strides = [2, 2], ceil_mode = true, count_include_pad = true", "3x3"),
        ("kernel = [6, 7]", "1x1"),
    ],
)
def test_average_pool(windows: str, size: str, data: str) -> None:
    mode = f"{{requantize = #kernel.requantize<qlinear>, {windows}}}"
    check(f"nn.average_pool {mode}", [f"tensor<2x3x6x7x{data}>"], [f"tensor<2x3x{size}x{OTHER}>"])


@pytest.mark.parametrize("result", PROBABILITY)
@pytest.mark.parametrize("data", ["!quant.uniform<i8:f32, 0.03:-3>", "!quant.uniform<u8:f32, 0.07:129>"])
def test_functions(data: str, result: str) -> None:
    check(f"nn.sigmoid {MODE}", [f"tensor<3x50x{data}>"], [f"tensor<3x50x{result}>"])
    for axis in (0, 1, 2):
        mode = f"{{requantize = #kernel.requantize<qlinear>, axis = {axis}}}"
        check(f"nn.softmax {mode}", [f"tensor<1x6x20x{data}>"], [f"tensor<1x6x20x{result}>"])


@pytest.mark.parametrize(("result", "largest"), [("i8:f32, 0.00390625:115", 127), ("u8:f32, 0.00390625:130", 255)])
def test_a_softmax_of_one_element_saturates(result: str, largest: int) -> None:
    """It is 1, or 256 steps above the zero point; `e * 256` is beyond f32 on the way."""
    module = parse_module(
        ENVIRONMENT.new_context(),
        f"""func.func @main(%x: tensor<2x1x{I8}>) -> tensor<2x1x!quant.uniform<{result}>> {{
          %0 = nn.softmax %x {MODE} : (tensor<2x1x{I8}>) -> tensor<2x1x!quant.uniform<{result}>>
          func.return %0 : tensor<2x1x!quant.uniform<{result}>>
        }}""",
    )
    inputs = [np.array([[-128], [90]], np.int8)]
    for each in (module, lowered(module)):
        (found,) = interpret(each, inputs).values()
        assert found.tolist() == [[largest], [largest]]
