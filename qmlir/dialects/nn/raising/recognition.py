"""Recognition of float composites that are spelled as primitive operations, by the function that these compute.

Each recognizer takes the last operation of a group and returns the composite, or `None`. Constants must have the values
that the composite requires, and reductions must run along its axes. Results can differ only if the parts would overflow
or divide 0 by 0 (a softmax without a shift, a norm of 0). If an inner value has other users, such as the mean of two
norms of one tensor, it is still computed for these users.
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, TensorType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import Kind, NnOp, build, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import AbsOp, AddOp, DivOp, ErfOp, ExpOp, LogOp, MulOp, PowOp, SqrtOp, SubOp
from qmlir.dialects.nn.movement.ops import TransposeOp
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.raising.groups import Raised
from qmlir.dialects.nn.raising.spellings import (
    Product,
    Rows,
    above,
    averaged,
    clipped,
    defining_op,
    is_centered,
    is_close,
    is_polynomial,
    lower_bounded,
    number,
    one_axis,
    polynomial,
    power,
    row,
    squares,
    summed,
    sums_of_squares,
    terms,
)
from qmlir.dialects.nn.raising.unification import constant_of
from qmlir.dialects.nn.reduction.ops import ReduceL1Op, ReduceL2Op, ReduceLogSumExpOp, ReduceLogSumOp, ReduceMaxOp
from qmlir.ir.builtin_types import element_of, ranked_tensor, shape_of
from qmlir.ir.decomposition import marks_on, set_marks
from qmlir.ir.provenance import merged_origins, origins_of, set_origins, set_tensor_names, tensor_names

DEPTH = 20
"""The number of producers of the last operation that are searched."""

Parameter = tuple[Array, SSAValue | None]
"""The elements of a constant, and the constant that they come from."""


@dataclass
class Recognized:
    """A composite that computes the same function as a group of operations."""

    kind: type[NnOp]
    operands: Sequence[SSAValue]
    properties: dict[str, Any] = field(default_factory=dict[str, Any])
    parameters: Sequence[Parameter] = ()
    """Additional operands of the composite, which are f32 constants."""

    order: Sequence[int] = ()
    """The permutation of axes of the first operand and the result; empty if the axes are in order."""


Recognizer = Callable[[Operation], Recognized | None]


def _sources(value: SSAValue) -> Iterator[SSAValue]:
    """Yields the values that `value` may be a function of, the farthest first."""
    owner = defining_op(value)
    inner = [] if owner is None else [operand for op in above(owner, DEPTH) for operand in op.operands]
    for each in (*dict.fromkeys(inner[::-1]), value):
        if ranked_tensor(each.type) and constant_of(each) is None and kind_of(element_of(each)) is Kind.FLOAT:
            yield each


# --- Functions of one value -------------------------------------------------------------------------------------------


def _affine(value: SSAValue) -> Iterator[tuple[SSAValue, float, float]]:
    """Yields the values that `value` is an affine function of, with the factor and the summand."""
    for x in _sources(value):
        found = polynomial(value, (x,))
        if found is not None and set(found) <= {(0,), (1,)} and found.get((1,)):
            yield x, found[(1,)], found.get((0,), 0.0)


def _one_and_exp(value: SSAValue) -> SSAValue | None:
    """Returns `z` if `value` is `1 + e^z`."""
    for op in above(owner, 3) if (owner := defining_op(value)) is not None else ():
        if isinstance(op, ExpOp) and is_polynomial(value, (op.result,), {(0,): 1.0, (1,): 1.0}):
            return op.input
    return None


def _sigmoid(root: Operation) -> Recognized | None:
    """Matches `1 / (1 + e^-x)`."""
    inverse = power(root.results[0])
    exponent = _one_and_exp(inverse[0]) if inverse is not None and inverse[1] == -1 else None
    for x, factor, summand in _affine(exponent) if exponent is not None else ():
        if factor == -1 and not summand:
            return Recognized(activations.SigmoidOp, [x])
    return None


def _softplus(root: Operation) -> Recognized | None:
    """Matches `ln(1 + e^x)`."""
    x = _one_and_exp(root.input) if isinstance(root, LogOp) else None
    return None if x is None else Recognized(activations.SoftplusOp, [x])


def _gate(value: SSAValue) -> tuple[SSAValue, float] | None:
    """Matches a value clipped to `[0, bound]`, including a hard sigmoid; returns the value and the bound."""
    owner = defining_op(value)
    return (value, 1.0) if isinstance(owner, activations.HardSigmoidOp) else clipped(value)


def _gates(root: Operation) -> Iterator[tuple[SSAValue, SSAValue, float, float, float]]:
    """Yields the gates that `root` may scale: the gate, the unclipped variable, its factor and summand, the upper
    bound."""
    for op in above(root, 6):
        gate = op.results[0] if op.results else None
        if gate is None or (found := _gate(gate)) is None:
            continue
        if isinstance(op, activations.HardSigmoidOp):
            yield gate, op.input, op.alpha.value.data, op.beta.value.data, 1.0
            continue
        for x, factor, summand in _affine(found[0]):
            yield gate, x, factor, summand, found[1]


def _hard_sigmoid(root: Operation) -> Recognized | None:
    """Matches `clip(a * x + b, 0, c) / c`."""
    if isinstance(root, activations.HardSigmoidOp):
        return None
    for gate, x, factor, summand, bound in _gates(root):
        if x is not gate and summand and is_polynomial(root.results[0], (gate,), {(1,): 1 / bound}):
            return Recognized(activations.HardSigmoidOp, [x], {"alpha": factor / bound, "beta": summand / bound})
    return None


def _hard_swish(root: Operation) -> Recognized | None:
    """Matches `x * clip(x + 3, 0, 6) / 6`."""
    for gate, x, factor, summand, bound in _gates(root):
        is_gate = is_close(factor / bound, 1 / 6) and is_close(summand / bound, 0.5)
        if is_gate and is_polynomial(root.results[0], (x, gate), {(1, 1): 1 / bound}):
            return Recognized(activations.HardSwishOp, [x])
    return None


def _swish(root: Operation) -> Recognized | None:
    """Matches `x * sigmoid(alpha * x)`, or `x / (1 + e^(-alpha * x))`."""
    value = root.results[0]
    exponent = _one_and_exp(root.rhs) if isinstance(root, DivOp) else None
    if isinstance(root, DivOp) and exponent is not None:
        for x, factor, summand in _affine(exponent):
            if x is root.lhs and not summand:
                return Recognized(activations.SwishOp, [x], {"alpha": -factor})
    for op in above(root, 4):
        for x, factor, summand in _affine(op.input) if isinstance(op, activations.SigmoidOp) else ():
            if not summand and is_polynomial(value, (x, op.results[0]), {(1, 1): 1.0}):
                return Recognized(activations.SwishOp, [x], {"alpha": factor})
    return None


def _mish(root: Operation) -> Recognized | None:
    """Matches `x * tanh(softplus(x))`."""
    for op in above(root, 4):
        curve = defining_op(op.input) if isinstance(op, activations.TanhOp) else None
        if isinstance(curve, activations.SoftplusOp):
            x = curve.input
            if is_polynomial(root.results[0], (x, op.results[0]), {(1, 1): 1.0}):
                return Recognized(activations.MishOp, [x])
    return None


_TANH = math.sqrt(2 / math.pi)


def _gelu(root: Operation) -> Recognized | None:
    """Matches `x / 2 * (1 + erf(x / sqrt(2)))`, or `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`."""
    for op in above(root, DEPTH):
        if not isinstance(op, ErfOp | activations.TanhOp):
            continue
        is_tanh = isinstance(op, activations.TanhOp)
        argument = {(1,): _TANH, (3,): _TANH * 0.044715} if is_tanh else {(1,): math.sqrt(0.5)}
        for x in _sources(op.input):
            is_curve = is_polynomial(op.input, (x,), argument)
            if is_curve and is_polynomial(root.results[0], (x, op.results[0]), {(1, 0): 0.5, (1, 1): 0.5}):
                return Recognized(activations.GeluOp, [x], {"tanh_approximation": True} if is_tanh else {})
    return None


# --- Softmax ----------------------------------------------------------------------------------------------------------


def _quotients(value: SSAValue) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yields numerator and denominator of the quotients that `value` may be."""
    op = defining_op(value)
    if isinstance(op, DivOp):
        yield op.lhs, op.rhs
    for left, right in ((op.lhs, op.rhs), (op.rhs, op.lhs)) if isinstance(op, MulOp) else ():
        inverse = power(right)
        if inverse is not None and inverse[1] == -1:
            yield left, inverse[0]


