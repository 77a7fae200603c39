"""Reads and writes `.tflite` files.

The registry names this module, which imports without the packages of `qmlir[litert]` and checks for them.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.extensions import litert
from qmlir.ir.diagnostics import text_error
from qmlir.text.files import access, path_of
from qmlir.text.writing import check_file, write_file
from qmlir.workflows.loading import module_of


def read(path: Path, *, shapes: Mapping[str, Sequence[int]], requantize: str | None) -> ModuleOp:
    """Returns the verified module of a LiteRT model.

    Args:
        path: The file.
        shapes: Shapes of inputs by name; other inputs have the shapes in the file.
        requantize: The kernels of LiteRT whose arithmetic quantized operations have: `litert-reference` (default), or
            `litert-xnnpack`. With `float`, models with float data and integer weights compute in floats, so that they
            can be quantized.

    Raises:
        DiagnosticError: The file can't be read, is not a model, or contains an unsupported operator; or the packages
            of `qmlir[litert]` are not installed.
    """
    _check_packages(f"read '{path}'")
    return litert.import_model(litert.read_model(path), shapes=shapes, requantize=requantize)


def export_litert(module: Any, path: "str | PathLike[str] | None" = None, *, force: bool = False) -> bytes:
    """Exports a quantized or float module as a LiteRT model (`.tflite`), whose tensors keep their scales.

    LiteRT's reference kernels compute the results of the module in requantization mode `litert_reference`, bit by bit.
    Operations in other modes get this mode (`quant-set-requantize`), and a warning names them. Images become
    channels-last; inputs and outputs keep their shapes.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.
        path: The file to write. `None` only returns its content.
        force: Replace a file at `path` that the module was read from.

    Returns:
        The content of the file.

    Raises:
        DiagnosticError: Operations cannot be exported to LiteRT (the message names them), `path` can't be written, or
            the packages of `qmlir[litert]` are not installed.

    Example:
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize("docs/examples/digits.onnxtxt", data, device="litert")
        >>> content = qmlir.export_litert(quantized, "quantized.tflite")
        >>> content[4:8]
        b'TFL3'
    """
    _check_packages("export to LiteRT")
    with access(force=force):
        if path is not None:
            check_file(path_of(path))
        content = litert.exported(module_of(module))
        if path is not None:
            write_file(path_of(path), content)
    return content


def _check_packages(task: str) -> None:
    """Raises `DiagnosticError` if a package is missing that `task` requires."""
    if missing := [name for name in ("flatbuffers", "tflite") if find_spec(name) is None]:
        raise text_error(f"cannot {task}: {missing[0]} is not installed; run pip install 'qmlir[litert]'")
