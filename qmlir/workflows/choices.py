"""Names and numbers that the help of commands shows: this module imports no compiler."""

from collections.abc import Mapping
from enum import StrEnum


class Engine(StrEnum):
    """The engine that runs modules."""

    AUTO = "auto"
    """The interpreter until it has taken as long as compilation would, then the compiled program."""

    INTERPRETER = "interpreter"
    COMPILED = "compiled"


ENOUGH = 256
"""The number of runs that are reserved for calibration. Only runs after these can be held out."""

STAGES: Mapping[str, tuple[str, ...]] = {
    "integer": ("lower",),
    "loops": ("lower", "fuse", "schedule", "bufferize", "loops"),
}
"""The stages of `COMPILE` that produce each level below the quantized one."""

QUANTIZED = "quantized"
LEVELS = (QUANTIZED, *STAGES)
"""The levels at which a model can be compared with itself; `quantized` is the quantized module in a folder."""

RUNTIMES: Mapping[str, str] = {
    "interpreter": "the reference interpreter, for modules and models where nothing is said",
    "compiled": "a program for this machine, and its values inside from a second one",
    "onnxruntime": "ONNX Runtime as it computes what the model says, all its float tensors",
    "onnxruntime-optimized": "ONNX Runtime as it is used, outputs only",
    **{level: f"the interpreter, on the module at the level {level}" for level in STAGES},
    "litert-reference": "the interpreter, on a .tflite model as LiteRT's reference kernels compute it",
    "litert-xnnpack": "the interpreter, on a .tflite model as XNNPACK computes it",
}
"""The runtimes that may prefix a path as in `RUNTIME:PATH`, each with a summary."""
