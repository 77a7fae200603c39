"""Operations in the modes of LiteRT at the integer level: the same values as by their meanings, bit for bit."""

import pytest

from tests.unit.dialects.nn.lower.driver import check

I8 = "!quant.uniform<i8:f32, 0.75:-3>"
OTHER = "!quant.uniform<i8:f32, 0.375:7>"
U8 = "!quant.uniform<u8:f32, 0.75:125>"
I16 = "!quant.uniform<i16:f32, 0.0003>"
UNIT = "!quant.uniform<i8:f32, 0.00390625:-128>"
SIGNED_UNIT = "!quant.uniform<i8:f32, 0.0078125>"
UNIT16 = "!quant.uniform<i16:f32, 3.0517578125e-05>"
MODES = ("litert_reference", "litert_xnnpack")

pytestmark = pytest.mark.parametrize("mode", MODES)


def _properties(mode: str, more: str = "") -> str:
    return f"{{requantize = #kernel.requantize<{mode}>{', ' if more else ''}{more}}}"


@pytest.mark.parametrize(("left", "right"), [(I8, OTHER), (I8, I8), (I16, I16)])
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_functions_of_two_values(name: str, left: str, right: str, mode: str) -> None:
    result = "!quant.uniform<i8:f32, 1.125:5>" if left == I8 else I16
    for shapes in (("40x5x", "5x"), ("40x5x", "40x5x")):
        operands = [f"tensor<{shapes[0]}{left}>", f"tensor<{shapes[1]}{right}>"]
        check(f"nn.{name} {_properties(mode)}", operands, [f"tensor<40x5x{result}>"])


@pytest.mark.parametrize(
    ("operation", "properties", "result"),
    [
        ("sigmoid", "", UNIT), ("tanh", "", SIGNED_UNIT), ("gelu", "", OTHER), ("elu", "", OTHER),
        ("leaky_relu", "alpha = 0.2 : f32", OTHER), ("hard_swish", "", OTHER), ("relu", "", OTHER), ("clip", "", OTHER),
        ("clip", "minimum = 0.0 : f32, maximum = 6.0 : f32", I8), ("clip", "maximum = 1.0 : f32", OTHER),
    ],
)  # fmt: skip
def test_functions_of_one_value(operation: str, properties: str, result: str, mode: str) -> None:
    check(f"nn.{operation} {_properties(mode, properties)}", [f"tensor<4x64x{I8}>"], [f"tensor<4x64x{result}>"])


def test_floats_are_quantized(mode: str) -> None:
    check(f"nn.clip {_properties(mode)}", ["tensor<50x7xf32>"], [f"tensor<50x7x{OTHER}>"])


def test_slopes(mode: str) -> None:
    operands = [f"tensor<2x5x9x{I8}>", f"tensor<5x1x{OTHER}>"]
    check(f"nn.prelu {_properties(mode)}", operands, [f"tensor<2x5x9x{I8}>"])


@pytest.mark.parametrize("element", [I8, U8, I16])
@pytest.mark.parametrize(("windows", "size"), [("pads = [1, 0, 0, 2]", "6x7"), ("strides = [2, 2]", "3x3")])
def test_average_pool(windows: str, size: str, element: str, mode: str) -> None:
    for counts in ("false", "true"):
        properties = _properties(mode, f"kernel = [2, 3], count_include_pad = {counts}, {windows}")
        check(f"nn.average_pool {properties}", [f"tensor<2x3x6x7x{element}>"], [f"tensor<2x3x{size}x{element}>"])


def test_means(mode: str) -> None:
    for axes, keeps, shape in (("[1, 2]", "true", "2x1x1x9x"), ("[3]", "false", "2x4x5x")):
        properties = _properties(mode, f"axes = {axes}, keep_dims = {keeps}")
        check(f"nn.reduce_mean {properties}", [f"tensor<2x4x5x9x{I8}>"], [f"tensor<{shape}{OTHER}>"])
    check(f"nn.global_average_pool {_properties(mode)}", [f"tensor<2x3x5x6x{I8}>"], [f"tensor<2x3x1x1x{OTHER}>"])


@pytest.mark.parametrize(("element", "result"), [(I8, UNIT), (I16, UNIT16)])
def test_softmax(element: str, result: str, mode: str) -> None:
    for axis in (1, 2):
        properties = _properties(mode, f"axis = {axis}")
        check(f"nn.softmax {properties}", [f"tensor<1x6x20x{element}>"], [f"tensor<1x6x20x{result}>"])


@pytest.mark.parametrize("coordinates", ["asymmetric", "align_corners", "half_pixel"])
def test_resize(coordinates: str, mode: str) -> None:
    properties = f'mode = "linear", coordinate_transformation_mode = "{coordinates}", sizes = [1, 2, 7, 13]'
    for element in (I8, U8):
        operands = [f"tensor<1x2x5x6x{element}>"]
        check(f"nn.resize {_properties(mode, properties)}", operands, [f"tensor<1x2x7x13x{element}>"])


def test_contractions(mode: str) -> None:
    weight = "dense<[[1, -2, 3], [4, 5, -6]]> : tensor<2x3xi8> -> tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>"
    check(f"nn.fully_connected {_properties(mode)}", [f"tensor<9x3x{I8}>", weight, "_"], [f"tensor<9x2x{OTHER}>"])
    check(f"nn.matmul {_properties(mode)}", [f"tensor<9x3x{I8}>", f"tensor<3x4x{OTHER}>"], [f"tensor<9x4x{I8}>"])
    kernel = "dense<[[[3, -1]], [[2, 7]]]> : tensor<2x1x2xi8> -> tensor<2x1x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>"
    check(f"nn.conv {_properties(mode)}", [f"tensor<1x1x9x{I8}>", kernel, "_"], [f"tensor<1x2x8x{OTHER}>"])
    wide = kernel.replace("0.5, 0.25", "0.0005, 0.25")
    check(f"nn.conv {_properties(mode)}", [f"tensor<1x1x9x{I16}>", wide, "_"], [f"tensor<1x2x8x{I16}>"])
