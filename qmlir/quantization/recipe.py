"""Recipes: ordered rules that determine how the value in each slot of an operation is quantized."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import accumulate, chain
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.calibrators import calibrator_names, options
from qmlir.arithmetic.schemes import Arithmetic, Scheme, Storage, scheme_names
from qmlir.ir.control_flow import makers
from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error, warn
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import Origin, origins_of
from qmlir.quantization.choice import (
    DEFAULTS,
    GIVEN_KEYS,
    Choice,
    GivenParameters,
    GranularityChoice,
    parse_bias_scale,
    parse_parameters,
    parse_repair,
    parse_storage,
)
from qmlir.quantization.feedback import slow_gates, wide_cells
from qmlir.quantization.predicates import (
    amplified_results,
    coarse_scores,
    faint_results,
    given_in_part,
    read_by_roots,
    residual_values,
    squares_for_roots,
    uneven_values,
)
from qmlir.quantization.profiles.keys import keyed_values, tensor_of
from qmlir.quantization.recipe_text import (
    AUTO,
    EFFORT,
    VERSION,
    VERSION_KEY,
    Effort,
    RecipeSource,
    RecipeText,
    RuleTable,
    spelled,
)
from qmlir.quantization.retyping import slots_of
from qmlir.quantization.stored_constants import readers_of_tables
from qmlir.text.renames import RECIPE_WORDS, renamed
from qmlir.text.toml import parse_toml

# The properties of a value that a rule can match in addition to its position in the model, one per line.


@dataclass(frozen=True)
class Fact:
    """A property of values that rules can match, and how to find the values with this property."""

    slots: tuple[Slot, ...]
    """The slots in which a value can have the property."""

    found: Callable[[FuncOp], Set[Operation]] | None = None
    """Returns the operations of a function whose values have the property, by the graph and the recorded statistics.
    `None` if the property also depends on other choices of the recipe."""


FACTS: Mapping[str, Fact] = {
    "residual": Fact((Slot.OUTPUT,), lambda function: makers(residual_values(function))),
    "low_sqnr_softmax": Fact((Slot.OUTPUT,), faint_results),
    "wide_logits": Fact((Slot.OUTPUT,), coarse_scores),
    "sqrt_operand": Fact((Slot.OUTPUT,), read_by_roots),
    "sqrt_square": Fact((Slot.OUTPUT,), squares_for_roots),
    "underused_output": Fact((Slot.OUTPUT,), given_in_part),
    "mixed_range_concat": Fact((Slot.OUTPUT,), lambda function: makers(uneven_values(function))),
    "low_sqnr_depthwise": Fact((Slot.OUTPUT,), amplified_results),
    "fed_back": Fact((Slot.OUTPUT,)),
    "slow_gate": Fact((Slot.OUTPUT,), slow_gates),
    "wide_cell": Fact((Slot.OUTPUT,), wide_cells),
    "edge": Fact((Slot.INPUT, Slot.WEIGHT, Slot.OUTPUT)),
    "embedding": Fact((Slot.WEIGHT,), readers_of_tables),
}
"""The properties, by the keys with which rules match them (`docs/recipes.md` explains each)."""


# Recipes are ordered rules that determine how the value in each slot of an operation is quantized.
#
#     [[rule]]
#     slot = "weight"
#     storage = "i4"
#     granularity = "channel"
#
#     [[rule]]
#     origin = "head/*"
#     quantize = false
#
# A rule matches by `origin`, `role`, `op`, `node` and `module` (globs), by the names of `values`, by `slot`, and by the
# properties of a value in `FACTS` (`residual`, `low_sqnr_softmax`, `edge`, `embedding`, …). A matcher that a rule omits
# matches everything. The value of each field comes from the last matching rule that sets it, or else from the defaults
# of the slot. Built-in rules have no effect on a value whose parameters a rule gives.

_READERS: Mapping[str, Any] = {
    "storage": parse_storage,
    "scheme": Scheme.parse,
    "granularity": GranularityChoice.parse,
    "bias_scale": parse_bias_scale,
    "rule": Arithmetic,
    "repair": parse_repair,
}
_SLOTS: Mapping[str, tuple[Slot, ...]] = {
    "granularity": (Slot.WEIGHT,),
    "repair": (Slot.WEIGHT,),
    "bias_scale": (Slot.BIAS,),
    **dict.fromkeys(GIVEN_KEYS, (Slot.INPUT, Slot.WEIGHT, Slot.OUTPUT)),
}
"""The settings that only some slots have."""

_FLOAT_SLOTS = (Slot.INPUT, Slot.OUTPUT)
"""The slots that may be f32. The operation then computes in float, and dequantizes its weights."""

_MATCHERS = ("origin", "role", "op", "node", "module", "slot")
_CALIBRATOR = "calibrator"
_VALUES, _SHARE = "values", "share"
_OPTIONAL = "optional"
"""The key of rules that may have no effect, as those for the tensors of another tool's model."""

