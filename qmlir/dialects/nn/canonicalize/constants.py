"""Constant folding: an operation on small constants becomes the constant that it computes."""

import math

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, Float64Type
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir import registry
from qmlir.dialects.nn.base import NnOp, element_of
from qmlir.dialects.nn.elements import Kind, kind_of
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.movement import MovementOp
from qmlir.ir.builtin_types import tensor
from qmlir.text.weights import ExternalWeightsAttr

FOLD_LIMIT = 1024
"""The most elements that folding may make: large weights are changed by passes that say so."""


def is_foldable_element(element: Attribute, moves_only: bool) -> bool:
    """Whether a constant of these elements is computed as the interpreter would: f32, f64, integers and booleans, and
    anything at all where values are only moved."""
    kind = kind_of(element)
    if moves_only:
        return kind is not None
    return kind in (Kind.INTEGER, Kind.BOOLEAN) or isinstance(element, Float32Type | Float64Type)


class FoldConstants(RewritePattern):
    """`f(constants) -> constant` where the result is small. The interpreter's own functions compute it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, NnOp) or not op.operands or len(op.results) != 1:
            return
        constants = [operand.owner for operand in op.operands if isinstance(operand.owner, ConstantOp)]
        if len(constants) != len(op.operands) or any(isinstance(c.value, ExternalWeightsAttr) for c in constants):
            return
        result = tensor(op.results[0].type)
        shape = result.get_shape()
        if DYNAMIC_INDEX in shape or math.prod(shape) > FOLD_LIMIT:
            return
        elements = [element_of(value) for value in (*op.operands, *op.results)]
        if not all(is_foldable_element(element, isinstance(op, MovementOp)) for element in elements):
            return
        meaning = registry.meanings(op.dialect_name()).get(type(op))
        if meaning is not None:
            (value,) = meaning(op, *(constant.array for constant in constants))
            rewriter.replace(op, ConstantOp.of(np.ascontiguousarray(value), result))


PATTERNS: tuple[RewritePattern, ...] = (FoldConstants(),)
