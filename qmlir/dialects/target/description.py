"""The description of a target as data: the operations and types it supports, and the composites it keeps or raises.

A `Description` is plain and hashable, so it can be attached to a module as `#target.spec<…>`, which passes query
instead of looking up a target. An empty tuple accepts everything. If a tuple has several entries, the first one is the
default.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation

from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.arithmetic.schemes import Scheme, Storage, scheme_names
from qmlir.ir.diagnostics import nearest_name
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Slot
from qmlir.ir.provenance import origins_of

Plain: TypeAlias = "int | float | str | bool | tuple[Plain, ...] | None"
"""The value of a property or parameter: a number, a string, a list of these, or `None` for an absent property."""

SCALES = ("sum", "range")
"""The scales that a bias may have: that of the accumulator (`sum`), or one derived from its range (`range`)."""

FLOATS = ("f16", "bf16", "f32", "f64")
"""The float types accepted in addition to storage types, for slots whose values stay in float."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_BLOCK = re.compile(r"block(:[1-9][0-9]*)?")


def check_storage(text: str) -> None:
    """Raises `ValueError` if `text` is neither a storage type nor a float type."""
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
    """Parses a requantization mode: `f32`, or a shift with its tie rounding, such as `shift:even`.

    Raises `ValueError` if the text is not a valid mode.
    """
    name, _, ties = text.partition(":")
    name = name.replace("-", "_")  # as in options of LiteRT models
    modes = [mode for mode in Mode if mode is not Mode.F64]
    if name not in modes:
        near = nearest_name(name, modes)
        raise ValueError(f"unknown requantization mode '{name}'{near} (available: {', '.join(modes)})")
    if (Mode(name) is Mode.SHIFT) != bool(ties):
        raise ValueError(
            f"ties must be given for shifts, and only for those (shift:even, shift:up, shift:away), but got '{text}'"
        )
    if ties and ties not in list(Ties):
        raise ValueError(f"unknown tie rounding '{ties}' (available: {', '.join(Ties)})")
    return Mode(name), Ties(ties) if ties else None


@dataclass(frozen=True)
class Accepted:
    """The types that the values of one slot may have: `Accepted(storages=("i8", "i16"), schemes=("symmetric_pow2",))`.

    A storage also accepts narrower limits of the same width: `i8` accepts `i8<-127:127>`. `f32` among the storages
    accepts float values. Granularities apply to weights: `tensor`, `channel`, `block` (of any size) and `block:N`.
    Scales apply to a bias: `sum` is the scale of the accumulator, so that integers can be added, and `range` is a
    separate scale.
    """

    storages: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    granularities: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()

    def check(self, slot: Slot) -> None:
        """Raises `ValueError` for an unknown storage, scheme, granularity or scale."""
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
        """The integer storages, without float types."""
        return tuple(Storage.parse(text) for text in self.storages if text not in FLOATS)

    @property
    def named_schemes(self) -> tuple[Scheme, ...]:
        """The accepted schemes, parsed."""
        return tuple(Scheme.parse(text) for text in self.schemes)

    @property
    def is_float_only(self) -> bool:
        """Whether the slot accepts only float values."""
        return bool(self.storages) and not self.integers

    def has_storage(self, storage: Storage) -> bool:
        """Returns whether the slot accepts values of this storage."""
        return not self.storages or any(_holds(each, storage) for each in self.integers)

    def has_scheme(self, scheme: Scheme) -> bool:
        """Returns whether the slot accepts parameters that are chosen by this scheme."""
        return not self.schemes or any(_implies(scheme, Scheme.parse(each)) for each in self.schemes)

    def has_scale(self, text: str) -> bool:
        """Returns whether a bias may have the scale `text`, `range` or `sum`; an empty (undecided) one always fits."""
        return not self.scales or not text or text in self.scales

    def has_granularity(self, text: str) -> bool:
        """Returns whether the slot accepts the granularity `text`: `tensor`, `channel` or `block:N`."""
        accepted = self.granularities
        return not accepted or text in accepted or (text.startswith("block:") and "block" in accepted)


def _holds(wide: Storage, storage: Storage) -> bool:
    same = wide.bits == storage.bits and wide.is_signed == storage.is_signed
    return same and wide.minimum <= storage.minimum and storage.maximum <= wide.maximum


def _implies(scheme: Scheme, wanted: Scheme) -> bool:
    """Whether every parameter that `scheme` yields also fits `wanted`: a symmetric grid is a valid asymmetric one."""
    return (scheme.is_symmetric or not wanted.is_symmetric) and (scheme.is_power_of_two or not wanted.is_power_of_two)


