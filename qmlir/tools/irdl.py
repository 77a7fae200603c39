"""Loading of dialects from IRDL files, which define operations and types in text form.

xDSL's interpreter of IRDL loads all of xDSL's interpreters, so tools import this only if a file is given.
"""

from pathlib import Path

from xdsl.dialects.irdl import DialectOp
from xdsl.interpreters.irdl import make_dialect
from xdsl.universe import Universe

from qmlir.environment import Environment
from qmlir.ir.diagnostics import text_error
from qmlir.registry import Package
from qmlir.text.parsing import load_module


def load_irdl(environment: Environment, path: Path) -> None:
    """Adds the dialects that an IRDL file defines to `environment`. Raises `DiagnosticError` if it defines none."""
    module = load_module(environment.new_context(), path)
    dialects = [make_dialect(op) for op in module.walk() if isinstance(op, DialectOp)]
    if not dialects:
        raise text_error(f"'{path}' does not define a dialect")
    environment.add(Package(str(path)), Universe(all_dialects={each.name: lambda each=each: each for each in dialects}))
