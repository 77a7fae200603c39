"""Elementwise operations and activations at the integer level: the same values as by their meanings, bit for bit."""

from itertools import product

import numpy as np
import pytest

from tests.unit.dialects.nn.lower.driver import check

I8 = "!quant.uniform<i8:f32, 0.05:-3>"
OTHER = "!quant.uniform<i8:f32, 0.033:7>"
U8 = "!quant.uniform<u8:f32, 0.02:128>"
I4 = "!quant.uniform<i4:f32, 0.4:1>"
I16 = "!quant.uniform<i16:f32, 0.0007:11>"
I32 = "!quant.uniform<i32:f32, 0.00001>"
AXIS = "!quant.uniform<i8:f32:1, {0.05:1, 0.02:-7, 0.3}>"
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i8", "ui8", "i16", "i32", "ui32", "i64")
QUANTIZED = (I8, U8, I4, I16, AXIS)

UNARY = (
    "abs", "neg", "relu", "sqrt", "exp", "log", "reciprocal", "erf", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "asinh", "acosh", "atanh", "floor", "ceil", "round", "sign", "sigmoid", "tanh", "softplus",
    "softsign", "leaky_relu", "thresholded_relu", "elu", "celu", "selu", "hard_sigmoid", "hard_swish", "swish", "mish",
    "gelu",
)  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "min", "max")
COMPARISONS = ("equal", "greater", "greater_or_equal", "less", "less_or_equal")


POSITIVE = {"sqrt", "log"}
"""Functions that are NaN of negative numbers, which no integer stands for."""

SMALL = {"asin", "acos", "atanh", "reciprocal"}
"""Those whose operands must lie between -1 and 1, and not be 0."""


@pytest.mark.parametrize(
    ("name", "element"),
    # 0 is a value of every quantized type, and its acosh is none of a number
    [(name, element) for name, element in product(UNARY, ("f32", "f16", "bf16", I8, U8, AXIS))
     if name != "acosh" or not element.startswith("!")],
)  # fmt: skip
def test_functions_of_one_value(name: str, element: str) -> None:
    type_ = f"tensor<2x3x5x{element}>"
    if element.startswith("!") and name in POSITIVE | SMALL:
        limited = "!quant.uniform<i8<-127:127>:f32, {}:-127>".format("1.5" if name in POSITIVE else "0.003")
        check(f"nn.{name}", [f"tensor<64x{limited}>"], [f"tensor<64x{I8}>"])
        return
    check(f"nn.{name}", [type_], [type_], seeds=(0,))


@pytest.mark.parametrize("element", [I4, I16])
@pytest.mark.parametrize("name", ["relu", "neg", "sigmoid", "tanh", "gelu"])
def test_functions_of_other_widths(name: str, element: str) -> None:
    check(f"nn.{name}", [f"tensor<3x7x{element}>"], [f"tensor<3x7x{I8}>"])


@pytest.mark.parametrize(
    ("name", "element"),
    # ONNX negates signed integers only
    [(name, element) for name, element in product(("abs", "neg", "relu", "sign"), INTEGERS)
     if name != "neg" or not element.startswith("u")],
)  # fmt: skip
def test_functions_of_an_integer(name: str, element: str) -> None:
    check(f"nn.{name}", [f"tensor<4x5x{element}>"], [f"tensor<4x5x{element}>"])


@pytest.mark.parametrize(
    ("name", "element"),
    # a divisor of 0 is an error by the meaning of integers
    [(name, element) for name, element in product(BINARY, (*FLOATS, *INTEGERS, I8, AXIS))
     if name != "div" or element in FLOATS],
)  # fmt: skip
def test_functions_of_two_values(name: str, element: str) -> None:
    type_ = f"tensor<2x3x5x{element}>"
    check(f"nn.{name}", [type_, type_], [type_])


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("operation", ["nn.div", "nn.mod {fmod = true}", "nn.mod {fmod = false}"])
def test_quotients_and_remainders_of_integers(operation: str, element: str) -> None:
    """By what is not 0; the ends of a type are among its inputs, so the smallest integer meets -1 and wraps."""
    low = 1 if element.startswith("u") else -9
    divisors = np.array([each for each in range(low, 10) if each], element.replace("i", "int"))
    row = f"tensor<{len(divisors)}x{element}>"
    check(operation, [f"tensor<50x1x{element}>", row], [row.replace("<", "<50x")], given={"input1": divisors})


