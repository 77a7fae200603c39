"""The evaluators of `memref`: mutable NumPy arrays, and views that share their memory.

Uninitialized memory contains poison values, an out-of-bounds access is an error, and a strided layout determines the
strides of the array.
"""

import math
from collections.abc import Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.interpreter import Frame, Interpreter
from qmlir.interpreter.upstream import indexing
from qmlir.interpreter.upstream.arith import dense_value
from qmlir.interpreter.upstream.indexing import Place
from qmlir.interpreter.upstream.scalars import dtype_of, unwritten
from qmlir.ir.builtin_types import element_or_self
from qmlir.ir.evaluation import Evaluator, RegionEvaluator, check_writable


def _shape_of(type_: Attribute) -> tuple[int, ...]:
    assert isinstance(type_, MemRefType)
    return cast(MemRefType[Attribute], type_).get_shape()


# --- Memory -----------------------------------------------------------------------------------------------------------


def _allocate(op: memref.AllocOp | memref.AllocaOp, sizes: Place, symbols: Place) -> tuple[Array]:
    type_ = op.memref.type
    shape, element = indexing.dynamic_shape(type_.get_shape(), sizes), element_or_self(type_)
    match type_.layout:
        case NoneAttr():
            return (unwritten(shape, element),)
        case StridedLayoutAttr() as layout:
            strides, offset = layout.get_strides(), layout.get_offset()
            if offset is not None and None not in strides:
                known = tuple(stride for stride in strides if stride is not None)
                span = offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, known, strict=True))
                buffer = unwritten((max(span, 0) if math.prod(shape) else offset,), element)
                return (_strided(buffer, offset, shape, known),)
        case _:
            pass
    raise InterpretationError(f"cannot allocate memory of layout {type_.layout}: its strides must be static")


def _strided(buffer: Array, offset: int, shape: Place, strides: Place) -> Array:
    """Returns a view into a buffer; offset and strides count elements."""
    size = buffer.itemsize
    bits = buffer.view(f"u{size}")  # Python buffers don't support bf16
    try:
        found = np.ndarray(shape, bits.dtype, bits, offset * size, tuple(stride * size for stride in strides))
    except (TypeError, ValueError) as error:  # NumPy checks the view against the size of the buffer
        raise InterpretationError(
            f"offset {offset}, sizes {list(shape)} and strides {list(strides)} are out of bounds of a buffer of "
            f"{buffer.size} elements"
        ) from error
    return found.view(buffer.dtype)


def _buffer_of(array: Array) -> Array:
    """Returns the whole memory that `array` is a view into. A view with another element size is separate."""
    buffer = array
    while isinstance(buffer.base, np.ndarray) and buffer.base.itemsize == array.itemsize:
        buffer = buffer.base
    return _reshaped(buffer, (buffer.size,)).view(array.dtype)


def _store(op: memref.StoreOp, value: Any, array: Array, position: Place) -> tuple[()]:
    check_writable(array, op.memref.type)
    array[indexing.check_place(array, position, op.memref.type)] = value
    return ()


def _copy(op: memref.CopyOp, source: Array, destination: Array) -> tuple[()]:
    check_writable(destination, op.destination.type)
    indexing.check_shape(source, destination.shape, op.destination.type)
    destination[...] = source
    return ()


def _deallocate(op: memref.DeallocOp, array: Array) -> tuple[()]:
    return ()


_globals: WeakKeyDictionary[Interpreter, dict[str, Array]] = WeakKeyDictionary()
"""The memory of the global variables in each run."""


def _get_global(frame: Frame, op: memref.GetGlobalOp) -> tuple[Array]:
    memory = _globals.setdefault(frame.interpreter, {})
    name = op.name_.string_value()
    if name not in memory:
        memory[name] = _global_memory(frame.interpreter, name)
    return (memory[name],)


def _global_memory(interpreter: Interpreter, name: str) -> Array:
    found = next(
        (op for op in interpreter.module.ops if isinstance(op, memref.GlobalOp) and op.sym_name.data == name), None
    )
    if found is None:
        raise InterpretationError(f"the module has no memref.global @{name}")
    type_ = found.type
    value: Attribute = found.initial_value
    if isinstance(value, UnitAttr):
        return unwritten(type_.get_shape(), element_or_self(type_))
    array = dense_value(value, element_or_self(type_)).copy()
    array.flags.writeable = found.constant is None
    return array


# --- Views ------------------------------------------------------------------------------------------------------------


def _same(op: Operation, array: Array) -> tuple[Array]:
    return (array,)


