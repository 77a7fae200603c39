"""Runs `qmlir export`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
import inspect
from collections import Counter
from pathlib import Path

from qmlir import registry
from qmlir.ir.diagnostics import text_error
from qmlir.tools.arguments import export_settings, import_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import load_model
from qmlir.workflows.exporting import check_onnx_file, export_onnx

_SHOWN = 8
"""Number of operators that the summary names."""


def run_export(arguments: argparse.Namespace, session: Session) -> int:
    """Writes a model as ONNX, or in the format of a package. Raises `DiagnosticError`."""
    output = Path(arguments.output)
    writers, suffix, wanted = registry.named("writers"), output.suffix.lower(), f".{arguments.format}"
    if wanted in writers and suffix != wanted:
        raise text_error(f"--format {arguments.format} writes a file whose name ends in {wanted}, but got '{output}'")
    own = writers.get(arguments.format) or writers.get(suffix)
    if own is not None:
        return _write(own, output, arguments, session)
    check_onnx_file(output, external_data=arguments.external_data)
    module = load_model(arguments.model, session, **import_settings(arguments))
    settings = export_settings(arguments)
    model = export_onnx(module, output, **settings)
    bodies = [model.graph.node, *(function.node for function in model.functions)]
    operators = Counter(node.op_type for body in bodies for node in body if node.domain != "qmlir")
    versions = {each.domain or "onnx": each.version for each in model.opset_import}
    session.emit(
        {"output": output, "format": settings["format"], "opset": versions["onnx"], "operators": dict(operators)},
        lambda: _text(output, settings["format"], versions["onnx"], operators),
    )
    return 0


def _write(writer: registry.Named, output: Path, arguments: argparse.Namespace, session: Session) -> int:
    """Writes a model by the writer of a package, with the settings that the writer has."""
    given = {name: value for name, value in export_settings(arguments).items() if name != "format" and value}
    form, function = writer.name.removeprefix("."), writer.function()
    if arguments.format not in (None, form):
        given["format"] = arguments.format
    accepted = inspect.signature(function).parameters
    if foreign := [name for name in given if name not in accepted]:
        option = foreign[0].replace("_", "-")
        raise text_error(f"--{option} does not apply to '{output}', a file of the format {form}")
    module = load_model(arguments.model, session, **import_settings(arguments))
    writer.call(function, module, output, **given)
    size = output.stat().st_size
    session.emit({"output": output, "format": form, "bytes": size}, lambda: f"{output}: {size:,} bytes")
    return 0


def _text(output: Path, form: str, opset: int, operators: Counter[str]) -> str:
    shown = ", ".join(f"{count} {name}" for name, count in operators.most_common(_SHOWN))
    more = f", {len(operators) - _SHOWN} more operators" if len(operators) > _SHOWN else ""
    return f"{output}: form {form}, operator set {opset}, {operators.total()} nodes: {shown}{more}"
