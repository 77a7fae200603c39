"""The options that the passes which decide share: defaults for all values, and a recipe file for more."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.diagnostics import note, op_error
from qmlir.ir.given import TakesValues
from qmlir.quantization.casts import drop_calibration, insert_casts
from qmlir.quantization.decide import decide
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.recipe import Recipe, Rule, built_in_rules, make_rule, read_rules
from qmlir.quantization.recipe_text import RecipeSource, RecipeText
from qmlir.quantization.retyping import mark_parameters
from qmlir.quantization.rounded_states import round_states
from qmlir.quantization.states import states_of

Watch = Callable[[Recipe, Sequence[Decisions]], None]
"""Is called with a recipe and its decisions for each function of a module, before casts are put into it."""

_OF_DATA = {"storage": "activations", "scheme": "scheme", "calibrator": "calibrator"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "input": _OF_DATA,
    "output": _OF_DATA,
    "weight": {"storage": "weights", "scheme": "weight_scheme", "granularity": "granularity"},
    "accumulator": {"storage": "accumulator"},
}
"""For each slot, in the order of the rules, the option that sets a field."""

OPTIONS = tuple(dict.fromkeys(option for fields in _OPTIONS.values() for option in fields.values()))
"""The options that make rules for all values."""


def said_for_slots(options: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """For each slot that `options` say something of, the option that sets a field: one rule each, in their order."""
    for slot, fields in _OPTIONS.items():
        said = {field: option for field, option in fields.items() if options.get(option)}
        if said:
            yield slot, said


def simple_rules(**options: str) -> list[Rule]:
    """Rules for all values, from options that are empty where nothing was said. Raises `DiagnosticError`."""
    rules: list[Rule] = []
    for slot, said in said_for_slots(options):
        table = {field: options[option] for field, option in said.items()}
        rule = make_rule({"slot": slot, **table}, f"the options for slot '{slot}'")
        sources = {field: f"the option {option}={options[option]}" for field, option in said.items()}
        rules.append(Rule(rule.settings, slot=rule.slot, sources=sources))  # without a name: it may match nothing
    return rules


def make_recipe(rules: list[Rule], source: RecipeSource = "") -> Recipe:
    """The recipe of `rules`, then of the built-in rules, then of the rules in `source`."""
    return Recipe([*rules, *built_in_rules(rules), *read_rules(source)])


@dataclass(frozen=True)
class TakesRecipe(TakesValues):
    """A pass with the options that make rules for all values, and a recipe for more."""

    activations: str = ""
    weights: str = ""
    accumulator: str = ""
    scheme: str = ""
    weight_scheme: str = ""
    granularity: str = ""
    calibrator: str = ""
    recipe: str = ""

    VALUES: ClassVar[tuple[str, ...]] = ("given_recipe",)
    given_recipe: ClassVar[RecipeText | None] = None
    """The recipe itself, in place of the file that `recipe` names."""

    def whole_recipe(self) -> Recipe:
        """What options, built-in rules and the recipe say."""
        rules = simple_rules(**{option: getattr(self, option) for option in OPTIONS})
        return make_recipe(rules, self.given_recipe or self.recipe)


def decide_and_insert(
    module: ModuleOp,
    recipe: Recipe,
    *,
    states: Sequence[str] = (),
    assert_all_quantized: bool = False,
    float_constants: bool = False,
    watch: Watch | None = None,
) -> list[Decisions]:
    """Decide for every function of `module`, tell `watch`, and put the casts.

    Raises `DiagnosticError` where a rule of the recipe decides nothing, and with `assert_all_quantized` where an
    operation on floats is left in float, listing all of them.
    """
    functions = functions_of(module)
    targets = targets_of(module)
    for function in functions:
        round_states(function, recipe)
    decided: list[Decisions] = []
    for function in functions:
        named = states_of(function, states) if function.sym_name.data == "main" else []
        decided.append(decide(function, recipe, targets, named))
    recipe.check_used()
    if watch is not None:
        watch(recipe, decided)
    left = [(op, reason) for decisions in decided for op, reason in decisions.left_in_float.items()]
    if assert_all_quantized and left:
        notes = [note(op, reason) for op, reason in left]
        raise op_error(module, f"has {len(left)} operation{'s' if len(left) > 1 else ''} left in float", notes)
    for function, decisions in zip(functions, decided, strict=True):
        insert_casts(decisions, float_constants=float_constants)
        if float_constants:
            mark_parameters(function)
        drop_calibration(function)
    return decided
