"""Reads JSON within limits, checks values against the types that the reader expects, and converts results to JSON."""

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import partial
from os import PathLike, fspath
from typing import Any, NoReturn, cast

from qmlir.ir.messages import text_error
from qmlir.text.files import read_regular, reason_of

# Conversion of workflow results to plain JSON values.


def plain(value: Any, *, number: Callable[[float], float] = float, text: Callable[[str], str] = str) -> Any:
    """Converts `value` to JSON values: dataclasses become objects, arrays become lists, NaN and infinities become null.

    `number` converts finite floats, and `text` converts strings and keys. Raises `TypeError` for other types.
    """
    again = partial(plain, number=number, text=text)
    match value:
        case Enum():
            return again(value.value)
        case None | bool() | int():
            return value
        case str():
            return text(value)
        case float():
            return number(float(value)) if math.isfinite(value) else None
        case PathLike():
            return fspath(cast(PathLike[str], value))
        case Mapping():
            entries = cast(Mapping[Any, Any], value)
            return {str(again(key)): again(each) for key, each in entries.items()}
        case set() | frozenset():
            return sorted(again(each) for each in cast(Iterable[Any], value))
        case list() | tuple():
            return [again(each) for each in cast(Iterable[Any], value)]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: again(getattr(value, field.name)) for field in fields(value)}
        case _ if hasattr(value, "tolist"):  # an array or a scalar of NumPy, which takes a while to import
            return again(value.tolist())
        case _:
            raise TypeError(f"cannot write {type(value).__name__} as JSON")


# Data from JSON files: parsed within limits, and read with the type that the reader expects.
#
# A file may be untrusted. Every access names its expected type, so that a damaged or hostile file yields a one-line
# error with the file, the key, the expected type and the value found:
#
#     data = read_data(path)
#     stem = data["stem"].text()
#     samples = data["samples"].integer(low=0)

MAX_INT64 = (1 << 63) - 1

_DEEPEST = 64
"""The maximum nesting depth of lists and objects, since they are compared, hashed and printed recursively."""

_FILE_LIMIT = 1 << 26
"""The maximum size of a file. Sparse files can have any size, and parsed data takes 20 times the memory of its text."""

_SHOWN = 40
"""The number of characters of a value that a message shows."""


class LimitError(ValueError):
    """Well-formed text that exceeds a limit."""


def check_nesting(value: object) -> None:
    """Raises `LimitError` if lists and dictionaries in `value` nest deeper than the limit."""
    pending: list[tuple[Any, int]] = [(value, 1)]
    while pending:
        found, depth = pending.pop()
        if isinstance(found, dict):
            inner: Collection[Any] = cast(dict[str, Any], found).values()
        elif isinstance(found, list):
            inner = cast(list[Any], found)
        else:
            continue
        if depth > _DEEPEST:
            raise LimitError(f"it is nested more than {_DEEPEST} levels deep")
        pending += [(each, depth + 1) for each in inner if isinstance(each, (dict, list))]


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set[str]()
        again = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise LimitError(f"duplicate key '{again:.{_SHOWN}}' in an object")
    if any(map(_has_surrogates, found)):
        raise LimitError("a key contains surrogates, which are not valid text")
    return found


