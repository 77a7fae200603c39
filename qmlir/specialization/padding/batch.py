"""The batch of a function: the axes along which inputs and outputs hold samples that are independent of each other.

A function that computes each sample alone serves any batch, one sample or some at a time. The walk over padded sizes
proves it: it follows the batch, one dynamic size, through every operation. No value may have it twice, and no operation
may combine, count or number the elements along it. An operation without a rule stops the proof.

The proof is made on a function whose batch is dynamic (`dynamic_batch`). At a batch of one, softmax, a recurrent layer
or a size that is read are gone or look alike, so `specialize_batch` records in the function what was proven before.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.dialects.calib.ops import ObserveOp
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.provenance import describe
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.specialization.inputs import function_of
from qmlir.specialization.padding.pad import check_function
from qmlir.specialization.padding.padding import Axes, PaddingWalk, open_inputs
from qmlir.specialization.padding.symbolic_sizes import Extent, extents
from qmlir.specialization.specialize import Shapes, is_open, specialize, specialize_function

BATCH = "batch"
"""The dynamic size that an axis of the inputs is."""

PROVEN = "nn.batch"
"""Marks a function that had a dynamic batch: the axes that were proven to hold independent samples, or the reason why
none were and the axes that were dynamic."""

REASON = "reason"

SEQUENCES = 3
"""The axes of sequences as recurrent layers of ONNX have them: steps, sequences, elements."""

PROOF = 2
"""The capacity of the batch in a proof: nothing follows from it."""


@dataclass(frozen=True)
class BatchAxes:
    """The axis of the batch of each input and output that has one; all others are the same for every sample."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]

    def attribute(self) -> DictionaryAttr:
        """These axes as an attribute of a function."""
        sides = {"inputs": self.inputs, "outputs": self.outputs}
        return DictionaryAttr(
            {
                side: DictionaryAttr({name: IntegerAttr(axis, i64) for name, axis in axes.items()})
                for side, axes in sides.items()
            }
        )

    @staticmethod
    def of(function: FuncOp) -> "BatchAxes | None":
        """The axes that `function` was marked with; `None` if it has no mark, or that of an unproven batch."""
        found = function.attributes.get(PROVEN)
        if not isinstance(found, DictionaryAttr) or REASON in found.data:
            return None
        return BatchAxes(_axes_in(found, "inputs"), _axes_in(found, "outputs"))


def _axes_in(attribute: DictionaryAttr, side: str) -> dict[str, int]:
    axes = attribute.data.get(side)
    entries: Mapping[str, Attribute] = axes.data if isinstance(axes, DictionaryAttr) else {}
    return {name: axis.value.data for name, axis in entries.items() if isinstance(axis, IntegerAttr)}


def batch_candidates(function: FuncOp) -> list[dict[str, int]]:
    """The axes that may be the batch, by input: one dynamic size of each input that has any.

    That is the first axis of all, the second, or the one that has the same name in all; the others stay as they are.
    """
    ports = inputs_of(function)
    types = [ranked_tensor(port.type) for port in ports]
    if None in types:
        return []
    shapes = {port.name: type_.get_shape() for port, type_ in zip(ports, types, strict=True) if type_ is not None}
    dynamic = [port for port in ports if DYNAMIC_INDEX in shapes[port.name]]
    found: list[dict[str, int]] = []
    for axis in (0, 1):
        if dynamic and all(shapes[port.name][axis : axis + 1] == (DYNAMIC_INDEX,) for port in dynamic):
            found.append({port.name: axis for port in dynamic})
    for name in dict.fromkeys(dim for port in dynamic for dim in port.dims if dim):
        axes = {port.name: port.dims.index(name) for port in dynamic if port.dims.count(name) == 1}
        if len(axes) == len(dynamic) and axes not in found:
            found.append(axes)
    return found


def with_size(shapes: Mapping[str, Sequence[int]], axes: Mapping[str, int], size: int) -> dict[str, tuple[int, ...]]:
    """`shapes` with another size along the axis of each input in `axes`."""
    return {
        name: tuple(size if axis == axes.get(name) else each for axis, each in enumerate(shape))
        for name, shape in shapes.items()
    }


