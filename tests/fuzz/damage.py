"""Damage that knows nothing of a format: bytes flipped, cut, repeated, spliced and made extreme, words exchanged."""

import re
from collections.abc import Sequence
from functools import cache

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
    for place in sorted(rng.choice(len(words), size=min(len(words), int(rng.integers(1, 4))), replace=False))[::-1]:
        start, stop = words[int(place)].span()
        vocabulary = extremes if rng.random() < 0.5 else _words_of(tuple(others))
        data = data[:start] + vocabulary[int(rng.integers(len(vocabulary)))] + data[stop:]
    return data


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
