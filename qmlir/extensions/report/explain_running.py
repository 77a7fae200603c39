"""Runs `qmlir explain`. It is separate from the arguments, so that the help of the command is fast."""

import argparse

from qmlir.extensions.report.explaining import explain
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.inputs import check_known_inputs, function_of, parse_shapes
from qmlir.targets.cpu.host import resolved_isa
from qmlir.text.data import plain
from qmlir.tools.command_runner import Session
from qmlir.tools.models import Shapes, shapes_text, with_one_sample
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import load


def run_explain(arguments: argparse.Namespace, session: Session) -> int:
    """Prints the explanation. Raises `DiagnosticError` if the model is not such a folder or the name is unknown."""
    resolved_isa(arguments.isa)  # an unknown name fails before the work begins
    given = parse_shapes(arguments.shape)
    shapes = _completed(arguments.model, given)
    found = explain(arguments.model, arguments.node, isa=arguments.isa, threads=arguments.threads, shapes=shapes)
    is_assumed = bool(found.kernels) and shapes != given
    assumed = f"  sizes that are open are taken as one sample has them: {shapes_text(shapes)}\n" if is_assumed else ""
    session.emit({**plain(found), "shapes": shapes}, lambda: found.text() + assumed)
    return 0


def _completed(model: str, given: Shapes) -> Shapes:
    """Returns `given`, and shapes for one sample of inputs with a dynamic batch size."""
    function = function_of(load(QuantizedFolder.open(model).module), "main")
    check_known_inputs(function, given)
    try:
        return with_one_sample(function, given)
    except DiagnosticError:  # other dimensions are dynamic: the explanation reports this instead of kernels
        return given
