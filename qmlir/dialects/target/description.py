"""The description of a target, as data: what it computes on which types, what it keeps whole, what it wants raised.

A `Description` is plain and hashable, so that it can stand on a module as `#target.spec<…>`: passes ask it, and look
nothing up. An empty tuple accepts everything; where there are several, the first one
is what the target has by default.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation

from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.arithmetic.schemes import Scheme, Storage, scheme_names
from qmlir.ir.diagnostics import nearest_name
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Slot
from qmlir.ir.provenance import origins_of

Plain: TypeAlias = "int | float | str | bool | tuple[Plain, ...] | None"
"""The value of a property or a parameter: a number, a text, a list of such, `None` for a property that is not there."""

SCALES = ("sum", "range")
"""What the scale of a bias may be: that of the sum it is added to, so that integers are added, or of its own range."""

FLOATS = ("f16", "bf16", "f32", "f64")
"""What may stand beside storages: values of a slot that stay in float."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_BLOCK = re.compile(r"block(:[1-9][0-9]*)?")


def check_storage(text: str) -> None:
    """Raise `ValueError` where `text` is neither a storage type nor a float type."""
    if text not in FLOATS:
        Storage.parse(text)


def _check_scheme(text: str) -> None:
    if text not in scheme_names():
        known = scheme_names()
        raise ValueError(f"unknown scheme '{text}'{nearest_name(text, known)} (available: {', '.join(known)})")


def _check_granularity(text: str) -> None:
    if text not in ("tensor", "channel") and not _BLOCK.fullmatch(text):
        raise ValueError(f"granularity must be tensor, channel, block or block:N, but got '{text}'")


@cache
def parse_requantization(text: str) -> tuple[Mode, Ties | None]:
    """`f32`, or `shift:even`, which names its ties. Raises `ValueError`."""
    name, _, ties = text.partition(":")
    if name not in list(Mode):
        near = nearest_name(name, list(Mode))
        raise ValueError(f"unknown requantization mode '{name}'{near} (available: {', '.join(Mode)})")
    if (Mode(name) is Mode.SHIFT) != bool(ties):
        raise ValueError(
            f"ties must be given for shifts, and only for those (shift:even, shift:up, shift:away), but got '{text}'"
        )
    if ties and ties not in list(Ties):
        raise ValueError(f"unknown tie rounding '{ties}' (available: {', '.join(Ties)})")
    return Mode(name), Ties(ties) if ties else None


@dataclass(frozen=True)
class Accepted:
    """What the values of one slot may be: `Accepted(storages=("i8", "i16"), schemes=("symmetric_pow2",))`.

    A storage accepts narrower limits of the same width too, `i8` also `i8<-127:127>`; `f32` among the storages accepts
    values in float. Granularities are for weights: `tensor`, `channel`, `block` (of any size) and `block:N`. Scales are
    for a bias: `sum`, that of the sum it is added to, so that integers are added, or `range`, one of its own.
    """

    storages: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    granularities: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()

    def check(self, slot: Slot) -> None:
        """Raise `ValueError` for a value that is not accepted."""
        for text in self.storages:
            check_storage(text)
        for text in self.schemes:
            _check_scheme(text)
        for text in self.granularities:
            _check_granularity(text)
        if self.granularities and slot is not Slot.WEIGHT:
            raise ValueError(f"'granularities' is only for weights, but slot '{slot}' has one scale")
        if self.scales and slot is not Slot.BIAS:
            raise ValueError(f"'scales' is only for the bias slot, not for slot '{slot}'")
        for text in self.scales:
            if text not in SCALES:
                raise ValueError(f"bias scale must be one of {', '.join(SCALES)}, but got '{text}'")

    @property
    def floats(self) -> tuple[str, ...]:
        """The float types among the storages."""
        return tuple(text for text in self.storages if text in FLOATS)

    @property
    def integers(self) -> tuple[Storage, ...]:
        """The storages proper."""
        return tuple(Storage.parse(text) for text in self.storages if text not in FLOATS)

    @property
    def named_schemes(self) -> tuple[Scheme, ...]:
        """The schemes."""
        return tuple(Scheme.parse(text) for text in self.schemes)

    @property
    def is_float_only(self) -> bool:
        """Whether values of the slot are to stay in float."""
        return bool(self.storages) and not self.integers

    def has_storage(self, storage: Storage) -> bool:
        """Whether values may be stored so."""
        return not self.storages or any(_holds(each, storage) for each in self.integers)

    def has_scheme(self, scheme: Scheme) -> bool:
        """Whether parameters may be chosen so."""
        return not self.schemes or any(_implies(scheme, Scheme.parse(each)) for each in self.schemes)

    def has_scale(self, text: str) -> bool:
        """Whether a bias may have the scale of its `range` or of its `sum`; one left open may have either."""
        return not self.scales or not text or text in self.scales

    def has_granularity(self, text: str) -> bool:
        """Whether there may be a scale for each `tensor`, `channel` or `block:N`."""
        accepted = self.granularities
        return not accepted or text in accepted or (text.startswith("block:") and "block" in accepted)


