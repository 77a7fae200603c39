"""Elementwise operators, softmax and reductions."""

from collections.abc import Collection, Mapping, Sequence

from xdsl.dialects.builtin import IntegerType, f32, f64, i32, i64
from xdsl.ir import SSAValue

from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.litert.node import BOUNDS, LiteImporter, LiteNode, followed
from qmlir.extensions.litert.operators.formula import NodeFormula, fixed_multiplier
from qmlir.extensions.litert.operators.row import ALL, BYTES, NONE, SIGNED, LiteRow
from qmlir.extensions.litert.values import IMAGE, Layout
from qmlir.formats.one_to_one import OneToOne
from qmlir.ir.builtin_types import element_of, shape_of

_FLOAT: Sequence[OneToOne] = (
    OneToOne("ABS", elementwise.AbsOp),
    OneToOne("NEG", elementwise.NegOp),
    OneToOne("SQRT", elementwise.SqrtOp),
    OneToOne("EXP", elementwise.ExpOp),
    OneToOne("LOG", elementwise.LogOp),
    OneToOne("SIN", elementwise.SinOp),
    OneToOne("COS", elementwise.CosOp),
    OneToOne("FLOOR", elementwise.FloorOp),
    OneToOne("CEIL", elementwise.CeilOp),
    OneToOne("ROUND", elementwise.RoundOp),
    OneToOne("SIGN", elementwise.SignOp),
    OneToOne("POW", elementwise.PowOp),
    OneToOne("FLOOR_MOD", elementwise.ModOp),
    OneToOne("EQUAL", elementwise.EqualOp),
    OneToOne("LESS", elementwise.LessOp),
    OneToOne("LESS_EQUAL", elementwise.LessOrEqualOp),
    OneToOne("GREATER", elementwise.GreaterOp),
    OneToOne("GREATER_EQUAL", elementwise.GreaterOrEqualOp),
    OneToOne("LOGICAL_AND", elementwise.AndOp),
    OneToOne("LOGICAL_OR", elementwise.OrOp),
    OneToOne("LOGICAL_NOT", elementwise.NotOp),
    OneToOne("SELECT_V2", elementwise.WhereOp),
)
"""Operators on floats, integers and Booleans."""

_QUANTIZED: Sequence[tuple[OneToOne, Collection[str]]] = (
    (OneToOne("RELU", activations.ReluOp), BYTES),
    (OneToOne("LOGISTIC", activations.SigmoidOp), SIGNED),
    (OneToOne("TANH", activations.TanhOp), SIGNED),
    (OneToOne("ELU", activations.EluOp), BYTES),
    (OneToOne("GELU", activations.GeluOp, "approximate=tanh_approximation"), BYTES),
    (OneToOne("HARD_SWISH", activations.HardSwishOp), BYTES),
    (OneToOne("LEAKY_RELU", activations.LeakyReluOp, "alpha"), BYTES),
    (OneToOne("PRELU", activations.PReluOp), BYTES),
)
"""Operators that LiteRT also computes on quantized values."""

ROWS: Sequence[OneToOne] = (*_FLOAT, *(row for row, _ in _QUANTIZED))
"""The operators that correspond to one operation each, in both directions."""


def _activated(operation: type[NnOp]) -> LiteImporter:
    """Returns the importer of a binary operator with a fused activation."""

    def imported(node: LiteNode) -> SSAValue:
        return node.activated(node.add(operation, node.ranked(0), node.ranked(1)).results[0])

    return imported


def _clip(minimum: float, maximum: float) -> LiteImporter:
    def imported(node: LiteNode) -> SSAValue:
        return node.add(elementwise.ClipOp, node.input(), minimum=minimum, maximum=maximum).result

    return imported


def _extreme(operation: type[NnOp]) -> LiteImporter:
    """Returns the importer of MAXIMUM or MINIMUM, which compare stored integers whatever the scales."""

    def imported(node: LiteNode) -> SSAValue:
        plain = [node.graph.plain(node.ranked(index)) for index in (0, 1)]
        result = node.add(operation, *plain).results[0]
        element = node.element()
        return node.graph.stored(result, element, [node.origin]) if node.is_quantized else result

    return imported


def _select(node: LiteNode) -> SSAValue:
    condition, value = node.given(0).shape, node.given(1).shape
    if condition != value and len(condition):
        raise node.unsupported(
            f"a condition of shape {list(condition)} must have the shape of the values, {list(value)}"
        )
    return node.add(elementwise.WhereOp, *(node.ranked(index) for index in range(3))).result


def _rsqrt(node: LiteNode) -> SSAValue:
    return node.add(elementwise.ReciprocalOp, node.add(elementwise.SqrtOp, node.input()).result).result


