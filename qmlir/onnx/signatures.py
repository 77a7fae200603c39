"""The schema of an operator: its inputs with their types, its outputs and its attributes.

ONNX's operators have theirs in `onnx.defs`. Those of ONNX Runtime's domain `com.microsoft` that are imported are a
table here, as ONNX Runtime declares them (`onnxruntime/core/graph/contrib_ops/`); it is not registered with ONNX, whose
checker goes on to treat them as operators of an unknown domain.
"""

from functools import cache
from typing import Any, cast

from onnx import AttributeProto, NodeProto, defs

from qmlir.onnx.export.emission import MICROSOFT

UNBOUNDED = 2**31 - 1
"""The number of inputs of an operator that takes any number."""


def attribute_kind(kind: int) -> str:
    """The name of an attribute's type: `ints`."""
    names = {number: name for name, number in AttributeProto.AttributeType.items()}
    return names.get(kind, f"type {kind}").lower()


def declared_kind(attribute: defs.OpSchema.Attribute) -> str:
    """The name of the type that a schema declares for an attribute: `ints`."""
    return cast(Any, attribute.type).name.lower()


def schema_of(node: NodeProto, version: int) -> defs.OpSchema | None:
    """The schema of the node's operator in this version of its operator set; `None` where its domain declares none."""
    if node.domain == MICROSOFT:
        return _microsoft(node.op_type)
    try:
        return defs.get_schema(node.op_type, version, "" if node.domain == "ai.onnx" else node.domain)
    except defs.SchemaError:
        return None


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
    "ReduceSumInteger": ("T:data", {"T": _BYTES}, {"axes": "ints!", "keepdims": "int!"}),
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

_OPTIONS = {
    "?": defs.OpSchema.FormalParameterOption.Optional,
    "*": defs.OpSchema.FormalParameterOption.Variadic,
}


@cache
def _microsoft(op_type: str) -> defs.OpSchema | None:
    row = _MICROSOFT.get(op_type)
    if row is None:
        return None
    inputs, types, attributes = row
    words = (word.partition(":") for word in inputs.split())
    return defs.OpSchema(
        op_type,
        MICROSOFT,
        1,
        inputs=[
            defs.OpSchema.FormalParameter(
                name.rstrip("?*"),
                variable,
                param_option=_OPTIONS.get(name[-1], defs.OpSchema.FormalParameterOption.Single),
                is_homogeneous=not name.endswith("*"),
            )
            for variable, _, name in words
        ],
        outputs=[
            defs.OpSchema.FormalParameter(f"Y{place}", "tensor(float)", param_option=_OPTIONS["?"])
            for place in range(_OUTPUTS.get(op_type, 1))
        ],
        type_constraints=[
            (variable, [f"tensor({element})" for element in elements.split()], "")
            for variable, elements in types.items()
        ],
        attributes=[
            defs.OpSchema.Attribute(
                name, getattr(defs.OpSchema.AttrType, kind.rstrip("!").upper()), required=kind.endswith("!")
            )
            for name, kind in attributes.items()
        ],
    )
