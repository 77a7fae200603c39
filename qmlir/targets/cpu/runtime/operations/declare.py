"""Declares operations to numba: a name, a function that returns the result type, and a lowering to LLVM instructions.

No code is compiled for an individual use of an operation, so kernels with thousands of operations compile fast.
Python's operators are declared in the same way. `syntax` uses the declarations without numba.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin

from ..semantics.values import PTR, IRValue
from .fast import MEANINGS, ResultType, register_type
from .registers import INDEX, NumbaBuilder, Register, type_in_llvm, written


class Emission:
    """The context in which one use of an operation is lowered: numba's target, the LLVM builder, and the types."""

    def __init__(self, target: Any, builder: Any, result: Any, operands: tuple[Any, ...]) -> None:
        self.target = target
        self.builder = builder
        self.result = result
        self.operands = operands
        self.build = NumbaBuilder(builder)
        """The builder for lowerings that all emitters share."""

    def field(self, array_type: Any, array: Any, name: str) -> Any:
        """Returns a field of an array, such as `data`, without numba's proxies, which take milliseconds."""
        return self.target.data_model_manager[array_type].get(self.builder, array, name)

    def register(self, number: int, value: Any) -> IRValue:
        """Returns operand `number`, whose llvmlite value is `value`, as a scalar or vector."""
        return self.build.operand(type_in_llvm(self.operands[number]), value)

    def data(self, number: int, array: Any) -> str:
        """Returns the data pointer of operand `number`, the array `array`."""
        return self.build.operand(PTR, self.field(self.operands[number], array, "data")).text


Lowering = Callable[..., Any]
"""A function `f(emission, *values)` that emits the instructions of an operation and returns its result, if any."""


def shared(row: Callable[..., IRValue], count: int | None = None, **options: Any) -> Lowering:
    """Converts a function of the shared tables to a lowering: `row(build, *operands, **options)`.

    The first `count` operands, by default all, are scalars or vectors, the others are literals.
    """

    def lower(emission: Emission, *values: Any) -> Any:
        operands = [emission.register(number, value) for number, value in enumerate(values[:count])]
        numbers = map(written, emission.operands[len(operands) :])
        return emission.build.value(row(emission.build, *operands, *numbers, **options))

    return lower


# Operations on tiles of vectors: the operation on vectors, for each of them.


def is_tile(type_: Any) -> bool:
    """Returns true for the numba type of a tile of vectors."""
    return isinstance(type_, Register) and bool(type_.tile)


def _alone(type_: Any) -> Any:
    """Returns the type of a vector of a tile; any other type is returned unchanged."""
    return type_.over() if isinstance(type_, Register) else type_


def _type_by_vectors(typed: ResultType) -> ResultType:
    """Extends the typing of an operation on vectors to tiles; all tiles must have the same shape."""

    def over_tiles(*operands: Any) -> Any:
        tiles = {each.tile for each in operands if is_tile(each)}
        if not tiles:
            return typed(*operands)
        result = typed(*map(_alone, operands)) if len(tiles) == 1 else None
        return result.over(*tiles.pop()) if isinstance(result, Register) else None

    return over_tiles


def _by_vectors(lower: Lowering) -> Lowering:
    """Extends the lowering of an operation on vectors to tiles.

    The vectors of a row follow each other, so that what they share is in a register for a short time only.
    """

    def over_tiles(emission: Emission, *values: Any) -> Any:
        if not is_tile(emission.result):
            return lower(emission, *values)
        result, kinds, builder = emission.result, emission.operands, emission.builder
        alone = Emission(emission.target, builder, _alone(result), tuple(map(_alone, kinds)))
        inner = math.prod(result.tile[1:])
        found: dict[int, Any] = {}
        for place in sorted(range(result.count), key=lambda place: place % inner):
            own = (
                builder.extract_value(value, place) if is_tile(kind) else value
                for kind, value in zip(kinds, values, strict=True)
            )
            found[place] = lower(alone, *own)
        return packed(emission, found)

    return over_tiles


def packed(emission: Emission, vectors: Mapping[int, Any]) -> Any:
    """Returns the tile of these vectors, by their place in row-major order, as the result of an operation."""
    whole = ir.Constant(emission.target.get_value_type(emission.result), ir.Undefined)
    for place, vector in vectors.items():
        whole = emission.builder.insert_value(whole, vector, place)
    return whole


