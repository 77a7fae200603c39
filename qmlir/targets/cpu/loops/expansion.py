"""The definitions of `qmlir.arithmetic.functions` as operations: their steps, written by an `Emitter`.

Whoever writes a loop calls `expanded` where its body has `math.exp`; with an emitter of vectors the same definition
gives operations on all lanes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, Float32Type, bf16, f16, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.functions import FUNCTIONS
from qmlir.dialects.kernel.ops import scalar_of
from qmlir.targets.cpu.loops.emitter import Emitter

_ROUNDINGS: dict[Attribute, Callable[[float], Any]] = {f32: np.float32, f64: np.float64}
_SAME_SIZE: dict[Attribute, Attribute] = {f32: i32, i32: f32, f64: i64, i64: f64}


@dataclass(frozen=True, eq=False)
class _Symbol:
    """A value whose operators write operations."""

    value: SSAValue
    emitter: Emitter

    @property
    def element(self) -> Attribute:
        return scalar_of(self.value.type)

    def of(self, other: Any) -> "_Symbol":
        """A symbol as it is, a number as a constant of the type of this one."""
        if isinstance(other, _Symbol):
            return other
        rounding = _ROUNDINGS.get(self.element, int)
        return _Symbol(self.emitter.constant(rounding(other), self.element), self.emitter)

    def unary(self, kind: Callable[[SSAValue], Operation]) -> "_Symbol":
        return _Symbol(self.emitter.insert(kind(self.value)), self.emitter)

    def binary(self, kind: type[Operation], other: Any) -> "_Symbol":
        return _Symbol(self.emitter.binary(kind, self.value, self.of(other).value), self.emitter)

    def converted(self, kind: type[Operation], element: Attribute) -> "_Symbol":
        return _Symbol(self.emitter.convert(kind, self.value, element), self.emitter)

    def _arithmetic(self, on_floats: type[Operation], on_integers: type[Operation], other: Any) -> "_Symbol":
        return self.binary(on_floats if isinstance(self.element, AnyFloat) else on_integers, other)

    def _compared(self, on_floats: str, on_integers: str, other: Any) -> "_Symbol":
        predicate = on_floats if isinstance(self.element, AnyFloat) else on_integers
        return _Symbol(self.emitter.compare(predicate, self.value, self.of(other).value), self.emitter)

    def __add__(self, other: Any) -> "_Symbol":
        return self._arithmetic(arith.AddfOp, arith.AddiOp, other)

    def __sub__(self, other: Any) -> "_Symbol":
        return self._arithmetic(arith.SubfOp, arith.SubiOp, other)

    def __rsub__(self, other: Any) -> "_Symbol":
        return self.of(other) - self

    def __mul__(self, other: Any) -> "_Symbol":
        return self._arithmetic(arith.MulfOp, arith.MuliOp, other)

    def __truediv__(self, other: Any) -> "_Symbol":
        return self.binary(arith.DivfOp, other)

    def __rtruediv__(self, other: Any) -> "_Symbol":
        return self.of(other) / self

    def __and__(self, other: Any) -> "_Symbol":
        return self.binary(arith.AndIOp, other)

    def __or__(self, other: Any) -> "_Symbol":
        return self.binary(arith.OrIOp, other)

    def __lshift__(self, other: Any) -> "_Symbol":
        return self.binary(arith.ShLIOp, other)

    def __rshift__(self, other: Any) -> "_Symbol":
        return self.binary(arith.ShRSIOp, other)

    def __lt__(self, other: Any) -> "_Symbol":
        return self._compared("olt", "slt", other)

    def __le__(self, other: Any) -> "_Symbol":
        return self._compared("ole", "sle", other)

    def __gt__(self, other: Any) -> "_Symbol":
        return self._compared("ogt", "sgt", other)

    def __ge__(self, other: Any) -> "_Symbol":
        return self._compared("oge", "sge", other)

    def __eq__(self, other: object) -> Any:
        return self._compared("oeq", "eq", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("une", "ne", other)


class _Writing:
    """The steps of a definition on symbols."""

    def constant(self, number: float, like: _Symbol) -> _Symbol:
        return like.of(number)

    def where(self, condition: _Symbol, chosen: Any, otherwise: Any) -> _Symbol:
        value: _Symbol = chosen if isinstance(chosen, _Symbol) else otherwise
        operands = (each.value for each in (condition, value.of(chosen), value.of(otherwise)))
        return _Symbol(condition.emitter.select(*operands), condition.emitter)

    def sqrt(self, x: _Symbol) -> _Symbol:
        return x.unary(math.SqrtOp)

    def round_even(self, x: _Symbol) -> _Symbol:
        return _Symbol(x.emitter.round_even(x.value), x.emitter)

    def absolute(self, x: _Symbol) -> _Symbol:
        return x.unary(math.AbsFOp)

    def copysign(self, x: Any, sign: _Symbol) -> _Symbol:
        return sign.of(x).binary(math.CopySignOp, sign)

    def bits(self, x: _Symbol) -> _Symbol:
        return x.converted(arith.BitcastOp, _SAME_SIZE[x.element])

    of_bits = bits

    def shift_in_zeros(self, x: _Symbol, count: Any) -> _Symbol:
        return x.binary(arith.ShRUIOp, count)

    def wide(self, x: _Symbol) -> _Symbol:
        is_float = isinstance(x.element, AnyFloat)
        return x.converted(arith.ExtFOp, f64) if is_float else x.converted(arith.ExtSIOp, i64)

    def narrow(self, x: _Symbol) -> _Symbol:
        return x.converted(arith.TruncFOp, f32)


_WRITING = _Writing()


def function_name(op: Operation) -> str | None:
    """The name of the function of f32 or a shorter float that `op` computes, `None` where it is no such operation."""
    dialect, _, name = op.name.partition(".")
    is_function = dialect == math.Math.name and name in FUNCTIONS
    return name if is_function and scalar_of(op.results[0].type) in (f32, f16, bf16) else None


def expanded(emitter: Emitter, name: str, operands: Sequence[SSAValue]) -> SSAValue:
    """The function `name` (`exp`, …) of values of f32, f16 or bf16; the latter two go through f32."""
    symbols = [_Symbol(operand, emitter) for operand in operands]
    element = symbols[0].element
    if isinstance(element, Float32Type):
        return FUNCTIONS[name].definition(_WRITING, *symbols).value
    wide = [symbol.converted(arith.ExtFOp, f32) for symbol in symbols]
    return FUNCTIONS[name].definition(_WRITING, *wide).converted(arith.TruncFOp, element).value
