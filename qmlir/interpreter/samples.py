"""Converts a user's data to the arguments of successive runs of a function.

Data is a file or a folder of arrays, arrays with a leading sample axis, or an iterable of items. It is split into
single samples, which are combined into batches of the size in the function's type, or passed one at a time if the
batch size is dynamic. Data is read lazily. An array whose type differs from the type of its input is converted if that
is safe, and a message reports it once. Errors about other arrays suggest a fix.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, permutations
from math import prod
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, BFloat16Type, ModuleOp, i1
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import plain_type, shapes_agree
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.archives import ArchiveRows, whole
from qmlir.interpreter.datasets import Data as Data
from qmlir.interpreter.datasets import ImageFile, Labelled, Limited, Opened, array_of, is_array, opened
from qmlir.interpreter.values import value_dtype
from qmlir.ir.builtin_types import AnyTensor, ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, nearest_name, op_error, text_error, warn, warn_once
from qmlir.ir.signature import Port, inputs_of
from qmlir.specialization.batch import BatchAxes, batch_of, proof_of
from qmlir.specialization.inputs import input_shapes, shape_text
from qmlir.text.tables import counted

# One input: finds the samples in arrays, and combines them into arguments.

_BATCH_NAMES = frozenset({"n", "b", "bs"})
_SEQUENCE_NAMES = frozenset(
    {"t", "l", "s", "time", "times", "seq", "sequence", "len", "length", "step", "steps", "frame", "frames", "tokens"}
)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Returns True if `dtype` is a float type, including bf16."""
    return dtype.kind == "f" or dtype == ml_dtypes.bfloat16


