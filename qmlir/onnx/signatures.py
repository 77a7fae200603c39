"""What an operator takes: its inputs with their types, its outputs and its attributes.

ONNX's operators have them in `onnx.defs`. Those of ONNX Runtime's domain `com.microsoft` that are imported are a table
here, as `onnxruntime/core/graph/contrib_ops/` declares them; nobody registers them with ONNX.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, cast

from onnx import AttributeProto, NodeProto, defs

from qmlir.onnx.functions import schema_of

MICROSOFT = "com.microsoft"

UNBOUNDED = 2**31 - 1
"""The number of inputs of an operator that takes any number."""


class Option(Enum):
    """How often an input is there."""

    SINGLE = "single"
    OPTIONAL = "optional"
    VARIADIC = "variadic"


@dataclass(frozen=True)
class FormalInput:
    """A formal input."""

    name: str
    option: Option
    variable: str
    """The type variable: inputs of one variable have one type."""

    types: frozenset[str]
    """The types that are accepted, as ONNX writes them: `tensor(float)`."""

    is_homogeneous: bool = True
    """Whether a variadic input has one type throughout."""


@dataclass(frozen=True)
class AttributeKind:
    """What an attribute is: a number of `AttributeProto.AttributeType`, and whether it has to be given."""

    type: int
    is_required: bool

    def __str__(self) -> str:
        return attribute_kind(self.type)


@dataclass(frozen=True)
class Signature:
    """What an operator takes and gives."""

    inputs: tuple[FormalInput, ...]
    min_inputs: int
    max_inputs: int
    max_outputs: int
    attributes: Mapping[str, AttributeKind]
    is_deprecated: bool = False

    def input(self, place: int) -> FormalInput:
        """The formal input at a place; the last one stands for all further ones."""
        return self.inputs[min(place, len(self.inputs) - 1)]


def attribute_kind(kind: int) -> str:
    """The name of an attribute's type: `ints`."""
    names = {number: name for name, number in AttributeProto.AttributeType.items()}
    return names.get(kind, f"type {kind}").lower()


def signature_of(node: NodeProto, version: int) -> Signature | None:
    """The signature of the node's operator at a version, `None` for one of a domain that declares none."""
    if node.domain == MICROSOFT:
        return _microsoft(node.op_type)
    return _declared(node.op_type, node.domain, version)


@cache
def _declared(op_type: str, domain: str, version: int) -> Signature | None:
    schema = schema_of(NodeProto(op_type=op_type, domain=domain), version)
    if schema is None:
        return None
    options = {
        defs.OpSchema.FormalParameterOption.Single: Option.SINGLE,
        defs.OpSchema.FormalParameterOption.Optional: Option.OPTIONAL,
        defs.OpSchema.FormalParameterOption.Variadic: Option.VARIADIC,
    }
    inputs = (
        FormalInput(each.name, options[each.option], each.type_str, frozenset(each.types), each.is_homogeneous)
        for each in schema.inputs
    )
    attributes = {
        name: AttributeKind(int(cast(Any, each.type).value), each.required) for name, each in schema.attributes.items()
    }
    return Signature(
        tuple(inputs), schema.min_input, schema.max_input, schema.max_output, attributes, schema.deprecated
    )


# --- The domain com.microsoft -----------------------------------------------------------------------------------------

_BYTES = "int8 uint8"
_QUANTIZED = {"T": _BYTES, "F": "float"}
_POOL = {
    "kernel_shape": "ints!", "pads": "ints", "strides": "ints", "auto_pad": "string", "ceil_mode": "int",
    "channels_last": "int", "count_include_pad": "int",
}  # fmt: skip
_LAYER = {
    "activations": "strings", "activation_alpha": "floats", "activation_beta": "floats", "clip": "float",
    "direction": "string", "hidden_size": "int", "input_forget": "int",
}  # fmt: skip
_BLOCKS = {
    "K": "int!", "N": "int!", "block_size": "int!", "bits": "int", "accuracy_level": "int", "weight_prepacked": "int",
}  # fmt: skip
_BINARY = "T:A F:A_scale T:A_zero_point? T:B F:B_scale T:B_zero_point? F:C_scale T:C_zero_point?"
_UNARY = "T:X F:X_scale T:X_zero_point? F:Y_scale T:Y_zero_point?"

