"""Ensembles of decision trees: each row reaches one leaf per tree, whose weights are aggregated."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i1, i32
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, plain_type, shapes_agree
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import NumericallyDiscontinuous, QuantizationSlots

AGGREGATES = ("sum", "min", "max")

_TABLES = ("roots", "features", "thresholds", "children", "missing", "weights", "targets")


@irdl_op_definition
class TreeEnsembleOp(NnOp):
    """Computes the scores of each row of `input` by aggregating the weights of the leaf that it reaches in each tree.

    Nodes are numbered from 0, followed by the leaves. A row at node `i` continues to `children[i, 0]` if
    `input[row, features[i]] <= thresholds[i]`, or if that element is NaN and `missing[i]`; otherwise to
    `children[i, 1]`. Trees begin at `roots`. All leaves have the same number of weights. `targets` holds the index of
    the score that each weight contributes to; without it, a leaf has one weight for each score, in order. With
    `aggregate = "sum"`, scores start at 0 and add the weights one tree at a time, with each sum rounded to the element
    type. Otherwise, a score is the minimum or maximum of its weights.
    """

    name = "nn.tree_ensemble"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(dict.fromkeys(_TABLES))

    input = operand_def(TensorType)
    roots = operand_def(TensorType)
    features = operand_def(TensorType)
    thresholds = operand_def(TensorType)
    children = operand_def(TensorType)
    weights = operand_def(TensorType)
    targets = opt_operand_def(TensorType)
    missing = opt_operand_def(TensorType)
    result = result_def(TensorType)

    count = prop_def(IntegerAttr)
    aggregate = opt_prop_def(StringAttr, StringAttr("sum"))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NumericallyDiscontinuous())

    def float_reason(self) -> str:
        return FloatCause.THRESHOLDS.reason()

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape, element, count = shape_of(self.input), plain_type(element_of(self.input)), self.count.value.data
        if len(shape) != 2:
            raise VerifyException(f"input must have shape [samples, features], but got '{self.input.type}'")
        if count < 1 or self.aggregate.data not in AGGREGATES:
            raise VerifyException(
                f"count must be >= 1 and aggregate one of {', '.join(AGGREGATES)}, but got {count} and "
                f"'{self.aggregate.data}'"
            )
        nodes, leaves = shape_of(self.features)[:1], shape_of(self.weights)
        tables = {
            "roots": (self.roots, i32, shape_of(self.roots)[:1]),
            "features": (self.features, i32, nodes),
            "thresholds": (self.thresholds, element, nodes),
            "children": (self.children, i32, (*nodes, 2)),
            "missing": (self.missing, i1, nodes),
            "weights": (self.weights, element, leaves[:2] if self.targets is not None else (*leaves[:1], count)),
            "targets": (self.targets, i32, leaves[:2]),
        }
        for name, (value, wanted, sizes) in tables.items():
            rank = 2 if name in ("children", "weights", "targets") else 1
            if value is None:
                continue
            if (
                plain_type(element_of(value)) != wanted
                or len(sizes) != rank
                or not shapes_agree(shape_of(value), sizes)
            ):
                expected = (
                    TensorType(wanted, sizes)
                    if len(sizes) == rank
                    else f"of rank {rank} with elements of type {wanted}"
                )
                raise VerifyException(f"'{name}' must be {expected}, but got '{value.type}'")
        if self.targets is not None and self.aggregate.data != "sum":
            raise VerifyException(
                f"aggregate '{self.aggregate.data}' requires one weight per score in each leaf, and no targets"
            )
        return [TensorType(element, [shape[0], count])]