def _cast(op: memref.CastOp | memref.MemorySpaceCastOp, array: Array) -> tuple[Array]:
    if isinstance(op.dest.type, MemRefType):
        indexing.check_shape(array, _shape_of(op.dest.type), op.dest.type)
    return (array,)


def _rank(op: memref.RankOp, array: Array) -> tuple[int]:
    return (array.ndim,)


def _subview(op: memref.SubviewOp, array: Array, *dynamic: Place) -> tuple[Array]:
    static = (op.static_offsets, op.static_sizes, op.static_strides)
    offsets, sizes, strides = map(indexing.mixed, static, dynamic)
    part = array[indexing.slices(array, offsets, sizes, strides, op.source.type)]
    return (part[indexing.index_of_reduced(sizes, _shape_of(op.result.type))],)


def _reinterpret_cast(op: memref.ReinterpretCastOp, array: Array, *dynamic: Place) -> tuple[Array]:
    static = (op.static_offsets, op.static_sizes, op.static_strides)
    (offset,), sizes, strides = map(indexing.mixed, static, dynamic)
    return (_strided(_buffer_of(array), offset, sizes, strides),)


def _reshaped(array: Array, shape: Sequence[int]) -> Array:
    try:
        return array.reshape(tuple(shape), copy=False)
    except ValueError as error:
        raise InterpretationError(
            f"cannot cast memory of shape {list(array.shape)} and strides {_strides_of(array)} to shape {list(shape)}"
        ) from error


def _expand_shape(op: memref.ExpandShapeOp, array: Array, sizes: Place) -> tuple[Array]:
    return (_reshaped(array, indexing.mixed(op.static_output_shape, sizes)),)


def _collapse_shape(op: memref.CollapseShapeOp, array: Array) -> tuple[Array]:
    return (_reshaped(array, indexing.collapsed_shape(array.shape, op.reassociation)),)


def _view(op: memref.ViewOp, array: Array, shift: int, sizes: Place) -> tuple[Array]:
    type_ = op.result.type
    shape, dtype = indexing.dynamic_shape(_shape_of(type_), sizes), dtype_of(element_or_self(type_))
    size = math.prod(shape) * dtype.itemsize
    if shift < 0 or shift + size > array.size:
        raise InterpretationError(f"accesses {size} bytes at offset {shift} of a buffer of {array.size} bytes")
    return (array[shift : shift + size].view(dtype).reshape(shape, copy=False),)


def _strides_of(array: Array) -> list[int]:
    return [stride // array.itemsize for stride in array.strides]


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _extract_strided_metadata(op: memref.ExtractStridedMetaDataOp, array: Array) -> tuple[Any, ...]:
    buffer = _buffer_of(array)
    offset = (_address(array) - _address(buffer)) // array.itemsize
    return (_strided(buffer, 0, (), ()), offset, *array.shape, *_strides_of(array))


def _alloca_scope(frame: Frame, op: memref.AllocaScopeOp) -> tuple[Any, ...]:
    return frame.run(op.scope)


EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    memref.AllocOp: _allocate,
    memref.AllocaOp: _allocate,
    memref.AllocaScopeOp: RegionEvaluator(_alloca_scope),
    memref.AssumeAlignmentOp: _same,
    memref.CastOp: _cast,
    memref.CollapseShapeOp: _collapse_shape,
    memref.CopyOp: _copy,
    memref.DeallocOp: _deallocate,
    memref.DimOp: indexing.dimension,
    memref.ExpandShapeOp: _expand_shape,
    memref.ExtractStridedMetaDataOp: _extract_strided_metadata,
    memref.GetGlobalOp: RegionEvaluator(_get_global),
    memref.LoadOp: indexing.element,
    memref.MemorySpaceCastOp: _cast,
    memref.RankOp: _rank,
    memref.ReinterpretCastOp: _reinterpret_cast,
    memref.StoreOp: _store,
    memref.SubviewOp: _subview,
    memref.ViewOp: _view,
}

WITHOUT_EVALUATOR: dict[type[Operation], str] = {
    memref.AtomicRMWOp: "its result is the value that was stored, says its documentation, or the one before, its code",
    memref.DmaStartOp: "nothing is defined between its start and its end",
    memref.DmaWaitOp: "nothing is defined between the start and the end of a transfer",
    memref.ExtractAlignedPointerAsIndexOp: "a NumPy array has no address that a computation could use",
    memref.GlobalOp: "declares memory that memref.get_global gives; it does not run",
}
"""The reason why an operation of the dialect has no evaluator."""
