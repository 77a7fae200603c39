"""The float program beside the quantized one: what its products read in the same runs.

The quantized program was decided about a float one, whose products have the same origins. Both go forward together, so
that no more is held of the float one than what it still needs.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.interpret.rows import rows_of
from qmlir.interpreter.machine import RunsInStep
from qmlir.ir.provenance import Origin, origins_of
from qmlir.specialization.inputs import function_of


class FloatData:
    """What the products with constant weights of a float `module` read in `runs`, in the order of its program.

    Products that share their origins, such as the steps of a recurrent layer, are not told apart, and left out.
    """

    def __init__(self, module: ModuleOp, name: str, runs: Sequence[Sequence[Any]]):
        known = ((op, rows_of(op)) for op in function_of(module, name).walk())
        self._rows = {op: rows for op, rows in known if rows is not None and constant_array(rows.weight) is not None}
        counts = Counter(map(origins_of, self._rows))
        self._left = {origins: op for op in self._rows if counts[origins := origins_of(op)] == 1}
        self._steps = RunsInStep(module, name, runs)
        self._program = iter(self._steps)

    def of(self, origins: tuple[Origin, ...]) -> Sequence[Array] | None:
        """The data of the product with these `origins` in each run; `None` where there is none, or not any more."""
        wanted = self._left.get(origins)
        return None if wanted is None else self._until(wanted)

    def _until(self, wanted: Operation) -> Sequence[Array]:
        for op in self._program:
            if op in self._rows:
                self._left.pop(origins_of(op), None)
            if op is wanted:
                break
        return self._steps.values(self._rows[wanted].data)
