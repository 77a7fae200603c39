"""Operand domains: types of operands that must exclude some values, such as 0 for a divisor.

Every type has a zero point, which represents 0. To keep an operation defined for every integer of a type, the storage
limits can exclude the zero point and all other numbers outside the operation's domain. For example, `i8<-127:127>` with
zero point -128 represents only divisors above 0. Limits do not suffice if values come closer to an excluded number than
one step of the type. Then the operation computes in float, together with the operations that only compute this operand,
as rounding their results would have the same effect. The same applies if the steps of a type are too coarse for the
operand of a periodic function.
"""

import math
from collections.abc import Container, Iterable, Iterator, Set

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.control_flow import uses_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Domain, MultipliesAndAdds, Quantizable, Slot
from qmlir.ir.provenance import describe
from qmlir.quantization.choice import Basis, Reason
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.predicates import adds_up_positive
from qmlir.quantization.profiles.statistics import observed
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.retyping import fixed_range
from qmlir.quantization.supports import storage_of


def _domain(op: Operation, position: int) -> Domain | None:
    return list(op.domains())[position] if isinstance(op, Quantizable) else None


def _end(type_: UniformQuantizedType, domain: Domain, edge: float, way: int) -> int:
    """Returns the integer of the first number in the domain from `edge` on: upwards if `way` is 1, downwards for -1."""
    stored = type_.zero_point + way * (int(np.ceil(edge / type_.scale * way)) - 1)
    while True:
        number = np.float32(type_.scale) * np.float32(stored - type_.zero_point)
        if number * way >= edge * way and bool(domain.holds(np.asarray(number, np.float64))):
            return stored
        stored += way


def narrowed(type_: UniformQuantizedType, domain: Domain, low: float, high: float) -> UniformQuantizedType | None:
    """Returns `type_` with storage limits such that every number it represents is in the domain.

    Values range from `low` to `high`. Returns `None` if these numbers, or a hole between them, are outside the domain;
    if the limits would move `low` or `high` by more than half a step next to a hole, or by more than one step at an end
    of the domain; or if the scale is coarser than the domain allows.
    """
    is_inside = domain.holds(np.array([low, high])).all() and not any(low < hole < high for hole in domain.holes)
    if type_.scale > domain.coarsest or not is_inside:
        return None
    limits: list[int] = []
    ends = (1, low, domain.minimum, type_.storage_min), (-1, high, domain.maximum, type_.storage_max)
    for way, nearest, end, limit in ends:
        edges = [edge * way for edge in (end, *domain.holes) if np.isfinite(edge) and edge * way <= nearest * way]
        if edges:
            edge = max(edges) * way
            inside = _end(type_, domain, edge, way)
            moved = (type_.scale * (inside - type_.zero_point) - nearest) * way
            if inside * way > limit * way:
                if moved > type_.scale * (0.5 if edge in domain.holes else 1.0):
                    return None
                limit = inside
        limits.append(limit)
    first, last = limits
    if first >= last:
        return None
    return UniformQuantizedType.like(type_, type_.storage, type_.scales, type_.zero_points, (first, last))


def _users(members: Iterable[SSAValue], quantized: Container[Operation]) -> Iterator[tuple[Operation, Domain]]:
    """Yields the quantized operations with a restricted domain that read one of `members`, each with the domain."""
    for member in members:
        for use in member.uses:
            domain = _domain(use.operation, use.index) if use.operation in quantized else None
            if domain is not None:
                yield use.operation, domain


def _reach(value: SSAValue, reason: Reason) -> tuple[float, float] | None:
    """Returns the smallest and largest number in the group of `value`; `None` if no range is observed or known."""
    seen = [(each.minimum, each.maximum) for each in reason.ranges]
    members = reason.members or (value,)
    seen += [(found.minimum, found.maximum) for found in map(observed, members) if found is not None]
    if not seen and (fixed := fixed_range(value)) is not None:
        seen = [(fixed.minimum, fixed.maximum)]
    return (min(low for low, _ in seen), max(high for _, high in seen)) if seen else None


