"""Arithmetic, comparisons, activations and casts."""

from collections.abc import Mapping
from functools import partial

from xdsl.dialects.builtin import AnyFloat, f32, i1
from xdsl.ir import SSAValue

from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.elementwise import ops
from qmlir.dialects.nn.movement.ops import SplitOp
from qmlir.extensions.pt2.node import AtenNode, Importer
from qmlir.ir.builtin_types import element_of, shape_of

_FLOAT_RESULTS = {
    "sqrt": ops.SqrtOp, "exp": ops.ExpOp, "log": ops.LogOp, "reciprocal": ops.ReciprocalOp, "erf": ops.ErfOp,
    "special_erf": ops.ErfOp, "sin": ops.SinOp, "cos": ops.CosOp, "tan": ops.TanOp, "asin": ops.AsinOp,
    "acos": ops.AcosOp, "atan": ops.AtanOp, "sinh": ops.SinhOp, "cosh": ops.CoshOp, "asinh": ops.AsinhOp,
    "acosh": ops.AcoshOp, "atanh": ops.AtanhOp, "sigmoid": activations.SigmoidOp, "tanh": activations.TanhOp,
    "abs": ops.AbsOp, "neg": ops.NegOp, "floor": ops.FloorOp, "ceil": ops.CeilOp, "sign": ops.SignOp, "sgn": ops.SignOp,
    "relu": activations.ReluOp, "hardswish": activations.HardSwishOp, "mish": activations.MishOp,
    "silu": activations.SwishOp, "bitwise_not": ops.BitwiseNotOp,
}  # fmt: skip
"""Operators of one tensor, whose operand is cast to the element type of the result."""

_BINARY: Mapping[str, type[ops.BinaryOp]] = {
    "mul": ops.MulOp, "maximum": ops.MaxOp, "minimum": ops.MinOp, "max.other": ops.MaxOp, "min.other": ops.MinOp,
    "remainder": ops.ModOp, "bitwise_and": ops.BitwiseAndOp, "bitwise_or": ops.BitwiseOrOp,
    "bitwise_xor": ops.BitwiseXorOp, "__and__": ops.BitwiseAndOp, "__or__": ops.BitwiseOrOp,
}  # fmt: skip
"""Operators of two tensors, or a tensor and a number, whose operands are cast to the element type of the result."""

_LOGICAL: Mapping[type[ops.BinaryOp], type[ops.BinaryOp]] = {
    ops.MulOp: ops.AndOp, ops.BitwiseAndOp: ops.AndOp, ops.BitwiseOrOp: ops.OrOp, ops.BitwiseXorOp: ops.XorOp,
    ops.AddOp: ops.OrOp, ops.MaxOp: ops.OrOp, ops.MinOp: ops.AndOp,
}  # fmt: skip
"""The operation on Booleans in place of each operation on numbers."""

_COMPARISONS: Mapping[str, type[ops.BinaryOp]] = {
    "eq": ops.EqualOp, "gt": ops.GreaterOp, "ge": ops.GreaterOrEqualOp, "lt": ops.LessOp, "le": ops.LessOrEqualOp,
}  # fmt: skip

_CONNECTIVES: Mapping[str, type[ops.BinaryOp]] = {
    "logical_and": ops.AndOp, "logical_or": ops.OrOp, "logical_xor": ops.XorOp
}  # fmt: skip


def _unary(node: AtenNode, operation: type[ops.UnaryOp]) -> SSAValue:
    chosen = ops.NotOp if operation is ops.BitwiseNotOp and node.element == i1 else operation
    return node.add(chosen, node.operand("self", node.element)).results[0]


def _binary(node: AtenNode, operation: type[ops.BinaryOp]) -> SSAValue:
    chosen = _LOGICAL.get(operation, operation) if node.element == i1 else operation
    return node.add(chosen, node.operand("self", node.element), node.operand("other", node.element)).results[0]


def _sum(node: AtenNode, operation: type[ops.BinaryOp], *, is_reversed: bool = False) -> SSAValue:
    """`self + alpha * other`, or the difference; `rsub` exchanges the two tensors."""
    chosen = _LOGICAL.get(operation, operation) if node.element == i1 else operation
    left, right = node.operand("self", node.element), node.operand("other", node.element)
    left, right = (right, left) if is_reversed else (left, right)
    alpha = node.number("alpha", 1)
    if alpha != 1:
        right = node.add(ops.MulOp, right, node.filled(alpha, node.element)).result
    return node.add(chosen, left, right).results[0]


def _compare(node: AtenNode, operation: type[ops.BinaryOp], *, is_negated: bool = False) -> SSAValue:
    element = node.promoted("self", "other")
    result = node.add(operation, node.operand("self", element), node.operand("other", element)).results[0]
    return node.add(ops.NotOp, result).result if is_negated else result


