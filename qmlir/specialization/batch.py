"""Proves that the samples of a batch are independent, and finds the batch axes of inputs and outputs.

If a function computes each sample separately, it works for any batch size, and a batch can be split into any number of
chunks. The padding walk proves this: it follows the batch dimension through every operation. No value may contain the
batch dimension twice, and no operation may combine, count or index elements along it. The proof fails at an operation
without a rule.

The batch must be dynamic (`dynamic_batch`): if the batch size is 1, operations that mix samples may have been folded
away or look harmless. `specialize_batch` therefore records the result in the specialized function.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.symbolic_sizes import Extent, extents
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.padding_rules import Axes
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.provenance import describe
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.specialization.inputs import function_of, input_shapes
from qmlir.specialization.padding import PaddingWalk, check_function, open_inputs
from qmlir.specialization.specialize import Shapes, is_open, specialize, specialize_function

BATCH = "batch"
"""The name of the dynamic dimension that stands for the batch in a proof."""

PROVEN = "nn.batch"
"""Marks a function that had a dynamic batch.

It holds the proven batch axes, or the reason why the proof failed together with the axes that were dynamic.
"""

REASON = "reason"

SEQUENCES = 3
"""The rank of sequences in ONNX's recurrent layers: `[steps, batch, elements]`."""

PROOF = 2
"""The capacity of the batch in a proof; any number above 1 would work."""


@dataclass(frozen=True)
class BatchAxes:
    """The batch axis of each input and output that has one; other inputs and outputs are shared by all samples."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]

    def attribute(self) -> DictionaryAttr:
        """Returns these axes as the attribute that marks a function."""
        return DictionaryAttr({"inputs": _attribute(self.inputs), "outputs": _attribute(self.outputs)})

    @staticmethod
    def of(function: FuncOp) -> "BatchAxes | None":
        """Returns the axes in the mark of `function`; `None` if it has no mark or its batch is not proven."""
        found = function.attributes.get(PROVEN)
        if not isinstance(found, DictionaryAttr) or REASON in found.data:
            return None
        return BatchAxes(_axes_in(found, "inputs"), _axes_in(found, "outputs"))


def _attribute(axes: Mapping[str, int]) -> DictionaryAttr:
    return DictionaryAttr({name: IntegerAttr(axis, 64) for name, axis in axes.items()})


def _axes_in(attribute: DictionaryAttr, side: str) -> dict[str, int]:
    axes = attribute.data.get(side)
    entries: Mapping[str, Attribute] = axes.data if isinstance(axes, DictionaryAttr) else {}
    return {name: axis.value.data for name, axis in entries.items() if isinstance(axis, IntegerAttr)}


def batch_candidates(function: FuncOp) -> list[dict[str, int]]:
    """Returns candidates for the batch axes. Each candidate has one axis of every input with dynamic axes.

    It is the first axis of all these inputs, the second axis of all, or the axis with the same name in all of them.
    """
    ports = inputs_of(function)
    shapes = input_shapes(function)
    if len(shapes) < len(ports):
        return []
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
    """Returns `shapes` with the given `size` along the axis of each input in `axes`."""
    return {
        name: tuple(size if axis == axes.get(name) else each for axis, each in enumerate(shape))
        for name, shape in shapes.items()
    }


def proven_batch(module: ModuleOp, shapes: Mapping[str, Sequence[int]], name: str = "main") -> BatchAxes:
    """Returns the proven batch axes of a function with dynamic sizes, given the shapes of its inputs.

    Raises `DiagnosticError` if no candidate can be proven, with the reason that the first of `batch_candidates` failed.
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
    """Returns the dynamic axes of each input; for an unranked input, the axes that may be the batch."""
    found: dict[str, list[int]] = {}
    for port in inputs_of(function):
        type_ = ranked_tensor(port.type)
        sizes = [DYNAMIC_INDEX, DYNAMIC_INDEX] if type_ is None else type_.get_shape()
        found[port.name] = [axis for axis, size in enumerate(sizes) if size == DYNAMIC_INDEX]
    return found


