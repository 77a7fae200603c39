"""Selects how to export an operation or a constant, based on its types and on the format that the user selected."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir import registry
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.dynamic.ops import DynamicQuantizeOp
from qmlir.dialects.nn.evaluation import is_quantized, requantization_of
from qmlir.dialects.nn.pooling.ops import AveragePoolOp
from qmlir.dialects.nn.recurrent.ops import Layer
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import StoredType
from qmlir.ir.builtin_types import element_of, ranked_tensor
from qmlir.ir.decomposition import Parts
from qmlir.ir.diagnostics import op_error
from qmlir.ir.interfaces import ReadsShapesOnly
from qmlir.onnx.export import emission, qdq
from qmlir.onnx.export.casts import has_blocks
from qmlir.onnx.export.control import has_steps, write_steps
from qmlir.onnx.export.emission import Exporter, ExportForm, NodeEmitter, Settings
from qmlir.onnx.export.integer import write_blocks, write_integer
from qmlir.onnx.export.qlinear import write_n_bits, write_qlinear, write_source
from qmlir.onnx.export.signed_as_unsigned import shifted_constant
from qmlir.text.weights import ExternalWeightsAttr

Exporters = Mapping[type[Operation], Exporter]


def exporter_of(op: Operation, exporters: Exporters) -> Exporter:
    """Returns the exporter of an operation. Raises `DiagnosticError` if there is none."""
    found = exporters.get(type(op))
    if found is None:
        raise op_error(
            op,
            "cannot be exported to ONNX: only operations of the graph, profiled and quantized levels can; a package "
            f"adds exporters through the entry point group '{registry.ONNX_EXPORTERS_GROUP}'",
        )
    return found


def write(out: NodeEmitter, op: Operation, exporters: Exporters) -> None:
    """Exports one operation, in the form that its types and the settings require."""
    for value in (*op.operands, *op.results):
        type_ = ranked_tensor(value.type)
        if type_ is not None:
            out.needs(emission.element_since(type_.get_element_type()), f"elements of {type_.get_element_type()}")
    if isinstance(op, DynamicQuantizeOp) and not op.is_of_onnx:
        write_parts(out, op, exporters)
    elif not isinstance(op, NnOp) or not any(map(is_quantized, (*op.data_operands(), *op.results))):
        is_written = out.settings.form is ExportForm.QOPERATOR and isinstance(op, NnOp) and write_n_bits(out, op)
        if not is_written:
            exporter_of(op, exporters)(qdq.with_hidden_weights(out, op), op)
    elif op.components is not None:
        write_parts(out, op, exporters)
    elif op.has_trait(ReadsShapesOnly):
        exporter_of(op, exporters)(out, op)
    elif not op.quantization_slots().shares_parameters:
        _write_computed(out, op, exporter_of(op, exporters))
    elif out.settings.form is ExportForm.QDQ and qdq.between_equal_casts(op):
        qdq.write_between_equal_casts(out, op, exporter_of(op, exporters))
    else:
        qdq.write_moved(out, op, exporter_of(op, exporters))


def _write_computed(out: NodeEmitter, op: NnOp, exporter: Exporter) -> None:
    """Exports an operation in the first supported way of the chosen format."""
    form, exact, mode = out.settings.form, out.settings.exact, requantization_of(op)[0]
    if mode is Mode.QLINEAR:
        write_source(out, op)
        return
    if mode.is_litert:
        raise op_error(
            op, f"cannot be exported to ONNX: it computes as LiteRT's kernels do (mode {mode}); help: "
            "quant-set-requantize{mode=f32} sets the arithmetic of ONNX Runtime"
        )  # fmt: skip
    if form is ExportForm.QOPERATOR and write_qlinear(out, op):
        return
    is_between = form is not ExportForm.INTEGER and qdq.can_be_between_casts(op)
    if form is ExportForm.QDQ and exact is False:
        # Casts only support rounding to nearest, ties to even.
        is_between = is_between and mode is Mode.F32 and not _fails(op)
    elif is_between:
        may_be_fused = form is ExportForm.QDQ and exact is None and out.packed.keys().isdisjoint(op.operands)
        is_between = qdq.is_certain(op) or (may_be_fused and qdq.is_fused_alike(op))
    if is_between or not _write_integers(out, op):
        qdq.write_between_casts(out, op, exporter)


def _write_integers(out: NodeEmitter, op: NnOp) -> bool:
    """Exports an operation in integer arithmetic, with unpacked constants. Returns False if that is not supported."""
    packed = [value for value in dict.fromkeys(op.operands) if value in out.packed]
    if packed and any(map(has_blocks, op.operands)):
        return False
    before = len(out.nodes)
    names = {value: out.cast(out.name(value), emission.held_element(element_of(value))) for value in packed}
    unpacked = replace(out, names={**out.names, **names}, packed={}) if packed else out
    if write_integer(unpacked, op) or write_blocks(unpacked, op):
        return True
    del out.nodes[before:]
    return False


def _fails(op: NnOp) -> bool:
    """Returns True if ONNX Runtime fuses an operation between casts and then rejects it: a dilated average."""
    return isinstance(op, AveragePoolOp) and any(step != 1 for step in op.windows.dilations)


def write_parts(out: NodeEmitter, op: NnOp, exporters: Exporters) -> None:
    """Exports the components of a composite: one whose component types have been chosen, or without an operator."""
    parts = Parts(op)
    try:
        results = decompose(op, parts)
        if results is None:
            raise out.error(f"has components that {parts.missing_type()}")
        rows = zip(op.results, results, out.outputs, strict=True)
        # The results of a part are those of the composite, although no operation reads them.
        wanted = [(result, name) for own, result, name in rows if own.uses or op.parent is None]
        given: dict[SSAValue, str] = {}
        for result, name in wanted:
            given.setdefault(result, name)

        def write_part(target: NodeEmitter, number: int, names: dict[SSAValue, str]) -> None:
            role, part = parts.roles[number], parts.operations[number]
            if isinstance(part, ConstantOp) and not part.result.uses and part.result not in given:
                return
            taken = given if target is out else {}  # the graph of a loop has separate names
            own = [
                taken.get(result) or out.own_name(f"{role}.{number}.{position}")
                for position, result in enumerate(part.results)
            ]
            names.update(zip(part.results, own, strict=True))
            inner = replace(target, op=part, names=names, outputs=own, prefix="", elements={}, _known={})
            if isinstance(part, ConstantOp):
                write_constant(inner, part)
            else:
                write(inner, part, exporters)

        if not parts.is_excerpt:
            names = dict(out.names)
            for number in range(len(parts.operations)):
                write_part(out, number, names)
        elif has_steps(op):
            names = write_steps(out, cast(Layer, op), parts, write_part)
        else:
            raise out.error(
                "cannot be written for any length: ONNX has no operator for its quantized parts; help: fix the length "
                "by --shape, or leave the layer in float by --exclude"
            )
        for result, name in wanted:
            if names[result] != name:
                out.node("Identity", [names[result]], name)
    finally:
        parts.discard()


def write_constant(out: NodeEmitter, op: ConstantOp, unsigned: AbstractSet[SSAValue] = frozenset()) -> None:
    """Exports a constant as a tensor of its container type; values in `unsigned` are shifted."""
    element = element_of(op.result)
    if isinstance(op.value, ExternalWeightsAttr):
        raise out.error("has elided weights; read the module together with its weights file")
    if op.result in out.packed:
        out.tensor(emission.tensor_proto(out.output, op.array, out.packed[op.result]))
        return
    if emission.data_type(element) is None:
        raise out.error(f"has elements of {element}, which ONNX does not support")
    held = shifted_constant(op) if op.result in unsigned else op
    out.tensor(emission.plain_proto(out.output, held.array, out.element(held.result)))


def packed_constants(function: FuncOp, settings: Settings) -> dict[SSAValue, int]:
    """Returns the data types of packed constants: those of at most 4 bits that are only dequantized."""
    found: dict[SSAValue, int] = {}
    if settings.form is not ExportForm.QDQ or settings.exact:
        return found
    for op in function.body.block.ops:
        if not isinstance(op, ConstantOp) or not isinstance(element := element_of(op.result), StoredType):
            continue
        kind = emission.packed_type(element, settings.opset)
        if kind is not None and all(_dequantizes(use.operation) for use in op.result.uses):
            found[op.result] = kind
    return found


def _dequantizes(user: Operation) -> bool:
    """Returns True if an operation computes with the real values of its operands."""
    if isinstance(user, DequantizeCastOp):
        return True
    if not isinstance(user, NnOp) or user.components is not None or user.quantization_slots().shares_parameters:
        return False
    return qdq.can_be_between_casts(user) and requantization_of(user)[0] is Mode.F32
