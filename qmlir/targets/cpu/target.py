"""The description of the CPU target; it does not import the compiler."""

from qmlir.target import Accepted, Support, Target
from qmlir.targets.cpu.choices import KEPT

TARGET = Target(
    "cpu",
    summary="this machine: loops over registers, compiled by numba; it computes everything, on all types",
    keep=KEPT,
    supports=(Support("*", weight=Accepted(granularities=("channel", "tensor", "block"))),),
    raises=("*",),
    lowering="compile",
    emit="qmlir.targets.cpu.emitters.numba.emit:emit_module",
    suffix=".py",
    execute="qmlir.targets.cpu.compiler:execute",
)
"""The description of the target, declared with the same interface as targets of packages."""