def _square(node: LiteNode) -> SSAValue:
    return node.add(elementwise.MulOp, node.input(), node.input()).result


def _squared_difference(node: LiteNode) -> SSAValue:
    """Computes `(a - b)^2`; for stored integers, in LiteRT's fixed-point numbers with 7 more bits."""
    element = node.element()
    if not isinstance(element, UniformQuantizedType):
        difference = node.add(elementwise.SubOp, node.ranked(0), node.ranked(1)).result
        return node.add(elementwise.MulOp, difference, difference).result
    do = NodeFormula(node)
    types = [node.owner.element(node.given(index)) for index in (0, 1)]
    twice = 2.0 * max(each.scale for each in types)
    sides: list[SSAValue] = []
    for index, each in enumerate(types):
        shifted = do(elementwise.SubOp, node.cast(node.graph.plain(node.ranked(index)), f64), float(each.zero_points))
        sides.append(do.rescaled(do(elementwise.MulOp, shifted, 2.0**7), each.scale / twice))
    difference = node.cast(do(elementwise.SubOp, *sides), i64)
    ratio = twice * twice / (2.0**14 * element.scale)
    multiplier, shift = fixed_multiplier(min(ratio, 1.0))
    if shift < 0:  # the ratio is 1 or more, or is rounded to 1
        raise node.unsupported("its output scale is too small")
    # Squares are not negative, so integer division rounds down.
    product = do(elementwise.MulOp, do(elementwise.MulOp, difference, difference), float(multiplier))
    high = do(elementwise.DivOp, do(elementwise.AddOp, product, float(1 << 30)), float(1 << 31))
    half = float((1 << shift) >> 1)
    total = do(elementwise.DivOp, do(elementwise.AddOp, high, half), float(1 << shift))
    total = do.clip(do(elementwise.AddOp, total, float(element.zero_points)), element.storage_min, element.storage_max)
    return node.graph.stored(node.cast(total, element.storage), element, [node.origin])


def _not_equal(node: LiteNode) -> SSAValue:
    return node.add(elementwise.NotOp, node.add(elementwise.EqualOp, node.ranked(0), node.ranked(1)).result).result


def _floor_div(node: LiteNode) -> SSAValue:
    quotient = node.add(elementwise.DivOp, node.ranked(0), node.ranked(1)).result
    if isinstance(element_of(quotient), IntegerType):
        raise node.unsupported("is supported on floats only")
    return node.add(elementwise.FloorOp, quotient).result


def _add_n(node: LiteNode) -> SSAValue:
    total = node.input()
    for index in range(1, len(node.operator.inputs)):
        total = node.add(elementwise.AddOp, total, node.ranked(index)).result
    return total


def _cast(node: LiteNode) -> SSAValue:
    if node.is_quantized:
        raise node.unsupported("its output has a scale, which LiteRT ignores")
    return node.cast(node.graph.plain(node.input()), node.element())  # LiteRT casts stored integers


def _softmax(node: LiteNode) -> SSAValue:
    value, beta = node.input(), node.attribute("beta", 1.0)
    if beta != 1.0:
        if node.is_quantized:
            raise node.unsupported(f"beta must be 1, but is {beta}")
        if element_of(value) != f32:
            raise node.unsupported(f"is not supported on {element_of(value)}")
        value = node.add(elementwise.MulOp, value, node.scalar(beta, value)).result
    return node.add(normalization.SoftmaxOp, value, axis=_last_axis(node)).result


def _log_softmax(node: LiteNode) -> SSAValue:
    return node.add(normalization.LogSoftmaxOp, node.input(), axis=_last_axis(node)).result


def _last_axis(node: LiteNode) -> int:
    rank = len(node.shape())
    return node.layout.axis(rank - 1) if rank == IMAGE else rank - 1


# Reductions


def axes_of(node: LiteNode, index: int) -> list[int]:
    """Returns the axes in input `index`, counted from the front, in the order of the file."""
    rank = len(node.given(0).shape)
    axes = [axis + rank if axis < 0 else axis for axis in node.numbers(index)]
    if any(not 0 <= axis < rank for axis in axes):
        raise node.error(f"axes {axes} are not among the {rank} axes of its input")
    return list(dict.fromkeys(axes))


def _one_axis(node: LiteNode) -> int:
    """Returns the axis in input 1, which must be one number."""
    node.integer_of(1)
    return axes_of(node, 1)[0]


def _reduced(node: LiteNode) -> Layout:
    """Returns the layout of a reduction: channels-first only if the remaining axes keep their order."""
    first = node.owner.is_first_only(node.given(0))
    if not first:
        return Layout.LAST
    if node.attribute("keep_dims"):
        return Layout.FIRST
    axes = axes_of(node, 1)
    kept = [axis for axis in Layout.FIRST.value if axis not in axes]
    return Layout.FIRST if kept == sorted(kept) else Layout.LAST


