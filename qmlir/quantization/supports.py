"""Support checks: compares the type of each value of an operation with the types that a target accepts in the slot.

The checks use only the description of a target. They check the current types of an operation, or types that a pass
considers for it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.arithmetic.schemes import Scheme, Storage, power_of_two_ceiling, symmetric_zero_point
from qmlir.dialects.nn.accumulators import KnownOperands, sum_limits
from qmlir.dialects.nn.base import NnOp, plain_type
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.requantize import may_requantize, requantizes, set_requantization
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.syntax import brief_text
from qmlir.dialects.quant.types import Granularity, StoredType, UniformQuantizedType, UniformType, storage_limits
from qmlir.dialects.target.attributes import targets_of
from qmlir.dialects.target.description import Accepted, Description, Support, parse_requantization
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.quantization import types as sums
from qmlir.quantization.retyping import on_types, reads_weights, slots_of


def storage_of(type_: StoredType) -> Storage:
    """Returns the storage of a type, including its limits if these are narrower than the full range of the integer."""
    limits = (type_.storage_min, type_.storage_max)
    widest = limits == storage_limits(type_.storage)
    return Storage(type_.bits, type_.is_signed, None if widest else limits)


def schemes_of(type_: UniformQuantizedType) -> Scheme:
    """Returns the narrowest scheme that can produce the parameters of a type."""
    has_powers = bool(np.all(power_of_two_ceiling(type_.scales) == type_.scales))
    if np.all(type_.zero_points == symmetric_zero_point(storage_of(type_))):
        return Scheme.SYMMETRIC_POW2 if has_powers else Scheme.SYMMETRIC
    return Scheme.ASYMMETRIC_POW2 if has_powers else Scheme.ASYMMETRIC


def granularity_of(type_: UniformQuantizedType) -> str:
    """Returns `tensor`, `channel` or `block:N`, as in recipes."""
    if type_.granularity is Granularity.BLOCK:
        return f"block:{max(type_.block_sizes)}"
    return "tensor" if type_.granularity is Granularity.TENSOR else "channel"


@dataclass(frozen=True)
class _Fault:
    """A mismatch of a value, with the number of matching criteria: messages name the nearest accepted type."""

    right: int
    text: str


def accepts(accepted: Accepted | None, type_: UniformQuantizedType) -> bool:
    """Returns True if a slot accepts values of type `type_`; `None` accepts all."""
    return _wrong(accepted, type_, Slot.OUTPUT) is None


def _wrong(accepted: Accepted | None, element: Attribute, slot: Slot) -> _Fault | None:
    """Returns why a slot does not accept a value of this element type; `None` if it does."""
    if accepted is None or not isinstance(element, AnyFloat | UniformType):
        return None
    if not isinstance(element, UniformQuantizedType):  # floats, including those stored in 8 bits
        if not accepted.storages or (isinstance(element, AnyFloat) and element.name in accepted.floats):
            return None
        name = element.name if isinstance(element, AnyFloat) else brief_text(element)
        return _Fault(0, f"{slot} in {name} (supported: {', '.join(accepted.storages)})")
    if not accepted.has_storage(storage := storage_of(element)):
        return _Fault(0, f"{slot} in {storage} (supported: {', '.join(accepted.storages)})")
    if not accepted.has_scheme(scheme := schemes_of(element)):
        return _Fault(1, f"{slot} with scheme {scheme} (supported: {', '.join(accepted.schemes)})")
    if not accepted.has_granularity(granularity := granularity_of(element)):
        return _Fault(2, f"{slot} with granularity {granularity} (supported: {', '.join(accepted.granularities)})")
    return None


def _result_slots(op: Operation, support: Support, element: Attribute) -> Iterator[Slot]:
    """Yields the slots of a result: a sum may be an accumulator, by default only in 32 bits."""
    if isinstance(op, Quantizable):
        slots = op.quantization_slots()
        is_sum = slots.takes_accumulators or reads_weights(op)
        is_wide = isinstance(element, UniformQuantizedType) and storage_of(element) == sums.STORAGE
        if is_sum and (is_wide or support.accumulator is not None):
            yield Slot.ACCUMULATOR
    yield Slot.OUTPUT


def _in_one_of(support: Support, slots: Iterable[Slot], element: Attribute) -> str | None:
    """Returns why none of `slots`, the usual one last, accepts a value of this element type; `None` if one does."""
    faults: list[_Fault] = []
    for slot in slots:
        if (fault := _wrong(support.slot(slot), element, slot)) is None:
            return None
        faults.insert(0, fault)
    return max(faults, key=lambda fault: fault.right).text  # the last slot among equals


def is_bias(op: Quantizable, position: int) -> bool:
    """Returns True if the operand of `op` at `position` is a constant that is added to the result of a contraction."""
    if not op.quantization_slots().takes_accumulators or len(op.operands) != 2:
        return False
    value, other = op.operands[position].owner, op.operands[1 - position].owner
    return reads_weights(other) and isinstance(value, Operation) and value.has_trait(ConstantLike)


def _operand_slots(op: Quantizable, support: Support, position: int, slot: Slot) -> tuple[Slot, ...]:
    if support.bias is not None and is_bias(op, position):
        return (Slot.BIAS,)
    if slot is not Slot.INPUT or not op.quantization_slots().takes_accumulators or support.input is None:
        return (slot,)
    return (*(each for each in (Slot.ACCUMULATOR, Slot.BIAS) if support.slot(each) is not None), Slot.INPUT)


def mismatch(
    support: Support,
    op: Operation,
    operands: Sequence[Attribute] | None = None,
    results: Sequence[Attribute] | None = None,
    element: Callable[[Operation, SSAValue], Attribute] | None = None,
) -> str | None:
    """Returns a message about the first value whose type `support` does not accept; `None` if all types are accepted.

    `operands` and `results` are element types, by default those of `op`. `element` returns the element types of
    operands of other operations, if these are to differ from the current ones.
    """
    elements = _elements(op.operand_types) if operands is None else operands
    made = _elements(op.result_types) if results is None else results
    if isinstance(op, Quantizable):
        asked = [(_operand_slots(op, support, at, slot), elements[at]) for at, slot in slots_of(op).items()]
    else:
        asked = [((Slot.INPUT,), element) for element in elements]
    asked += [(tuple(_result_slots(op, support, element)), element) for element in made]
    reason = next((reason for slots, element in asked if (reason := _in_one_of(support, slots, element))), None)
    if reason is None and support.adder:
        own = dict(zip(op.operands, elements, strict=True))
        reason = _overflow(support, op, lambda at, value: own[value] if at is op else (element or _element)(at, value))
    return reason or _wrong_scale(support, op, elements)


def _element(_: Operation, value: SSAValue) -> Attribute:
    return element_type(value.type)


def _overflow(support: Support, op: Operation, element: Callable[[Operation, SSAValue], Attribute]) -> str | None:
    """Returns why the adder of `support` may overflow in a partial sum of `op`; `None` if it provably does not."""

    def known(at: Operation, value: SSAValue) -> Array | None:
        array, type_ = constant_array(value), element(at, value)
        if array is None or not isinstance(type_, UniformQuantizedType):
            return None
        return array if isinstance(_element(at, value), UniformQuantizedType) else quantize(array, type_)

    adder = Storage.parse(support.adder)
    if (limits := sum_limits(op, KnownOperands(element, known))) is None:
        return f"sums without a bound (its {adder} adder needs integers of one scale and a static number of terms)"
    if adder.minimum <= limits[0] and limits[1] <= adder.maximum:
        return None
    return f"sums in [{limits[0]}, {limits[1]}], which overflow its {adder} adder"


def _wrong_scale(support: Support, op: Operation, elements: Sequence[Attribute]) -> str | None:
    """Returns why the scale of a bias is not the accepted one, that of its sum or its own; `None` if it is."""
    if support.bias is None or len(support.bias.scales) != 1 or not isinstance(op, Quantizable):
        return None
    for position, (_, slot) in enumerate(op.operands_with_slots()):
        if is_bias(op, position):
            sums_ = [elements[1 - position]]
        elif slot is Slot.BIAS and isinstance(op, NnOp) and op.components is not None:
            sums_ = list(op.components.data.values())
        else:
            continue
        own = elements[position]
        is_shared = isinstance(own, UniformQuantizedType) and any(
            isinstance(each, UniformQuantizedType) and np.array_equal(own.scales, each.scales) for each in sums_
        )
        if is_shared != (support.bias.scales[0] == "sum"):
            return f"bias with the scale of its {'sum' if is_shared else 'range'} (supported: {support.bias.scales[0]})"
    return None


def _elements(types: Sequence[Attribute]) -> list[Attribute]:
    found = (element_type(type_) for type_ in types)
    return [each if isinstance(each, StoredType | UniformType) else plain_type(each) for each in found]


def mode_text(op: Operation) -> str | None:
    """Returns the requantization mode of `op`, as in descriptions; `None` if `op` does not rescale exact integers."""
    if not isinstance(op, NnOp) or not may_requantize(op):
        return None
    attribute = op.requantize
    if attribute is None:
        return Mode.F32.value if op.components is not None or requantizes(op) else None
    return f"{attribute.mode}:{attribute.ties}" if attribute.mode is Mode.SHIFT else attribute.mode.value


def _wrong_mode(target: Description, support: Support, op: Operation) -> str | None:
    modes, mode = target.modes(support), mode_text(op)
    if not modes or mode is None or mode in modes:
        return None
    return f"requantization mode {mode} (supported: {', '.join(modes)})"


def inexpressible(target: Description, support: Support, op: Operation) -> str | None:
    """Returns why no requantization mode of `target` can express the scales of `op`.

    Otherwise sets such a mode on `op`, if it requantizes, and returns `None`.
    """
    if not isinstance(op, NnOp) or not may_requantize(op):
        return None
    modes = [parse_requantization(text) for text in target.modes(support)]
    chosen = [(mode, ties or Ties.EVEN) for mode, ties in modes if mode is not Mode.QLINEAR]
    faults = [set_requantization(op, mode, ties) for mode, ties in chosen]
    return None if None in faults or not faults else faults[0]


def why_not(target: Description, op: Operation, *, with_mode: bool = True) -> str | None:
    """Returns why `target` does not compute `op`, by its role, properties, types and requantization; `None` if it does.

    If `with_mode` is false, the requantization mode is not checked, because it is chosen later.
    """
    if (reason := target.why_not(op)) is not None:
        return reason
    reasons: list[str] = []
    for support in target.supports_of(op):
        reason = mismatch(support, op)
        if reason is None and with_mode:
            reason = _wrong_mode(target, support, op)
        if reason is None:
            return None
        reasons.append(reason)
    return FloatCause.TARGET.reason(target=target.name, detail=f": {reasons[0]}")


def first_target(targets: Iterable[Description], op: Operation, *, with_mode: bool = True) -> Description | None:
    """Returns the first of `targets` that computes `op` with its current types; `None` if none does."""
    return next((target for target in targets if why_not(target, op, with_mode=with_mode) is None), None)


def targets_around(op: Operation) -> tuple[Description, ...]:
    """Returns the targets of the module that contains `op`."""
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    return targets_of(top)


def may_be_computed(op: Operation, made: Operation) -> bool:
    """Returns True if the module of `op` has no targets, or if one of them computes `made`, which replaces `op`."""
    targets = targets_around(op)
    return not targets or first_target(targets, made, with_mode=False) is not None


def retyped(op: Operation, operands: Sequence[SSAValue], elements: Sequence[Attribute | None]) -> Operation | None:
    """Returns a copy of `op` with other types; `None` if `op` does not support these, or no target computes it."""
    try:
        made = on_types(op, operands, elements)
    except VerifyException:
        return None
    if may_be_computed(op, made):
        return made
    made.drop_all_references()
    return None
