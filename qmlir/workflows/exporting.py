"""Export of a module as an ONNX model, in memory or as a file."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from xdsl.dialects.builtin import ModuleOp

from qmlir.onnx import export
from qmlir.targets.runtimes.onnx_runtime import PACKAGE, invalidity
from qmlir.targets.runtimes.packages import is_installed
from qmlir.text.files import access, path_of
from qmlir.workflows.loading import takes_model

if TYPE_CHECKING:
    from onnx import ModelProto


class ExportSettings(TypedDict, total=False):
    """The settings of `qmlir.export_onnx`, all optional."""

    format: str
    """The representation of quantized operations: `qdq`, `qoperator` or `integer`."""

    opset: int | None
    """Version of the ONNX operators, at least 21. By default, the oldest sufficient version, but at least 21."""

    exact: bool | None
    """`True` produces the same integers in every session of ONNX Runtime: the format `qdq` then uses integer arithmetic
    if floats between casts could round differently, and no format multiplies signed integers. By default, only sessions
    with optimizations, which fuse casts with the operations between them, produce the same integers. `False` places all
    operations that allow it between casts."""

    functions: bool
    """True to export each composite of several nodes as a local function."""

    signed: bool
    """True to keep signed 8-bit integers signed. By default, those that are multiplied are stored unsigned, plus
    128."""


def check_onnx_file(path: Path, *, external_data: bool | None = None) -> None:
    """Raises `DiagnosticError` if `export_onnx` cannot write a model to `path`."""
    export.check_onnx_file(path, external_data=external_data)


@takes_model
def export_onnx(
    module: ModuleOp,
    path: "str | PathLike[str] | None" = None,
    *,
    external_data: bool | None = None,
    force: bool = False,
    **settings: Unpack[ExportSettings],
) -> "ModelProto":
    """Exports a module as an ONNX model, for ONNX Runtime, OpenVINO and others.

    Information that ONNX cannot express is stored in its metadata, so that `load` of the model returns the same module.
    The model is checked by ONNX's checker and, up to 1 GiB, by ONNX Runtime if that is installed.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts. It must have one function, and be float or quantized, not lowered to integers.
        path: The file to write. `None` only returns the model.
        external_data: Store large tensors in a file next to the model. `None` does so above 2 GB.
        force: Replace a data file that does not belong to the model at `path`.
        format: Representation of quantized operations: `"qdq"` (default), `"qoperator"` or `"integer"`.
        opset: Version of the ONNX operators, at least 21. `None` selects the oldest sufficient version from 21.
        exact: `True` produces the same integers in every session of ONNX Runtime; `"qdq"` then uses integer arithmetic
            if floats could round differently. `None` does so only in sessions with optimizations. `False` places all
            operations that allow it between casts.
        functions: Export composites of several nodes as local functions.
        signed: Keep signed 8-bit integers signed. By default, those that are multiplied are stored unsigned, plus 128.

    Returns:
        The ONNX model.

    Raises:
        DiagnosticError: An operation cannot be expressed in ONNX, the model is invalid, or `path` cannot be written or
            is an input of the module.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data)
        >>> exported = qmlir.export_onnx(quantized, "quantized.onnx")
        >>> sorted({node.op_type for node in exported.graph.node})
        ['DequantizeLinear', 'Gemm', 'QuantizeLinear', 'Relu']
    """
    with access(force=force):
        if path is not None:
            check_onnx_file(path_of(path), external_data=external_data)
        model = export.export_model(module, **settings)
        data = export.check_exported(model)
        if data is not None and is_installed(PACKAGE) and (reason := invalidity(model, data)) is not None:
            raise export.invalid_export(reason)
        if path is not None:
            export.save_onnx(model, path_of(path), external_data=external_data)
    return model
