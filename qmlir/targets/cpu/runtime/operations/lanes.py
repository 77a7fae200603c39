"""Vector operations for numba: dot products, shuffles, reductions, narrowing, and selects."""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from ..machine_code import check_features
from ..semantics import lanes as rows
from ..semantics.arithmetic import FOLDS
from ..semantics.builder import Builder
from ..semantics.values import IRValue
from .declare import Emission, Lowering, is_tile, operation, packed, shared
from .memory import has
from .registers import Register, as_register, written

# --- Dot products -----------------------------------------------------------------------------------------------------


def _dot_type(element: str) -> Callable[..., Any]:
    def typed(accumulator: Any, x: Any, w: Any) -> Any:
        if not isinstance(accumulator, Register) or not isinstance(x, Register) or x != w:
            return None
        fits = accumulator.element == "i32" and x.element == element and x.lanes * x.bits == accumulator.lanes * 32
        return accumulator if fits else None

    return typed


def _pairs_type(x: Any, w: Any) -> Any:
    fits = isinstance(x, Register) and x == w and x.element == "i8"
    return Register("i16", x.lanes // 2) if fits else None


BY_INTRINSICS: Mapping[str, Callable[..., Any]] = {
    "dot_us": _dot_type("i8"),
    "dot_ss": _dot_type("i8"),
    "dot_pairs": _dot_type("i16"),
    "multiply_pairs": _pairs_type,
}
"""The typing of each operation that exists only if the instruction set has an instruction for it."""


def requires(*features: str) -> None:
    """Raises `CorruptProgramError` if the CPU lacks a feature that the emitted module needs."""
    check_features("the program", features)


@cache
def by_intrinsics(name: str, *intrinsics: tuple[int, str]) -> Any:
    """Returns the operation `name`; `intrinsics` lists, for each register width in bits, the LLVM intrinsic."""
    names = dict(intrinsics)

    def lower(emission: Emission, *values: Any) -> Any:
        result: Register = emission.result
        operands = [emission.register(number, value) for number, value in enumerate(values)]
        intrinsic = names[result.lanes * result.bits]
        return emission.build.value(rows.by_intrinsic(emission.build, name, intrinsic, result.type, operands))

    return operation(name, BY_INTRINSICS[name], lower)


# --- Lanes ------------------------------------------------------------------------------------------------------------


def _splat_type(value: Any, lanes: Any) -> Any:
    count, register = written(lanes), as_register(value)
    return Register(register.element, count) if register is not None and not register.lanes and count else None


def _shuffle_type(a: Any, b: Any, *lanes: Any) -> Any:
    numbers = [written(lane) for lane in lanes]
    if not isinstance(a, Register) or not isinstance(b, Register) or a.element != b.element or None in numbers:
        return None
    return Register(a.element, len(numbers))


def _interleave_type(a: Any, b: Any, block: Any) -> Any:
    return a if isinstance(a, Register) and a == b and written(block) else None


def _lane_type(vector: Any, lane: Any) -> Any:
    fits = isinstance(vector, Register) and vector.lanes and isinstance(lane, types.Integer)
    return Register(vector.element) if fits else None


def _with_lane_type(vector: Any, lane: Any, value: Any) -> Any:
    fits = isinstance(vector, Register) and vector.lanes and as_register(value) == Register(vector.element)
    return vector if fits and isinstance(lane, types.Integer) else None


def _with_lane(build: Builder, vector: IRValue, lane: IRValue, value: IRValue) -> IRValue:
    return build.insert(vector, value, lane)


def _lanes_below_type(count: Any, lanes: Any) -> Any:
    number = written(lanes)
    return Register("i1", number) if number and isinstance(count, types.Integer) else None


def _select_type(condition: Any, a: Any, b: Any) -> Any:
    register = as_register(a)
    if register is None or a != b or not isinstance(condition, Register) or condition.element != "i1":
        return None
    return a if condition.lanes in (0, register.lanes) else None


# --- Reductions -------------------------------------------------------------------------------------------------------


def _reduced_type(vector: Any) -> Any:
    return Register(vector.element) if isinstance(vector, Register) and vector.lanes else None


def _folded(kind: str) -> Lowering:
    def lower(build: Builder, vector: IRValue) -> IRValue:
        return rows.folded(build, FOLDS[kind](vector.type), vector)

    return shared(lower)


def _narrow_type(bits: int) -> Callable[..., Any]:
    def typed(value: Any, *others: Any) -> Any:
        fits = isinstance(value, Register) and not value.is_float and value.bits > bits
        if not fits or any(other != value for other in others):
            return None
        return Register(f"i{bits}", (1 + len(others)) * value.lanes)

    return typed


def _round_type(value: Any) -> Any:
    return value.of("i32") if isinstance(value, Register) and value.element == "f32" else None


def _rounded(build: Builder, value: IRValue) -> IRValue:
    return rows.rounded_to_integer(build, value, value.type.of("i32"))


# --- Tiles ------------------------------------------------------------------------------------------------------------


def _shape(numbers: Iterable[Any]) -> tuple[int, ...] | None:
    """Returns the values of the literals `numbers`, or `None` if any of them is not a literal."""
    found = [written(each) for each in numbers]
    return None if None in found else tuple(each for each in found if each is not None)


def _stack_type(*operands: Any) -> Any:
    values = [each for each in operands if isinstance(each, Register)]
    shape = _shape(operands[len(values) :])
    if not values or not shape or any(each != values[0] for each in values) or math.prod(shape) != len(values):
        return None
    return values[0].over(*shape, *values[0].tile)


def _move(name: str, typed: Callable[..., Any], places: Callable[[Emission], Any]) -> Any:
    """Declares an operation that only moves vectors of tiles.

    `places(emission)` are the places of the result's vectors among those of the operands, tile by tile.
    """

    def lower(emission: Emission, *values: Any) -> Any:
        vectors = [
            emission.builder.extract_value(value, place) if is_tile(kind) else value
            for kind, value in zip(emission.operands, values, strict=False)
            if isinstance(kind, Register)
            for place in range(kind.count)
        ]
        chosen = [vectors[place] for place in np.asarray(places(emission)).flat]
        return packed(emission, dict(enumerate(chosen))) if is_tile(emission.result) else chosen[0]

    return operation(name, typed, lower, literal=True, takes_tiles=True)


def _places(emission: Emission) -> npt.NDArray[np.int64]:
    """Returns the places of the vectors of the first operand, in the shape of its tile."""
    tile = emission.operands[0].tile
    return np.arange(math.prod(tile)).reshape(tile)


def _repeat_type(value: Any, *sizes: Any) -> Any:
    shape = _shape(sizes)
    if not isinstance(value, Register) or not value.lanes or not shape or len(shape) < len(value.tile):
        return None
    is_repeated = all(own in (1, size) for own, size in zip(value.tile[::-1], shape[::-1], strict=False))
    return value.over(*shape) if is_repeated else None


def _register_type(tile: Any, *position: Any) -> Any:
    place = _shape(position)
    if not is_tile(tile) or not place or len(place) > len(tile.tile):
        return None
    is_inside = all(0 <= each < size for each, size in zip(place, tile.tile, strict=False))
    return tile.over(*tile.tile[len(place) :]) if is_inside else None


def _turned_type(tile: Any) -> Any:
    if not isinstance(tile, Register) or len(tile.tile) < 2:
        return None
    rows, columns, *inner = tile.tile
    return tile.over(columns, rows, *inner)


OPERATIONS: dict[str, Any] = {
    "stack": _move("stack", _stack_type, lambda emission: range(emission.result.count)),
    "repeat": _move("repeat", _repeat_type, lambda emission: np.broadcast_to(_places(emission), emission.result.tile)),
    "register": _move("register", _register_type, lambda emission: _places(emission)[_shape(emission.operands[1:])]),
    "turned": _move("turned", _turned_type, lambda emission: _places(emission).swapaxes(0, 1)),
    "splat": operation("splat", _splat_type, shared(rows.splat, 1, has=has), literal=True),
    "shuffle": operation("shuffle", _shuffle_type, shared(rows.shuffled, 2), literal=True),
    **{
        name: operation(name, _interleave_type, shared(rows.interleaved, 2, half=half), literal=True)
        for half, name in enumerate(("interleave_low", "interleave_high"))
    },
    "lane": operation("lane", _lane_type, shared(Builder.extract)),
    "with_lane": operation("with_lane", _with_lane_type, shared(_with_lane)),
    "lanes_below": operation("lanes_below", _lanes_below_type, shared(rows.below, 1), literal=True),
    "select": operation("select", _select_type, shared(Builder.select)),
    "reduce_add": operation("reduce_add", _reduced_type, shared(rows.added_by_halves)),
    "round_to_int": operation("round_to_int", _round_type, shared(_rounded)),
    **{f"fold_{kind}": operation(f"fold_{kind}", _reduced_type, _folded(kind)) for kind in FOLDS},
}
"""The operations of this module by the names under which emitted code imports them."""


def narrowing(bits: int, *, unsigned: bool) -> Any:
    """Returns the saturating conversion of signed integers to integers of `bits` bits, signed or unsigned."""

    def lower(emission: Emission, *values: Any) -> Any:
        operands = [emission.register(number, value) for number, value in enumerate(values)]
        found = rows.narrowed(emission.build, operands, emission.result.type, has, is_signed=not unsigned)
        return emission.build.value(found)

    return operation(f"narrow_{'u' if unsigned else 'i'}{bits}", _narrow_type(bits), lower)
