"""ONNX's node tests of quantization by name: all are interpreted and compiled but those of floats of 8 and 4 bits.

`test_onnx_backend` and `test_compiled` run them; here it is said which they are, and that no list of exceptions grows.
"""

import re

from tests.conformance.cases import node_cases
from tests.conformance.test_compiled import NOT_COMPILED
from tests.conformance.test_onnx_backend import NOT_PASSING

OPERATORS = re.compile("test_(convinteger|dequantizelinear|dynamicquantizelinear|matmulinteger|qlinear|quantizelinear)")
COUNT = 45

SHORT_FLOATS = {
    "test_dequantizelinear_e4m3fn",
    "test_dequantizelinear_e4m3fn_float16",
    "test_dequantizelinear_e4m3fn_zero_point",
    "test_dequantizelinear_e5m2",
    "test_dequantizelinear_float4e2m1",
    "test_quantizelinear_e4m3fn",
    "test_quantizelinear_e5m2",
    "test_quantizelinear_float4e2m1",
}
"""Whose elements are no element types of `nn`."""


def test_all_of_integers_are_interpreted_and_compiled() -> None:
    named = {name for name in node_cases() if OPERATORS.match(name)}
    assert len(named) == COUNT
    assert named & set(NOT_PASSING) == SHORT_FLOATS
    assert named & set(NOT_COMPILED) == set()
