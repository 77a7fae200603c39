"""The options that the passes which decide share: defaults for all values, and a recipe file for more."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.ir.diagnostics import note, op_error
from qmlir.quantization.casts import drop_calibration, insert_casts
from qmlir.quantization.decide import decide
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.recipe import WIDE_BY_DEFAULT, Recipe, Rule, make_rule, read_rules

Watch = Callable[[Recipe, Sequence[Decisions]], None]
"""Is told what was decided by a recipe for each function of a module, before anything of the module is changed."""

_watch: ContextVar[Watch | None] = ContextVar("qmlir_watch_of_decisions", default=None)


@contextmanager
def watched(watch: Watch) -> Generator[None]:
    """Let `watch` know what passes decide inside the `with` block."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


_ACTIVATION_SLOTS = ("input", "output")


def simple_rules(
    *, activations: str = "", weights: str = "", accumulator: str = "", scheme: str = "", weight_scheme: str = "",
    granularity: str = "", calibrator: str = "",
) -> list[Rule]:  # fmt: skip
    """Rules for all values, from options that are empty where nothing was said. Raises `DiagnosticError`."""
    of_data = {
        "storage": ("activations", activations), "scheme": ("scheme", scheme), "calibrator": ("calibrator", calibrator),
    }  # fmt: skip
    of_weights = {
        "storage": ("weights", weights), "scheme": ("weight_scheme", weight_scheme),
        "granularity": ("granularity", granularity),
    }  # fmt: skip
    given = [
        *((slot, of_data) for slot in _ACTIVATION_SLOTS),
        ("weight", of_weights),
        ("accumulator", {"storage": ("accumulator", accumulator)}),
    ]
    rules: list[Rule] = []
    for slot, fields in given:
        said = {field: each for field, each in fields.items() if each[1]}
        if said:
            table = {field: value for field, (_, value) in said.items()}
            rule = make_rule({"slot": slot, **table}, f"the options for slot '{slot}'")
            sources = {field: f"the option {option}={value}" for field, (option, value) in said.items()}
            rules.append(Rule(rule.settings, slot=rule.slot, sources=sources))  # without a name: it may match nothing
    return rules


def make_recipe(rules: list[Rule], path: str = "") -> Recipe:
    """The recipe of `rules`, of what is known to need more bits, and then of the file at `path`."""
    return Recipe([*rules, *WIDE_BY_DEFAULT, *(read_rules(Path(path)) if path else [])])


def decide_and_insert(module: ModuleOp, recipe: Recipe, *, assert_all_quantized: bool = False) -> list[Decisions]:
    """Decide for every function of `module` and put the casts.

    Raises `DiagnosticError` where a rule of the recipe decides nothing, and with `assert_all_quantized` where an
    operation on floats is left in float, listing all of them.
    """
    functions = [op for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration]
    decided = [decide(function, recipe) for function in functions]
    recipe.check_used()
    if (watch := _watch.get()) is not None:
        watch(recipe, decided)
    left = [(op, reason) for decisions in decided for op, reason in decisions.left_in_float.items()]
    if assert_all_quantized and left:
        notes = [note(op, reason) for op, reason in left]
        raise op_error(module, f"has {len(left)} operation{'s' if len(left) > 1 else ''} left in float", notes)
    for function, decisions in zip(functions, decided, strict=True):
        insert_casts(decisions)
        drop_calibration(function)
    return decided
