"""`memref` in the emitted code: loads and stores at places that are written out, and views that are only names."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, NoneAttr
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import item_size, memory_name, register_name
from qmlir.targets.cpu.emitters.numba.families.scalars import WHOLE, as_register
from qmlir.targets.cpu.emitters.numba.function import (
    EmitOperation,
    FunctionWriter,
    Memory,
    memref_type,
    static_strides,
)
from qmlir.targets.cpu.emitters.text import Index, Text

MOST_SCRATCH = 1 << 22
"""The bytes of scratch memory of a function: it lies on the stack."""


def as_memory(write: FunctionWriter, op: Operation, memory: Memory, value: Text) -> Text:
    """A value of a register as memory holds it: a true i1 is 1."""
    name = register_name(op, memory.element)
    if name in WHOLE:
        return value
    if name in ("f16", "bf16"):
        return write.call("bits_i16", value)
    held = f"i{8 * item_size(memory.element)}"
    return write.call(f"unsigned_{held}" if name == "i1" else held, value)


def load_value(
    write: FunctionWriter, op: Operation, result: SSAValue, memory: Memory, name: str, *operands: Text | Index | int
) -> None:
    """Let `result` be what the operation `name` of the runtime loads from a memory."""
    loaded = write.call(name, Text(memory.array), *operands)
    value = as_register(write, register_name(op, memory.element), loaded)
    if result.uses:
        text = str(value)
        write.line(f"{write.variable(result)} = {text}")


def _element(
    write: FunctionWriter, op: Operation, value: SSAValue, indices: Sequence[SSAValue]
) -> tuple[Memory, Index]:
    """A memory, and the place of one element in it."""
    memory, places = write.memory(value), [write.index(index) for index in indices]
    write.check_indices(op, memory, places)
    return memory, memory.place(places)


def _load(write: FunctionWriter, op: memref.LoadOp) -> None:
    memory, place = _element(write, op, op.memref, op.indices)
    load_value(write, op, op.res, memory, "load", place)


def _store(write: FunctionWriter, op: memref.StoreOp) -> None:
    memory, place = _element(write, op, op.memref, op.indices)
    value = as_memory(write, op, memory, write.text(op.value))
    write.line(str(write.call("store", Text(memory.array), place, value)))


def _alloca(write: FunctionWriter, op: memref.AllocaOp) -> None:
    type_ = op.memref.type
    if op.dynamic_sizes or not isinstance(type_.layout, NoneAttr):
        raise op_error(op, f"takes scratch memory of {type_}: compiled are known sizes without a layout")
    element = type_.get_element_type()
    name = write.names.new(write.hint(op.memref, "scratch"))
    count, kind = math.prod(type_.get_shape()), memory_name(op, element)
    write.scratch_bytes += count * item_size(element)
    if write.scratch_bytes > MOST_SCRATCH:
        raise op_error(
            op, f"takes scratch memory: all of a function is {write.scratch_bytes} bytes, {MOST_SCRATCH} is most"
        )
    write.line(f"{name} = {write.call('scratch', count, _quoted(kind))}")
    write.array_memory(op, op.memref, name)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _view(write: FunctionWriter, op: memref.ViewOp) -> None:
    source, type_ = write.memory(op.source), op.result.type
    if op.sizes:
        raise op_error(op, f"has sizes that are not known: {type_}")
    start = source.place([Index()] * len(source.shape)).plus(write.index(op.byte_shift))
    name = write.names.new(write.hint(op.result, "buffer"))
    count = math.prod(type_.get_shape())
    kind = _quoted(memory_name(op, type_.get_element_type()))
    write.check_places(op, start, count * item_size(type_.get_element_type()), source.count)
    write.line(f"{name} = {write.call('view', Text(source.array), start, count, kind)}")
    write.array_memory(op, op.result, name)


def mixed_indices(write: FunctionWriter, static: DenseArrayBase[Any], dynamic: Sequence[SSAValue]) -> list[Index]:
    """The numbers of a list where `dynamic` gives those that the attribute leaves open."""
    given = iter(dynamic)
    return [
        write.index(next(given)) if value == DYNAMIC_INDEX else Index(constant=value) for value in integer_list(static)
    ]


def _subview(write: FunctionWriter, op: memref.SubviewOp) -> None:
    source = write.memory(op.source)
    offsets = mixed_indices(write, op.static_offsets, op.offsets)
    type_ = memref_type(op.result)
    assert type_ is not None
    strides = [index.number for index in mixed_indices(write, op.static_strides, op.strides)]
    if None in strides or op.sizes:
        raise op_error(op, "has sizes or strides that are not known")
    place = source.place(offsets)
    if not place.is_simple:
        name = write.names.new(f"{write.hint(op.result, source.array)}_start")
        write.line(f"{name} = {place}")
        place = Index.of(Text(name, frozenset({name})))
    sizes, known = integer_list(op.static_sizes), cast(list[int], strides)
    for axis, (offset, size, stride) in enumerate(zip(offsets, sizes, known, strict=True)):
        if stride < 1 or size < 0:
            raise op_error(op, f"takes positive strides and sizes, found {known} and {list(sizes)}")
        if size:
            write.check_places(op, offset, (size - 1) * stride + 1, source.shape[axis], f"axis {axis}")
    steps = [step * stride for step, stride in zip(source.strides, known, strict=True)]
    kept = _kept_axes(op, sizes, tuple(type_.get_shape()))
    taken = replace(source, offset=place, shape=tuple(type_.get_shape()), strides=tuple(steps[axis] for axis in kept))
    write.view_memory(op, op.result, taken)


def _kept_axes(op: Operation, sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The axes of a slice of `sizes` that its type keeps: some of size 1 may be gone, the first ones that can."""
    kept: list[int] = []
    wanted = list(shape)
    for axis, size in enumerate(sizes):
        if size == 1 and _fits(sizes[axis + 1 :], wanted):
            continue
        if not wanted or wanted[0] != size:
            raise op_error(op, f"takes sizes {list(sizes)} that do not reduce to the shape {list(shape)}")
        kept.append(axis)
        wanted.pop(0)
    return kept


