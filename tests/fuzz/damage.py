"""Damage that knows little of a format: bytes flipped, cut, repeated, spliced and made extreme, words exchanged.

Of JSON the structure is known: keys go, are renamed and occur twice, values get another type, or are nested and huge.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

_WORD = re.compile(rb"[\w.+-]+|\"[^\"\n]*\"|[^\w\s]")


def damage_bytes(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """`data` after one to four changes; `others` are whole files, from which pieces may come."""
    for _ in range(int(rng.integers(1, 5))):
        data = _CHANGES[int(rng.integers(len(_CHANGES)))](rng, data, others)
    return data


@cache
def _words_of(files: tuple[bytes, ...]) -> list[bytes]:
    return [word for data in files for word in _WORD.findall(data)]


def damage_words(rng: np.random.Generator, data: bytes, others: Sequence[bytes], extremes: Sequence[bytes]) -> bytes:
    """One to three words exchanged for those of all files or `extremes` most of the time, else `damage_bytes`."""
    words = list(_WORD.finditer(data))
    if not words or rng.random() < 0.3:
        return damage_bytes(rng, data, others)
    for position in sorted(rng.choice(len(words), size=min(len(words), int(rng.integers(1, 4))), replace=False))[::-1]:
        start, stop = words[int(position)].span()
        vocabulary = extremes if rng.random() < 0.5 else _words_of(tuple(others))
        data = data[:start] + vocabulary[int(rng.integers(len(vocabulary)))] + data[stop:]
    return data


_JSON_EXTREMES = (
    *rb'''null true false 0 -1 1 0.5 -0.0 1e999 -1e308 1e-320 NaN Infinity -Infinity 18446744073709551616 [] {} [[]]
    [null] {"":0} "" "x" "1" "../x" "/dev/null" "a\u0000b" "\ud800" "\u202e" "\n" [1,2,3] {"name":1}'''.split(),
    b"9" * 5000, b"-" + b"9" * 400, b"[" * 65 + b"]" * 65, b"[" * 5000 + b"]" * 5000,
    b'{"a":' * 900 + b"1" + b"}" * 900,
    b"[" * 200_000, b'"' + b"x" * 100_000 + b'"', b"[" + b"0," * 50_000 + b"0]",
)  # fmt: skip
_MARK = "\x1amark"


def _json_places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each list or object of a value with each of its indices or keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _json_places(value[key])


def damage_json(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """One or two changes of the keys and values of JSON most of the time, else `damage_bytes`."""
    if rng.random() < 0.25:
        return damage_bytes(rng, data, others)
    value = [json.loads(data)]
    extremes: list[bytes] = []
    twice = False
    for _ in range(int(rng.choice([1, 1, 2]))):
        positions = list(_json_places(value))
        holder, key = positions[int(rng.integers(len(positions)))]
        other, other_key = positions[int(rng.integers(len(positions)))]
        match int(rng.integers(8)):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[f"{key}x"] = holder.pop(key)
            case 2 if isinstance(holder, dict):
                twice = True
            case 3:
                copy = json.loads(json.dumps(other[other_key]))
                holder[key] = copy
            case _:
                holder[key] = f"{_MARK}{len(extremes)}"
                extremes.append(_JSON_EXTREMES[int(rng.integers(len(_JSON_EXTREMES)))])
    text = json.dumps(value[0]).encode() if value else b""
    for position, extreme in enumerate(extremes):
        text = text.replace(json.dumps(f"{_MARK}{position}").encode(), extreme)
    return text.replace(b": ", b': 1, "twice": 2, "twice": ', 1) if twice else text


def piece(rng: np.random.Generator, data: bytes, longest: int = 64) -> slice:
    """A random range of `data`, empty only where `data` is."""
    start = int(rng.integers(max(len(data), 1)))
    return slice(start, min(len(data), start + int(rng.integers(1, longest + 1))))


def _flip(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if data else 0):
        changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _extreme(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    where = piece(rng, data, 8)
    value = (b"\0", b"\xff", b"\x7f", b"\x80")[int(rng.integers(4))]
    return data[: where.start] + value * (where.stop - where.start) + data[where.stop :]


def _cut(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _drop(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    where = piece(rng, data)
    return data[: where.start] + data[where.stop :]


def _repeat(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    where = piece(rng, data)
    return data[: where.stop] + data[where] * int(rng.integers(1, 4)) + data[where.stop :]


def _splice(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    other = others[int(rng.integers(len(others)))]
    return data[: piece(rng, data).start] + other[piece(rng, other, 256)] + data[piece(rng, data).start :]


_CHANGES = (_flip, _extreme, _cut, _drop, _repeat, _splice)