def _connect(node: AtenNode, operation: type[ops.BinaryOp]) -> SSAValue:
    return node.add(operation, node.operand("self", i1), node.operand("other", i1)).results[0]


def _div(node: AtenNode) -> SSAValue:
    mode = node.attribute("rounding_mode", None)
    left, right = node.operand("self", node.element), node.operand("other", node.element)
    if isinstance(node.element, AnyFloat):
        quotient = node.add(ops.DivOp, left, right).result
        if mode == "floor":
            return node.add(ops.FloorOp, quotient).result
        return quotient if mode is None else _truncated(node, quotient)
    if mode == "floor":
        rest = node.add(ops.ModOp, left, right).result
        left = node.add(ops.SubOp, left, rest).result
    return node.add(ops.DivOp, left, right).result


def _truncated(node: AtenNode, value: SSAValue) -> SSAValue:
    """Rounds towards 0."""
    size = node.add(ops.FloorOp, node.add(ops.AbsOp, value).result).result
    return node.add(ops.MulOp, node.add(ops.SignOp, value).result, size).result


def _floor_divide(node: AtenNode) -> SSAValue:
    left, right = node.operand("self", node.element), node.operand("other", node.element)
    if isinstance(node.element, AnyFloat):
        return node.add(ops.FloorOp, node.add(ops.DivOp, left, right).result).result
    rest = node.add(ops.ModOp, left, right).result
    return node.add(ops.DivOp, node.add(ops.SubOp, left, rest).result, right).result


def _pow(node: AtenNode) -> SSAValue:
    exponent = node.arguments.get("exponent")
    value = node.operand("self", node.element)
    if exponent == 2:
        return node.add(ops.MulOp, value, value).result
    if exponent == 0.5:
        return node.add(ops.SqrtOp, value).result
    if exponent == -1:
        return node.add(ops.ReciprocalOp, value).result
    return node.add(ops.PowOp, value, node.operand("exponent", node.element)).result


def _round(node: AtenNode) -> SSAValue:
    if node.index("decimals", 0):
        raise node.unsupported("decimals must be 0")
    return node.add(ops.RoundOp, node.tensor()).result


def _rsqrt(node: AtenNode) -> SSAValue:
    return node.add(ops.ReciprocalOp, node.add(ops.SqrtOp, node.operand("self", node.element)).result).result


def _square(node: AtenNode) -> SSAValue:
    return node.add(ops.MulOp, node.tensor(), node.tensor()).result


def _addcmul(node: AtenNode, operation: type[ops.BinaryOp]) -> SSAValue:
    term = node.add(operation, node.tensor("tensor1"), node.tensor("tensor2")).results[0]
    if (value := node.number("value", 1)) != 1:
        term = node.add(ops.MulOp, term, node.filled(value, node.element)).result
    return node.add(ops.AddOp, node.tensor(), term).result


def _clamped(node: AtenNode, low: str, high: str, bounds: tuple[float | None, float | None] = (None, None)) -> SSAValue:
    """Limits by numbers or tensors; limits of f32 that are numbers become properties."""
    value = node.operand("self", node.element)
    given = {name: node.arguments.get(name, bound) for name, bound in zip((low, high), bounds, strict=True)}
    numbers = {name: each for name, each in given.items() if isinstance(each, int | float)}
    if node.element == f32 and len(numbers) == sum(each is not None for each in given.values()):
        minimum, maximum = (None if given[name] is None else float(given[name]) for name in (low, high))
        return node.add(ops.ClipOp, value, minimum=minimum, maximum=maximum).result
    for name, operation in ((low, ops.MaxOp), (high, ops.MinOp)):
        if given[name] is not None:
            bound = given[name]
            limit = node.filled(bound, node.element) if name in numbers else node.operand(name, node.element)
            value = node.add(operation, value, limit).result
    return value


def _where(node: AtenNode) -> SSAValue:
    condition = node.operand("condition", i1)
    return node.add(
        ops.WhereOp, condition, node.operand("self", node.element), node.operand("other", node.element)
    ).result


def _masked_fill(node: AtenNode) -> SSAValue:
    mask = node.operand("mask", i1)
    return node.add(ops.WhereOp, mask, node.operand("value", node.element), node.tensor()).result


def _gelu(node: AtenNode) -> SSAValue:
    kind = node.text("approximate", "none")
    if kind not in ("none", "tanh"):
        raise node.error(f"approximate must be none or tanh, but got '{kind}'")
    return node.add(activations.GeluOp, node.tensor(), tanh_approximation=kind == "tanh").result


