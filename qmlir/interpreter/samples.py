"""Samples for a function: what a user has, as the arguments of one run after the other.

Data is a file or a folder of arrays, arrays with a leading axis of samples, or anything that gives one item after the
other. It is cut into single samples and put together again in the batches that the function takes: those of its type,
or one sample at a time where its batch size is open. Nothing is read before it is needed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, BFloat16Type, i1
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import shapes_agree
from qmlir.interpreter.archives import ArchiveRows, arrays_of, whole
from qmlir.interpreter.values import value_dtype
from qmlir.ir.builtin_types import AnyTensor, ranked_tensor
from qmlir.ir.diagnostics import Diagnostic, Severity, emit, nearest_name, op_error, text_error
from qmlir.ir.signature import Port, inputs_of
from qmlir.specialization.inputs import shape_text

Item: TypeAlias = Mapping[str, Any] | Sequence[Any] | Array


@dataclass(frozen=True)
class Labelled:
    """An `.npz` file of samples that holds their labels too: no data for a model that has no input of that name."""

    path: Path
    labels: str
    """The name of the array."""


Data: TypeAlias = str | PathLike[str] | Labelled | Mapping[str, Any] | Array | Iterable[Item]
"""A path, arrays by name or one array with a leading axis of samples, or items: arrays by name, in order, or one."""

_BATCH_NAMES = frozenset({"n", "b", "bs", "batch"})
_SEQUENCE_NAMES = frozenset({"t", "l", "s", "time", "seq", "sequence", "len", "length", "steps"})
_SUFFIXES = (".npy", ".npz")


@dataclass(frozen=True)
class Run:
    """The arguments of one run, and the samples that they are of, counted from 0."""

    first: int
    samples: int
    arguments: tuple[Array, ...]


@dataclass
class _Input:
    """One input: how samples are found in what is given for it, and put together."""

    function: FuncOp
    port: Port
    type: AnyTensor
    axis: int | None
    """The axis of the batch, `None` while that is not known, and for inputs that have none."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.get_shape()

    @property
    def described(self) -> str:
        """The input as a user has to give it: name, shape and elements, `image ?x3x224x224 float32`."""
        return f"{self.port.name} {shape_text(self.shape)} {value_dtype(self.type.get_element_type())}"

    def checked(self, value: Any) -> Array:
        array: Array = np.asarray(value)
        element = self.type.get_element_type()
        dtype = value_dtype(element)
        if array.dtype == np.bool_ and element == i1:
            array = array.astype(np.int8)
        if array.dtype == np.dtype("V2") and isinstance(element, BFloat16Type):
            array = cast(Array, array.view(ml_dtypes.bfloat16))  # NumPy's files have no name for it
        if array.dtype != dtype:
            raise op_error(self.function, f"input '{self.port.name}' has elements of {dtype}, found {array.dtype}")
        return array

    def refuse(self, found: Sequence[int]) -> Exception:
        wanted = shape_text(self.shape)
        if self.axis is not None:
            wanted = f"{shape_text(_without(self.shape, self.axis))} for one sample, {wanted} for several"
        return op_error(self.function, f"input '{self.port.name}' has the shape {wanted}, found {shape_text(found)}")

    def is_sample(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape is one sample, without the axis of the batch, which may be found by this."""
        if len(shape) != len(self.shape) - 1:
            return False
        axes = sorted(range(len(self.shape)), key=lambda axis: self.shape[axis] != DYNAMIC_INDEX)
        accepted = (axis for axis in axes if shapes_agree(_without(self.shape, axis), shape))
        if self.axis is None:
            self.axis = next(accepted, None)
            return self.axis is not None
        return self.axis in accepted

    def samples_in(self, value: Any) -> list[Array]:
        """The samples in one item: the item itself, or the parts of a batch."""
        array = self.checked(value)
        if self.is_sample(array.shape):
            return [array]
        if not shapes_agree(self.shape, array.shape):
            raise self.refuse(array.shape)
        if self.axis is None or self.shape[self.axis] != DYNAMIC_INDEX:
            self.axis = None  # what is given is the whole input of a run
            return [array]
        return list(np.moveaxis(array, self.axis, 0))

    def batch(self, samples: Sequence[Array]) -> Array:
        """Several samples as one argument."""
        return samples[0] if self.axis is None else np.ascontiguousarray(np.stack(samples, self.axis))


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _is_batch_name(name: str) -> bool:
    return name.lower() in _BATCH_NAMES or "batch" in name.lower()


def _is_sequence_name(name: str) -> bool:
    return any(part in _SEQUENCE_NAMES for part in name.lower().split("_"))


def _open_axis(port: Port, shape: Sequence[int]) -> int | None:
    """The axis of the batch among those of unknown size, `None` where only the data can tell."""
    axes = [axis for axis, size in enumerate(shape) if size == DYNAMIC_INDEX]
    names = {axis: port.dims[axis] for axis in axes if axis < len(port.dims)}
    named = [axis for axis, name in names.items() if _is_batch_name(name)]
    return next(iter(named), 0 if 0 in axes and not _is_sequence_name(names.get(0, "")) else None)


def _input(function: FuncOp, port: Port) -> _Input:
    type_ = ranked_tensor(port.type)
    if type_ is None or value_dtype(type_.get_element_type()) is None:
        raise op_error(function, f"input '{port.name}' has type {port.type}: only tensors can be given")
    return _Input(function, port, type_, _open_axis(port, type_.get_shape()))


@dataclass
class Samples:
    """The runs that `data` gives for `function`."""

    function: FuncOp
    data: Data
    inputs: list[_Input] = field(init=False)
    total: int | None = field(init=False, default=None)
    """The number of samples, where that is known before they are read."""

    def __post_init__(self) -> None:
        self.inputs = [_input(self.function, port) for port in inputs_of(self.function)]
        if not self.inputs:
            raise op_error(self.function, "has no inputs to give samples for")
        self._items = self._open()

    def __iter__(self) -> Iterator[Run]:
        samples = (sample for item in self._items for sample in self._samples_in(item))
        first = 0
        for head in samples:
            size = self._batch_size()
            group = [head, *islice(samples, size - 1)]
            if len(group) < size:
                self._leave_out(first, len(group), size)
                return
            columns = zip(self.inputs, zip(*group, strict=True), strict=True)
            yield Run(first, size, tuple(each.batch(column) for each, column in columns))
            first += size
        if first == 0:
            raise text_error("there are no samples to run")

    def _leave_out(self, first: int, left: int, size: int) -> None:
        if first == 0:
            raise op_error(self.function, f"takes batches of {size} samples, found {left} in all")
        message = f"the last {left} of {first + left} samples are left out: @{self.function.sym_name.data} takes {size}"
        emit(Diagnostic(Severity.WARNING, f"{message} at a time"))

    def _batch_size(self) -> int:
        """The samples of one run: as many as the types say, one where they leave it open."""
        sizes = {each.shape[each.axis] for each in self.inputs if each.axis is not None} - {DYNAMIC_INDEX}
        if len(sizes) > 1:
            raise op_error(self.function, f"has inputs of different batch sizes: {', '.join(map(str, sorted(sizes)))}")
        return sizes.pop() if sizes else 1

    def _samples_in(self, item: Item) -> Iterator[tuple[Array, ...]]:
        """The samples of one item, each with a value for every input."""
        parts = [each.samples_in(value) for each, value in zip(self.inputs, self._in_order(item), strict=True)]
        counts = {len(part) for each, part in zip(self.inputs, parts, strict=True) if each.axis is not None} or {1}
        if len(counts) > 1:
            raise op_error(self.function, f"is given inputs of {' and '.join(map(str, sorted(counts)))} samples")
        (count,) = counts
        for place in range(count):
            yield tuple(part[place] if len(part) == count else part[0] for part in parts)

    def _in_order(self, item: Item) -> list[Any]:
        if isinstance(item, np.ndarray):
            item = [item]
        names = [each.port.name for each in self.inputs]
        if not isinstance(item, Mapping):
            if isinstance(item, str) or not isinstance(cast(Any, item), Sequence):
                raise op_error(self.function, f"takes arrays, found an item of type {type(item).__name__}")
            if len(item) != len(names):
                raise op_error(self.function, f"takes {len(names)} inputs, found {len(item)}")
            return list(item)
        for name in item:
            if name not in names and not (name == "" and len(names) == 1):
                raise op_error(
                    self.function, f"has no input '{name}'{nearest_name(name, names)} (it has: {self._described()})"
                )
        if "" in item:
            return [item[""]]
        missing = [name for name in names if name not in item]
        if missing:
            listed = ", ".join(each.described for each in self.inputs if each.port.name in missing)
            raise op_error(self.function, f"lacks the input{'s' if len(missing) > 1 else ''} {listed}")
        return [item[name] for name in names]

    def _described(self) -> str:
        return ", ".join(each.described for each in self.inputs)

    def _open(self) -> Iterator[Item]:
        """The items of the data. What has a leading axis of samples gives an item for each."""
        data = self.data
        if isinstance(data, str | PathLike):
            path = Path(data)
            return self._files(path) if path.is_dir() else self._stacked(arrays_of(path))
        if isinstance(data, Labelled):
            arrays = arrays_of(data.path)
            if data.labels not in (each.port.name for each in self.inputs):
                arrays.pop(data.labels, None)
            return self._stacked(arrays)
        if isinstance(data, Mapping):
            return self._stacked({name: np.asarray(value) for name, value in cast(Mapping[str, Any], data).items()})
        if isinstance(data, np.ndarray):
            return self._stacked({"": cast(Array, data)})
        return iter(data)

    def _files(self, folder: Path) -> Iterator[Item]:
        paths = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
        if not paths:
            raise text_error(f"the folder '{folder}' holds no .npy or .npz file")
        for path in paths:
            yield {name: whole(rows) for name, rows in arrays_of(path).items()}

    def _stacked(self, arrays: Mapping[str, ArchiveRows]) -> Iterator[Item]:
        in_order = self._in_order(arrays)
        sizes = {each.shape[0] if each.shape else -1 for each in in_order}
        if len(sizes) > 1 or -1 in sizes:
            found = ", ".join(shape_text(each.shape) for each in in_order)
            raise op_error(self.function, f"is given arrays without one leading axis of samples: {found}")
        for each, rows in zip(self.inputs, in_order, strict=True):
            if not each.is_sample(rows.shape[1:]) and not shapes_agree(each.shape, rows.shape[1:]):
                if len(in_order) == 1 and shapes_agree(each.shape, rows.shape):
                    return iter([[whole(rows)]])  # the batch is not the leading axis: one item
                raise each.refuse(rows.shape[1:])
        (self.total,) = sizes
        return chain(map(list, zip(*in_order, strict=True)))