@dataclass
class SampledInput:
    """An input of a function, with methods that find samples in user arrays and combine samples into batches."""

    function: FuncOp
    port: Port
    type: AnyTensor
    axis: int | None
    """The batch axis, or `None` if it isn't known yet or if the input has none."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.get_shape()

    @property
    def described(self) -> str:
        """Returns a description of the array to pass for this input, such as `image ?x3x224x224 float32`."""
        dtype = value_dtype(self.type.get_element_type())
        return f"{self.port.name} {shape_text(self.shape)} {'text' if dtype == np.object_ else dtype}"

    def _error(self, message: str) -> DiagnosticError:
        return op_error(self.function, f"input '{self.port.name}' {message}")

    def checked(self, value: Any) -> Array:
        """Returns `value` as an array of the NumPy type of the input, converted if that is safe."""
        array = array_of(value)
        element = self.type.get_element_type()
        dtype = value_dtype(element)
        assert dtype is not None
        if array.dtype == np.bool_ and element == i1:
            array = array.astype(np.int8)
        if dtype == np.object_ and array.dtype.kind == "U":  # NumPy files store text in this type
            array = array.astype(np.object_)
        if array.dtype == np.dtype("V2") and isinstance(element, BFloat16Type):
            array = cast(Array, array.view(ml_dtypes.bfloat16))  # NumPy files can't name bf16
        if isinstance(element, UniformQuantizedType) and is_float(array.dtype):
            return array.astype(np.float32, copy=False)  # runs of the model quantize it: `real_values`
        return array if array.dtype == dtype else self._converted(array, dtype)

    def _converted(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """Converts `array`: floats and bytes to floats, integers to wider ones or to types that hold their values."""
        found = array.dtype
        if dtype == np.object_:
            raise self._error(f"must be text, but got {found}; help: pass array.astype(str)")
        what = f"must be {dtype}, but got {found}"
        is_plain = plain_type(self.type.get_element_type()) == self.type.get_element_type()
        if is_plain and is_float(dtype) and (is_float(found) or found == np.uint8):
            told = "" if is_float(found) else "; its values stay 0 to 255, but many models expect 0 to 1"
            with np.errstate(over="ignore"):
                made = array.astype(dtype)
            if is_float(found) and not np.array_equal(np.isinf(made), np.isinf(array)):
                raise self._error(f"{what} with values too large for {dtype}")
        elif is_plain and dtype.kind in "iu" and found.kind in "iub" and self.type.get_element_type() != i1:
            made, told = array.astype(dtype), ""
            if not np.array_equal(made, array):
                raise self._error(f"{what} with values out of the range of {dtype}")
        else:
            raise self._error(f"{what}; help: pass array.astype('{dtype}') if that keeps the values")
        warn_once(f"converting input '{self.port.name}' from {found} to {dtype}{told}")
        return made

    def refuse(self, rows: Sequence[int], is_row: bool = False) -> Exception:
        """Returns the error about an array of shape `rows` or, with `is_row`, about the rows of such an array."""
        found = rows[1:] if is_row else rows
        wanted = shape_text(self.shape)
        axis = 0 if self.axis is None and len(found) == len(self.shape) - 1 else self.axis
        sample = self.shape if axis is None else _without(self.shape, axis)
        if self.axis is not None:
            wanted = f"{shape_text(sample)} (one sample) or {wanted} (a batch)"
        hint = _remedy(sample, found, is_row) or ("" if is_row else _remedy(self.shape, found, False))
        if is_row and (axes := self._axes_missing_in(rows)):
            is_sample = (0 if self.axis is None else self.axis) in axes
            hint = "; help: pass array[None] (it is one sample)" if is_sample else f"; help: pass {_with_axis(axes[0])}"
        if is_row and not hint:
            hint = "; help: convert each sample with --preprocess MODULE:FUNCTION (preprocess=function)"
        return op_error(
            self.function, f"input '{self.port.name}' must have shape {wanted}, but got {shape_text(found)}{hint}"
        )

    def is_sample(self, shape: Sequence[int]) -> bool:
        """Returns True if an array of this shape is one sample without a batch axis. May determine the batch axis."""
        if len(shape) != len(self.shape) - 1:
            return False
        if self.axis is not None:
            return shapes_agree(_without(self.shape, self.axis), shape)
        axes = sorted(range(len(self.shape)), key=lambda axis: self.shape[axis] != DYNAMIC_INDEX)
        self.axis = next((axis for axis in axes if shapes_agree(_without(self.shape, axis), shape)), None)
        return self.axis is not None

    def may_be(self, shape: Sequence[int]) -> bool:
        """Returns True if an array of this shape may be a sample or a batch. Unlike `is_sample`, has no side effect."""
        fits = (shapes_agree(_without(self.shape, axis), shape) for axis in range(len(self.shape)))
        return shapes_agree(self.shape, shape) or any(fits)

    def take_rows(self, rows: Sequence[int]) -> int | None:
        """Returns the number of samples in each row, of shape `rows`, of an array with a leading sample axis.

        A row with the rank of the input is one sample (the whole input of a run), unless the model names a batch axis.
        Returns `None` if the shape doesn't match the input.
        """
        if self.is_sample(rows):
            return 1
        if not shapes_agree(self.shape, rows):
            return None
        if (named := _named_axis(self.port, self.shape)) is None or self._mixes(rows):
            self.axis = None
            return 1
        return rows[named]

    def _axes_missing_in(self, shape: Sequence[int]) -> list[int]:
        """Returns the axes whose removal gives the input this shape; other axes than the batch must have size 1."""
        batch = 0 if self.axis is None else self.axis
        sizes = enumerate(self.shape)
        return [
            axis
            for axis, size in sizes
            if (axis == batch or size == 1) and shapes_agree(_without(self.shape, axis), shape)
        ]

    def samples_in(self, value: Any) -> list[Array]:
        """Returns the samples in one item: the item itself, or the samples of a batch."""
        array = self.checked(value)
        if self.is_sample(array.shape):
            return [array]
        if not shapes_agree(self.shape, array.shape):
            if self._is_another_size(array.shape):
                self._check_is_batch(array.shape)
                self.axis = 0
                return list(array)
            raise self.refuse(array.shape)
        if self.axis is None or self._mixes(array.shape):  # the array is the whole input of a run
            self.axis = None
            return [array]
        return list(np.moveaxis(array, self.axis, 0))

    def _mixes(self, shape: Sequence[int]) -> bool:
        """Returns True if an operation mixes samples along the dynamic axis that was assumed to be the batch."""
        module = self.function.parent_op()
        axis = 0 if self.axis is None else self.axis
        is_named = axis < len(self.port.dims) and "batch" in self.port.dims[axis].lower()
        if is_named or self.shape[axis] != DYNAMIC_INDEX or not isinstance(module, ModuleOp):
            return False
        shapes = {**input_shapes(self.function), self.port.name: tuple(shape)}
        if len(shapes) < len(inputs_of(self.function)) or any(DYNAMIC_INDEX in each for each in shapes.values()):
            return False  # the sizes of another input are not known yet
        proof = proof_of(module, shapes, self.function.sym_name.data)
        if isinstance(proof, BatchAxes):
            return proof.inputs.get(self.port.name) != axis
        return not isinstance(proof.diagnostic.op, FuncOp)

    def _is_another_size(self, shape: Sequence[int]) -> bool:
        """Returns True if an array of this shape differs only in its number of rows, which may be samples."""
        return self.axis in (None, 0) and len(shape) > 1 and shapes_agree(self.shape[1:], shape[1:])

    def _check_is_batch(self, shape: Sequence[int]) -> None:
        """Raises `DiagnosticError` if rows of several arrays would form a batch although samples may be mixed."""
        module = self.function.parent_op()
        if self.axis == 0 or self.shape[0] in (1, DYNAMIC_INDEX) or not isinstance(module, ModuleOp):
            return
        try:
            axes = batch_of(module, self.function.sym_name.data).inputs
        except DiagnosticError as error:
            wanted, found = shape_text(self.shape), shape_text(shape)
            raise self._error(
                f"must have shape {wanted}, but got {found}, and its rows may not be independent samples: "
                f"{error.diagnostic.message}; help: pass arrays of shape {wanted}, or all samples as one array"
            ) from error
        if axes.get(self.port.name) != 0:
            raise self.refuse(shape)

    def batch(self, samples: Sequence[Array]) -> Array:
        """Combines samples into the argument of one run."""
        if self.axis is None:
            return samples[0]
        if len(samples) == 1:  # a copy, as for several samples: the caller may overwrite its array
            return np.array(np.expand_dims(samples[0], self.axis), order="C")
        return np.ascontiguousarray(np.stack(samples, self.axis))


def _with_axis(axis: int) -> str:
    """Returns the NumPy expression that adds an axis, such as `array[:, None]` for axis 1."""
    return f"array[{', '.join([':'] * axis + ['None'])}]"


def _remedy(wanted: Sequence[int], found: Sequence[int], is_row: bool) -> str:
    """Returns the end of a message with the NumPy expression that converts shape `found` to shape `wanted`.

    With `is_row`, the user's array has one more axis in front, the sample axis.
    """
    known = DYNAMIC_INDEX not in wanted
    if len(found) == len(wanted) > 1:
        for axes in _orders(len(wanted)):
            if shapes_agree(wanted, [found[axis] for axis in axes]):
                order = (0, *(axis + 1 for axis in axes)) if is_row else axes
                layout = " (the model expects channels first)" if len(axes) > 2 and axes[-1] == len(axes) - 2 else ""
                return f"; help: pass array.transpose({', '.join(map(str, order))}){layout}"
    if known and prod(wanted) == prod(found):
        sizes = (-1, *wanted) if is_row else tuple(wanted)
        return f"; help: pass array.reshape({', '.join(map(str, sizes))})"
    return ""


def _orders(rank: int) -> Iterator[tuple[int, ...]]:
    """Yields permutations of axes: channels-last to channels-first, the reverse, then all for small ranks."""
    last = rank - 1
    yield (last, *range(last))
    if rank > 2:
        yield (0, last, *range(1, last))
    yield (*range(1, rank), 0)
    if rank <= 4:
        yield from permutations(range(rank))


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _named_axis(port: Port, shape: Sequence[int]) -> int | None:
    """Returns the dynamic axis whose name in the model denotes the batch, or `None`.

    A single letter is recognized only for the first axis, or for the second axis if another axis follows: `B` may
    denote the bins of a spectrum.
    """
    open_axes = [axis for axis, size in enumerate(shape) if size == DYNAMIC_INDEX]
    names = {axis: port.dims[axis] for axis in open_axes if axis < len(port.dims)}
    return next(
        (
            axis
            for axis, name in names.items()
            if "batch" in name.lower() or (name.lower() in _BATCH_NAMES and axis < max(len(shape) - 1, 1))
        ),
        None,
    )


def _open_axis(port: Port, shape: Sequence[int]) -> int | None:
    """Returns the batch axis among the dynamic axes, or `None` if only the data can tell."""
    if (named := _named_axis(port, shape)) is not None or not shape or shape[0] != DYNAMIC_INDEX:
        return named
    words = next(iter(port.dims), "").lower().split("_")
    return 0 if _SEQUENCE_NAMES.isdisjoint(words) else None


def input_of(function: FuncOp, port: Port) -> SampledInput:
    """Returns the sampled input for `port` of `function`. Raises `DiagnosticError` if its type isn't a tensor."""
    type_ = ranked_tensor(port.type)
    if type_ is None or value_dtype(type_.get_element_type()) is None:
        raise op_error(function, f"input '{port.name}' must be a tensor, but got type {port.type}")
    return SampledInput(function, port, type_, _open_axis(port, type_.get_shape()))


