"""The batch of a function of known sizes: along which axes images lie that have nothing to do with each other.

A function for one image, or for some, serves any batch if no operation lets one image have to do with another. The
walk over padded sizes proves it: it follows an axis of the inputs as one open size, whose capacity is the size
that they have. Any labelling of axes that passes every rule is a proof. What no rule follows is declined.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from qmlir.dialects.calib.ops import ObserveOp
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.specialization.inputs import function_of
from qmlir.specialization.padding.extents import Extent, extents
from qmlir.specialization.padding.pad import check_function
from qmlir.specialization.padding.walk import Axes, PaddingWalk, open_inputs

BATCH = "batch"
"""The open size that an axis of the inputs is."""

SEQUENCES = 3
"""The axes of sequences as recurrent layers of ONNX have them: steps, sequences, elements."""


@dataclass(frozen=True)
class BatchAxes:
    """The axis of the batch of each input and output that has one; others are the same for every image."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


def batch_of(module: ModuleOp, name: str = "main") -> BatchAxes:
    """The batch of a function of known sizes: one axis, the first or the second, of all inputs that have axes.

    The second is that of the sequences of recurrent layers. Raises `DiagnosticError`, naming the operation, where
    images may have to do with each other along the first, and where inputs or outputs have no batch.
    """
    function = function_of(module, name)
    check_function(function, {})
    shapes = {port.name: _shape(function, port) for port in inputs_of(function)}
    try:
        return _along(module, name, shapes, 0)
    except DiagnosticError as first:
        if any(len(shape) not in (0, SEQUENCES) for shape in shapes.values()):
            raise
        try:
            return _along(module, name, shapes, 1)
        except DiagnosticError:
            raise first from None


def _along(module: ModuleOp, name: str, shapes: Mapping[str, tuple[int, ...]], axis: int) -> BatchAxes:
    """The batch that is the axis `axis` of all inputs."""
    clone = module.clone()
    function = function_of(clone, name)
    for op in [op for op in function.walk() if isinstance(op, ObserveOp)]:  # which gives what it takes
        op.result.replace_all_uses_with(op.input)
        Rewriter.erase_op(op)
    erase_dead(function.body)
    sizes = {shape[axis] if axis < len(shape) else 0: port for port, shape in shapes.items() if shape}
    if len(sizes) != 1 or 0 in sizes:
        found = " and ".join(f"{size} of '{port}'" for size, port in sizes.items()) or "no axis"
        raise op_error(function, f"has no batch: the first axes of its inputs have one size, found {found}")
    (size,) = sizes
    walk = PaddingWalk(function, {BATCH: size}, is_sized=True)
    walk.run({port: _axes(shape, axis) for port, shape in shapes.items()})
    if BATCH in walk.mixed:
        raise op_error(walk.mixed[BATCH], "computes across the images of a batch")
    outputs = {port: _batch_axis(function, port, axes) for port, axes in walk.outputs.items()}
    batched = {port: found for port, found in outputs.items() if found is not None}
    if not batched:
        raise op_error(function, "has no batch: its outputs have no axis for it")
    return BatchAxes({port: axis for port, shape in shapes.items() if shape}, batched)


def _shape(function: FuncOp, port: Port) -> tuple[int, ...]:
    type_ = ranked_tensor(port.type)
    if type_ is None or not type_.has_static_shape():
        raise op_error(function, f"input '{port.name}' has type {port.type}: its sizes must be known")
    return type_.get_shape()


def _axes(shape: Sequence[int], batch: int) -> Axes:
    known = extents(shape)
    return (*known[:batch], Extent.of(BATCH), *known[batch + 1 :]) if shape else ()


def _batch_axis(function: FuncOp, output: str, axes: Axes) -> int | None:
    """The axis whose outer places are the images of an output."""
    axis = next((place for place, extent in enumerate(axes) if BATCH in extent.names), None)
    if axis is not None and axes[axis].factors[0] != BATCH:
        raise op_error(function, f"output '{output}' has its images inside of an axis of {axes[axis]} places")
    return axis


@dataclass(frozen=True)
class ImagePlace:
    """Where the images of a batch lie in a value of a run: along `axis`, `before` times, one after the other."""

    axis: int
    before: int = 1

    def repeats(self, shape: Sequence[int]) -> int:
        """How often all images come one after the other in a value of this shape."""
        return math.prod(shape[: self.axis]) * self.before


def observed_images(
    function: FuncOp, batch: Mapping[str, int], sizes: Sequence[Sequence[int]]
) -> list[ImagePlace | None]:
    """Where images lie in the operand of each observer of `function`, in order; `None` where it is the same for each.

    `batch` is the axis of each input, of an open size; `sizes` are the shapes of inputs of one image. What is found is
    true of inputs of these sizes alone. Raises `DiagnosticError`, naming the operation, where images may have to do
    with each other.
    """
    if len(function.body.blocks) > 1:
        raise op_error(function, "has several blocks")
    clone = function.clone()
    observed: list[SSAValue] = []
    for op in list(clone.walk()):
        if isinstance(op, ObserveOp):
            if op.parent is not clone.body.block:
                raise op_error(op, "observes in a region")
            observed.append(op.input)
            op.result.replace_all_uses_with(op.input)
            Rewriter.erase_op(op)
    end = clone.body.block.last_op
    assert isinstance(end, ReturnOp)
    Rewriter.replace_op(end, ReturnOp(*observed))
    clone.function_type = FunctionType.from_lists(clone.function_type.inputs.data, [each.type for each in observed])
    clone.properties.pop("res_attrs", None)
    inputs: dict[str, Axes] = {}
    capacities: dict[str, int] = {}
    for (port, axes), shape in zip(open_inputs(clone).items(), sizes, strict=True):
        place = batch[port]
        for axis, (extent, size) in enumerate(zip(axes, shape, strict=True)):
            if axis != place and BATCH in extent.names:
                raise op_error(function, f"has an axis of '{port}' named '{BATCH}' that is not the batch")
            capacities |= dict.fromkeys(extent.names, size)
        inputs[port] = (*axes[:place], Extent.of(BATCH), *axes[place + 1 :])
    capacities[BATCH] = 2
    walk = PaddingWalk(clone, capacities)
    walk.run(inputs)
    if BATCH in walk.mixed:
        raise op_error(walk.mixed[BATCH], "computes across the images of a batch")
    return [_image_place(function, walk.outputs[port.name], capacities) for port in outputs_of(clone)]


def _image_place(function: FuncOp, axes: Axes, sizes: Mapping[str, int]) -> ImagePlace | None:
    found = [place for place, extent in enumerate(axes) for name in extent.names if name == BATCH]
    if not found:
        return None
    if len(found) > 1:
        raise op_error(function, f"computes a value of {' x '.join(map(str, axes))}: each image with each other")
    (place,) = found
    factors = axes[place].factors
    return ImagePlace(place, Extent.of(*factors[: factors.index(BATCH)]).at(sizes))
