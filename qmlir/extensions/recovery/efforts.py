"""The levels of accuracy recovery as text: the help of commands lists them."""

from collections.abc import Mapping
from typing import LiteralString

SCALES: LiteralString = "quant-search-scales{compensating bits=4}"
"""Scales are searched for weights of at most 4 bits only. With more bits, covering the full range of the weights costs
little accuracy, and the codes can compensate for it.
"""

EFFORTS: Mapping[int, LiteralString] = {
    1: "quant-correct-bias",
    2: f"{SCALES},quant-gptq,quant-correct-bias",
    3: f"{SCALES},quant-gptq,quant-adaround,quant-correct-bias",
}
"""The passes of each effort level. A higher level takes longer: it also tries the passes of the lower levels, and keeps
the best result.
"""
