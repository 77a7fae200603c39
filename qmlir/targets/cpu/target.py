"""The description of the CPU target; it imports nothing of the compiler."""

from qmlir.target import Accepted, Support, Target

KEPT = (
    "softmax", "log_softmax", "layer_norm", "rms_norm", "instance_norm", "group_norm", "lp_norm",
    "gelu", "hard_swish", "swish", "mish", "selu", "celu", "hard_sigmoid", "dynamic_quantize",
)  # fmt: skip
"""The composites that it computes whole: functions of one value, which a table of one lookup computes, and
normalizations and dynamic quantization, which are better on whole rows, in integers or in floats, than in parts of
8 bits."""

TARGET = Target(
    "cpu",
    summary="this machine: loops over registers, compiled by numba; it computes everything, on all types",
    keep=KEPT,
    supports=(Support("*", weight=Accepted(granularities=("channel", "tensor", "block"))),),
    raises=("*",),
    lowering="compile",
    emit="qmlir.targets.cpu.emitters.numba.emit:emit_module",
    suffix=".py",
    execute="qmlir.targets.cpu.execute:execute",
)
"""The target of the tree, by the same interface as those of packages."""
