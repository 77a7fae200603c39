"""Memory operations for numba: unchecked loads and stores in flat arrays, views, scratch memory, and copies.

Indices count elements. Arrays in emitted code are flat and contiguous: `view` returns an array over bytes of the arena,
`array_at` one at an address, `tail` one that begins at a later element, and `scratch` one on the stack. `array` passes
memory to a custom kernel, with a shape and strides.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from operator import mul
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..machine_code import processor_features
from ..semantics import lanes
from ..semantics.arithmetic import same_bits
from ..semantics.values import I8, I32, I64, MEMORY, PTR, IRValue, Type, type_of
from .declare import Emission, operation, packed
from .registers import Register, written

_INT64 = ir.IntType(64)


_FEATURES: Mapping[str, bool] = processor_features()


def has(name: str) -> bool:
    """Returns True if the CPU that numba compiles for has the feature with LLVM's name `name`."""
    return _FEATURES.get(name, False)


def _element(array: Any) -> str | None:
    return MEMORY.get(str(array.dtype)) if isinstance(array, types.Array) and array.ndim == 1 else None


def _is_index(type_: Any) -> bool:
    return isinstance(type_, types.Integer)


def _align(register: Register) -> int:
    """Returns the size of an element in bytes, which is also its alignment."""
    return register.bits // 8


def _pointer(emission: Emission, array: Any, index: Any, element: Type, number: int = 0) -> str:
    """Returns the address of an element: operand `number` is the array, and the operand after it is the index."""
    position = emission.register(number + 1, index)
    return emission.build.element_at(element, emission.data(number, array), position.text)


