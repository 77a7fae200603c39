"""Lazy loading of package attributes (PEP 562), from a table that type checkers and other tools can read.

    if TYPE_CHECKING:
        from qmlir.workflows.loading import load as load
    else:
        __getattr__, __dir__ = attached(__name__)

The table is the block under `if TYPE_CHECKING`. Type checkers, editors and import-linter see ordinary imports there,
and `attached` parses the same lines at run time. (The package `lazy_loader` reads its table from a stub file instead,
in which import-linter finds no imports.)
"""

import ast
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import find_spec
from typing import Any

from qmlir.ir.gc_control import paused_collection


@cache
def _table(package: str) -> Mapping[str, tuple[str, str]]:
    """Returns the names that `package` imports for type checkers, each with its module and its name there."""
    spec = find_spec(package)
    loader = None if spec is None else spec.loader
    source = (loader.get_source(package) if isinstance(loader, InspectLoader) else None) or ""
    late = [
        each
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for each in block.body
    ]
    imports = [each for each in late if isinstance(each, ast.ImportFrom) and each.module]
    return {row.asname or row.name: (each.module or "", row.name) for each in imports for row in each.names}


CONTRIBUTED = "contributed_names"
"""The table entry with this name is a function that returns further names, each mapped to its `module:object`."""


def _more(package: str) -> Mapping[str, tuple[str, str]]:
    """Returns the names that extensions and packages add, which only the registry knows, as some may be left out."""
    if CONTRIBUTED not in (table := _table(package)):
        return {}
    module, own = table[CONTRIBUTED]
    rows: Mapping[str, str] = getattr(import_module(module), own)()
    return {name: (module, own) for name, row in rows.items() for module, _, own in (row.partition(":"),)}


def attached(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for `package`.

    Its `__all__` then holds the names in its table and the contributed names. Imports from `<package>.extensions` in
    the table are for type checkers only.
    """
    extensions = f"{package}.extensions."

    def core() -> Mapping[str, tuple[str, str]]:
        return {name: row for name, row in _table(package).items() if not row[0].startswith(extensions)}

    def known() -> set[str]:
        return {*core(), *_more(package)} - {CONTRIBUTED}

    def find(name: str) -> Any:
        if name == "__all__":
            return sorted(known())
        row = core().get(name)
        if row is None and find_spec(f"{package}.{name}") is not None:
            # `from package import module` asks for the attribute first, and imports the module after this error. It
            # must not load other packages, which may be in the middle of their own imports.
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        if row is None and not name.startswith("__"):
            row = _more(package).get(name)
        if row is None and name in _table(package):
            extension = _table(package)[name][0].removeprefix(extensions).partition(".")[0]
            raise AttributeError(f"'{package}.{name}' requires the extension '{extension}', which is left out")
        if row is None:
            near = [] if name.startswith("_") else get_close_matches(name, known(), 1)
            hint = "".join(f"; did you mean '{each}'?" for each in near)
            raise AttributeError(f"module '{package}' has no attribute '{name}'{hint}")
        with paused_collection():
            return getattr(import_module(row[0]), row[1])

    def names() -> list[str]:
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*known(), *own})

    return find, names
