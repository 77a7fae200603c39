"""Converts inputs, outputs and declared types of an ONNX graph to types of `nn`."""

from collections.abc import Collection, Mapping, Sequence

from onnx import GraphProto, ModelProto, TensorShapeProto, TypeProto, ValueInfoProto
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyUnrankedTensorType, TensorType, UnrankedTensorType
from xdsl.ir import SSAValue

from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.dialects.nn.types import SequenceType
from qmlir.dialects.quant.types import StoredType
from qmlir.formats.types import check_names, shape_fault
from qmlir.ir.builtin_types import AnyTensor, ranked_tensor
from qmlir.ir.diagnostics import text_error
from qmlir.ir.signature import Port
from qmlir.onnx.export.emission import type_proto
from qmlir.onnx.types import ELEMENT_TYPES, data_type_name

OPTIONAL_INPUTS = 4
"""The oldest ONNX IR version in which an initializer with the name of an input is a default value."""


def dimension_names(info: ValueInfoProto) -> tuple[str, ...]:
    """Returns the names of a tensor's dimensions; empty for static or unnamed dimensions.

    Names without a letter are ignored: PaddlePaddle writes `?` for every unknown size, although these sizes may differ.
    """
    names = (dim.dim_param if dim.HasField("dim_param") else "" for dim in info.type.tensor_type.shape.dim)
    return tuple(name if any(map(str.isalpha, name)) else "" for name in names)


def _sizes(shape: TensorShapeProto) -> list[int]:
    return [dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else DYNAMIC_INDEX for dim in shape.dim]


def declared_types(graph: GraphProto) -> dict[str, AnyTensor]:
    """Returns the declared types of all tensors with a known rank, by name."""
    declared = ((info.name, info.type.tensor_type) for info in (*graph.value_info, *graph.output))
    types = {name: ranked_tensor(tensor_type(type_)) for name, type_ in declared if type_.elem_type in ELEMENT_TYPES}
    return {name: type_ for name, type_ in types.items() if type_ is not None}


def tensor_type(declared: TypeProto.Tensor) -> AnyTensor | AnyUnrankedTensorType:
    """Returns a declared type, whose element type must be supported; if it has no shape, the result is unranked."""
    element = ELEMENT_TYPES[declared.elem_type]
    return TensorType(element, _sizes(declared.shape)) if declared.HasField("shape") else UnrankedTensorType(element)


_WEIGHTS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys(("Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization"), (1, 2, 3, 4)),
    **dict.fromkeys(("LayerNormalization", "PRelu", "Reshape"), (1, 2)),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (1, 2, 3)),
    **dict.fromkeys(("Gemm", "MatMul"), (0, 1, 2)),
    "Gather": (0,),
    "DequantizeLinear": (0, 1, 2),
    "QuantizeLinear": (1, 2),
    "QLinearConv": range(1, 9),
    "QLinearMatMul": range(1, 8),
}
"""The inputs of operators that are weights or other parameters of a layer."""


def replaceable_defaults(model: ModelProto) -> Collection[str]:
    """Returns the names of the inputs whose initializer is a default value, which a caller may override.

    Some exporters list every weight as an input. If any input with an initializer is the weight of a layer, the model
    is assumed to come from such an exporter, and all inputs with an initializer are treated as constants. Before IR
    version 4, which required the list, they are always constants.
    """
    graph = model.graph
    given = {each.name for each in graph.initializer}
    listed = [each.name for each in graph.input if each.name in given]
    if model.ir_version < OPTIONAL_INPUTS or not listed:
        return ()
    weights = (
        name for node in graph.node for position in _WEIGHTS.get(node.op_type, ()) for name in node.input[position:][:1]
    )
    return () if not set(listed).isdisjoint(weights) else listed


def input_ports(model: ModelProto, shapes: Mapping[str, Sequence[int]]) -> list[Port]:
    """Returns the inputs of the model without an initializer, and those in `replaceable_defaults`.

    `shapes` specifies sizes for dynamic dimensions; a named dimension gets the same size everywhere. Raises
    `DiagnosticError` for an input that is neither a tensor of known element type and rank nor a sequence of tensors,
    and for shapes that don't match the declared ones.
    """
    graph = model.graph
    given = {each.name for each in graph.initializer}.difference(replaceable_defaults(model))
    infos = [info for info in graph.input if info.name not in given]
    known = [info.name for info in infos]
    check_names(shapes, known)
    fixed: dict[str, int] = {}
    for info in infos:
        if info.name in shapes:
            _fix(info, shapes[info.name], fixed)
    return [_port(info, shapes.get(info.name), fixed) for info in infos]


