"""The layers that a device printed, compared with those of the interpreter, integer by integer.

A dump is text. Each layer is one line, in the order of computation:

    layer NAME TYPE SHAPE: N N N …

NAME is the key of the value (`fc1`), TYPE and SHAPE those of the array in the device's memory (`i8 1x4x4x64`), and the
numbers its elements in row-major order as integers; floats are printed as their bits. All other lines are ignored, so a
dump may be a device's log. A layer that occurs again begins the next sample.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.real_values import real, stored_inputs
from qmlir.interpreter.run import interpret
from qmlir.interpreter.samples import Data, Samples
from qmlir.ir.builtin_types import memref_type, tensor
from qmlir.ir.diagnostics import nearest_name, printable, text_error
from qmlir.ir.signature import inputs_of
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.report import element_text
from qmlir.specialization.inputs import function_of, input_shapes, shape_text
from qmlir.specialization.specialize import specialize
from qmlir.text.files import note_input, path_of, read_given, reason_of
from qmlir.text.tables import Readable, counted
from qmlir.workflows.comparison.names import Name, module_names
from qmlir.workflows.comparison.subjects import ValueRecorder, channels_first, stored, written_values

_LINE = re.compile(r"\s*layer (?P<name>.*) (?P<type>[iuf]\d+|bf16) (?P<shape>\d+(x\d+)*): ?(?P<numbers>.*)")

Inputs = Mapping[str, Array]


def golden_inputs(function: FuncOp, data: Data | None, count: int) -> Iterator[Inputs]:
    """Yields the inputs of `count` runs by name, as stored integers where the function takes them.

    They are the first ones of `data`, or random ones from the seeds 0, 1, …
    """
    if data is None:
        yield from (random_inputs(function, seed) for seed in range(count))
        return
    names = [port.name for port in inputs_of(function)]
    for run in islice(Samples(function, data), count):
        yield stored_inputs(function, dict(zip(names, run.arguments, strict=True)))


class LayerValues:
    """The values of a module that a dump can hold, by key: those with integers, computed once per run."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._names = module_names(module, integers=True)
        self.by_key: Mapping[str, Name] = self._names.by_key
        self.types: Mapping[str, Attribute] = {key: value.type for value, key in self._names.values.items()}

    def of(self, inputs: Inputs) -> dict[str, Array]:
        """Returns the stored elements of each value in a run; of several steps, the last one."""
        recorder = ValueRecorder(self._names, lambda value, type_: np.asarray(value))
        interpret(self.module, inputs, function=ENTRY, listeners=[recorder])
        return {key: values[-1] for key, values in recorder.found.items()}


class WrittenLayer(NamedTuple):
    """A layer that a kernel call writes."""

    key: str
    head: str
    """The beginning of its line in a dump: `NAME TYPE SHAPE`."""


def written_layers(module: ModuleOp, loops: ModuleOp) -> dict[Operation, WrittenLayer]:
    """Returns the layers of `module` by the calls of `loops` that write them.

    Layers that another kernel computes inside are left out, and so are floats without a scale.
    """
    values, found = LayerValues(module), dict[Operation, WrittenLayer]()
    for op, key in written_values(module, loops).items():
        memory, type_ = memref_type(op.operands[-1]), values.types[key]
        assert memory is not None
        element, shape = element_text(memory.get_element_type()), memory.get_shape()
        is_stored = element[0] in "iu" or isinstance(element_type(type_), UniformQuantizedType)
        if is_stored and channels_first(np.empty(shape), tensor(type_).get_shape(), may_move=True) is not None:
            found[op] = WrittenLayer(key, f"{printable(key)} {element} {shape_text(shape)}")
    return found


@dataclass(frozen=True)
class DumpedLayer:
    """One line of a dump."""

    sample: int
    name: str
    type: str
    array: Array


def read_dump(path: str | PathLike[str]) -> list[DumpedLayer]:
    """Reads the layers that a device printed. Raises `DiagnosticError` if the file can't be read or has none."""
    try:
        note_input(path_of(path))
        lines = read_given(path_of(path)).decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise text_error(f"cannot read '{path}': {reason_of(error)}") from error
    found, seen, sample = list[DumpedLayer](), set[str](), 0
    for number, line in enumerate(lines, 1):
        parts = _LINE.fullmatch(line)
        if parts is None:
            continue
        if parts["name"] in seen:
            sample += 1
            seen.clear()
        seen.add(parts["name"])
        shape = [int(size) for size in parts["shape"].split("x")]
        try:
            array = np.array(parts["numbers"].split(), np.int64).reshape(shape)
        except (ValueError, OverflowError):
            words = len(parts["numbers"].split())
            raise text_error(
                f"'{path}', line {number}: layer '{parts['name']}' must have {int(np.prod(shape))} integers "
                f"({parts['shape']}), but has {words} numbers; is the line complete?"
            ) from None
        found.append(DumpedLayer(sample, parts["name"], parts["type"], array))
    if not found:
        raise text_error(f"'{path}' has no line 'layer NAME TYPE SHAPE: N N N …'")
    return found


