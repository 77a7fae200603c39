"""How a recipe quantizes one value, and the recorded reasons of type decisions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.calibrators import Option
from qmlir.arithmetic.schemes import Arithmetic, Scheme, Storage
from qmlir.dialects.target.description import SCALES
from qmlir.ir.diagnostics import nearest_name
from qmlir.ir.interfaces import Slot

# The choice of a recipe for one value: storage, scheme, granularity, scale, calibrator, rule, repair.

_BLOCK = re.compile(r"block:([0-9]+)")

GRANULARITIES = ("tensor", "channel", "block:N")


def parse_scale(text: str) -> str:
    """Returns `range` or `sum`. Raises `ValueError`."""
    if text not in SCALES:
        raise ValueError(f"bias scale must be one of {', '.join(SCALES)}, but got '{text}'")
    return text


REPAIRS = ("quant-correct-bias", "quant-gptq", "quant-round", "quant-search-scales")
"""The passes that recover accuracy by changing weights and biases (`quantize --effort`)."""

ALL_REPAIRS, NO_REPAIR = "*", "none"


def parse_repair(text: str) -> str:
    """Returns `none`, or globs of the passes in `REPAIRS`: `quant-gptq,quant-correct-bias`. Raises `ValueError`."""
    for glob in () if text == NO_REPAIR else text.split(","):
        if not any(fnmatchcase(name, glob) for name in REPAIRS):
            near = nearest_name(glob, REPAIRS)
            known = ", ".join((*REPAIRS, NO_REPAIR))
            raise ValueError(f"unknown repair '{glob}'{near} (available: {known}, and globs)")
    return text


@dataclass(frozen=True)
class GranularityChoice:
    """One scale for a tensor, one for each channel, or one for each block of `block` values along the reduction."""

    is_channel: bool = False
    block: int = 0

    def __str__(self) -> str:
        return f"block:{self.block}" if self.block else "channel" if self.is_channel else "tensor"

    @staticmethod
    def parse(text: str) -> "GranularityChoice":
        """Parses `tensor`, `channel` or `block:N`. Raises `ValueError`."""
        if (found := _BLOCK.fullmatch(text)) is not None and int(found[1]) > 0:
            return GranularityChoice(block=int(found[1]))
        if text not in ("tensor", "channel"):
            near = nearest_name(text, ("tensor", "channel"))
            raise ValueError(f"unknown granularity '{text}'{near} (available: {', '.join(GRANULARITIES)})")
        return GranularityChoice(is_channel=text == "channel")


BY_BITS = ""
"""The calibrator if no rule names one. For data it is `Choice.data_calibrator`; for weights, `min_max`, or the smallest
error for blocks of few bits and for ternary weights."""

FEW_BITS = 4

_BYTE = Storage(8)
_PER_TENSOR = GranularityChoice()


@dataclass(frozen=True)
class Choice:
    """How one value is quantized."""

    quantize: bool = True
    storage: Storage = _BYTE
    scheme: Scheme = Scheme.ASYMMETRIC
    granularity: GranularityChoice = _PER_TENSOR
    scale: str = ""
    """The scale of a bias: that of its `range`, or of the `sum` it is added to. By default it is `s_x * s_w` in 32
    bits, else `range`."""

    calibrator: str = BY_BITS
    calibrator_options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    rule: Arithmetic = Arithmetic.ONNXRUNTIME
    repair: str = ALL_REPAIRS
    """For weights: the passes that may change them and their bias for accuracy recovery (`parse_repair`)."""

    # 16 levels or fewer are too coarse to spend any of them on rare values: clipping these loses less than it gains.
    # With 8 bits, the two are within a tenth of a decibel of each other, and `min_max` saturates no calibration sample.
    @property
    def data_calibrator(self) -> str:
        """The calibrator of data: the named one, else `mse` for at most 4 bits and `min_max` for more."""
        return self.calibrator or ("mse" if self.storage.bits <= FEW_BITS else "min_max")

    @property
    def needs_statistics(self) -> bool:
        """True if the named calibrator needs more than the ends of the observed range."""
        return self.calibrator not in (BY_BITS, "min_max")

    @property
    def has_least_error(self) -> bool:
        """True if ranges minimize the error: for blocks of few bits, if no calibrator is named."""
        is_narrow = self.storage.bits <= FEW_BITS and not self.has_best_scale
        return self.calibrator == BY_BITS and bool(self.granularity.block) and is_narrow

    @property
    def has_best_scale(self) -> bool:
        """True if the scale minimizes the error: for binary weights, and ternary ones without a named calibrator."""
        is_ternary = self.storage == Storage.TERNARY and self.calibrator == BY_BITS and self.scheme.is_symmetric
        return self.scheme.place is None and (is_ternary or not self.storage.has_zero)


DEFAULTS: Mapping[Slot, Choice] = {
    Slot.INPUT: Choice(),
    Slot.OUTPUT: Choice(),
    Slot.WEIGHT: Choice(storage=Storage(8, limits=(-127, 127)), scheme=Scheme.SYMMETRIC),
    Slot.BIAS: Choice(storage=Storage(32), scheme=Scheme.SYMMETRIC, calibrator="min_max"),
    Slot.ACCUMULATOR: Choice(storage=Storage(32), scheme=Scheme.SYMMETRIC),
}
"""The default choice of each slot."""


# The reason of each quantized type, recorded with the decision.
#
# A `Reason` names the operation and the slot whose rules decide, their choice, and the ranges that the integers cover.
# No decision depends on it; it is for explanations.


class Basis(StrEnum):
    """The source of a type."""

    RANGE = "range"
    """The observed ranges of the values that have the type."""

    FIXED = "fixed"
    """The operation: its results are in one range for any input."""

    WEIGHTS = "weights"
    """The elements of constant weights."""

    SUM = "sum"
    """The types of the factors: the scale of an exact sum of products is `s_x * s_w`."""

    ADDEND = "addend"
    """The sum that a constant is added to, so that integers are added."""

    GIVEN = "given"
    """The model, which defines it: the value was dequantized, or is quantized to it."""

    SHARED = "shared"
    """Another value, whose type a constant shares because an operation moves both, or a layer has steps."""


@dataclass(frozen=True)
class ObservedRange:
    """The observed range of one value, and the range that its calibrator chose."""

    name: str
    """The name of the value in messages."""

    minimum: float
    maximum: float

    low: float
    high: float
    """The range that the integers must cover, before it is extended to 0."""

    is_recorded: bool = True
    """True if the value has statistics; without them, `mse` in few bits also takes the whole range."""


@dataclass(frozen=True)
class Reason:
    """Why a value has its type."""

    basis: Basis

    op: Operation
    """The operation whose rules decide."""

    slot: Slot

    choice: Choice | None = None
    """The choice of the rules; `None` if no rule was used."""

    ranges: tuple[ObservedRange, ...] = ()
    """The ranges that the type covers."""

    members: tuple[SSAValue, ...] = ()
    """The values that share the type."""

    headroom: float = 1.0
    """The factor by which the type exceeds the range: inexact 32-bit sums must not saturate."""
