"""`qmlir explain`: why a node of a quantized model has its types, what changed it, and which kernel runs it."""

import argparse

from qmlir.api import explain
from qmlir.inspection.wording import explanation_text
from qmlir.specialization.options import parse_shapes
from qmlir.tools.arguments import add_isa, add_model, add_shapes, add_threads
from qmlir.tools.frame import Command, Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `qmlir explain` takes."""
    add_model(parser, help="a folder that qmlir quantize wrote, or the .q.mlir in it")
    parser.add_argument(
        "node", metavar="NODE", help="a node of the model, a part of one (fc1/matmul), or a tensor, an input, a weight"
    )
    add_isa(parser)
    add_threads(parser)
    add_shapes(parser)


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Print why the node is what it is. Raises `DiagnosticError` for what is no such folder, and for unknown names."""
    found = explain(
        arguments.model,
        arguments.node,
        isa=arguments.isa,
        threads=arguments.threads,
        shapes=parse_shapes(arguments.shape),
    )
    session.emit(found, lambda: explanation_text(found))
    return 0


COMMAND = Command("explain", "say why a node is quantized as it is, and what became of it", add_arguments, run)
