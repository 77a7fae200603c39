"""Export to QONNX: float operators, with a Quant or FloatQuant after each value that the module quantizes.

A quantized value becomes the tensor of its real values. So a module is rewritten to floats before its export: its
operations compute on floats, and each result that they quantize passes through a `qonnx.quant`.
"""

from collections import Counter
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import CastOp, MulOp, SubOp
from qmlir.dialects.nn.evaluation import requantization_of
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import (
    QuantizedType,
    UniformFloatType,
    UniformQuantizedType,
    UniformType,
)
from qmlir.extensions.qonnx.formats import FORMATS, format_of, is_narrow
from qmlir.extensions.qonnx.integers import whole_floats
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import op_error, text_error, warn
from qmlir.ir.provenance import hand_on, origins_of, set_origins
from qmlir.ir.signature import inputs_of
from qmlir.onnx import export, metadata
from qmlir.onnx.export.emission import Exporter, NodeEmitter
from qmlir.text.files import access, path_of
from qmlir.text.tables import counted
from qmlir.workflows.loading import takes_model

if TYPE_CHECKING:
    from onnx import ModelProto

DOMAIN = "qonnx.custom_op.general"
"""QONNX's own domain, to which exported nodes belong."""

_CHECKED_BITS = 16
"""The widest integers of which each is checked, before a cast of integers becomes float arithmetic."""

_HELP = "; help: export with --format qdq"


@irdl_op_definition
class QuantOp(IRDLOperation):
    """Quantizes and dequantizes floats by the type `element`. It exists only while a module is exported."""

    name = "qonnx.quant"

    input = operand_def()
    element = prop_def(Attribute)
    result = result_def()

    def __init__(self, value: SSAValue, element: UniformType):
        super().__init__(
            operands=[value], properties={"element": element}, result_types=[TensorType(f32, shape_of(value))]
        )


# From types to operations


def as_floats(module: ModuleOp) -> ModuleOp:
    """Returns a copy of a module that computes on floats, with a `qonnx.quant` after each value that it quantizes.

    Raises `DiagnosticError` with the name of the operation if QONNX cannot express it.
    """
    found = module.clone()
    _warn_of_rounding(found)
    for function in found.ops:
        if not isinstance(function, FuncOp):
            raise text_error(f"QONNX export requires a module of functions, but got '{function.name}'")
        block = function.body.block
        for op in block.ops:
            _check_regions(op)
        for argument, port in zip(list(block.args), inputs_of(function), strict=True):
            _quantize(argument, None, place=f"input '{port.name}'")
        for op in list(block.ops):
            if not isinstance(op, QuantOp):
                _rewrite(op)
        function.update_function_type()
    return found


def _warn_of_rounding(module: ModuleOp) -> None:
    """Warns about operations that requantize in another way than floats do, whose results may differ near ties."""
    modes = [requantization_of(op)[0] for op in module.walk() if isinstance(op, NnOp) and op.requantize is not None]
    if others := Counter(mode for mode in modes if mode is not Mode.F32):
        count = counted(others.total(), "operation")
        verb = "requantize" if others.total() > 1 else "requantizes"
        warn(f"{count} {verb} in mode {', '.join(sorted(others))}; QONNX rounds floats, with ties to even")


def _check_regions(op: Operation) -> None:
    """Raises `DiagnosticError` if the regions of `op` compute or read quantized values."""
    values = [value for inner in op.walk() for value in (*inner.operands, *inner.results)]
    elements = (element_of(value) for value in values if isinstance(value.type, TensorType))
    if op.regions and any(isinstance(element, QuantizedType) for element in elements):
        raise op_error(op, f"has regions with quantized values, which QONNX cannot express{_HELP}")


def _rewrite(op: Operation) -> None:
    match op:
        case StorageCastOp() if isinstance(element_of(op.result), QuantizedType):
            _rewrite_stored(op)
        case StorageCastOp():
            raise op_error(op, f"reads the integers of a quantized value, but QONNX has only its real values{_HELP}")
        case DequantizeCastOp():
            _replace(op, op.input)
        case QuantizeCastOp():
            quantizer = QuantOp(op.input, _expressible(op, element_of(op.result)))
            _insert_after(op, quantizer)
            _replace(op, quantizer.result)
        case ConstantOp() if isinstance(element_of(op.result), QuantizedType):
            _rewrite_constant(op)
        case NnOp():
            if op.components is not None:
                raise op_error(op, f"has components with separate quantized types, which QONNX cannot express{_HELP}")
            is_moved = op.quantization_slots().shares_parameters
            op.requantize = None
            for result in list(op.results):
                _quantize(result, op, is_moved=is_moved)
        case _:
            pass


