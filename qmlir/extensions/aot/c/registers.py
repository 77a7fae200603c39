"""Emission of `vector` and `simd` as C: vectors are arrays, and operations on them are statements per lane."""

from typing import Any, cast

from xdsl.dialects import vector
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.simd import lanes as simd_lanes
from qmlir.dialects.simd import memory as simd_memory
from qmlir.dialects.simd.base import lanes_of
from qmlir.extensions.aot.c.elements import CElement
from qmlir.extensions.aot.c.function import CWriter, EmitOperation, lanes_in
from qmlir.extensions.aot.c.helpers import WORD
from qmlir.extensions.aot.c.memory import EACH_LANE, keep_loaded, loaded, pointer, stored
from qmlir.extensions.aot.c.scalars import clamped, helper_call, infix
from qmlir.extensions.aot.c.statements import LANE, Declaration
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import item_size
from qmlir.targets.cpu.emitters.program import SLACK
from qmlir.targets.cpu.emitters.writing import Index, Memory, Text, name_text, reads_of

# --- Memory -----------------------------------------------------------------------------------------------------------


def _zero(write: CWriter, value: SSAValue) -> str:
    return "0" if write.element(value).name not in ("f32", "f64") else "0.0f"


def takes_words(op: Operation) -> bool:
    """Returns true for a single-lane dot product of signed bytes, whose operands are words."""
    return (
        isinstance(op, simd_lanes.DotAccumulateOp)
        and (lanes_of(op.result), op.group) == (1, WORD)
        and op.signs.data == simd_lanes.Signs.SS
    )


def _is_word(value: SSAValue) -> bool:
    """Returns true if only such dot products read the four loaded bytes: they become one number instead of an array."""
    is_loaded = isinstance(value.owner, simd_memory.LoadOp | simd_memory.LoadGroupSplatOp)
    return is_loaded and bool(value.uses) and all(takes_words(use.operation) for use in value.uses)


def _keep_word(write: CWriter, value: SSAValue, memory: Memory, position: Index) -> None:
    name, text = write.names.new(write.hint(value)), write.call("load_word", pointer(memory, position))
    write.statements.append(Declaration(write.depth, "uint32_t", name, text.text, position.reads, loads=True))
    write.values[value] = name_text(name)


def _word(write: CWriter, value: SSAValue) -> tuple[Text, frozenset[str]]:
    """Returns four bytes as one number, and the array that they are read from, if any."""
    if _is_word(value):
        return write.text(value), frozenset()
    array = write.array(value)
    return write.call("load_word", array), frozenset({array})


def _load(write: CWriter, op: simd_memory.LoadOp | vector.LoadOp) -> None:
    memory, position = write.row_place(op, op.operands[0], op.indices, lanes_of(op.result), SLACK)
    if _is_word(op.result):
        _keep_word(write, op.result, memory, position)
    else:
        keep_loaded(write, op, memory, position.plus(EACH_LANE))


def _load_partial(write: CWriter, op: simd_memory.LoadPartialOp) -> None:
    memory, position = write.row_place(op, op.memory, op.indices, write.known_count(op.count, op.result))
    count, element = write.index(op.count), loaded(write, op, memory, position.plus(EACH_LANE))
    reads = reads_of((count, element))
    text = Text(f"({LANE} < {count} ? {element} : {_zero(write, op.result)})", reads)
    if op.result.uses:
        write.keep(op.result, text, loads=True)


def _load_group_splat(write: CWriter, op: simd_memory.LoadGroupSplatOp) -> None:
    memory, position = write.row_place(op, op.memory, op.indices, slack=SLACK)
    if _is_word(op.result):
        _keep_word(write, op.result, memory, position)
        return
    group = simd_memory.GROUP_BITS // (8 * item_size(memory.element))
    lane = Index.of(Text(f"{LANE} % {group}", frozenset({LANE}), is_atom=False)) if group > 1 else Index()
    keep_loaded(write, op, memory, position.plus(lane))


