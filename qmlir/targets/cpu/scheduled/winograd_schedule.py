"""How Winograd's convolutions are made into loops: where they are faster, register tiles, tiles of a block.

`docs/lab/winograd.md` says how the figures were taken.
"""

from collections.abc import Mapping, Sequence

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ConvOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.kernel.winograd import F2, F4, F4_BYTES, Algorithm, WinogradOp
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import RegisterTile


def faster(op: ConvOp, isa: str) -> Sequence[Algorithm]:
    """The algorithms by which a convolution of 3x3 kernels next to each other is computed faster, the fastest first."""
    _, height, width, outputs = shaped(op.target)[0]
    inputs = shaped(op.x)[0][-1]
    return tuple(gain.form for gain in instruction_set(isa).gains if gain.accepts(height, width, inputs, outputs))


_SUMS_OF_WEIGHTS = 8
"""Registers for each tile of F(4x4, 3x3) that transforms its weights: six hold products of it."""


def register_tiles(form: Algorithm, isa: str) -> tuple[RegisterTile, ...]:
    """The register tiles of an algorithm."""
    found = instruction_set(isa)
    if form.takes_bytes:
        return (RegisterTile(found.registers // _SUMS_OF_WEIGHTS, 1, 1),)
    return found.f4_tiles if form is F4 else found.tiles


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

MOST_TILES: Mapping[str, int] = {F2.name: 64, F4.name: 28, F4_BYTES.name: 28}
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
    lanes = instruction_set(isa).bits // 32
    vectors = min(tile.vectors, -(-outputs // lanes))
    is_far = _weight_bytes(form, inputs * outputs) >= PREFETCHED_BYTES
    level = 1 if form.takes_bytes or 2 * inputs * vectors * lanes <= NEAR_BYTES else 2
    return ScheduleAttr.of(
        form.variant, min(tile.rows, count), vectors, lanes, variant_named(form.variant).group, threads=threads > 1,
        block=block, prefetch=level if is_far else 0,
    )  # fmt: skip
