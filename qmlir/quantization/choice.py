"""How a recipe quantizes one value, and the recorded reasons of type decisions."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.calibrators import Option
from qmlir.arithmetic.schemes import LARGEST_SCALE, SMALLEST_SCALE, Arithmetic, Scheme, Storage
from qmlir.dialects.target.description import SCALES
from qmlir.ir.diagnostics import nearest_name
from qmlir.ir.interfaces import Slot
from qmlir.text.renames import PASSES

# The settings that a recipe chooses for one value: storage, scheme, granularity, calibrator, given parameters, rule,
# repair, and the scale of a bias.

_BLOCK = re.compile(r"block:([0-9]+)(?::(f16|bf16|f32)|:k([468]))?")

GRANULARITIES = ("tensor", "channel", "block:N", "block:N:f16", "block:N:bf16", "block:N:k6")


def parse_bias_scale(text: str) -> str:
    """Returns `text` if it is `range` or `sum`. Raises `ValueError` otherwise."""
    if text not in SCALES:
        raise ValueError(f"bias scale must be one of {', '.join(SCALES)}, but got '{text}'")
    return text


def parse_storage(text: str) -> Storage:
    """Returns an integer storage, or that of activations in f32 or quantized at run time.

    Raises `ValueError` for other texts.
    """
    if text in ("f16", "bf16", "f64"):
        raise ValueError(f"activations in {text} are not supported: operations in float compute in f32; use f32")
    others = {str(each): each for each in (Storage.F32, Storage.DYNAMIC, Storage.DYNAMIC_TENSOR)}
    if text.startswith("dynamic") and text not in others:
        raise ValueError(f"dynamic quantization is 'dynamic' (per row) or 'dynamic:tensor', but got '{text}'")
    return others.get(text) or Storage.parse(text)


RESCALING_REPAIR = "quant-search-scales"
REPAIRS = ("quant-correct-bias", "quant-gptq", "quant-adaround", RESCALING_REPAIR)
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
    scale_type: str = "f32"
    """The type to which the scales of blocks are rounded: `f32`, `f16` or `bf16`."""

    factor_bits: int = 0
    """The bits of the integers of two-level scales, which multiply a 16-bit number of 256 terms; 0 for other scales."""

    def __str__(self) -> str:
        held = f"k{self.factor_bits}" if self.factor_bits else self.scale_type
        return f"{self.scope}:{held}" if held != "f32" else self.scope

    @property
    def scope(self) -> str:
        """The scope alone: `tensor`, `channel` or `block:N`."""
        return f"block:{self.block}" if self.block else "channel" if self.is_channel else "tensor"

    @staticmethod
    def parse(text: str) -> "GranularityChoice":
        """Parses `tensor`, `channel`, `block:N`, `block:N:TYPE` or `block:N:kBITS`. Raises `ValueError` otherwise."""
        if (found := _BLOCK.fullmatch(text)) is not None and int(found[1]) > 0:
            if found[3] and (256 % int(found[1]) or found[1] == "256"):
                raise ValueError(
                    f"the block size of '{text}' must divide 256, the terms of a super-block, and be smaller"
                )
            return GranularityChoice(block=int(found[1]), scale_type=found[2] or "f32", factor_bits=int(found[3] or 0))
        if text not in ("tensor", "channel"):
            near = nearest_name(text, ("tensor", "channel"))
            raise ValueError(f"unknown granularity '{text}'{near} (available: {', '.join(GRANULARITIES)})")
        return GranularityChoice(is_channel=text == "channel")


@dataclass(frozen=True)
class GivenParameters:
    """Quantization parameters that a rule gives: a range, or scales with zero points."""

    range: tuple[float, float] | None = None
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    """One for each scale, or one for all. If it is empty, a symmetric scheme decides; for any other scheme, it is 0."""

    is_per_channel: bool = False
    """True if each output channel of a weight has its own scale."""

    def __str__(self) -> str:
        parts = {"range": self.range or (), "scale": self.scales, "zero point": self.zero_points}
        texts = {name: ", ".join(f"{each:g}" for each in numbers) for name, numbers in parts.items() if numbers}
        is_list = self.is_per_channel or self.range is not None
        return ", ".join(f"{name} [{text}]" if is_list else f"{name} {text}" for name, text in texts.items())


RANGE, SCALE, ZERO_POINT = GIVEN_KEYS = ("range", "scale", "zero_point")
"""The keys of a rule that give parameters."""


def parse_parameters(table: Mapping[str, Any]) -> GivenParameters:
    """Returns the parameters in the keys `GIVEN_KEYS` of `table`. Raises `ValueError` if they are invalid."""
    given = {key: table[key] for key in GIVEN_KEYS if key in table}
    if RANGE in given:
        if others := [key for key in given if key != RANGE]:
            raise ValueError(f"{RANGE} cannot be combined with {' and '.join(others)}; remove one of them")
        ends = _numbers(RANGE, given[RANGE])
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise ValueError(f"{RANGE} must be two ascending numbers, [low, high], but got {given[RANGE]!r}")
        return GivenParameters((ends[0], ends[1]))
    if SCALE not in given:
        raise ValueError(f"{ZERO_POINT} requires {SCALE}")
    scales, is_per_channel = _numbers(SCALE, given[SCALE]), isinstance(given[SCALE], list)
    if wrong := [each for each in scales if not SMALLEST_SCALE <= each <= LARGEST_SCALE]:
        raise ValueError(f"{SCALE} must be a positive f32, but got {wrong[0]:g}")
    zero_points = _numbers(ZERO_POINT, given[ZERO_POINT]) if ZERO_POINT in given else ()
    if isinstance(given.get(ZERO_POINT), list) and not (is_per_channel and len(zero_points) == len(scales)):
        raise ValueError(f"{ZERO_POINT} must be a number, or a list as long as that of {SCALE}")
    if not all(map(float.is_integer, zero_points)):
        raise ValueError(f"{ZERO_POINT} must be a whole number, but got {given[ZERO_POINT]!r}")
    return GivenParameters(None, scales, tuple(map(int, zero_points)), is_per_channel)


def _numbers(key: str, value: Any) -> tuple[float, ...]:
    """Returns the finite numbers in `value`, a number or a list of numbers. Raises `ValueError` for anything else."""
    listed = cast(list[Any], value) if isinstance(value, list) else [value]
    if not listed or not all(type(each) in (int, float) and abs(each) <= sys.float_info.max for each in listed):
        raise ValueError(f"{key} must be a finite number or a list of such numbers, but got {value!r}")
    return tuple(map(float, listed))


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
    bias_scale: str = ""
    """The scale of a bias: `range` derives it from the range of the bias, `sum` is the scale of the sum to which the
    bias is added. By default, a 32-bit bias has the scale `s_x * s_w`, and any other bias uses `range`."""

    calibrator: str = BY_BITS
    calibrator_options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    parameters: GivenParameters | None = None
    """The parameters that a rule gives, instead of those that follow from observed values or from weights."""

    rule: Arithmetic = Arithmetic.ONNXRUNTIME
    repair: str = ALL_REPAIRS
    """For weights: the accuracy recovery passes that may change them and the bias of their layer (`parse_repair`)."""

    @property
    def is_quantized(self) -> bool:
        """True if the value becomes an integer."""
        return self.quantize and not self.storage.is_float

    @property
    def allowed_repair(self) -> str:
        """The passes of `repair` that keep given parameters."""
        if self.parameters is None:
            return self.repair
        globs = self.repair.split(",")
        kept = [each for each in REPAIRS if each != RESCALING_REPAIR and any(fnmatchcase(each, glob) for glob in globs)]
        return ",".join(kept) or NO_REPAIR

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

    RULE = "rule"
    """A rule, which gives the range, or the scale and the zero point."""

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
