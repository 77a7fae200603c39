"""Emission of `scf` as C: loops and branches, with loop-carried values as variables."""

from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation

from qmlir.extensions.aot.c.function import CWriter
from qmlir.targets.cpu.emitters.control import CONTROL, branch, results_of


def _index_switch(write: CWriter, op: scf.IndexSwitchOp) -> None:
    chosen, names = write.index(op.arg), results_of(write, op)
    with write.indented(f"switch ({chosen})", chosen):
        cases = zip(op.cases.get_values(), op.case_regions, strict=True)
        for head, region in (*((f"case {case}:", each) for case, each in cases), ("default:", op.default_region)):
            with write.indented(head, end="} break;"):
                branch(write, names, region)


EMISSIONS: dict[type[Operation], Any] = {**CONTROL, scf.IndexSwitchOp: _index_switch}
