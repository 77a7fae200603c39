"""Constants of a program: arrays that are memory-mapped from a safetensors file.

The file contains the length of a JSON header (8 bytes), the header with the type, shape and offsets of each tensor, and
the data. The program checks the digest of the file, because kernels read constants without checking their sizes.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import CorruptProgramError

_DTYPES = {
    "BOOL": np.int8, "I8": np.int8, "U8": np.uint8, "I16": np.int16, "U16": np.uint16, "I32": np.int32,
    "U32": np.uint32, "I64": np.int64, "U64": np.uint64, "F16": np.uint16, "BF16": np.uint16, "F32": np.float32,
    "F64": np.float64,
}  # fmt: skip
"""The NumPy type of each type in the file; f16 and bf16 are represented by their bits."""

is_checked = False
"""True if the digest was already checked, as it is for all files of a cache entry."""


def mapped(path: Path, digest: str) -> dict[str, npt.NDArray[Any]]:
    """Returns the arrays of a safetensors file by name, as read-only views of the mapped file.

    Raises `CorruptProgramError` if the file is missing or empty, or if its SHA-256 is not `digest`.
    """
    if not path.is_file() or path.stat().st_size == 0:
        raise CorruptProgramError(f"{path} is damaged: it is {'empty' if path.is_file() else 'not a file'}")
    file = np.memmap(path, np.uint8, mode="r")
    if not is_checked and hashlib.sha256(file.data).hexdigest() != digest:
        raise CorruptProgramError(
            f"{path} is damaged: it differs from the file written with the program; compile the model again"
        )
    length = int(file[:8].view("<u8")[0])
    header, data = json.loads(bytes(file[8 : 8 + length])), file[8 + length :]
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        flat: npt.NDArray[Any] = data[begin:end].view(np.ndarray)
        array = flat.view(dtype) if flat.ctypes.data % dtype.itemsize == 0 else np.frombuffer(flat.tobytes(), dtype)
        arrays[name] = array.reshape(entry["shape"])
    return arrays