def _quantize(value: SSAValue, op: Operation | None, *, is_moved: bool = False, place: str = "") -> None:
    """Makes `value` a float and quantizes it, unless it holds moved values, which are quantized already.

    It is the result of `op`, or an argument that errors call `place`.
    """
    element = element_of(value) if isinstance(value.type, TensorType) else None
    if not isinstance(element, QuantizedType):
        return
    value = Rewriter.replace_value_with_new_type(value, TensorType(f32, shape_of(value)))
    if is_moved:
        return
    quantizer = QuantOp(value, _expressible(op, element, place))
    value.replace_uses_with_if(quantizer.result, lambda use: use.operation is not quantizer)
    quantizer.result.name_hint, value.name_hint = value.name_hint, None
    if op is not None:
        _insert_after(op, quantizer)
    elif (block := value.owner) and not isinstance(block, Operation):
        block.insert_op_before(quantizer, block.first_op) if block.first_op else block.add_op(quantizer)


def _rewrite_constant(op: ConstantOp) -> None:
    """Replaces a quantized constant with its real values and the quantizer that restores its integers."""
    element = _expressible(op, element_of(op.result))
    shape = shape_of(op.result)
    scales, zero_points = broadcast_parameters(element, shape)
    offsets = zero_points.astype(np.float32)
    real = np.asarray((op.array.astype(np.float32) - offsets) * scales.astype(np.float32), np.float32)
    constant = ConstantOp.of(np.ascontiguousarray(real), TensorType(f32, shape))
    set_origins(constant, origins_of(op))
    constant.result.name_hint = op.result.name_hint
    quantizer = QuantOp(constant.result, element)
    _insert_after(op, constant)
    _insert_after(constant, quantizer)
    restored = np.rint(real / scales.astype(np.float32) + offsets)
    if isinstance(element, UniformQuantizedType) and not np.array_equal(restored, op.array.astype(np.float32)):
        raise op_error(op, f"has integers that f32 cannot restore{_HELP}")
    _replace(op, quantizer.result)


def _rewrite_stored(op: StorageCastOp) -> None:
    """Replaces the cast of integers to a quantized type with their real values, which a quantizer rounds to the same
    integers."""
    element = _expressible(op, element_of(op.result))
    if not isinstance(element, UniformQuantizedType):
        raise op_error(op, f"reads stored floats, but QONNX has only their real values{_HELP}")
    if not _restores_all(element):
        raise op_error(op, f"has integers that f32 cannot restore{_HELP}")
    shape, source = shape_of(op.input), op.input
    before = source.owner
    scales, zero_points = (each.astype(np.float32) for each in broadcast_parameters(element, shape))
    value = whole_floats(source, element.storage_min, element.storage_max)
    added: list[NnOp] = []
    if value is None:
        added.append(CastOp.create(operands=[source], result_types=[TensorType(element.storage, shape)]))
        added.append(CastOp.create(operands=[added[0].results[0]], result_types=[TensorType(f32, shape)]))
        value = added[-1].results[0]
    for kind, parameters in ((SubOp, zero_points), (MulOp, scales)):
        if kind is MulOp or parameters.any():
            constant = ConstantOp.of(np.ascontiguousarray(parameters), TensorType(f32, parameters.shape))
            operation = kind.create(operands=[value, constant.result], result_types=[TensorType(f32, shape)])
            added += [constant, operation]
            value = operation.results[0]
    quantizer, last = QuantOp(value, element), op
    for each in (*added, quantizer):
        _insert_after(last, each)
        if last is op:
            set_origins(each, origins_of(op))
        last = each
    _replace(op, quantizer.result)
    while isinstance(before, CastOp) and not before.results[0].uses.get_length():
        unused, before = before, before.input.owner
        Rewriter.erase_op(unused)


