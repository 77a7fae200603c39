"""Imports a PyTorch module that is in memory. Requires torch."""

import io
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.extensions.pt2.files import imported
from qmlir.ir.diagnostics import text_error

if find_spec("torch") is None:
    raise ImportError("qmlir.torch requires PyTorch; run pip install 'qmlir[torch]'")
torch: Any = import_module("torch")


def export(module: Any, example_inputs: Sequence[Any], *, dynamic_shapes: Any = None) -> ModuleOp:
    """Exports a PyTorch module with `torch.export.export`, and returns its verified module.

    Args:
        module: The module, in `eval()` mode.
        example_inputs: The arguments of a call, which determine the sizes of all dimensions that are not dynamic.
        dynamic_shapes: The dynamic dimensions, as `torch.export.export` accepts them.

    Returns:
        A module that every function of qmlir accepts.

    Raises:
        DiagnosticError: The module is in training mode, or contains an unsupported operator; the message lists all.

    Example:
        >>> module = qmlir.torch.export(torch.nn.Linear(4, 2).eval(), (torch.zeros(1, 4),))
    """
    if module.training:
        raise text_error(f"{type(module).__name__} is in training mode; call eval() first")
    program = torch.export.export(module, tuple(example_inputs), dynamic_shapes=dynamic_shapes)
    content = io.BytesIO()
    torch.export.save(program, content)
    return imported(content.getvalue(), type(module).__name__, {})