_MICROSOFT: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "QuantizeLinear": (
        "T1:x T1:y_scale T2:y_zero_point?",
        {"T1": "float16 float", "T2": "int8 uint8 int16 uint16 int4 uint4"},
        {"axis": "int"},
    ),
    "DequantizeLinear": (
        "T1:x T2:x_scale T1:x_zero_point?",
        {"T1": "int8 uint8 int16 uint16 int32 int4 uint4", "T2": "float16 float"},
        {"axis": "int"},
    ),
    "QLinearAdd": (_BINARY, _QUANTIZED, {}),
    "QLinearMul": (_BINARY, _QUANTIZED, {}),
    "QLinearSigmoid": (_UNARY, _QUANTIZED, {}),
    "QLinearLeakyRelu": (_UNARY, _QUANTIZED, {"alpha": "float"}),
    "QLinearAveragePool": (_UNARY, _QUANTIZED, _POOL),
    "QLinearGlobalAveragePool": (_UNARY.replace("?", ""), _QUANTIZED, {"channels_last": "int"}),
    "QLinearSoftmax": (
        "T:X F:X_scale T:X_zero_point? F:Y_scale T:Y_zero_point",
        _QUANTIZED,
        {"axis": "int", "opset": "int!"},
    ),
    "QLinearWhere": (
        "B:condition T:X F:x_scale T:x_zero_point T:Y F:y_scale T:y_zero_point F:z_scale T:z_zero_point",
        _QUANTIZED | {"B": "bool"},
        {},
    ),
    "QLinearConcat": ("F:Y_scale T:Y_zero_point V:inputs*", _QUANTIZED | {"V": f"{_BYTES} float"}, {"axis": "int!"}),
    "QGemm": (
        "TA:A F:a_scale TA:a_zero_point TB:B F:b_scale TB:b_zero_point TC:C? F:y_scale? TY:y_zero_point?",
        {"F": "float", "TA": _BYTES, "TB": _BYTES, "TC": "int32", "TY": _BYTES},
        {"alpha": "float", "transA": "int", "transB": "int"},
    ),
    "DynamicQuantizeMatMul": (
        "T1:A T2:B T1:b_scale T2:b_zero_point? T1:bias?",
        {"T1": "float", "T2": _BYTES},
        {},
    ),
    "MatMulIntegerToFloat": (
        "T1:A T2:B T3:a_scale T3:b_scale T1:a_zero_point? T2:b_zero_point? T3:bias?",
        {"T1": _BYTES, "T2": _BYTES, "T3": "float float16"},
        {},
    ),
    "MatMulNBits": (
        "T1:A T2:B T1:scales T3:zero_points? T4:g_idx? T1:bias?",
        {"T1": "float float16 bfloat16", "T2": "uint8", "T3": "uint8 float16 float bfloat16", "T4": "int32"},
        _BLOCKS,
    ),
    "DynamicQuantizeLSTM": (
        "T:X T2:W T2:R T:B? T1:sequence_lens? T:initial_h? T:initial_c? T:P? T:W_scale T2:W_zero_point T:R_scale "
        "T2:R_zero_point",
        {"T": "float", "T1": "int32", "T2": _BYTES},
        _LAYER,
    ),
}
"""By operator: inputs as `variable:name`, `?` for one that may be left out and `*` for any number of types of their
own; the types of each variable; the types of attributes, `!` for one that has to be given."""

_OUTPUTS = {"DynamicQuantizeLSTM": 3}
"""How many outputs an operator gives at most, where that is not one."""


@cache
def _microsoft(op_type: str) -> Signature | None:
    row = _MICROSOFT.get(op_type)
    if row is None:
        return None
    text, types, attributes = row
    accepted = {
        variable: frozenset(f"tensor({element})" for element in elements.split())
        for variable, elements in types.items()
    }
    inputs: list[FormalInput] = []
    for word in text.split():
        variable, _, name = word.partition(":")
        option = {"?": Option.OPTIONAL, "*": Option.VARIADIC}.get(name[-1], Option.SINGLE)
        is_homogeneous = option is not Option.VARIADIC
        inputs.append(FormalInput(name.rstrip("?*"), option, variable, accepted[variable], is_homogeneous))
    kinds = {
        name: AttributeKind(AttributeProto.AttributeType.Value(kind.rstrip("!").upper()), kind.endswith("!"))
        for name, kind in attributes.items()
    }
    last_needed = max(place for place, each in enumerate(inputs) if each.option is not Option.OPTIONAL)
    largest = UNBOUNDED if inputs[-1].option is Option.VARIADIC else len(inputs)
    return Signature(tuple(inputs), last_needed + 1, largest, _OUTPUTS.get(op_type, 1), kinds)
