"""Runs `qmlir export`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from collections import Counter
from pathlib import Path

from qmlir.tools.arguments import export_settings, import_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import load_model
from qmlir.workflows.exporting import check_onnx_file, export_onnx

_SHOWN = 8
"""Number of operators that the summary names."""


def run_export(arguments: argparse.Namespace, session: Session) -> int:
    """Writes a model as ONNX. Raises `DiagnosticError`."""
    output = Path(arguments.output)
    check_onnx_file(output, external_data=arguments.external_data)
    module = load_model(arguments.model, session, **import_settings(arguments))
    model = export_onnx(module, output, **export_settings(arguments))
    bodies = [model.graph.node, *(function.node for function in model.functions)]
    operators = Counter(node.op_type for body in bodies for node in body if node.domain != "qmlir")
    versions = {each.domain or "onnx": each.version for each in model.opset_import}
    session.emit(
        {"output": output, "format": arguments.format, "opset": versions["onnx"], "operators": dict(operators)},
        lambda: _text(output, arguments.format, versions["onnx"], operators),
    )
    return 0


def _text(output: Path, form: str, opset: int, operators: Counter[str]) -> str:
    shown = ", ".join(f"{count} {name}" for name, count in operators.most_common(_SHOWN))
    more = f", {len(operators) - _SHOWN} more operators" if len(operators) > _SHOWN else ""
    return f"{output}: form {form}, operator set {opset}, {operators.total()} nodes: {shown}{more}"
