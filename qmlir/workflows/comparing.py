"""Opens the two sides of a comparison: models, folders and programs, each with the runtime that executes it.

A side is a module, a program, a subject, or a path, optionally with a runtime as prefix: `onnxruntime:model.onnx`.
`OnnxRuntimeSubject` is an ONNX file in ONNX Runtime: its outputs, and every float tensor inside it by name.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeGuard

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, external_data_helper, shape_inference
from xdsl.dialects import builtin
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, ModuleOp, Signedness, TensorType
from xdsl.dialects.func import FuncOp

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.samples import Data
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.ir.provenance import Origin
from qmlir.ir.signature import Port, outputs_of, set_ports
from qmlir.ir.verification import verify
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.onnx.ports import declared_types, input_ports
from qmlir.onnx.protos import needed_nodes, node_name
from qmlir.onnx.reading import read_model
from qmlir.onnx.types import ELEMENT_TYPES
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import QUANTIZE, kept_composites
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.report import element_text
from qmlir.specialization.batch import specialize_batch
from qmlir.targets.compiling import load_program
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.saved import is_program
from qmlir.targets.heterogeneous import HybridProgram
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.text.files import existing_path, path_of
from qmlir.text.renames import checks_names
from qmlir.workflows.choices import LEVELS, QUANTIZED, RUNTIMES, STAGES
from qmlir.workflows.comparison import compare as comparing
from qmlir.workflows.comparison import subjects
from qmlir.workflows.comparison.compare import Comparison
from qmlir.workflows.comparison.dumps import DumpComparison, compare_layers
from qmlir.workflows.comparison.names import INPUT, Name, input_name, output_name
from qmlir.workflows.comparison.subjects import Subject
from qmlir.workflows.evaluating import Labels, with_labels
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import HoldsModule, load
from qmlir.workflows.quantized import Quantized

EXACT = OrtOptions(optimization="none", is_exact=True)
"""ONNX Runtime without optimizations, which computes exactly the nodes of the model."""

_MOVED = frozenset({"Constant", "Identity"})
"""Operators that compute no new value."""


class OnnxRuntimeSubject:
    """A model in ONNX Runtime.

    Without graph optimization (`EXACT`), all its float tensors are values, and the computation follows the model's
    nodes. With optimizations, nodes are replaced or fused, so only the outputs are values. `shapes` fixes dynamic
    dimensions of inputs. Raises `DiagnosticError` if the file is not a model, or if ONNX Runtime is not installed or
    cannot run it.
    """

    def __init__(
        self,
        path: Path,
        name: str = "",
        *,
        options: OrtOptions = EXACT,
        shapes: Mapping[str, Sequence[int]] | None = None,
    ):
        self.name = name or f"{path.name} in ONNX Runtime"
        model = read_model(path)
        proto = ModelProto()
        proto.CopyFrom(model.proto)
        if model.directory is not None:
            external_data_helper.load_external_data_for_model(proto, str(model.directory))
        self.signature = _signature(proto, shapes or {})
        outputs = [each.name for each in proto.graph.output]
        types = _types(proto)
        inside = list(_tensors(proto, types)) if options.optimization == "none" else []
        proto.graph.output.extend(ValueInfoProto(name=tensor) for tensor, _ in inside if tensor not in outputs)
        self._tensors = {name.key: tensor for tensor, name in inside}
        self._outputs = {f"output:{each}": each for each in outputs}
        self._session = OrtSession(proto.SerializeToString(), options)
        self.names = (
            *_inputs(proto),
            *(name for _, name in inside),
            *(output_name(each, types.get(each, "")) for each in outputs),
        )

    def values(self, inputs: Mapping[str, Array]) -> Mapping[str, tuple[Array, ...]]:
        """Computes the values by key, as defined by `Subject.values`."""
        found = self._session(inputs)
        arrays = {key: found[tensor] for key, tensor in (self._tensors | self._outputs).items()}
        given = {name.key: inputs[name.key] for name in self.names if name.operation == INPUT}
        return {key: (array,) for key, array in (given | arrays).items() if subjects.is_numbers(array)}


def _signature(proto: ModelProto, shapes: Mapping[str, Sequence[int]]) -> FuncOp:
    ports = input_ports(proto, shapes)
    declared = declared_types(proto.graph)
    outputs = [Port(each.name, declared[each.name]) for each in proto.graph.output if each.name in declared]
    return _function(ports, outputs)


def _function(inputs: Sequence[Port], outputs: Sequence[Port]) -> FuncOp:
    """Returns a function with these ports, for the signature of a subject."""
    function = FuncOp(ENTRY, ([port.type for port in inputs], [port.type for port in outputs]))
    set_ports(function, inputs, outputs)
    return function


def _inputs(proto: ModelProto) -> Iterator[Name]:
    for port in input_ports(proto, {}):
        element = element_type(port.type)
        if kind_of(element) is Kind.FLOAT:
            yield input_name(port.name, type_=element_text(element))


def _types(proto: ModelProto) -> dict[str, str]:
    """Returns the element types of tensors, as far as ONNX can infer them."""
    inferred = shape_inference.infer_shapes(proto).graph
    found = {each.name: each.type.tensor_type.elem_type for each in (*inferred.value_info, *inferred.output)}
    known = {name: ELEMENT_TYPES[type_] for name, type_ in found.items() if type_ in ELEMENT_TYPES}
    return {name: element_text(element) for name, element in known.items()}


_FLOATS = frozenset(
    element_text(ELEMENT_TYPES[each])
    for each in (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE)
)


def _origin(node: NodeProto, names: Counter[str]) -> Origin:
    """Returns the node as the importer names it: by its name, or by its first output if the name is not unique."""
    name = node_name(node)
    return Origin(next(filter(None, node.output), name) if names[name] > 1 else name, node.op_type)


def _tensors(proto: ModelProto, types: Mapping[str, str]) -> Iterator[tuple[str, Name]]:
    """Yields the float tensors that nodes compute, with their names."""
    nodes = needed_nodes(proto.graph)
    names = Counter(map(node_name, nodes))
    for position, node in enumerate(nodes):
        if node.op_type in _MOVED:
            continue
        origin = _origin(node, names)
        for number, tensor in enumerate(node.output):
            if not tensor or types.get(tensor) not in _FLOATS:
                continue
            key = f"{origin}#{number}" if number else str(origin)
            tokens = (f"tensor:{tensor}", f"result:{origin}#{number}")
            yield tensor, Name(key, node.op_type, types[tensor], (origin,), tokens, is_whole=number == 0, last=position)


Side: TypeAlias = ModuleOp | HoldsModule | Subject | Callable[..., Mapping[str, Any]] | str | PathLike[str]
"""A module, a subject, a program, or a path with an optional runtime prefix."""


@dataclass(frozen=True)
class _Opening:
    """The options for opening sides."""

    shapes: Mapping[str, Sequence[int]] | None
    parts: bool
    progress: IO[str] | None

    def module(self, path: Path, requantize: str | None = None) -> ModuleOp:
        if path.is_dir():
            path = QuantizedFolder.open(path).module
        takes_shapes = path.suffix in ONNX_SUFFIXES or path.suffix.lower() in registry.named("readers")
        return self.prepared(load(path, shapes=self.shapes if takes_shapes else None, requantize=requantize))

    def prepared(self, module: ModuleOp) -> ModuleOp:
        """Returns the module, with its composites decomposed if their parts are compared."""
        if not self.parts:
            return module
        lowered = run_pipeline(
            module.clone(), QUANTIZE.passes("lower", keep_composites=kept_composites(), unrolls=True)
        )
        verify(lowered)
        return lowered


def _is_path(side: Any) -> TypeGuard[str | PathLike[str]]:
    return isinstance(side, str | PathLike)


def _interpreted(path: Path, name: str, at: _Opening) -> Subject:
    return subjects.ModuleSubject(at.module(path), name)


def _compiled(path: Path, name: str, at: _Opening) -> Subject:
    if is_program(path):
        return _program_subject(load_program(path), name)
    return subjects.CompiledSubject(at.module(path), name, progress=at.progress)


def _in_onnx_runtime(path: Path, name: str, at: _Opening, *, options: OrtOptions = EXACT) -> Subject:
    if path.suffix not in ONNX_SUFFIXES:
        raise text_error(f"'{path}' is not an ONNX model; ONNX Runtime requires a .onnx file")
    return OnnxRuntimeSubject(path, name, options=options, shapes=at.shapes)


def _in_litert_arithmetic(path: Path, name: str, at: _Opening, *, requantize: str) -> Subject:
    return subjects.ModuleSubject(at.module(path, requantize), name)


def _lowered(path: Path, name: str, at: _Opening, *, level: str) -> Subject:
    return subjects.LoweredSubject(at.module(path), level, name)


_OPENERS: Mapping[str, Callable[[Path, str, _Opening], Subject]] = {
    "interpreter": _interpreted,
    "compiled": _compiled,
    "onnxruntime": _in_onnx_runtime,
    "onnxruntime-optimized": partial(_in_onnx_runtime, options=OrtOptions()),
    **{level: partial(_lowered, level=level) for level in STAGES},
    **{each: partial(_in_litert_arithmetic, requantize=each) for each in ("litert-reference", "litert-xnnpack")},
}
"""The functions that open a path for each of `RUNTIMES`."""


_ELEMENTS: Mapping[str, Any] = {
    "float16": builtin.f16,
    "bfloat16": builtin.bf16,
    "float32": builtin.f32,
    "float64": builtin.f64,
    "bool": builtin.i1,
}


def _element(port: Any) -> Any:
    stored = _stored_element(port)
    if port.scale is None:
        return stored
    return UniformQuantizedType.per_tensor(stored, builtin.f32, port.scale, port.zero_point)


def _stored_element(port: Any) -> Any:
    dtype: np.dtype[Any] = port.dtype
    if dtype.name in _ELEMENTS:
        return _ELEMENTS[dtype.name]
    width = port.bits or 8 * dtype.itemsize
    signed = Signedness.SIGNED if width == 1 else Signedness.SIGNLESS  # i1 is a Boolean
    return IntegerType(width, Signedness.UNSIGNED if dtype.kind == "u" else signed)


def _port(port: Any) -> Port:
    return Port(port.name, TensorType(_element(port), [DYNAMIC_INDEX if size < 0 else size for size in port.shape]))


def program_signature(program: Any) -> FuncOp:
    """Returns a function with the inputs and outputs of a program, which describes them."""
    if isinstance(program, HybridProgram | Program):
        return program.signature
    return _function(list(map(_port, program.inputs)), list(map(_port, program.outputs)))


def _program_subject(program: Any, name: str) -> Subject:
    """Wraps a program, which describes its inputs and outputs."""
    signature = program_signature(program)
    return subjects.ProgramSubject(program, name, outputs=outputs_of(signature), signature=signature)


def _subject(side: Side, name: str, at: _Opening) -> Subject | None:
    """Opens a side; returns `None` for a function whose outputs only the other side can describe."""
    if isinstance(side, ModuleOp):
        return subjects.ModuleSubject(at.prepared(side), name)
    if _is_path(side):
        return _named(side, at)
    if isinstance(side, Subject):
        return side
    if isinstance(side, Program) or (hasattr(side, "inputs") and hasattr(side, "outputs")):
        return _program_subject(side, name)
    if callable(side):
        return None
    raise text_error(f"cannot compare {type(side).__name__}: expected a module, a program or a path")


def _named(side: str | PathLike[str], at: _Opening) -> Subject:
    text = side if isinstance(side, str) else str(path_of(side))  # a runtime prefix is not part of the path
    head, colon, rest = text.partition(":")
    if colon and head in RUNTIMES:
        return _OPENERS[head](existing_path(path_of(rest)), text, at)
    if colon and not path_of(text).exists():
        raise text_error(unknown("runtime", head, RUNTIMES))
    path = existing_path(path_of(text))
    return (_compiled if is_program(path) else _interpreted)(path, text, at)


def _of_program(program: Any, name: str, other: Subject | None) -> Subject:
    """Wraps a program in memory, with the outputs of the model that it is compared with."""
    if other is None or other.signature is None:
        raise text_error("cannot compare a program with a program; compare it with a model")
    return subjects.ProgramSubject(program, name, outputs=outputs_of(other.signature))


def _at_level(side: Side, level: str | None, at: _Opening) -> tuple[Side, Side]:
    """Makes two sides of one: the float and the quantized model of a folder, or a module and its lowered form."""
    if level is not None and level not in LEVELS:
        raise text_error(unknown("level", level, LEVELS))
    if level in (None, QUANTIZED):
        if not _is_path(side) or not QuantizedFolder.holds(side):
            wanted = "a second model, a level to compare it with itself at, or a folder that qmlir quantize wrote"
            raise text_error(f"cannot compare one model alone; pass {wanted}")
        folder = QuantizedFolder.open(side)
        return folder.float_module, folder.module
    if isinstance(side, ModuleOp):
        module, name = at.prepared(side), "the module"
    elif _is_path(side):
        module, name = at.module(existing_path(path_of(side))), str(side)
    else:
        raise text_error(f"level requires a module or the path of one, but got {type(side).__name__}")
    return subjects.ModuleSubject(module, name), subjects.LoweredSubject(module, str(level), f"{level}:{name}")


@checks_names
def compare(
    reference: Side,
    candidate: Side | None = None,
    data: Data | None = None,
    *,
    level: str | None = None,
    parts: bool = False,
    shapes: Mapping[str, Sequence[int]] | None = None,
    samples: int | None = None,
    labels: Labels | bool | None = None,
    progress: IO[str] | None = None,
) -> Comparison:
    """Measures the error of every value of one model against another model, on samples.

    A side is a module, the result of `quantize`, a program (outputs only), or a path: a `.onnx` file, a `.mlir` file, a
    folder written by `qmlir quantize` (its quantized model) or a saved program. A prefix of a path names its runtime:
    `interpreter:`, `compiled:`, `onnxruntime:`, `onnxruntime-optimized:`, a level (`integer:` or `loops:`), or the
    kernels of LiteRT whose arithmetic a `.tflite` file has (`litert-reference:` or `litert-xnnpack:`).

    Args:
        reference: The side whose values count as correct.
        candidate: The other side. `None` compares a quantized model with its float model, or a module with itself at
            `level`.
        data: Samples, in a form that `profile` accepts. Required.
        level: Level to lower `reference` to, instead of a candidate: `"integer"` or `"loops"`, for small shapes, or
            `"quantized"` for a folder.
        parts: Compare the parts of composites (`fc1/matmul`) instead of the composites (`fc1`).
        shapes: Shapes of inputs by name, for ONNX models with dynamic dimensions, or to resize LiteRT models.
        samples: Number of samples to use, from the first one. `None` uses all.
        labels: Class indices of the samples, for the top-1 accuracies of both sides: integers, or a file that holds
            them (`NAME=FILE` selects an array of an `.npz` file). `True` takes them from pairs `(inputs, label)`.
        progress: Stream that shows progress: a terminal gets a bar, any other stream a line every ten seconds.

    Returns:
        The error of each value that both sides have, in the order of the reference. Printing it shows a table.

    Raises:
        DiagnosticError: A side cannot be opened or run, both sides have no value in common, or the data does not fit.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data)
        >>> found = qmlir.compare(quantized, data=data)
        >>> found.outputs[0].key, found.outputs[0].sqnr_db > 30
        ('logits', True)
    """
    if data is None:
        raise text_error("compare requires samples; call compare(quantized, data=…) or compare(model, quantized, data)")
    at = _Opening(shapes, parts, progress)
    if candidate is None and level is None and isinstance(reference, Quantized):
        reference, candidate = reference.source, reference.module
    reference = reference.module if isinstance(reference, HoldsModule) else reference
    candidate = candidate.module if isinstance(candidate, HoldsModule) else candidate
    if candidate is None:
        reference, candidate = _at_level(reference, level, at)
    elif level is not None:
        raise text_error("level cannot be combined with a second model; prefix its path with a runtime instead")
    one, other = _subject(reference, "the reference", at), _subject(candidate, "the candidate", at)
    if one is None:
        one = _of_program(reference, "the reference", other)
    if other is None:
        other = _of_program(candidate, "the candidate", one)
    data, classes = with_labels(data, labels)
    return comparing.compare(one, other, data, samples=samples, labels=classes, progress=progress)


@checks_names
def compare_dump(
    model: Side,
    dump: str | PathLike[str],
    data: Data | None = None,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> DumpComparison:
    """Compares the layers that a device printed with those of the interpreter, and finds the first difference.

    The dump is text with one line for each layer, `layer NAME TYPE SHAPE: N N N …`, as the main of
    `emit(…, golden_layers=True)` prints it. Other lines are ignored, and a layer that occurs again begins the next
    sample. All elements are compared as stored integers.

    Args:
        model: The model that the device runs: a module, a result that holds one, or a path.
        dump: The file with the device's output.
        data: The samples that the device ran, in a form that `profile` accepts. `None` stands for the random inputs of
            `emit(…, golden=N)`.
        shapes: Shapes of inputs by name, for a model with dynamic dimensions.

    Returns:
        The number of layers that were compared, and the first one that differs. Printing it names the layer, its nodes
        in the model, and the index and the values of the first different element.

    Raises:
        DiagnosticError: The dump or the model cannot be read, the dump has other layers than the model, or more samples
            than `data`.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data)
        >>> _ = open("device.log", "w").write("layer relu1 i8 1x2: -7 -7")
        >>> qmlir.compare_dump(quantized, "device.log", data).difference.index
        (0, 0)
    """
    if isinstance(model, HoldsModule):
        model = model.module
    if _is_path(model):
        model = _Opening(None, parts=False, progress=None).module(existing_path(path_of(model)))
    if not isinstance(model, ModuleOp):
        raise text_error(f"compare_dump requires a module or the path of one, but got {type(model).__name__}")
    return compare_layers(specialize_batch(model, shapes, ENTRY) if shapes else model, dump, data)
