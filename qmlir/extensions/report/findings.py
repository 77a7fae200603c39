"""Finds likely causes of accuracy loss, each with a recipe rule that addresses it.

Each check derives findings from the facts about one node. The reason for each limit is documented with the limit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from glob import escape

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import I64
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.report.layout import GraphNode
from qmlir.extensions.report.model import Finding, WarningLevel
from qmlir.extensions.report.naming import represented_range
from qmlir.extensions.report.observing import ObservedPair
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of
from qmlir.quantization.profiles.keys import is_constant
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe_text import table_text
from qmlir.quantization.shared_scales import Groups
from qmlir.quantization.types import reach

# Recipe rules that change the type of a value in a quantized module.
#
# The operation that computes a value, or else its first reader, decides the type of the value. Values that are only
# moved or clamped share one type (see `qmlir.quantization.shared_scales`). A rule that names another operation would
# have no effect, which is an error.


def rule(op: Operation | None, slot: Slot | None, **settings: object) -> str:
    """Returns the text of a rule for `slot` of the node that `op` implements; without `op`, of all operations."""
    matchers: dict[str, object] = {}
    if op is not None:
        origins = origins_of(op)
        matchers |= {"origin": escape(str(origins[0]))} if origins else {"op": op.name}
    if slot is not None:
        matchers["slot"] = slot.value
    return table_text({**matchers, **settings})


def _activations(op: Quantizable) -> Iterator[SSAValue]:
    """Yields the quantized data operands of `op`, without weights and other constants."""
    for value, slot in op.operands_with_slots():
        is_known = isinstance(value.owner, Operation) and is_constant(value.owner)
        if slot not in (None, Slot.BIAS) and not is_known and quantized_type(value) is not None:
            yield value


class Deciders:
    """Finds, for each quantized value of a function, the operation whose slot decides its type."""

    def __init__(self, function: FuncOp) -> None:
        self._groups = Groups()
        self._first_users: dict[SSAValue, Quantizable] = {}
        for op in (op for op in function.walk() if isinstance(op, Quantizable)):
            taken = list(_activations(op))
            for value in taken:
                self._first_users.setdefault(value, op)
            self._groups.join_by(op, taken, [result for result in op.results if quantized_type(result) is not None])

    def of(self, value: SSAValue) -> tuple[Quantizable, Slot] | None:
        """Returns the operation and slot that decide the type of `value`; `None` if no rule can name the operation."""
        members = self._groups.members(value)
        for each in members:
            owner = each.owner
            if isinstance(owner, Quantizable) and not isinstance(owner, QuantizeCastOp) and not is_constant(owner):
                return owner, Slot.OUTPUT
        users = (self._first_users.get(each) for each in members)
        user = next((each for each in users if each is not None), None)
        return None if user is None else (user, Slot.INPUT)

    def has_fixed_range(self, value: SSAValue) -> bool:
        """Returns true if the deciding operation fixes the range of `value`, as a softmax does.

        Calibrators do not apply to such a value.
        """
        op, slot = self.of(value) or (None, None)
        return op is not None and slot is Slot.OUTPUT and op.quantization_slots().fixed_output is not None

    def rule(self, value: SSAValue, **settings: object) -> str:
        """Returns the text of the rule that gives `value` other settings; empty if no rule can."""
        found = self.of(value)
        return "" if found is None else rule(*found, **settings)


OUTLIER = 4.0
"""The ratio between a range and the 99.9th percentile that is reported. With a ratio of 4, one value in a thousand
takes up two of eight bits.
"""

OUTLIER_COUNT = 2000
"""The minimum number of values for the check for outliers; with fewer values, one in a thousand is not significant."""

DEAD_COUNT = 32
"""The minimum number of values of a channel that is reported as constant; a few values may be equal by chance."""

CLIPPED = 0.01
"""The fraction of values that a range may clip. Percentile calibrators clip up to this fraction on purpose.

