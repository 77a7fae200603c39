"""Reductions whose order counts: sums of several rows run side by side, each in its own order.

A sum of floats waits for one addition after the other; those of eight rows keep an adder busy meanwhile.
"""

from collections.abc import Sequence
from copy import copy

from xdsl.ir import SSAValue

from qmlir.targets.cpu.loops.affine import Index
from qmlir.targets.cpu.loops.contraction.geometry import add
from qmlir.targets.cpu.loops.emitter import Emitter
from qmlir.targets.cpu.loops.nests import Nest, Plan
from qmlir.targets.cpu.loops.writer import LoopWriter

_ROWS = (8, 4, 2)
"""Rows at a time, the first that leaves none over."""


def rows_for(nest: Nest, plan: Plan) -> int:
    """How many steps of the innermost parallel loop run side by side around one reduction; 1 where none do."""
    if not 1 <= plan.carried == len(plan.order) - 1:
        return 1
    steps = nest.ranges[plan.order[plan.carried - 1]]
    return next((rows for rows in _ROWS if steps and steps % rows == 0), 1)


class SideBySideWriter(LoopWriter):
    """Writes a reduction of `rows` rows as one loop that hands their scalars on."""

    def __init__(self, nest: Nest, plan: Plan, threads: bool, rows: int):
        super().__init__(nest, plan, threads)
        self.rows = rows

    def _level(self, emit: Emitter, depth: int) -> None:
        if depth != self.plan.carried - 1:
            super()._level(emit, depth)
            return
        self._advance(emit, False)
        dim, inner = self.plan.order[depth:]
        with emit.loop(self.nest.ranges[dim], step=self.rows, threads=self.threads and depth == 0) as (body, first):
            writers = [self._of_row(dim, add(body, first, row)) for row in range(self.rows)]
            before: list[SSAValue] = []
            for writer in writers:
                writer._advance(body, False)
                before += [body.load(output.value, writer._place(body, output)) for output in self.nest.outputs]
            after = self._sums(body, inner, writers, before)
            for place, writer in enumerate(writers):
                count = len(self.nest.outputs)
                writer._store(body, after[place * count : (place + 1) * count])

    def _of_row(self, dim: int, place: Index) -> "SideBySideWriter":
        """A writer of one row, from where this one stands."""
        made = copy(self)
        made.dims, made.open, made.values = list(self.dims), {*self.open, dim}, dict(self.values)
        made.dims[dim] = place
        return made

    def _sums(
        self, emit: Emitter, dim: int, writers: "list[SideBySideWriter]", before: list[SSAValue]
    ) -> Sequence[SSAValue]:
        def write(body: Emitter, step: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            yielded: list[SSAValue] = []
            for writer in writers:
                writer.dims[dim] = step
                writer.open.add(dim)
                writer._advance(body, True)
                writer._take_outputs(so_far[len(yielded) :][: len(self.nest.outputs)])
                yielded += writer._yielded(body)
            return yielded

        return emit.carried(self.nest.ranges[dim], before, write)