def _unshifted(value: SSAValue, axis: int) -> SSAValue:
    """Returns `x` if `value` is `x` minus its maxima along the axis; otherwise `value`."""
    op = defining_op(value)
    if isinstance(op, SubOp) and Rows(op.lhs, (axis,)).reduces(op.rhs, ReduceMaxOp):
        return op.lhs
    return value


def _softmax(root: Operation) -> Recognized | None:
    """Matches `e^x` over its sums along one axis, with or without subtraction of the maxima."""
    for raised, total in _quotients(root.results[0]):
        op, rows = defining_op(raised), summed(total)
        axis = one_axis(rows)
        if isinstance(op, ExpOp) and rows is not None and axis is not None and rows.data is raised and rows.fits(total):
            return Recognized(normalization.SoftmaxOp, [_unshifted(op.input, axis)], _along(axis, rows.data))
    return None


def _along(axis: int, data: SSAValue) -> dict[str, Any]:
    return {} if axis == len(shape_of(data)) - 1 else {"axis": axis}


def _log_of_sum(value: SSAValue) -> Rows | None:
    """Returns the rows of `x` if `value` is `log(sum(e^x))`."""
    op = defining_op(row(value))
    if isinstance(op, ReduceLogSumExpOp):
        return Rows.of(op)
    rows = Rows.of(op) if isinstance(op, ReduceLogSumOp) else summed(op.input) if isinstance(op, LogOp) else None
    raised = None if rows is None else defining_op(rows.data)
    return Rows(raised.input, rows.axes) if rows is not None and isinstance(raised, ExpOp) else None