def _fix(info: ValueInfoProto, shape: Sequence[int], fixed: dict[str, int]) -> None:
    """Checks `shape` against the declaration of an input, and records the sizes of named dimensions."""
    declared = info.type.tensor_type.shape
    if not info.type.tensor_type.HasField("shape"):
        return
    sizes = _sizes(declared)
    if len(sizes) != len(shape) or any(
        size not in (DYNAMIC_INDEX, given) for size, given in zip(sizes, shape, strict=True)
    ):
        wanted = "x".join("?" if size == DYNAMIC_INDEX else str(size) for size in sizes)
        raise text_error(f"input '{info.name}' must have shape {wanted}, but got {'x'.join(map(str, shape))}")
    for name, given in zip(dimension_names(info), shape, strict=True):
        if name and fixed.setdefault(name, given) != given:
            raise text_error(
                f"dimension '{name}' must have one size, but got {given} for input '{info.name}' and {fixed[name]} "
                "for another input"
            )


def _port(info: ValueInfoProto, shape: Sequence[int] | None, fixed: Mapping[str, int]) -> Port:
    type_ = info.type
    if type_.HasField("sequence_type"):
        return Port(info.name, SequenceType(_tensors(info.name, type_.sequence_type.elem_type)))
    element = _tensors(info.name, type_).get_element_type()
    names = dimension_names(info)
    if (fault := shape_fault(_sizes(type_.tensor_type.shape) if shape is None else shape)) is not None:
        raise text_error(f"input '{info.name}' has {fault}")
    if shape is not None:
        return Port(info.name, TensorType(element, list(shape)))
    if not type_.tensor_type.HasField("shape"):
        raise text_error(
            f"input '{info.name}' has no static rank; set its shape with --shape {info.name}=1x3x224x224 (shapes=)"
        )
    declared = _sizes(type_.tensor_type.shape)
    sizes = [fixed.get(name, size) if name else size for name, size in zip(names, declared, strict=True)]
    open_names = tuple(name if size == DYNAMIC_INDEX else "" for name, size in zip(names, sizes, strict=True))
    return Port(info.name, TensorType(element, sizes), open_names)


def _tensors(name: str, type_: TypeProto) -> AnyTensor | AnyUnrankedTensorType:
    """Returns the declared type of the tensors in input `name`. Raises `DiagnosticError` for other kinds of inputs."""
    if not type_.HasField("tensor_type"):
        raise text_error(f"input '{name}' must be a tensor or a sequence of tensors, but got '{declared_name(type_)}'")
    declared = type_.tensor_type
    if declared.elem_type not in ELEMENT_TYPES:
        raise text_error(f"input '{name}' has unsupported elements of {data_type_name(declared.elem_type)}")
    return tensor_type(declared)


def type_name(value: SSAValue) -> str | None:
    """Returns the type of a value in the notation of schemas, such as `seq(tensor(float))`; `None` if ONNX has none."""
    name = declared_name(onnx_type(value))
    return None if "undefined" in name else name


def declared_name(type_: TypeProto) -> str:
    """Returns a declared type in the notation of ONNX schemas."""
    if type_.HasField("tensor_type"):
        return f"tensor({data_type_name(type_.tensor_type.elem_type).lower()})"
    if type_.HasField("sequence_type"):
        return f"seq({declared_name(type_.sequence_type.elem_type)})"
    return (type_.WhichOneof("value") or "value without a type").removesuffix("_type")


def onnx_type(value: SSAValue) -> TypeProto:
    """Returns the type of a value for ONNX's type inference; for a quantized value, the type of its integers."""
    type_ = ranked_tensor(value.type)
    if type_ is not None and isinstance(element := type_.get_element_type(), StoredType):
        return type_proto(TensorType(storage_element(element), type_.get_shape()))
    return type_proto(value.type)


def output_port(info: ValueInfoProto, value: SSAValue) -> Port:
    """Returns the port of the graph output `value`, with the model's names for its dynamic dimensions."""
    names = dimension_names(info)
    type_ = ranked_tensor(value.type)
    sizes = () if type_ is None else type_.get_shape()
    dims = tuple(name if size == DYNAMIC_INDEX else "" for name, size in zip(names, sizes, strict=False))
    return Port(info.name, value.type, dims if len(names) == len(sizes) else ())
