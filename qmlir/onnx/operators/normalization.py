"""Import and export of normalization and softmax."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from ml_dtypes import finfo
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.normalization import ops
from qmlir.dialects.nn.reduction.ops import ReduceMeanOp
from qmlir.dialects.nn.shapes.ops import ShapeOp
from qmlir.dialects.nn.training.ops import BatchNormTrainingOp
from qmlir.formats.one_to_one import OneToOne, attributes_of
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import Exporter, NodeEmitter, data_type, namesake
from qmlir.onnx.node import Importer, Node
from qmlir.text.elements import dense_dtype

RMS_SINCE = 23

MODE_SINCE = 14
"""The first version with `training_mode`; in earlier versions, additional outputs imply training mode."""

_GROUP_NORM = "num_groups=groups epsilon"
_LP_NORM = OneToOne("LpNormalization", ops.LpNormOp, "axis p")


def wanted(node: Node, position: int) -> bool:
    """Returns True if the model uses the output at index `position`."""
    return position < len(node.proto.output) and bool(node.proto.output[position])


def _batch_norm(node: Node) -> list[SSAValue]:
    """Imports ONNX BatchNormalization; if data, scales and means have different types, it is computed in f32 or f64.

    In training mode, the statistics of the batch normalize the data, in at least f32, and the running statistics move
    towards them.
    """
    has_more = any(wanted(node, position) for position in range(1, 5))
    # Before version 14, the further outputs say that the statistics are those of the batch.
    is_training = has_more if node.version < MODE_SINCE else bool(node.attribute("training_mode"))
    data, *parameters = [node.input(position) for position in range(5)]
    own, shape, running = element_of(data), shape_of(data), parameters[2]
    elements = {element_of(value) for value in (data, *parameters)}
    if len(elements) > 1 or is_training:
        common = f64 if f64 in elements else f32
        data, *parameters = [node.cast(value, common) for value in (data, *parameters)]
    if len(shape) == 1:  # a tensor of one axis has one channel
        data = node.add(movement.UnsqueezeOp, data, axes=[1]).result
    elif node.version < 9 and not node.attribute("spatial"):
        data, parameters = _with_elements_as_channels(node, data, parameters)
    statistics: Sequence[SSAValue] = ()
    if is_training:
        op = node.add(BatchNormTrainingOp, data, *parameters, attributes="epsilon momentum")
        result, *statistics = op.results if node.version < MODE_SINCE else op.results[:3]
    else:
        result = node.add(ops.BatchNormOp, data, *parameters, attributes="epsilon").result
    if len(shape) == 1:
        result = node.add(movement.SqueezeOp, result, axes=[1]).result
    elif len(shape_of(result)) != len(shape):
        result = node.reshaped(result, shape)
    statistics = [node.cast(value, element_of(running)) for value in statistics]
    if len(shape_of(parameters[2])) != len(shape_of(running)):
        statistics = [node.reshaped(value, shape_of(running)) for value in statistics]
    return [node.cast(result, own), *statistics]


def _with_elements_as_channels(
    node: Node, data: SSAValue, parameters: list[SSAValue]
) -> tuple[SSAValue, list[SSAValue]]:
    """`spatial = 0`, before version 9: every element of an instance has parameters of its own, as a channel has."""
    shape = shape_of(data)
    if DYNAMIC_INDEX in shape[1:]:
        raise node.unsupported(f"spatial = 0 requires static sizes after the batch, but got {data.type}")
    count = math.prod(shape[1:])
    return node.reshaped(data, (shape[0], count)), [node.reshaped(value, (count,)) for value in parameters]


def _precision(node: Node) -> Attribute | None:
    """The type of the first stage, `None` where it is the operation's default."""
    stash = node.attribute("stash_type", 1)
    element = node.element_type(1 if stash is None else stash)
    return None if element == ops.default_precision(node.input()) else element


def _group_norm(node: Node) -> SSAValue:
    operands = (node.input(position) for position in range(3))
    return node.add(ops.GroupNormOp, *operands, attributes=_GROUP_NORM, precision=_precision(node)).result


