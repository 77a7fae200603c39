"""Observers of packages: what they keep of observed arrays, besides statistics, for calibrators of theirs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qmlir import registry
from qmlir.arithmetic.arrays import Array


@dataclass(frozen=True)
class Observer:
    """Two functions, whose values JSON holds exactly: numbers, strings, lists and objects."""

    of: Callable[[Array], Any]
    """What is kept of one array of finite floats, as the run has it: with its shape, the batch included."""

    merge: Callable[[Any, Any], Any]
    """What is kept of two parts of the arrays, of what is kept of each; the order of the parts is that of the samples.

    It must not matter how the samples are divided into parts: `merge` is associative."""


def observer_names() -> list[str]:
    """The names of all observers."""
    return sorted(registry.named("observers"))


def _checked(row: registry.Named, function: Callable[..., Any], *arguments: Any) -> Any:
    found = row.call(function, *arguments)
    try:
        text = json.dumps(found, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise row.error(f"must return data that JSON can represent: {error}", function) from error
    if json.loads(text) != found:
        raise row.error(f"must return data that JSON represents exactly, but returned {text[:60]}", function)
    return found


def kept_of(name: str, values: Array) -> Any:
    """What the observer `name` keeps of an array. Raises `PackageError` where it fails."""
    row = registry.named("observers")[name]
    return _checked(row, row.load(Observer).of, values)


def merged_kept(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of the arrays of both, by observer. Raises `PackageError` where one fails."""
    found = {**one, **other}
    for name in one.keys() & other.keys():
        row = registry.named("observers").get(name)
        if row is None:
            raise registry.PackageError(f"cannot merge data of observer '{name}': no installed package provides it")
        found[name] = _checked(row, row.load(Observer).merge, one[name], other[name])
    return found
