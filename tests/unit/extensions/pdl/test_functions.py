"""Every function that patterns may call, against answers written by hand."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import Attribute, TensorType, f32
from xdsl.ir import Operation

from qmlir.environment import default_environment
from qmlir.extensions.pdl.natives import Role, native_function, native_functions
from qmlir.text.parsing import parse_module


def _op(text: str, at: int = 0) -> Operation:
    module = parse_module(default_environment().new_context(), text)
    return list(module.body.block.ops)[at]


def _type(text: str, shape: str = "4x") -> Attribute:
    module = parse_module(default_environment().new_context(), f"func.func private @f(tensor<{shape}{text}>)")
    function: Any = module.body.block.first_op
    return function.function_type.inputs.data[0]


def _attribute(text: str) -> Attribute:
    return _op(f"func.func private @f() attributes {{a = {text}}}").attributes["a"]


I8 = "!quant.uniform<i8:f32, 0.5:3>"
U8 = "!quant.uniform<u8:f32, 0.3>"
I4 = "!quant.uniform<i4:f32, 0.5:3>"
SYM = "!quant.uniform<i8<-127:127>:f32, 0.75>"
PER = "!quant.uniform<i8<-127:127>:f32:0, {0.5, 0.25, 2.0, 1.0}>"
BLOCKS = "!quant.uniform<u4:f32:{0:2}, {0.5:8, 0.25:8}>"

HOLDS = [
    ("is_quantized", [I8], []), ("is_float", ["f32"], []), ("has_storage", [I8], ['"i8"']),
    ("has_storage", [SYM], ['"i8"']), ("has_storage", [SYM], ['"i8<-127:127>"']), ("has_bits", [I4], ["4 : i64"]),
    ("bits_at_most", [I4], ["4 : i64"]), ("bits_at_most", [I4], ["5 : i64"]), ("is_signed", [I8], []),
    ("is_unsigned", [U8], []), ("has_scale", [U8], ["0.3 : f64"]), ("scale_between", [PER], ["0.25 : f32", "2 : i64"]),
    ("has_power_of_two_scale", [PER], []), ("has_zero_point", [I8], ["3 : i64"]), ("has_zero_point", [BLOCKS], ["8"]),
    ("has_scheme", [SYM], ['"symmetric"']), ("has_scheme", [PER], ['"symmetric_pow2"']),
    ("has_scheme", [I8], ['"asymmetric_pow2"']), ("has_scheme", [BLOCKS], ['"symmetric"']),
    ("has_granularity", [I8], ['"tensor"']), ("has_granularity", [PER], ['"channel"']),
    ("has_granularity", [BLOCKS], ['"block"']), ("has_axis", [PER], ["0"]), ("same_parameters", [I8, I4, I8], []),
    ("same_storage", [SYM, PER], []), ("same_element_type", [I8, I8], []), ("same_shape", [I8, "f32"], []),
    ("has_shape", ["f32"], ["array<i64: 4>"]), ("has_shape", ["f32"], ["[-1]"]), ("has_rank", ["f32"], ["1"]),
    ("is_shift", [I8, PER, "!quant.uniform<i8:f32, 2.0>"], []), ("is_shift", [SYM, SYM, I8], []),
]  # fmt: skip

DOES_NOT_HOLD = [
    ("is_quantized", ["f32"], []), ("is_float", [I8], []), ("has_storage", [I8], ['"u8"']),
    ("has_storage", [I8], ['"i8<-127:127>"']), ("has_storage", ["f32"], ['"i8"']), ("has_bits", [I8], ["4"]),
    ("has_bits", [I8], ['"eight"']), ("bits_at_most", [I8], ["7"]), ("is_signed", [U8], []), ("is_unsigned", [I8], []),
    ("is_unsigned", ["f32"], []), ("has_scale", [PER], ["0.5 : f64"]), ("scale_between", [PER], ["0.3 : f64", "2"]),
    ("has_power_of_two_scale", [SYM], []), ("has_zero_point", [I8], ["0"]), ("has_scheme", [I8], ['"symmetric"']),
    ("has_scheme", [SYM], ['"symmetric_pow2"']), ("has_granularity", [I8], ['"channel"']), ("has_axis", [PER], ["1"]),
    ("has_axis", [I8], ["0"]), ("same_parameters", [I8, SYM], []), ("same_parameters", [I8, "f32"], []),
    ("same_parameters", ["f32", "f32"], []), ("same_storage", [I8, SYM], []), ("same_storage", [I8, "f32"], []),
    ("same_element_type", [I8, I4], []), ("has_shape", ["f32"], ["[5]"]), ("has_shape", ["f32"], ["[4, 1]"]),
    ("has_rank", ["f32"], ["2"]), ("is_shift", [I8, SYM, I8], []), ("is_shift", [I8, BLOCKS], []),
    ("is_shift", [I8, "f32"], []),
]  # fmt: skip


def _holds(name: str, types: list[str], attributes: list[str]) -> bool:
    function = native_functions(Role.CONSTRAINT)[name]
    try:
        return function([*map(_type, types), *map(_attribute, attributes)]) is not None
    except TypeError:
        return False  # as the search for a pattern has it: nothing holds of what is not a number


@pytest.mark.parametrize(("name", "types", "attributes"), HOLDS)
def test_a_constraint_holds(name: str, types: list[str], attributes: list[str]) -> None:
    assert _holds(name, types, attributes)


@pytest.mark.parametrize(("name", "types", "attributes"), DOES_NOT_HOLD)
def test_a_constraint_does_not_hold(name: str, types: list[str], attributes: list[str]) -> None:
    assert not _holds(name, types, attributes)


def test_every_constraint_on_types_is_tested_both_ways() -> None:
    of_types = {name for name, _, _ in HOLDS}
    assert of_types - {"same_shape"} == {name for name, _, _ in DOES_NOT_HOLD}
    for name, function in native_functions(Role.CONSTRAINT).items():
        if function.function.__module__.endswith("quantized_types"):
            assert name in of_types


def test_shapes_that_differ() -> None:
    same = native_functions(Role.CONSTRAINT)["same_shape"]
    assert same([TensorType(f32, [4]), TensorType(f32, [5])]) is None


MADE = [
    ("with_storage", [I8], ['"i4<-7:7>"'], "4x!quant.uniform<i4<-7:7>:f32, 0.5:3>"),
    ("with_scale", [PER], ["1.5 : f64"], "4x!quant.uniform<i8<-127:127>:f32:0, {1.5, 1.5, 1.5, 1.5}>"),
    ("with_power_of_two_scale", [SYM], [], "4x!quant.uniform<i8<-127:127>:f32, 1.0>"),
    ("with_power_of_two_scale", [PER], [], f"4x{PER}"),
    ("with_zero_point", [I8], ["-4"], "4x!quant.uniform<i8:f32, 0.5:-4>"),
    ("with_zero_point", [BLOCKS], ["1"], "4x!quant.uniform<u4:f32:{0:2}, {0.5:1, 0.25:1}>"),
    ("with_element_of", ["f32", I8], [], f"4x{I8}"),
    ("with_shape", [I8], ["[2, 2]"], f"2x2x{I8}"),
    ("quantized", ["f32"], ['"u8"', "0.25 : f64", "7"], "4x!quant.uniform<u8:f32, 0.25:7>"),
    ("expressed", [PER], [], "4xf32"),
    ("stored", [U8], [], "4xui8"),
]


@pytest.mark.parametrize(("name", "types", "attributes", "expected"), MADE)
def test_types_that_are_made(name: str, types: list[str], attributes: list[str], expected: str) -> None:
    function = native_functions(Role.REWRITE)[name]
    assert function([*map(_type, types), *map(_attribute, attributes)]) == (_type(expected, ""),)


def test_the_type_of_sums() -> None:
    product = native_functions(Role.REWRITE)["product"]
    given = [_type("f32", "1x4x2x"), _attribute('"i32"'), _type(I8)]
    assert product([*given, _type(SYM)]) == (_type("!quant.uniform<i32:f32, 0.375>", "1x4x2x"),)
    per_channel = "!quant.uniform<i32:f32:1, {0.25, 0.125, 1.0, 0.5}>"
    assert product([*given, _type(PER)]) == (_type(per_channel, "1x4x2x"),)


NUMBERS = [
    ("scales", [I8], "0.5 : f64"), ("scales", [PER], "array<f64: 0.5, 0.25, 2.0, 1.0>"),
    ("zero_points", [I8], "3 : i64"), ("zero_points", [BLOCKS], "array<i64: 8, 8>"), ("bits", [I4], "4 : i64"),
    ("shift", ["!quant.uniform<i8:f32, 2.0>", I8, I8], "3 : i64"),
    ("shift", [I8, PER, I8], "array<i64: 1, 2, -1, 0>"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "types", "expected"), NUMBERS)
def test_numbers_of_types(name: str, types: list[str], expected: str) -> None:
    assert native_functions(Role.REWRITE)[name](list(map(_type, types))) == (_attribute(expected),)


def test_what_has_no_answer_is_an_error() -> None:
    rewrites = native_functions(Role.REWRITE)
    with pytest.raises(ValueError, match="requantization is not a shift; apply the constraint 'is_shift' first"):
        rewrites["shift"]([_type(I8), _type(SYM)])
    with pytest.raises(ValueError, match="expected a float type"):
        rewrites["quantized"]([_type("i8"), *map(_attribute, ('"i8"', "0.5 : f32", "0"))])
    with pytest.raises(ValueError, match="granularity must be one of tensor, channel, block, but got 'row'"):
        native_functions(Role.CONSTRAINT)["has_granularity"]([_type(I8), _attribute('"row"')])


_GRAPH = """
%a = nn.constant dense<[2.0, 2.0]> : tensor<2xf32> {origin = "a"}
%b = nn.constant dense<[3.0, 4.0]> : tensor<2xf32> {origin = "b"}
%0 = nn.mul %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {origin = "m", op_type = "Mul", role = "x/mul"}
%1 = nn.mul %0, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {origin = "m", op_type = "Mul"}
%2 = nn.swish %1 {alpha = 2.0 : f32} : tensor<2xf32>
%3 = nn.swish %2 : tensor<2xf32>
"""


def _graph() -> list[Operation]:
    return list(parse_module(default_environment().new_context(), _GRAPH).body.block.ops)


def test_constraints_on_operations_and_values() -> None:
    a, b, first, second, scaled, plain = _graph()
    asks = native_functions(Role.CONSTRAINT)

    def holds(name: str, *arguments: Any) -> bool:
        return asks[name]([_attribute(each) if isinstance(each, str) else each for each in arguments]) is not None

    (av,), (bv,), (fv,) = a.results, b.results, first.results
    assert (holds("used_once", av), holds("used_once", bv), holds("used_once", av, fv)) == (True, False, True)
    assert (holds("is_constant", av, bv), holds("is_constant", fv)) == (True, False)
    assert (holds("is_splat", av, "2.0 : f32"), holds("is_splat", bv, "3.0 : f32")) == (True, False)
    assert not holds("is_argument", av)
    assert (holds("is_named", a, '"nn.constant"'), holds("is_named", a, '["nn.mul", "nn.add"]')) == (True, False)
    assert (holds("is_different", a, b), holds("is_different", a, a)) == (True, False)
    assert (holds("has_attribute", plain, '"alpha"'), holds("has_attribute", plain, '"beta"')) == (True, False)
    assert not holds("same_attribute", scaled, plain, '"alpha"')
    assert holds("same_attribute", a, b, '"none"')
    assert holds("has_number", scaled, '"alpha"', "2 : i64", "3 : i64")
    assert not holds("has_number", plain, '"alpha"', "2 : i64", "3 : i64")
    assert (holds("has_origin", a, '"?"'), holds("has_origin", a, '["b", "c*"]')) == (True, False)
    assert (holds("has_op_type", first, '"M*"'), holds("has_op_type", a, '"M*"')) == (True, False)
    assert (holds("has_role", first, '"*/mul"'), holds("has_role", second, '""')) == (True, True)
    assert (holds("same_origin", first, second), holds("same_origin", first, a)) == (True, False)


def test_what_is_made_of_operations_and_values() -> None:
    a, _, first, second, scaled, plain = _graph()
    makes = native_functions(Role.REWRITE)
    assert makes["type_of"]([a.results[0]]) == (TensorType(f32, [2]),)
    assert makes["attribute"]([plain, _attribute('"alpha"')]) == (_attribute("1.0 : f32"),)
    assert makes["elements"]([a.results[0]]) == (_attribute("dense<2.0> : tensor<2xf32>"),)
    assert makes["folded"]([first]) == (_attribute("dense<[6.0, 8.0]> : tensor<2xf32>"),)
    with pytest.raises(ValueError, match=r"'nn.mul' must have constant operands and an evaluator"):
        makes["folded"]([second])
    with pytest.raises(ValueError, match="has no attribute 'beta'"):
        makes["attribute"]([plain, _attribute('"beta"')])
    matrix = _attribute("dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>")
    (turned,) = makes["reordered"]([matrix, _attribute("[1, 0]")]) or ()
    assert turned == _attribute("dense<[[1, 3], [2, 4]]> : tensor<2x2xi8>")
    makes["set_attribute"]([plain, _attribute('"alpha"'), _attribute("3.0 : f32")])
    assert plain.properties["alpha"] == _attribute("3.0 : f32")
    makes["copy_attributes"]([scaled, plain, _attribute('["alpha", "none"]')])
    assert plain.properties["alpha"] == scaled.properties["alpha"]
    makes["copy_provenance"]([plain, first, a])
    assert str(plain.attributes["origin"]) == '["m", "a"]'
    makes["set_role"]([scaled, _attribute('"shift"'), first])
    assert str(scaled.attributes["role"]) == '"x/mul/shift"'


def test_wrong_annotations_are_named() -> None:

    def strange(of: np.ndarray) -> bool:
        return bool(of)

    with pytest.raises(TypeError, match=r"parameter 'of' must be annotated with one of .*, but got .*ndarray"):
        native_function("strange", strange)
