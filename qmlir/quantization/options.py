"""The options that the passes which decide share: defaults for all values, and a recipe file for more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.diagnostics import note, op_error
from qmlir.ir.given import TakesValues
from qmlir.quantization.casts import drop_calibration, insert_casts
from qmlir.quantization.decide import decide
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.recipe import Recipe, TypeOptions, make_recipe
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.retyping import mark_parameters
from qmlir.quantization.rounded_states import round_states
from qmlir.quantization.states import states_of

Watch = Callable[[Recipe, Sequence[Decisions]], None]
"""Is called with a recipe and its decisions for each function of a module, before casts are put into it."""


@dataclass(frozen=True)
class TakesRecipe(TypeOptions, TakesValues):
    """A pass with the options that make rules for all values, and a recipe for more."""

    recipe: str = ""

    VALUES: ClassVar[tuple[str, ...]] = ("given_recipe",)
    given_recipe: ClassVar[RecipeText | None] = None
    """The recipe itself, in place of the file that `recipe` names."""

    def whole_recipe(self) -> Recipe:
        """What options, built-in rules and the recipe say."""
        return make_recipe(self.rules(), self.given_recipe or self.recipe)


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
        decided.append(decide(function, recipe, targets, named, keeps_integers=assert_all_quantized))
    recipe.check_used()
    if watch is not None:
        watch(recipe, decided)
    left = [(op, reason) for decisions in decided for op, reason in decisions.left_in_float.items()]
    if assert_all_quantized and left:
        notes = [note(op, f"not quantized: {reason}") for op, reason in left]
        raise op_error(
            module, f"has {len(left)} operation{'s that are' if len(left) > 1 else ' that is'} not quantized", notes
        )
    for function, decisions in zip(functions, decided, strict=True):
        insert_casts(decisions, float_constants=float_constants)
        if float_constants:
            mark_parameters(function)
        drop_calibration(function)
    return decided
