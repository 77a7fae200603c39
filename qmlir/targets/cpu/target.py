"""The description of the CPU target; it does not import the compiler."""

from qmlir.target import Accepted, Support, Target

KEPT = (
    "softmax", "log_softmax", "layer_norm", "rms_norm", "instance_norm", "group_norm", "lp_norm",
    "gelu", "hard_swish", "swish", "mish", "selu", "celu", "hard_sigmoid", "dynamic_quantize",
)  # fmt: skip
"""The composites that the CPU target does not decompose.

An activation function is a single table lookup. Normalizations, softmax and dynamic quantization are better computed
on whole rows, in integers or in floats, than from components that are quantized to 8 bits each.
"""

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
"""The description of the target, declared with the same interface as targets of packages."""
