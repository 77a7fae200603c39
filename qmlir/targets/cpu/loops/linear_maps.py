"""Multiplies registers by a constant matrix of small integers, using sums, differences and left shifts.

Coefficients are split into powers of two, and common subexpressions are emitted once. If two columns have equal or
opposite coefficients in each row, the rows share the sum and the difference of the two registers. If two rows have
equal or opposite coefficients in each column, they share the sum of the equal terms and the sum of the opposite ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.ops import scalar_of
from qmlir.targets.cpu.loops.emitter import VectorEmitter

Row = tuple[int, ...]


@dataclass(frozen=True)
class _Signed:
    """A register, or one that is subtracted instead of added."""

    value: SSAValue
    is_negative: bool = False


def _powers(coefficient: int) -> dict[int, int]:
    """Splits a coefficient into powers of two and their common sign: -5 is -4 - 1."""
    sign = 1 if coefficient > 0 else -1
    return {bit: sign for bit in range(coefficient.bit_length()) if abs(coefficient) >> bit & 1}


def _parts(row: Row) -> Mapping[int, Row]:
    """Splits a matrix into matrices of 0, 1 and -1, by the power of two that scales them."""
    powers = [_powers(coefficient) for coefficient in row]
    bits = sorted({bit for each in powers for bit in each}, reverse=True)
    return {bit: tuple(each.get(bit, 0) for each in powers) for bit in bits}


def _halves(first: Row, second: Row) -> tuple[Row, Row] | None:
    """Two parts, of no common column, whose sum and difference two rows are."""
    if all(abs(a) == abs(b) for a, b in zip(first, second, strict=True)):
        equal = tuple(a if a == b else 0 for a, b in zip(first, second, strict=True))
        opposite = tuple(a if a != b else 0 for a, b in zip(first, second, strict=True))
        if any(equal) and any(opposite):
            return equal, opposite
    return None


def _column_pairs(matrix: Sequence[Row]) -> list[tuple[int, int]]:
    """Pairs of columns, each in one of them, that are equal in some rows and opposite in others."""
    columns = list(zip(*matrix, strict=True))
    found: list[tuple[int, int]] = []
    for first, column in enumerate(columns):
        for second in range(first + 1, len(columns)):
            is_free = not any({first, second} & set(pair) for pair in found)
            if is_free and _halves(column, columns[second]) is not None:
                found.append((first, second))
    return found


class _Combiner:
    """Emits linear combinations of registers; each combination with factors 0, 1 and -1 is emitted once."""

    def __init__(self, emit: VectorEmitter, values: Sequence[SSAValue]):
        self.emit = emit
        self.values = values
        self._known: dict[Row, SSAValue] = {}

    def _add(self, a: _Signed, b: _Signed) -> _Signed:
        if a.is_negative == b.is_negative:
            return _Signed(self.emit.binary(arith.AddiOp, a.value, b.value), a.is_negative)
        plus, minus = (b, a) if a.is_negative else (a, b)
        return _Signed(self.emit.binary(arith.SubiOp, plus.value, minus.value))

    def _shifted(self, term: _Signed, bits: int) -> _Signed:
        if not bits:
            return term
        amount = self.emit.constant(bits, scalar_of(term.value.type))
        return _Signed(self.emit.binary(arith.ShLIOp, term.value, amount), term.is_negative)

    def _plain(self, row: Row) -> _Signed:
        """Emits a combination with factors 0, 1 and -1, or reuses an emitted one or its negation."""
        opposite = tuple(-each for each in row)
        if row not in self._known and opposite not in self._known:
            terms = [_Signed(value, factor < 0) for factor, value in zip(row, self.values, strict=True) if factor]
            total = terms[0]
            for term in terms[1:]:
                total = self._add(total, term)
            self._known[opposite if total.is_negative else row] = total.value
        return _Signed(self._known[row]) if row in self._known else _Signed(self._known[opposite], True)

    def signed(self, row: Row) -> _Signed:
        """Emits a combination with integer factors, not all 0, starting with the highest power of two."""
        total, last = None, 0
        for bit, part in _parts(row).items():
            own = self._plain(part)
            total, last = (own if total is None else self._add(self._shifted(total, last - bit), own)), bit
        assert total is not None
        return self._shifted(total, last)

    def whole(self, total: _Signed) -> SSAValue:
        """Returns the register itself, negated if it is marked as negative."""
        if not total.is_negative:
            return total.value
        return self.emit.binary(arith.SubiOp, self.emit.constant(0, scalar_of(total.value.type)), total.value)

    def rows(self, matrix: Sequence[Row]) -> list[SSAValue]:
        """Emits all rows; two rows that differ only in signs are the sum and difference of two shared parts."""
        found: dict[int, SSAValue] = {}
        for first, row in enumerate(matrix):
            if first in found:
                continue
            for second in range(first + 1, len(matrix)):
                halves = None if second in found else _halves(row, matrix[second])
                if halves is not None:
                    equal, opposite = (self.signed(part) for part in halves)
                    other = _Signed(opposite.value, not opposite.is_negative)
                    found[first] = self.whole(self._add(equal, opposite))
                    found[second] = self.whole(self._add(equal, other))
                    break
            else:
                found[first] = self.whole(self.signed(row))
        return [found[index] for index in range(len(matrix))]


def combined(emit: VectorEmitter, matrix: Sequence[Row], values: Sequence[SSAValue]) -> list[SSAValue]:
    """Emits `matrix @ values`; no row may be all 0."""
    pairs = _column_pairs(matrix)
    single = [index for index in range(len(values)) if not any(index in pair for pair in pairs)]
    reduced = [
        (
            *(row[index] for index in single),
            *(factor for a, b in pairs for factor in ((row[a], 0) if row[a] == row[b] else (0, row[a]))),
        )
        for row in matrix
    ]
    registers = [values[index] for index in single]
    for a, b in pairs:
        registers += [emit.binary(kind, values[a], values[b]) for kind in (arith.AddiOp, arith.SubiOp)]
    return _Combiner(emit, registers).rows(reduced)
