"""Reads TOML within limits, and writes it, which the standard library does not support."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, cast

from qmlir.ir.messages import text_error
from qmlir.text.data import MAX_INT64, LimitError, check_nesting

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

_MOST_PARTS = 16
"""The maximum number of parts of a dotted key, since tomllib takes time and memory quadratic in this number."""

_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LEXEME = re.compile(
    r"#[^\n]*+"
    r'|"""(?:[^"\\]|\\[\s\S]|"(?!""))*+(?:""")?'
    r"|'''(?:[^']|'(?!''))*+(?:''')?"
    rf"|(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MOST_PARTS},}}+)"
    rf"|{_PART}"
)
"""Matches tokens that may contain dots, in this order: comments, multi-line strings, keys that are too long, others."""

_MOST_CHARACTERS = 1 << 22
"""The maximum length of a TOML text, which tomllib parses in about two seconds."""


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Parses TOML text, which messages call `name`.

    Raises `DiagnosticError` for text that is not TOML or is longer than 4 MiB, for a dotted key of more than 16 parts,
    for data that is nested more than 64 levels deep, and for integers of more than 64 bits.
    """
    try:
        if len(text) > _MOST_CHARACTERS:
            raise LimitError(f"it is longer than {_MOST_CHARACTERS} characters")
        if any(found["key"] for found in _LEXEME.finditer(text)):
            raise LimitError(f"a dotted key has more than {_MOST_PARTS} parts")
        content = tomllib.loads(text)
        check_nesting(content)
        _check_integers(content)
    except RecursionError as error:
        raise text_error(f"{name} is not TOML: it is nested too deeply") from error
    except (LimitError, tomllib.TOMLDecodeError) as error:
        raise text_error(f"{name} is not TOML: {error}") from error
    except ValueError as error:  # raised by `int`, with a message about Python
        raise text_error(f"{name} is not TOML: a number has too many digits") from error
    return content


def _check_integers(content: dict[str, Any]) -> None:
    pending: list[Any] = [content]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            pending += cast(dict[str, Any], found).values()
        elif isinstance(found, list):
            pending += cast(list[Any], found)
        elif isinstance(found, int) and not -MAX_INT64 - 1 <= found <= MAX_INT64:  # Python may refuse to print it
            raise LimitError("an integer exceeds 64 bits")


def toml_value(value: object) -> str:
    """Formats a Boolean, number, string, list or table as TOML on one line; any other value as a string."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)  # inf and nan too
        case list() | tuple():
            return f"[{', '.join(map(toml_value, cast(Sequence[Any], value)))}]"
        case Mapping():
            entries = cast(Mapping[str, Any], value).items()
            return f"{{ {', '.join(f'{toml_key(name)} = {toml_value(each)}' for name, each in entries)} }}"
        case _:
            # JSON escapes strings as TOML does, except for one character, which JSON leaves unescaped.
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Returns a table key, quoted if necessary."""
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)
