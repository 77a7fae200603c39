"""Where samples come from: files, folders of arrays or images, arrays, loaders and readers of other tools.

What a user has comes in, recognized by what it can do and never by its library, so that none is imported. Out comes
`Opened`: items one after the other, or arrays with a leading axis of samples. Nothing is read before it is needed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from qmlir import interpreter
from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.archives import ArchiveRows, arrays_of, whole
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.registry.faults import one_line
from qmlir.registry.package import module_at
from qmlir.specialization.inputs import shape_text
from qmlir.text.files import note_samples, path_of

Item: TypeAlias = Mapping[str, Any] | Sequence[Any] | Array

Preprocess: TypeAlias = str | Callable[[Any], Any]
"""What makes the input of an item: a function, or its name, `package.module:function` or `file.py:function`."""


@dataclass(frozen=True)
class Labelled:
    """An `.npz` file of samples that holds their labels too: no data for a model that has no input of that name."""

    path: Path
    labels: str
    """The name of the array."""


@dataclass(frozen=True)
class Preprocessed:
    """Data each item of which goes through a function: an image as Pillow opens it in RGB, a row of one array, rows by
    name of several, or what a loader gives."""

    data: "Data"
    function: Preprocess


@dataclass(frozen=True)
class Limited:
    """The first samples of data."""

    data: "Data"
    samples: int

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise text_error(f"the number of samples must be at least 1, but got {self.samples}")


Data: TypeAlias = str | PathLike[str] | Labelled | Preprocessed | Limited | Mapping[str, Any] | Array | Iterable[Any]
"""A path, arrays by name or one array with a leading axis of samples, or items: arrays by name, in order, or one.

