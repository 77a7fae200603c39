"""Arrays in files, row by row: an `.npz` file is never held in memory as a whole.

A file comes in; out come its arrays by name (an empty one for the array of an `.npy` file) with shape and rows, the
slices along the first axis.
"""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qmlir.ir.diagnostics import DiagnosticError, text_error

Array = npt.NDArray[Any]

_READ_BYTES = 1 << 16
"""So much is read of an array at a time, or one row where that is more."""


class Rows(Protocol):
    """An array that may be larger than memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, as of an array."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """The slices along the first axis, each an array."""
        ...


@dataclass(frozen=True)
class _Archived:
    """One array of an `.npz` file."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool

    def __iter__(self) -> Iterator[Array]:
        if self.is_fortran:
            yield from self.whole()
            return
        row = self.shape[1:]
        row_bytes = self.dtype.itemsize * int(np.prod(row, dtype=np.int64))
        with zipfile.ZipFile(self.path) as archive, archive.open(f"{self.name}.npy") as member:
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
        """All of the array."""
        with np.load(self.path, allow_pickle=False) as loaded:
            return loaded[self.name]


def whole(rows: Rows) -> Array:
    """All of an array."""
    return rows.whole() if isinstance(rows, _Archived) else np.asarray(rows)


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    return shape, is_fortran, dtype


def _archived(path: Path) -> Iterator[tuple[str, Rows]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as file:
                shape, is_fortran, dtype = _read_header(file)
            if dtype.hasobject:
                raise ValueError("objects")
            name = member.removesuffix(".npy")
            yield name, _Archived(path, name, shape, dtype, is_fortran)


def arrays_of(path: Path) -> dict[str, Rows]:
    """The arrays of an `.npz` or `.npy` file, which are read when they are iterated. Raises `DiagnosticError`."""
    try:
        if path.suffix == ".npz":
            return dict(_archived(path))
        loaded: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(loaded, np.ndarray):
            raise ValueError("an archive under the name of an array")
        return {"": loaded}
    except OSError as error:
        raise text_error(f"cannot read '{path}': {error.strerror or error}") from error
    except DiagnosticError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise text_error(f"cannot read '{path}': it is no .npy or .npz file of plain arrays") from error