@pytest.mark.parametrize(("left", "right", "result"), [(I8, OTHER, U8), (U8, I8, I16), (I16, I4, I8), (I8, I8, I32)])
@pytest.mark.parametrize("name", BINARY)
def test_broadcast_operands_of_different_types(name: str, left: str, right: str, result: str) -> None:
    if name == "div":
        right = "!quant.uniform<i8:f32, 0.03:-128>"
    check(f"nn.{name}", [f"tensor<3x1x{left}>", f"tensor<2x1x4x{right}>"], [f"tensor<2x3x4x{result}>"])


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS, I8, AXIS])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str, element: str) -> None:
    check(f"nn.{name}", [f"tensor<2x3x5x{element}>"] * 2, ["tensor<2x3x5xi1>"])


def test_comparison_of_different_scales() -> None:
    check("nn.less", [f"tensor<64x{I8}>", f"tensor<64x{OTHER}>"], ["tensor<64xi1>"])


LONG = (
    ("!quant.uniform<i32:f32, 0.1>", "!quant.uniform<i32:f32, 0.3:5>"),
    ("!quant.uniform<i32:f32, 0.1>", "!quant.uniform<i32:f32, 0.1:5>"),
    ("!quant.uniform<u32:f32, 1.0e-38:77>", "!quant.uniform<i32:f32, 3.0e37:-5>"),
    ("!quant.uniform<i32:f32, 0.1>", "!quant.uniform<i8:f32, 12345.678:3>"),
    ("!quant.uniform<i8:f64, 0.1>", "!quant.uniform<i8:f64, 0.30000000000000004>"),
    ("!quant.uniform<i32:f64, 0.1:9>", "!quant.uniform<i32:f64, 0.10000000000000002>"),
)
"""Values that no float holds: 32 bits by the 24 of a scale, or any by the 53 of an f64 scale."""


@pytest.mark.parametrize(("left", "right"), LONG)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_long_values(name: str, left: str, right: str) -> None:
    check(f"nn.{name}", [f"tensor<300x{left}>", f"tensor<300x{right}>"], ["tensor<300xi1>"])


@pytest.mark.parametrize("name", COMPARISONS)
def test_long_values_that_differ_by_less_than_a_float_tells(name: str) -> None:
    """With a scale s and one of 3 s, `q_a = 3 q_b + d` is above, equal or below by one part in 2^31."""
    scale = np.float32(0.1)
    left, right = f"!quant.uniform<i32:f32, {scale}>", f"!quant.uniform<i32:f32, {np.float32(3) * scale}>"
    third = np.array([715827880, 715827881, 715827882, -715827881, 0, 1], np.int32)
    for off in (-1, 0, 1):
        given = {"input0": 3 * third + np.int32(off), "input1": third}
        check(f"nn.{name}", [f"tensor<6x{left}>", f"tensor<6x{right}>"], ["tensor<6xi1>"], given=given, seeds=(0,))


@pytest.mark.parametrize("element", ["f32", "i32", "ui8", I8, U8, AXIS])
def test_clip(element: str) -> None:
    type_ = f"tensor<2x3x5x{element}>"
    check("nn.clip {minimum = -0.35, maximum = 1.2}", [type_], [type_])
    check("nn.clip {maximum = 0.7}", [type_], [type_])


@pytest.mark.parametrize("element", ["f32", "i16", I8])
def test_where(element: str) -> None:
    type_ = f"tensor<2x3x{element}>"
    check("nn.where", ["tensor<2x1xi1>", type_, type_], [type_])