Loaders and readers of other tools give items too: a DataLoader or a Dataset of torch, what has `get_next` (ONNX
Runtime's CalibrationDataReader) or `get_inference_data` (NNCF's Dataset), and a function that gives an iterator.
"""

_ARRAYS = (".npy", ".npz")

_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".pgm", ".tif", ".tiff", ".webp")


@dataclass
class Opened:
    """Items, or arrays by name with a leading axis of samples."""

    items: Iterator[Any]
    count: int | None = None
    """How many items there are, where that is known."""

    stacked: Mapping[str, ArchiveRows] | None = None
    """The arrays, in place of items."""

    samples: int | None = None
    """How many samples there are, where the data says it."""


def is_array(value: Any) -> bool:
    """Whether `value` is an array, of NumPy or of another library."""
    return isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__array_interface__")


def array_of(value: Any) -> Array:
    """`value` as an array of NumPy; a tensor of torch may have a gradient or lie on a device.

    Raises `DiagnosticError` where it is none.
    """
    if isinstance(value, np.ndarray):
        return np.asarray(cast(Array, value))
    try:
        given: Any = value
        for method in ("detach", "cpu"):
            found: Any = getattr(given, method, None)
            given = given if found is None else found()
        if str(getattr(given, "dtype", "")) == "torch.bfloat16":  # NumPy has no name for it
            given = given.float()
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise text_error(f"cannot convert {type(value).__name__} to an array: {one_line(error)}") from error


def opened(data: Data) -> Opened:
    """The items of `data`. Raises `DiagnosticError` for a path that holds no samples, and for what has no items."""
    if isinstance(data, Preprocessed):
        return _preprocessed(data)
    if isinstance(data, Limited):
        return opened(data.data)  # items may be batches: who takes samples out of them counts these
    if isinstance(data, str | PathLike):
        path = path_of(data)
        if path.is_dir():
            return _folder(path)
        if path.suffix.lower() in _IMAGES:
            return _images([path])
        return _stacked(arrays_of(path))
    if isinstance(data, Labelled):
        return _stacked(arrays_of(data.path))
    if isinstance(data, Mapping):
        named = cast(Mapping[str, Any], data)
        return _stacked({name: array_of(value) for name, value in named.items()})
    if is_array(data):
        return _stacked({"": array_of(data)})
    return _given(data)


def _stacked(arrays: Mapping[str, ArchiveRows]) -> Opened:
    return Opened(iter(()), stacked=arrays)


def _given(data: Any) -> Opened:
    """What is no array and no path: an iterable, or one of the readers of other tools."""
    if hasattr(data, "get_inference_data"):
        data = data.get_inference_data()
    if callable(getattr(data, "get_next", None)):
        return Opened(iter(data.get_next, None))
    if not hasattr(data, "__iter__"):
        if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
            count = len(data)
            return Opened((data[place] for place in range(count)), count, samples=count)
        if callable(data):
            return _given(data())
        raise text_error(
            f"data must be a path, an array, a dict of arrays, or an iterable of these, but got {type(data).__name__}"
        )
    return Opened(iter(data), _length(data), samples=_length(getattr(data, "dataset", None)))


def _length(value: Any) -> int | None:
    return len(value) if hasattr(value, "__len__") else None


def _folder(folder: Path) -> Opened:
    note_samples(folder)
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in _ARRAYS)
    if paths:
        files = ({name: whole(rows) for name, rows in arrays_of(path).items()} for path in paths)
        return Opened(files, len(paths))
    images = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _IMAGES)
    if not images:
        raise text_error(f"folder '{folder}' contains no .npy or .npz files and no images ({', '.join(_IMAGES)})")
    return _images(images)


@dataclass(frozen=True)
class ImageFile:
    """An image, which only a preprocessing makes a sample of."""

    path: Path

    def open(self) -> Any:
        """The image as Pillow has it, in RGB. Raises `DiagnosticError`."""
        if find_spec("PIL") is None:
            raise text_error("reading images requires Pillow; run pip install 'qmlir[images]'")
        return interpreter.open_image(self.path)


def _images(paths: Sequence[Path]) -> Opened:
    return Opened(map(ImageFile, paths), len(paths), samples=len(paths))


# Preprocessing


def named_function(name: str) -> Callable[[Any], Any]:
    """The function that `package.module:function` or `file.py:function` names. Raises `DiagnosticError`."""
    module, colon, function = name.partition(":")
    if not colon:
        raise text_error(f"'{name}' does not name a function; use package.module:function or file.py:function")
    try:
        found: Any = module_at(module)
        for part in function.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # whatever a module of the user does at import
        hint = " (of a file that is not installed: file.py:function)" if isinstance(error, ImportError) else ""
        raise text_error(f"cannot load preprocessing function '{name}': {one_line(error)}{hint}") from error
    if not callable(found):
        raise text_error(f"--preprocess '{name}' must be a function, but got {type(found).__name__}")
    return found


def preprocessed(data: Data, function: Preprocess | None) -> Data:
    """`data`, each item of which goes through `function` where there is one."""
    return data if function is None else Preprocessed(data, function)


def limited(data: Data, samples: int | None) -> Data:
    """The first `samples` of `data`; all of them without a number."""
    return data if samples is None else Limited(data, samples)


def _preprocessed(data: Preprocessed) -> Opened:
    function = named_function(data.function) if isinstance(data.function, str) else data.function
    title = data.function if isinstance(data.function, str) else getattr(function, "__qualname__", repr(function))
    found = opened(data.data)
    items, count = (found.items, found.count) if found.stacked is None else _rows(found.stacked)
    samples = count if found.stacked is not None else found.samples
    return Opened(_applied(function, str(title), items), count, samples=samples)


def _rows(arrays: Mapping[str, ArchiveRows]) -> tuple[Iterator[Any], int]:
    """The samples of arrays, each a row of the only array or rows by name, and how many they are."""
    sizes = {each.shape[0] if each.shape else -1 for each in arrays.values()}
    if len(sizes) != 1 or -1 in sizes:
        found = ", ".join(f"{name} {shape_text(each.shape)}" for name, each in arrays.items())
        raise text_error(
            f"preprocessing needs arrays with the same number of samples along the first axis, but got shapes {found}"
        )
    samples = zip(*arrays.values(), strict=True)
    if len(arrays) == 1:
        return (row for (row,) in samples), sizes.pop()
    return (dict(zip(arrays, each, strict=True)) for each in samples), sizes.pop()


def _applied(function: Callable[[Any], Any], title: str, items: Iterator[Any]) -> Iterator[Any]:
    for place, item in enumerate(items):
        given = item.open() if isinstance(item, ImageFile) else item
        try:
            made = function(given)
        except DiagnosticError:
            raise
        except Exception as error:  # whatever a function of the user raises
            what = f"'{item.path}'" if isinstance(item, ImageFile) else f"item {place}"
            raise text_error(f"preprocessing function '{title}' failed on {what}: {one_line(error)}") from error
        yield made
