"""Where which of Winograd's algorithms is faster than a direct convolution, and how many tiles make a block.

`docs/performance.md` says how the figures were taken.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.ops import ConvOp, shaped
from qmlir.dialects.kernel.variants import GROUP
from qmlir.dialects.kernel.winograd import F2, F4, Algorithm, WinogradOp


@dataclass(frozen=True)
class Gain:
    """On the instruction sets `isas`, where `accepts` holds of height and width, input and output channels."""

    form: Algorithm
    isas: tuple[str, ...]
    accepts: Callable[[int, int, int, int], bool]
    measured: str


def _tiles(form: Algorithm, height: int, width: int) -> int:
    return -(-height // form.step) * -(-width // form.step)


GAINS: tuple[Gain, ...] = (
    Gain(
        F2, ("avx2",), lambda height, width, inputs, outputs: min(inputs, outputs) >= 8,
        "Zen 4: 0.44-0.52 of the time of pairs of i16 in ResNet-50, 0.49-0.80 down to 8 channels; 3 channels 1.43",
    ),
    Gain(
        F2, ("generic",), lambda height, width, inputs, outputs: min(inputs, outputs) >= 8,
        "Zen 4: 0.27 of the time of products of i32 at 28x28x128, 0.46 at 32x32x16",
    ),
    Gain(
        F4, ("avx512-vnni",),
        lambda height, width, inputs, outputs: _tiles(F4, height, width) >= 16 and min(inputs, outputs) >= 32,
        "Zen 4: 0.57-0.71 of the time of four bytes a lane, 14x14x64 0.81; 9 tiles of 10x10x256 1.16, 32x32x16 0.94",
    ),
)  # fmt: skip
"""Where which is faster, in the first row that accepts; nowhere else. On avx512-vnni F(2x2, 3x3) takes 0.92 to 1.19 of
the time of four bytes a lane, and 0.96 to 1.40 with weights that no cache holds, of which it has 3.6 times
the bytes."""


def fastest(op: ConvOp, isa: str) -> Algorithm | None:
    """The algorithm by which a convolution of 3x3 taps next to each other is computed fastest, `None`: directly."""
    _, height, width, outputs = shaped(op.target)[0]
    inputs = shaped(op.x)[0][-1]
    rows = (gain for gain in GAINS if isa in gain.isas and gain.accepts(height, width, inputs, outputs))
    return next((gain.form for gain in rows), None)


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


def register_tiles(form: Algorithm, isa: str) -> tuple[RegisterTile, ...]:
    """The register tiles of an algorithm."""
    return (_FEW if form is F4 and isa == "avx512-vnni" else REGISTERS[isa]).tiles


BLOCK_BYTES = 256 * 1024
"""Room for the transformed inputs of a block, in the cache nearest but one."""

PREFETCHED_BYTES = 384 * 1024
"""Transformed weights from which on they come from further away than the cache nearest but one, one product after the
other. With weights that no cache holds, prefetching takes 7x7x512 from 1060 to 680 us, 14x14x256 from 640 to 550 and
28x28x128 from 576 to 540; 56x56x64 would lose 3%."""

NEAR_BYTES = 16 * 1024
"""The weights of a product that are prefetched into the nearest cache, larger ones into the next: 550 against 650 us at
14x14x256, where they are 8 KB, 800 against 680 at 7x7x512, where they are 24."""

MOST_TILES: Mapping[str, int] = {F2.name: 64, F4.name: 28}
"""The tiles of a block: of F(2x2, 3x3) 25 to 160 take the same time within 1%; 56x56x64 by F(4x4, 3x3) takes the same
with 28 and 70 as well, but 424 and 462 us with nothing in a cache."""


def _bytes(form: Algorithm, inputs: int) -> int:
    """What is in 16 bits for `inputs` channels of each tile, or so many weights."""
    return form.tile**2 * 2 * inputs


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
    is_far = _bytes(form, inputs * outputs) >= PREFETCHED_BYTES
    level = 1 if 2 * inputs * vectors * lanes <= NEAR_BYTES else 2
    return ScheduleAttr.of(
        form.variant, min(tile.rows, count), vectors, lanes, GROUP[form.variant], threads=threads > 1 and block < count,
        block=block, prefetch=level if is_far else 0,
    )  # fmt: skip
