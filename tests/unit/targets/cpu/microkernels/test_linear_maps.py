"""Registers by a constant matrix: the same numbers as NumPy's, and no more operations than what is shared leaves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xdsl.builder import Builder
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import VectorType, i16
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.winograd import F2, F4, Matrix
from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.microkernels.winograd import combined


@dataclass
class Written:
    """What `combined` writes for a matrix, in a block of its own."""

    matrix: Matrix
    block: Block = field(default_factory=Block)
    values: Sequence[SSAValue] = ()
    rows: Sequence[SSAValue] = ()

    def __post_init__(self) -> None:
        constants = Block()
        given_ = test.TestOp(result_types=[VectorType(i16, [4])] * len(self.matrix[0]))
        self.block.add_op(given_)
        self.values = given_.results
        emit = VectorEmitter(Builder(InsertPoint.at_end(self.block)), Builder(InsertPoint.at_end(constants)), 4)
        self.rows = combined(emit, self.matrix, self.values)

    @property
    def operations(self) -> Sequence[Operation]:
        """All but the one that gives the registers."""
        return list(self.block.ops)[1:]

    def run(self, x: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
        """The rows for some numbers."""
        known: dict[SSAValue, int] = dict(zip(self.values, x.tolist(), strict=True))

        def number(value: SSAValue) -> int:
            if value in known:
                return known[value]
            scalar = cast(Operation, cast(Operation, value.owner).operands[0].owner)
            return cast(int, scalar.properties["value"].value.data)  # type: ignore[attr-defined]

        for op in self.operations:
            a, b = (number(operand) for operand in op.operands)
            known[op.results[0]] = (
                a << b if isinstance(op, arith.ShLIOp) else a + b * (1 if isinstance(op, arith.AddiOp) else -1)
            )
        return [known[row] for row in self.rows]


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    columns = draw(st.integers(1, 6))
    row = st.tuples(*[st.integers(-9, 9)] * columns).filter(any)
    return tuple(draw(st.lists(row, min_size=1, max_size=6)))


@given(matrices(), st.integers(0, 1 << 32))
def test_rows_are_those_of_the_product(matrix: Matrix, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-1000, 1000, len(matrix[0]))
    assert Written(matrix).run(x) == (np.array(matrix) @ x).tolist()


def test_what_rows_and_columns_have_in_common_is_written_once() -> None:
    counts = {name: len(Written(matrix).operations) for name, matrix in MATRICES.items()}
    assert counts == {"input of F2": 4, "output of F2": 4, "input of F4": 17, "output of F4": 14}


MATRICES = {
    "input of F2": F2.input, "output of F2": F2.output, "input of F4": F4.input, "output of F4": F4.output,
}  # fmt: skip