def _layer_norm(node: Node) -> list[SSAValue]:
    operands = node.input(), node.input(1), node.optional(2)
    result = node.add(ops.LayerNormOp, *operands, attributes="axis epsilon", precision=_precision(node)).result
    if not wanted(node, 1) and not wanted(node, 2):
        return [result]
    stage = node.cast(operands[0], node.element_type(node.attribute("stash_type")))
    return [result, *layer_statistics(node, stage, node.attribute("axis"), node.attribute("epsilon"))]


def layer_statistics(node: Node, stage: SSAValue, axis: int, epsilon: float) -> tuple[SSAValue, SSAValue]:
    """Returns the mean and the inverse standard deviation of `stage`, the data in the type of the first stage."""
    rank = len(shape_of(stage))
    axes = list(range(normalized_axis(axis, rank), rank))
    mean = node.part("mean").add(ReduceMeanOp, stage, axes=axes).result
    centered = node.part("centred").add(elementwise.SubOp, stage, mean).result
    squared = node.part("squared").add(elementwise.MulOp, centered, centered).result
    variance = node.part("variance").add(ReduceMeanOp, squared, axes=axes).result
    shifted = node.add(elementwise.AddOp, variance, node.scalar(epsilon, variance)).result
    deviation = node.add(elementwise.SqrtOp, shifted).result
    return mean, node.add(elementwise.ReciprocalOp, deviation).result


def rms_norm(node: Node, axis: int, epsilon: float) -> SSAValue:
    """Imports ONNX RMSNormalization, whose result has the type of the scale."""
    data, scale = node.input(), node.input(1)
    properties: dict[str, Any] = {"axis": axis, "epsilon": epsilon, "precision": _precision(node)}
    if element_of(data) == element_of(scale):
        return node.add(ops.RmsNormOp, data, scale, **properties).result
    normalized = node.add(ops.RmsNormOp, data, **properties).result
    return node.add(elementwise.MulOp, node.cast(normalized, element_of(scale)), scale).result


def _two_stages(
    out: NodeEmitter, op: ops.LayerNormOp | ops.RmsNormOp | ops.GroupNormOp, op_type: str, attributes: str
) -> None:
    """Exports a normalization whose first stage has a type of its own, `stash_type`."""
    inputs = out.inputs
    if isinstance(op, ops.RmsNormOp):
        out.needs(RMS_SINCE, op_type)
        inputs = [out.name(op.data), out.name(op.scale) or _ones(out, op)]
    stash_type = data_type(op.first_stage_type(op.data))
    out.node(op_type, inputs, out.output, stash_type=stash_type, **attributes_of(op, attributes))


def _ones(out: NodeEmitter, op: ops.RmsNormOp) -> str:
    """The scale of an RMSNormalization that has none."""
    sizes = shape_of(op.data)[op.first_axis :]
    if any(size < 0 for size in sizes):
        raise out.error(f"requires a scale in ONNX, whose size is dynamic in {op.data.type}")
    return out.constant(np.ones(sizes), out.element(op.data))


def _export_batch_norm(out: NodeEmitter, op: ops.BatchNormOp) -> None:
    inputs, attributes = out.inputs, attributes_of(op, "epsilon")
    if op.statistics is None:
        if (channels := shape_of(op.scale)[0]) < 0:
            raise out.error(f"requires statistics in ONNX, whose size is dynamic in {op.scale.type}")
        zeros, ones = (out.constant(np.full(channels, each), out.element(op.data)) for each in (0, 1))
        inputs, attributes["epsilon"] = [*inputs[:3], zeros, ones], 0.0
    out.node("BatchNormalization", inputs, out.output, **attributes)


def _export_batch_norm_training(out: NodeEmitter, op: BatchNormTrainingOp) -> None:
    out.needs(MODE_SINCE, "BatchNormalization in training")
    if op.batch_mean.first_use is not None or op.batch_variance.first_use is not None:
        raise out.error("returns the batch mean and variance, but ONNX returns the running ones")
    attributes = attributes_of(op, "epsilon momentum")
    out.node("BatchNormalization", out.inputs, out.outputs[:3], training_mode=1, **attributes)


