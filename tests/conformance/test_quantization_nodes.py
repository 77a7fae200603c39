"""ONNX's node tests of quantization, and of floats of 8 bits and fewer, by name: all are interpreted and compiled.

`test_onnx_backend` and `test_compiled` run them; here it is said which they are, and that no list has one of them.
"""

import re

import pytest

from tests.conformance.cases import node_cases
from tests.conformance.test_compiled import NOT_COMPILED
from tests.conformance.test_onnx_backend import NOT_PASSING

SMALL_FLOATS = "FLOAT(8E|6E|4E)|e4m3|e5m2|float[46]e|e8m0"


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("test_(convinteger|dequantizelinear|dynamicquantizelinear|matmulinteger|qlinear|quantizelinear)", 45),
        (f"test_.*({SMALL_FLOATS})", 96),
    ],
    ids=["quantization", "small_floats"],
)
def test_all_are_interpreted_and_compiled(pattern: str, count: int) -> None:
    named = {name for name in node_cases() if re.match(pattern, name)}
    assert len(named) == count
    assert named & {*NOT_PASSING, *NOT_COMPILED} == set()