def _holds(wide: Storage, storage: Storage) -> bool:
    same = wide.bits == storage.bits and wide.is_signed == storage.is_signed
    return same and wide.minimum <= storage.minimum and storage.maximum <= wide.maximum


def _implies(scheme: Scheme, wanted: Scheme) -> bool:
    """Whether parameters by `scheme` are parameters by `wanted` too: a symmetric grid is an asymmetric one as well."""
    return (scheme.is_symmetric or not wanted.is_symmetric) and (scheme.is_power_of_two or not wanted.is_power_of_two)


@dataclass(frozen=True)
class Support:
    """Operations that a target computes, and how: `op` and `role` are globs, the slots hold the types that they take.

    A slot that is left out takes everything. An operation is supported where one of the target's `Support` accepts all
    of it, so that several for one operation are alternatives. `role` is what the operation does in the model's node
    (`bias_add`, `*gate/sum`); `properties` names the values that a property may have, and one that is left out may have
    all. `requantize` are the modes of requantization, `f32` or `shift:even`; where it is empty, those of the target.
    `adder` is what sums are added up in: `i16` takes an operation only where it is proven, from the weights and the
    type of the data, that no partial sum goes beyond 16 bits. An accumulator in the same storage is the exact sum.
    """

    op: str
    role: str = "*"
    input: Accepted | None = None
    weight: Accepted | None = None
    bias: Accepted | None = None
    accumulator: Accepted | None = None
    output: Accepted | None = None
    properties: Mapping[str, tuple[Plain, ...]] = field(default_factory=dict[str, tuple[Plain, ...]], hash=False)
    requantize: tuple[str, ...] = ()
    adder: str = ""

    def slot(self, slot: Slot) -> Accepted | None:
        """What the values of `slot` may be; `None` for everything."""
        accepted: Accepted | None = getattr(self, slot.value)
        return accepted

    def names(self, op: Operation) -> bool:
        """Whether this is about `op`, whatever its types and properties are."""
        if not fnmatchcase(op.name, self.op):
            return False
        if self.role == "*":
            return True
        return any(fnmatchcase(origin.role, self.role) for origin in origins_of(op))

    def wrong_property(self, op: Operation) -> str | None:
        """Why a property of `op` is not supported; `None` where all are."""
        for name, accepted in self.properties.items():
            if isinstance(op, IRDLOperation) and name not in (known := op.get_irdl_definition().properties):
                return f"property '{name}', which {op.name} does not have{nearest_name(name, known)}"
            found = property_value(op, name)
            if found not in accepted:
                return f"{name} = {plain_text(found)} (supported: {', '.join(map(plain_text, accepted))})"
        return None

    def check(self) -> None:
        """Raise `ValueError` for a value that is not accepted."""
        if not self.op:
            raise ValueError('a support must name an operation (op = "nn.conv" or op = "nn.*")')
        try:
            for slot in Slot:
                if (accepted := self.slot(slot)) is not None:
                    accepted.check(slot)
            for text in self.requantize:
                parse_requantization(text)
            if self.adder:
                Storage.parse(self.adder)
            for name, values in self.properties.items():
                if not values:
                    raise ValueError(f"property '{name}' must accept at least one value")
        except ValueError as error:
            raise ValueError(f"in the support of '{self.op}': {error}") from error