def _export_lp_norm(out: NodeEmitter, op: ops.LpNormOp) -> None:
    if op.epsilon is None:
        _LP_NORM.exported(out, op)
        return
    data = out.name(op.input)
    norm = out.node(f"ReduceL{op.p.value.data}", [data, out.constant([op.axis.value.data])])
    least = out.constant(np.array(op.epsilon.value.data), out.element(op.input))
    out.node("Div", [data, out.node("Max", [norm, least])], out.output)


# Softmax and related operators. A mask is exported as a Where before and after, because ONNX Softmax has no mask.


def _along_axis(node: Node, operation: type[ops.SoftmaxLikeOp]) -> SSAValue:
    axis = node.attribute("axis")
    if node.version >= 13:
        return node.add(operation, node.input(), axis=axis).results[0]
    return _over_trailing_axes(node, operation, axis)


def _over_trailing_axes(node: Node, operation: type[ops.SoftmaxLikeOp], axis: int) -> SSAValue:
    """Before version 13: over all axes from `axis` on together. They are made one where more than one has elements."""
    value, shape = node.input(), node.shape()
    axis = normalized_axis(axis, len(shape))
    tail = shape[axis:]
    spread = [position for position, size in enumerate(tail) if size != 1]
    if len(spread) <= 1:
        return node.add(operation, value, axis=axis + (spread[0] if spread else 0)).results[0]
    last = DYNAMIC_INDEX if DYNAMIC_INDEX in tail else math.prod(tail)
    # 0 copies a size: the sizes before `axis` need not be known.
    target = node.add_constant(np.array([0] * axis + [-1], np.int64), i64)
    flat = node.reshaped(value, [*shape[:axis], last], target)
    result = node.add(operation, flat, axis=-1).results[0]
    back = None if shape.count(DYNAMIC_INDEX) <= 1 else node.add(ShapeOp, value).result
    return node.reshaped(result, shape, back)


def _export_softmax(out: NodeEmitter, op: ops.SoftmaxOp) -> None:
    """What is masked gets the lowest number of the type, of which a row without any other gives `1 / n`."""
    data, attributes = out.name(op.input), attributes_of(op, "axis")
    if op.mask is None:
        out.node("Softmax", [data], out.outputs, **attributes)
        return
    mask, element = out.name(op.mask), out.element(op.input)
    dtype = dense_dtype(element)
    assert dtype is not None
    info = cast(Any, finfo)(dtype)
    lowest, nothing = (out.constant(np.asarray(each, dtype), element) for each in (info.min, 0))
    if op.fill is not None:
        fill = out.constant(np.asarray(op.fill.value.data, dtype), element)
        addend = out.node("Where", [mask, nothing, fill])
        out.node("Softmax", [out.node("Add", [data, addend])], out.outputs, **attributes)
        return
    selected = out.node("Where", [mask, data, lowest])
    if op.is_uniform_if_empty:
        out.node("Softmax", [selected], out.outputs, **attributes)
    else:
        out.node("Where", [mask, out.node("Softmax", [selected], **attributes), nothing], out.outputs)


IMPORTERS: dict[str, Importer] = {
    "BatchNormalization": _batch_norm,
    "GroupNormalization": _group_norm,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": lambda node: rms_norm(node, node.attribute("axis"), node.attribute("epsilon")),
    "LpNormalization": _LP_NORM.imported,
    **{
        namesake(operation): partial(_along_axis, operation=operation)
        for operation in (ops.SoftmaxOp, ops.LogSoftmaxOp, ops.HardmaxOp)
    },
}
EXPORTERS: dict[type[Operation], Exporter] = {
    ops.BatchNormOp: _export_batch_norm,
    BatchNormTrainingOp: _export_batch_norm_training,
    ops.GroupNormOp: partial(_two_stages, op_type="GroupNormalization", attributes=_GROUP_NORM),
    ops.LayerNormOp: partial(_two_stages, op_type="LayerNormalization", attributes="axis epsilon"),
    ops.RmsNormOp: partial(_two_stages, op_type="RMSNormalization", attributes="axis epsilon"),
    ops.LpNormOp: _export_lp_norm,
    ops.SoftmaxOp: _export_softmax,
}
