"""Random inputs for a function, from a seed: numbers over the whole range of each type, its ends and zero among them.

A function comes in; out come arrays by the names of its inputs. An input has the numbers that its type allows: those of
the storage of a quantized one, those of the range of a profiled one, indices that exist where it is used as indices.
A draw spreads them over the range, or takes only numbers where faults hide: ends, and zeros of both signs.
"""

import zlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, MemRefType, Signedness, TensorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.types import StringType
from qmlir.dialects.quant.types import CalibratedQuantizedType, StoredType, UniformQuantizedType, storage_limits
from qmlir.interpreter.interpreter import about
from qmlir.interpreter.values import check_size, value_dtype
from qmlir.ir.diagnostics import op_error
from qmlir.ir.interfaces import Container, HeldElement, Quantizable
from qmlir.ir.signature import Port, inputs_of

EXTREMES = 0.2
"""The part of the elements of an input that are ends of its range, or zero."""

_PLAIN_FLOATS = (-64.0, 64.0, 0.0, -0.0, 1.0, -1.0, 1e-30)
"""What stands among the normally distributed floats of an input of which no range is known."""

_ACCUMULATED = 1 << 24
"""What sums of products mostly are: integers of 32 bits lie within this and its negative, but for the ends."""


class Draw(StrEnum):
    """Which numbers of its range an input has, in words of an error."""

    SPREAD = "numbers over the range, ends and zeros among them"
    ENDS = "ends of the range and zeros"


_PARTS = 3
"""How many values a container of any number has."""

_OPEN_SIZE = 2
"""The value of every unknown size without a name; named sizes begin after it and all differ."""


def _spread(random: np.random.Generator, shape: Sequence[int], values: Array, ends: Sequence[Any]) -> Array:
    """`values`, some of them replaced by `ends`: where there are two elements or more, by the first two at least."""
    count = max(round(EXTREMES * values.size), 2)
    flat = np.asarray(values).reshape(-1).copy()
    if values.size >= 2:
        flat[random.permutation(values.size)[:count]] = np.resize(np.asarray(ends, values.dtype), count)
    return flat.reshape(shape)


def _drawn(
    random: np.random.Generator, draw: Draw, values: Array, ends: Sequence[Any], zeros: Sequence[Any] = ()
) -> Array:
    """`values`, the `ends` among them; or nothing but `ends` and, as often, `zeros`, where the type has any."""
    if draw is Draw.SPREAD:
        return _spread(random, values.shape, values, ends)
    at_ends, at_zeros = (random.choice(np.asarray(each, values.dtype), values.shape) for each in (ends, zeros or ends))
    return np.asarray(np.where(random.random(values.shape) < 0.5, at_ends, at_zeros))


def _integers(
    random: np.random.Generator,
    draw: Draw,
    shape: Sequence[int],
    limits: tuple[int, int],
    zeros: Sequence[int],
    *ends: int,
    largest: int = 1 << 63,
) -> Array:
    low, high = limits
    values = random.integers(max(low, -largest), min(high, largest), shape, dtype=np.int64, endpoint=True)
    inside = [[end for end in each if low <= end <= high] for each in (zeros, ends)]
    return _drawn(random, draw, values, [low, high, *inside[0], *inside[1]], inside[0])


def _smallest_indexed(argument: SSAValue) -> int | None:
    """The smallest size of what `argument` is indices or sizes of; `None` where it is used as a number."""
    smallest: int | None = None
    for use in argument.uses:
        op = use.operation
        if not isinstance(op, Quantizable):
            continue
        slots = list(op.operands_with_slots())
        if slots[use.index][1] is None:
            sizes = [size for value, slot in slots if slot is not None for size in _shape_and_element(value.type)[0]]
            smallest = min(size for size in (*sizes, smallest or 1 << 30) if size > 0)
    return smallest


def _shape_and_element(type_: Attribute) -> tuple[tuple[int, ...], Attribute | None]:
    """The shape and element of a tensor or memory, no element for what is neither."""
    if not isinstance(type_, TensorType | MemRefType):
        return (), None
    shaped = cast(TensorType[Attribute] | MemRefType[Attribute], type_)
    return shaped.get_shape(), shaped.get_element_type()