@pytest.mark.parametrize("mode", ["single_round", "double_round", "shift, even", "shift, up", "shift, away"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "min"])
def test_integer_modes(name: str, mode: str) -> None:
    types = ["!quant.uniform<i8:f32, 0.25:3>", "!quant.uniform<i8:f32, 0.0625:-5>", "!quant.uniform<i8:f32, 0.5:1>"]
    left, right, result = (f"tensor<5x7x{each}>" for each in types)
    check(f"nn.{name} {{requantize = #kernel.requantize<{mode}>}}", [left, right], [result])


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("fmod", ["true", "false"])
def test_remainder(element: str, fmod: str) -> None:
    check(f"nn.mod {{fmod = {fmod}}}", [f"tensor<50x{element}>"] * 2, [f"tensor<50x{element}>"])


def test_power() -> None:
    check("nn.pow", ["tensor<50xf32>", "tensor<50xf32>"], ["tensor<50xf32>"])
    check("nn.pow", ["tensor<50xi32>", "dense<[2]> : tensor<1xi32>"], ["tensor<50xi32>"])


@pytest.mark.parametrize("storage", ["i8<-127:127>", "u8<1:250>", "i4<-7:7>", "i16<-3:3>"])
def test_a_table_has_a_place_for_all_that_its_operand_may_hold(storage: str) -> None:
    """Beyond the range that the type promises, too: an argument is what a caller gives."""
    bits, is_signed = int(storage[1 : storage.index("<")]), storage.startswith("i")
    low = -(1 << (bits - 1)) if is_signed else 0
    everything = np.arange(low, low + (1 << bits)).astype(f"{storage[0]}{max(bits // 8, 1)}")
    types = [f"tensor<{1 << bits}x!quant.uniform<{each}:f32, 0.05:3>>" for each in (storage, "i8")]
    check("nn.sigmoid", types[:1], types[1:], given={"input0": everything}, seeds=(0,))


@pytest.mark.parametrize("name", ["add", "max"])
def test_a_common_scale_varies_along_an_axis_that_an_operand_lacks(name: str) -> None:
    rows = "!quant.uniform<i8:f32:0, {0.5, 0.25, 0.125, 1.0}>"
    check(
        f"nn.{name} {{requantize = #kernel.requantize<single_round>}}",
        [f"tensor<4x3x{rows}>", "tensor<3x!quant.uniform<i8:f32, 0.3>>"],
        ["tensor<4x3x!quant.uniform<i8:f32, 0.4:1>>"],
    )


# Stored integers are compared if all types are equal. Scales along an axis belong to other axes of a longer operand,
# wide integers saturate, and a type may have its zero point beyond its limits.
EDGES = (
    ("max", ("2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>", "2x2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>")),
    ("min", ("2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>", "2x2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>")),
    ("min", ("9x!quant.uniform<i32:f32, 0.5:1000000000>",) * 2),
    ("max", ("2x5x!quant.uniform<u8<3:200>:f32, 0.5:7>",) * 2),
    *(
        (name, (f"9x!quant.uniform<{element}>",))
        for name in ("relu", "clip")
        for element in (
            "i8<-128:-1>:f32, 0.5",
            "u8<0:100>:f32, 0.5:200",
            "u32:f32, 0.5",
            "i4:f32, 0.5:-3",
            "u2:f32, 1.0:1",
        )
    ),
)


@pytest.mark.parametrize(("name", "types"), EDGES)
@pytest.mark.parametrize("mode", ["f32", "single_round", "double_round", "shift, up"])
def test_equal_types(name: str, types: tuple[str, ...], mode: str) -> None:
    tensors = [f"tensor<{each}>" for each in types]
    bound = ", minimum = 1.0" if name == "clip" else ""
    check(f"nn.{name} {{requantize = #kernel.requantize<{mode}>{bound}}}", tensors, tensors[-1:])
