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
from qmlir.text.renames import PASSES

# The settings that a recipe chooses for one value: storage, scheme, granularity, scale, calibrator, rule, repair.

_BLOCK = re.compile(r"block:([0-9]+)")

GRANULARITIES = ("tensor", "channel", "block:N")


def parse_scale(text: str) -> str:
    """Returns `text` if it is `range` or `sum`. Raises `ValueError` otherwise."""
    if text not in SCALES:
        raise ValueError(f"bias scale must be one of {', '.join(SCALES)}, but got '{text}'")
    return text


REPAIRS = ("quant-correct-bias", "quant-gptq", "quant-adaround", "quant-search-scales")
"""The passes that recover accuracy by changing weights and biases (`quantize --effort`)."""

ALL_REPAIRS, NO_REPAIR = "*", "none"


def parse_repair(text: str) -> str:
    """Returns `text` if it is `none`, or globs of passes in `REPAIRS` such as `quant-gptq,quant-correct-bias`.

    Raises `ValueError` otherwise.
    """
    for glob in () if text == NO_REPAIR else text.split(","):
        if not any(fnmatchcase(name, glob) for name in REPAIRS):
            if glob in PASSES:
                raise ValueError(f"repair '{glob}' is now '{PASSES[glob]}'")
            near = nearest_name(glob, REPAIRS)
            known = ", ".join((*REPAIRS, NO_REPAIR))
            raise ValueError(f"unknown repair '{glob}'{near} (available: {known}, and globs)")
    return text


@dataclass(frozen=True)
class GranularityChoice:
    """The scope of a scale: the whole tensor, one channel, or a block of `block` elements along the reduction axis."""

    is_channel: bool = False
    block: int = 0

    def __str__(self) -> str:
        return f"block:{self.block}" if self.block else "channel" if self.is_channel else "tensor"

    @staticmethod
    def parse(text: str) -> "GranularityChoice":
        """Parses `tensor`, `channel` or `block:N`. Raises `ValueError` for any other text."""
        if (found := _BLOCK.fullmatch(text)) is not None and int(found[1]) > 0:
            return GranularityChoice(block=int(found[1]))
        if text not in ("tensor", "channel"):
            near = nearest_name(text, ("tensor", "channel"))
            raise ValueError(f"unknown granularity '{text}'{near} (available: {', '.join(GRANULARITIES)})")
        return GranularityChoice(is_channel=text == "channel")


BY_BITS = ""
"""Stands for the default calibrator, if no rule names one. For data, the default is `Choice.data_calibrator`. For
weights it is `min_max`, except for blocks of few bits and ternary weights, whose scales minimize the error."""

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
    """The scale of a bias: `range` derives it from the range of the bias, `sum` is the scale of the sum to which the
    bias is added. By default, a 32-bit bias has the scale `s_x * s_w`, and any other bias uses `range`."""

    calibrator: str = BY_BITS
    calibrator_options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    rule: Arithmetic = Arithmetic.ONNXRUNTIME
    repair: str = ALL_REPAIRS
    """For weights: the accuracy recovery passes that may change them and the bias of their layer (`parse_repair`)."""

    # 16 levels or fewer are too coarse to spend any of them on rare values: clipping these loses less than it gains.
    # With 8 bits, the two are within a tenth of a decibel of each other, and `min_max` saturates no calibration sample.
    @property
    def data_calibrator(self) -> str:
        """The calibrator for data: the named one, or else `mse` for at most 4 bits and `min_max` for more."""
        return self.calibrator or ("mse" if self.storage.bits <= FEW_BITS else "min_max")

    @property
    def needs_statistics(self) -> bool:
        """True if the named calibrator needs more than the minimum and maximum of the observed values."""
        return self.calibrator not in (BY_BITS, "min_max")

    @property
    def has_least_error(self) -> bool:
        """True if ranges minimize the error: for block-wise types of few bits without a named calibrator."""
        is_narrow = self.storage.bits <= FEW_BITS and not self.has_best_scale
        return self.calibrator == BY_BITS and bool(self.granularity.block) and is_narrow

    @property
    def has_best_scale(self) -> bool:
        """True if the scale minimizes the error: for binary weights, and ternary weights without a named calibrator."""
        is_ternary = self.storage == Storage.TERNARY and self.calibrator == BY_BITS and self.scheme.is_symmetric
        return self.scheme.place is None and (is_ternary or not self.storage.has_zero)


DEFAULTS: Mapping[Slot, Choice] = {
    Slot.INPUT: Choice(),
    Slot.OUTPUT: Choice(),
    Slot.WEIGHT: Choice(storage=Storage(8, limits=(-127, 127)), scheme=Scheme.SYMMETRIC),
    Slot.BIAS: Choice(storage=Storage(32), scheme=Scheme.SYMMETRIC, calibrator="min_max"),
    Slot.ACCUMULATOR: Choice(storage=Storage(32), scheme=Scheme.SYMMETRIC),
}
"""The default choice for each slot."""


# The reason of each quantized type, recorded with the decision.
#
# A `Reason` names the operation and the slot whose rules decide the type, the choice of these rules, and the ranges
# that the integers cover. It serves explanations only; no decision depends on it.


class Basis(StrEnum):
    """The source from which a type was derived."""

    RANGE = "range"
    """The observed ranges of the values that have the type."""

    FIXED = "fixed"
    """The operation, whose results lie in a fixed range for any input."""

    WEIGHTS = "weights"
    """The elements of constant weights."""

    SUM = "sum"
    """The types of data and weights: the scale of an exact sum of products is `s_x * s_w`."""

    ADDEND = "addend"
    """The type of the sum to which a constant is added, so that integers can be added directly."""

    GIVEN = "given"
    """The model, which dequantizes the value from this type or quantizes it to this type."""

    SHARED = "shared"
    """Another value: a constant shares its type because an operation moves both, or because both are one value in
    different steps of a layer."""


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
    """True if the value has statistics; without them, even `mse` in few bits uses the whole observed range."""


@dataclass(frozen=True)
class Reason:
    """Why a value has its type."""

    basis: Basis

    op: Operation
    """The operation whose rules decide the type."""

    slot: Slot

    choice: Choice | None = None
    """The settings that the rules chose; `None` if no rule was used."""

    ranges: tuple[ObservedRange, ...] = ()
    """The ranges that the type covers."""

    members: tuple[SSAValue, ...] = ()
    """The values that share the type."""

    headroom: float = 1.0
    """The factor by which the type exceeds the observed range, so that inexact 32-bit sums do not saturate."""
