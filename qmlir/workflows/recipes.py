"""The settings of a quantization, as a recipe file.

Passing this recipe instead of the options leads to the same decisions. Options become rules that precede the built-in
rules, which precede the rules of a recipe file. Rules without effect are omitted, since a recipe must not contain any.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from qmlir.ir.diagnostics import printable
from qmlir.quantization.recipe import TypeOptions, built_in_rules
from qmlir.quantization.recipe_text import (
    EFFORT,
    VERSION,
    VERSION_KEY,
    Effort,
    RecipeText,
    RuleTable,
    rules_text,
    table_text,
)
from qmlir.text.data import toml_value


def _tables(settings: Mapping[str, Any]) -> Iterator[RuleTable]:
    """Yields the rules of `make_recipe` in order as tables of a recipe, without those of the recipe file."""
    options = TypeOptions(**{each.name: str(settings.get(each.name) or "") for each in fields(TypeOptions)})
    for slot, said in options.said():
        yield {"slot": slot, **{field: getattr(options, option) for field, option in said.items()}}
    if settings.get("device"):  # a device may not have the types that the other rules ask for
        return
    for rule in built_in_rules(options.rules()):
        assert rule.slot is not None
        matchers = rule.facts or {"role": rule.role}
        yield {**matchers, "slot": rule.slot.value, **{name: str(value) for name, value in rule.settings.items()}}


def recipe_text(used: Collection[int], settings: Mapping[str, Any], effort: Effort | None = None) -> str:
    """Returns the recipe with the same decisions as `settings`; only rules with indices in `used` are included.

    `settings` are the settings of `quantize`, by name. Settings that no rule can express, such as `device`, become
    comments. `effort` is the effort set by the caller or by a recipe.
    """
    recipe = RecipeText.of(settings.get("recipe") or "")
    lines = [f"# What qmlir {version('qmlir')} was asked for: give it as --recipe to do the same again."]
    if targets := settings.get("device"):
        lines.append(f"# --device {targets}")
    if not targets or "keep_composites" in settings:
        lines.append(f"# --keep-composites {printable(','.join(settings.get('keep_composites', ())))}")
    for name in ("accumulator_bits", "accumulator_pairs"):
        if settings.get(name):
            lines.append(f"# --{name.replace('_', '-')} {settings[name]}")
    lines += ["", f"{VERSION_KEY} = {VERSION}"]
    if effort is not None:
        lines += [f"{EFFORT} = {toml_value(effort)}"]
    for position, table in enumerate(_tables(settings)):
        if position in used:
            lines += ["", table_text(table)]
    if recipe is not None:
        lines += ["", f"# From {printable(Path(recipe.name).name)}:", rules_text(recipe)]
    return "\n".join(lines) + "\n"