def _log_softmax(root: Operation) -> Recognized | None:
    """Matches the logarithm of a softmax, or `x` minus the logarithm of the sums of `e^x` along one axis."""
    if (
        isinstance(root, LogOp)
        and isinstance(softmax := defining_op(root.input), normalization.SoftmaxOp)
        and softmax.mask is None
    ):
        return Recognized(normalization.LogSoftmaxOp, [softmax.input], {"axis": softmax.axis})
    if not isinstance(root, SubOp):
        return None
    found = _log_of_sum(root.rhs)
    axis = one_axis(found)
    if found is not None and axis is not None and found.data is root.lhs and found.fits(root.rhs):
        return Recognized(normalization.LogSoftmaxOp, [_unshifted(root.lhs, axis)], _along(axis, root.lhs))
    whole = defining_op(row(root.rhs))  # log(sum(e^(x - max))) + max
    for left, right in (whole.operands, whole.operands[::-1]) if isinstance(whole, AddOp) else ():
        found = _log_of_sum(left)
        axis = one_axis(found)
        if found is None or axis is None or not Rows(root.lhs, (axis,)).fits(root.rhs):
            continue
        largest = defining_op(row(right))
        is_shifted = _unshifted(found.data, axis) is root.lhs and found.data is not root.lhs
        if is_shifted and isinstance(largest, ReduceMaxOp) and Rows.of(largest) == Rows(root.lhs, (axis,)):
            return Recognized(normalization.LogSoftmaxOp, [root.lhs], _along(axis, root.lhs))
    return None


# --- Normalizations ---------------------------------------------------------------------------------------------------


