"""A model as a module: an ONNX file or the text of a module in, the verified module out."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from qmlir import onnx
from qmlir.dialects.quant.ops import CastOperation
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import text_error
from qmlir.ir.verification import verify
from qmlir.onnx.suffixes import ONNX_SUFFIXES
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import IMPORT
from qmlir.text.parsing import load_module

if TYPE_CHECKING:
    from onnx import ModelProto

    from qmlir.onnx.reading import OnnxModel


def load(
    source: "str | PathLike[str] | ModelProto",
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    keep_casts: bool = False,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    fallback: bool = True,
) -> ModuleOp:
    """The verified module of a model: a `.onnx` file or an ONNX `ModelProto`, or the text of a module.

    `shapes` fixes the shapes of inputs by name, for ONNX models whose inputs have sizes that are not known. `inputs`
    and `outputs` cut an ONNX model: only what computes the tensors `outputs` of the tensors `inputs` is read. They may
    be any tensors of the graph; those of the model are the default. Nodes that nothing imports become islands that ONNX
    Runtime runs, or ONNX's reference implementation, with a warning; without `fallback` they are an error.

    An ONNX model in QDQ form computes in float between its casts. Its operations become ones on integers (the pipeline
    `import`), which round once where the floats round at each step: the result of an operation differs by one step of
    its type at most where a sum of floats is near a tie. ONNX Runtime does the same before it runs such a model. A
    float bias becomes integers of the scale of the sums where these are within half a step of the result; otherwise the
    operation stays in float. `keep_casts` leaves all of them in float. Raises `DiagnosticError` where the model cannot
    be read or holds what cannot be imported.
    """
    if isinstance(source, str | PathLike):
        source = Path(source)
    if not isinstance(source, Path) or source.suffix in ONNX_SUFFIXES:
        return _imported(onnx.cut(onnx.read_model(source), inputs, outputs), shapes, keep_casts, fallback)
    if inputs is not None or outputs is not None:
        raise text_error(f"'{source}' is no ONNX model: inputs and outputs cut a model when it is imported")
    module = load_module(default_environment().new_context(), source)
    verify(module)
    return module


def _imported(
    model: "OnnxModel", shapes: Mapping[str, Sequence[int]] | None, keep_casts: bool, fallback: bool
) -> ModuleOp:
    module = onnx.import_model(model, shapes=shapes, fallback=fallback)
    if not keep_casts and not onnx.is_exported(model) and any(isinstance(op, CastOperation) for op in module.walk()):
        run_pipeline(module, IMPORT.text())
    return module