PARAMETERS = "parameters"
"""The field of a choice that the keys `range`, `scale` and `zero_point` of a rule set."""

_TOP = ("rule", EFFORT, VERSION_KEY)
_QUANTIZE = "quantize"

_SHOWN = 10
"""The number of names that a warning lists."""


@dataclass(frozen=True)
class Rule:
    """One rule of a recipe: its matchers, and the fields of a `Choice` that it sets."""

    settings: Mapping[str, Any]
    origin: str = "*"
    role: str = "*"
    op: str = "*"
    slot: Slot | None = None
    node: str = "*"
    """A glob that matches the name of a node, an operator type of the model such as `Conv`, or the kind of an
    operation."""

    module: str = "*"
    """A glob that matches the path of a module of the user's program with the node in it, such as `layers.*.attn`."""

    facts: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """The properties that the value must have (`True`) or must not have (`False`); see `FACTS`."""

    values: tuple[str, ...] = ()
    """Globs that match the names of values: the keys of a profile, and the names of tensors in the model."""

    is_shared: bool = False
    """True if the values that `values` names share one type."""

    is_optional: bool = False
    """True if the rule may have no effect, or name values that the model lacks: a warning counts such rules."""

    name: str = ""
    """The name of the rule in error messages. It is not an error if a rule without a name has no effect."""

    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """The source of each field, such as an option, for a rule without a name."""

    is_noted: bool = True
    """False if no warning names the rule although it changes no type, as in recipes that qmlir writes."""

    yields: bool = False
    """True if a target that does not support the settings of the rule may override them."""

    @property
    def names_operations(self) -> bool:
        """True if the rule matches only operations with given names, roles, kinds or modules."""
        return bool(self.values) or {self.origin, self.role, self.op, self.node, self.module} != {"*"}

    @property
    def matches_all(self) -> bool:
        """True if the rule matches all operations."""
        return not self.names_operations and not self.facts

    def matches(self, op: Operation, slot: Slot, known: Set[str]) -> bool:
        """Returns True if the rule matches `slot` of `op`, whose value has the properties `known`."""
        if self.slot not in (None, slot) or not _is_among(_kinds(op), self.op):
            return False
        if any((name in known) is not said for name, said in self.facts.items()):
            return False
        origins = origins_of(op)
        if self.role != "*" and not any(fnmatchcase(origin.role, self.role) for origin in origins):
            return False
        if self.module != "*" and not _is_among(_modules(origins), self.module):
            return False
        names = {text for origin in origins for text in (origin.name, str(origin))}
        kinds = {*_kinds(op), *(origin.op_type for origin in origins)}
        return _is_among(names, self.origin) and _is_among(names | kinds, self.node)


_BUILT_IN = "the built-in rule for "


def _wide(named: str, bits: int = 16, slot: Slot = Slot.OUTPUT, **matchers: Any) -> Rule:
    settings, sources = {"storage": Storage(bits)}, {"storage": f"{_BUILT_IN}{named}"}
    return Rule(settings, slot=slot, sources=sources, yields=True, **matchers)


WIDE_BY_DEFAULT = (
    _wide("values that are fed back", facts={"fed_back": True}),
    _wide("the cell of an LSTM", role="*cell/*"),
    _wide("peephole weights", slot=Slot.INPUT, role="*gate/peephole_mul"),
    *(_wide("what gates read", role=role) for role in ("*gate/sum", "*gate/peephole_*", "*gate/clip", "*hidden/clip")),
    _wide("gates that keep a state over many steps", facts={"slow_gate": True}),
    *(_wide("the state of a GRU", role=f"*hidden/{part}") for part in ("sum", "*_mul", "complement")),
    _wide("residual streams", facts={"residual": True}),
    _wide("probabilities of many elements", facts={"low_sqnr_softmax": True}),
    _wide("scores that differ much", facts={"wide_logits": True}),
    _wide("what roots and logarithms read", facts={"sqrt_operand": True}),
    _wide("squares below roots", 32, facts={"sqrt_square": True}),
    _wide("results in a part of their fixed range", facts={"underused_output": True}),
    _wide("parts that differ much", facts={"mixed_range_concat": True}),
    _wide("what depthwise convolutions make too much of", facts={"low_sqnr_depthwise": True}),
    *(_wide("steps next to inputs and outputs", facts={"edge": True}, slot=slot) for slot in FACTS["edge"].slots),
    _wide("cells of an LSTM with a wide range", 32, facts={"wide_cell": True}),
)
"""The built-in rules that set 16 or 32 bits for values, unless a rule of the recipe sets another width. They match:

- the cell state of an LSTM, which accumulates over all steps, its peephole weights, and the operands of gate
  functions, as in TFLite's recurrent layers; a cell state with a wide range has 32 bits;
- the state of a GRU, which is the sum of two products in each step;
- gates that keep these states over many steps, and values that one step of a recurrence passes to the next (see
  `feedback`);
- values found by `predicates`: residual streams, which accumulate over all layers; probabilities that 8 bits cannot
  represent; scores of a softmax for which 8-bit steps are too coarse; operands of roots and logarithms (their squares
  have 32 bits); outputs of the model that use only part of their fixed range; concatenations of large and small parts;
  data of depthwise convolutions that amplify its rounding error;
- operations next to inputs and outputs that lose too much in 8 bits, if they cannot stay in float (see `edges`).

Contractions with weights are not widened.
"""