def random_array(
    random: np.random.Generator,
    element: Attribute,
    shape: Sequence[int],
    indices: int | None,
    draw: Draw = Draw.SPREAD,
) -> Array:
    """An array of `shape` over the range of an element type; `indices` is how many things an index may name."""
    dtype = value_dtype(element)
    match element:
        case StoredType():
            limits = element.storage_min, element.storage_max
            largest = _ACCUMULATED if element.bits >= 32 else 1 << 31
            zero_points = element.zero_points.reshape(-1).tolist() if isinstance(element, UniformQuantizedType) else []
            return _integers(random, draw, shape, limits, zero_points[:8], largest=largest).astype(dtype)
        case CalibratedQuantizedType():
            values = random.uniform(element.minimum, element.maximum, shape)
            return _drawn(random, draw, values, [element.minimum, element.maximum, 0.0], [0.0, -0.0]).astype(dtype)
        case IntegerType() if element == i1:
            return random.integers(0, 2, shape).astype(dtype)
        case IntegerType() | IndexType():
            if indices is not None:
                return random.integers(0, indices, shape).astype(dtype)
            width = element.width.data if isinstance(element, IntegerType) else 64
            signedness = element.signedness.data if isinstance(element, IntegerType) else Signedness.SIGNLESS
            limits = storage_limits(IntegerType(min(width, 32), signedness))
            return _integers(random, draw, shape, limits, [0], 1).astype(dtype)
        case HeldElement() if isinstance(element.held_as, IntegerType):
            return _integers(random, draw, shape, element.limits or storage_limits(element.held_as), [0]).astype(dtype)
        case StringType():
            return random.choice(np.array(["", "a", "ab", "B c"], np.object_), shape)
        case _:
            return _drawn(random, draw, random.standard_normal(shape), _PLAIN_FLOATS, [0.0, -0.0]).astype(dtype)


def random_inputs(
    function: FuncOp, seed: int = 0, given: Mapping[str, Any] | None = None, draw: Draw = Draw.SPREAD
) -> dict[str, Any]:
    """Arrays for the inputs of `function`, by name; those of `given` are taken as they are.

    An unknown size is small: the same everywhere under one name, and one more for each name. Raises `DiagnosticError`
    for an input that is not a tensor.
    """
    sizes: dict[str, int] = {}
    found: dict[str, Any] = {}
    for place, port in enumerate(inputs_of(function)):
        if given is not None and port.name in given:
            found[port.name] = given[port.name]
            continue
        random = np.random.default_rng([seed, zlib.crc32(port.name.encode())])
        indices = _smallest_indexed(function.body.blocks[0].args[place])
        found[port.name] = _random_value(function, port, random, indices, draw, sizes)
    return found


def _random_value(
    function: FuncOp, port: Port, random: np.random.Generator, indices: int | None, draw: Draw, sizes: dict[str, int]
) -> Any:
    """A value of the type of `port`; of a container, a list of them."""
    if isinstance(port.type, Container):
        count = _PARTS if port.type.count is None else port.type.count
        parts = [Port(f"{port.name}[{place}]", port.type.part(place)) for place in range(count)]
        return [_random_value(function, each, random, None, draw, sizes) for each in parts]
    sizes_of, element = _shape_and_element(port.of_caller().type)
    if element is None or value_dtype(element) is None:
        raise op_error(function, f"cannot generate random values for input '{port.name}' of type {port.type}")
    shape = [_size(port, axis, size, sizes) for axis, size in enumerate(sizes_of)]
    with about(function):
        check_size(shape, np.dtype(np.int64))  # as which numbers are drawn
    return random_array(random, element, shape, indices, draw)


def _size(port: Port, axis: int, size: int, sizes: dict[str, int]) -> int:
    if size != DYNAMIC_INDEX:
        return size
    name = port.dims[axis] if axis < len(port.dims) else ""
    return sizes.setdefault(name, len(sizes) + _OPEN_SIZE + 1) if name else _OPEN_SIZE
