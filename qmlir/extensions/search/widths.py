"""The layers of a model that a recipe can address, and the model with changed widths of some layers.

A layer is a node of the model, with its weights and results. For each choice of widths, this module computes the recipe
rules that express it, and the resulting quantized module, from a profiled module and the user's rules.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import integer_limits
from qmlir.arithmetic.schemes import Storage
from qmlir.dialects.quant.infer import elements_of
from qmlir.extensions.search.choices import Width
from qmlir.ir.diagnostics import text_error
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of
from qmlir.ir.verification import verify
from qmlir.passes.quantized.quant_casts import take_apart
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import QUANTIZE, QuantizeOptions
from qmlir.quantization.choice import Choice
from qmlir.quantization.decide import decide
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.recipe import Recipe, Rule, make_recipe, make_rule
from qmlir.quantization.recipe_text import RecipeText, RuleTable, rules_text, table_text
from qmlir.quantization.retyping import slots_of

Widths = Mapping[str, Width]
"""The layers whose width differs from the settings, by name."""

_BITS = {Width.NARROW: 4, Width.WIDE: 16}
_SLOTS = {Width.NARROW: (Slot.WEIGHT,), Width.WIDE: (Slot.INPUT, Slot.WEIGHT, Slot.OUTPUT)}


@dataclass(frozen=True)
class Layer:
    """A node of the model, and the types that the recipe decides for it."""

    name: str
    choices: tuple[tuple[Slot, Choice], ...]
    weights: int
    """Number of elements of its constant weights."""

    def may_be(self, width: Width) -> bool:
        """Returns true if `width` would change the layer.

        A width of 4 bits changes layers with wider weights; 16 bits change layers with narrower values or weights.
        """
        if width is Width.FLOAT:
            return True
        bits = [choice.storage.bits for slot, choice in self.choices if slot in _SLOTS[width]]
        return any(each > _BITS[width] if width is Width.NARROW else each < _BITS[width] for each in bits)

    def tables(self, width: Width) -> list[dict[str, Any]]:
        """Returns the rules that give the layer and all its parts the width, with the layer's name escaped."""
        origin = escape(self.name)
        if width is Width.FLOAT:
            return [{"origin": origin, "quantize": False}]
        found: dict[Slot, dict[str, Any]] = {}
        for slot, choice in self.choices:
            if slot in _SLOTS[width]:
                storage = _storage_text(choice.storage, _BITS[width])
                found[slot] = {"origin": origin, "slot": slot.value, "storage": storage}
        return list(found.values())


def _storage_text(storage: Storage, bits: int) -> str:
    """Returns `storage` with `bits` bits; a symmetric range, as weights have, stays symmetric."""
    letter = "i" if storage.is_signed else "u"
    _, largest = integer_limits(bits)
    is_even = storage.is_signed and storage.minimum == -storage.maximum
    return f"{letter}{bits}<{-largest}:{largest}>" if is_even else f"{letter}{bits}"


def _name_of(op: Operation) -> str | None:
    return next((origin.name for origin in origins_of(op) if origin.name), None)


@dataclass
class _RecordingRecipe(Recipe):
    """A recipe that records each choice it was asked for, except those with parameters that a rule gives."""

    decided: dict[str, dict[tuple[Slot, Storage], Choice]] = field(
        default_factory=lambda: defaultdict[str, dict[tuple[Slot, Storage], Choice]](dict)
    )

    def choice(self, op: Operation, slot: Slot, value: SSAValue | None = None) -> Choice:
        found = super().choice(op, slot, value)
        name = _name_of(op)
        if name is not None and found.parameters is None:
            self.decided[name].setdefault((slot, found.storage), found)
        return found


@dataclass(frozen=True)
class _Probe:
    """The decisions of a recipe, computed without changing the module."""

    decided: Mapping[str, Mapping[tuple[Slot, Storage], Choice]]
    tables: tuple[RuleTable, ...]
    """The rules tried that decide something."""

    in_float: frozenset[str]
    """The layers of which an operation was left in float."""

    weights: Mapping[str, int]
    decisions: tuple[Decisions, ...]
    """The decisions of each function."""


