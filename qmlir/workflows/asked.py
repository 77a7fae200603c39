"""What was asked of quantizing, as a recipe of its own: the same rules decide when it is given in place of options.

Options are rules before those of a recipe file, and what is known to need more bits stands between the two. Rules that
decided nothing are left out: a recipe may not hold such.
"""

from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from qmlir.quantization.options import said_for_slots
from qmlir.quantization.recipe import WIDE_BY_DEFAULT, RecipeText
from qmlir.workflows.rules import rules_text, table_text

_WIDE = "i16"


def _tables(settings: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The rules of `make_recipe` but for those of a file as tables of a recipe, one for each, in their order."""
    for slot, said in said_for_slots(settings):
        yield {"slot": slot, **{field: str(settings[option]) for field, option in said.items()}}
    for rule in () if settings.get("target") else WIDE_BY_DEFAULT:  # a target may not have what they ask for
        assert rule.slot is not None
        yield {"role": rule.role, "slot": rule.slot.value, "storage": _WIDE}


def recipe_text(used: Collection[int], settings: Mapping[str, Any]) -> str:
    """The recipe that decides what `settings` decided, of which the rules at the places `used` were of use.

    `settings` are those of `quantize`, by name; `target` and `keep`, which are no matter of rules, stand in comments.
    """
    recipe = RecipeText.of(settings.get("recipe") or "")
    lines = [f"# What qmlir {version('qmlir')} was asked for: give it as --recipe to do the same again."]
    if targets := settings.get("target"):
        lines.append(f"# --target {targets if isinstance(targets, str) else ','.join(targets)}")
    if not targets or "keep" in settings:
        lines.append(f"# --keep {','.join(settings.get('keep', ()))}")
    for place, table in enumerate(_tables(settings)):
        if place in used:
            lines += ["", table_text(table)]
    if recipe is not None:
        lines += ["", f"# From {Path(recipe.name).name}:", rules_text(recipe)]
    return "\n".join(lines) + "\n"