def mark_batch(function: FuncOp, dynamic: Mapping[str, Sequence[int]], found: BatchAxes | DiagnosticError) -> None:
    """Marks `function`, which has static shapes, with its proven batch, or with the error and its `dynamic` axes."""
    if isinstance(found, BatchAxes):
        function.attributes[PROVEN] = found.attribute()
        return
    axes = {name: ArrayAttr(IntegerAttr(axis, 64) for axis in each) for name, each in dynamic.items()}
    function.attributes[PROVEN] = DictionaryAttr(
        {REASON: StringAttr(found.diagnostic.message), "inputs": DictionaryAttr(axes)}
    )


def _check_static(function: FuncOp, inputs: Mapping[str, int]) -> None:
    """Raises `DiagnosticError` with the recorded reason if one of the axes was dynamic and is not a proven batch."""
    found = function.attributes.get(PROVEN)
    reason = found.data.get(REASON) if isinstance(found, DictionaryAttr) else None
    if not isinstance(found, DictionaryAttr) or not isinstance(reason, StringAttr):
        return
    axes = found.data.get("inputs")
    for port, axis in inputs.items():
        dynamic = axes.data.get(port) if isinstance(axes, DictionaryAttr) else None
        known = cast(ArrayAttr[Attribute], dynamic).data if isinstance(dynamic, ArrayAttr) else None
        if known is None or IntegerAttr(axis, 64) in known:
            raise text_error(reason.data)


def specialize_batch(module: ModuleOp, shapes: Shapes, name: str = "main") -> ModuleOp:
    """Specializes `module` for `shapes`, and marks the result with the proof about its dynamic batch."""
    known = specialize(module, shapes, function=name)
    mark_specialized(module, known, name)
    return known


def mark_specialized(module: ModuleOp, known: ModuleOp, name: str = "main", *, has_values: bool = False) -> None:
    """Marks `known`, the specialization of `module`, with the proof about the dynamic batch of `module`.

    `has_values` means that inputs were replaced with constants; then nothing can be proven.
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
    """Returns the result of `proven_batch`, or the error that it raised."""
    try:
        return proven_batch(module, shapes, name)
    except DiagnosticError as error:
        return error


def dynamic_batch(module: ModuleOp, shapes: Mapping[str, Sequence[int]], name: str = "main") -> BatchAxes:
    """Returns the batch axes of a function, proven for every batch size. `shapes` has `DYNAMIC_INDEX` for the batch.

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
    return _found(PaddingWalk(function, {BATCH: PROOF}), shapes, inputs)


