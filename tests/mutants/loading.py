"""Modules of the tree loaded in another form: with a mutant in them, or with marks that record what is executed."""

import ast
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType

from tests.mutants.mutations import ROOT, Mutant, applied

_MARK = "__executed__"


def module_name(path: str) -> str:
    """The name under which a path of the tree is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class _Loader(SourceFileLoader):
    """Compiles a tree in place of the file, and neither reads nor writes compiled files."""

    def __init__(self, path: str, tree: Callable[[], ast.Module], names: dict[str, object]):
        super().__init__(module_name(path), str(ROOT / path))
        self._tree, self._names = tree, names

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._tree(), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._names)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, loaders: dict[str, _Loader]):
        self._loaders = loaders

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        loader = self._loaders.get(fullname)
        return None if loader is None else spec_from_file_location(fullname, loader.path, loader=loader)


def _install(loaders: dict[str, _Loader]) -> None:
    early = sorted(loaders.keys() & sys.modules.keys())
    assert not early, f"imported before: {early}"
    sys.meta_path.insert(0, _Finder(loaders))


def load_mutant(mutant: Mutant) -> None:
    """Let the next import of its module find the mutant."""
    loader = _Loader(mutant.path, lambda: applied(mutant), {})
    _install({module_name(mutant.path): loader})


# --- What is executed -------------------------------------------------------------------------------------------------


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements below a node that need not run where it does."""
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list) and not isinstance(node, ast.ClassDef | ast.Module | ast.With | ast.Try):
            yield body


def blocks_of(path: str, tree: ast.Module) -> Iterator[tuple[str, list[ast.stmt], ast.AST]]:
    """The blocks of a module: name, statements, and the node that holds them. Names outlast changes elsewhere."""

    def below(node: ast.AST, function: str) -> Iterator[tuple[str, list[ast.stmt], ast.AST]]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        for body in _bodies(node):
            if body and isinstance(body[0], ast.stmt) and function:
                numbers[function] = numbers.get(function, -1) + 1
                yield f"{path}:{function}:{numbers[function]}", body, node
        for child in ast.iter_child_nodes(node):
            yield from below(child, function)

    numbers: dict[str, int] = {}
    yield from below(tree, "")


def _marked(path: str) -> ast.Module:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for name, body, node in list(blocks_of(path, tree)):
        mark = ast.Expr(ast.Call(ast.Name(_MARK, ast.Load()), [ast.Constant(name)], []))
        docstring = isinstance(node, ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None
        body.insert(int(docstring and body is node.body), ast.copy_location(mark, body[0]))
    return ast.fix_missing_locations(tree)


def load_marked(paths: list[str], executed: Callable[[str], object]) -> None:
    """Let the next imports of modules find them with calls of `executed`, which is given the name of each block."""
    _install({module_name(path): _Loader(path, lambda path=path: _marked(path), {_MARK: executed}) for path in paths})


def block_around(mutant: Mutant) -> str:
    """The innermost block that holds a mutant's line; the path alone where that is the module's own."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    found, smallest = mutant.path, sys.maxsize
    for name, body, _ in blocks_of(mutant.path, tree):
        first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        if first <= mutant.line <= last and last - first < smallest:
            found, smallest = name, last - first
    return found
