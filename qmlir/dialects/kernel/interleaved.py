"""How `depthwise_dot` and `depthwise_pairs` lay channels and taps out: rows of the window beside each other in a lane.

Four registers of bytes, one for each of four rows of the window, become four registers of lanes by two rounds of
interleaving within blocks of 128 bits. A lane then holds four bytes of one channel, which one dot product takes; in the
registers, channels stand in the order that interleaving leaves. Two registers of 16 bits become two by one round.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

QUAD = 4
"""Bytes of a lane, and lanes of a block of 128 bits."""


def interleaved_channels(lanes: int, registers: int) -> npt.NDArray[Any]:
    """The channel of each lane of the registers, `[registers, lanes]`, counted from the first one that was read."""
    if lanes % QUAD:
        raise ValueError(f"found {lanes} lanes, blocks of 128 bits have {QUAD} each")
    block, place = np.divmod(np.arange(lanes), QUAD)
    return np.asarray(QUAD * registers * block + place + QUAD * np.arange(registers)[:, None])


def rows_there(rows: int, positions: int, stride: int, dilation: int) -> int:
    """How many rows of a window, `dilation` apart, lie inside the `rows` of `x` at the last of the positions.

    Windows are filled up to whole groups of the rows of a lane; weights of the rows beyond these are zeros.
    """
    return (rows - 1 - (positions - 1) * stride) // dilation + 1
