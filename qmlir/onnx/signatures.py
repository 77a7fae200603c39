"""Operator schemas (inputs with their types, outputs, attributes) and functions that define operators.

ONNX's operators have schemas in `onnx.defs`. A table in this module contains the schemas of the supported operators in
ONNX Runtime's domain `com.microsoft`, as declared in `onnxruntime/core/graph/contrib_ops/`. The table is not registered
with ONNX, whose checker treats these operators as unknown. Functions are the local functions of a model, and ONNX's
definitions of operators in terms of other operators.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, cast

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs

from qmlir.ir.diagnostics import text_error
from qmlir.onnx.export.emission import MICROSOFT
from qmlir.onnx.protos import domain_of, node_error, reason_of

UNBOUNDED = 2**31 - 1
"""The maximum number of inputs of a variadic operator."""


def attribute_kind(kind: int) -> str:
    """Returns the name of an attribute's type, such as `ints`."""
    names = {number: name for name, number in AttributeProto.AttributeType.items()}
    return names.get(kind, f"type {kind}").lower()


def declared_kind(attribute: defs.OpSchema.Attribute) -> str:
    """Returns the name of the type that a schema declares for an attribute, such as `ints`."""
    return cast(Any, attribute.type).name.lower()


def schema_of(node: NodeProto, version: int) -> defs.OpSchema | None:
    """Returns the schema of the node's operator in `version` of its operator set, or `None` if there is none."""
    if node.domain == MICROSOFT:
        return _microsoft(node.op_type)
    domain = domain_of(node)
    found = standard_schema(node.op_type, version, domain)
    if found is not None or domain:
        return found
    if node.op_type in ADDED:
        return _microsoft(node.op_type)
    return standard_schema(node.op_type, EARLIER.get(node.op_type, 0))


def is_added(node: NodeProto, version: int) -> bool:
    """Returns True if ONNX Runtime adds the node's operator to the given version of ONNX's operator set."""
    known = node.op_type in ADDED or node.op_type in EARLIER
    return known and not domain_of(node) and standard_schema(node.op_type, version) is None


def standard_schema(op_type: str, version: int, domain: str = "") -> defs.OpSchema | None:
    """Returns the schema that the onnx package has for an operator, or `None` if there is none."""
    try:
        return defs.get_schema(op_type, version, domain)
    except defs.SchemaError:
        return None


# --- Functions --------------------------------------------------------------------------------------------------------

MAX_CALL_DEPTH = 64
"""The maximum nesting depth of calls; deeper calls are assumed to be recursive."""

MAX_NODES = 2**20
"""The maximum number of nodes after inlining; a larger model is assumed to be an attack."""


class Functions:
    """The local functions of a model by domain, name and overload."""

    def __init__(self, functions: Iterable[FunctionProto]) -> None:
        self._table = {(each.domain, each.name, each.overload): each for each in functions}

    def find(self, node: NodeProto) -> FunctionProto | None:
        """Returns the function that `node` calls, or `None`."""
        return self._table.get((node.domain, node.op_type, node.overload))

    def check_size(self, nodes: Iterable[NodeProto]) -> None:
        """Raises `DiagnosticError` if `nodes` and the functions that they call exceed `MAX_NODES` nodes when inlined.

        The size of each function is computed only once: if functions call others twice, the inlined size doubles at
        each level.
        """
        sizes: dict[int, int] = {}

        def size(function: FunctionProto, depth: int) -> int:
            if depth > MAX_CALL_DEPTH:
                raise text_error(f"function '{function.name}' exceeds the call depth of {MAX_CALL_DEPTH}")
            if id(function) not in sizes:
                sizes[id(function)] = sum(own(node, depth + 1) for node in function.node)
            return sizes[id(function)]

        def own(node: NodeProto, depth: int) -> int:
            called = self.find(node)
            return 1 if called is None else size(called, depth)

        total = 0
        for node in nodes:
            total += own(node, 0)
            if total > MAX_NODES:
                raise node_error(node, f"the model has more than {MAX_NODES} nodes after inlining its functions")


def is_defined_by_function(node: NodeProto, version: int) -> bool:
    """Returns True if ONNX defines the operator in terms of other operators."""
    schema: Any = schema_of(node, version)  # the stubs of the package omit its fields about functions
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def fixed_definition(node: NodeProto, version: int) -> FunctionProto | None:
    """Returns ONNX's definition of the operator, or `None` if there is none or it depends on the node's inputs."""
    schema: Any = schema_of(node, version)
    return schema.function_body if schema is not None and schema.has_function else None


