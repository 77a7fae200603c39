"""Sources of samples: files, folders of arrays or images, arrays, and the data loaders of other tools.

Data is recognized by its methods, never by its library, so that no library has to be imported. `opened` converts it to
`Opened`: an iterator of items, or arrays with a leading sample axis. Data is read lazily.
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

Preprocess: TypeAlias = str | Callable[[Any], Any]
"""A function that converts an item to a model input, or its name: `package.module:function` or `file.py:function`."""


@dataclass(frozen=True)
class Labelled:
    """An `.npz` file of samples and labels. The labels are ignored unless the model has an input with their name."""

    path: Path
    labels: str
    """The name of the array of labels."""


@dataclass(frozen=True)
class Preprocessed:
    """Data whose items are preprocessed by a function.

    An item is a Pillow image in RGB, a row of a single array, a dictionary of rows of several arrays by name, or an
    item of a data loader.
    """

    data: "Data"
    function: Preprocess


@dataclass(frozen=True)
class Limited:
    """Data that is limited to its first `samples` samples."""

    data: "Data"
    samples: int

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise text_error(f"the number of samples must be at least 1, but got {self.samples}")


Data: TypeAlias = str | PathLike[str] | Labelled | Preprocessed | Limited | Mapping[str, Any] | Array | Iterable[Any]
"""A path, one or several arrays with a leading sample axis, or an iterable of items.

Several arrays are passed by name. An item is one array, or several arrays by name or in the order of the inputs.

Data loaders of other tools are also supported: a DataLoader or Dataset of torch, objects with `get_next` (ONNX
Runtime's CalibrationDataReader) or `get_inference_data` (NNCF's Dataset), and a function that returns an iterator.
"""

_ARRAYS = (".npy", ".npz")

_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".pgm", ".tif", ".tiff", ".webp")


@dataclass
class Opened:
    """Opened data: an iterator of items, or arrays by name with a leading sample axis."""

    items: Iterator[Any]
    count: int | None = None
    """The number of items, if known."""

    stacked: Mapping[str, ArchiveRows] | None = None
    """The arrays, instead of items."""

    samples: int | None = None
    """The number of samples, if the data reports it."""


def is_array(value: Any) -> bool:
    """Returns True if `value` is an array from NumPy or another library."""
    return isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__array_interface__")


def array_of(value: Any) -> Array:
    """Converts `value` to a NumPy array. A torch tensor may require gradients or be on a device.

    Raises `DiagnosticError` if it isn't an array.
    """
    if isinstance(value, np.ndarray):
        return np.asarray(cast(Array, value))
    try:
        given: Any = value
        for method in ("detach", "cpu"):
            found: Any = getattr(given, method, None)
            given = given if found is None else found()
        if str(getattr(given, "dtype", "")) == "torch.bfloat16":  # torch can't convert it to NumPy
            given = given.float()
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise text_error(f"cannot convert {type(value).__name__} to an array: {one_line(error)}") from error


def opened(data: Data) -> Opened:
    """Opens `data`. Raises `DiagnosticError` for a path without samples, and for an object that can't be iterated."""
    if isinstance(data, Preprocessed):
        return _preprocessed(data)
    if isinstance(data, Limited):
        return opened(data.data)  # items may be batches, so the reader of the items limits the samples
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
    """Opens data other than arrays and paths: an iterable, or a data reader of another tool."""
    if hasattr(data, "get_inference_data"):
        data = data.get_inference_data()
    if callable(getattr(data, "get_next", None)):
        return Opened(iter(data.get_next, None))
    if not hasattr(data, "__iter__"):
        if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
            count = len(data)
            return Opened((data[position] for position in range(count)), count, samples=count)
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
    """An image file, which needs a preprocessing function to become a sample."""

    path: Path

    def open(self) -> Any:
        """Opens the image in RGB with Pillow. Raises `DiagnosticError` if that fails or if Pillow isn't installed."""
        if find_spec("PIL") is None:
            raise text_error("reading images requires Pillow; run pip install 'qmlir[images]'")
        return interpreter.open_image(self.path)


def _images(paths: Sequence[Path]) -> Opened:
    return Opened(map(ImageFile, paths), len(paths), samples=len(paths))


# Preprocessing


def named_function(name: str) -> Callable[[Any], Any]:
    """Imports the function `package.module:function` or `file.py:function`. Raises `DiagnosticError` if that fails."""
    module, colon, function = name.partition(":")
    if not colon:
        raise text_error(f"'{name}' does not name a function; use package.module:function or file.py:function")
    try:
        found: Any = module_at(module)
        for part in function.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # importing a user's module may raise anything
        hint = " (of a file that is not installed: file.py:function)" if isinstance(error, ImportError) else ""
        raise text_error(f"cannot load preprocessing function '{name}': {one_line(error)}{hint}") from error
    if not callable(found):
        raise text_error(f"--preprocess '{name}' must be a function, but got {type(found).__name__}")
    return found


def preprocessed(data: Data, function: Preprocess | None) -> Data:
    """Returns `data` with its items preprocessed by `function`, or unchanged if it is `None`."""
    return data if function is None else Preprocessed(data, function)


def limited(data: Data, samples: int | None) -> Data:
    """Returns `data` limited to its first `samples` samples, or unchanged if it is `None`."""
    return data if samples is None else Limited(data, samples)


def _preprocessed(data: Preprocessed) -> Opened:
    function = named_function(data.function) if isinstance(data.function, str) else data.function
    title = data.function if isinstance(data.function, str) else getattr(function, "__qualname__", repr(function))
    found = opened(data.data)
    items, count = (found.items, found.count) if found.stacked is None else _rows(found.stacked)
    samples = count if found.stacked is not None else found.samples
    return Opened(_applied(function, str(title), items), count, samples=samples)


def _rows(arrays: Mapping[str, ArchiveRows]) -> tuple[Iterator[Any], int]:
    """Returns the samples of arrays (rows of a single array, or rows by name) and their number."""
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
    for position, item in enumerate(items):
        given = item.open() if isinstance(item, ImageFile) else item
        try:
            made = function(given)
        except DiagnosticError:
            raise
        except Exception as error:  # a user's function may raise anything
            what = f"'{item.path}'" if isinstance(item, ImageFile) else f"item {position}"
            raise text_error(f"preprocessing function '{title}' failed on {what}: {one_line(error)}") from error
        yield made
