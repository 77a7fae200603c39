"""The registry of everything that qmlir's own source tree and other packages contribute.

Contributions are declared as rows of text, `name: "module:object"`, whose objects are imported on first use. `tree.py`
contains the rows of the tree, `contribution.py` defines the fields that a package can fill, and `package.py` finds
packages by their entry points. The first owner of a name keeps it: the tree, then xDSL, then packages in alphabetical
order. A later row with the same name is ignored with a warning.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from qmlir.registry.contribution import FIELDS, INTERFACE, Contribution, RowForm
from qmlir.registry.faults import RAISED, PackageError, one_line, place_in, place_of, place_of_row
from qmlir.registry.package import (
    CONTRIBUTIONS_GROUP,
    ONNX_EXPORTERS_GROUP,
    ONNX_IMPORTERS_GROUP,
    OURS,
    THE_TREE,
    UNIVERSE_GROUP,
    UPSTREAM,
    Guarded,
    Hook,
    Package,
    asked_about,
    at_code,
    bracketed,
    code_digest,
    continue_with,
    in_package,
    is_outside,
    load,
    name_of,
    of_package,
    outside,
    package_of,
    packages,
    plug_ins,
    plugged,
    plugged_code,
    plugin,
    sources_digest,
)
from qmlir.registry.tree import DIALECTS, GUARDS, TREE, UPSTREAM_REPLACED

__all__ = [
    "CONTRIBUTIONS_GROUP", "DIALECTS", "INTERFACE", "ONNX_EXPORTERS_GROUP", "ONNX_IMPORTERS_GROUP", "OURS", "PASSES",
    "TREE", "UNIVERSE", "UNIVERSE_GROUP", "UPSTREAM", "UPSTREAM_REPLACED", "Contribution", "Hook", "Named", "Package",
    "PackageError", "asked_about", "at_code", "bracketed", "code_digest", "continue_with", "contributed_names",
    "decompositions", "efforts", "evaluators", "gradients", "in_package", "inserted_passes", "is_outside", "keys_of",
    "load", "look_up_all", "lowerings", "name_of", "named", "of_package", "onnx_exporters", "onnx_importers", "outside",
    "package_of", "packages", "paddings", "pass_factories", "pattern_hooks", "patterns", "plug_ins", "plugged",
    "plugged_code", "plugin", "service", "sources_digest", "table",
]  # fmt: skip

_Rows = Iterable[tuple[Package, str]]


def _named_as(key: object) -> str:
    """Returns the name of a table key for messages; for an operation class, the name of the operation."""
    name = getattr(key, "name", key)
    return name if isinstance(name, str) else repr(key)


def keys_of(package: Package, row: str) -> list[str]:
    """Returns the keys of the table that a package's row refers to: ONNX operators, or operation names."""
    found: Mapping[object, object] = package.load(row, Mapping) or {}
    return [_named_as(key) for key in found]


def _merged(field: str, rows: _Rows) -> Mapping[Any, Any]:
    """Merges the tables of `rows`. If tables differ in the value of a key, the first wins and a warning is issued.

    Functions of external packages are guarded: their results are checked at each call (`GUARDS`).
    """
    merged: dict[Any, Any] = {}
    sources: dict[Any, tuple[Package, str]] = {}
    for package, row in rows:
        found: Mapping[Any, Any] = package.load(row, Mapping) or {}
        taken: dict[Package, list[str]] = {}
        for key, value in found.items():
            if key not in merged:
                merged[key], sources[key] = value, (package, row)
            elif merged[key] is not value:
                taken.setdefault(sources[key][0], []).append(_named_as(key))
        for owner, keys in taken.items():
            has = "it" if len(keys) == 1 else "them"
            package.warn(f"{', '.join(map(repr, keys))} of '{row}' ({field})", f"package '{owner.title}' has {has}")
    if field in GUARDS:
        for key, (package, row) in sources.items():
            if package.name not in (OURS, UPSTREAM):
                hook = Hook(package, row, merged[key])
                guarded = load(GUARDS[field])(hook)
                merged[key] = Guarded(hook, guarded) if isinstance(guarded, FunctionType) else guarded
    return merged


