"""Memory of compiled code: elements and vectors at a place of a flat array, without checks; views, scratch, copies.

A place is counted in elements. Arrays of the emitted code are flat and contiguous; `view` makes one of bytes of the
arena, `array_at` one of an address, `tail` one that begins at a later element, `scratch` one on the stack.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .arithmetic import suffix
from .declare import Emission, has_feature, operation
from .registers import MEMORY, Register, bits_of, llvm_element, splat_constant

_INT32, _INT64, _BOOL = ir.IntType(32), ir.IntType(64), ir.IntType(1)


def _element(array: Any) -> str | None:
    return MEMORY.get(str(array.dtype)) if isinstance(array, types.Array) and array.ndim == 1 else None


def written(number: Any) -> int | None:
    """A number that is written out in the code."""
    return number.literal_value if isinstance(number, types.IntegerLiteral) else None


def _is_index(type_: Any) -> bool:
    return isinstance(type_, types.Integer)


def _size_of(element: str) -> int:
    return bits_of(element) // 8


def place(emission: Emission, array_type: Any, array: Any, index: Any, target: Any) -> Any:
    """A pointer to values of the LLVM type `target` at a place of an array."""
    data = emission.field(array_type, array, "data")
    return emission.builder.bitcast(emission.builder.gep(data, [index]), target.as_pointer())


def _load_type(array: Any, index: Any, lanes: Any = None) -> Any:
    element = _element(array)
    count = 0 if lanes is None else written(lanes)
    return Register(element, count) if element is not None and _is_index(index) and count is not None else None


def _load(emission: Emission, array: Any, index: Any, *_: Any) -> Any:
    pointer = place(emission, emission.operands[0], array, index, emission.result.llvm)
    return emission.builder.load(pointer, align=_size_of(emission.result.element))


def _fits(array: Any, value: Any) -> bool:
    return isinstance(value, Register) and value.element == _element(array)


def _store_type(array: Any, index: Any, value: Any) -> Any:
    return types.void if _is_index(index) and _fits(array, value) else None


def _store(emission: Emission, array: Any, index: Any, value: Any) -> Any:
    pointer = place(emission, emission.operands[0], array, index, value.type)
    emission.builder.store(value, pointer, align=_size_of(emission.operands[2].element))
    return emission.target.get_dummy_value()


def mask_below(emission: Emission, count: Any, lanes: int) -> Any:
    """The lanes below a count, as a vector of i1."""
    builder, type_ = emission.builder, ir.VectorType(_INT64, lanes)
    numbers = ir.Constant(type_, [ir.Constant(_INT64, lane) for lane in range(lanes)])
    return builder.icmp_signed("<", numbers, splatted(emission, count, lanes))


def splatted(emission: Emission, value: Any, lanes: int) -> Any:
    """A vector of one scalar."""
    builder, type_ = emission.builder, ir.VectorType(value.type, lanes)
    first = builder.insert_element(ir.Constant(type_, ir.Undefined), value, ir.Constant(_INT32, 0))
    zeros = ir.Constant(ir.VectorType(_INT32, lanes), [ir.Constant(_INT32, 0)] * lanes)
    return builder.shuffle_vector(first, ir.Constant(type_, ir.Undefined), zeros)


def _load_partial_type(array: Any, index: Any, count: Any, lanes: Any) -> Any:
    return _load_type(array, index, lanes) if _is_index(count) else None


def masked_load(emission: Emission, pointer: Any, mask: Any, others: Any, align: int) -> Any:
    """The elements where the mask holds, those of `others` elsewhere; nothing else is read."""
    values = (pointer, ir.Constant(_INT32, align), mask, others)
    return emission.intrinsic(f"llvm.masked.load.{suffix(others.type)}.p0", others.type, values)


def _unseen(emission: Emission, number: Any) -> Any:
    """`number`, an i64, through an empty line of assembly, so that LLVM never learns its value.

    LLVM 22 for x86 makes one store of a masked one whose mask is known to have a single lane, and takes the lane before
    it was truncated: a byte out of an i32 writes three more bytes after it. It may learn a count long after emission,
    where it unrolls a loop.
    """
    return emission.builder.asm(ir.FunctionType(_INT64, [_INT64]), "", "=r,0", [number], False)


def masked_store(emission: Emission, value: Any, pointer: Any, mask: Any, align: int) -> None:
    """Write the elements where the mask holds, and nothing else."""
    values = (value, pointer, ir.Constant(_INT32, align), mask)
    emission.intrinsic(f"llvm.masked.store.{suffix(value.type)}.p0", ir.VoidType(), values)


def _load_partial(emission: Emission, array: Any, index: Any, count: Any, _: Any) -> Any:
    result = emission.result
    pointer = place(emission, emission.operands[0], array, index, result.llvm)
    mask = mask_below(emission, count, result.lanes)
    return masked_load(emission, pointer, mask, splat_constant(result.llvm, 0), _size_of(result.element))


def _store_partial_type(array: Any, index: Any, value: Any, count: Any) -> Any:
    return _store_type(array, index, value) if _is_index(count) else None


def _store_partial(emission: Emission, array: Any, index: Any, value: Any, count: Any) -> Any:
    register = emission.operands[2]
    pointer = place(emission, emission.operands[0], array, index, value.type)
    if isinstance(count, ir.Constant) and count.constant == 1:
        first = emission.builder.extract_element(value, ir.Constant(_INT32, 0))
        where = emission.builder.bitcast(pointer, first.type.as_pointer())
        emission.builder.store(first, where, align=_size_of(register.element))
    else:
        known = count if isinstance(count, ir.Constant) else _unseen(emission, count)
        masked_store(emission, value, pointer, mask_below(emission, known, register.lanes), _size_of(register.element))
    return emission.target.get_dummy_value()


def _load_masked_type(array: Any, index: Any, mask: Any, others: Any) -> Any:
    return others if _is_index(index) and _fits(array, others) and mask == others.of("i1") else None


def _load_masked(emission: Emission, array: Any, index: Any, mask: Any, others: Any) -> Any:
    pointer = place(emission, emission.operands[0], array, index, others.type)
    return masked_load(emission, pointer, mask, others, _size_of(emission.result.element))


def _store_masked_type(array: Any, index: Any, mask: Any, value: Any) -> Any:
    return types.void if _is_index(index) and _fits(array, value) and mask == value.of("i1") else None


def _store_masked(emission: Emission, array: Any, index: Any, mask: Any, value: Any) -> Any:
    pointer = place(emission, emission.operands[0], array, index, value.type)
    builder, bits = emission.builder, ir.IntType(mask.type.count)
    known = builder.zext(builder.bitcast(mask, bits), _INT64) if bits.width < 64 else builder.bitcast(mask, bits)
    unseen = _unseen(emission, known)
    lanes = builder.bitcast(builder.trunc(unseen, bits) if bits.width < 64 else unseen, mask.type)
    masked_store(emission, value, pointer, lanes, _size_of(emission.operands[3].element))
    return emission.target.get_dummy_value()


def _group_type(array: Any, index: Any, lanes: Any) -> Any:
    found = _load_type(array, index, lanes)
    return found if found is not None and found.lanes and found.lanes * found.bits % 32 == 0 else None


def _load_group_splat(emission: Emission, array: Any, index: Any, _: Any) -> Any:
    result = emission.result
    pointer = place(emission, emission.operands[0], array, index, _INT32)
    group = emission.builder.load(pointer, align=_size_of(result.element))
    lanes = result.lanes * result.bits // 32
    return emission.builder.bitcast(splatted(emission, group, lanes), result.llvm)


def _prefetch_type(array: Any, index: Any, level: Any) -> Any:
    return types.void if _element(array) is not None and _is_index(index) and written(level) else None


def _prefetch(emission: Emission, array: Any, index: Any, _: Any) -> Any:
    level = written(emission.operands[2])
    assert level is not None
    builder, byte = emission.builder, ir.IntType(8).as_pointer()
    type_ = ir.FunctionType(ir.VoidType(), [byte, *[_INT32] * 3])
    function = cgutils.get_or_insert_function(builder.module, type_, "llvm.prefetch.p0")
    numbers = [ir.Constant(_INT32, number) for number in (0, 4 - level, 1)]  # to read; 3 is the nearest; data
    builder.call(function, [place(emission, emission.operands[0], array, index, ir.IntType(8)), *numbers])
    return emission.target.get_dummy_value()


def _gather_type(array: Any, places: Any) -> Any:
    element = _element(array)
    if element is None or not isinstance(places, Register) or places.is_float or not places.lanes:
        return None
    return places.of(element)


def _gather(emission: Emission, array: Any, places: Any) -> Any:
    result, builder = emission.result, emission.builder
    data = emission.field(emission.operands[0], array, "data")
    found = ir.Constant(result.llvm, ir.Undefined)
    for lane in range(result.lanes):
        index = builder.extract_element(places, ir.Constant(_INT32, lane))
        pointer = builder.gep(data, [builder.sext(index, _INT64) if index.type != _INT64 else index])
        value = builder.load(builder.bitcast(pointer, llvm_element(result.element).as_pointer()))
        found = builder.insert_element(found, value, ir.Constant(_INT32, lane))
    return found


_TABLE, _WIDE = 256, 64
"""The bytes of a table, and of the registers that hold a quarter of it."""


def _look_up_type(array: Any, index: Any, places: Any) -> Any:
    fits = _element(array) == "i8" and _is_index(index) and isinstance(places, Register) and places.element == "i8"
    return places if fits and 0 < places.lanes <= _WIDE else None


def _look_up(emission: Emission, array: Any, index: Any, places: Any) -> Any:
    """A table of 256 bytes at unsigned places: out of four registers where an instruction permutes bytes of two."""
    builder, lanes = emission.builder, emission.result.lanes
    if not has_feature(emission, "avx512vbmi"):
        found = ir.Constant(places.type, ir.Undefined)
        for lane in range(lanes):
            number = builder.zext(builder.extract_element(places, ir.Constant(_INT32, lane)), _INT64)
            pointer = place(emission, emission.operands[0], array, builder.add(index, number), places.type.element)
            found = builder.insert_element(found, builder.load(pointer), ir.Constant(_INT32, lane))
        return found
    wide = ir.VectorType(places.type.element, _WIDE)
    every = _resized(emission, places, _WIDE)
    pointers = (builder.add(index, ir.Constant(_INT64, start)) for start in range(0, _TABLE, _WIDE))
    parts = [builder.load(place(emission, emission.operands[0], array, start, wide), align=1) for start in pointers]
    low, high = (
        emission.intrinsic("llvm.x86.avx512.vpermi2var.qi.512", wide, (parts[half], every, parts[half + 1]))
        for half in (0, 2)
    )
    is_high = builder.icmp_signed("<", every, splat_constant(wide, 0))
    return _resized(emission, builder.select(is_high, high, low), lanes)


def _resized(emission: Emission, value: Any, lanes: int) -> Any:
    """The first lanes of a vector; the lanes after them are undefined."""
    mask = [ir.Constant(_INT32, min(lane, value.type.count)) for lane in range(lanes)]
    undefined = ir.Constant(value.type, ir.Undefined)
    return emission.builder.shuffle_vector(value, undefined, ir.Constant(ir.VectorType(_INT32, lanes), mask))


# --- Arrays -----------------------------------------------------------------------------------------------------------


def _array_of(element: Any) -> Any:
    """The type of a flat array of the NumPy type that is written out, such as `"int8"`."""
    name = element.literal_value if isinstance(element, types.StringLiteral) else None
    return types.Array(getattr(types, name), 1, "C") if name in MEMORY else None


def _made_array(emission: Emission, type_: Any, pointer: Any, count: Any) -> Any:
    target, builder = emission.target, emission.builder
    model = target.data_model_manager[type_]
    size = target.get_constant(types.intp, target.get_abi_sizeof(target.get_data_type(type_.dtype)))
    fields = {
        "data": builder.bitcast(pointer, target.get_data_type(type_.dtype).as_pointer()),
        "shape": cgutils.pack_array(builder, [count]),
        "strides": cgutils.pack_array(builder, [size]),
        "itemsize": size,
        "nitems": count,
    }
    array = ir.Constant(model.get_value_type(), None)  # nothing owns the memory
    for name, value in fields.items():
        array = model.set(builder, array, value, name)
    return array


def _view_type(array: Any, offset: Any, count: Any, element: Any) -> Any:
    if _element(array) is None or not _is_index(offset) or not _is_index(count):
        return None
    return _array_of(element)


def _view(emission: Emission, array: Any, offset: Any, count: Any, _: Any) -> Any:
    pointer = place(emission, emission.operands[0], array, offset, ir.IntType(8))
    return _made_array(emission, emission.result, pointer, count)


def _array_at_type(addresses: Any, number: Any, count: Any, element: Any) -> Any:
    is_table = isinstance(addresses, types.Array) and addresses.dtype == types.int64
    return _array_of(element) if is_table and _is_index(number) and _is_index(count) else None


def _array_at(emission: Emission, addresses: Any, number: Any, count: Any, _: Any) -> Any:
    pointer = place(emission, emission.operands[0], addresses, number, _INT64)
    data = emission.builder.inttoptr(emission.builder.load(pointer), ir.IntType(8).as_pointer())
    return _made_array(emission, emission.result, data, count)


def _tail_type(array: Any, start: Any) -> Any:
    return array if _element(array) is not None and _is_index(start) else None


def _tail(emission: Emission, array: Any, start: Any) -> Any:
    type_, builder = emission.operands[0], emission.builder
    data, count = (emission.field(type_, array, name) for name in ("data", "nitems"))
    return _made_array(emission, type_, builder.gep(data, [start]), builder.sub(count, start))


def _scratch_type(count: Any, element: Any) -> Any:
    return _array_of(element) if written(count) is not None else None


def _scratch(emission: Emission, _count: Any, _element: Any) -> Any:
    count = written(emission.operands[0])
    assert count is not None
    builder = emission.builder
    data = emission.target.get_data_type(emission.result.dtype)
    with builder.goto_entry_block():  # a loop must not grow the stack
        pointer = builder.alloca(ir.ArrayType(data, max(count, 1)))
        pointer.align = 64
    return _made_array(emission, emission.result, pointer, ir.Constant(_INT64, count))


def _copy_type(target: Any, start: Any, source: Any, source_start: Any, count: Any) -> Any:
    same = _element(target) is not None and _element(target) == _element(source)
    return types.void if same and all(map(_is_index, (start, source_start, count))) else None


def _copy(emission: Emission, target: Any, start: Any, source: Any, source_start: Any, count: Any) -> Any:
    builder, byte = emission.builder, ir.IntType(8)
    into = place(emission, emission.operands[0], target, start, byte)
    from_ = place(emission, emission.operands[2], source, source_start, byte)
    element = _element(emission.operands[0])
    assert element is not None
    size = builder.mul(count, ir.Constant(_INT64, _size_of(element)))
    with builder.if_then(builder.icmp_unsigned("!=", into, from_)):  # the state of a caller who keeps it in place
        cgutils.raw_memmove(builder, into, from_, size, 1)
    return emission.target.get_dummy_value()


OPERATIONS: dict[str, Any] = {
    "load": operation("load", _load_type, _load, literal=True),
    "store": operation("store", _store_type, _store),
    "load_partial": operation("load_partial", _load_partial_type, _load_partial, literal=True),
    "store_partial": operation("store_partial", _store_partial_type, _store_partial),
    "load_masked": operation("load_masked", _load_masked_type, _load_masked),
    "store_masked": operation("store_masked", _store_masked_type, _store_masked),
    "load_group_splat": operation("load_group_splat", _group_type, _load_group_splat, literal=True),
    "prefetch": operation("prefetch", _prefetch_type, _prefetch, literal=True),
    "gather": operation("gather", _gather_type, _gather),
    "look_up": operation("look_up", _look_up_type, _look_up),
    "view": operation("view", _view_type, _view, literal=True),
    "array_at": operation("array_at", _array_at_type, _array_at, literal=True),
    "tail": operation("tail", _tail_type, _tail),
    "scratch": operation("scratch", _scratch_type, _scratch, literal=True),
    "copy": operation("copy", _copy_type, _copy),
}
"""Name to operation; the emitted code imports them by name."""
