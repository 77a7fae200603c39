"""Observers of packages: additional data about observed arrays, for the packages' own calibrators."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qmlir import registry
from qmlir.arithmetic.arrays import Array


@dataclass(frozen=True)
class Observer:
    """A pair of functions that collect data; the data must be exactly representable in JSON."""

    of: Callable[[Array], Any]
    """Returns the data of one array of finite floats in its run-time shape, batch included."""

    merge: Callable[[Any, Any], Any]
    """Merges the data of two parts of the arrays, in sample order.

    It must be associative, so that the partition of the samples does not matter.
    """


def observer_names() -> list[str]:
    """Returns the sorted names of all observers."""
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
    """Returns the data that observer `name` collects from an array. Raises `PackageError` if it fails."""
    row = registry.named("observers")[name]
    return _checked(row, row.load(Observer).of, values)


def merged_kept(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Merges the data of both sides, per observer. Raises `PackageError` if an observer fails or is missing."""
    found = {**one, **other}
    for name in one.keys() & other.keys():
        row = registry.named("observers").get(name)
        if row is None:
            raise registry.PackageError(f"cannot merge data of observer '{name}': no installed package provides it")
        found[name] = _checked(row, row.load(Observer).merge, one[name], other[name])
    return found
