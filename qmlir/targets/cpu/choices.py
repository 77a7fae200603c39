"""Names that the help of commands and errors show: this module imports no compiler."""

from qmlir import registry

KEPT = (
    "softmax", "log_softmax", "layer_norm", "rms_norm", "instance_norm", "group_norm", "lp_norm",
    "gelu", "hard_swish", "swish", "mish", "selu", "celu", "hard_sigmoid", "dynamic_quantize",
)  # fmt: skip
"""The composites that the CPU target does not decompose.

An activation function is a single table lookup. Normalizations, softmax and dynamic quantization are better computed
on whole rows, in integers or in floats, than from components that are quantized to 8 bits each.
"""

NUMBA = "numba"
"""The default emitter."""

PROGRAM_FORM, PARTS_FORM = "program", "parts"
"""The output formats that need Python: a package, and a program for several targets, which also needs qmlir."""

CALLS = frozenset({"run", "predict", "forward", "infer", "eval"})
"""The methods that run a model in other libraries."""


def emitter_names() -> tuple[str, ...]:
    """Returns the names of all emitters, those of the tree first."""
    return tuple(registry.named("emitters"))
