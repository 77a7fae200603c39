"""Converts a user's data to the arguments of successive runs of a function.

Data is a file or a folder of arrays, arrays with a leading sample axis, or an iterable of items. It is split into
single samples, which are combined into batches of the size in the function's type, or passed one at a time if the
batch size is dynamic. Data is read lazily.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import shapes_agree
from qmlir.interpreter.archives import ArchiveRows, whole
from qmlir.interpreter.datasets import Data as Data
from qmlir.interpreter.datasets import ImageFile, Labelled, Limited, Opened, array_of, is_array, opened
from qmlir.interpreter.input_binding import SampledInput, input_of
from qmlir.ir.diagnostics import Diagnostic, Severity, emit, nearest_name, op_error, text_error, warn_once
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import shape_text
from qmlir.text.tables import counted


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
            raise op_error(self.function, "has no inputs, so no samples can be passed")
        self._most: int | None = None
        if isinstance(self.data, Limited):
            self._most, self.data = self.data.samples, self.data.data
        self._items = self._open()
        if self._most is not None:
            self.total = None if self.total is None else min(self.total, self._most)
            self.exact = None if self.exact is None else min(self.exact, self._most)

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
            raise op_error(
                self.function,
                f"takes batches of {size} samples, but got {left} in total; help: pass at least {size} samples, "
                "or make the batch dynamic",
            )
        message = f"ignoring the last {left} of {first + left} samples: @{self.function.sym_name.data} takes {size}"
        emit(Diagnostic(Severity.WARNING, f"{message} at a time"))

    def _batch_size(self) -> int:
        """Returns the number of samples per run: the batch size of the types, or 1 if it is dynamic."""
        sizes = {each.shape[each.axis] for each in self.inputs if each.axis is not None} - {DYNAMIC_INDEX}
        if len(sizes) > 1:
            raise op_error(
                self.function, f"has inputs with different batch sizes: {', '.join(map(str, sorted(sizes)))}"
            )
        if 0 in sizes:
            raise op_error(self.function, "has a batch size of 0; export the model with a batch size of at least 1")
        return sizes.pop() if sizes else 1

    def _samples_in(self, item: Any) -> Iterator[tuple[Array, ...]]:
        """Yields the samples of one item, each with a value for every input."""
        parts = [each.samples_in(value) for each, value in zip(self.inputs, self._in_order(item), strict=True)]
        counts = {len(part) for each, part in zip(self.inputs, parts, strict=True) if each.axis is not None} or {1}
        if len(counts) > 1:
            raise op_error(
                self.function,
                f"expected the same number of samples for each input, but got {' and '.join(map(str, sorted(counts)))}",
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
            raise op_error(self.function, f"expected arrays as data, but got an item of type {type(item).__name__}")
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
            raise op_error(
                self.function, f"takes {counted(count, 'input')} ({self._described()}), but got {len(values)}"
            )
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
            raise op_error(self.function, f"has no input '{more[0]}'{near} (available: {self._described()})")
        if missing:
            listed = ", ".join(each.described for each in self.inputs if each.port.name in missing)
            raise op_error(
                self.function,
                f"no data for input{'s' if len(missing) > 1 else ''} {listed}; help: pass an array with that name",
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
        if len({each.shape[:1] for each in arrays}) != 1 or not all(each.has_rows(of.shape) for each, of in inputs):
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
            raise op_error(
                self.function,
                f"expected arrays with the same number of samples along the first axis, but got shapes {found}",
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
