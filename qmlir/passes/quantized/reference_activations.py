"""The float program beside the quantized one: what its products read, and operations give, in the same runs.

The quantized program was decided about a float one, whose operations have the same origins. Both go forward together,
so that no more is held of the float one than what it still needs.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.evaluation.arrays import rows_of
from qmlir.interpreter.interpreter import RunsInStep
from qmlir.ir.provenance import Origin, origins_of
from qmlir.specialization.inputs import function_of


class FloatData:
    """What a float `module` computes in `runs`, in the order of its program: what was passed is gone.

    Operations that share their origins, such as products of the steps of a recurrent layer, are not told apart, and
    left out.
    """

    def __init__(self, module: ModuleOp, name: str, runs: Sequence[Sequence[Any]]):
        operations = list(function_of(module, name).body.block.ops)
        known = ((op, rows_of(op)) for op in operations)
        self._rows = {op: rows for op, rows in known if rows is not None and constant_array(rows.weight) is not None}
        counts = Counter(map(origins_of, self._rows))
        self._products = {origins: op for op in self._rows if counts[origins := origins_of(op)] == 1}
        alike = Counter(map(_kind, operations))
        self._givers = {kind: op for op in operations if alike[kind := _kind(op)] == 1 and op.results}
        self._readers = {value: op for op in reversed(operations) for value in op.operands}  # the first one
        self._left = dict.fromkeys(operations)
        self._steps = RunsInStep(module, name, runs)
        self._program = iter(self._steps)
        self._at: Operation | None = None

    def of(self, origins: tuple[Origin, ...]) -> Sequence[Array] | None:
        """The data of the product with these `origins` in each run; `None` where there is none, or not any more."""
        wanted = self._products.get(origins)
        return None if wanted is None else self._before(wanted, self._rows[wanted].data)

    def result(self, op: Operation) -> Sequence[Array] | None:
        """What the operation that became `op` gives in each run; `None` where it is not known, or not any more."""
        value = self.value(op)
        reader = None if value is None else self._readers.get(value)
        return None if value is None or reader is None else self._before(reader, value)

    def value(self, op: Operation) -> SSAValue | None:
        """The first result of the operation that became `op`; `None` where it is not known."""
        found = self._givers.get(_kind(op))
        return None if found is None else found.results[0]

    def _before(self, wanted: Operation, value: SSAValue) -> Sequence[Array] | None:
        """`value` in each run, before `wanted` is computed."""
        if wanted not in self._left:
            return None
        while self._at is not wanted:
            if self._at is not None:
                del self._left[self._at]
            self._at = next(self._program, wanted)  # what returns is no step
        return self._steps.values(value)


def _kind(op: Operation) -> tuple[tuple[Origin, ...], str]:
    return origins_of(op), op.name