def proven_batch(module: ModuleOp, shapes: Mapping[str, Sequence[int]], name: str = "main") -> BatchAxes:
    """The batch of a function of dynamic sizes, for inputs of `shapes` but for their batch.

    Raises `DiagnosticError` with the reason why the first of `batch_candidates` is none, if no candidate is one.
    """
    function = function_of(module, name)
    errors: list[DiagnosticError] = []
    for axes in batch_candidates(function):
        sizes = {port: shapes[port][axis] for port, axis in axes.items()}
        if len(set(sizes.values())) > 1:
            listed = " and ".join(f"{size} of '{port}'" for port, size in sizes.items())
            errors.append(op_error(function, f"has no batch axis: its inputs have {listed}"))
            continue
        try:
            return dynamic_batch(module, with_size(shapes, axes, DYNAMIC_INDEX), name)
        except DiagnosticError as error:
            errors.append(error)
    raise errors[0] if errors else op_error(function, "has no batch axis: no axis is dynamic in every dynamic input")


def dynamic_axes(function: FuncOp) -> dict[str, list[int]]:
    """The axes of each input that have a dynamic size; of one without a rank, those that may be a batch."""
    found: dict[str, list[int]] = {}
    for port in inputs_of(function):
        type_ = ranked_tensor(port.type)
        sizes = [DYNAMIC_INDEX, DYNAMIC_INDEX] if type_ is None else type_.get_shape()
        found[port.name] = [axis for axis, size in enumerate(sizes) if size == DYNAMIC_INDEX]
    return found


def mark_batch(function: FuncOp, dynamic: Mapping[str, Sequence[int]], found: BatchAxes | DiagnosticError) -> None:
    """Record in `function`, which has static shapes, what was found of its inputs with the axes `dynamic`."""
    if isinstance(found, BatchAxes):
        function.attributes[PROVEN] = found.attribute()
        return
    axes = {name: ArrayAttr(IntegerAttr(axis, i64) for axis in each) for name, each in dynamic.items()}
    function.attributes[PROVEN] = DictionaryAttr(
        {REASON: StringAttr(found.diagnostic.message), "inputs": DictionaryAttr(axes)}
    )


def _check_static(function: FuncOp, inputs: Mapping[str, int]) -> None:
    """Raise `DiagnosticError` with the reason of a mark if the axis of an input was dynamic, and is no proven batch."""
    found = function.attributes.get(PROVEN)
    reason = found.data.get(REASON) if isinstance(found, DictionaryAttr) else None
    if not isinstance(found, DictionaryAttr) or not isinstance(reason, StringAttr):
        return
    axes = found.data.get("inputs")
    for port, axis in inputs.items():
        dynamic = axes.data.get(port) if isinstance(axes, DictionaryAttr) else None
        known = cast(ArrayAttr[Attribute], dynamic).data if isinstance(dynamic, ArrayAttr) else None
        if known is None or IntegerAttr(axis, i64) in known:
            raise text_error(reason.data)


def specialize_batch(module: ModuleOp, shapes: Shapes, name: str = "main") -> ModuleOp:
    """`specialize` for `shapes`, marked with what is proven of the dynamic batch of `module`."""
    known = specialize(module, shapes, function=name)
    mark_specialized(module, known, name)
    return known


def mark_specialized(module: ModuleOp, known: ModuleOp, name: str = "main", *, has_values: bool = False) -> None:
    """Mark `known`, which `module` became with static shapes, with what is proven of the dynamic batch of `module`.

    `has_values` says that inputs became constants: then nothing is proven.
    """
    before, after = function_of(module, name), function_of(known, name)
    if any(is_open(port.type) for port in inputs_of(before)):
        types = {port.name: _shape(after, port) for port in inputs_of(after)}
        found = (
            op_error(before, "has inputs that were replaced by constants")
            if has_values
            else proof_of(module, types, name)
        )
        mark_batch(after, dynamic_axes(before), found)


