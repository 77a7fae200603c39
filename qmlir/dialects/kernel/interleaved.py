"""How the variant `depthwise_dot` lays channels and taps out: four taps of a channel beside each other in a lane.

Four registers of bytes, one for each of four rows of the window, become four registers of lanes by two rounds of
interleaving within blocks of 128 bits. A lane then holds four bytes of one channel, which one dot product takes; in the
registers, channels stand in the order that interleaving leaves.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

QUAD = 4
"""Rows of the window that a lane holds, and registers of sums for the channels of a register of bytes."""

BLOCK = 16
"""Bytes that are interleaved among themselves: those of 128 bits."""


def interleaved_channels(lanes: int) -> npt.NDArray[Any]:
    """The channel of each lane of the four registers, `[4, lanes]`, counted from the first of the register of bytes."""
    if lanes % QUAD:
        raise ValueError(f"found {lanes} lanes, blocks of 128 bits have {QUAD} each")
    block, place = np.divmod(np.arange(lanes), QUAD)
    return np.asarray(BLOCK * block + place + QUAD * np.arange(QUAD)[:, None])


def rows_there(rows: int, positions: int, stride: int, dilation: int) -> int:
    """How many rows of a window, `dilation` apart, lie inside the `rows` of `x` at the last of the positions.

    Windows are filled up to whole groups of four rows; weights of the rows beyond these are zeros.
    """
    return (rows - 1 - (positions - 1) * stride) // dilation + 1
