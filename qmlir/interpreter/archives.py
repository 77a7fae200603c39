"""Reads arrays from files row by row, without loading a whole `.npz` file into memory.

`arrays_of` returns the arrays of a file by name (an empty name for an `.npy` file). Each has a shape and can be
iterated over its rows, the slices along the first axis.
"""

import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.ir.limits import budget, over
from qmlir.text.files import mistaken_for, note_input, reason_of

_READ_BYTES = 1 << 16
"""The number of bytes of an array that are read at a time, unless a single row is larger."""

EXPANSION = 200
"""The compression ratio above which the size of an array is limited, so that a small file can't exhaust the memory."""

_NO_ARRAYS = (
    ValueError, EOFError, OverflowError, RecursionError, NotImplementedError, KeyError, struct.error,
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""Exceptions that zipfile, its decompressors and NumPy raise for malformed bytes."""


class ArchiveRows(Protocol):
    """The rows of an array that may be larger than memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Yields the slices along the first axis, each an array."""
        ...


@dataclass(frozen=True)
class _Archived:
    """One array of an `.npz` file."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    member: str
    packed: int
    """The size of the compressed array in the file, in bytes."""

    def _check_size(self, size: int) -> None:
        """Raises `DiagnosticError` if `size` bytes are too many for the compressed size."""
        if size > budget("packed-bytes") and size > EXPANSION * self.packed:
            raise text_error(
                f"cannot read '{self.path}': array '{self.name}' takes {self.packed} bytes in it, and in memory "
                f"{over('packed-bytes', size)}"
            )

    def __iter__(self) -> Iterator[Array]:
        if self.is_fortran:
            yield from self.whole()
            return
        row = self.shape[1:]
        row_bytes = self.dtype.itemsize * math.prod(row)
        self._check_size(row_bytes)
        with _told(self.path), zipfile.ZipFile(self.path) as archive, archive.open(self.member) as member:
            _read_header(member)
            left = self.shape[0]
            while left:
                count = min(left, max(1, _READ_BYTES // max(row_bytes, 1)))
                data = member.read(count * row_bytes)
                if len(data) != count * row_bytes:
                    raise text_error(f"cannot read '{self.path}': array '{self.name}' is cut off")
                yield from np.frombuffer(data, self.dtype).reshape(count, *row)
                left -= count

    def whole(self) -> Array:
        """Reads the whole array into memory."""
        self._check_size(self.dtype.itemsize * math.prod(self.shape))
        with _told(self.path), zipfile.ZipFile(self.path) as archive, archive.open(self.member) as member:
            return np.lib.format.read_array(member, allow_pickle=False)


def whole(rows: ArchiveRows) -> Array:
    """Returns all rows as one array in memory."""
    return rows.whole() if isinstance(rows, _Archived) else np.asarray(rows)


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, is_fortran, dtype = read(file)
    except (TypeError, SyntaxError, tokenize.TokenError) as error:  # NumPy parses the header as Python code
        raise ValueError("no header") from error
    if dtype.hasobject:
        raise text_error(
            "it contains Python objects, which cannot be loaded safely; help: save text with array.astype(str)"
        )
    if any(type(size) is not int or size < 0 for size in shape):  # NumPy accepts True as a size
        raise ValueError("no plain array")
    return shape, is_fortran, dtype


@contextmanager
def _told(path: Path) -> Generator[None]:
    """Turns errors about malformed files inside the `with` block into `DiagnosticError` with the path."""
    try:
        yield
    except DiagnosticError as error:
        message = error.diagnostic.message
        raise error if str(path) in message else text_error(f"cannot read '{path}': {message}") from error
    except OSError as error:
        raise text_error(f"cannot read '{path}': {reason_of(error) if error.strerror else 'it is damaged'}") from error
    except _NO_ARRAYS as error:
        raise text_error(
            f"cannot read '{path}': it is not a .npy or .npz file of plain arrays, or it is damaged"
        ) from error


def _archived(path: Path) -> Iterator[tuple[str, ArchiveRows]]:
    with zipfile.ZipFile(path) as archive:
        for each in archive.infolist():
            if each.flag_bits & 1:
                raise text_error(f"cannot read '{path}': '{each.filename}' in it is encrypted")
            with archive.open(each) as file:
                shape, is_fortran, dtype = _read_header(file)
                if file.tell() + dtype.itemsize * math.prod(shape) != each.file_size:
                    raise ValueError("a size that is not that of the array")
            name = each.filename.removesuffix(".npy")
            yield name, _Archived(path, name, shape, dtype, is_fortran, each.filename, each.compress_size)


def arrays_of(path: Path, *, is_input: bool = True) -> dict[str, ArchiveRows]:
    """Returns the arrays of an `.npz` or `.npy` file; their elements are read lazily.

    `is_input` is False for a file that the run itself has written, such as a checkpoint. Raises `DiagnosticError` for
    other files.
    """
    if is_input:
        note_input(path)
    with _told(path):
        if path.exists() and not path.is_file() and not path.is_dir():  # reading a device or a pipe may never end
            raise text_error(f"cannot read '{path}': it is not a regular file")
        if zipfile.is_zipfile(path):
            return dict(_archived(path))
        with path.open("rb") as file:
            start = file.read(64)
            if (instead := mistaken_for(start)) and not start.startswith(b"PK"):  # PK: a truncated .npz file
                raise text_error(f"cannot read '{path}': it is {instead}")
            file.seek(0)
            _read_header(file)
        return {"": np.lib.format.open_memmap(path, mode="r")}