def _norm(value: SSAValue) -> tuple[Rows, int, float] | None:
    """Returns the rows whose norm is `value`, the order of the norm, and its lower bound."""
    least, op = 0.0, defining_op(row(value))
    if op is not None and (bounded := lower_bounded(op.results[0])) is not None:
        least, op = bounded[1], defining_op(row(bounded[0]))
    if isinstance(op, ReduceL1Op | ReduceL2Op):
        rows = Rows.of(op)
        return None if rows is None else (rows, 1 if isinstance(op, ReduceL1Op) else 2, least)
    if op is None:
        return None
    root = power(op.results[0])
    if root is not None and root[1] == 0.5 and not least:
        inner = lower_bounded(root[0])
        total, least = (root[0], 0.0) if inner is None else (inner[0], math.sqrt(max(inner[1], 0.0)))
        rows = sums_of_squares(total)
        return None if rows is None else (rows, 2, least)
    reduced = summed(op.results[0])
    magnitude = None if reduced is None else defining_op(reduced.data)
    if reduced is not None and isinstance(magnitude, AbsOp):
        return Rows(magnitude.input, reduced.axes), 1, least
    return None


def _lp_norm(root: Operation) -> Recognized | None:
    """Matches `x` over its norm along one axis; the norm may have a lower bound."""
    for x, norm in _quotients(root.results[0]):
        found = _norm(norm)
        axis = None if found is None else one_axis(found[0])
        if found is not None and axis is not None and found[0].data is x and found[0].fits(norm) and found[2] >= 0:
            properties = {**_along(axis, x), **({} if found[1] == 2 else {"p": found[1]})}
            return Recognized(
                normalization.LpNormOp, [x], {**properties, **({"epsilon": found[2]} if found[2] else {})}
            )
    return None


@dataclass(frozen=True)
class _Scale:
    """A root by which rows are divided: of a variance, or a mean or sum of squares, plus a small number."""

    root: SSAValue
    """The radicand of the root."""

    rows: Rows
    is_variance: bool
    epsilon: float
    factor: float = 1.0
    """The factor of the quotient: a sum of squares is a mean times a factor."""


def _variance(value: SSAValue) -> Rows | None:
    """Returns the rows whose variance is `value`: the mean of squared deviations, or of squares minus the squared
    mean."""
    reduced = averaged(value)
    deviation = squares(reduced)
    if reduced is not None and deviation is not None and isinstance(centered := defining_op(deviation.data), SubOp):
        rows = Rows(centered.lhs, reduced.axes)
        return rows if is_centered(deviation.data, rows) else None
    bounded = lower_bounded(row(value))
    op = defining_op(row(bounded[0] if bounded is not None and bounded[1] == 0 else value))
    if not isinstance(op, SubOp):
        return None
    rows, mean = squares(averaged(op.lhs)), power(row(op.rhs))
    return rows if mean is not None and mean[1] == 2 and averaged(mean[0]) == rows else None


def _scale_of(value: SSAValue) -> Iterator[_Scale]:
    """Yields the scales whose squared root is `value`."""
    op, inner, epsilon = defining_op(row(value)), row(value), 0.0
    if isinstance(op, AddOp):
        for operand, other in (op.operands, op.operands[::-1]):
            if (known := number(other)) is not None and known >= 0:
                inner, epsilon = operand, known
    if (rows := _variance(inner)) is not None:
        yield _Scale(value, rows, is_variance=True, epsilon=epsilon)
        return
    if (rows := squares(averaged(inner))) is not None:
        yield _Scale(value, rows, is_variance=False, epsilon=epsilon)
    elif epsilon and (rows := sums_of_squares(inner)) is not None and rows.count:
        yield _Scale(value, rows, is_variance=False, epsilon=epsilon / rows.count, factor=rows.count**-0.5)


def _is_over_root(product: Product, scale: _Scale) -> bool:
    """Whether a product contains exactly one root, that of `scale`, as a divisor."""
    return product.powers == [(scale.root, -0.5)] and len(product.constants) <= 1


def _is_normalized(product: Product, scale: _Scale) -> bool:
    """Whether a product is the data over the root, with the data centered if the root is that of a variance."""
    if not _is_over_root(product, scale) or len(product.others) != 1:
        return False
    (data,) = product.others
    return is_centered(data, scale.rows) if scale.is_variance else data is scale.rows.data