@dataclass(frozen=True)
class LayerDifference:
    """The first layer of a dump that differs."""

    sample: int
    """The index of the sample, from 0."""

    key: str
    """The key of the value: its node in the model."""

    operation: str
    """The operation that computes it, such as `nn.conv`."""

    nodes: tuple[str, ...]
    """The nodes of the model that it implements, with their operators: `Conv 'conv1'`."""

    index: tuple[int, ...]
    """The index of the first element that differs, in the layout of the model."""

    expected: float
    """The element in the interpreter: a stored integer, or a float if the device stores floats."""

    found: float
    """The element on the device."""

    different: int
    """The number of elements that differ."""

    elements: int
    """The number of elements."""


@dataclass(frozen=True, repr=False)
class DumpComparison(Readable):
    """A dump of layers, compared with the interpreter."""

    layers: int
    """Number of layers that were compared, over all samples."""

    samples: int
    """Number of samples."""

    difference: LayerDifference | None
    """The first layer that differs, or `None` if all elements are equal."""

    def text(self) -> str:
        """Say whether all layers are equal, or which one is the first that is not.

        Returns:
            One line, or the layer with its nodes, and the index and the values of the first element that differs.
        """
        at = self.difference
        if at is None:
            return f"{counted(self.layers, 'layer')} of {counted(self.samples, 'sample')}: all elements are equal"
        nodes = f", from {', '.join(at.nodes)}" if at.nodes else ""
        return "\n".join(
            [
                f"first difference: sample {at.sample}, layer '{printable(at.key)}' ({at.operation}{printable(nodes)})",
                f"{at.different} of {at.elements} elements differ; the first at {list(at.index)}: expected "
                f"{at.expected:.9g}, but the device has {at.found:.9g}",
            ]
        )


def compare_layers(module: ModuleOp, path: str | PathLike[str], data: Data | None) -> DumpComparison:
    """Returns the comparison of a dump with the interpreter, on the first samples of `data`, or on random inputs.

    Raises `DiagnosticError` if the dump can't be read, or has other layers than the module or more samples than `data`.
    """
    dumped, function = read_dump(path), function_of(module, ENTRY)
    if data is None and (open_inputs := [n for n, shape in input_shapes(function).items() if DYNAMIC_INDEX in shape]):
        raise text_error(f"random inputs require static shapes; fix them with --shape {open_inputs[0]}=… (shapes=)")
    count = dumped[-1].sample + 1
    runs = list(golden_inputs(function, data, count))
    if len(runs) < count:
        raise text_error(f"'{path}' has layers of {counted(count, 'sample')}, but the data has {len(runs)}")
    layers = LayerValues(specialize(module, {name: array.shape for name, array in runs[0].items()}, {}))
    keys = {printable(key): key for key in layers.types}
    values, last = dict[str, Array](), -1
    for each in dumped:
        if each.sample != last:
            values, last = layers.of(runs[each.sample]), each.sample
        if (key := keys.get(each.name)) is None or key not in values:
            raise text_error(f"'{path}': the model has no layer '{each.name}'{nearest_name(each.name, keys)}")
        found, wanted = _both(each, values[key], layers.types[key], path)
        is_unequal = found != wanted
        if is_unequal.any():
            index = tuple(map(int, np.argwhere(is_unequal)[0]))
            name = layers.by_key[key]
            nodes = tuple(f"{origin.op_type} '{origin}'".lstrip() for origin in name.origins)
            difference = LayerDifference(
                each.sample, key, name.operation, nodes, index, wanted[index].item(), found[index].item(),
                int(is_unequal.sum()), found.size,
            )  # fmt: skip
            return DumpComparison(dumped.index(each) + 1, count, difference)
    return DumpComparison(len(dumped), count, None)


def _both(each: DumpedLayer, value: Array, type_: Attribute, path: str | PathLike[str]) -> Sequence[Array]:
    """Returns the elements of a layer on the device and in the interpreter, alike in layout and type."""
    placed, element = channels_first(each.array, value.shape, may_move=True), element_type(type_)
    if placed is None:
        shapes = [shape_text(shape) for shape in (value.shape, each.array.shape)]
        raise text_error(f"'{path}': layer '{each.name}' must have shape {shapes[0]}, but has {shapes[1]}")
    if not isinstance(element, UniformQuantizedType):
        return placed.astype(value.dtype), value
    if each.type == "f32":
        return placed.astype(np.int32).view(np.float32), real(value, type_).astype(np.float32)
    return stored(placed, element).astype(np.int64), value.astype(np.int64)