FOR_TABLES = f"{_BUILT_IN}embedding tables"

_SYMMETRIC = {Scheme.ASYMMETRIC: Scheme.SYMMETRIC, Scheme.ASYMMETRIC_POW2: Scheme.SYMMETRIC_POW2}


def built_in_rules(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Returns the built-in rules, which apply after `rules` for all values and before those of a recipe.

    They are `WIDE_BY_DEFAULT` and a rule for embedding tables. A table has at least 8 bits, or more if all weights have
    more, because a rounding error in the row of a token affects each of its positions and its logit. A table has one
    scale per row; a row is also an output channel of the head, if the head reads the table.
    """
    said = {name: value for rule in rules if rule.slot is Slot.WEIGHT for name, value in rule.settings.items()}
    choice = replace(DEFAULTS[Slot.WEIGHT], **said)
    settings: dict[str, Any] = {"granularity": GranularityChoice(is_channel=True)}
    if choice.storage.bits < DEFAULTS[Slot.WEIGHT].storage.bits:
        settings["storage"] = DEFAULTS[Slot.WEIGHT].storage
    if choice.scheme in _SYMMETRIC:
        settings["scheme"] = _SYMMETRIC[choice.scheme]
    sources = dict.fromkeys(settings, FOR_TABLES)
    return (*WIDE_BY_DEFAULT, Rule(settings, slot=Slot.WEIGHT, facts={"embedding": True}, sources=sources, yields=True))


def _kinds(op: Operation) -> tuple[str, str]:
    return op.name, op.name.partition(".")[2]


def _modules(origins: Iterable[Origin]) -> Iterator[str]:
    """Yields the paths of the modules that contain nodes, from the outermost ones: `layers`, `layers.0`, …"""
    for origin in origins:
        yield from accumulate(origin.module_path.split("."), "{}.{}".format)


def _is_among(names: Iterable[str], pattern: str) -> bool:
    return pattern == "*" or any(fnmatchcase(name, pattern) for name in names)


@dataclass
class Recipe:
    """Ordered rules, with a record of the rules that had an effect, and of the names that rules could match."""

    rules: Sequence[Rule] = ()
    used: set[int] = field(default_factory=set[int])
    effective: set[int] = field(default_factory=set[int])
    """The rules without which a value would be quantized in another way."""

    names: set[str] = field(default_factory=set[str])
    known: dict[str, set[Operation]] = field(default_factory=lambda: {name: set() for name in FACTS})
    """For each property in `FACTS`, the operations whose values have it."""

    floats: set[Operation] = field(default_factory=set[Operation])
    """The operations with f32 activations, which compute in float (`find_floats`)."""

    named: dict[int, dict[SSAValue, set[str]]] = field(default_factory=dict[int, dict[SSAValue, set[str]]])
    """For each rule with `values`, the values that it names, each with the globs that match the value."""

    value_names: set[str] = field(default_factory=set[str])

    @property
    def gives_parameters(self) -> bool:
        """True if a rule gives the parameters of a value."""
        return any(PARAMETERS in rule.settings for rule in self.rules)

    def find_values(self, function: FuncOp) -> None:
        """Finds the values that rules name in the module of `function`."""
        rules = {position: rule for position, rule in enumerate(self.rules) if rule.values}
        module = function.parent_op()
        for each in keyed_values(module) if rules and isinstance(module, ModuleOp) else ():
            names = {each.key, tensor_of(each)} - {""}
            self.value_names |= names
            for position, rule in rules.items():
                if found := {glob for glob in rule.values if glob in names or _is_among(names, glob)}:
                    self.named.setdefault(position, {})[each.value] = found

    def learn(self, function: FuncOp, without: Collection[str] = ()) -> None:
        """Finds the values of `function` that rules name, and those that have the properties in `FACTS`, skipping the
        properties in `without`."""
        self.find_values(function)
        for name, fact in FACTS.items():
            if fact.found is not None and name not in without:
                self.known[name] |= fact.found(function)

    def choice(self, op: Operation, slot: Slot, value: SSAValue | None = None) -> Choice:
        """Returns how the `value` in `slot` of `op` is quantized, and marks the rules that match as used.

        If `value` is omitted, a rule that names any value in the slot matches.
        """
        setters = dict[str, tuple[int, Any]]()
        found = self._settled(op, slot, self.used, setters, value)
        self.effective.update(at for key, (at, before) in setters.items() if getattr(found, key) != before)
        return found

    def wish(self, op: Operation, slot: Slot) -> Choice:
        """Returns the same as `choice`, but marks no rules as used, because another operation decides the type."""
        return self._settled(op, slot, set(), {})

    def _settled(
        self, op: Operation, slot: Slot, used: set[int], setters: dict[str, tuple[int, Any]],
        value: SSAValue | None = None,
    ) -> Choice:  # fmt: skip
        """Adds the last rule that sets each field to `setters`, with the value that the field has without the rule."""
        choice, widened = DEFAULTS[slot], False
        for position, rule in self._matching(op, slot, value):
            if rule.yields and choice.storage.is_float:
                continue
            used.add(position)
            setters |= {key: (position, getattr(choice, key)) for key in rule.settings}
            choice = replace(choice, **rule.settings)
            if "storage" in rule.settings:
                widened = rule.yields
        if widened and choice.storage.bits == 32:  # integer requantization of a sum requires zero point 0 for 32 bits
            choice = replace(choice, scheme=_SYMMETRIC.get(choice.scheme, choice.scheme))
        return choice

    def sources(self, op: Operation, slot: Slot) -> dict[str, str]:
        """Returns the source of each field of the choice for `slot` of `op`, except for fields with defaults."""
        matching = self._matching(op, slot)
        return {name: rule.name or rule.sources.get(name, "") for _, rule in matching for name in rule.settings}

    @property
    def has_floats(self) -> bool:
        """True if a rule sets activations to f32 or `dynamic`."""
        return any(each.is_float for each in self._storages())

    @property
    def is_dynamic(self) -> bool:
        """True if a rule sets activations to `dynamic`."""
        return any(each.scope for each in self._storages())

    def _storages(self) -> Iterator[Storage]:
        return (each for rule in self.rules if isinstance(each := rule.settings.get("storage"), Storage))

    def find_floats(self, function: FuncOp) -> None:
        """Adds the operations of `function` for whose activations a rule sets f32 or `dynamic` to `floats`."""
        if not self.has_floats:
            return
        for op in function.walk():
            for slot in (*slots_of(op).values(), Slot.OUTPUT) if isinstance(op, Quantizable) else ():
                setters = dict[str, tuple[int, Any]]()
                if self._settled(op, slot, set(), setters).storage.is_float:
                    self.floats.add(op)
                    self.used.add(setters["storage"][0])
                    self.effective.add(setters["storage"][0])

    def asked(self, op: Operation, slot: Slot) -> dict[str, tuple[Any, str]]:
        """Returns the value and source of each field for `slot` of `op` that options, or rules of the recipe, set."""
        pairs = ((rule, key) for _, rule in self._matching(op, slot) if not rule.yields for key in rule.settings)
        return {key: (rule.settings[key], rule.name or rule.sources.get(key, "")) for rule, key in pairs}

    def parameters(self, op: Operation, slot: Slot, value: SSAValue) -> tuple[GivenParameters, str, bool] | None:
        """Returns the parameters that a rule gives to `value` in `slot` of `op`, the source of the rule, and True if
        the rule names operations or values; `None` if no rule gives any."""
        rules = [rule for _, rule in self._matching(op, slot, value) if PARAMETERS in rule.settings]
        return (rules[-1].settings[PARAMETERS], rules[-1].name, rules[-1].names_operations) if rules else None

    def rule_of_value(self, value: SSAValue) -> str:
        """Returns the name of a rule that gives parameters to `value` by its name, or an empty string.

        Optional rules do not count.
        """
        rules = (rule for at, rule in enumerate(self.rules) if value in self.named.get(at, ()) and not rule.is_optional)
        return next((rule.name for rule in rules if PARAMETERS in rule.settings), "")

    def asked_of_table(self, op: Operation) -> Mapping[str, Any]:
        """Returns the settings of the embedding table that `op` reads, from rules that match embedding tables."""
        rules = [rule for _, rule in self._matching(op, Slot.WEIGHT) if rule.name and rule.facts.get("embedding")]
        return {key: value for rule in rules for key, value in rule.settings.items()}

    def wants_integers(self, op: Operation) -> bool:
        """Returns True if the recipe requests integers for `op`: `quantize = true`, or a storage or parameters by name
        or kind."""
        rules = [rule for slot in (Slot.INPUT, Slot.OUTPUT) for _, rule in self._matching(op, slot) if rule.name]
        said = [rule.settings[_QUANTIZE] for rule in rules if _QUANTIZE in rule.settings and not rule.matches_all]
        self.effective.update(at for at, rule in enumerate(self.rules) if rule in rules)
        asked = {key for rule in rules if rule.names_operations for key in rule.settings}
        return said[-1] if said else not asked.isdisjoint(("storage", PARAMETERS))

    def names_part(self, op: Operation, slot: Slot) -> bool:
        """Returns True if a named rule matches `slot` of the part `op` by its role, by an origin with the role, or by
        the name of a value."""
        roles = {origin.role for origin in origins_of(op)}
        rules = (rule for _, rule in self._matching(op, slot) if rule.name)
        return any(
            rule.values or rule.role != "*" or any(rule.origin.endswith(role) for role in roles) for rule in rules
        )

    def yielding(self, op: Operation, slot: Slot) -> set[str]:
        """Returns the fields for `slot` of `op` that built-in rules set, and that targets may therefore override."""
        return {name for _, rule in self._matching(op, slot) if rule.yields for name in rule.settings}

    def widened(self, op: Operation, slot: Slot) -> str:
        """Returns the subject of the built-in rule that sets the storage of `slot` of `op`; empty if there is none."""
        source = self.sources(op, slot).get("storage", "")
        return source.removeprefix(_BUILT_IN) if source.startswith(_BUILT_IN) and source != FOR_TABLES else ""

    def quantizes(self, op: Operation, slots: Iterable[Slot], *, changes: bool = True) -> bool:
        """Returns True if no rule leaves one of these `slots` of `op` in float.

        `changes` is False if `op` is in float anyway, so that such a rule has no effect on it.
        """
        texts = ((each.name, each.role, each.op_type, str(each)) for each in origins_of(op))
        self.names.update(filter(None, chain(_kinds(op), _modules(origins_of(op)), *texts)))
        wanted = list[bool]()
        for slot in slots:
            said = {at: rule.settings[_QUANTIZE] for at, rule in self._matching(op, slot) if _QUANTIZE in rule.settings}
            self.used.update(said)
            last, is_wanted = next(reversed(said.items()), (-1, True))
            before = next((value for at, value in reversed(said.items()) if at != last), True)
            if is_wanted is not before and changes:
                self.effective.add(last)
            wanted.append(is_wanted)
        return all(wanted)

    def _matching(self, op: Operation, slot: Slot, value: SSAValue | None = None) -> Iterator[tuple[int, Rule]]:
        known = {name for name, fact in FACTS.items() if slot in fact.slots and op in self.known[name]}
        found = [(position, rule) for position, rule in enumerate(self.rules) if rule.matches(op, slot, known)]
        found = [each for each in found if not each[1].values or self._is_named(each[0], op, slot, value)]
        has_parameters = any(PARAMETERS in rule.settings for _, rule in found)
        return (each for each in found if not (has_parameters and each[1].yields))

    def _is_named(self, position: int, op: Operation, slot: Slot, value: SSAValue | None) -> bool:
        """Returns True if the rule at `position` names `value`; if it is `None`, any value in `slot` of `op`."""
        values: Iterable[SSAValue] = () if value is None else (value,)
        if value is None and slot is Slot.OUTPUT:
            values = op.results
        elif value is None and isinstance(op, Quantizable):
            values = (op.operands[at] for at, each in slots_of(op).items() if each is slot)
        return slot in _SLOTS[GIVEN_KEYS[0]] and any(each in self.named.get(position, ()) for each in values)

    def shared(self) -> Iterator[tuple[int, Rule, list[SSAValue]]]:
        """Yields the rules by which values share a type, with their index and the values that they name."""
        for position, rule in enumerate(self.rules):
            if rule.is_shared:
                yield position, rule, list(self.named.get(position, ()))

    def check_used(self) -> None:
        """Raises `DiagnosticError` if a rule has no effect: it matches nothing, or other rules always override it."""
        named = [(position, rule) for position, rule in enumerate(self.rules) if rule.name]
        self._warn_of_optional([(position, rule) for position, rule in named if rule.is_optional])
        rules = [(position, rule) for position, rule in named if not rule.is_optional]
        for position, rule in rules:
            matched = {glob for globs in self.named.get(position, {}).values() for glob in globs}
            if missing := [glob for glob in rule.values if glob not in matched]:
                near = nearest_name(missing[0], self.value_names)
                raise text_error(f"{rule.name}: the model has no value '{missing[0]}'{near}")
            if rule.is_shared and len(self.named.get(position, ())) < 2:
                only = f"only the value '{next(iter(matched))}' matches" if matched else "no value matches"
                raise text_error(f"{rule.name}: {only}, but two or more must share a type; help: name others too")
        if unused := [rule for position, rule in rules if position not in self.used]:
            found = "; ".join(f"{rule.name}{self._nearest(rule)}" for rule in unused)
            raise text_error(f"these rules of the recipe have no effect: {found}")
        idle = [rule.name for at, rule in rules if at not in self.effective and rule.is_noted and not rule.is_shared]
        if idle:
            names = "; ".join(idle)
            warn(f"these rules of the recipe match, but change no type: {names}; help: remove them")

    def _warn_of_optional(self, rules: Sequence[tuple[int, Rule]]) -> None:
        """Warns about the values of optional rules that the model lacks, or that are quantized in another way."""
        missing = [", ".join(rule.values) for position, rule in rules if position not in self.named]
        idle = [", ".join(rule.values) for at, rule in rules if at in self.named and at not in self.used]
        for names, what in ((missing, "the model has no value"), (idle, "the types of others decide")):
            if names:
                shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
                warn(f"{len(names)} of {len(rules)} optional rules have no effect, as {what}: {shown}")

    def _nearest(self, rule: Rule) -> str:
        for pattern in (rule.origin, rule.role, rule.op, rule.node, rule.module):
            if pattern != "*" and not any(fnmatchcase(name, pattern) for name in self.names):
                return nearest_name(pattern, self.names)
        return ""


def _table(value: Any) -> Mapping[str, Any] | None:
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def _rule_error(name: str, message: str) -> DiagnosticError:
    return text_error(f"{name}: {message}")


def _setting(name: str, key: str, value: str) -> Any:
    try:
        return _READERS[key](spelled(key, value))
    except ValueError as error:
        names = {"scheme": scheme_names(), "rule": tuple(Arithmetic)}.get(key)
        if names is None:
            raise _rule_error(name, str(error)) from error
        near = nearest_name(value, names)
        raise _rule_error(name, f"unknown {key} {value!r}{near} (available: {', '.join(names)})") from error


def _calibrator(name: str, value: Any) -> dict[str, Any]:
    """Returns the settings for the key `calibrator`, whose value is a name, or a table with a `name` and options."""
    table = {"name": value} if isinstance(value, str) else _table(value)
    known = table.get("name") if table is not None else None
    if table is None or not isinstance(known, str):
        raise _rule_error(name, f"calibrator must be a name, or a table with a name and options, but got {value!r}")
    given = {key: each for key, each in table.items() if key != "name"}
    known = spelled(_CALIBRATOR, known)
    if known not in calibrator_names():
        raise _rule_error(name, f"unknown calibrator '{known}'{nearest_name(known, calibrator_names())}")
    for key in given:
        if key not in options(known):
            raise _rule_error(name, f"calibrator '{known}' has no option '{key}'{nearest_name(key, options(known))}")
    return {"calibrator": known, "calibrator_options": given}


def _only(slots: Sequence[Slot]) -> str:
    names = {Slot.WEIGHT: "weights", Slot.OUTPUT: "results", Slot.BIAS: "the bias"}
    return "data, weights and results" if len(slots) > 1 else names[slots[0]]


def make_rule(table: Mapping[str, Any], name: str) -> Rule:
    """Returns the rule in a TOML table of a recipe; `name` is its name in messages. Raises `DiagnosticError`."""
    settings: dict[str, Any] = {}
    matchers: dict[str, Any] = {}
    facts: dict[str, bool] = {}
    is_optional = False
    known = (*_MATCHERS, _VALUES, *FACTS, *_READERS, _QUANTIZE, _CALIBRATOR, *GIVEN_KEYS, _SHARE, _OPTIONAL)
    table = {RECIPE_WORDS.get((key, str(value)), key): value for key, value in table.items()}
    if given := [key for key in GIVEN_KEYS if key in table]:
        settings[PARAMETERS] = _parameters(name, table)
    for key, value in table.items():
        if key in (*GIVEN_KEYS, _VALUES, _SHARE):
            continue
        is_flag = key in FACTS or key in (_QUANTIZE, _OPTIONAL)
        type_, wanted = (bool, "true or false") if is_flag else (str, "a string")
        if key in known and key != _CALIBRATOR and not issubclass(type(value), type_):
            raise _rule_error(name, f"{key} must be {wanted}, but got {value!r}")
        if key in FACTS:
            facts[key] = value
        elif key in _MATCHERS:
            matchers[key] = value
        elif key == _QUANTIZE:
            settings[key] = value
        elif key == _OPTIONAL:
            is_optional = value
        elif key in _READERS:
            settings[key] = _setting(name, key, value)
        elif key == _CALIBRATOR:
            settings |= _calibrator(name, value)
        else:
            if now := renamed(key, known, "recipe"):
                raise _rule_error(name, now)
            raise _rule_error(name, f"unknown key '{key}'{nearest_name(key, known)} (available: {', '.join(known)})")
    values, is_shared = _values(name, table)
    if not settings and not is_shared:
        raise _rule_error(name, "sets nothing")
    if given and not values:
        matchers.setdefault("slot", Slot.OUTPUT.value)
    storage = settings.get("storage")
    if isinstance(storage, Storage) and storage.is_float and "slot" not in matchers and not values:
        matchers["slot"] = Slot.INPUT.value
    limits = {fact: FACTS[fact].slots for fact in facts}
    limits |= {key: _SLOTS[key] for key in (*settings, *given) if key in _SLOTS}
    if "slot" in matchers:
        slots_by_name, said = {slot.value: slot for slot in Slot}, matchers["slot"]
        if said not in slots_by_name:
            near = nearest_name(said, slots_by_name)
            raise _rule_error(name, f"unknown slot '{said}'{near} (available: {', '.join(slots_by_name)})")
        for key, slots in limits.items():
            if said not in slots:
                raise _rule_error(name, f"{key} is only for {_only(slots)}, but the rule is for slot '{said}'")
        matchers["slot"] = slots_by_name[said]
        slot = matchers["slot"]
        if isinstance(storage, Storage) and storage.scope and slot is not Slot.INPUT:
            raise _rule_error(name, f"storage {storage} is only for slot 'input', but got '{said}'")
        if slot not in _FLOAT_SLOTS and storage == Storage.F32:
            help_ = "; help: --exclude, or quantize = false in a recipe, keeps an operation and its weights in float"
            raise _rule_error(name, f"storage f32 is only for slots 'input' and 'output', but got '{said}'{help_}")
    if given and settings[PARAMETERS].is_per_channel and matchers.get("slot") is not Slot.WEIGHT:
        raise _rule_error(name, "a list of scales is only for weights; add slot = 'weight'")
    flags = {"is_shared": is_shared, "is_optional": is_optional}
    return Rule(settings, facts=facts, values=values, name=name, **flags, **matchers)


def _parameters(name: str, table: Mapping[str, Any]) -> GivenParameters:
    """Returns the parameters that the rule `table` gives."""
    for key in ("granularity", _CALIBRATOR):
        if key in table:
            given = next(each for each in GIVEN_KEYS if each in table)
            raise _rule_error(name, f"{key} has no effect together with {given}; remove one of them")
    try:
        return parse_parameters(table)
    except ValueError as error:
        raise _rule_error(name, str(error)) from error


def _values(name: str, table: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
    """Returns the globs of the values that the rule `table` names, and True if these values share a type."""
    listed: Any = table.get(_VALUES, [])
    globs = cast(list[Any], listed) if isinstance(listed, list) else [listed]
    if not all(isinstance(each, str) and each for each in globs) or (_VALUES in table and not globs):
        raise _rule_error(name, f"{_VALUES} must be a list of names of values, but got {listed!r}")
    if table.get(_SHARE, True) is not True:
        raise _rule_error(name, f"{_SHARE} must be true, but got {table[_SHARE]!r}")
    if _SHARE in table and not globs:
        raise _rule_error(name, f"{_SHARE} requires {_VALUES}, the names of the values that share a type")
    return tuple(globs), _SHARE in table


def _described(table: Mapping[str, Any], position: int) -> str:
    matchers = ", ".join(f"{key} = '{table[key]}'" for key in _MATCHERS if key in table)
    matchers = ", ".join(filter(None, (matchers, f"{_VALUES} = {table[_VALUES]}" if _VALUES in table else "")))
    return f"rule {position}" + (f" ({matchers})" if matchers else "")


def read_rules(source: RecipeSource) -> list[Rule]:
    """Returns the rules of a recipe; none if `source` is empty. Raises `DiagnosticError` for an invalid recipe."""
    recipe = RecipeText.of(source)
    if recipe is None:
        return []
    path, content = recipe.name, _content(recipe)
    tables: Any = content.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in _entries(tables)):
        raise text_error(f"'{path}': rule must be a list of tables, each written [[rule]]")
    rows = enumerate(_entries(tables), start=1)
    rules = [make_rule(table, f"'{path}', {_described(table, position)}") for position, table in rows]
    return [replace(rule, is_noted=VERSION_KEY not in content) for rule in rules]


def effort_in(source: RecipeSource) -> Effort | None:
    """Returns the accuracy recovery effort that a recipe sets, or `None`. Raises `DiagnosticError` if it is invalid."""
    recipe = RecipeText.of(source)
    effort: Any = None if recipe is None else _content(recipe).get(EFFORT)
    if effort not in (None, AUTO) and (isinstance(effort, bool) or not isinstance(effort, int)):
        raise text_error(f"'{recipe}': {EFFORT} must be a whole number or '{AUTO}', but got {effort!r}")
    return effort


def _content(recipe: RecipeText) -> dict[str, Any]:
    """Returns the parsed content of a recipe. Raises `DiagnosticError` if it is not a valid recipe."""
    path = recipe.name
    content = parse_toml(recipe.text, f"'{path}'")
    for key in content:
        if key not in _TOP:
            hint = f"{nearest_name(key, _TOP)} (a recipe has {EFFORT} at the top and [[rule]] tables)"
            raise text_error(f"'{path}': unknown key '{key}'{hint}")
    if content.get(VERSION_KEY, VERSION) != VERSION:
        raise text_error(f"'{path}': {VERSION_KEY} must be {VERSION}, but got {content[VERSION_KEY]!r}")
    return content


def _entries(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else [value]


_OF_DATA = {"storage": "activations", "scheme": "scheme", "calibrator": "calibrator"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "input": _OF_DATA,
    "output": _OF_DATA,
    "weight": {"storage": "weights", "scheme": "weight_scheme", "granularity": "granularity"},
    "accumulator": {"storage": "accumulator"},
}
"""For each slot, in the order of the rules, the option that sets each field."""


@dataclass(frozen=True)
class TypeOptions:
    """Options that set a field of the choice for all values, spelled as in a recipe. An empty option sets nothing.

    The command line, `qmlir.quantize` and the passes share them.
    """

    activations: str = ""
    weights: str = ""
    accumulator: str = ""
    scheme: str = ""
    weight_scheme: str = ""
    granularity: str = ""
    calibrator: str = ""

    def said(self) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
        """Yields each slot, the values of the fields that options set for it, and these options, in rule order.

        Results of operations with `dynamic` activations are f32.
        """
        for slot, by_field in _OPTIONS.items():
            if said := {field: option for field, option in by_field.items() if getattr(self, option)}:
                values = {field: str(getattr(self, option)) for field, option in said.items()}
                if slot == Slot.OUTPUT.value and values.get("storage", "").startswith("dynamic"):
                    values["storage"] = str(Storage.F32)
                yield slot, values, said

    def rules(self) -> list[Rule]:
        """Returns the options as rules, one for each slot. Raises `DiagnosticError` for an invalid value."""
        rules: list[Rule] = []
        for slot, values, said in self.said():
            rule = make_rule({"slot": slot, **values}, f"the options for slot '{slot}'")
            sources = {field: f"the option {option}={getattr(self, option)}" for field, option in said.items()}
            rules.append(Rule(rule.settings, slot=rule.slot, sources=sources))  # unnamed: it may match nothing
        return rules


def pinned_rules(options: TypeOptions, source: RecipeSource) -> list[RuleTable]:
    """Returns rules that preserve the types of values to which `source` gives parameters, whatever precedes them."""
    recipe = RecipeText.of(source)
    tables: list[RuleTable] = [] if recipe is None else _entries(_content(recipe).get("rule", []))
    given = [each for each in tables if any(key in each and not isinstance(each[key], str) for key in GIVEN_KEYS)]
    weights = str(DEFAULTS[Slot.WEIGHT].storage)
    storages = {True: options.weights or weights, False: options.activations or str(DEFAULTS[Slot.OUTPUT].storage)}
    return [{_QUANTIZE: True, "storage": storages[each.get("slot") == "weight"], **each} for each in given]


def make_recipe(rules: list[Rule], source: RecipeSource = "") -> Recipe:
    """Returns a recipe that consists of `rules`, the built-in rules, and the rules in `source`, in this order."""
    return Recipe([*rules, *built_in_rules(rules), *read_rules(source)])