def _factors(values: Sequence[tuple[SSAValue, bool]], scale: _Scale) -> Product | None:
    """Returns the product whose terms are `values`, without a bias: `x * f`, or `x * f - mean * f`."""
    products = [Product.of(value, scale.rows) for value, is_added in values if is_added]
    less = [Product.of(value, scale.rows) for value, is_added in values if not is_added]
    if len(products) != 1 or (product := products[0]) is None:
        return None
    if not less:
        return product if _is_normalized(product, scale) else None
    mean = less[0]
    if len(less) != 1 or mean is None or not scale.is_variance or product.constants != mean.constants:
        return None
    if not all(_is_over_root(each, scale) and len(each.others) == 1 for each in (product, mean)):
        return None
    (moved,) = mean.others
    is_mean = averaged(moved) == scale.rows and scale.rows.fits(moved)
    return product if is_mean and product.others == [scale.rows.data] else None


def _broadcast(constants: Sequence[Array], shape: Sequence[int], order: Sequence[int] = ()) -> list[Array] | None:
    """Returns the constants broadcast to `shape`, or `None` if one of them does not fit.

    If `order` permutes the axes of the data, the constants are first padded to the same rank and permuted likewise.
    """
    found: list[Array] = []
    for array in constants:
        if order:
            if array.ndim > len(order):
                return None
            array = array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(order)
        extra = array.ndim - len(shape)
        if DYNAMIC_INDEX in shape or any(size != 1 for size in array.shape[: max(extra, 0)]):
            return None
        try:
            found.append(np.broadcast_to(array.reshape(array.shape[max(extra, 0) :]), shape))
        except ValueError:
            return None
    return found


def _normalization(root: Operation) -> Recognized | None:
    """Matches layer, instance and root-mean-square norms, with and without a scale and a bias."""
    if not isinstance(root, AddOp | SubOp | MulOp | DivOp):
        return None
    value = root.results[0]
    roots = [power(op.results[0]) for op in above(root, DEPTH) if isinstance(op, SqrtOp | PowOp)]
    for inner, exponent in filter(None, roots):
        for scale in _scale_of(inner) if abs(exponent) == 0.5 else ():
            parts = list(terms(value))
            biases = [each for each in parts if constant_of(each[0]) is not None]
            product = _factors([each for each in parts if each not in biases], scale)
            if product is not None and len(biases) <= 1 and (found := _with_parameters(scale, product, biases)):
                return found
    return None


def _with_parameters(scale: _Scale, product: Product, biases: Sequence[tuple[SSAValue, bool]]) -> Recognized | None:
    rows, shape = scale.rows, shape_of(scale.rows.data)
    sources = [*(product.constants or [None]), *(value for value, _ in biases)]
    arrays = [constant.array for value in product.constants if (constant := constant_of(value)) is not None]
    shifts = [constant.array * (1 if up else -1) for value, up in biases if (constant := constant_of(value))]
    if not rows.axes or (not scale.is_variance and (shifts or not rows.is_trailing)):
        return None
    # A layer norm along axes that are not the last ones, such as channels first, needs its data transposed.
    order = [*(axis for axis in range(len(shape)) if axis not in rows.axes), *rows.axes]
    first, epsilon, is_plain = len(shape) - len(rows.axes), {"epsilon": scale.epsilon}, not arrays and scale.factor == 1
    properties = {**(_along(first, rows.data) if rows.is_trailing else {"axis": first}), **epsilon}
    own = _broadcast([*(arrays or [np.array(scale.factor)]), *shifts], [shape[axis] for axis in rows.axes], order)
    if own is not None:
        parameters = list(zip([own[0] * (scale.factor if arrays else 1), *own[1:]], sources, strict=True))
        if scale.is_variance:
            order = [] if rows.is_trailing else order
            return Recognized(normalization.LayerNormOp, [rows.data], properties, parameters, order)
        return Recognized(normalization.RmsNormOp, [rows.data], properties, [] if is_plain else parameters)
    if not scale.is_variance:
        return Recognized(normalization.RmsNormOp, [rows.data], properties) if is_plain else None
    # A per-channel scale, [C, 1, ...]: an instance norm.
    if not rows.is_trailing or first != 2 or len(shape) < 3 or DYNAMIC_INDEX in shape[1:2]:
        return None
    channels = (shape[1], *(1,) * (len(shape) - 2))
    found = _broadcast([*(arrays or [np.array(1.0)]), *(shifts or [np.array(0.0)])], channels)
    if found is None:
        return None
    flat = (each.reshape(-1) for each in found)
    return Recognized(
        normalization.InstanceNormOp, [rows.data], epsilon, list(zip(flat, (*sources, None)[:2], strict=True))
    )


