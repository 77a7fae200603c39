"""Reads tables of a FlatBuffer, whose offsets and lengths are checked before use.

A file is untrusted input: the accessors of generated code follow its offsets without a check. `Table` checks that a
table, its fields, strings and vectors are inside the buffer, and the buffer limits the elements of all vectors.
"""

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array


class MalformedError(Exception):
    """Raised if an offset, a length or a number of the file is invalid."""


@dataclass
class FileBuffer:
    """The bytes of a file, and the number of elements that its vectors may still have."""

    data: bytes
    elements: int = field(init=False)

    def __post_init__(self) -> None:
        # Vectors rarely overlap (equal strings may be stored once), so their elements are fewer than its bytes.
        self.elements = 4 * len(self.data)

    def number(self, layout: str, position: int) -> Any:
        """Returns the number at `position`; `layout` is its format in the module `struct`."""
        if not 0 <= position <= len(self.data) - struct.calcsize(layout):
            raise MalformedError(f"offset {position} is outside the file")
        return struct.unpack_from(layout, self.data, position)[0]

    def reference(self, position: int) -> int:
        """Returns the target of the offset at `position`."""
        return position + self.number("<I", position)

    def vector(self, position: int, size: int) -> tuple[int, int]:
        """Returns the start and the number of elements, of `size` bytes, of the vector at `position`."""
        count = self.number("<I", position)
        if count * size > len(self.data) - position - 4:
            raise MalformedError(f"a vector of {count} elements at {position} is longer than the file")
        self.elements -= count
        if self.elements < 0:
            raise MalformedError("its vectors overlap")
        return position + 4, count


class Table:
    """A table at a position of the buffer. Fields are numbered in the order of the schema."""

    def __init__(self, buffer: FileBuffer, position: int):
        self.buffer, self.position = buffer, position
        self.fields = position - buffer.number("<i", position)
        self._fields_size, self._size = (buffer.number("<H", self.fields + at) for at in (0, 2))
        if self._fields_size < 4 or self.fields + self._fields_size > len(buffer.data):
            raise MalformedError(f"the list of fields at {self.fields} is outside the file")
        if position + self._size > len(buffer.data):
            raise MalformedError(f"the table at {position} is outside the file")

    def place(self, slot: int, size: int) -> int | None:
        """Returns the position of a field of `size` bytes; `None` if the table omits it."""
        entry = 4 + 2 * slot
        offset = self.buffer.number("<H", self.fields + entry) if entry + 2 <= self._fields_size else 0
        if offset == 0:
            return None
        if offset + size > self._size:
            raise MalformedError(f"field {slot} of the table at {self.position} is outside the table")
        return self.position + offset

    def number(self, slot: int, layout: str, default: Any = 0) -> Any:
        """Returns the number in a field."""
        place = self.place(slot, struct.calcsize(layout))
        return default if place is None else self.buffer.number(layout, place)

    def table(self, slot: int) -> "Table | None":
        """Returns the table in a field, or `None`."""
        place = self.place(slot, 4)
        return None if place is None else Table(self.buffer, self.buffer.reference(place))

    def _vector(self, slot: int, size: int) -> tuple[int, int]:
        place = self.place(slot, 4)
        return (0, 0) if place is None else self.buffer.vector(self.buffer.reference(place), size)

    def numbers(self, slot: int, dtype: npt.DTypeLike) -> Array:
        """Returns the vector of numbers in a field as a read-only array; empty if the table omits it."""
        kind = np.dtype(dtype).newbyteorder("<")
        start, count = self._vector(slot, kind.itemsize)
        return np.frombuffer(self.buffer.data, kind, count, start)

    def span(self, slot: int) -> tuple[int, int]:
        """Returns the start and the length of the vector of bytes in a field."""
        return self._vector(slot, 1)

    def tables(self, slot: int) -> list["Table"]:
        """Returns the vector of tables in a field."""
        start, count = self._vector(slot, 4)
        return [Table(self.buffer, self.buffer.reference(start + 4 * index)) for index in range(count)]

    def text(self, slot: int) -> str:
        """Returns the string in a field; bytes that aren't UTF-8 are escaped."""
        start, count = self._vector(slot, 1)
        return self.buffer.data[start : start + count].decode("utf-8", "backslashreplace")


def root(data: bytes, identifier: bytes) -> Table:
    """Returns the root table of a file with this identifier. Raises `MalformedError`."""
    if data[4:8] != identifier:
        raise MalformedError(f"bytes 4 to 7 must be {identifier!r}, but are {data[4:8]!r}")
    buffer = FileBuffer(data)
    return Table(buffer, buffer.reference(0))