class LayerwiseModel:
    """A lowered and profiled module that can be quantized with any choice of widths."""

    def __init__(self, profiled: ModuleOp, options: QuantizeOptions) -> None:
        """Prepares `profiled`; `options` hold the types of all values, and the user's recipe.

        Raises `DiagnosticError` if no operation of the module can be named and quantized.
        """
        self._profiled = profiled
        self.decided = profiled.clone()
        """The module that types are decided on, which is never changed."""
        take_apart(self.decided)
        self._options = options.types
        probe = self._probe(())
        self.in_float = probe.in_float
        """The layers of which an operation is in float with the user's settings."""
        self.layers: Mapping[str, Layer] = {
            name: Layer(name, tuple((slot, choice) for (slot, _), choice in found.items()), probe.weights.get(name, 0))
            for name, found in probe.decided.items()
        }
        """The layers that decide something, by name, in the order of the model."""
        if not self.layers:
            raise text_error("the model has no quantized operation with a node name that a recipe could match")

    def _probe(self, tables: Sequence[RuleTable]) -> _Probe:
        base = make_recipe(self._options.rules(), self._options.recipe).rules
        # A rule that decides nothing in this module is ignored, not rejected.
        made = (make_rule(table, "a rule of the search") for table in tables)
        tried = [Rule(rule.settings, rule.origin, rule.role, rule.op, rule.slot) for rule in made]
        recipe = _RecordingRecipe([*base, *tried])
        left: set[str] = set()
        weights: dict[str, int] = defaultdict(int)
        found: list[Decisions] = []
        for function in functions_of(self.decided):
            decisions = decide(function, recipe)
            found.append(decisions)
            left.update(name for op in decisions.left_in_float if (name := _name_of(op)) is not None)
            for op, position in decisions.constants:
                slots = slots_of(op) if isinstance(op, Quantizable) else {}
                if (name := _name_of(op)) is not None and slots.get(position) is Slot.WEIGHT:
                    weights[name] += elements_of(op.operands[position])
        used = tuple(table for position, table in enumerate(tables, len(base)) if position in recipe.used)
        return _Probe(recipe.decided, used, frozenset(left), weights, tuple(found))

    def supported(self, widths: Widths) -> dict[str, Width]:
        """Returns `widths`, with float for each layer that has an operation that does not support 16 bits."""
        found = dict(widths)
        while True:
            refused = self._probe(self._all_tables(found)).in_float - self.in_float
            # Consumers of a layer may stay in float because of it: only layers meant to have 16 bits change.
            moved = {name for name, width in found.items() if width is Width.WIDE and name in refused}
            if not moved:
                return found
            found |= dict.fromkeys(moved, Width.FLOAT)

    def _all_tables(self, widths: Widths) -> list[RuleTable]:
        return [table for name, layer in self.layers.items() if name in widths for table in layer.tables(widths[name])]

    def decisions(self, widths: Widths) -> tuple[Decisions, ...]:
        """Returns the type decisions for each function of `decided` with these widths."""
        return self._probe(self._all_tables(widths)).decisions

    def recipe_text(self, widths: Widths) -> str:
        """Returns a recipe file: the user's own rules unchanged, followed by those for `widths`."""
        recipe = RecipeText.of(self._options.recipe)
        own = "" if recipe is None else rules_text(recipe)
        tables = self._probe(self._all_tables(widths)).tables
        return "\n\n".join([*([own] if own else []), *map(table_text, tables)]) + "\n"

    def quantized(self, widths: Widths) -> ModuleOp:
        """Returns the module quantized with these widths by the passes of `qmlir quantize`."""
        recipe = RecipeText("the recipe of the search", self.recipe_text(widths))
        pipeline = replace(QUANTIZE, options=replace(self._options, recipe=recipe))
        module = run_pipeline(self._profiled.clone(), pipeline.passes("decide", "propagate", "raise"))
        verify(module)
        return module