def _masked_load(write: CWriter, op: vector.MaskedLoadOp) -> None:
    memory, position = write.row_place(op, op.base, op.indices, 0)
    texts = [write.text(op.mask), loaded(write, op, memory, position.plus(EACH_LANE)), write.text(op.pass_thru)]
    if op.result.uses:
        text = Text(f"({texts[0].inner} ? {texts[1]} : {texts[2]})", reads_of(texts))
        write.keep(op.result, text, loads=True)


def _store_lanes(
    write: CWriter, op: Operation, value: SSAValue, memory: Memory, position: Index, lanes: int, condition: Text | None
) -> None:
    text = write.text(value)
    statement = stored(write, op, memory, position.plus(EACH_LANE), text)
    reads = text.reads | position.reads
    if condition is not None:
        statement, reads = f"if ({condition}) {statement}", reads | condition.reads
    write.lanes(lanes, statement, reads=reads - {LANE}, store=(memory.array, position))


def _store(write: CWriter, op: simd_memory.StoreOp | vector.StoreOp) -> None:
    memory, position = write.row_place(op, op.operands[1], op.indices, lanes_of(op.vector))
    _store_lanes(write, op, op.vector, memory, position, lanes_of(op.vector), None)


def _store_partial(write: CWriter, op: simd_memory.StorePartialOp) -> None:
    count, known = write.index(op.count), write.known_count(op.count, op.vector)
    memory, position = write.row_place(op, op.memory, op.indices, known)
    if count.number is None:
        condition = Text(f"{LANE} < {count}", count.reads)
        _store_lanes(write, op, op.vector, memory, position, lanes_of(op.vector), condition)
    elif known:
        _store_lanes(write, op, op.vector, memory, position, known, None)


def _masked_store(write: CWriter, op: vector.MaskedStoreOp) -> None:
    memory, position = write.row_place(op, op.base, op.indices, 0)
    lanes = lanes_of(op.value_to_store)
    _store_lanes(write, op, op.value_to_store, memory, position, lanes, write.text(op.mask))


def _prefetch(write: CWriter, op: simd_memory.PrefetchOp) -> None:
    """Emits nothing: a prefetch changes no value, and C has no equivalent."""


def _gather(write: CWriter, op: simd_memory.GatherOp) -> None:
    memory, positions = write.memory(op.table), write.text(op.positions)
    keep_loaded(write, op, memory, memory.offset.plus(Index.of(positions)))


def _look_up(write: CWriter, op: simd_memory.LookUpOp) -> None:
    memory, positions = write.memory(op.table), write.text(op.positions)
    number = Index.of(Text(f"(uint8_t){positions.inner}", positions.reads))
    keep_loaded(write, op, memory, memory.offset.plus(number))


# --- Lanes ------------------------------------------------------------------------------------------------------------


def _broadcast(write: CWriter, op: vector.BroadcastOp) -> None:
    text = write.text(op.source)
    if lanes_in(op.source):
        raise op_error(op, f"can broadcast only a scalar, but got {op.source.type}")
    if not text.text.replace("_", "").replace(".", "").replace("-", "").isalnum():
        element = write.element(op.source)
        name = write.names.new(write.hint(op.source))
        write.statements.append(Declaration(write.depth, element.type, name, text.text, text.reads))
        text = name_text(name)
    write.values[op.vector] = text


def _extract(write: CWriter, op: vector.ExtractOp) -> None:
    array, lane = write.array(op.vector), write.lane_index(op)
    write.keep(op.result, Text(f"{array}[{lane}]", lane.reads), crosses=frozenset({array}))


def _insert(write: CWriter, op: vector.InsertOp) -> None:
    lane, value = write.lane_index(op), write.text(op.source)
    name = write.variable(op.result, first=write.text(op.dest))
    write.line(f"{name}[{lane}] = {value};", lane, value, name_text(name))


def _crossing(write: CWriter, result: SSAValue, text: str, *arrays: str) -> None:
    """Defines a vector by an expression that reads any lanes of arrays."""
    write.keep(result, Text(text), crosses=frozenset(arrays))


