"""The type decisions about a node, as data: for each slot, the type, its basis, and the rules that set it.

The code that decides types records its reasons (`qmlir.quantization.choice`). This module converts them to keys,
numbers and text while the compiled module is still in the state in which the decisions were made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from qmlir.extensions.report.naming import NamedNode, ParameterInfo
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.quantization.choice import Basis, Choice, ObservedRange, Reason
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.keys import is_constant, keyed_values
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.report import key_of
from qmlir.quantization.retyping import slots_of

DEFAULT = "default"
"""The source of a setting that neither a rule nor an option sets."""


@dataclass(frozen=True)
class Setting:
    """One setting of a type choice: a field, its value, and the rule or option that set it."""

    name: str
    value: str
    source: str


@dataclass(frozen=True)
class Observation:
    """The statistics of one value in a profile."""

    key: str
    minimum: float
    maximum: float
    mean: float
    deviation: float
    count: int
    """The number of elements that the profile counted."""

    samples: int
    """The number of samples of the profile."""

    mean_range: tuple[float, float] | None
    """The smallest and the largest element of each run, averaged over all runs."""

    lowest_sample: int | None = None
    """The index of the first sample with the smallest element; `None` if the profile does not record it."""

    highest_sample: int | None = None


@dataclass(frozen=True)
class SlotDecision:
    """The reason for the type of the value in one slot."""

    slot: str
    value: str
    """The key of the value: a node, an input or a weight."""

    type: ParameterInfo
    basis: str
    """The basis of the type, a value of `Basis`."""

    decided_by: str
    """The key of the operation whose rules decide the type, for its slot `decided_slot`."""

    decided_slot: str
    settings: tuple[Setting, ...] = ()
    ranges: tuple[ObservedRange, ...] = ()
    """The ranges that the type must cover."""

    headroom: float = 1.0
    shared_with: tuple[str, ...] = ()
    """The other values that share the type, because an operation moves or clamps one into the other."""

    observation: Observation | None = None


@dataclass(frozen=True)
class OperationDecision:
    """The decisions about one operation of the lowered model."""

    key: str
    operation: str
    is_quantized: bool
    slots: tuple[SlotDecision, ...]
    reason: str = ""
    """The reason why the operation stays in float; empty if it is quantized."""

    rule: str = ""
    """The rule that leaves the operation in float, if any."""

    remarks: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    """The statistics of the results of a float operation."""


def _choice_fields(choice: Choice, slot: Slot, basis: Basis) -> Iterator[tuple[str, str]]:
    """Yields the fields of a choice that affect the type."""
    yield "storage", str(choice.storage)
    if basis is Basis.SUM:
        return
    yield "scheme", choice.scheme.name
    if basis is Basis.FIXED:
        return
    if basis is Basis.RULE:
        yield "parameters", str(choice.parameters)
        return
    calibrator = choice.data_calibrator
    if slot is Slot.WEIGHT:
        calibrator = choice.calibrator or ("least error" if choice.has_least_error else "min_max")
        yield "granularity", str(choice.granularity)
    if choice.bias_scale:
        yield "bias_scale", choice.bias_scale
    options = ", ".join(f"{name} = {value}" for name, value in choice.calibrator_options.items())
    yield "calibrator", calibrator + (f" ({options})" if options else "")
    yield "rule", choice.rule.value


@dataclass
class DecisionReader:
    """Records the decisions of passes about `node` in `module`; a `Watch` of `qmlir.passes.quantized.quant_casts`."""

    module: ModuleOp
    node: NamedNode
    profile: Profile
    found: list[OperationDecision] = field(default_factory=list[OperationDecision])

    def __call__(self, recipe: Recipe, decided: Sequence[Decisions]) -> None:
        self.keys: Mapping[SSAValue, str] = {each.value: each.key for each in keyed_values(self.module)}
        self.recipe = recipe
        for self.decisions in decided:
            self.found += self._operations()

    def _operations(self) -> Iterator[OperationDecision]:
        rows: dict[OperationDecision, None] = {}
        for op in (*self.decisions.quantized, *self.decisions.left_in_float):
            if isinstance(op, Quantizable) and self._is_named(op):
                rows[self._operation(op)] = None  # equal steps of a layer are one row
            elif isinstance(op, Quantizable) and op in self.decisions.quantized:
                row = self._user(op)
                if row is not None:
                    rows[row] = None
        yield from rows

    def _is_named(self, op: Operation) -> bool:
        return self.node.is_of(op) or any(self.keys.get(each) in self.node.values for each in op.results)

    def _operation(self, op: Quantizable) -> OperationDecision:
        remarks = tuple(dict.fromkeys(text for each, text in self.decisions.remarks if each is op))
        if op in self.decisions.left_in_float:
            slots = (*slots_of(op).values(), Slot.OUTPUT)
            rules = (self.recipe.sources(op, slot).get("quantize", "") for slot in slots)
            rule = next(filter(None, rules), "") if op in self.decisions.kept_in_float else ""
            seen = tuple(each for result in op.results if (each := self._observation(result)) is not None)
            reason = self.decisions.left_in_float[op]
            return OperationDecision(key_of(op), op.name, False, (), reason, rule, remarks, seen)
        return OperationDecision(key_of(op), op.name, True, tuple(self._slots(op)), remarks=remarks)

    def _slots(self, op: Quantizable) -> Iterator[SlotDecision]:
        for position, slot in slots_of(op).items():
            yield from self._slot(op, position, slot)
        for result in op.results:
            if result in self.decisions.values:
                reason = self.decisions.reasons[result]
                slot = Slot.ACCUMULATOR if reason.slot is Slot.ACCUMULATOR else Slot.OUTPUT
                yield self._decision(slot, result, ParameterInfo.of(self.decisions.values[result]), reason)

    def _slot(self, op: Quantizable, position: int, slot: Slot) -> Iterator[SlotDecision]:
        value, type_ = op.operands[position], self.decisions.operand_type(op, position)
        reason = self.decisions.reasons.get((op, position)) or self.decisions.reasons.get(value)
        if type_ is not None and reason is not None:
            yield self._decision(slot, value, ParameterInfo.of(type_), reason)

    def _user(self, op: Quantizable) -> OperationDecision | None:
        """Returns the decisions at an operation that takes the named weight or input."""
        given = [each for each in slots_of(op).items() if self._is_given(op.operands[each[0]])]
        named = tuple(decision for each in given for decision in self._slot(op, *each))
        return OperationDecision(key_of(op), op.name, True, named) if named else None

    def _is_given(self, value: SSAValue) -> bool:
        """Returns true if `value` is an input or a constant that the node names."""
        owner = value.owner
        if isinstance(owner, Block):
            return self.keys.get(value) in self.node.values
        return is_constant(owner) and self.node.is_of(owner)

    def _name(self, value: SSAValue) -> str:
        if value in self.keys:
            return self.keys[value]
        owner = value.owner
        return key_of(owner) if isinstance(owner, Operation) else value.name_hint or "an argument"

    def _decision(self, slot: Slot, value: SSAValue, type_: ParameterInfo, reason: Reason) -> SlotDecision:
        said_by_target = self.decisions.target_settings.get((reason.op, reason.slot), {})
        sources = {**self.recipe.sources(reason.op, reason.slot), **said_by_target}
        fields = () if reason.choice is None else _choice_fields(reason.choice, reason.slot, reason.basis)
        shared = dict.fromkeys(self._name(each) for each in reason.members if each is not value)
        settings = tuple(Setting(name, text, sources.get(name, DEFAULT)) for name, text in fields)
        return SlotDecision(
            slot.value, self._name(value), type_, reason.basis.value, key_of(reason.op), reason.slot.value, settings,
            reason.ranges, reason.headroom, tuple(shared), self._observation(value),
        )  # fmt: skip

    def _observation(self, value: SSAValue) -> Observation | None:
        key = self.keys.get(value, "")
        seen = self.profile.values.get(key)
        if seen is None or not seen.count:
            return None
        mean_range = None if seen.batches is None else seen.batches.mean
        summary = seen.summary
        lowest, highest = self.profile.extreme_samples.get(key, (None, None))
        return Observation(
            key, summary.minimum, summary.maximum, summary.mean, summary.deviation, summary.count,
            self.profile.samples, mean_range, lowest, highest,
        )  # fmt: skip
