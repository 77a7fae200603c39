"""A module as an ONNX model, and as the file of one."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from xdsl.dialects.builtin import ModuleOp

from qmlir.onnx import export
from qmlir.targets.peers.onnx_runtime import PACKAGE, invalidity
from qmlir.targets.peers.packages import is_installed
from qmlir.text.access import access
from qmlir.text.files import path_of
from qmlir.workflows.loading import takes_model

if TYPE_CHECKING:
    from onnx import ModelProto


class ExportSettings(TypedDict, total=False):
    """How a module is written as ONNX: the settings of `qmlir.export_onnx`, all of which may be left out."""

    format: str
    """How operations on quantized values are written: `qdq`, `qoperator` or `integer`."""

    opset: int | None
    """The version of ONNX's operators, 21 at least; by default the oldest from 21 on that has all that is needed."""

    exact: bool | None
    """`True`: the same integers in every session of ONNX Runtime. The form `qdq` then has integer arithmetic where
    floats between casts may round differently, and no form has products of signed integers. By default, sessions with
    optimizations give the same integers: they fuse casts and what is between them. `False`: in the form `qdq`
    everything is between casts that can be."""

    functions: bool
    """Whether composites of several nodes are local functions."""

    signed: bool
    """Whether signed 8-bit integers stay signed; by default those that are multiplied are stored unsigned, plus 128."""


def check_onnx_file(path: Path, *, external_data: bool | None = None) -> None:
    """Raise `DiagnosticError` if `export_onnx` cannot write a model to `path`."""
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
    """The ONNX model of a module of one function, at a level above integers; written to `path` where one is given.

    `settings` are those of `ExportSettings`: `format`, `opset`, `exact`, `functions`, `signed`. `external_data` puts
    large tensors into a file next to the model; above 2 GB they are put there anyway. `force` replaces a file there
    that is not the one of the model at `path`.

    What ONNX has no word for is in its metadata: `qmlir.load` of the model gives the same module again. Raises
    `DiagnosticError`, naming the operation, for what cannot be written, and for a `path` that is one of the files that
    the module was made of. Every model is checked before it is returned or written: by ONNX's checker and, up to 1 GiB,
    by ONNX Runtime, if that is installed.
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