_Object = TypeVar("_Object")


@dataclass(frozen=True)
class Named:
    """A named contribution of a package, loaded on first use."""

    kind: str
    name: str
    row: str
    package: Package

    def error(self, message: str, function: object = None) -> PackageError:
        """Returns an error about this row, with the location of `function`, or of the row's object by default."""
        where = (place_of(function) if function is not None else "") or self._position()
        return self._error(message, "" if self.package.name == OURS else bracketed(where))

    def _error(self, message: str, where: str) -> PackageError:
        return PackageError(f"{self.kind} '{self.name}' of package '{self.package.title}': {message}{where}")

    def _position(self) -> str:
        module, _, name = self.row.partition(":")
        return place_of(getattr(sys.modules.get(module), name, None)) or place_of_row(self.row)

    def _object(self) -> Any:
        try:
            return load(self.row)
        except (Exception, SystemExit) as error:  # importing a package may raise anything
            where = self.package.failed_at(error, self.row)
            raise self._error(f"it cannot be loaded: {one_line(error)}", where) from error

    def function(self) -> Callable[..., Any]:
        """Returns the function of the row. Raises `PackageError`, which names the package, if it isn't callable."""
        found = self._object()
        if not callable(found):
            raise self.error(f"'{self.row}' must be a function, but got {type(found).__name__}")
        return found

    def call(self, function: Callable[..., _Object], *arguments: Any, **options: Any) -> _Object:
        """Calls a function of this row. Turns any exception in code of another package into a `PackageError`."""
        try:
            return function(*arguments, **options)
        except RAISED as error:
            if self.package.name == OURS:
                raise
            where = place_in(error, self.package.has) or self._position()
            raise self._error(f"it raises {one_line(error)}", bracketed(where)) from error

    def load(self, kind: type[_Object]) -> _Object:
        """Loads the object of the row. Raises `PackageError` if that fails or the object isn't a `kind`."""
        found = self._object()
        if not isinstance(found, kind):
            raise self.error(f"'{self.row}' must be of type {kind.__name__}, but got {type(found).__name__}")
        return found


def look_up_all() -> None:
    """Loads every contribution of all packages, so that their faults are reported at once."""
    dialects = {name for package in packages() for name, _ in package.rows("evaluators")}
    tables = {name for package in packages() for name, _ in package.rows("tables")}
    sets = {name for package in packages() for name, _ in package.rows("patterns")}
    for look_up, names in ((evaluators, dialects), (table, tables), (patterns, sets)):
        for name in sorted(names):
            look_up(name)
    for look_up_whole in (decompositions, gradients, lowerings, paddings, onnx_importers, onnx_exporters, efforts):
        look_up_whole()
    for field, room in FIELDS.items():
        if room.form is RowForm.NAMES and field not in GUARDS:
            for each in named(field).values():
                each.package.load(each.row)
    named("pdl")


# Lookups are cached per list of packages, so that a plug-in of one run doesn't affect the next one.


@cache
def _named(field: str, among: tuple[Package, ...]) -> Mapping[str, Named]:
    found: dict[str, Named] = {}
    for package in among:
        for name, row in package.rows(field):
            known = found.setdefault(name, Named(field.removesuffix("s"), name, row, package))
            if known.row != row:
                package.warn(f"{known.kind} '{name}'", f"package '{known.package.title}' already defines this name")
    return found


def named(field: str) -> Mapping[str, Named]:
    """Returns the rows of a field such as `targets` or `variants` by name, without loading them."""
    return _named(field, packages())


def _pattern_rows(package: Package, set_name: str | None = None) -> Iterator[Hook]:
    """Yields the patterns of a package, of one set or of all. Other objects are skipped with a warning."""
    for name, row in package.rows("patterns"):
        if set_name not in (None, name):
            continue
        for pattern in package.load(row, (tuple, list)) or ():
            if callable(getattr(pattern, "match_and_rewrite", None)):
                yield Hook(package, row, pattern)
            else:
                what = f"a value of type {type(pattern).__name__} in '{row}'"
                package.warn(what, f"it is not a RewritePattern{bracketed(place_of_row(row))}")