def _refusal(domain: Domain, type_: UniformQuantizedType, low: float, high: float) -> str:
    if type_.scale > domain.coarsest:
        cause, required = FloatCause.COARSE_STEP, {"coarsest": domain.coarsest}
    else:
        cause, required = FloatCause.DOMAIN, {"domain": domain}
    return cause.reason(**required, storage=storage_of(type_), scale=type_.scale, low=low, high=high)


def within_domains(
    value: SSAValue, type_: UniformQuantizedType, decisions: Decisions, quantized: Container[Operation]
) -> UniformQuantizedType:
    """Returns `type_`, the type of the group of `value`, with limits inside the domains of all users of the group.

    A user for whose domain no limits exist is recorded in `decisions.undefined`. A type that the model defines is left
    unchanged.
    """
    reason = decisions.reasons[value]
    reach = None if reason.basis is Basis.GIVEN else _reach(value, reason)
    for op, domain in _users(reason.members or (value,), quantized) if reach is not None else ():
        assert reach is not None
        limited = narrowed(type_, domain, *reach)
        if limited is None:
            decisions.undefined[op] = _refusal(domain, type_, *reach)
        else:
            type_ = limited
    return type_


def undefined_constants(decisions: Decisions) -> dict[Operation, str]:
    """Returns the operations that have no finite result for some element of a quantized constant, with the reasons."""
    found: dict[Operation, str] = {}
    for (op, position), type_ in decisions.constants.items():
        domain = _domain(op, position)
        array = constant_array(op.operands[position])
        if domain is None or array is None or not array.size:
            continue
        if not domain.holds(dequantize(quantize(array, type_), type_)).all():
            found[op] = _refusal(domain, type_, float(array.min()), float(array.max()))
    return found


# --- Operations that only compute such operands -----------------------------------------------------------------------


def _sums_products(op: Operation) -> bool:
    """Returns True if `op` is a contraction that sums; a product of each position with each frequency does not."""
    if not isinstance(op, MultipliesAndAdds):
        return False
    results = sum(math.prod(max(size, 1) for size in shape_of(result)) for result in op.results)
    return op.multiply_adds() > results


def computed_for(function: FuncOp, undefined: Set[Operation]) -> dict[Operation, str]:
    """Returns the operations that must stay in float because they compute restricted operands of the `undefined`
    operations, each with the reason.

    Rounding the results of these operations would have the same effect as rounding the operand. A rounded sum with 1e-6
    becomes 0 again, a position rounded to 8 bits is useless as an angle, and the powers of a spectrum, and the bands
    summed from them, have a wider range than 16 bits represent. The search ends at contractions in which terms may
    cancel, and at values with other readers.
    """
    found: dict[Operation, str] = {}
    for op in reversed(list(function.walk())):
        uses = uses_of(op)
        direct = [
            use.operation
            for use in uses
            if use.operation in undefined and _domain(use.operation, use.index) is not None
        ]
        through = [use.operation for use in uses if use.operation in found]
        if not isinstance(op, Quantizable) or op in undefined:
            continue
        if _sums_products(op) and not adds_up_positive(op):
            continue
        if direct:
            found[op] = FloatCause.FEEDS_FLOAT.reason(op=describe(direct[0]))
        elif through and all(use.operation in found or use.operation in undefined for use in uses):
            found[op] = found[through[0]]
    return found


FLAT_BITS = 8
"""The largest width of results at which all numbers below `QuantizationSlots.flat_below` have the same result."""


def flat_below(members: Iterable[SSAValue], quantized: Container[Operation], recipe: Recipe) -> float:
    """Returns the number below which all users of `members` return 0, so that their type needs no codes below it."""
    values = list(members)
    users = {use.operation for value in values for use in value.uses} - {value.owner for value in values}

    def floor_of(op: Operation) -> float:
        if not isinstance(op, Quantizable) or op not in quantized:
            return -math.inf
        is_wide = any(recipe.wish(op, Slot.OUTPUT).storage.bits > FLAT_BITS for _ in op.results)
        return -math.inf if is_wide else op.quantization_slots().flat_below

    return min(map(floor_of, users), default=-math.inf)