def _load_type(array: Any, index: Any, lanes: Any = None, *shape: Any) -> Any:
    """Returns the type of a scalar, a vector, or a tile of vectors: `shape` are the sizes of its axes, then strides."""
    element = _element(array)
    count = 0 if lanes is None else written(lanes)
    sizes = [written(each) for each in shape]
    if element is None or not _is_index(index) or count is None or None in sizes or len(sizes) % 2:
        return None
    return Register(element, count, tuple(size for size in sizes[: len(sizes) // 2] if size is not None))


def _pointers(
    emission: Emission, array: Any, index: Any, register: Register, strides: Sequence[Any]
) -> Iterator[tuple[int, str]]:
    """Yields the place of each vector of a tile with its address; `strides` are the types of literals."""
    element = register.type.scalar()
    pointer = _pointer(emission, array, index, element)
    steps = [written(each) or 0 for each in strides]
    for place, position in enumerate(product(*map(range, register.tile))):
        offset = sum(map(mul, position, steps))
        yield place, emission.build.element_at(element, pointer, str(offset)) if offset else pointer


def _loaded(emission: Emission, array: Any, index: Any, load: Callable[[str], IRValue]) -> Any:
    """Returns a vector that `load` reads from an address, or a tile of them."""
    result, build = emission.result, emission.build
    strides = emission.operands[3 + len(result.tile) :]
    found = {place: build.value(load(at)) for place, at in _pointers(emission, array, index, result, strides)}
    return packed(emission, found) if result.tile else found[0]


def _load(emission: Emission, array: Any, index: Any, *_: Any) -> Any:
    result: Register = emission.result
    return _loaded(emission, array, index, lambda at: emission.build.load(result.type, at, _align(result)))


def _fits(array: Any, value: Any) -> bool:
    return isinstance(value, Register) and value.element == _element(array)


def _store_type(array: Any, index: Any, value: Any, *strides: Any) -> Any:
    fits = _is_index(index) and _fits(array, value) and len(strides) == len(value.tile)
    return types.void if fits and None not in map(written, strides) else None


def _stored(emission: Emission, array: Any, index: Any, number: int, value: Any) -> tuple[IRValue, str, int]:
    """Returns the value to store (operand `number`), its address, and the alignment of the address."""
    register: Register = emission.operands[number]
    pointer = _pointer(emission, array, index, register.type.scalar())
    return emission.register(number, value), pointer, _align(register)


def _store(emission: Emission, array: Any, index: Any, value: Any, *_: Any) -> None:
    register: Register = emission.operands[2]
    for place, pointer in _pointers(emission, array, index, register, emission.operands[3:]):
        vector = emission.builder.extract_value(value, place) if register.tile else value
        emission.build.store(emission.build.operand(register.type, vector), pointer, _align(register))


def _load_partial_type(array: Any, index: Any, count: Any, lanes: Any) -> Any:
    return _load_type(array, index, lanes) if _is_index(count) else None


def _is_x86(emission: Emission) -> bool:
    return emission.builder.module.triple.startswith(("x86_64", "i686", "i386"))


def _load_partial(emission: Emission, array: Any, index: Any, count: Any, _: Any) -> Any:
    result, build = emission.result, emission.build
    pointer = _pointer(emission, array, index, result.type.scalar())
    mask = lanes.below(build, emission.register(2, count), result.lanes)
    others = IRValue(result.type, "zeroinitializer")
    return build.value(lanes.masked_load(build, pointer, mask, others, _align(result)))


def _store_partial_type(array: Any, index: Any, value: Any, count: Any) -> Any:
    return _store_type(array, index, value) if _is_index(count) else None


def _store_partial(emission: Emission, array: Any, index: Any, value: Any, count: Any) -> None:
    stored, pointer, align = _stored(emission, array, index, 2, value)
    known = emission.register(3, count)
    lanes.store_below(emission.build, stored, pointer, known, align, is_x86=_is_x86(emission))


def _load_masked_type(array: Any, index: Any, mask: Any, others: Any) -> Any:
    return others if _is_index(index) and _fits(array, others) and mask == others.of("i1") else None


def _load_masked(emission: Emission, array: Any, index: Any, mask: Any, others: Any) -> Any:
    result, build = emission.result, emission.build
    pointer = _pointer(emission, array, index, result.type.scalar())
    operands = emission.register(2, mask), emission.register(3, others)
    return build.value(lanes.masked_load(build, pointer, *operands, _align(result)))


def _store_masked_type(array: Any, index: Any, mask: Any, value: Any) -> Any:
    return types.void if _is_index(index) and _fits(array, value) and mask == value.of("i1") else None


def _store_masked(emission: Emission, array: Any, index: Any, mask: Any, value: Any) -> None:
    stored, pointer, align = _stored(emission, array, index, 3, value)
    where = emission.register(2, mask)
    if _is_x86(emission) and where.type.lanes <= I64.bits:
        where = lanes.opaque_mask(emission.build, where)
    lanes.masked_store(emission.build, stored, pointer, where, align)


def _group_type(array: Any, index: Any, lanes: Any, *shape: Any) -> Any:
    found = _load_type(array, index, lanes, *shape)
    return found if found is not None and found.lanes and found.lanes * found.bits % 32 == 0 else None


def _load_group_splat(emission: Emission, array: Any, index: Any, *_: Any) -> Any:
    result, build = emission.result, emission.build

    def load(at: str) -> IRValue:
        group = build.load(I32, at, _align(result))
        return same_bits(build, build.splat(group, result.lanes * result.bits // 32), result.element)

    return _loaded(emission, array, index, load)


def _prefetch_type(array: Any, index: Any, level: Any) -> Any:
    return types.void if _element(array) is not None and _is_index(index) and written(level) else None


def _prefetch(emission: Emission, array: Any, index: Any, _: Any) -> None:
    level = written(emission.operands[2])
    assert level is not None
    element = _element(emission.operands[0])
    assert element is not None
    lanes.prefetch(emission.build, _pointer(emission, array, index, type_of(element)), level)


def _gather_type(array: Any, positions: Any) -> Any:
    element = _element(array)
    if element is None or not isinstance(positions, Register) or positions.is_float or not positions.lanes:
        return None
    return positions.of(element)


def _gather(emission: Emission, array: Any, positions: Any) -> Any:
    result, build = emission.result, emission.build
    table, indices = emission.data(0, array), emission.register(1, positions)
    return build.value(lanes.gather(build, result.type, table, indices, _align(result)))


def _look_up_type(array: Any, index: Any, positions: Any) -> Any:
    fits = (
        _element(array) == "i8" and _is_index(index) and isinstance(positions, Register) and positions.element == "i8"
    )
    return positions if fits and 0 < positions.lanes <= 64 else None


def _look_up(emission: Emission, array: Any, index: Any, positions: Any) -> Any:
    build = emission.build
    table = _pointer(emission, array, index, I8)
    return build.value(lanes.look_up(build, table, emission.register(2, positions), has))


# --- Arrays -----------------------------------------------------------------------------------------------------------


def _array_of(element: Any) -> Any:
    """Returns the numba type of a flat array, given the literal name of its NumPy type, such as `"int8"`."""
    name = element.literal_value if isinstance(element, types.StringLiteral) else None
    return types.Array(getattr(types, name), 1, "C") if name in MEMORY else None


def _made_array(
    emission: Emission, type_: Any, pointer: Any, shape: Sequence[Any], steps: Sequence[Any] | None = None
) -> Any:
    """Emits an array at `pointer`; `steps` are its strides in elements, by default those of a flat array."""
    target, builder = emission.target, emission.builder
    data, model = target.get_data_type(type_.dtype), target.data_model_manager[type_]
    size = target.get_constant(types.intp, target.get_abi_sizeof(data))
    strides = [size] if steps is None else [builder.mul(step, size) for step in steps]
    axes = {"shape": shape, "strides": strides} if shape else {}
    fields = {
        "data": builder.bitcast(pointer, data.as_pointer()),
        **{name: cgutils.pack_array(builder, list(numbers)) for name, numbers in axes.items()},
        "itemsize": size,
        "nitems": reduce(builder.mul, shape) if shape else ir.Constant(_INT64, 1),
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
    pointer = IRValue(PTR, _pointer(emission, array, offset, I8))
    return _made_array(emission, emission.result, emission.build.value(pointer), [count])


def _array_at_type(addresses: Any, number: Any, count: Any, element: Any) -> Any:
    is_table = isinstance(addresses, types.Array) and addresses.dtype == types.int64
    return _array_of(element) if is_table and _is_index(number) and _is_index(count) else None


def _array_at(emission: Emission, addresses: Any, number: Any, count: Any, _: Any) -> Any:
    build = emission.build
    address = build.load(I64, _pointer(emission, addresses, number, I64), I64.bits // 8)
    return _made_array(emission, emission.result, build.value(build.cast("inttoptr", address, PTR)), [count])


def _tail_type(array: Any, start: Any) -> Any:
    return array if _element(array) is not None and _is_index(start) else None


def _tail(emission: Emission, array: Any, start: Any) -> Any:
    type_, builder = emission.operands[0], emission.builder
    data, count = (emission.field(type_, array, name) for name in ("data", "nitems"))
    return _made_array(emission, type_, builder.gep(data, [start]), [builder.sub(count, start)])


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
    return _made_array(emission, emission.result, pointer, [ir.Constant(_INT64, count)])


def _array_type(flat: Any, element: Any, layout: Any, *numbers: Any) -> Any:
    if not isinstance(flat, types.Array) or not isinstance(element, types.StringLiteral) or len(numbers) % 2:
        return None
    dtype = getattr(types, element.literal_value)
    return types.Array(dtype, len(numbers) // 2, layout.literal_value, readonly=not flat.mutable)


def _array(emission: Emission, flat: Any, _element: Any, _layout: Any, *numbers: Any) -> Any:
    """Emits the array of a custom kernel over `flat`; `numbers` are the sizes of its axes, then their strides."""
    data, rank = emission.field(emission.operands[0], flat, "data"), emission.result.ndim
    return _made_array(emission, emission.result, data, numbers[:rank], numbers[rank:])


def _copy_type(target: Any, start: Any, source: Any, source_start: Any, count: Any) -> Any:
    same = _element(target) is not None and _element(target) == _element(source)
    return types.void if same and all(map(_is_index, (start, source_start, count))) else None


def _copy(emission: Emission, target: Any, start: Any, source: Any, source_start: Any, count: Any) -> None:
    builder, build = emission.builder, emission.build
    element = _element(emission.operands[0])
    assert element is not None
    type_ = type_of(element)
    ends = _pointer(emission, target, start, type_), _pointer(emission, source, source_start, type_, 2)
    into, from_ = (build.value(IRValue(PTR, each)) for each in ends)
    size = builder.mul(count, ir.Constant(_INT64, type_.bits // 8))
    with builder.if_then(builder.icmp_unsigned("!=", into, from_)):  # the state of a caller who keeps it in place
        cgutils.raw_memmove(builder, into, from_, size, 1)


OPERATIONS: dict[str, Any] = {
    "load": operation("load", _load_type, _load, literal=True, takes_tiles=True),
    "store": operation("store", _store_type, _store, literal=True, takes_tiles=True),
    "load_partial": operation("load_partial", _load_partial_type, _load_partial, literal=True),
    "store_partial": operation("store_partial", _store_partial_type, _store_partial),
    "load_masked": operation("load_masked", _load_masked_type, _load_masked),
    "store_masked": operation("store_masked", _store_masked_type, _store_masked),
    "load_group_splat": operation("load_group_splat", _group_type, _load_group_splat, literal=True, takes_tiles=True),
    "prefetch": operation("prefetch", _prefetch_type, _prefetch, literal=True),
    "gather": operation("gather", _gather_type, _gather),
    "look_up": operation("look_up", _look_up_type, _look_up),
    "view": operation("view", _view_type, _view, literal=True),
    "array_at": operation("array_at", _array_at_type, _array_at, literal=True),
    "tail": operation("tail", _tail_type, _tail),
    "scratch": operation("scratch", _scratch_type, _scratch, literal=True),
    "array": operation("array", _array_type, _array, literal=True),
    "copy": operation("copy", _copy_type, _copy),
}
"""The operations of this module by the names under which emitted code imports them."""
