"""Moves between operations in float stay in float; moves next to a quantized operation are quantized."""

from typing import Any

import numpy as np
import pytest
from onnx import parser

import qmlir
from qmlir.dialects.nn.movement.ops import TransposeOp
from qmlir.dialects.nn.requantize import quantized_type

DATA = [{"x": sample} for sample in np.random.default_rng(0).normal(0, 1, (4, 4, 4)).astype(np.float32)]

MODEL = """
    <ir_version: 10, opset_import: ["" : 21]>
    net (float[4, 4] x) => (float[4, 4] y)
    <float[4, 4] w = {0.5, 1, -1, 0.25, 1, 0.5, 0.75, -1, 0.25, 1, 0.5, -0.5, 1, 0.25, -1, 0.5},
     int64[1] start = {0}, int64[1] end = {4}> {
        p = Transpose (x)
        [first] a = MatMul (p, w)
        q = Transpose (a)
        j = Concat <axis = 0> (q, q)
        s = Slice (j, start, end)
        [second] b = MatMul (s, w)
        r = Transpose (b)
        [third] y = MatMul (r, w)
    }"""


def _quantized(**options: Any) -> tuple[list[bool], np.ndarray]:
    """Whether each transpose is quantized, in order, and the largest error of the model."""
    model = parser.parse_model(MODEL)
    made = qmlir.quantize(model, DATA, validate=False, **options)
    moves = [op for op in made.module.walk() if isinstance(op, TransposeOp)]
    errors = [
        np.abs(np.subtract(*(qmlir.interpret(each, feeds)["y"] for each in (made, qmlir.load(model))))).max()
        for feeds in DATA
    ]
    return [quantized_type(op.results[0]) is not None for op in moves], np.max(errors)


@pytest.mark.parametrize(
    ("excluded", "expected"),
    [
        ([], [True, True, True]),
        (["third"], [True, True, True]),
        (["first", "second"], [False, False, True]),
        (["second", "third"], [True, True, False]),
        (["first", "third"], [False, True, True]),
    ],
)
def test_moves_next_to_a_quantized_operation_are_quantized(excluded: list[str], expected: list[bool]) -> None:
    assert _quantized(exclude=excluded)[0] == expected


def test_a_model_without_quantized_contractions_is_exact() -> None:
    moves, error = _quantized(exclude=["MatMul"])
    assert moves == [False, False, False]
    assert error == 0


def test_a_rule_may_ask_for_integers() -> None:
    rule = {"node": "Transpose", "slot": "output", "storage": "i8"}
    assert _quantized(exclude=["MatMul"], recipe=[rule])[0] == [True, True, True]
