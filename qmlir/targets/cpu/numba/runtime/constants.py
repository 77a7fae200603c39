"""Constants of a program: arrays mapped from a safetensors file, so that nothing is read before it is used."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_DTYPES = {
    "BOOL": np.int8, "I8": np.int8, "U8": np.uint8, "I16": np.int16, "U16": np.uint16, "I32": np.int32,
    "U32": np.uint32, "I64": np.int64, "U64": np.uint64, "F16": np.uint16, "BF16": np.uint16, "F32": np.float32,
    "F64": np.float64,
}  # fmt: skip
"""Name of a type in the file to that of the array; short floats are held as their bits."""


def _header(path: Path, data: npt.NDArray[Any]) -> tuple[dict[str, Any], npt.NDArray[Any]]:
    """What the file says of its tensors, and their bytes."""
    try:
        length = int(data[:8].view("<u8")[0])
        header = json.loads(bytes(data[8 : 8 + length]))
    except (IndexError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} is damaged: it has no header of constants") from error
    return header, data[8 + length :]


def mapped(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a safetensors file by name, read-only views of the mapped file.

    The format is 8 bytes of a length, a JSON header of that length with type, shape and place of each tensor, and data.
    Raises `ValueError` where the file is not whole.
    """
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is damaged: it is empty")
    header, data = _header(path, np.memmap(path, np.uint8, mode="r"))
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if end > data.size:
            raise ValueError(f"{path} is damaged: it ends before the constant '{name}' does")
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        flat: npt.NDArray[Any] = data[begin:end].view(np.ndarray)
        array = flat.view(dtype) if flat.ctypes.data % dtype.itemsize == 0 else np.frombuffer(flat.tobytes(), dtype)
        arrays[name] = array.reshape(entry["shape"])
    return arrays
