"""Rules as the text of a recipe file: tables, and those of a file so that others can stand before and behind them."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

Table = Mapping[str, Any]
"""A rule as a recipe has it."""

_HEAD = "[[rule]]"


def _value_text(value: object) -> str:
    """A value in TOML: texts of JSON are texts of TOML but for one character."""
    match value:
        case Mapping():
            entries = cast(Mapping[str, Any], value).items()
            return f"{{{', '.join(f'{json.dumps(key)} = {_value_text(each)}' for key, each in entries)}}}"
        case float():
            return repr(value)  # inf and nan too
        case _:
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def table_text(table: Table) -> str:
    """The lines of one rule."""
    return "\n".join([_HEAD, *(f"{key} = {_value_text(value)}" for key, value in table.items())])


def rules_of_file(path: Path) -> str:
    """The rules of a recipe file as `[[rule]]` tables: its text where it is such, otherwise they are written anew.

    TOML lets no table stand beside a list, `rule = [{ ... }]`.
    """
    text = path.read_text(encoding="utf-8").strip()
    tables: list[Table] = tomllib.loads(text).get("rule", [])
    if tomllib.loads(f"{_HEAD}\n{text}") == {"rule": [{}, *tables]}:
        return text
    return "\n\n".join(map(table_text, tables))