_REGISTER_BYTES = 64
"""The size of the widest vector registers, in bytes."""

_STACK_BYTES = 16
"""The default alignment of the stack, in bytes."""


def _align_stack(builder: Any, result: Any) -> None:
    """Aligns the stack of the function for vectors of type `result`.

    LLVM decides too late that it spills vector registers; without this, half of their loads would cross cache lines.
    """
    size = result.lanes * result.bits // 8 if isinstance(result, Register) else 0
    widest = _REGISTER_BYTES if size > _REGISTER_BYTES else size
    attributes = builder.function.attributes
    if widest > max(attributes.alignstack, _STACK_BYTES) and not widest & (widest - 1):
        attributes.alignstack = widest
        attributes.add("nounwind")  # nothing throws; llvmlite writes an alignment only beside another attribute


class CompiledOperation:
    """An operation or a Python operator: its name, typing and lowering.

    `typed` returns the result type, given the operand types. `literal` means that the result type depends on the values
    of literal operands.
    """

    def __init__(self, name: str, typed: ResultType, lower: Lowering, *, literal: bool = False) -> None:
        self.name = name
        self._typed = typed
        self._lower = lower
        self._is_literal = literal
        self._known: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}

    def __call__(self, *operands: Any) -> Any:
        """Raises `NotImplementedError`: Python cannot execute an operation."""
        raise NotImplementedError(f"{self.name} can be called only from compiled code")

    def typed(self, operands: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Returns the result type, and the operand types without the values of literals unless they matter.

        Raises `TypeError` if the operands don't fit.
        """
        found = self._known.get(operands)
        if found is None:
            kinds = operands if self._is_literal else tuple(types.unliteral(each) for each in operands)
            result = self._typed(*kinds)
            if result is None:
                raise TypeError(f"{self.name} does not accept ({', '.join(map(str, operands))})")
            found = self._known[operands] = result, kinds
        return found

    def emit(self, target: Any, builder: Any, result: Any, operands: tuple[Any, ...], values: Sequence[Any]) -> Any:
        """Emits the instructions of a use with these types; returns the value of its result."""
        _align_stack(builder, result)
        found = self._lower(Emission(target, builder, result, operands), *values)
        return target.get_dummy_value() if found is None else found

    def register_lowering(self, key: Any, *kinds: Any) -> None:
        """Registers the lowering of `key` with numba, for operands of `kinds`."""

        def compute(target: Any, builder: Any, sig: Any, values: Any) -> Any:
            return self.emit(target, builder, sig.return_type, tuple(sig.args), values)

        lower_builtin(key, *kinds)(compute)


def operation(
    name: str, typed: ResultType, lower: Lowering, *, literal: bool = False, takes_tiles: bool = False
) -> CompiledOperation:
    """Declares an operation that compiled code can call; the other parameters are those of `CompiledOperation`.

    On tiles, the operation computes each vector, unless it `takes_tiles`.
    """
    if not takes_tiles:
        typed, lower = _type_by_vectors(typed), _by_vectors(lower)

    def counted(*operands: Any) -> Any:
        try:
            return typed(*operands)
        except TypeError:  # another number of operands
            return None

    made = CompiledOperation(name, counted, lower, literal=literal)
    made.register_lowering(made, types.VarArg(types.Any))
    register_type(made, name, counted, literal=literal)
    return made


OPERATORS: dict[Any, CompiledOperation] = {}
"""The declarations of Python's operators, which also accept operands of type `index`."""


def operator(key: Any, count: int, typed: Callable[..., Any], lower: Lowering) -> None:
    """Declares the Python operator `key`, with `count` operands, for scalars and vectors."""

    def with_indices(*operands: Any) -> Any:
        if any(each != INDEX for each in operands):
            return registers(*operands)
        result = typed(*[Register("i64")] * count)
        return INDEX if result == Register("i64") else types.boolean

    def registers(*operands: Any) -> Any:
        kind = type(operands[0])
        if len(operands) != count or kind not in meanings or any(type(each) is not kind for each in operands):
            return None
        return meanings[kind](*operands)

    meanings = MEANINGS.setdefault(key, {})
    if not meanings:
        register_type(key, key.__name__, registers, literal=False)
    meanings[Register] = _type_by_vectors(typed)
    OPERATORS[key] = CompiledOperation(key.__name__, with_indices, _by_vectors(lower))
    OPERATORS[key].register_lowering(key, *(Register,) * count)