def _described(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str() if len(value) > _SHOWN:
            return f"{json.dumps(value[:_SHOWN])}…"
        case int() if value.bit_length() > 64:
            return "a number of more than 64 bits"
        case _:
            return json.dumps(value)


@dataclass(frozen=True)
class JsonValue:
    """A value in a JSON file, and its path for messages. Methods raise `DiagnosticError` if it has another type."""

    name: str
    """The file, as messages name it."""

    value: Any
    path: str = ""
    """The keys that lead to the value, separated by dots."""

    def wrong(self, expected: str) -> NoReturn:
        """Raises a `DiagnosticError` that states the `expected` value and the actual one."""
        key = f" '{self.path:.{_SHOWN * 3}}'" if self.path else " the content"
        raise text_error(f"{self.name}:{key} must be {expected}, but got {_described(self.value)}")

    def _at(self, key: str | int, value: Any) -> "JsonValue":
        return JsonValue(self.name, value, f"{self.path}.{key}" if self.path else str(key))

    def _object(self) -> dict[str, Any]:
        value: object = self.value
        if not isinstance(value, dict):
            self.wrong("an object")
        return cast(dict[str, Any], value)

    def __getitem__(self, key: str) -> "JsonValue":
        """Returns the value of a required key. Raises `DiagnosticError` if it is missing."""
        found = self._object()
        if key not in found:
            inside = f": '{self.path:.{_SHOWN * 3}}'" if self.path else ""
            raise text_error(f"{self.name}{inside} has no key '{key}'")
        return self._at(key, found[key])

    def get(self, key: str) -> "JsonValue | None":
        """Returns the value of an optional key; `None` if the key is missing or its value is null."""
        found = self._object().get(key)
        return None if found is None else self._at(key, found)

    def entries(self) -> dict[str, "JsonValue"]:
        """Returns the values of an object by key."""
        return {key: self._at(key, value) for key, value in self._object().items()}

    def __iter__(self) -> Iterator["JsonValue"]:
        """Iterates over the elements of a list."""
        value: object = self.value
        if not isinstance(value, list):
            self.wrong("a list")
        return (self._at(position, each) for position, each in enumerate(cast(list[Any], value)))

    def text(self, choices: Collection[str] | None = None) -> str:
        """Returns the value as a string, which must be one of `choices` if they are given."""
        if not isinstance(self.value, str):
            self.wrong("a string")
        if _has_surrogates(self.value):
            self.wrong("a string without surrogates")
        if choices is not None and self.value not in choices:
            self.wrong(f"one of {', '.join(choices)}")
        return self.value

    def integer(self, low: int = -MAX_INT64 - 1, high: int = MAX_INT64) -> int:
        """Returns the value as an integer from `low` to `high`, by default any signed 64-bit integer."""
        if type(self.value) is not int or not low <= self.value <= high:
            limits = f" from {low} to {high}" if high < MAX_INT64 else "" if low < 0 else f" >= {low}"
            self.wrong(f"an integer{limits}")
        return self.value

    def number(self, low: float = -math.inf, high: float = math.inf, *, allow_nonfinite: bool = False) -> float:
        """Returns the value as a number from `low` to `high`, which must be finite unless `allow_nonfinite` is set."""
        value: Any = self.value
        is_number = type(value) is float or (type(value) is int and value.bit_length() <= 64)
        if not is_number or not (allow_nonfinite or math.isfinite(value)):
            self.wrong("a number" if allow_nonfinite else "a finite number")
        if allow_nonfinite and math.isnan(value):
            return math.nan
        if not low <= value <= high:
            self.wrong(f"a number from {low} to {high}")
        return float(value)

    def boolean(self) -> bool:
        """Returns the value as a Boolean."""
        if not isinstance(self.value, bool):
            self.wrong("true or false")
        return self.value


def parse_data(text: str | bytes, name: str, *, allow_nonfinite: bool = False) -> JsonValue:
    """Parses JSON text, which messages call `name`.

    Keys of an object must be unique. Raises `DiagnosticError` for text that is not JSON, for data that is nested
    more than 64 levels deep, and, unless `allow_nonfinite` is set, for NaN and Infinity, which JSON doesn't have.
    """

    def refuse(constant: str) -> NoReturn:
        raise LimitError(f"{constant} is not a JSON number")

    try:
        value: object = json.loads(text, object_pairs_hook=_once, parse_constant=float if allow_nonfinite else refuse)
        check_nesting(value)
    except RecursionError as error:
        raise text_error(f"{name} is not JSON: it is nested more than {_DEEPEST} levels deep") from error
    except UnicodeDecodeError as error:
        raise text_error(f"{name} is not JSON: byte {error.start} is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        what = "it is cut off" if is_cut else f"{error.msg[:1].lower()}{error.msg[1:]}"
        raise text_error(f"{name} is not JSON: line {error.lineno}, column {error.colno}: {what}") from error
    except LimitError as error:
        raise text_error(f"{name} is not JSON: {error}") from error
    except ValueError as error:  # raised by `int`, with a message about Python
        raise text_error(f"{name} is not JSON: a number has too many digits") from error
    return JsonValue(name, value)


def read_data(path: str | PathLike[str], *, allow_nonfinite: bool = False) -> JsonValue:
    """Reads a JSON file. Raises `DiagnosticError` if it can't be read, or isn't a regular file of JSON."""
    try:
        content = read_regular(path, _FILE_LIMIT + 1)
    except OSError as error:
        raise text_error(f"cannot read '{path}': {reason_of(error)}") from error
    if len(content) > _FILE_LIMIT:
        raise text_error(f"cannot read '{path}': it is larger than {_FILE_LIMIT} bytes")
    return parse_data(content, f"'{path}'", allow_nonfinite=allow_nonfinite)
