"""What is said of an instruction set, in one object: features, registers, instructions, and schedules by measurement.

A set that differs from another one in a few things is `dataclasses.replace` of it. Dot products that it has no
instruction for are expanded by `simd-legalize`; everything else in `simd` is arithmetic and movement that LLVM has for
every processor.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.winograd import Algorithm

ALIGNMENT = 64
"""The alignment of all memory in bytes: a cache line, and the widest vector. The runtime has the same number."""

DOT_US = "dot_us"
"""Each i32 of `a` plus four products of bytes, of `x` unsigned and of `w` signed: an intrinsic of `(a, x, w)`."""

DOT_SS = "dot_ss"
"""The same of signed bytes."""

DOT_PAIRS = "dot_pairs"
"""The sums of two products of i16 as i32: an intrinsic of `(x, w)`, to which LLVM adds the accumulator."""

MULTIPLY_PAIRS = "multiply_pairs"
"""The sums of two products of bytes as i16, `x` unsigned and `w` signed: an intrinsic of `(x, w)`."""


_PRODUCTS = {DOT_US: 8, DOT_SS: 8, DOT_PAIRS: 16}
"""The bits of a register for each of the products that dot products add."""


@dataclass(frozen=True)
class Row:
    """A way to make loops of the contractions that `accepts` takes, by the loops of `variant` (a name of the registry's
    `variants`) and its measured tile.

    A tile has up to `rows` positions by `vectors` registers. What no near cache holds is asked for ahead into the level
    `prefetch`, where it was measured to be faster. An `x` of `cut` bytes and more, where that isn't 0, is cut into
    panels of positions, over which all channels go before the next one.
    """

    accepts: Callable[[ContractionOp], bool]
    variant: str
    rows: int
    vectors: int
    measured: str
    prefetch: int = 0
    cut: int = 0


@dataclass(frozen=True)
class RegisterTile:
    """So many tiles by so many vectors of channels, and what one tile costs, as measured, against the others."""

    rows: int
    vectors: int
    cost: float


@dataclass(frozen=True)
class Gain:
    """An algorithm of Winograd's that is faster where `accepts` holds of height, width, input and output channels."""

    form: Algorithm
    accepts: Callable[[int, int, int, int], bool]
    measured: str


@dataclass(frozen=True, eq=False, kw_only=True)
class InstructionSet:
    """What the CPU target asks of an instruction set."""

    name: str

    needs: frozenset[str] = frozenset()
    """The features of the processor without which it isn't there, by LLVM's names."""

    feature_prefixes: tuple[str, ...] = ()
    """How the names of features begin that no processor has without it."""

    processors: tuple[str, ...] = ()
    """Those for which C is written with it, by the names that compilers have for them."""

    bits: int
    """Of a register."""

    registers: int
    """How many registers of vectors there are."""

    instructions: Mapping[str, Mapping[int, str]] = field(default_factory=dict[str, Mapping[int, str]])
    """LLVM's intrinsics of `DOT_US`, `DOT_SS`, `DOT_PAIRS` and `MULTIPLY_PAIRS`, as far as there are any, by the bits
    of their registers."""

    table_bytes: int = 0
    """The bytes that are looked up in registers at a time, 0 where tables are read from memory."""

    has_floats: bool = True
    """Whether there are instructions for floats."""

    requantizes_by_floats: bool = True
    """Whether integers are rescaled by floats, or in integers alone, with the same results: where there are no
    instructions for floats, or where they are slower."""

    shift_bits: int = 8
    """The bits of the narrowest lanes that are shifted."""

    near_bytes: int = 1 << 19
    """What a part of wide sums that another convolution reads takes at most: half of the smallest second-level cache of
    the CPUs that are measured, less where memory is small."""

    rows: tuple[Row, ...]
    """Schedules of contractions: the first row that accepts one, of which the last takes any."""

    tiles: tuple[RegisterTile, ...]
    """Register tiles of F(2x2, 3x3)."""

    f4_tiles: tuple[RegisterTile, ...]
    """Register tiles of F(4x4, 3x3)."""

    gains: tuple[Gain, ...] = ()
    """Where which of Winograd's algorithms is faster than a direct convolution: the first row that accepts, whose
    algorithm is exact."""

    def rows_for(self, op: ContractionOp) -> Iterator[Row]:
        """The rows that accept a contraction, the one that schedules it first."""
        return (row for row in self.rows if row.accepts(op))

    def widths(self, instruction: str) -> frozenset[int]:
        """The bits of the registers that an instruction is there for."""
        return frozenset(self.instructions.get(instruction, ()))

    @property
    def products(self) -> int:
        """The products of integers that one instruction adds at most, 0 where none does."""
        return max((bits // _PRODUCTS[name] for name in _PRODUCTS for bits in self.widths(name)), default=0)
