"""How one value is quantized, as a recipe chooses it, and the reasons that deciding notes."""

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

# How one value is quantized, as a recipe chooses: storage, scheme, granularity, scale, calibrator, rule, repair.

_BLOCK = re.compile(r"block:([0-9]+)")

GRANULARITIES = ("tensor", "channel", "block:N")


def parse_scale(text: str) -> str:
    """`range` or `sum`. Raises `ValueError`."""
    if text not in SCALES:
        raise ValueError(f"bias scale must be one of {', '.join(SCALES)}, but got '{text}'")
    return text


REPAIRS = ("quant-correct-bias", "quant-gptq", "quant-round", "quant-search-scales")
"""The passes that repair weights and biases (`quantize --effort`)."""

ALL_REPAIRS, NO_REPAIR = "*", "none"


def parse_repair(text: str) -> str:
    """`none`, or globs of the passes in `REPAIRS`, `quant-gptq,quant-correct-bias`. Raises `ValueError`."""
    for glob in () if text == NO_REPAIR else text.split(","):
        if not any(fnmatchcase(name, glob) for name in REPAIRS):
            near = nearest_name(glob, REPAIRS)
            known = ", ".join((*REPAIRS, NO_REPAIR))
            raise ValueError(f"unknown repair '{glob}'{near} (available: {known}, and globs)")
    return text


@dataclass(frozen=True)
class GranularityChoice:
    """One scale for a tensor, one for each channel, or one for each block of `block` values along the sum."""

    is_channel: bool = False
    block: int = 0

    def __str__(self) -> str:
        return f"block:{self.block}" if self.block else "channel" if self.is_channel else "tensor"

    @staticmethod
    def parse(text: str) -> "GranularityChoice":
        """`tensor`, `channel` or `block:N`. Raises `ValueError`."""
        if (found := _BLOCK.fullmatch(text)) is not None and int(found[1]) > 0:
            return GranularityChoice(block=int(found[1]))
        if text not in ("tensor", "channel"):
            near = nearest_name(text, ("tensor", "channel"))
            raise ValueError(f"unknown granularity '{text}'{near} (available: {', '.join(GRANULARITIES)})")
        return GranularityChoice(is_channel=text == "channel")


BY_BITS = ""
"""The calibrator of data and weights where no rule names one. Of data: `Choice.data_calibrator`. Of weights: `min_max`,
or the smallest error for blocks of few bits and for ternary weights."""

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
    """Of a bias: that of its `range` or of the `sum` it is added to; default `s_x * s_w` in 32 bits, else `range`."""

    calibrator: str = BY_BITS
    calibrator_options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    rule: Arithmetic = Arithmetic.ONNXRUNTIME
    repair: str = ALL_REPAIRS
    """Of weights: the passes that may repair them, and the bias beside them (`parse_repair`)."""

    # 16 levels or fewer are too coarse to spend any of them on rare values: clipping these loses less than it gains.
    # With 8 bits the two are within a tenth of a decibel of each other, and `min_max` saturates no calibration sample.
    @property
    def data_calibrator(self) -> str:
        """The calibrator of a value that is no weight: the named one, else `mse` for at most 4 bits and `min_max`."""
        return self.calibrator or ("mse" if self.storage.bits <= FEW_BITS else "min_max")

    @property
    def needs_statistics(self) -> bool:
        """Whether a calibrator is named that needs more than the ends of the observed range."""
        return self.calibrator not in (BY_BITS, "min_max")

    @property
    def has_least_error(self) -> bool:
        """Whether the ranges are those of the smallest error: of blocks of few bits, where no calibrator is named."""
        is_narrow = self.storage.bits <= FEW_BITS and not self.has_best_scale
        return self.calibrator == BY_BITS and bool(self.granularity.block) and is_narrow

    @property
    def has_best_scale(self) -> bool:
        """Whether the scale is that of the least error: of ternary weights, whose calibrator is not named, and binary
        ones."""
        is_ternary = self.storage == Storage.TERNARY and self.calibrator == BY_BITS and self.scheme.is_symmetric
        return self.scheme.place is None and (is_ternary or not self.storage.has_zero)


DEFAULTS: Mapping[Slot, Choice] = {
    Slot.INPUT: Choice(),
    Slot.OUTPUT: Choice(),
    Slot.WEIGHT: Choice(storage=Storage(8, limits=(-127, 127)), scheme=Scheme.SYMMETRIC),
    Slot.BIAS: Choice(storage=Storage(32), scheme=Scheme.SYMMETRIC, calibrator="min_max"),
    Slot.ACCUMULATOR: Choice(storage=Storage(32), scheme=Scheme.SYMMETRIC),
}
"""What a slot gets where no rule says otherwise."""


# Why a value has its quantized type: what the deciding code notes beside each decision.
#
# A `Reason` names the operation and the slot whose rules decide, the choice that they make, and the ranges that were
# laid over the integers. No decision depends on it; it is for explanations.


class Basis(StrEnum):
    """What a type follows from."""

    RANGE = "range"
    """The observed ranges of the values that have it."""

    FIXED = "fixed"
    """The operation: its results are in one range whatever the input."""

    WEIGHTS = "weights"
    """The elements of constant weights."""

    SUM = "sum"
    """The types of what is multiplied: the scale of an exact sum of products is `s_x * s_w`."""

    ADDEND = "addend"
    """The sum that a constant is added to, so that integers are added."""

    GIVEN = "given"
    """The model, which came with it: the value was dequantized, or is quantized to it."""

    SHARED = "shared"
    """Another value, whose type a constant takes because an operation moves both, or a layer has steps."""


@dataclass(frozen=True)
class ObservedRange:
    """The observed range of one value, and the range that its calibrator chose."""

    name: str
    """The value as messages name it."""

    minimum: float
    maximum: float

    low: float
    high: float
    """The range that the integers have to hold, before it is widened to hold 0."""

    is_recorded: bool = True
    """Whether there are statistics of the value; without them `mse` in few bits, too, takes the whole range."""


@dataclass(frozen=True)
class Reason:
    """Why one type is what it is."""

    basis: Basis

    op: Operation
    """The operation whose rules decide."""

    slot: Slot

    choice: Choice | None = None
    """The choice of the rules, `None` where no rule was asked."""

    ranges: tuple[ObservedRange, ...] = ()
    """The ranges that the type has room for."""

    members: tuple[SSAValue, ...] = ()
    """The values that share the type."""

    headroom: float = 1.0
    """How often the range fits into the type: sums in 32 bits that are not exact must not saturate."""