def proof_of(module: ModuleOp, shapes: Mapping[str, Sequence[int]], name: str = "main") -> BatchAxes | DiagnosticError:
    """`proven_batch`, or the error that it raises."""
    try:
        return proven_batch(module, shapes, name)
    except DiagnosticError as error:
        return error


def dynamic_batch(module: ModuleOp, shapes: Mapping[str, Sequence[int]], name: str = "main") -> BatchAxes:
    """The batch of a function, proven for every size of it: inputs have `shapes`, in which it is `DYNAMIC_INDEX`.

    Raises `DiagnosticError`, naming the operation, if samples may depend on each other.
    """
    clone = module.clone()
    function = function_of(clone, name)
    inputs = {port: shape.index(DYNAMIC_INDEX) for port, shape in shapes.items() if DYNAMIC_INDEX in shape}
    _check_names(function, inputs)
    _erase_observers(function)
    specialize_function(clone, shapes, {}, name, keeps_dynamic=True)
    check_function(
        function, {size: PROOF for axes in open_inputs(function).values() for axis in axes for size in axis.names}
    )
    walk = PaddingWalk(function, {BATCH: PROOF})
    known = {port: _axes([max(size, 0) for size in shape], inputs.get(port)) for port, shape in shapes.items()}
    return _found(function, walk, known, inputs)


def _check_names(function: FuncOp, inputs: Mapping[str, int]) -> None:
    """Raise `DiagnosticError` if another axis of an input has the size of the batch."""
    ports = {port.name: port for port in inputs_of(function)}
    names = {ports[port].dims[axis]: port for port, axis in inputs.items() if ports[port].dims}
    for port in ports.values():
        for axis, size in enumerate(port.dims):
            if size and size in names and inputs.get(port.name) != axis:
                raise op_error(
                    function,
                    f"has the batch dimension '{size}' of input '{names[size]}' also along axis {axis} of "
                    f"'{port.name}', which is not a batch axis",
                )


def batch_of(module: ModuleOp, name: str = "main") -> BatchAxes:
    """The batch of a function of known sizes: the axes that it is marked with, or one axis of all inputs.

    Without a mark it is the first, or the second, that of the sequences of recurrent layers: then each sample is what
    the function says of it alone. Raises `DiagnosticError`, naming the operation, if samples may depend on each other,
    and if inputs or outputs have no batch.
    """
    function = function_of(module, name)
    check_function(function, {})
    shapes = {port.name: _shape(function, port) for port in inputs_of(function)}
    proven = BatchAxes.of(function)
    if proven is not None:
        found = _along(module, name, shapes, {port: axis for port, axis in proven.inputs.items() if port in shapes})
        if (found.inputs.keys(), found.outputs.keys()) != (proven.inputs.keys(), proven.outputs.keys()):
            raise op_error(function, "must have the inputs and outputs whose batch axes are known")
        return proven
    first, second = ({port: axis for port, shape in shapes.items() if shape} for axis in (0, 1))
    try:
        _check_static(function, first)
        return _along(module, name, shapes, first)
    except DiagnosticError as error:
        if any(len(shape) not in (0, SEQUENCES) for shape in shapes.values()):
            raise
        try:
            _check_static(function, second)
            return _along(module, name, shapes, second)
        except DiagnosticError:
            raise error from None


def _along(module: ModuleOp, name: str, shapes: Mapping[str, tuple[int, ...]], inputs: Mapping[str, int]) -> BatchAxes:
    """The batch that lies along the axes `inputs`."""
    clone = module.clone()
    function = function_of(clone, name)
    _erase_observers(function)
    erase_dead(function.body)
    sizes = {shapes[port][axis] if axis < len(shapes[port]) else 0: port for port, axis in inputs.items()}
    if len(sizes) != 1 or 0 in sizes:
        found = " and ".join(f"{size} of '{port}'" for size, port in sizes.items()) or "no axis"
        raise op_error(
            function, f"has no batch axis: expected inputs with one size along the first axis, but got {found}"
        )
    (size,) = sizes
    walk = PaddingWalk(function, {BATCH: size}, is_sized=True)
    return _found(function, walk, {port: _axes(shape, inputs.get(port)) for port, shape in shapes.items()}, inputs)


