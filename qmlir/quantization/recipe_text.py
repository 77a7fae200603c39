"""Recipes as text, TOML: of a file, of tables in Python, and rules added to one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, TypeAlias, cast

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.files import path_of
from qmlir.text.parsing import read_source
from qmlir.text.renames import RECIPE
from qmlir.text.toml import parse_toml, toml_key, toml_value

RuleTable: TypeAlias = Mapping[str, Any]
"""A rule as a recipe has it."""

_HEAD = "[[rule]]"

EFFORT = "effort"
"""The one key beside the rules: the effort of repairs, as `quantize --effort`."""

VERSION_KEY, VERSION = "version", 1
"""The key at the top of a recipe that qmlir writes, and its value. A recipe without one may have the keys of 0.1."""

_VERSION_LINE = re.compile(rf"^{VERSION_KEY}\s*=.*\n", re.MULTILINE)

AUTO: Literal["auto"] = "auto"
"""The effort that applies the remedy that helps, if answers are lost."""

Effort: TypeAlias = int | Literal["auto"]
"""How hard to repair: 0 to 3, or `auto`."""


@dataclass(frozen=True)
class RecipeText:
    """A recipe as TOML text, which one function hands to another without a file."""

    name: str
    """The name in messages: of a file, its path."""

    text: str

    @staticmethod
    def of(source: "RecipeSource") -> "RecipeText | None":
        """The recipe itself, or the one in a file; `None` for an empty path. Raises `DiagnosticError`."""
        if isinstance(source, RecipeText):
            return source
        if isinstance(source, str | PathLike):
            return RecipeText(str(source), _with_new_names(read_source(path_of(source)))) if str(source) else None
        if not isinstance(source, Mapping):
            source = {"rule": source}
        return RecipeText(
            "recipe", "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in source.items())
        )

    def with_rules(self, tables: Sequence[RuleTable], name: str) -> "RecipeText":
        """This recipe with more rules after its own, which `name` names."""
        texts = [effort_text(self), rules_text(self), *map(table_text, tables)]
        return RecipeText(f"{self.name} and {name}" if self.name else name, "\n\n".join(filter(None, texts)) + "\n")

    def __str__(self) -> str:
        return self.name


def _with_new_names(text: str) -> str:
    """The text of a recipe in a file, with the keys of rules that have another name now renamed.

    A recipe with a version stays as it is, and so does text that is no recipe.
    """
    try:
        content = parse_toml(text, "the recipe")
    except DiagnosticError:
        return text
    rules: Any = content.get("rule")
    if VERSION_KEY in content or not isinstance(rules, list):
        return text
    tables = cast(list[Any], rules)
    if not any(key in RECIPE for table in tables if isinstance(table, dict) for key in cast(RuleTable, table)):
        return text
    top = [f"{toml_key(key)} = {toml_value(value)}\n" for key, value in content.items() if key != "rule"]
    renamed = [
        table_text({RECIPE.get(key, key): value for key, value in cast(RuleTable, table).items()})
        for table in tables
        if isinstance(table, dict)
    ]
    return "".join(top) + "\n\n".join(renamed) + "\n"


RecipeSource: TypeAlias = str | PathLike[str] | RecipeText | Mapping[str, Any] | Sequence[RuleTable]
"""A recipe: the path of its file, empty for none; its text; its tables, `{"rule": [{"op": "softmax", …}]}`; or the
rules alone."""


def table_text(table: RuleTable) -> str:
    """The lines of one rule."""
    return "\n".join([_HEAD, *(f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())])


def effort_text(recipe: RecipeText) -> str:
    """The line of a recipe that names an effort, empty where none does; it stands before all rules."""
    try:
        effort = parse_toml(recipe.text, "the recipe").get(EFFORT)
    except DiagnosticError:
        return ""
    return "" if effort is None else f"{EFFORT} = {toml_value(effort)}"


def rules_text(recipe: RecipeText) -> str:
    """The rules of a recipe as `[[rule]]` tables: its text where it is written so, otherwise they are written anew.

    TOML lets no `[[rule]]` stand beside a list, `rule = [{ ... }]`. What is no recipe stays as it is, for `read_rules`
    to refuse.
    """
    text = _VERSION_LINE.sub("", recipe.text, count=1).strip()
    try:
        tables: Any = parse_toml(text, "the recipe").get("rule", [])
        if parse_toml(f"{_HEAD}\n{text}", "the recipe") == {"rule": [{}, *tables]}:
            return text
    except (DiagnosticError, TypeError):
        return text
    if not all(isinstance(table, Mapping) for table in tables):
        return text
    return "\n\n".join(map(table_text, cast(Sequence[RuleTable], tables)))
