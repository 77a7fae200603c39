"""The reference pages of the documentation, generated from the code: `python -m docs.generator docs/reference`.

Dialects and operations from their definitions, passes, pipelines and extension points from theirs, commands from
their parsers, the Python API from its docstrings, messages from the code that emits them, and the matrix of operations
from the tables that import, infer, interpret, quantize and lower. A test holds the pages equal.
"""

from pathlib import Path

from docs.generator import commands, diagnostics, dialects, extension, operations, passes, pdl, python, targets


def pages(tests: Path) -> dict[str, str]:
    """Every page by its path inside `docs/reference/`.

    `tests` is the folder of the tests: their FileCheck files have an example of each operation. Raises
    `DiagnosticError` where an operation has none, or where a hole of the matrix has no reason, or a reason no hole, and
    if the code contains no message that the page of diagnostics names.
    """
    return {
        **dialects.pages(tests),
        "passes.md": passes.page(),
        "pdl.md": pdl.page(),
        "targets.md": targets.page(),
        **commands.pages(),
        "python.md": python.page(),
        "diagnostics.md": diagnostics.page(),
        "extension.md": extension.page(),
        "operations.md": operations.page(tests),
    }