@dataclass(frozen=True)
class Support:
    """A set of supported operations: `op` and `role` are glob patterns, and each slot holds the types that it accepts.

    An omitted slot accepts everything. A target supports an operation if at least one of its `Support` entries accepts
    it completely; several entries for one operation are alternatives.

    - `role` is the operation's role in its model node (`bias_add`, `*gate/sum`).
    - `properties` lists the accepted values of each property; an omitted property may have any value.
    - `requantize` lists the requantization modes, `f32` or `shift:even`; if it is empty, those of the target apply.
    - `adder` is the accumulator type: `i16` requires a proof, from the weights and the data type, that no partial
      sum exceeds 16 bits. An accumulator with this storage is the exact sum.
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
        """Returns the types that `slot` accepts; `None` if it accepts everything."""
        accepted: Accepted | None = getattr(self, slot.value)
        return accepted

    def names(self, op: Operation) -> bool:
        """Returns whether this entry applies to the name and role of `op`, regardless of its types and properties."""
        if not fnmatchcase(op.name, self.op):
            return False
        if self.role == "*":
            return True
        return any(fnmatchcase(origin.role, self.role) for origin in origins_of(op))

    def wrong_property(self, op: Operation) -> str | None:
        """Returns why a property of `op` is not supported; `None` if all properties are."""
        for name, accepted in self.properties.items():
            if isinstance(op, IRDLOperation) and name not in (known := op.get_irdl_definition().properties):
                return f"property '{name}', which {op.name} does not have{nearest_name(name, known)}"
            found = property_value(op, name)
            if found not in accepted:
                return f"{name} = {plain_text(found)} (supported: {', '.join(map(plain_text, accepted))})"
        return None

    def check(self) -> None:
        """Raises `ValueError` if a field is invalid."""
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
    """The description of a target: plain data, which round-trips through `#target.spec<…>`."""

    name: str
    keep: tuple[str, ...] = ()
    """The composites that the target computes whole.

    They are given by kind (`softmax`, `nn.softmax`), by model node, or by a glob pattern for either.
    """

    supports: tuple[Support, ...] = ()
    """The operations that the target supports; it supports no others."""

    requantize: tuple[str, ...] = ()
    """The modes in which exact integers can be rescaled, in order of preference: `f32`, `shift:even`, …"""

    raises: tuple[str, ...] = ()
    """The composites to recognize from their primitive operations, named as in `keep`."""

    patterns: tuple[str, ...] = ()
    """The registered pattern sets that raise target-specific blocks; `nn-raise` applies them."""

    parameters: Mapping[str, Plain] = field(default_factory=dict[str, Plain], hash=False)
    """Further parameters for target-specific passes, such as memory sizes, lanes or a version."""

    def check(self) -> None:
        """Raises `ValueError` if a field is invalid."""
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"target name must consist of letters, digits, '_', '.' and '-', but got '{self.name}'")
        for support in self.supports:
            support.check()
        for text in self.requantize:
            parse_requantization(text)

    def supports_of(self, op: Operation) -> Iterator[Support]:
        """Yields the `Support` entries for `op`, regardless of its types; nothing if the target does not support it."""
        return (each for each in self.supports if each.names(op) and each.wrong_property(op) is None)

    def why_not(self, op: Operation) -> str | None:
        """Returns why `op` is unsupported regardless of its types; `None` if it is supported."""
        named = [each for each in self.supports if each.names(op)]
        if not named:
            return FloatCause.TARGET.reason(target=self.name, detail="")
        wrong = [each.wrong_property(op) for each in named]
        return None if None in wrong else FloatCause.TARGET.reason(target=self.name, detail=f": {wrong[0]}")

    def modes(self, support: Support) -> tuple[str, ...]:
        """Returns the requantization modes for `support`; empty if every mode is accepted."""
        return support.requantize or self.requantize


FIELDS = tuple(each.name for each in fields(Description) if each.name != "name")
"""The fields of a description, in the order in which they are printed."""


def property_value(op: Operation, name: str) -> Plain:
    """Returns the value of a property of `op`, or its default if it is absent."""
    attribute: Attribute | None = op.properties.get(name)
    if attribute is None and isinstance(op, IRDLOperation):
        definition = op.get_irdl_definition().properties.get(name)
        attribute = None if definition is None else definition.default_value
    return plain_of(attribute)


def plain_of(attribute: Attribute | None) -> Plain:
    """Returns the Python value of an attribute, or its text if it is neither a number nor a list."""
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
    """Returns the text of a value as it is printed in a description."""
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