def _reduction(operation: type[reduction.ReduceOp], *, copies: bool = False) -> LiteImporter:
    """Returns the importer of a reduction; one that `copies` selects an element of the input."""

    def imported(node: LiteNode) -> SSAValue:
        axes, value = axes_of(node, 1), node.quantized(0)
        if len(shape_of(value)) == IMAGE:
            axes = [node.layout.axis(axis) for axis in axes]
        if not axes:
            return node.restamped(value)
        result = node.add(operation, value, axes=axes, keep_dims=bool(node.attribute("keep_dims"))).results[0]
        return node.restamped(result) if copies else result

    return imported


def _of_booleans(operation: type[reduction.ReduceOp]) -> LiteImporter:
    def imported(node: LiteNode) -> SSAValue:
        axes = [node.layout.axis(axis) if len(node.shape()) == IMAGE else axis for axis in axes_of(node, 1)]
        counted = node.cast(node.quantized(0), i32)
        keeps = bool(node.attribute("keep_dims"))
        found = node.add(operation, counted, axes=axes, keep_dims=keeps).results[0]
        return node.cast(found, node.element())

    return imported


def _arg(operation: type[reduction.ArgExtremeOp]) -> LiteImporter:
    def imported(node: LiteNode) -> SSAValue:
        axis = _one_axis(node)
        value = node.graph.plain(node.quantized(0))
        result = node.add(operation, value, axis=axis, keep_dims=False).results[0]
        return node.cast(result, node.element())

    return imported


def _cumsum(node: LiteNode) -> SSAValue:
    axis = _one_axis(node)
    return node.add(reduction.CumSumOp, node.input(), axis=axis, attributes="exclusive reverse").result


OPERATORS: Mapping[str, LiteRow] = {
    **{row.op_type: LiteRow(row.imported, followed) for row in _FLOAT},
    **{row.op_type: LiteRow(row.imported, followed, stored) for row, stored in _QUANTIZED},
    "SELECT": LiteRow(_select, followed),
    "ADD": LiteRow(_activated(elementwise.AddOp), followed, SIGNED),
    "SUB": LiteRow(_activated(elementwise.SubOp), followed, SIGNED),
    "MUL": LiteRow(_activated(elementwise.MulOp), followed, SIGNED),
    "DIV": LiteRow(_activated(elementwise.DivOp), followed),
    "MAXIMUM": LiteRow(_extreme(elementwise.MaxOp), followed, SIGNED),
    "MINIMUM": LiteRow(_extreme(elementwise.MinOp), followed, SIGNED),
    "RELU6": LiteRow(_clip(*BOUNDS[3]), followed, BYTES),
    "RELU_N1_TO_1": LiteRow(_clip(*BOUNDS[2]), followed, BYTES),
    "RELU_0_TO_1": LiteRow(_clip(0.0, 1.0), followed, BYTES),
    "RSQRT": LiteRow(_rsqrt, followed),
    "SQUARE": LiteRow(_square, followed),
    "SQUARED_DIFFERENCE": LiteRow(_squared_difference, followed, BYTES),
    "NOT_EQUAL": LiteRow(_not_equal, followed),
    "FLOOR_DIV": LiteRow(_floor_div, followed),
    "ADD_N": LiteRow(_add_n, followed),
    "CAST": LiteRow(_cast, followed, ALL),
    "SOFTMAX": LiteRow(_softmax, followed, SIGNED),
    "LOG_SOFTMAX": LiteRow(_log_softmax, followed),
    "MEAN": LiteRow(_reduction(reduction.ReduceMeanOp), _reduced, BYTES),
    "SUM": LiteRow(_reduction(reduction.ReduceSumOp), _reduced, BYTES),
    "REDUCE_MAX": LiteRow(_reduction(reduction.ReduceMaxOp, copies=True), _reduced, SIGNED),
    "REDUCE_MIN": LiteRow(_reduction(reduction.ReduceMinOp, copies=True), _reduced, SIGNED),
    "REDUCE_PROD": LiteRow(_reduction(reduction.ReduceProdOp), _reduced, NONE),
    "REDUCE_ANY": LiteRow(_of_booleans(reduction.ReduceMaxOp), _reduced),
    "REDUCE_ALL": LiteRow(_of_booleans(reduction.ReduceMinOp), _reduced),
    "ARG_MAX": LiteRow(_arg(reduction.ArgMaxOp), stored=SIGNED),
    "ARG_MIN": LiteRow(_arg(reduction.ArgMinOp), stored=SIGNED),
    "CUMSUM": LiteRow(_cumsum),
}
"""The operators of this module."""