# All inputs.


def left_out(name: str) -> str:
    """Returns the message about an ignored array, which is in the data but isn't an input of the model."""
    return f"ignoring array '{name}' in the data: the model has no such input"


@dataclass(frozen=True)
class Run:
    """The arguments of one run, the index of its first sample (counted from 0), and its number of samples."""

    first: int
    samples: int
    arguments: tuple[Array, ...]


@dataclass
class Samples:
    """An iterable of the runs of `function` on `data`."""

    function: FuncOp
    data: Data
    inputs: list[SampledInput] = field(init=False)
    total: int | None = field(init=False, default=None)
    """The approximate number of samples, if known before reading; the last batch may be smaller."""

    exact: int | None = field(init=False, default=None)
    """The exact number of samples, if the data reports it."""

    def __post_init__(self) -> None:
        self.inputs = [input_of(self.function, port) for port in inputs_of(self.function)]
        if not self.inputs:
            raise self._error("has no inputs, so no samples can be passed")
        self._most: int | None = None
        if isinstance(self.data, Limited):
            self._most, self.data = self.data.samples, self.data.data
        self._items = self._open()
        if self._most is not None:
            self.total = None if self.total is None else min(self.total, self._most)
            self.exact = None if self.exact is None else min(self.exact, self._most)

    def _error(self, message: str) -> DiagnosticError:
        return op_error(self.function, message)

    def __iter__(self) -> Iterator[Run]:
        samples = islice((sample for item in self._items for sample in self._samples_in(item)), self._most)
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
            raise text_error("the data contains no samples; pass at least one, better 16 or more")

    def _leave_out(self, first: int, left: int, size: int) -> None:
        if first == 0:
            raise self._error(
                f"takes batches of {size} samples, but got {left} in total; help: pass at least {size} samples, "
                "or make the batch dynamic",
            )
        message = f"ignoring the last {left} of {first + left} samples: @{self.function.sym_name.data} takes {size}"
        warn(f"{message} at a time")

    def _batch_size(self) -> int:
        """Returns the number of samples per run: the batch size of the types, or 1 if it is dynamic."""
        sizes = {each.shape[each.axis] for each in self.inputs if each.axis is not None} - {DYNAMIC_INDEX}
        if len(sizes) > 1:
            raise self._error(f"has inputs with different batch sizes: {', '.join(map(str, sorted(sizes)))}")
        if 0 in sizes:
            raise self._error("has a batch size of 0; export the model with a batch size of at least 1")
        return sizes.pop() if sizes else 1

    def _samples_in(self, item: Any) -> Iterator[tuple[Array, ...]]:
        """Yields the samples of one item, each with a value for every input."""
        parts = [each.samples_in(value) for each, value in zip(self.inputs, self._in_order(item), strict=True)]
        counts = {len(part) for each, part in zip(self.inputs, parts, strict=True) if each.axis is not None} or {1}
        if len(counts) > 1:
            raise self._error(
                f"expected the same number of samples for each input, but got {' and '.join(map(str, sorted(counts)))}"
            )
        (count,) = counts
        for position in range(count):
            yield tuple(part[position] if len(part) == count else part[0] for part in parts)

    def _in_order(self, item: Any) -> list[Any]:
        """Returns the values of an item in the order of the inputs. Reports labels and other arrays that it ignores."""
        if isinstance(item, ImageFile):
            raise text_error(
                f"cannot convert image '{item.path}' to a model input without a preprocessing function; help: pass "
                "--preprocess MODULE:FUNCTION (preprocess=function); it takes a PIL image and returns an array"
            )
        if isinstance(item, Mapping):
            return self._by_name(cast(Mapping[str, Any], item))
        if is_array(item):
            item = [item]
        elif isinstance(item, str) or not isinstance(item, Sequence):
            raise self._error(f"expected arrays as data, but got an item of type {type(item).__name__}")
        values, count = list(cast(Sequence[Any], item)), len(self.inputs)
        if values and isinstance(values[0], Mapping) and len(values) <= 2:  # arrays by name, possibly with labels
            self._tell_labels(len(values) == 2)
            return self._by_name(cast(Mapping[str, Any], values[0]))
        if len(values) == 2 and count > 1 and isinstance(values[0], tuple | list):
            self._tell_labels(True)
            values = list(cast(Sequence[Any], values[0]))
        elif len(values) == count + 1 and all(map(is_array, values[:count])):
            self._tell_labels(True)
            values.pop()
        elif count == 1 and len(values) > 1 and not any(map(is_array, values)):
            values = [values]  # a list of Python numbers
        if len(values) != count:
            raise self._error(f"takes {counted(count, 'input')} ({self._described()}), but got {len(values)}")
        return values

    def _tell_labels(self, are_there: bool) -> None:
        if are_there:
            warn_once("ignoring the last element of each sample (assumed to be its label)")

    def _by_name(self, item: Mapping[str, Any]) -> list[Any]:
        names = [each.port.name for each in self.inputs]
        if "" in item and len(names) == 1:
            return [item[""]]
        more = [name for name in item if name not in names]
        missing = [name for name in names if name not in item]
        if more and missing:
            near = nearest_name(more[0], missing)
            raise self._error(f"has no input '{more[0]}'{near} (available: {self._described()})")
        if missing:
            listed = ", ".join(each.described for each in self.inputs if each.port.name in missing)
            raise self._error(
                f"no data for input{'s' if len(missing) > 1 else ''} {listed}; help: pass an array with that name"
            )
        for name in more:
            warn_once(left_out(name))
        return [item[name] for name in names]

    def _described(self) -> str:
        return ", ".join(each.described for each in self.inputs)

    def _open(self) -> Iterator[Any]:
        """Returns the items of the data. An array with a leading sample axis is split into items."""
        if (columns := self._columns()) is not None:
            return self._stacked(columns)
        found = opened(self.data)
        if found.stacked is None:
            return self._counted(found)
        arrays = dict(found.stacked)
        if isinstance(self.data, Labelled) and self.data.labels not in (each.port.name for each in self.inputs):
            arrays.pop(self.data.labels, None)
        return self._stacked(self._by_name(arrays))

    def _columns(self) -> list[ArchiveRows] | None:
        """Returns the arrays in `data` (one per input, possibly one of labels) if each has a sample axis, or `None`."""
        data, count = self.data, len(self.inputs)
        if not isinstance(data, tuple | list) or len(data) not in (count, count + 1) or not all(map(is_array, data)):
            return None
        arrays = [array_of(each) for each in data]
        inputs = zip(self.inputs, arrays, strict=False)
        if len({each.shape[:1] for each in arrays}) != 1 or not all(of.shape for of in arrays):
            return None
        if not all(each.may_be(of.shape[1:]) for each, of in inputs):
            return None
        if len(arrays) == count:
            return None if count == 1 else list(arrays)
        if count == 1 and self.inputs[0].may_be(arrays[-1].shape):  # the last array is an item, not labels
            return None
        self._tell_labels(True)
        return list(arrays[:-1])

    def _counted(self, found: Opened) -> Iterator[Any]:
        """Returns the items of `found`. The samples in the first one give an estimate of the total."""
        self.total = self.exact = found.samples
        if found.samples is not None or found.count is None:
            return found.items
        first = list(islice(found.items, 1))
        self.total = found.count * sum(1 for item in first for _ in self._samples_in(item))
        return chain(first, found.items)

    def _stacked(self, in_order: Sequence[ArchiveRows]) -> Iterator[Any]:
        sizes = {each.shape[0] if each.shape else -1 for each in in_order}
        if len(sizes) > 1 or -1 in sizes:
            found = ", ".join(shape_text(each.shape) for each in in_order)
            raise self._error(
                f"expected arrays with the same number of samples along the first axis, but got shapes {found}"
            )
        in_a_row = 1
        for each, rows in zip(self.inputs, in_order, strict=True):
            count = each.take_rows(rows.shape[1:])
            if count is None:
                if len(in_order) == 1 and shapes_agree(each.shape, rows.shape):
                    return iter([[whole(rows)]])  # the batch is not the leading axis: the array is one item
                raise each.refuse(rows.shape, is_row=True)
            in_a_row = max(in_a_row, count)
        (size,) = sizes
        self.total = self.exact = size * in_a_row
        return chain(map(list, zip(*in_order, strict=True)))
