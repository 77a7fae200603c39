"""Rules as the text of a recipe: one from a table, and those of another recipe, so that rules can stand around them."""

import tomllib
from collections.abc import Mapping
from typing import Any

from qmlir.quantization.recipe import RecipeText
from qmlir.text.toml import toml_value

Table = Mapping[str, Any]
"""A rule as a recipe has it."""

_HEAD = "[[rule]]"


def table_text(table: Table) -> str:
    """The lines of one rule."""
    return "\n".join([_HEAD, *(f"{key} = {toml_value(value)}" for key, value in table.items())])


def rules_text(recipe: RecipeText) -> str:
    """The rules of a recipe as `[[rule]]` tables: its text where it is written so, otherwise they are written anew.

    TOML lets no `[[rule]]` stand beside a list, `rule = [{ ... }]`.
    """
    text = recipe.text.strip()
    tables: list[Table] = tomllib.loads(text).get("rule", [])
    if tomllib.loads(f"{_HEAD}\n{text}") == {"rule": [{}, *tables]}:
        return text
    return "\n\n".join(map(table_text, tables))