def _check_names(function: FuncOp, inputs: Mapping[str, int]) -> None:
    """Raises `DiagnosticError` if another axis of an input has the same name as the batch."""
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
    """Returns the batch axes of a function with static shapes: those in its mark, or an axis common to all inputs.

    Without a mark, this is the first axis, or the second axis for sequences of recurrent layers. Raises
    `DiagnosticError`, naming the operation, if samples may depend on each other, or if an input or output has no batch.
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
    may_be_sequences = all(len(shape) in (0, SEQUENCES) for shape in shapes.values())
    errors: list[DiagnosticError] = []
    for axis in (0, 1) if may_be_sequences else (0,):
        inputs = dict.fromkeys((port for port, shape in shapes.items() if shape), axis)
        try:
            _check_static(function, inputs)
            return _along(module, name, shapes, inputs)
        except DiagnosticError as error:
            errors.append(error)
    raise errors[0]


def _along(module: ModuleOp, name: str, shapes: Mapping[str, tuple[int, ...]], inputs: Mapping[str, int]) -> BatchAxes:
    """Returns the batch axes, given those of the inputs."""
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
    return _found(PaddingWalk(function, {BATCH: size}, is_sized=True), shapes, inputs)


def _erase_observers(function: FuncOp) -> None:
    for op in [op for op in function.walk() if isinstance(op, ObserveOp)]:  # an observer returns its operand
        Rewriter.replace_op(op, [], [op.input])


def _found(walk: PaddingWalk, shapes: Mapping[str, Sequence[int]], inputs: Mapping[str, int]) -> BatchAxes:
    """Runs `walk`; returns the batch axes, given those of the inputs.

    Raises `DiagnosticError` if samples may depend on each other.
    """
    function = walk.function
    sizes = {port: extents(max(size, 0) for size in shape) for port, shape in shapes.items()}
    known = {port: axes if port not in inputs else _batched(axes, inputs[port]) for port, axes in sizes.items()}
    outputs = {port: _batch_axis(function, port, found) for port, found in _follow(walk, known).items()}
    for condition in walk.conditions:
        if BATCH in condition.names:
            raise op_error(function, f"does not accept every batch size: {condition}")
    batched = {port: found for port, found in outputs.items() if found is not None}
    if not batched:
        raise op_error(function, "has no batch axis in its outputs")
    return BatchAxes(dict(inputs), batched)


def _follow(walk: PaddingWalk, inputs: Mapping[str, Axes]) -> dict[str, Axes]:
    """Runs `walk`; returns its outputs. Raises `DiagnosticError` for the first operation that mixes samples or has no
    rule."""
    try:
        outputs = walk.run(inputs)
    except DiagnosticError as error:
        op, said = error.diagnostic.op, error.diagnostic.message
        if BATCH not in walk.mixed and op is not None:
            reason = said.removeprefix(f"{describe(op)} ")
            raise op_error(op, f"may mix the samples of a batch: it {reason}") from error
        outputs = {}
    if BATCH in walk.mixed:
        raise op_error(walk.mixed[BATCH], "mixes the samples of a batch")
    return outputs


def _shape(function: FuncOp, port: Port) -> tuple[int, ...]:
    type_ = ranked_tensor(port.type)
    if type_ is None or not type_.has_static_shape():
        raise op_error(function, f"input '{port.name}' must have a known shape, but got type {port.type}")
    return type_.get_shape()


def _batched(axes: Axes, batch: int) -> Axes:
    return (*axes[:batch], Extent.of(BATCH), *axes[batch + 1 :])


def _batch_axis(function: FuncOp, output: str, axes: Axes) -> int | None:
    """Returns the axis of an output whose outermost factor is the batch, or `None`. Raises if it is an inner factor."""
    axis = next((position for position, extent in enumerate(axes) if BATCH in extent.names), None)
    if axis is not None and axes[axis].factors[0] != BATCH:
        raise op_error(function, f"output '{output}' has its samples in the middle of an axis of size {axes[axis]}")
    return axis


@dataclass(frozen=True)
class ImagePlace:
    """The position of the samples in a value.

    `axis` is the axis that contains the batch; `before` is the product of the factors of this axis outside the batch.
    """

    axis: int
    before: int = 1

    def repeats(self, shape: Sequence[int]) -> int:
        """Returns the number of times that the sequence of all samples repeats in a value of this shape."""
        return math.prod(shape[: self.axis]) * self.before


def observed_images(
    function: FuncOp, batch: Mapping[str, int], sizes: Sequence[Sequence[int]]
) -> list[ImagePlace | None]:
    """Returns the position of the samples in the operand of each observer of `function`, `None` if it has no samples.

    `batch` contains the dynamic axis of each input, and `sizes` the shapes of the inputs for one sample. The result is
    valid only for these sizes. Raises `DiagnosticError`, naming the operation, if samples may depend on each other.
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
            Rewriter.replace_op(op, [], [op.input])
    end = clone.body.block.last_op
    assert isinstance(end, ReturnOp)
    Rewriter.replace_op(end, ReturnOp(*observed))
    clone.update_function_type()
    clone.properties.pop("res_attrs", None)
    inputs: dict[str, Axes] = {}
    capacities: dict[str, int] = {}
    for (port, axes), shape in zip(open_inputs(clone).items(), sizes, strict=True):
        position = batch[port]
        for axis, (extent, size) in enumerate(zip(axes, shape, strict=True)):
            if axis != position and BATCH in extent.names:
                raise op_error(function, f"must not name axis '{BATCH}' of '{port}': it is not the batch")
            capacities |= dict.fromkeys(extent.names, size)
        inputs[port] = _batched(axes, position)
    capacities[BATCH] = 2
    outputs = _follow(PaddingWalk(clone, capacities), inputs)
    return [_image_place(function, outputs[port.name], capacities) for port in outputs_of(clone)]


def _image_place(function: FuncOp, axes: Axes, sizes: Mapping[str, int]) -> ImagePlace | None:
    found = [position for position, extent in enumerate(axes) for name in extent.names if name == BATCH]
    if not found:
        return None
    if len(found) > 1:
        raise op_error(
            function, f"computes a value of {' x '.join(map(str, axes))}, which combines every sample with every other"
        )
    (position,) = found
    factors = axes[position].factors
    return ImagePlace(position, Extent.of(*factors[: factors.index(BATCH)]).at(sizes))