@dataclass(frozen=True)
class Description:
    """The description of a target. Nothing in it is code: it prints and reads back as `#target.spec<…>`."""

    name: str
    keep: tuple[str, ...] = ()
    """The composites that it computes whole: kinds (`softmax`, `nn.softmax`), nodes of a model, globs of either."""

    supports: tuple[Support, ...] = ()
    """What it computes; what none of them names it does not compute."""

    requantize: tuple[str, ...] = ()
    """The modes by which it rescales exact integers, the preferred one first: `f32`, `shift:even`, …"""

    raises: tuple[str, ...] = ()
    """The composites that it wants made again of their parts, as `keep` names them."""

    patterns: tuple[str, ...] = ()
    """The pattern sets of the registry that raise blocks of its own: `nn-raise` applies them."""

    parameters: Mapping[str, Plain] = field(default_factory=dict[str, Plain], hash=False)
    """What else its own passes want to know: sizes of memories, lanes, a version."""

    def check(self) -> None:
        """Raise `ValueError` for a value that is not accepted."""
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"target name must consist of letters, digits, '_', '.' and '-', but got '{self.name}'")
        for support in self.supports:
            support.check()
        for text in self.requantize:
            parse_requantization(text)

    def supports_of(self, op: Operation) -> Iterator[Support]:
        """What is said of `op`, whatever its types are; nothing where the target does not compute it."""
        return (each for each in self.supports if each.names(op) and each.wrong_property(op) is None)

    def why_not(self, op: Operation) -> str | None:
        """Why `op` is not computed whatever its types are; `None` where it is."""
        named = [each for each in self.supports if each.names(op)]
        if not named:
            return FloatCause.TARGET.reason(target=self.name, detail="")
        wrong = [each.wrong_property(op) for each in named]
        return None if None in wrong else FloatCause.TARGET.reason(target=self.name, detail=f": {wrong[0]}")

    def modes(self, support: Support) -> tuple[str, ...]:
        """The modes of requantization of what `support` is about; none where every mode is accepted."""
        return support.requantize or self.requantize


FIELDS = tuple(each.name for each in fields(Description) if each.name != "name")
"""The fields of a description as its text names them, in order."""


def property_value(op: Operation, name: str) -> Plain:
    """The value of a property of `op`, its default where it is left out."""
    attribute: Attribute | None = op.properties.get(name)
    if attribute is None and isinstance(op, IRDLOperation):
        definition = op.get_irdl_definition().properties.get(name)
        attribute = None if definition is None else definition.default_value
    return plain_of(attribute)


def plain_of(attribute: Attribute | None) -> Plain:
    """The Python value of an attribute; its text where it is neither a number nor a list."""
    match attribute:
        case None:
            return None
        case UnitAttr():
            return True
        case StringAttr():
            return attribute.data
        case IntegerAttr():
            value = attribute.value.data
            is_flag = isinstance(attribute.type, IntegerType) and attribute.type.width.data == 1
            return bool(value) if is_flag else value
        case FloatAttr():
            return attribute.value.data
        case DenseArrayBase():
            return tuple(cast(Any, attribute).get_values())
        case ArrayAttr():
            values: Sequence[Any] = attribute.data
            return tuple(plain_of(each) for each in values)
        case _:
            return str(attribute)


def plain_text(value: Plain) -> str:
    """The text of a value, as a description prints it."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case tuple():
            return f"[{', '.join(map(plain_text, value))}]"
        case float():
            text = repr(value)
            return text.replace("e", ".0e") if "e" in text and "." not in text else text
        case int():
            return str(value)