def _shuffle(write: CWriter, op: vector.ShuffleOp) -> None:
    lanes = [max(lane, 0) for lane in integer_list(op.mask)]  # undefined lanes may have any value
    a, b, count = write.array(op.v1), write.array(op.v2), lanes_of(op.v1)
    first = lanes[0]
    is_run = lanes == [*range(first, first + len(lanes))]
    if is_run and (first + len(lanes) <= count or first >= count):
        array, start = (a, first) if first < count else (b, first - count)
        _crossing(write, op.result, f"{array}[{LANE} + {start}]" if start else f"{array}[{LANE} + 0]", array)
        return
    table = write.unit.table("int32_t", list(map(str, lanes)))
    text = f"{table}[{LANE}] < {count} ? {a}[{table}[{LANE}]] : {b}[{table}[{LANE}] - {count}]"
    if max(lanes) < count:
        text = f"{a}[{table}[{LANE}]]"
    _crossing(write, op.result, text, a, b)


def _create_mask(write: CWriter, op: vector.CreateMaskOp) -> None:
    (count,) = map(write.index, op.mask_dim_sizes)
    write.keep(op.mask_vector, Text(f"{LANE} < {count}", count.reads))


def _fma(write: CWriter, op: vector.FMAOp) -> None:
    write.define(op.res, helper_call(write, "fma", write.element(op.res), *map(write.text, op.operands)))


_KINDS = {"add": "+", "mul": "*"}


def _joined(write: CWriter, kind: str, element: CElement, a: Text, b: Text) -> Text:
    """Combines two scalars by the kind of a reduction."""
    if element.name in ("f32", "f64") and kind in _KINDS:
        return infix(_KINDS[kind], a, b)
    return helper_call(write, kind, element, a, b)


def _reduction(write: CWriter, op: vector.ReductionOp) -> None:
    """Reduces from the first lane to the last, starting with the accumulator, as floats are not associative."""
    array, element, kind = write.array(op.vector), write.element(op.dest), op.kind.data.value
    start = Text(f"{array}[0]", frozenset({array})) if op.acc is None else write.text(op.acc)
    name = write.variable(op.dest, "folded", start)
    found = _joined(write, kind, element, name_text(name), Text(f"{array}[{LANE}]", frozenset({array})))
    head = f"for (int32_t {LANE} = {int(op.acc is None)}; {LANE} < {lanes_of(op.vector)}; {LANE}++)"
    write.line(f"{head} {name} = {found};", found)


def _reduce_add(write: CWriter, op: simd_lanes.ReduceAddOp) -> None:
    """Adds halves until one lane is left."""
    element, lanes, text = write.element(op.value), lanes_of(op.value), write.text(op.value)
    name = write.names.new("folded")
    write.lanes(lanes, text.text, name, element.type, reads=text.reads)
    own, other = (Text(f"{name}[{position}]", frozenset({name})) for position in (LANE, f"{LANE} + n"))
    found = _joined(write, "add", element, own, other)
    write.line(f"for (int32_t n = {lanes // 2}; n > 0; n /= 2)", name_text(name))
    write.line(f"    for (int32_t {LANE} = 0; {LANE} < n; {LANE}++) {name}[{LANE}] = {found};", found)
    write.keep(op.result, Text(f"{name}[0]"), crosses=frozenset({name}))


def _products(a: str, b: str, group: int, *, is_unsigned: bool) -> str:
    """Returns the sum of the products in a lane's group."""
    read = "(int32_t)(uint8_t)" if is_unsigned else "(int32_t)"
    positions = [f"{LANE} * {group} + {position}" for position in range(group)]
    return " + ".join(f"{read}{a}[{position}] * {b}[{position}]" for position in positions)


def _dot_of_words(write: CWriter, op: simd_lanes.DotAccumulateOp) -> None:
    """Emits a helper call, which CPUs with paired products compute in a few instructions."""
    (x, of_x), (w, of_w) = (_word(write, value) for value in (op.x, op.w))
    text = write.call("dot_bytes", x, w, write.text(op.accumulator))
    name = write.names.new("sum")
    write.lanes(1, text.text, name, write.element(op.result).type, reads=text.reads, crosses=of_x | of_w)
    write.name(op.result, name)


