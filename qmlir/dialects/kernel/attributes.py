"""Attributes of the `kernel` dialect: requantization modes, packed layouts, loop schedules and the target."""

import json
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntAttr, NoneAttr, StringAttr, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qmlir import registry
from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.dialects.kernel.variants import SCALAR, Variant, WeightLayout, variant_named, variant_names


def isa_names() -> tuple[str, ...]:
    """Returns the names of all registered instruction sets."""
    return tuple(registry.named("isas"))


def _one_of(parser: AttrParser, what: str, accepted: Sequence[str]) -> str:
    position = parser.pos
    found = parser.parse_identifier(context_msg=f", {what}")
    if found not in accepted:
        parser.raise_error(f"unknown {what} '{found}' (available: {', '.join(accepted)})", position)
    return found


class _FieldsAttr(ParametrizedAttribute):
    """An attribute with the text `<name = value, …>`; fields may come in any order, and defaults are omitted."""

    FIELDS: ClassVar[dict[str, str | int | bool]]
    """The default value of each field, in the order of the parameters."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found: dict[str, Any] = dict(cls.FIELDS)

        def parse_field() -> None:
            field = _one_of(parser, f"{cls.name.rpartition('.')[2]} field", tuple(found))
            parser.parse_punctuation("=")
            parse = {str: parser.parse_str_literal, bool: parser.parse_boolean, int: parser.parse_integer}
            found[field] = parse[type(cls.FIELDS[field])]()

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
        return [StringAttr(each) if isinstance(each, str) else IntAttr(int(each)) for each in found.values()]

    def print_parameters(self, printer: Printer) -> None:
        pairs = zip(self.FIELDS.items(), cast("Sequence[StringAttr | IntAttr]", self.parameters), strict=True)
        values = {name: (type(default)(each.data), default) for (name, default), each in pairs}
        told = (f"{name} = {json.dumps(value)}" for name, (value, default) in values.items() if value != default)
        printer.print_string(f"<{', '.join(told)}>")


class _Number(property):
    """A property that returns the number in a parameter of an attribute."""

    def __init__(self, parameter: str, told: str):
        super().__init__(attrgetter(f"{parameter}.data"), doc=told)

    if TYPE_CHECKING:

        def __get__(  # pyright: ignore[reportIncompatibleMethodOverride]
            self, instance: Any, owner: type | None = None, /
        ) -> int: ...


@irdl_attr_definition
class RequantizeAttr(ParametrizedAttribute):
    """How an accumulator is rescaled to a result: `#kernel.requantize<f32>`, or `<shift, even>` for a shift.

    A shift also names the rounding of ties. `qmlir.arithmetic.requantization` defines the modes and their formulas.
    """

    name = "kernel.requantize"

    mode_name: StringAttr
    ties_name: StringAttr | NoneAttr

    @staticmethod
    def of(mode: Mode, ties: Ties | None = None) -> "RequantizeAttr":
        """Returns the attribute for a mode; `ties` applies to shifts only."""
        return RequantizeAttr(StringAttr(mode.value), NoneAttr() if ties is None else StringAttr(ties.value))

    @property
    def mode(self) -> Mode:
        """The mode in which an accumulator is rescaled."""
        return Mode(self.mode_name.data)

    @property
    def ties(self) -> Ties:
        """How the right shift rounds ties."""
        return Ties(self.ties_name.data) if isinstance(self.ties_name, StringAttr) else Ties.EVEN

    def verify(self) -> None:
        if (self.mode is Mode.SHIFT) != isinstance(self.ties_name, StringAttr):
            raise VerifyException(
                "ties must be given for shifts, and only for those: <shift, even>, <shift, up>, <shift, away>"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            mode = Mode(_one_of(parser, "requantization mode", [mode.value for mode in Mode]))
            if parser.parse_optional_punctuation(",") is None:
                return (StringAttr(mode.value), NoneAttr())
            return (StringAttr(mode.value), StringAttr(_one_of(parser, "tie rounding", [ties.value for ties in Ties])))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.mode_name.data)
            if isinstance(self.ties_name, StringAttr):
                printer.print_string(f", {self.ties_name.data}")


@irdl_attr_definition
class ScheduleAttr(_FieldsAttr):
    """A loop schedule for a kernel: `#kernel.schedule<variant = "u8s8_dot", rows = 6, vectors = 4, …>`.

    One iteration computes a tile of `rows` positions by `vectors` vectors of `lanes` channels, in steps of `k_unroll`
    terms. If a loop family has several stages, `block` positions pass through all stages before the next positions
    start; in a panel of tiles, these positions pass through all channels. `prefetch` is the cache level into which
    weights and the rows of a panel are prefetched; 0 disables prefetching. If one tile has all positions, weights are
    read once, and `ahead` is the distance in bytes at which they are prefetched into L1; 0 disables it. If `threads` is
    set, the outermost loop may be divided among threads.

    A schedule is a hint: it does not change the result of the operation. The layout of packed operands is described by
    `#kernel.layout`, so the schedule of an operation on packed operands sets no variant, vectors, lanes or terms.
    """

    name = "kernel.schedule"

    variant_name: StringAttr
    row_count: IntAttr
    vector_count: IntAttr
    lane_count: IntAttr
    term_count: IntAttr
    block_count: IntAttr
    prefetch_level: IntAttr
    distance: IntAttr
    thread_flag: IntAttr

    rows = _Number("row_count", "Positions of a tile.")
    vectors = _Number("vector_count", "Vectors of channels in a tile.")
    lanes = _Number("lane_count", "Channels in a vector.")
    k_unroll = _Number("term_count", "Terms of the sum in a step.")
    block = _Number("block_count", "Positions that go through all stages, or all channels, together.")
    prefetch = _Number("prefetch_level", "The cache level into which weights are prefetched; 0 disables it.")
    ahead = _Number("distance", "The prefetch distance in bytes; 0 disables prefetching.")

    FIELDS: ClassVar[dict[str, str | int | bool]] = {
        "variant": "", "rows": 1, "vectors": 1, "lanes": 1, "k_unroll": 1, "block": 1, "prefetch": 0, "ahead": 0,
        "threads": False,
    }  # fmt: skip
    """The default value of each field, which is also the minimum of a numeric field."""

    @staticmethod
    def of(
        variant: str = "",
        rows: int = 1,
        vectors: int = 1,
        lanes: int = 1,
        k_unroll: int = 1,
        threads: bool = False,
        block: int = 1,
        prefetch: int = 0,
        ahead: int = 0,
    ) -> "ScheduleAttr":
        """Returns a schedule with the given fields."""
        numbers = (rows, vectors, lanes, k_unroll, block, prefetch, ahead, int(threads))
        return ScheduleAttr.new([StringAttr(variant), *map(IntAttr, numbers)])

    @property
    def variant(self) -> str:
        """The loop family; empty if the layout of the packed operands determines it."""
        return self.variant_name.data

    @property
    def threads(self) -> bool:
        """Whether the outermost loop may be divided among threads."""
        return bool(self.thread_flag.data)

    def of_packed(self) -> "ScheduleAttr | None":
        """Returns the fields of this schedule that still apply to packed operands; `None` if all are defaults."""
        left = ScheduleAttr.of(
            rows=self.rows, threads=self.threads, block=self.block, prefetch=self.prefetch, ahead=self.ahead
        )
        return None if left == ScheduleAttr.of() else left

    def for_one_thread(self) -> "ScheduleAttr | None":
        """Returns this schedule without threading; `None` if no other field is set."""
        left = ScheduleAttr.of(
            self.variant, self.rows, self.vectors, self.lanes, self.k_unroll, block=self.block, prefetch=self.prefetch,
            ahead=self.ahead,
        )  # fmt: skip
        return None if left in (ScheduleAttr.of(), ScheduleAttr.of(SCALAR)) else left

    def verify(self) -> None:
        for name, least in self.FIELDS.items():
            if getattr(self, name) < least:
                raise VerifyException(f"{name} must be >= {least}, but got {getattr(self, name)}")


@irdl_attr_definition
class LayoutAttr(_FieldsAttr):
    """The layout of packed operands: `#kernel.layout<variant = "u8s8_dot", vectors = 4, lanes = 16>`.

    The variant determines the element type of the weights, how many consecutive terms of a sum are stored together, and
    how the loops read the input (`Variant`). A block of channels consists of `vectors` registers of `lanes` channels
    each.
    """

    name = "kernel.layout"

    variant_name: StringAttr
    vector_count: IntAttr
    lane_count: IntAttr

    vectors = _Number("vector_count", "Vectors of channels in a tile.")
    lanes = _Number("lane_count", "Channels in a vector.")

    FIELDS: ClassVar[dict[str, str | int | bool]] = {"variant": "", "vectors": 0, "lanes": 0}

    @staticmethod
    def of(variant: str, vectors: int, lanes: int) -> "LayoutAttr":
        """Returns the layout of a variant with blocks of `vectors * lanes` channels."""
        return LayoutAttr(StringAttr(variant), IntAttr(vectors), IntAttr(lanes))

    @property
    def variant(self) -> Variant:
        """The loop family that reads the operands."""
        return variant_named(self.variant_name.data)

    def weights(self, groups: int, channels: int, taps: tuple[int, ...], run: int) -> WeightLayout:
        """Returns the layout of weights of shape `[groups, channels, *taps, run]`; `run` counts consecutive terms."""
        variant = self.variant
        return variant.layout(variant, self.vectors, self.lanes, groups, channels, taps, run)

    def verify(self) -> None:
        if self.variant_name.data not in variant_names():
            raise VerifyException(
                f"unknown variant '{self.variant_name.data}' (available: {', '.join(variant_names())})"
            )
        if min(self.vectors, self.lanes) < 1:
            raise VerifyException(f"vectors and lanes must be >= 1, but got {self.vectors} and {self.lanes}")


@irdl_attr_definition
class TargetAttr(_FieldsAttr):
    """The target that loops in a module may be specialized for: `#kernel.target<isa = "avx512-vnni", threads = 2>`.

    It is stored as the module attribute `kernel.target`. Only scheduling and the legalization of `simd` read it.
    """

    name = "kernel.target"

    isa_name: StringAttr
    thread_count: IntAttr

    threads = _Number("thread_count", "How many threads may run.")

    FIELDS: ClassVar[dict[str, str | int | bool]] = {"isa": "", "threads": 1}

    @staticmethod
    def of(isa: str, threads: int = 1) -> "TargetAttr":
        """Returns the target with an instruction set and a number of threads."""
        return TargetAttr(StringAttr(isa), IntAttr(threads))

    @property
    def isa(self) -> str:
        """The instruction set, one of `isa_names()`."""
        return self.isa_name.data

    def verify(self) -> None:
        if self.isa not in isa_names():
            raise VerifyException(f"unknown instruction set '{self.isa}' (available: {', '.join(isa_names())})")
        if self.threads < 1:
            raise VerifyException(f"threads must be >= 1, but got {self.threads}")


TARGET = "kernel.target"
"""The module attribute that holds the target that loops may be specialized for."""

OVERWRITTEN = "kernel.overwritten"
"""A discardable attribute of a fill: the offsets and sizes of the slice that is overwritten before it is read."""

SCHEDULE = "kernel.schedule"
"""The discardable attribute that holds the schedule of an operation without a schedule property."""

TUNED = "kernel.tuned"
"""The discardable attribute of a contraction whose schedule comes from a search rather than the table."""

READ_ONLY = "kernel.read_only"
"""The argument attribute that marks memory that a kernel does not write."""

MAY_OVERWRITE = "kernel.may_overwrite"
"""An attribute of an argument that the function writes: the indices of the arguments whose memory it may share.

The function reads each element of those arguments before it writes the element at the same index of this argument, and
does not read it again afterwards. If the caller of the program calls the function directly, those arguments are inputs,
which are all read before the first element is written.
"""


def overwritten(entry: DictionaryAttr) -> list[int]:
    """Returns the argument indices listed in `MAY_OVERWRITE`."""
    positions = entry.data.get(MAY_OVERWRITE)
    return [int(each) for each in positions.get_values()] if isinstance(positions, DenseArrayBase) else []


def overwriting(entry: DictionaryAttr, positions: Sequence[int]) -> DictionaryAttr:
    """Returns argument attributes that let an argument share the memory of the arguments with indices `positions`."""
    return DictionaryAttr({**entry.data, MAY_OVERWRITE: DenseArrayBase.from_list(i64, positions)})


ATTRIBUTES: tuple[type[ParametrizedAttribute], ...] = (LayoutAttr, RequantizeAttr, ScheduleAttr, TargetAttr)
