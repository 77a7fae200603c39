"""Private API of numba, xDSL, llvmlite and argparse: where the tree uses it, counted over the syntax trees.

Three kinds count: an attribute that begins with `_` and that the tree does not define, a method that overrides one that
begins with `_`, and an attribute that is set on a foreign module, class or object. A count may fall, never rise.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "qmlir"
LIBRARIES = ("numba", "llvmlite", "argparse", "xdsl")

FAST = "targets/cpu/runtime/operations/fast.py"

ALLOWED: Mapping[str, Mapping[str, int]] = {
    "numba": {FAST: 8},
    "llvmlite": {},
    "argparse": {},
    # `_get_op_by_name`, overridden to read the names that operations had in qmlir 0.1: a context of xDSL has no aliases
    # of names, and no public method of the parser is called for the name of an operation.
    "xdsl": {"text/parsing.py": 1},
}
"""For each library, the number of uses in each file."""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


@cache
def _trees() -> Mapping[str, ast.Module]:
    paths = (path for path in sorted(ROOT.rglob("*.py")) if "templates" not in path.parts)
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def _defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module defines: functions, classes, variables, fields, attributes that are set on `self`."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self")):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case _:
                pass


@cache
def _own_names() -> frozenset[str]:
    return frozenset(name for tree in _trees().values() for name in _defined(tree))


def _imports(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """The names that a module imports from the libraries: the module of each, and its name there."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.split(".")[0] in LIBRARIES:
                found |= {each.asname or each.name: (module, each.name) for each in node.names}
            case ast.Import():
                for each in node.names:
                    if each.name.split(".")[0] in LIBRARIES:
                        found[each.asname or each.name.split(".")[0]] = each.name, ""
            case _:
                pass
    return found


def _library_of(tree: ast.Module) -> str:
    """The library that a use belongs to, where the syntax does not say: the first one that the module imports."""
    modules = {module.split(".")[0] for module, _ in _imports(tree).values()}
    return next((each for each in LIBRARIES if each in modules), "")


def _has_method(module: str, path: str, name: str) -> bool:
    found: object = import_module(module)
    for each in filter(None, path.split(".")):
        found = getattr(found, each, None)
    return hasattr(found, name)


def _uses(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The library and the line of each use."""
    known, library = _imports(tree), _library_of(tree)
    # Nearly every module imports xDSL, and few the others: there a name of another class of the tree counts, too.
    own = _own_names() if library == "xdsl" else frozenset(_defined(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if _is_private(name) and name not in own and known:
                yield library, node.lineno
            case ast.Attribute(ctx=ast.Store(), value=ast.Name(id=owner)) if owner in known:
                yield known[owner][0].split(".")[0], node.lineno
            case ast.Attribute(attr="__dict__", value=ast.Name(id=owner)) if owner in known:
                yield known[owner][0].split(".")[0], node.lineno
            case ast.ClassDef():
                for base in node.bases:
                    first, _, rest = ast.unparse(base).partition(".")
                    if first in known:
                        module, name = known[first]
                        for method in node.body:
                            is_method = isinstance(method, ast.FunctionDef) and _is_private(method.name)
                            if is_method and _has_method(module, f"{name}.{rest}".strip("."), method.name):
                                yield module.split(".")[0], method.lineno
            case _:
                pass


def _counts() -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {library: Counter() for library in LIBRARIES}
    for path, tree in _trees().items():
        for library, _ in _uses(tree):
            found[library][path] += 1
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_use_is_added(library: str) -> None:
    allowed = ALLOWED[library]
    assert {path: count for path, count in _counts()[library].items() if count > allowed.get(path, 0)} == {}


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("from numba import config\nconfig.CACHE_DIR = ''", "numba"),
        ("import numba\nnumba.njit()._cache_that_is_numbas", "numba"),
        ("from xdsl.parser import Parser\nclass P(Parser):\n    def _resume_from(self): ...", "xdsl"),
        ("import argparse\nargparse.ArgumentParser()._option_string_actions", "argparse"),
        ("from numba import types\ntypes.__dict__", "numba"),
    ],
)
def test_each_kind_is_found(text: str, library: str) -> None:
    assert [found for found, _ in _uses(ast.parse(text))] == [library]


@pytest.mark.parametrize(
    "text",
    ["from xdsl.ir import Block\nBlock().ops", "class A:\n    def _f(self): ...", "import numba\nnumba.types.int64"],
)
def test_public_api_is_not(text: str) -> None:
    assert not list(_uses(ast.parse(text)))