# --- From a recognized function to the composite ----------------------------------------------------------------------

RECOGNIZERS: tuple[Recognizer, ...] = (
    _sigmoid, _softplus, _hard_sigmoid, _hard_swish, _swish, _mish, _gelu, _softmax, _log_softmax, _lp_norm,
    _normalization,
)  # fmt: skip
"""The recognizers, in the order in which each is applied to the whole module: parts of other composites come first."""


def _inside(root: Operation, operands: Collection[SSAValue]) -> list[Operation] | None:
    """Returns the operations between `operands` and the result of `root`; `None` if not all are f32 and in one
    block."""
    found: list[Operation] = [root]
    for op in found:
        for operand in op.operands:
            if operand in operands or constant_of(operand) is not None:
                continue
            owner = defining_op(operand)
            if owner is None or owner.parent is not root.parent:
                return None
            if owner not in found:
                found.append(owner)
    results = [result for op in found for result in op.results]
    if any(not isinstance(element_of(result), Float32Type) for result in results):
        return None
    assert root.parent is not None
    places = {op: place for place, op in enumerate(root.parent.ops)}
    return sorted(found, key=places.__getitem__)


def _needed_by(root: Operation, parts: Sequence[Operation]) -> list[Operation]:
    """Returns the parts, in order, that only `root` uses, directly or indirectly."""
    found = [root]
    for op in parts[-2::-1]:
        if all(use.operation in found for result in op.results for use in result.uses):
            found.append(op)
    return found[::-1]


def _operand(parameter: Parameter, made: list[ConstantOp]) -> SSAValue:
    """Returns the constant itself if it has these elements and shape; otherwise a new one, which is added to `made`."""
    array, source = np.ascontiguousarray(parameter[0], np.float32), parameter[1]
    constant = None if source is None else constant_of(source)
    if constant is not None and constant.array.shape == array.shape and (constant.array == array).all():
        return constant.result
    made.append(ConstantOp.of(array, TensorType(f32, array.shape)))
    if constant is not None:
        set_origins(made[-1], origins_of(constant))
    return made[-1].result


def recognized(root: Operation, recognize: Recognizer) -> Raised | None:
    """Returns the replacement of the group that ends with `root` if `recognize` matches it; otherwise `None`."""
    if not isinstance(root, NnOp) or len(root.results) != 1 or not isinstance(element_of(root.results[0]), Float32Type):
        return None
    known = recognize(root)
    parts = None if known is None else _inside(root, known.operands)
    if known is None or parts is None:
        return None
    constants: list[ConstantOp] = []
    operands = [*known.operands, *(_operand(each, constants) for each in known.parameters)]
    moved = [TransposeOp(operands[0], known.order)] if known.order else []
    operands[: len(moved)] = [each.result for each in moved]
    try:
        composite = build(known.kind, operands, known.properties)
        composite.verify_()
    except VerifyException:
        composite = None
    back = [TransposeOp(composite.results[0], np.argsort(known.order).tolist())] if moved and composite else []
    before, made = [*constants, *moved], [*constants, *moved, *filter(None, (composite,)), *back]
    if composite is None or made[-1].results[0].type != root.results[0].type:
        for each in reversed(made):
            each.drop_all_references()
        return None
    last = made[-1]
    for each in (*moved, composite, *back):
        set_origins(each, merged_origins(_needed_by(root, parts)))
    set_tensor_names(last, tensor_names(root))
    set_marks(composite, marks_on(root))
    return Raised.of(composite, before, [root.results[0]], parts, back)  # all results of the group are f32