def _fits(sizes: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether `wanted` is what is left of `sizes` without some of size 1."""
    left = list(wanted)
    for size in sizes:
        if left and left[0] == size:
            left.pop(0)
        elif size != 1:
            return False
    return not left


def _reshaped(write: FunctionWriter, op: Operation) -> None:
    """Memory under another shape: axes that are joined have no gaps between them, whatever others have."""
    source, result = write.memory(op.operands[0]), op.results[0]
    type_ = memref_type(result)
    assert type_ is not None
    strides = static_strides(op, type_)
    shape = tuple(type_.get_shape())
    found = replace(source, shape=shape, strides=strides)
    if _runs(source.shape, source.strides) != _runs(found.shape, found.strides):
        raise op_error(op, f"reinterprets memory with gaps: strides {list(source.strides)}")
    write.view_memory(op, result, found)


def _runs(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """The size and the stride of each run of axes without gaps between them: two shapes of one memory have the same."""
    runs: list[tuple[int, int]] = []
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if runs and runs[-1][0] * runs[-1][1] == stride:
            runs[-1] = (runs[-1][0] * size, runs[-1][1])
        else:
            runs.append((size, stride))
    return runs


def _same_memory(write: FunctionWriter, op: Operation) -> None:
    write.view_memory(op, op.results[0], write.memory(op.operands[0]))


def _reinterpret_cast(write: FunctionWriter, op: memref.ReinterpretCastOp) -> None:
    source = write.memory(op.source)
    (offset,) = mixed_indices(write, op.static_offsets, op.offsets)
    type_ = memref_type(op.result)
    assert type_ is not None
    strides = integer_list(op.static_strides)
    if source.offset.number != 0 or DYNAMIC_INDEX in strides or op.sizes:
        raise op_error(op, "reinterprets memory that does not begin at 0, or by strides that are not known")
    view = replace(source, offset=offset, shape=tuple(type_.get_shape()), strides=strides)
    write.view_memory(op, op.result, view)


def _dim(write: FunctionWriter, op: memref.DimOp) -> None:
    axis = write.index(op.index).number
    if axis is None:
        raise op_error(op, "asks for the size of an axis that is not known")
    write.values[op.result] = Index(constant=write.memory(op.source).shape[axis])


def _rank(write: FunctionWriter, op: memref.RankOp) -> None:
    write.values[op.rank] = Index(constant=len(write.memory(op.source).shape))


def _copy(write: FunctionWriter, op: memref.CopyOp) -> None:
    source, target = write.memory(op.source), write.memory(op.destination)
    # The longest run that both have without a gap is copied at once.
    run = len(source.shape)
    while run and all(_run_is_contiguous(each, run - 1) for each in (source, target)):
        run -= 1
    depth = write.depth
    indices: list[Index] = []
    for size in source.shape[:run]:
        name = write.names.new("i")
        write.line(f"for {name} in range({size}):")
        write.depth += 1
        indices.append(Index.of(Text(name, frozenset({name}))))
    inner = [*indices, *[Index()] * (len(source.shape) - run)]
    count = math.prod(source.shape[run:])
    places = target.place(inner), source.place(inner)
    if count:
        call = write.call("copy", Text(target.array), places[0], Text(source.array), places[1], count)
        write.line(str(call))
    else:
        write.line("pass")
    write.depth = depth


def _run_is_contiguous(memory: Memory, axis: int) -> bool:
    return memory.shape[axis] == 1 or memory.strides[axis] == math.prod(memory.shape[axis + 1 :])


def _nothing(write: FunctionWriter, op: Operation) -> None:
    """Memory is given back with the program."""


EMISSIONS = cast(
    dict[type[Operation], EmitOperation],
    {
        memref.LoadOp: _load,
        memref.StoreOp: _store,
        memref.AllocaOp: _alloca,
        memref.ViewOp: _view,
        memref.SubviewOp: _subview,
        memref.ExpandShapeOp: _reshaped,
        memref.CollapseShapeOp: _reshaped,
        ReshapeOp: _reshaped,
        memref.CastOp: _same_memory,
        memref.MemorySpaceCastOp: _same_memory,
        memref.AssumeAlignmentOp: _same_memory,
        memref.ReinterpretCastOp: _reinterpret_cast,
        memref.DimOp: _dim,
        memref.RankOp: _rank,
        memref.CopyOp: _copy,
        memref.DeallocOp: _nothing,
    },
)