def _dot_accumulate(write: CWriter, op: simd_lanes.DotAccumulateOp) -> None:
    if takes_words(op):
        _dot_of_words(write, op)
        return
    a, b, text = write.array(op.x), write.array(op.w), write.text(op.accumulator)
    is_unsigned = op.signs.data == simd_lanes.Signs.US
    name, element = write.names.new("sum"), write.element(op.result)
    terms = _products(a, b, op.group, is_unsigned=is_unsigned).split(" + (int32_t)")
    total = text
    for number, term in enumerate(terms):
        total = write.call("add_i32", total, Text(term if number == 0 else f"(int32_t){term}"))
    crosses = frozenset({a, b})
    write.lanes(lanes_of(op.result), total.text, name, element.type, reads=text.reads, crosses=crosses)
    write.name(op.result, name)


def _multiply_pairs(write: CWriter, op: simd_lanes.MultiplyPairsOp) -> None:
    a, b = write.array(op.x), write.array(op.w)
    total = _products(a, b, 2, is_unsigned=True)
    low, high = integer_limits(16)
    text = write.call("minsi_i32", write.call("maxsi_i32", total, low), high)
    _crossing(write, op.result, f"(int16_t){text}", a, b)


def _round_to_int(write: CWriter, op: simd_lanes.RoundToIntOp) -> None:
    write.define(op.result, write.call("i32_of_f32", write.call("roundeven_f32", write.text(op.value))))


def _narrow(write: CWriter, op: simd_lanes.NarrowOp) -> None:
    """Clamps and truncates, one vector after the other."""
    element, target = write.element(op.values[0]), write.element(op.result)
    low, high = integer_limits(target.bits, is_signed=op.unsigned is None)
    texts: list[Text] = []
    for value in op.values:
        inside = clamped(write, element, write.text(value), low, high)
        texts.append(Text(target.wrapped(f"{inside}"), inside.reads))
    if len(texts) == 1:
        write.define(op.result, texts[0])
        return
    name, size = write.names.new(write.hint(op.result)), lanes_of(op.result)
    for position, (text, value) in enumerate(zip(texts, op.values, strict=True)):
        type_ = "" if position else target.type
        lanes = lanes_of(value)
        write.lanes(lanes, text.text, name, type_, reads=text.reads, shift=position * lanes, size=size)
    write.name(op.result, name)


def _interleave(half: int) -> EmitOperation:
    def emit(write: CWriter, op: Operation) -> None:
        op = cast(simd_lanes.InterleaveOp, op)
        a, b, block = write.array(op.lhs), write.array(op.rhs), op.block_lanes
        position = f"{LANE} / {block} * {block} + {LANE} % {block} / 2 + {half * block // 2}"
        _crossing(write, op.result, f"{LANE} % 2 ? {b}[{position}] : {a}[{position}]", a, b)

    return emit


EMISSIONS: dict[type[Operation], Any] = {
    vector.BroadcastOp: _broadcast,
    vector.CreateMaskOp: _create_mask,
    vector.ExtractOp: _extract,
    vector.FMAOp: _fma,
    vector.InsertOp: _insert,
    vector.LoadOp: _load,
    vector.MaskedLoadOp: _masked_load,
    vector.MaskedStoreOp: _masked_store,
    vector.ReductionOp: _reduction,
    vector.ShuffleOp: _shuffle,
    vector.StoreOp: _store,
    simd_memory.LoadOp: _load,
    simd_memory.LoadPartialOp: _load_partial,
    simd_memory.LoadGroupSplatOp: _load_group_splat,
    simd_memory.PrefetchOp: _prefetch,
    simd_memory.StoreOp: _store,
    simd_memory.StorePartialOp: _store_partial,
    simd_memory.GatherOp: _gather,
    simd_memory.LookUpOp: _look_up,
    simd_lanes.DotAccumulateOp: _dot_accumulate,
    simd_lanes.MultiplyPairsOp: _multiply_pairs,
    simd_lanes.RoundToIntOp: _round_to_int,
    simd_lanes.NarrowOp: _narrow,
    simd_lanes.InterleaveLowOp: _interleave(0),
    simd_lanes.InterleaveHighOp: _interleave(1),
    simd_lanes.ReduceAddOp: _reduce_add,
}
