"""A model that came quantized: its operations between casts become operations on quantized types.

ONNX's QDQ form writes what each operation stands for in floats, between DequantizeLinear and QuantizeLinear; whoever
runs it makes operations on integers of it. So does `load`, by the pipeline `import`.
"""

from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import IMPORT


def raise_quantized(module: ModuleOp) -> None:
    """Let the operations of `module` that stand between casts compute on the integers, in place."""
    environment = default_environment()
    PassManager(environment.new_context(), parse_pipeline(IMPORT.text(), environment.passes)).run(module)
