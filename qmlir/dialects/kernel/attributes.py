"""Attributes of the `kernel` dialect: how integers are rescaled, what packed operands mean, schedules, the target."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qmlir import registry
from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.dialects.kernel.variants import Variant, WeightLayout, variant_named, variant_names


def isa_names() -> tuple[str, ...]:
    """The instruction sets that loops can be made for: those of the registry."""
    return tuple(registry.named("isas"))


def _one_of(parser: AttrParser, what: str, accepted: Sequence[str]) -> str:
    place = parser.pos
    found = parser.parse_identifier(f", {what}")
    if found not in accepted:
        parser.raise_error(f"no {what} '{found}', there are {', '.join(accepted)}", place)
    return found


@irdl_attr_definition
class RequantizeAttr(ParametrizedAttribute):
    """How an accumulator is rescaled, `#kernel.requantize<f32>`; a shift names its ties, `<shift, even>`.

    The modes are those of `qmlir.arithmetic.requantization`, which has their formulas.
    """

    name = "kernel.requantize"

    mode_name: StringAttr
    ties_name: StringAttr | NoneAttr

    @staticmethod
    def of(mode: Mode, ties: Ties | None = None) -> "RequantizeAttr":
        """The attribute of a mode, and of the ties of a shift."""
        return RequantizeAttr(StringAttr(mode.value), NoneAttr() if ties is None else StringAttr(ties.value))

    @property
    def mode(self) -> Mode:
        """How the accumulator is rescaled."""
        return Mode(self.mode_name.data)

    @property
    def ties(self) -> Ties:
        """Where a shift rounds what lies half-way."""
        return Ties(self.ties_name.data) if isinstance(self.ties_name, StringAttr) else Ties.EVEN

    def verify(self) -> None:
        if (self.mode is Mode.SHIFT) != isinstance(self.ties_name, StringAttr):
            raise VerifyException(
                "a shift, and nothing else, names its ties: <shift, even>, <shift, up>, <shift, away>"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            mode = Mode(_one_of(parser, "mode of requantization", [mode.value for mode in Mode]))
            if parser.parse_optional_punctuation(",") is None:
                return (StringAttr(mode.value), NoneAttr())
            return (StringAttr(mode.value), StringAttr(_one_of(parser, "rule for ties", [ties.value for ties in Ties])))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.mode_name.data)
            if isinstance(self.ties_name, StringAttr):
                printer.print_string(f", {self.ties_name.data}")


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """How a kernel is made into loops: `#kernel.schedule<variant = "u8s8_dot", rows = 6, vectors = 4, …>`.

    `rows` positions by `vectors` vectors of `lanes` channels are computed at a time, `k_unroll` terms in a step, and
    `block` positions go through all stages of a family that has several before the next ones do, or through all
    channels where it is a panel of tiles. `prefetch` is the level of the cache into which weights, and the rows of a
    panel, are asked for before they are read, 0 where they are not. `threads` says whether the outermost loop may be
    divided among threads. It is a hint: an operation without it computes the same. Packed operands have the layout that
    `#kernel.layout` says; the schedule of an operation on these has no variant, vectors, lanes and terms.
    """

    name = "kernel.schedule"

    variant_name: StringAttr
    row_count: IntAttr
    vector_count: IntAttr
    lane_count: IntAttr
    term_count: IntAttr
    block_count: IntAttr
    prefetch_level: IntAttr
    thread_flag: IntAttr

    FIELDS: ClassVar[tuple[str, ...]] = (
        "rows", "vectors", "lanes", "k_unroll", "block", "prefetch", "threads",
    )  # fmt: skip
    NUMBERS: ClassVar[tuple[str, ...]] = FIELDS[:6]
    """The fields that are numbers; the other one is a flag."""

    _DEFAULTS: ClassVar[dict[str, int]] = {
        "rows": 1, "vectors": 1, "lanes": 1, "k_unroll": 1, "block": 1, "prefetch": 0, "threads": 0,
    }  # fmt: skip
    """What a field is where it is left out, and the least that a number may be."""

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
    ) -> "ScheduleAttr":
        """The schedule of these numbers."""
        numbers = (rows, vectors, lanes, k_unroll, block, prefetch, int(threads))
        return ScheduleAttr.new([StringAttr(variant), *map(IntAttr, numbers)])

    @property
    def variant(self) -> str:
        """Which family of loops; empty where the layout of packed operands says it."""
        return self.variant_name.data

    @property
    def rows(self) -> int:
        """Positions of a tile."""
        return self.row_count.data

    @property
    def vectors(self) -> int:
        """Vectors of channels in a tile."""
        return self.vector_count.data

    @property
    def lanes(self) -> int:
        """Channels in a vector."""
        return self.lane_count.data

    @property
    def k_unroll(self) -> int:
        """Terms of the sum in a step."""
        return self.term_count.data

    @property
    def block(self) -> int:
        """Positions that go through all stages, or all channels, together."""
        return self.block_count.data

    @property
    def threads(self) -> bool:
        """Whether the outermost loop may be divided among threads."""
        return bool(self.thread_flag.data)

    @property
    def prefetch(self) -> int:
        """The level of the cache into which weights are asked for before they are read; 0: they are not."""
        return self.prefetch_level.data

    def of_packed(self) -> "ScheduleAttr | None":
        """What is left of it for an operation on operands that are packed by it, `None` where that is nothing."""
        left = ScheduleAttr.of(rows=self.rows, threads=self.threads, block=self.block, prefetch=self.prefetch)
        return None if left == ScheduleAttr.of() else left

    def verify(self) -> None:
        for name in self.NUMBERS:
            number, least = getattr(self, name), self._DEFAULTS[name]
            if number < least:
                raise VerifyException(f"{name} must be {least} or more, found {number}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found, variant = dict(cls._DEFAULTS), ""
        accepted = ("variant", *cls.FIELDS)

        def parse_field() -> None:
            nonlocal variant
            field = _one_of(parser, "field of a schedule", accepted)
            parser.parse_punctuation("=")
            if field == "variant":
                variant = parser.parse_str_literal()
            else:
                found[field] = parser.parse_integer() if field in cls.NUMBERS else int(parser.parse_boolean())

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
        return (StringAttr(variant), *(IntAttr(found[field]) for field in cls.FIELDS))

    def print_parameters(self, printer: Printer) -> None:
        texts = [f'variant = "{self.variant}"'] * bool(self.variant)
        texts += [
            f"{field} = {getattr(self, field)}"
            for field in self.NUMBERS
            if getattr(self, field) != self._DEFAULTS[field]
        ]
        texts += [f"{field} = true" for field in self.FIELDS if field not in self.NUMBERS and getattr(self, field)]
        printer.print_string(f"<{', '.join(texts)}>")


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """What packed operands mean: `#kernel.layout<variant = "u8s8_dot", vectors = 4, lanes = 16>`.

    The variant says what weights are held in, how many terms of a sum lie beside each other, and what is read of the
    input (`Variant`). A block of channels has `vectors` registers of `lanes` of them.
    """

    name = "kernel.layout"

    variant_name: StringAttr
    vector_count: IntAttr
    lane_count: IntAttr

    @staticmethod
    def of(variant: str, vectors: int, lanes: int) -> "LayoutAttr":
        """The layout of a variant, for blocks of so many channels."""
        return LayoutAttr(StringAttr(variant), IntAttr(vectors), IntAttr(lanes))

    @property
    def variant(self) -> Variant:
        """Which family of loops reads the operands."""
        return variant_named(self.variant_name.data)

    @property
    def vectors(self) -> int:
        """Vectors of channels in a block."""
        return self.vector_count.data

    @property
    def lanes(self) -> int:
        """Channels in a vector."""
        return self.lane_count.data

    def weights(self, groups: int, channels: int, taps: tuple[int, ...], run: int) -> WeightLayout:
        """Where weights of these sizes are: `groups` by `channels` by `taps` by runs of `run` terms."""
        variant = self.variant
        return variant.layout(variant, self.vectors, self.lanes, groups, channels, taps, run)

    def verify(self) -> None:
        if self.variant_name.data not in variant_names():
            raise VerifyException(f"no variant '{self.variant_name.data}', there are {', '.join(variant_names())}")
        if min(self.vectors, self.lanes) < 1:
            raise VerifyException(f"vectors and lanes must be 1 or more, found {self.vectors} and {self.lanes}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_characters("variant")
            parser.parse_punctuation("=")
            found: list[Attribute] = [StringAttr(parser.parse_str_literal())]
            for field in ("vectors", "lanes"):
                parser.parse_punctuation(",")
                parser.parse_characters(field)
                parser.parse_punctuation("=")
                found.append(IntAttr(parser.parse_integer()))
        return found

    def print_parameters(self, printer: Printer) -> None:
        name = self.variant_name.data
        printer.print_string(f'<variant = "{name}", vectors = {self.vectors}, lanes = {self.lanes}>')


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """What the loops of a module may assume: `#kernel.target<isa = "avx512-vnni", threads = 2>`.

    It stands on the module as `kernel.target`; only the schedule and the legalization of `simd` read it.
    """

    name = "kernel.target"

    isa_name: StringAttr
    thread_count: IntAttr

    @staticmethod
    def of(isa: str, threads: int = 1) -> "TargetAttr":
        """The target of an instruction set and a number of threads."""
        return TargetAttr(StringAttr(isa), IntAttr(threads))

    @property
    def isa(self) -> str:
        """The instruction set, one of `isa_names()`."""
        return self.isa_name.data

    @property
    def threads(self) -> int:
        """How many threads may run."""
        return self.thread_count.data

    def verify(self) -> None:
        if self.isa not in isa_names():
            raise VerifyException(f"no instruction set '{self.isa}', there are {', '.join(isa_names())}")
        if self.threads < 1:
            raise VerifyException(f"threads must be 1 or more, found {self.threads}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        threads = 1
        with parser.in_angle_brackets():
            parser.parse_characters("isa")
            parser.parse_punctuation("=")
            isa = parser.parse_str_literal()
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_characters("threads")
                parser.parse_punctuation("=")
                threads = parser.parse_integer()
        return (StringAttr(isa), IntAttr(threads))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f'isa = "{self.isa}"')
            if self.threads != 1:
                printer.print_string(f", threads = {self.threads}")


TARGET = "kernel.target"
"""The attribute of a module that says what its loops may assume."""

OVERWRITTEN = "kernel.overwritten"
"""The discardable attribute of a fill: the slice that is written over before anything is read, offsets and sizes."""

SCHEDULE = "kernel.schedule"
"""The discardable attribute that schedules an operation which has no property for it."""

TUNED = "kernel.tuned"
"""The discardable attribute of a contraction whose schedule a search found, not the table."""

READ_ONLY = "kernel.read_only"
"""The attribute of an argument of a kernel: memory that it does not write."""

ATTRIBUTES: tuple[type[ParametrizedAttribute], ...] = (LayoutAttr, RequantizeAttr, ScheduleAttr, TargetAttr)
