"""Results of workflows as the plain values that JSON has."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from os import PathLike, fspath
from typing import Any, cast

import numpy as np


def plain(value: Any, *, number: Callable[[float], float] = float, text: Callable[[str], str] = str) -> Any:
    """`value` as JSON has it: dataclasses as objects, arrays as lists, NaN and infinities as null.

    Finite floats are written as `number` gives them, strings and keys as `text` does. Raises `TypeError` for what has
    no such form.
    """
    again = partial(plain, number=number, text=text)
    match value:
        case Enum():
            return again(value.value)
        case None | bool() | int():
            return value
        case str():
            return text(value)
        case float() | np.floating():
            found = float(cast(Any, value))
            return number(found) if math.isfinite(found) else None
        case np.bool_():
            return bool(value)
        case np.integer():
            return int(cast(Any, value))
        case np.ndarray():
            return again(cast(Any, value).tolist())
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
        case _:
            raise TypeError(f"cannot write {type(value).__name__} as JSON")