def _leaky_relu(node: AtenNode) -> SSAValue:
    return node.add(activations.LeakyReluOp, node.tensor(), alpha=float(node.number("negative_slope", 0.01))).result


def _elu(node: AtenNode) -> SSAValue:
    if node.number("scale", 1) != 1 or node.number("input_scale", 1) != 1:
        raise node.unsupported("scale and input_scale must be 1")
    return node.add(activations.EluOp, node.tensor(), alpha=float(node.number("alpha", 1.0))).result


def _softplus(node: AtenNode) -> SSAValue:
    if node.number("beta", 1) != 1 or node.number("threshold", 20) < 20:
        raise node.unsupported("beta must be 1, and threshold at least 20")
    return node.add(activations.SoftplusOp, node.tensor()).result


def _prelu(node: AtenNode) -> SSAValue:
    slope, rank = node.tensor("weight"), len(shape_of(node.tensor()))
    count = shape_of(slope)
    if count and count[0] != 1 and rank > 2:
        slope = node.reshaped(slope, (*count, *(1,) * (rank - 2)))
    return node.add(activations.PReluOp, node.tensor(), slope).result


def _glu(node: AtenNode) -> SSAValue:
    left, right = node.add(SplitOp, node.tensor(), axis=node.axis("dim", -1), results=2).results
    return node.add(ops.MulOp, left, node.part("gate").add(activations.SigmoidOp, right).result).result


def _cast(node: AtenNode) -> SSAValue:
    value = node.any_tensor()
    return value if element_of(value) == node.element else node.cast(node.tensor(), node.element)


def _log1p(node: AtenNode) -> SSAValue:
    value = node.operand("self", node.element)
    return node.add(ops.LogOp, node.add(ops.AddOp, value, node.filled(1, node.element)).result).result


OPERATORS: Mapping[str, Importer] = {
    **{name: partial(_unary, operation=operation) for name, operation in _FLOAT_RESULTS.items()},
    **{name: partial(_binary, operation=operation) for name, operation in _BINARY.items()},
    **{name: partial(_compare, operation=operation) for name, operation in _COMPARISONS.items()},
    **{name: partial(_connect, operation=operation) for name, operation in _CONNECTIVES.items()},
    "ne": partial(_compare, operation=ops.EqualOp, is_negated=True),
    "add": partial(_sum, operation=ops.AddOp),
    "sub": partial(_sum, operation=ops.SubOp),
    "rsub": partial(_sum, operation=ops.SubOp, is_reversed=True),
    "div": _div,
    "true_divide": _div,
    "floor_divide": _floor_divide,
    "pow.Tensor_Scalar": _pow,
    "pow.Tensor_Tensor": _pow,
    "pow.Scalar": _pow,
    "round": _round,
    "rsqrt": _rsqrt,
    "square": _square,
    "log1p": _log1p,
    "addcmul": partial(_addcmul, operation=ops.MulOp),
    "addcdiv": partial(_addcmul, operation=ops.DivOp),
    "fmod": lambda node: (
        node.add(ops.ModOp, node.operand("self", node.element), node.operand("other", node.element), fmod=True).result
    ),
    "clamp": partial(_clamped, low="min", high="max"),
    "clamp_min": partial(_clamped, low="min", high="max"),
    "clamp_max": partial(_clamped, low="min", high="max"),
    "hardtanh": partial(_clamped, low="min_val", high="max_val", bounds=(-1.0, 1.0)),
    "relu6": partial(_clamped, low="min_val", high="max_val", bounds=(0.0, 6.0)),
    "where.self": _where,
    "where.ScalarOther": _where,
    "where.ScalarSelf": _where,
    "where.Scalar": _where,
    "masked_fill": _masked_fill,
    "logical_not": lambda node: node.add(ops.NotOp, node.operand("self", i1)).result,
    "isnan": lambda node: node.add(ops.IsNaNOp, node.tensor()).result,
    "isinf": lambda node: node.add(ops.IsInfOp, node.tensor()).result,
    "gelu": _gelu,
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "celu": lambda node: node.add(activations.CeluOp, node.tensor(), alpha=float(node.number("alpha", 1.0))).result,
    "selu": lambda node: (
        node.add(activations.SeluOp, node.tensor(), alpha=1.6732632423543772, gamma=1.0507009873554805).result
    ),
    "hardsigmoid": lambda node: node.add(activations.HardSigmoidOp, node.tensor(), alpha=1 / 6, beta=0.5).result,
    "softplus": _softplus,
    "prelu": _prelu,
    "glu": _glu,
    "to": _cast,
    "_to_copy": _cast,
    "type_as": _cast,
}
"""The importer of each ATen operator of this family, without its namespace."""