With at most 6 bits, the limit is `2^-bits`. The uniform quantizer with the least squared error clips about half of this
fraction of a normal distribution: 1.2% with 16 levels, 13.6% with 4 (Max, Quantizing for minimum distortion, 1960).
"""

UNEVEN = 16.0
"""The ratio between the weight ranges of channels that is reported. With a ratio of 16, the smaller channels lose four
bits under a common scale.
"""

BIAS_LIMIT = 2**28
"""Half of 2^29, the limit above which a bias increases the weight scale of its channel."""

SUM_LIMIT = 2**30
"""Half of the range of a 32-bit accumulator."""

PAIR_LIMIT = 2**15 - 1
"""The limit on a 16-bit sum of two products, as computed by `vpmaddubsw`, which CPUs without VNNI use to multiply
bytes.
"""

SAFE_WEIGHTS = 64
"""The largest weight magnitude with which a sum of two products never exceeds `PAIR_LIMIT`: `255 * 2 * 64 < 2^15`."""

_WORST_BYTE = 255


@dataclass(frozen=True)
class WeightFacts:
    """The weights of a contraction: stored integers, their type, the axis of output channels, and the integer bias."""

    stored: Array
    type: UniformQuantizedType
    axis: int
    real: Array | None = None
    """The weights of the float model, if they correspond to these."""

    bias: Array | None = None
    data: UniformQuantizedType | None = None
    """The type of the data that the weights multiply."""

    def by_channel(self, array: Array) -> Array:
        """Reshapes `array`, which has the shape of the weights, to `[channels, weights of a channel]`."""
        return np.moveaxis(array, self.axis, 0).reshape(array.shape[self.axis], -1)

    @property
    def centered(self) -> I64:
        """The integers without zero points, `[channels, weights of a channel]`."""
        rows = self.by_channel(self.stored).astype(np.int64)
        points = self.type.zero_points
        if self.type.granularity is Granularity.BLOCK:
            return rows
        return rows - points.reshape(-1, 1)


@dataclass(frozen=True)
class Facts:
    """The facts about one node."""

    node: GraphNode
    observed: ObservedPair | None = None
    weights: WeightFacts | None = None
    is_limited: bool = False
    reason: str = ""
    """The reason why the node is in float; empty if it is quantized."""

    is_kept_in_float: bool = False
    """True if a rule keeps the node in float."""

    @property
    def name(self) -> str:
        """The name of the node in the report."""
        return self.node.key

    @property
    def operation(self) -> Operation:
        """The operation of the node, which must not be an input or output of the function."""
        assert self.node.operation is not None
        return self.node.operation

    def finding(self, kind: str, severity: WarningLevel, text: str, recipe: str = "") -> Finding:
        """Returns a finding about the node."""
        return Finding(kind, severity, text, (self.node.number,), recipe)


def _channels(positions: Sequence[int]) -> str:
    """Formats channels: `channel 3`, `channels 1, 2, 3 and 5 more`."""
    listed = ", ".join(map(str, positions[:3])) + (f" and {len(positions) - 3} more" if len(positions) > 3 else "")
    return f"channel {listed}" if len(positions) == 1 else f"channels {listed}"


class Checks:
    """The checks of one model; each turns the facts about a node into findings."""

    def __init__(self, deciders: Deciders, profile: Profile | None = None) -> None:
        self._deciders = deciders
        self._profile = profile

    def outlier(self, facts: Facts) -> Iterator[Finding]:
        """Reports a range that outliers dominate."""
        seen, value = facts.observed, facts.node.value
        if seen is None or value is None or seen.type is None or seen.type.bits > 8 or facts.is_limited:
            return
        if seen.range is None or seen.seen < OUTLIER_COUNT or seen.type.granularity is not Granularity.TENSOR:
            return
        if self._deciders.has_fixed_range(value):
            return
        largest, usual = max(map(abs, seen.range)), seen.quantile(0.999)
        type_ = seen.type
        held = float(type_.scale) * max(type_.storage_max - type_.zero_point, type_.zero_point - type_.storage_min)
        if usual <= 0 or min(held, largest) < OUTLIER * usual:
            return
        yield facts.finding(
            "outlier",
            WarningLevel.SERIOUS,
            f"The range of {facts.name} is ruled by outliers: 99.9% of its values are below {usual:.3g} in size, the "
            f"largest is {largest:.3g}. The {type_.bits} bits are spread over the whole range, so that all others have "
            f"{np.log2(min(held, largest) / usual):.1f} bits less. A percentile as calibrator cuts the outliers off.",
            self._deciders.rule(value, calibrator={"name": "percentile", "percent": 99.9}),
        )

    def clipped(self, facts: Facts) -> Iterator[Finding]:
        """Reports a large fraction of values outside the range of the type."""
        seen, value = facts.observed, facts.node.value
        if seen is None or value is None or facts.is_limited or seen.clipped is None or seen.type is None:
            return
        if seen.clipped <= max(CLIPPED, 2.0**-seen.type.bits):
            return
        known = None if self._profile is None else self._profile.values.get(facts.node.key)
        low, high = represented_range(seen.type)
        is_cut = known is not None and (known.minimum < low - seen.type.scale or known.maximum > high + seen.type.scale)
        text = f"{100 * seen.clipped:.3g}% of the values of {facts.name} lie outside of what its type holds, "
        text += f"{low:.4g} to {high:.4g}, and are clipped. "
        recipe = ""
        if is_cut or known is None:
            text += "A range from the smallest to the largest value that calibration saw holds them."
            recipe = self._deciders.rule(value, calibrator="min_max")
        else:
            text += (
                "The samples of the calibration had no such values, which no rule can know of: calibrate with samples "
                "like these."
            )
        yield facts.finding("clipped", WarningLevel.SERIOUS, text, recipe)

    def dead_channels(self, facts: Facts) -> Iterator[Finding]:
        """Reports channels that are constant, either in the float model already or because of quantization."""
        lost = _lost_weights(facts.weights)
        yield from self._dead_weights(facts, lost)
        yield from self._dead_values(facts, lost)

    def _dead_weights(self, facts: Facts, lost: I64) -> Iterator[Finding]:
        weights = facts.weights
        if weights is None:
            return
        empty = np.setdiff1d(_empty_channels(weights), lost)
        if lost.size:
            yield facts.finding(
                "dead channel",
                WarningLevel.SERIOUS,
                f"All weights of {_channels(lost.tolist())} of {facts.name} became 0: they are less than half a "
                f"step of the scale, {float(weights.type.scales.max()):.3g}, that other channels need. A scale for "
                "each channel keeps them.",
                rule(facts.operation, Slot.WEIGHT, granularity="channel"),
            )
        if empty.size:
            yield facts.finding(
                "dead channel",
                WarningLevel.NOTICE,
                f"All weights of {_channels(empty.tolist())} of {facts.name} are 0 in the model already: such a "
                "channel costs time and says nothing. No rule helps; it can be pruned from the model.",
            )

    def _dead_values(self, facts: Facts, known: I64) -> Iterator[Finding]:
        seen, value = facts.observed, facts.node.value
        if seen is None or value is None or seen.type is None or facts.is_limited:
            return
        ours, theirs = seen.quantized_side, seen.float_side
        if ours.constant.size != theirs.constant.size or ours.constant.size < 2:
            return
        if seen.errors.elements < DEAD_COUNT * ours.constant.size:
            return
        lost = np.setdiff1d(np.flatnonzero(ours.constant & ~theirs.constant), known)
        if lost.size and seen.type.bits < 16:
            spread = float((theirs.maxima - theirs.minima)[lost].max())
            yield facts.finding(
                "dead channel",
                WarningLevel.SERIOUS,
                f"{_channels(lost.tolist()).capitalize()} of {facts.name} never change once quantized: their "
                f"values vary by {spread:.3g}, and a step of the type is {float(seen.type.scales.max()):.3g}. More "
                "bits keep them.",
                self._deciders.rule(value, storage="i16"),
            )

    def bias(self, facts: Facts) -> Iterator[Finding]:
        """Reports a bias or an accumulator that is close to the limits of 32 bits."""
        weights = facts.weights
        if weights is None or weights.data is None or weights.type.granularity is Granularity.BLOCK:
            return
        bias = np.abs(weights.bias.astype(np.int64)).reshape(-1) if weights.bias is not None else np.zeros(1, np.int64)
        near = np.flatnonzero(bias > BIAS_LIMIT)
        if near.size:
            advice = "Fewer bits for the weights make their scale larger."
            recipe = rule(facts.operation, Slot.WEIGHT, storage=_narrower(weights.type))
            if weights.type.granularity is Granularity.AXIS:
                advice = "One scale for all weights is larger than that of the channel."
                recipe = rule(facts.operation, Slot.WEIGHT, granularity="tensor")
            yield facts.finding(
                "bias",
                WarningLevel.NOTICE,
                f"The bias of {_channels(near.tolist())} of {facts.name} is up to {float(bias.max()):.3g} steps, of "
                f"2^29 that a bias may have: the weights of the channel are very small beside it. Beyond, the scale of "
                f"the weights is raised. {advice}",
                recipe,
            )
        products = np.abs(weights.centered).sum(axis=1) * reach(weights.data)
        sums = products + (bias if bias.size in (1, products.size) else bias.max())
        if sums.max(initial=0) > SUM_LIMIT:
            yield facts.finding(
                "accumulator",
                WarningLevel.NOTICE,
                f"The sums of {facts.name} may reach {float(sums.max()):.3g}, of 2^31 that 32 bits hold. Other "
                "runtimes that add up in 32 bits may overflow. Weights of fewer bits make the sums smaller.",
                rule(facts.operation, Slot.WEIGHT, storage=_narrower(weights.type)),
            )

    def uneven_channels(self, facts: Facts) -> Iterator[Finding]:
        """Reports a common scale for channels with very different ranges."""
        weights = facts.weights
        if weights is None or weights.type.granularity is not Granularity.TENSOR or weights.stored.size == 0:
            return
        array = weights.centered if weights.real is None else weights.by_channel(weights.real)
        sizes = np.abs(array).max(axis=1).astype(np.float64)
        small = sizes[sizes > 0]
        few = float(np.quantile(small, 0.1, method="lower")) if small.size else 0.0
        if small.size < 2 or small.max() < UNEVEN * few:
            return
        step = float(weights.type.scales.max()) if weights.real is not None else 1.0
        levels = 2 * few / step
        yield facts.finding(
            "uneven channels",
            WarningLevel.SERIOUS,
            f"All channels of the weights of {facts.name} share one scale, and their ranges differ "
            f"{small.max() / small.min():.3g} times: a tenth of the channels has {max(levels, 1):.0f} different "
            "weights or fewer. A scale for each channel gives all of them the whole width.",
            rule(facts.operation, Slot.WEIGHT, granularity="channel"),
        )

    def left_in_float(self, facts: Facts) -> Iterator[Finding]:
        """Reports a layer that computes in float."""
        if not facts.reason:
            return
        recipe = rule(facts.operation, None, quantize=True) if facts.is_kept_in_float else ""
        end = "" if facts.is_kept_in_float or "; help: " in facts.reason else " No rule changes that."
        yield facts.finding(
            "in float",
            WarningLevel.NOTICE,
            f"{facts.name} ({facts.operation.name}) is not quantized: {facts.reason}.{end}",
            recipe,
        )

    def saturation(self, all_facts: Sequence[Facts]) -> Iterator[Finding]:
        """Reports, once per model, sums of two byte products that exceed 16 bits in other runtimes."""
        risky = [facts for facts in all_facts if facts.weights is not None and _may_saturate(facts.weights)]
        if not risky:
            return
        names = ", ".join(facts.node.key for facts in risky[:3])
        more = f" and {len(risky) - 3} more" if len(risky) > 3 else ""
        yield Finding(
            "saturation elsewhere",
            WarningLevel.NOTICE,
            f"The weights of {names}{more} use the whole range of 8 bits. qmlir computes exactly on every processor; "
            "runtimes that multiply unsigned by signed bytes saturate sums of two products at 16 bits on processors "
            "without VNNI (ONNX Runtime does), and give other results there. If the model goes to such a runtime, "
            f"weights of 7 bits are safe: two products of at most {SAFE_WEIGHTS} by {_WORST_BYTE} fit.",
            tuple(facts.node.number for facts in risky),
            rule(None, Slot.WEIGHT, storage=f"i8<-{SAFE_WEIGHTS}:{SAFE_WEIGHTS}>"),
        )

    def run(self, all_facts: Sequence[Facts]) -> tuple[Finding, ...]:
        """Runs all checks and returns their findings, serious ones first."""
        checks: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
            self.outlier, self.clipped, self.dead_channels, self.uneven_channels, self.bias, self.left_in_float,
        )  # fmt: skip
        found = [finding for check in checks for facts in all_facts for finding in check(facts)]
        found += self.saturation(all_facts)
        return tuple(sorted(found, key=lambda each: each.severity is not WarningLevel.SERIOUS))


def _empty_channels(weights: WeightFacts) -> I64:
    """Returns the channels whose stored weights all represent 0."""
    if weights.type.granularity is Granularity.BLOCK:
        return np.zeros(0, np.int64)
    return np.flatnonzero((weights.centered == 0).all(axis=1))


def _lost_weights(weights: WeightFacts | None) -> I64:
    """Returns the empty channels that have nonzero weights in the float model."""
    if weights is None or weights.real is None:
        return np.zeros(0, np.int64)
    had = np.flatnonzero((weights.by_channel(weights.real) != 0).any(axis=1))
    return np.intersect1d(_empty_channels(weights), had)


def _narrower(type_: UniformQuantizedType) -> str:
    """Returns a storage type with one bit less, or with 8 bits for wider weights."""
    if type_.bits > 8:
        return "i8<-127:127>"
    largest = max(type_.storage_max // 2, 1)
    return f"i{type_.bits}<-{largest}:{largest}>"


def _may_saturate(weights: WeightFacts) -> bool:
    """Returns true if two weights of a channel, of equal sign, can overflow a 16-bit sum of two products."""
    if weights.data is None or weights.data.bits != 8 or weights.type.bits != 8 or weights.stored.size == 0:
        return False
    rows = weights.centered
    if rows.shape[1] < 2:
        return False
    positive = np.sort(np.maximum(rows, 0), axis=1)[:, -2:].sum(axis=1)
    negative = np.sort(np.maximum(-rows, 0), axis=1)[:, -2:].sum(axis=1)
    return bool((_WORST_BYTE * np.maximum(positive, negative) > PAIR_LIMIT).any())