def _erase_observers(function: FuncOp) -> None:
    for op in [op for op in function.walk() if isinstance(op, ObserveOp)]:  # the result of one is its operand
        op.result.replace_all_uses_with(op.input)
        Rewriter.erase_op(op)


def _found(function: FuncOp, walk: PaddingWalk, axes: Mapping[str, Axes], inputs: Mapping[str, int]) -> BatchAxes:
    """The batch of a function that `walk` goes over. Raises `DiagnosticError` if samples may depend on each other."""
    _follow(walk, axes)
    for condition in walk.conditions:
        if BATCH in condition.names:
            raise op_error(function, f"does not accept every batch size: {condition}")
    outputs = {port: _batch_axis(function, port, axes) for port, axes in walk.outputs.items()}
    batched = {port: found for port, found in outputs.items() if found is not None}
    if not batched:
        raise op_error(function, "has no batch axis in its outputs")
    return BatchAxes(dict(inputs), batched)


def _follow(walk: PaddingWalk, inputs: Mapping[str, Axes]) -> None:
    """Run `walk`. Raises `DiagnosticError` with the first operation that mixes samples, or that has no rule."""
    try:
        walk.run(inputs)
    except DiagnosticError as error:
        op, said = error.diagnostic.op, error.diagnostic.message
        if BATCH not in walk.mixed and op is not None:
            reason = said.removeprefix(f"{describe(op)} ")
            raise op_error(op, f"may mix the samples of a batch: it {reason}") from error
    if BATCH in walk.mixed:
        raise op_error(walk.mixed[BATCH], "mixes the samples of a batch")


def _shape(function: FuncOp, port: Port) -> tuple[int, ...]:
    type_ = ranked_tensor(port.type)
    if type_ is None or not type_.has_static_shape():
        raise op_error(function, f"input '{port.name}' must have a known shape, but got type {port.type}")
    return type_.get_shape()


def _axes(shape: Sequence[int], batch: int | None) -> Axes:
    known = extents(shape)
    return known if batch is None else (*known[:batch], Extent.of(BATCH), *known[batch + 1 :])


def _batch_axis(function: FuncOp, output: str, axes: Axes) -> int | None:
    """The axis whose outer places are the images of an output."""
    axis = next((place for place, extent in enumerate(axes) if BATCH in extent.names), None)
    if axis is not None and axes[axis].factors[0] != BATCH:
        raise op_error(function, f"output '{output}' has its samples in the middle of an axis of size {axes[axis]}")
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
        raise op_error(function, "must have a single block")
    clone = function.clone()
    observed: list[SSAValue] = []
    for op in list(clone.walk()):
        if isinstance(op, ObserveOp):
            if op.parent is not clone.body.block:
                raise op_error(op, "must not observe values in a region")
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
                raise op_error(function, f"must not name axis '{BATCH}' of '{port}': it is not the batch")
            capacities |= dict.fromkeys(extent.names, size)
        inputs[port] = (*axes[:place], Extent.of(BATCH), *axes[place + 1 :])
    capacities[BATCH] = 2
    walk = PaddingWalk(clone, capacities)
    _follow(walk, inputs)
    return [_image_place(function, walk.outputs[port.name], capacities) for port in outputs_of(clone)]


def _image_place(function: FuncOp, axes: Axes, sizes: Mapping[str, int]) -> ImagePlace | None:
    found = [place for place, extent in enumerate(axes) for name in extent.names if name == BATCH]
    if not found:
        return None
    if len(found) > 1:
        raise op_error(
            function, f"computes a value of {' x '.join(map(str, axes))}, which combines every sample with every other"
        )
    (place,) = found
    factors = axes[place].factors
    return ImagePlace(place, Extent.of(*factors[: factors.index(BATCH)]).at(sizes))