def definition(node: NodeProto, version: int, types: Iterable[TypeProto]) -> FunctionProto | None:
    """Returns ONNX's definition of the operator for inputs of `types`, or `None` if there is none."""
    schema: Any = schema_of(node, version)
    if schema is None or schema.has_function or not schema.has_context_dependent_function:
        return fixed_definition(node, version)
    try:
        body = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), [type_.SerializeToString() for type_ in types]
        )
    except (RuntimeError, ValueError) as error:  # code of the onnx package, which assumes some optional inputs
        raise node_error(node, f"ONNX does not define this operator for these inputs: {reason_of(error)}") from error
    return FunctionProto.FromString(body) if body else None


def bound_nodes(function: FunctionProto, call: NodeProto, version: int) -> list[NodeProto]:
    """Returns the nodes of `function` with its attributes bound to the values in `call`, or to their defaults."""
    given: dict[str, AttributeProto] = {each.name: each for each in function.attribute_proto}
    schema = schema_of(call, version)
    if schema is not None:
        for name, declared in schema.attributes.items():
            if declared.default_value.type != AttributeProto.UNDEFINED:
                given[name] = declared.default_value
    given |= {each.name: each for each in call.attribute}
    return [_bound(node, given, call) for node in function.node]


def _bound(node: NodeProto, given: Mapping[str, AttributeProto], call: NodeProto) -> NodeProto:
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    bound = deepcopy(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            bound.attribute.append(attribute)
        elif (value := given.get(attribute.ref_attr_name)) is not None:  # otherwise the call omits it
            if value.type != attribute.type:
                raise node_error(
                    call, f"attribute '{attribute.ref_attr_name}' has another type than its function requires"
                )
            bound.attribute.add().CopyFrom(value)
            bound.attribute[-1].name = attribute.name
    return bound


def without_inputs(node: NodeProto, missing: set[str]) -> NodeProto:
    """Returns `node` without the inputs that the call of its function omits."""
    if missing.isdisjoint(node.input):
        return node
    copy = deepcopy(node)
    copy.input[:] = ["" if name in missing else name for name in node.input]
    return copy


# --- The domain com.microsoft -----------------------------------------------------------------------------------------

_BYTES = "int8 uint8"
_FLOATS = "float float16 bfloat16"
_FLOATING = f"{_FLOATS} double"

_BINARY = "T:A F:A_scale T:A_zero_point? T:B F:B_scale T:B_zero_point? F:C_scale T:C_zero_point?"
_UNARY = "T:X F:X_scale T:X_zero_point? F:Y_scale T:Y_zero_point?"
_QUANTIZED = {"T": _BYTES, "F": "float"}

_WINDOWS = "ints:kernel_shape,pads,strides string:auto_pad"
_CONV = f"{_WINDOWS} ints:dilations int:group"
_FUSED_CONV = f"{_CONV} string:activation floats:activation_params"
_POOL = "ints:kernel_shape!,pads,strides string:auto_pad int:ceil_mode"
_PRODUCT = "float:alpha int:transA,transB"
_SCORES = "int:num_heads!,unidirectional float:scale,mask_filter_value"

_MICROSOFT: dict[str, tuple[str, dict[str, str], str]] = {
    "QuantizeLinear": ("T1:x T1:y_scale T2:y_zero_point?",
        {"T1": "float16 float", "T2": "int8 uint8 int16 uint16 int4 uint4"}, "int:axis"),
    "DequantizeLinear": ("T1:x T2:x_scale T1:x_zero_point?",
        {"T1": "int8 uint8 int16 uint16 int32 int4 uint4", "T2": "float16 float"}, "int:axis"),
    "QLinearAdd": (_BINARY, _QUANTIZED, ""),
    "QLinearMul": (_BINARY, _QUANTIZED, ""),
    "QLinearSigmoid": (_UNARY, _QUANTIZED, ""),
    "QLinearLeakyRelu": (_UNARY, _QUANTIZED, "float:alpha"),
    "QLinearAveragePool": (_UNARY, _QUANTIZED, f"{_POOL} int:channels_last,count_include_pad"),
    "NhwcMaxPool": ("T:x", {"T": _BYTES}, f"{_POOL} ints:dilations"),
    "QLinearConv": ("T1:x F:x_scale T1:x_zero_point T2:w F:w_scale T2:w_zero_point F:y_scale T3:y_zero_point T4:B?",
        {"F": "float", "T1": _BYTES, "T2": _BYTES, "T3": _BYTES, "T4": "int32"}, f"{_CONV} int:channels_last"),
    "QLinearGlobalAveragePool": (_UNARY.replace("?", ""), _QUANTIZED, "int:channels_last"),
    "QLinearSoftmax": (_UNARY.removesuffix("?"), _QUANTIZED, "int:axis,opset!"),
    "QLinearWhere": ("B:condition T:X F:x_scale T:x_zero_point T:Y F:y_scale T:y_zero_point F:z_scale T:z_zero_point",
        _QUANTIZED | {"B": "bool"}, ""),
    "QLinearConcat": ("F:Y_scale T:Y_zero_point V:inputs*", _QUANTIZED | {"V": f"{_BYTES} float"}, "int:axis!"),
    "QGemm": ("TA:A F:a_scale TA:a_zero_point TB:B F:b_scale TB:b_zero_point TC:C? F:y_scale? TY:y_zero_point?",
        {"F": "float", "TA": _BYTES, "TB": _BYTES, "TC": "int32", "TY": _BYTES}, _PRODUCT),
    "ReduceSumInteger": ("T:data", {"T": _BYTES}, "ints:axes! int:keepdims!"),
    "DynamicQuantizeMatMul": ("T1:A T2:B T1:b_scale T2:b_zero_point? T1:bias?", {"T1": "float", "T2": _BYTES}, ""),
    "MatMulIntegerToFloat": ("T1:A T2:B T3:a_scale T3:b_scale T1:a_zero_point? T2:b_zero_point? T3:bias?",
        {"T1": _BYTES, "T2": _BYTES, "T3": "float float16"}, ""),
    "MatMulNBits": ("T1:A T2:B T1:scales T3:zero_points? T4:g_idx? T1:bias?",
        {"T1": _FLOATS, "T2": "uint8", "T3": f"uint8 {_FLOATS}", "T4": "int32"},
        "int:K!,N!,block_size!,bits,accuracy_level,weight_prepacked"),
    "DynamicQuantizeLSTM": (
        "T:X T2:W T2:R T:B? T1:sequence_lens? T:initial_h? T:initial_c? T:P? T:W_scale T2:W_zero_point T:R_scale "
        "T2:R_zero_point", {"T": "float", "T1": "int32", "T2": _BYTES},
        "strings:activations floats:activation_alpha,activation_beta float:clip string:direction "
        "int:hidden_size,input_forget"),
    "Gelu": ("T:X", {"T": _FLOATING}, ""),
    "BiasGelu": ("T:A T:B", {"T": _FLOATING}, ""),
    "FastGelu": ("T:X T:bias?", {"T": _FLOATING}, ""),
    "QuickGelu": ("T:X", {"T": _FLOATING}, "float:alpha"),
    "FusedMatMul": ("T:A T:B", {"T": _FLOATING}, f"{_PRODUCT} int:transBatchA,transBatchB"),
    "TransposeMatMul": ("T:A T:B", {"T": _FLOATING}, _PRODUCT),
    "FusedConv": ("T:X T:W T:B? T:Z?", {"T": "float16 float double"}, _FUSED_CONV),
    "NhwcFusedConv": ("T:X T:W T:B? T:Z?", {"T": "float16 float"}, _FUSED_CONV),
    "FusedGemm": ("T:A T:B T:C?", {"T": "float16 float double uint32 uint64 int32 int64"},
        f"{_PRODUCT} float:beta,activation_alpha,activation_beta,activation_gamma string:activation"),
    "SkipLayerNormalization": ("T:input T:skip T:gamma T:beta? T:bias?", {"T": _FLOATS}, "float:epsilon"),
    "SkipSimplifiedLayerNormalization": ("T:input T:skip T:gamma T:bias?", {"T": _FLOATS}, "float:epsilon"),
    "SimplifiedLayerNormalization": ("T:X V:scale", {"T": _FLOATING, "V": _FLOATING},
        "float:epsilon int:axis,stash_type"),
    "EmbedLayerNormalization": (
        "T1:input_ids T1:segment_ids? T:word_embedding T:position_embedding T:segment_embedding? T:gamma T:beta "
        "T1:mask? T1:position_ids?", {"T": "float float16", "T1": "int32"}, "float:epsilon int:mask_index_type"),
    "RotaryEmbedding": ("T:input M:position_ids T:cos_cache T:sin_cache", {"T": _FLOATS, "M": "int64"},
        "int:interleaved,is_packed_batching,num_heads,rotary_embedding_dim float:scale"),
    "MultiHeadAttention": (
        "T:query T:key? T:value? T:bias? M:key_padding_mask? T:attention_bias? T:past_key? T:past_value? "
        "M:past_sequence_length? M:cache_indirection?", {"T": _FLOATS, "M": "int32"}, _SCORES),
    "Attention": ("T:input T:weights T:bias? M:mask_index? T:past? T:attention_bias? M:past_sequence_length?",
        {"T": _FLOATS, "M": "int32"},
        f"{_SCORES} int:do_rotary,past_present_share_buffer,rotary_embedding_dim ints:qkv_hidden_sizes"),
    "GroupQueryAttention": (
        "T:query T:key? T:value? C:past_key? C:past_value? M:seqlens_k M:total_sequence_length T:cos_cache? "
        "T:sin_cache? P:position_ids? T:attention_bias? T:head_sink? S:k_scale? S:v_scale? T:q_norm_weight? "
        "T:k_norm_weight? M:query_seqlens?",
        {"T": _FLOATS, "C": f"{_FLOATS} int8 uint8 float8e4m3fn", "M": "int32", "P": "int64", "S": "float"},
        "int:causal,do_rotary,kv_cache_bit_width,kv_num_heads!,local_window_size,num_heads!,qk_output,"
        "rotary_interleaved,sliding_window_cache,smooth_softmax string:k_quant_type,v_quant_type "
        "float:k_norm_epsilon,q_norm_epsilon,qk_norm_epsilon,scale,softcap"),
}  # fmt: skip
"""For each operator: inputs as `variable:name` (`?` is optional, `*` is variadic with any types), the types of each
variable, and attributes as `type:name,name` (`!` is required).
"""

ADDED = frozenset({"SimplifiedLayerNormalization"})
"""The operators in the table that ONNX Runtime adds to ONNX's domain."""

EARLIER = {"LayerNormalization": 17}
"""ONNX operators that ONNX Runtime also accepts in older operator sets, with the version that defines them."""

_OUTPUTS = {
    "DynamicQuantizeLSTM": 3, "SkipLayerNormalization": 4, "SkipSimplifiedLayerNormalization": 4,
    "SimplifiedLayerNormalization": 2, "EmbedLayerNormalization": 3, "MultiHeadAttention": 4, "Attention": 2,
    "GroupQueryAttention": 4,
}  # fmt: skip
"""The maximum number of outputs, for operators with more than one output."""


@cache
def _microsoft(op_type: str) -> defs.OpSchema | None:
    row = _MICROSOFT.get(op_type)
    if row is None:
        return None
    inputs, types, attributes = row
    formal, option, kinds = defs.OpSchema.FormalParameter, defs.OpSchema.FormalParameterOption, defs.OpSchema.AttrType
    options = {"?": option.Optional, "*": option.Variadic}
    given = [
        formal(name.rstrip("?*"), of, param_option=options.get(name[-1], option.Single), is_homogeneous=name[-1] != "*")
        for of, _, name in (word.partition(":") for word in inputs.split())
    ]
    count = _OUTPUTS.get(op_type, 1)
    results = [formal(f"Y{position}", "tensor(float)", param_option=option.Optional) for position in range(count)]
    constraints = [(name, [f"tensor({each})" for each in elements.split()], "") for name, elements in types.items()]
    declared = [
        defs.OpSchema.Attribute(name.rstrip("!"), getattr(kinds, kind.upper()), required=name.endswith("!"))
        for kind, _, names in (word.partition(":") for word in attributes.split())
        for name in names.split(",")
    ]
    return defs.OpSchema(
        op_type, MICROSOFT, 1, "", inputs=given, outputs=results, type_constraints=constraints, attributes=declared
    )
