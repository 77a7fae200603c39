"""Random inputs for a function, from a seed: elements over the range of each type, including its ends and zero.

`random_inputs` returns arrays by the names of the inputs. Elements are in the range that the type allows: that of the
storage type for a quantized input, the calibrated range for a profiled one, and valid indices for an input used as
indices. A draw either spreads elements over the range, or uses only values that often expose bugs: range ends and zeros
of both signs.
"""

import zlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, Signedness, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.types import StringType
from qmlir.dialects.quant.types import CalibratedQuantizedType, StoredType, UniformQuantizedType, storage_limits
from qmlir.interpreter.interpreter import about
from qmlir.interpreter.values import check_size, value_dtype
from qmlir.ir.builtin_types import tensor_or_memref
from qmlir.ir.diagnostics import op_error
from qmlir.ir.interfaces import Container, HeldElement, Quantizable
from qmlir.ir.signature import Port, inputs_of

EXTREMES = 0.2
"""The fraction of the elements of an input that are range ends or zero."""

_PLAIN_FLOATS = (-64.0, 64.0, 0.0, -0.0, 1.0, -1.0, 1e-30)
"""Special values among the normally distributed floats of an input without a known range."""

_ACCUMULATED = 1 << 24
"""The magnitude of typical accumulators. Except for range ends, 32-bit integers are drawn within this bound."""


class Draw(StrEnum):
    """The kind of elements in a random input; the enum values are descriptions for messages."""

    SPREAD = "numbers over the range, ends and zeros among them"
    ENDS = "ends of the range and zeros"


_PARTS = 3
"""The number of values that are drawn for a container of unknown length."""

_OPEN_SIZE = 2
"""The size of every unnamed dynamic dimension; named dimensions get larger sizes, all of them different."""


def _spread(random: np.random.Generator, shape: Sequence[int], values: Array, ends: Sequence[Any]) -> Array:
    """Replaces some of `values` by `ends`: by the first two at least, if there are two elements or more."""
    count = max(round(EXTREMES * values.size), 2)
    flat = np.asarray(values).reshape(-1).copy()
    if values.size >= 2:
        flat[random.permutation(values.size)[:count]] = np.resize(np.asarray(ends, values.dtype), count)
    return flat.reshape(shape)


def _drawn(
    random: np.random.Generator, draw: Draw, values: Array, ends: Sequence[Any], zeros: Sequence[Any] = ()
) -> Array:
    """Returns `values` with some `ends` among them or, for other draws, half `ends` and half `zeros`, if any."""
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
    """Returns the smallest size that `argument` indexes, or `None` if it isn't used as indices."""
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
    """Returns the shape and element type of a tensor or memref; `((), None)` for any other type."""
    shaped = tensor_or_memref(type_)
    return ((), None) if shaped is None else (shaped.get_shape(), shaped.get_element_type())


def random_array(
    random: np.random.Generator, element: Attribute, shape: Sequence[int], indices: int | None, draw: Draw = Draw.SPREAD
) -> Array:
    """Returns an array of shape `shape` over the range of `element`; `indices` bounds elements used as indices."""
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
    """Returns random arrays for the inputs of `function` by name; inputs in `given` are used unchanged.

    Dynamic dimensions get small sizes, one for each name. Raises `DiagnosticError` for an input that isn't a tensor.
    """
    sizes: dict[str, int] = {}
    found: dict[str, Any] = {}
    for position, port in enumerate(inputs_of(function)):
        if given is not None and port.name in given:
            found[port.name] = given[port.name]
            continue
        random = np.random.default_rng([seed, zlib.crc32(port.name.encode())])
        indices = _smallest_indexed(function.body.blocks[0].args[position])
        found[port.name] = _random_value(function, port, random, indices, draw, sizes)
    return found


def _random_value(
    function: FuncOp, port: Port, random: np.random.Generator, indices: int | None, draw: Draw, sizes: dict[str, int]
) -> Any:
    """Returns a random value of the type of `port`; for a container, a list of values."""
    if isinstance(port.type, Container):
        count = _PARTS if port.type.count is None else port.type.count
        parts = [Port(f"{port.name}[{position}]", port.type.part(position)) for position in range(count)]
        return [_random_value(function, each, random, None, draw, sizes) for each in parts]
    sizes_of, element = _shape_and_element(port.of_caller().type)
    if element is None or value_dtype(element) is None:
        raise op_error(function, f"cannot generate random values for input '{port.name}' of type {port.type}")
    shape = [_size(port, axis, size, sizes) for axis, size in enumerate(sizes_of)]
    with about(function):
        check_size(shape, np.dtype(np.int64))  # numbers are drawn as i64
    return random_array(random, element, shape, indices, draw)


def _size(port: Port, axis: int, size: int, sizes: dict[str, int]) -> int:
    if size != DYNAMIC_INDEX:
        return size
    name = port.dims[axis] if axis < len(port.dims) else ""
    return sizes.setdefault(name, len(sizes) + _OPEN_SIZE + 1) if name else _OPEN_SIZE
