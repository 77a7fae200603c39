"""The description of an instruction set in one object: features, registers, instructions, and measured schedules.

A set that differs only slightly from another one is a `dataclasses.replace` of it. `simd-legalize` expands dot products
without an instruction. All other `simd` operations are arithmetic and data movement that LLVM supports on every CPU.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.winograd import Algorithm

ALIGNMENT = 64
"""The alignment of all memory in bytes: a cache line, and the widest vector. Equal to the runtime's constant."""

DOT_US = "dot_us"
"""Adds four products of unsigned bytes `x` and signed bytes `w` to each i32 of `a`; has operands `(a, x, w)`."""

DOT_SS = "dot_ss"
"""Like `DOT_US`, with signed `x`."""

DOT_PAIRS = "dot_pairs"
"""Sums two products of i16 as i32; has operands `(x, w)`, and the accumulator is added separately."""

MULTIPLY_PAIRS = "multiply_pairs"
"""Sums two products of unsigned bytes `x` and signed bytes `w` as i16; has operands `(x, w)`."""


_PRODUCTS = {DOT_US: 8, DOT_SS: 8, DOT_PAIRS: 16}
"""The width of the factors of each dot product, in bits."""


@dataclass(frozen=True)
class Row:
    """A microkernel `variant` and its measured tile size, for the contractions that `accepts` matches.

    A tile has up to `rows` positions by `vectors` registers. `prefetch` is the cache level into which large weights and
    the rows of a panel are prefetched; 0 disables prefetching. If `cut` is not 0, an input `x` of at least `cut` bytes
    is divided into panels of positions, and all channels of a panel are computed before the next panel starts. `ahead`
    is the distance in bytes at which weights that are read once are prefetched; 0 disables it.
    """

    accepts: Callable[[ContractionOp], bool]
    variant: str
    rows: int
    vectors: int
    measured: str
    prefetch: int = 0
    cut: int = 0
    ahead: int = 0


@dataclass(frozen=True)
class RegisterTile:
    """A register tile of `rows` Winograd tiles by `vectors` vectors of channels, and its measured relative cost."""

    rows: int
    vectors: int
    cost: float


@dataclass(frozen=True)
class Gain:
    """A Winograd algorithm, and a predicate for the convolutions that it speeds up.

    The arguments of `accepts` are the height and width of the output, and the numbers of input and output channels.
    """

    form: Algorithm
    accepts: Callable[[int, int, int, int], bool]
    measured: str


@dataclass(frozen=True, eq=False, kw_only=True)
class InstructionSet:
    """The properties of an instruction set that the CPU target uses."""

    name: str

    needs: frozenset[str] = frozenset()
    """The CPU features that it requires, by LLVM's names."""

    feature_prefixes: tuple[str, ...] = ()
    """Prefixes of features that only CPUs with this instruction set have."""

    processors: tuple[str, ...] = ()
    """The CPUs, by the names that C compilers use, for which generated C code uses this instruction set."""

    bits: int
    """The width of a vector register, in bits."""

    registers: int
    """The number of vector registers."""

    instructions: Mapping[str, Mapping[int, str]] = field(default_factory=dict[str, Mapping[int, str]])
    """LLVM's intrinsics for `DOT_US`, `DOT_SS`, `DOT_PAIRS` and `MULTIPLY_PAIRS`, if any, by register width in bits."""

    table_bytes: int = 0
    """The number of bytes per table lookup in registers; 0 if tables are read from memory."""

    has_floats: bool = True
    """True if there are float instructions."""

    requantizes_by_floats: bool = True
    """True if integers are requantized with floats, false if with integers alone; results are the same.

    Integers are used if there are no float instructions, or if they are slower.
    """

    saturates: bool = False
    """True if one instruction clamps a 32-bit integer to a signed or an unsigned integer of any width."""

    shift_bits: int = 8
    """The narrowest lanes, in bits, with shift instructions."""

    near_bytes: int = 1 << 19
    """The largest chunk of 32-bit sums, in bytes, that a convolution computes before another convolution reads it.

    Half of the smallest L2 cache of the measured CPUs; less if memory is small.
    """

    rows: tuple[Row, ...]
    """Schedules of contractions. The first row that accepts a contraction applies; the last row accepts any."""

    tiles: tuple[RegisterTile, ...]
    """Register tiles of F(2x2, 3x3)."""

    f4_tiles: tuple[RegisterTile, ...]
    """Register tiles of F(4x4, 3x3)."""

    gains: tuple[Gain, ...] = ()
    """Winograd algorithms that can be faster than direct convolution; the first that accepts and is exact is used."""

    def rows_for(self, op: ContractionOp) -> Iterator[Row]:
        """Returns the rows that accept a contraction; the first one schedules it."""
        return (row for row in self.rows if row.accepts(op))

    def widths(self, instruction: str) -> frozenset[int]:
        """Returns the register widths, in bits, for which an instruction exists."""
        return frozenset(self.instructions.get(instruction, ()))

    @property
    def products(self) -> int:
        """The largest number of integer products that one instruction adds; 0 if there is none."""
        return max((bits // _PRODUCTS[name] for name in _PRODUCTS for bits in self.widths(name)), default=0)
