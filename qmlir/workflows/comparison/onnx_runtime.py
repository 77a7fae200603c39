"""An ONNX file in ONNX Runtime as a subject: its outputs, and every float tensor inside, with the model's names."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, external_data_helper, shape_inference
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.quant.infer import element_type
from qmlir.ir.provenance import Origin
from qmlir.ir.signature import Port, set_ports
from qmlir.onnx.ports import declared_types, input_ports
from qmlir.onnx.protos import needed_nodes, node_name
from qmlir.onnx.reading import read_model
from qmlir.onnx.types import ELEMENT_TYPES
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.report import element_text
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.workflows.comparison.names import INPUT, Name, input_name, output_name
from qmlir.workflows.comparison.subjects import is_numbers

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
        inside = list(_tensors(proto)) if options.optimization == "none" else []
        proto.graph.output.extend(ValueInfoProto(name=tensor) for tensor, _ in inside if tensor not in outputs)
        self._tensors = {name.key: tensor for tensor, name in inside}
        self._outputs = {f"output:{each}": each for each in outputs}
        self._session = OrtSession(proto.SerializeToString(), options)
        types = _types(proto)
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
        return {key: (array,) for key, array in (given | arrays).items() if is_numbers(array)}


def _signature(proto: ModelProto, shapes: Mapping[str, Sequence[int]]) -> FuncOp:
    ports = input_ports(proto, shapes)
    function = FuncOp(ENTRY, FunctionType.from_lists([port.type for port in ports], []))
    declared = declared_types(proto.graph)
    outputs = [Port(each.name, declared[each.name]) for each in proto.graph.output if each.name in declared]
    function.function_type = FunctionType.from_lists([port.type for port in ports], [port.type for port in outputs])
    set_ports(function, ports, outputs)
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


def _tensors(proto: ModelProto) -> Iterator[tuple[str, Name]]:
    """Yields the float tensors that nodes compute, with their names."""
    types = _types(proto)
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
