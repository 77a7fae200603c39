"""Declaring operations to numba: a name, what type its result has, and the LLVM instructions that compute it.

An operation is typed and lowered without compiling anything per use, so that kernels with thousands of them compile
fast. Python's operators take the same road.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false

import operator as python
from collections.abc import Callable
from typing import Any

from numba import types

from ..semantics.values import PTR, IRValue
from .building import NumbaBuilder
from .fast import MEANINGS, OperationType, ResultType, register_lowering, register_type
from .registers import INDEX, Register, type_in_llvm


class Emission:
    """Where the instructions of one operation go: numba's target and LLVM builder, and the types of the operation."""

    def __init__(self, target: Any, builder: Any, result: Any, operands: tuple[Any, ...]) -> None:
        self.target = target
        self.builder = builder
        self.result = result
        self.operands = operands
        self.build = NumbaBuilder(builder)
        """Writes the same instructions by the tables that all emitters share."""

    def field(self, array_type: Any, array: Any, name: str) -> Any:
        """A field of an array, such as `data`, straight out of the value: numba's proxies cost milliseconds."""
        return self.target.data_model_manager[array_type].get(self.builder, array, name)

    def register(self, number: int, value: Any) -> IRValue:
        """The operand of a number as a register or a scalar."""
        return self.build.operand(type_in_llvm(self.operands[number]), value)

    def data(self, number: int, array: Any) -> str:
        """Where the elements of an array lie, the operand of a number."""
        return self.build.operand(PTR, self.field(self.operands[number], array, "data")).text

    def nothing(self) -> Any:
        """The result of an operation that has none."""
        return self.target.get_dummy_value()


Lowering = Callable[..., Any]
"""`f(emission, *values)`: writes the instructions and gives the value of the result."""


def shared(row: Callable[..., IRValue]) -> Lowering:
    """The lowering by a row of the shared tables, `f(build, *operands)`, of which all operands are registers."""

    def lower(emission: Emission, *values: Any) -> Any:
        operands = (emission.register(number, value) for number, value in enumerate(values))
        return emission.build.value(row(emission.build, *operands))

    return lower


_REGISTER_BYTES = 64
"""The widest registers there are."""

_STACK_BYTES = 16
"""What the stack of a function is aligned to by itself."""


def _align_stack(builder: Any, result: Any) -> None:
    """Let registers lie aligned on the stack: LLVM finds out too late that it puts some there, and half of their loads
    would cross lines of the cache.
    """
    size = result.lanes * result.bits // 8 if isinstance(result, Register) else 0
    widest = _REGISTER_BYTES if size > _REGISTER_BYTES else size
    attributes = builder.function.attributes
    if widest > max(attributes.alignstack, _STACK_BYTES) and not widest & (widest - 1):
        attributes.alignstack = widest
        attributes.add("nounwind")  # nothing throws; llvmlite writes an alignment only beside another attribute


def _lowered(key: Any, lower: Lowering, kinds: tuple[Any, ...]) -> None:
    def compute(target: Any, builder: Any, sig: Any, values: Any, loc: Any = None) -> Any:
        _align_stack(builder, sig.return_type)
        return lower(Emission(target, builder, sig.return_type, tuple(sig.args)), *values)

    register_lowering(key, compute, kinds)


def operation(name: str, typed: ResultType, lower: Lowering, *, literal: bool = False) -> Any:
    """A new operation that compiled code can call; `literal` where its types depend on numbers that are written out."""

    def stub(*operands: Any) -> Any:
        raise NotImplementedError(f"{name} can be called only from compiled code")

    stub.__name__ = stub.__qualname__ = name

    def counted(*operands: Any) -> Any:
        try:
            return typed(*operands)
        except TypeError:  # another number of operands
            return None

    _lowered(stub, lower, (types.VarArg(types.Any),))
    register_type(stub, name, counted, OperationType, literal=literal)
    return stub


_OF_INDICES = (python.add, python.sub, python.mul)


def operator(key: Any, count: int, typed: Callable[..., Any], lower: Lowering) -> None:
    """Give one of Python's operators a meaning on registers.

    numba's own meaning of `+`, `-` and `*` of two `index` is found here as well, before all others.
    """

    def registers(*operands: Any) -> Any:
        if len(operands) != count:
            return None
        kind = type(operands[0])
        if kind in meanings:
            return meanings[kind](*operands) if all(type(each) is kind for each in operands) else None
        return INDEX if key in _OF_INDICES and all(each == INDEX for each in operands) else None

    meanings = MEANINGS.setdefault(key, {})
    if not meanings:
        register_type(key, key.__name__, registers, types.Function, literal=False)
    meanings[Register] = typed
    _lowered(key, lower, (Register,) * count)
