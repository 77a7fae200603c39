"""The reader of `.pt2` archives that the registry names, from a path or from bytes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qmlir import workflows
from qmlir.dialects.quant.ops import CastOperation
from qmlir.extensions import pt2
from qmlir.ir.diagnostics import text_error
from qmlir.passmanager.manager import run_pipeline
from qmlir.text.files import note_input, read_given, reason_of


def read(path: Path, *, shapes: Mapping[str, Sequence[int]], requantize: str | None) -> ModuleOp:
    """Returns the verified module of a program that `torch.export.save` wrote.

    Args:
        path: The file.
        shapes: Shapes of inputs by name; other inputs have the shapes in the file, with dynamic dimensions.
        requantize: Must be `None`, because it selects kernels of LiteRT.

    Raises:
        DiagnosticError: The file can't be read, is not a program, or contains an unsupported operator.
    """
    if requantize is not None:
        raise text_error(f"requantize requires a LiteRT model, but got '{path}'")
    try:
        note_input(path)
        content = read_given(path)
    except OSError as error:
        raise text_error(f"cannot read '{path}': {reason_of(error)}") from error
    return imported(content, str(path), shapes)


def imported(content: bytes, name: str, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
    """Returns the module of the archive `content`, with integer operations between the casts of a quantized model."""
    module = pt2.import_program(pt2.read_archive(content, name), shapes=shapes)
    if any(isinstance(op, CastOperation) for op in module.walk()):
        run_pipeline(module, workflows.IMPORT.passes())
    return module