def _restores_all(element: UniformQuantizedType) -> bool:
    """Returns True if QONNX's quantizer restores every integer of a type from its real value, in f32."""
    if element.bits > _CHECKED_BITS:
        return False
    integers: Array = np.arange(element.storage_min, element.storage_max + 1).astype(np.float32)
    scales, points = (each.reshape(-1).astype(np.float32) for each in (element.scales, element.zero_points))
    return all(
        np.array_equal(np.rint((integers - point) * scale / scale + point), integers)
        for scale, point in zip(scales, points, strict=True)
    )


def _expressible(op: Operation | None, element: Attribute, place: str = "") -> UniformType:
    """Returns a quantized type that QONNX can express. Raises `DiagnosticError` for other types.

    The error names the operation, or `place` without one.
    """
    reason = ""
    if not isinstance(element, UniformType):
        reason = "has no scale"
    elif element.expressed_type != f32:
        reason = f"expresses {element.expressed_type}, not f32"
    elif len(element.axes) > 1 or any(size != 1 for size in element.block_sizes):
        reason = "has one scale per block, not per tensor or per channel"
    elif isinstance(element, UniformQuantizedType) and is_narrow(element) is None:
        reason = "has limits that no number of bits gives"
    elif isinstance(element, UniformFloatType) and format_of(element.storage) not in FORMATS:
        reason = "has no mantissa"
    if reason or not isinstance(element, UniformType):
        message = f"has the type {element}, which {reason}: QONNX cannot express it{_HELP}"
        raise text_error(f"{place} {message}") if op is None else op_error(op, message)
    return element


def _insert_after(op: Operation, added: Operation) -> None:
    block = op.parent
    assert block is not None
    block.insert_op_after(added, op)
    if not origins_of(added):
        hand_on((added,), op)


def _replace(op: Operation, value: SSAValue) -> None:
    if op.results[0].name_hint:
        value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)
    Rewriter.erase_op(op)


# From operations to nodes


def _export_quant(out: NodeEmitter, op: QuantOp) -> None:
    element = op.element
    assert isinstance(element, UniformType)
    scales, zero_points = (each.astype(np.float32) for each in broadcast_parameters(element, shape_of(op.input)))
    inputs: Sequence[Array]
    if isinstance(element, UniformFloatType):
        inputs = [scales, *(np.array(each, np.float32) for each in format_of(element.storage))]
        _write(out, "FloatQuant", inputs, has_inf=0, has_nan=0, has_subnormal=1, saturation=1)
        return
    assert isinstance(element, UniformQuantizedType)
    found = is_narrow(element)
    assert found is not None
    inputs = [scales, zero_points, np.array(element.bits, np.float32)]
    _write(out, "Quant", inputs, signed=int(element.is_signed), narrow=int(found))


def _write(out: NodeEmitter, op_type: str, parameters: Sequence[Array], **attributes: int) -> None:
    names = [out.inputs[0], *(out.constant(each, f32) for each in parameters)]
    out.node(op_type, names, out.output, domain=DOMAIN, rounding_mode="ROUND", **attributes)


EXPORTERS: dict[type[Operation], Exporter] = {QuantOp: _export_quant}


@takes_model
def export_qonnx(
    module: ModuleOp, path: "str | PathLike[str] | None" = None, *, opset: int | None = None, force: bool = False
) -> "ModelProto":
    """Exports a float or quantized module as a QONNX model, for FINN, hls4ml and other tools for few bits.

    Quantized values become the tensors of their real values, and their quantization becomes Quant nodes.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.
        path: The file to write. `None` only returns the model.
        opset: Version of the ONNX operators, at least 21. `None` selects the oldest sufficient version.
        force: Replace a file at `path` that the module was read from.

    Returns:
        The QONNX model.

    Raises:
        DiagnosticError: QONNX cannot express an operation or a type (the message names it), or `path` cannot be
            written.

    Example:
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize("docs/examples/digits.onnxtxt", data, weights="i4")
        >>> model = qmlir.export_qonnx(quantized, "quantized.onnx")
        >>> sorted({node.op_type for node in model.graph.node})
        ['Gemm', 'Quant', 'Relu']
    """
    with access(force=force):
        if path is not None:
            export.check_onnx_file(path_of(path))
        model = metadata.without_module(export.export_model(as_floats(module), opset=opset))
        export.check_exported(model)
        if path is not None:
            export.save_onnx(model, path_of(path))
    return model
