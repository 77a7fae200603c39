"""Where which of Winograd's algorithms is faster than a direct convolution, and how many tiles make a block.

`docs/performance.md` says how the figures were taken.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.ops import ConvOp, shaped
from qmlir.dialects.kernel.variants import GROUP
from qmlir.dialects.kernel.winograd import F2, F4, F4_TAPS, Algorithm, WinogradOp
from qmlir.targets.cpu.scheduled.isas import REGISTER_COUNTS


@dataclass(frozen=True)
class Gain:
    """On the instruction sets `isas`, where `accepts` holds of height and width, input and output channels."""

    form: Algorithm
    isas: tuple[str, ...]
    accepts: Callable[[int, int, int, int], bool]
    measured: str


def _tiles(form: Algorithm, height: int, width: int) -> int:
    return -(-height // form.step) * -(-width // form.step)


def _computed(form: Algorithm, height: int, width: int, rows: int) -> float:
    """The sums that tiles, filled up to whole register tiles of `rows`, have for each of the result."""
    return -(-_tiles(form, height, width) // rows) * rows * form.step**2 / (height * width)


GAINS: tuple[Gain, ...] = (
    Gain(
        F4, ("avx2", "generic"),
        lambda height, width, inputs, outputs: _tiles(F4, height, width) >= 16 and min(inputs, outputs) >= 16,
        "Zen 4, of F(2x2, 3x3): 0.62-0.76 in ResNet-50, 28x28x16 0.79, 9 tiles of 10x10x256 cold 1.1; generic 0.6-0.9",
    ),
    Gain(
        F2, ("avx2",), lambda height, width, inputs, outputs: min(inputs, outputs) >= 8,
        "Zen 4: 0.44-0.52 of the time of pairs of i16 in ResNet-50, 0.49-0.80 down to 8 channels; 3 channels 1.43",
    ),
    Gain(
        F2, ("generic",), lambda height, width, inputs, outputs: min(inputs, outputs) >= 8,
        "Zen 4: 0.27 of the time of products of i32 at 28x28x128, 0.46 at 32x32x16",
    ),
    Gain(
        F4, ("avx512-vnni", "avx2-vnni"),
        lambda height, width, inputs, outputs: _tiles(F4, height, width) >= 16 and min(inputs, outputs) >= 32,
        "Zen 4: 0.57-0.71 of the time of four bytes a lane, 14x14x64 0.81; 9 tiles of 10x10x256 1.16, 32x32x16 0.94; "
        "registers of 256 bits: 0.56-0.73, 14x14x64 0.84",
    ),
    Gain(
        F4_TAPS, ("avx512-vnni",),
        lambda height, width, inputs, outputs: _computed(F4, height, width, 4) <= 4 / 3 and min(inputs, outputs) >= 256,
        "Zen 4: 0.80 of the time of four bytes a lane at 7x7x512, 0.81 at 7x7x256; 10x10x256, 1.92 times as much, 1.16",
    ),
)  # fmt: skip
"""Where which is faster, in the first row that accepts and whose algorithm is exact; nowhere else. On avx512-vnni
F(2x2, 3x3) takes 0.92 to 1.19 of the time of four bytes a lane, and 0.96 to 1.40 with weights that no cache holds, of
which it has 3.6 times the bytes."""


def faster(op: ConvOp, isa: str) -> Sequence[Algorithm]:
    """The algorithms by which a convolution of 3x3 taps next to each other is computed faster, the fastest first."""
    _, height, width, outputs = shaped(op.target)[0]
    inputs = shaped(op.x)[0][-1]
    return tuple(gain.form for gain in GAINS if isa in gain.isas and gain.accepts(height, width, inputs, outputs))


@dataclass(frozen=True)
class RegisterTile:
    """So many tiles by so many vectors of channels, and what one tile costs, as measured, against the others."""

    rows: int
    vectors: int
    cost: float


@dataclass(frozen=True)
class Registers:
    """The bits of a register of an instruction set, and the register tiles that it has room for."""

    bits: int
    tiles: tuple[RegisterTile, ...]


_NARROW = Registers(
    256, (RegisterTile(5, 2, 1), RegisterTile(6, 2, 1.01), RegisterTile(4, 3, 1.03), RegisterTile(4, 2, 1.1))
)
_WIDE = Registers(512, (RegisterTile(8, 2, 1), RegisterTile(7, 2, 1), RegisterTile(6, 2, 1), RegisterTile(5, 4, 1)))

REGISTERS: Mapping[str, Registers] = {
    "generic": Registers(128, (RegisterTile(4, 2, 1), RegisterTile(3, 2, 1))),
    "avx2": _NARROW,
    "avx2-vnni": _NARROW,
    "avx512-vnni": _WIDE,
    "neon": Registers(128, (RegisterTile(6, 4, 1), RegisterTile(5, 4, 1))),
}
"""Measured on Zen 4 with the 3x3 layers of ResNet-50; `generic` and `neon` have the tiles of direct convolutions."""

_FEW = Registers(512, (RegisterTile(7, 2, 1), RegisterTile(8, 1, 1.05), RegisterTile(8, 2, 1)))
"""Those of F(4x4, 3x3) on avx512-vnni: an image of 14x14 has 16 tiles, whose weights are used twice by 8 of them."""


_EVEN = Registers(256, (RegisterTile(6, 2, 1), RegisterTile(5, 2, 1), RegisterTile(4, 2, 1.02)))
"""Those of F(4x4, 3x3) in 256 bits: 128 channels leave a rest of 4 x 3, which takes 168 us at 14x14x128, 4 x 2 121."""

_F4_REGISTERS: Mapping[str, Registers] = {"avx2": _EVEN, "avx2-vnni": _EVEN, "avx512-vnni": _FEW}


_LINES: Mapping[int, tuple[RegisterTile, ...]] = {32: (RegisterTile(4, 1, 1),), 16: (RegisterTile(2, 1, 1),)}
"""Those of F(4x4, 3x3) that transforms its weights, by registers: each has six products of so many tiles in them."""


def register_tiles(form: Algorithm, isa: str) -> tuple[RegisterTile, ...]:
    """The register tiles of an algorithm."""
    if form.takes_taps:
        return _LINES[REGISTER_COUNTS[isa]]
    return (_F4_REGISTERS.get(isa, REGISTERS[isa]) if form is F4 else REGISTERS[isa]).tiles


BLOCK_BYTES = 256 * 1024
"""Room for the transformed inputs of a block, in the cache nearest but one."""

PREFETCHED_BYTES = 384 * 1024
"""Transformed weights from which on they come from further away than the cache nearest but one, one product after the
other. With weights that no cache holds, prefetching takes 7x7x512 from 1060 to 680 us, 14x14x256 from 640 to 550 and
28x28x128 from 576 to 540; 56x56x64 would lose 3%."""

NEAR_BYTES = 16 * 1024
"""The weights of a product that are prefetched into the nearest cache, larger ones into the next: 550 against 650 us at
14x14x256, where they are 8 KB, 800 against 680 at 7x7x512, where they are 24. Taps always into the nearest: 586
against 979 us at 7x7x512, a block of whose channels has 72 KB of them, read six times."""

MOST_TILES: Mapping[str, int] = {F2.name: 64, F4.name: 28, F4_TAPS.name: 28}
"""The tiles of a block: of F(2x2, 3x3) 25 to 160 take the same time within 1%; 56x56x64 by F(4x4, 3x3) takes the same
with 28 and 70 as well, but 424 and 462 us with nothing in a cache."""


def _bytes(form: Algorithm, inputs: int) -> int:
    """What is in 16 bits for `inputs` channels of a tile."""
    return form.tile**2 * 2 * inputs


def _weight_bytes(form: Algorithm, channels: int) -> int:
    """The weights of so many pairs of channels."""
    return form.weight_size**2 * form.weight_element.width.data // 8 * channels


def most_tiles(form: Algorithm, count: int, inputs: int, threads: int) -> int:
    """The tiles that a block of `count` has at most."""
    return max(min(BLOCK_BYTES // _bytes(form, inputs), MOST_TILES[form.name], -(-count // threads)), 1)


def winograd_schedule(op: WinogradOp, isa: str, threads: int) -> ScheduleAttr:
    """The schedule that computes the least for nothing: tiles that fill up the last register tile of a block.

    A block has whole register tiles, its transformed inputs fit `BLOCK_BYTES`, and each thread has a block.
    """
    batch, rows, columns = op.tiles
    count, inputs = batch * rows * columns, shaped(op.x)[0][-1]
    most = most_tiles(op.form, count, inputs, threads)

    def cost(tile: RegisterTile, block: int) -> float:
        whole, rest = divmod(count, block)
        return (
            sum(number * -(-size // tile.rows) * tile.rows for number, size in ((whole, block), (1, rest))) * tile.cost
        )

    candidates = [
        (tile, min(tile.rows * number, count))
        for tile in register_tiles(op.form, isa)
        for number in range(1, -(-most // tile.rows) + 1)
    ]
    tile, block = min(candidates, key=lambda each: (cost(*each), -each[1]))
    return schedule_of_tile(op.form, isa, tile, block, count, (inputs, op.channels()), threads)


def schedule_of_tile(
    form: Algorithm, isa: str, tile: RegisterTile, block: int, count: int, channels: tuple[int, int], threads: int
) -> ScheduleAttr:
    """The schedule by a register tile in blocks of so many of the `count` tiles, for input and output `channels`."""
    inputs, outputs = channels
    lanes = REGISTERS[isa].bits // 32
    vectors = min(tile.vectors, -(-outputs // lanes))
    is_far = _weight_bytes(form, inputs * outputs) >= PREFETCHED_BYTES
    level = 1 if form.takes_taps or 2 * inputs * vectors * lanes <= NEAR_BYTES else 2
    return ScheduleAttr.of(
        form.variant, min(tile.rows, count), vectors, lanes, GROUP[form.variant], threads=threads > 1,
        block=block, prefetch=level if is_far else 0,
    )  # fmt: skip