@cache
def _patterns(set_name: str, among: tuple[Package, ...]) -> tuple[Any, ...]:
    return tuple(hook.function for package in among for hook in _pattern_rows(package, set_name))


def patterns(set_name: str) -> tuple[Any, ...]:
    """Returns the rewrite patterns of a set, collected from the tree and all packages."""
    return _patterns(set_name, packages())


@cache
def _pattern_hooks(among: tuple[Package, ...]) -> Mapping[int, Hook]:
    return {id(hook.function): hook for package in among for hook in _pattern_rows(package)}


def pattern_hooks() -> Mapping[int, Hook]:
    """Returns the patterns that external packages add to pattern sets, by their `id`."""
    return _pattern_hooks(outside())


@cache
def _tables(field: str, name: str | None, among: tuple[Package, ...]) -> Mapping[Any, Any]:
    rows = ((package, *row) for package in among for row in package.rows(field))
    return _merged(field, ((package, row) for package, key, row in rows if name is None or key == name))


def evaluators(dialect: str) -> Mapping[type, Callable[..., Any]]:
    """Returns the evaluators of `dialect`: a NumPy function for each operation class."""
    return _tables("evaluators", dialect, packages())


def decompositions() -> Mapping[type, Callable[..., Any]]:
    """Returns all decompositions: for each composite operation class, the function that builds its components."""
    return _tables("decompositions", None, packages())


def gradients() -> Mapping[type, Callable[..., Any]]:
    """Returns all differentiation rules, by operation class."""
    return _tables("gradients", None, packages())


def lowerings() -> Mapping[type, Callable[..., Any]]:
    """Returns all lowerings to the integer level, by operation class."""
    return _tables("lowerings", None, packages())


def paddings() -> Mapping[type, Callable[..., Any]]:
    """Returns all padding rules, by operation class or base class."""
    return _tables("paddings", None, packages())


def table(name: str) -> Mapping[Any, Any]:
    """Returns the table `name`, merged from the tree and all packages. Its keys are usually operation classes."""
    return _tables("tables", name, packages())


def onnx_importers() -> Mapping[str, Callable[..., Any]]:
    """Returns all importers by ONNX operator, such as `Relu`, or `com.example::Relu` in another domain."""
    return _tables("importers", None, packages())


def onnx_exporters() -> Mapping[type, Callable[..., Any]]:
    """Returns all ONNX exporters, by operation class."""
    return _tables("exporters", None, packages())


def efforts() -> Mapping[int, LiteralString]:
    """Returns the pipeline text of each level of accuracy recovery (`--effort`), by level."""
    return _tables("efforts", None, packages())


def service(name: str) -> Any:
    """Returns the object that a package provides as the service `name`, or `None` if no package provides it."""
    found = named("services").get(name)
    return None if found is None else found.load(object)


def inserted_passes(point: str) -> Iterator[tuple[Package, str]]:
    """Returns the passes that packages insert at a point of a named pipeline, each as pipeline text."""
    return ((package, text) for package in packages() for name, text in package.rows("stages") if name == point)


def contributed_names() -> Mapping[str, str]:
    """Returns the rows of the names that extensions and packages add to the module `qmlir`, by name."""
    return {name: each.row for name, each in named("api").items()}


PASSES: Mapping[str, str] = dict(THE_TREE.rows("passes"))
"""The row of each pass of the tree, by name."""


def pass_factories() -> dict[str, Callable[[], Any]]:
    """Returns, for each pass of the tree, a function that imports and returns the pass class."""
    return {name: partial(load, row) for name, row in PASSES.items()}


@cache
def _universe() -> Any:
    return import_module("xdsl.universe").Universe(
        all_dialects={name: partial(load, row) for name, row in DIALECTS.items()},
        all_passes={name: factory for name, factory in pass_factories().items() if name not in UPSTREAM_REPLACED},
    )


if TYPE_CHECKING:
    from xdsl.universe import Universe

    UNIVERSE: Universe
    """The dialects and passes that xDSL's tools see through the `xdsl.universe` entry point; imported on first use."""
else:

    def __getattr__(name: str) -> Any:
        if name != "UNIVERSE":
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        return _universe()
