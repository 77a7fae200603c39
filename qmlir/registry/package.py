"""The contributing packages: the tree, xDSL, installed packages, and plug-ins loaded for one run.

Installed packages are found by their entry points. A package that can't be imported, or that was built for an
incompatible version, is ignored with one warning; so is a row that fails to load later. `QMLIR_WITHOUT` names packages
and extensions of the tree to ignore.
"""

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points, version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from qmlir.registry.contribution import FIELDS, Contribution, RowForm, refusal
from qmlir.registry.faults import PackageError, frames, one_line, place_in, place_of, place_of_row, say, silence
from qmlir.registry.tree import EXTENSIONS, TREE

UNIVERSE_GROUP = "xdsl.universe"
CONTRIBUTIONS_GROUP = "qmlir.contributions"
ONNX_IMPORTERS_GROUP = "qmlir.onnx_importers"
ONNX_EXPORTERS_GROUP = "qmlir.onnx_exporters"

GROUPS: Mapping[str, str] = {
    UNIVERSE_GROUP: "an xDSL `Universe`: dialects and passes, which xDSL's own tools use too",
    CONTRIBUTIONS_GROUP: "a `Contribution`: everything else",
    ONNX_IMPORTERS_GROUP: "a table from ONNX operator to its importer, as `Contribution.importers` names them",
    ONNX_EXPORTERS_GROUP: "a table from operation class to its exporter, as `Contribution.exporters` names them",
}
"""The entry point groups, each with a description of its entry points."""

WITHOUT_VARIABLE = "QMLIR_WITHOUT"
"""The environment variable that names packages and extensions to ignore, separated by commas."""

_Asked = TypeVar("_Asked")

OURS = "qmlir"
UPSTREAM = "xdsl"


def bracketed(where: str) -> str:
    """Formats a location as the end of a message, such as ` (fancy.py:12)`; empty if the location is unknown."""
    return f" ({where})" if where else ""


@dataclass(frozen=True, eq=False)
class Package:
    """A contributing package and its contributions."""

    name: str
    version: str = ""
    universes: Sequence[str] = ()
    contributions: Sequence[Contribution] = ()
    requires: str = ""
    """The package's requirement on qmlir, such as `qmlir<0.2`, shown in the message if it fails to load."""

    home: str = ""
    """For a plug-in, the top-level Python package that it is loaded from."""

    faults: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """The messages about faults reported so far, by key; each key is reported once."""

    @property
    def title(self) -> str:
        """The name and version of the package; only the name for the compiler itself and for xDSL."""
        return self.name if not self.version or self.name in (OURS, UPSTREAM) else f"{self.name} {self.version}"

    def rows(self, name: str) -> Iterator[tuple[str, str]]:
        """Yields the name and text of each row in a field of its contributions."""
        return (row for each in self.contributions for row in each.rows(name))

    def contents(self) -> Mapping[str, Sequence[str]]:
        """Returns the names in each non-empty field of its contributions, or the rows if they have no names."""
        found = {name: list(dict.fromkeys(key or row for key, row in self.rows(name))) for name in FIELDS}
        return {name: keys for name, keys in found.items() if keys}

    @cached_property
    def modules(self) -> frozenset[str]:
        """The top-level Python packages that its rows name, and the one that a plug-in is loaded from."""
        rows = (row for name, room in FIELDS.items() if room.form is not RowForm.TEXTS for _, row in self.rows(name))
        homes = (self.home,) if self.home else ()
        return frozenset(row.partition(":")[0].partition(".")[0] for row in (*rows, *self.universes, *homes))

    def has(self, module: str) -> bool:
        """Returns True if a Python module is part of this package."""
        return module.partition(".")[0] in self.modules

    def at(self, where: str) -> str:
        """Returns the end of a message about code of this package, such as ` (in package 'fancy 1.0', fancy.py:12)`."""
        return f" (in package '{self.title}'{f', {where}' if where else ''})"

    def failed_at(self, error: BaseException, row: str = "") -> str:
        """Returns the location of a failed import as the end of a message, such as ` (fancy.py:3)`.

        This is the line that raised `error`, or else the line of the `Contribution` that contains `row`.
        """
        named = (
            each.position
            for each in self.contributions
            for name in FIELDS
            for _, text in each.rows(name)
            if text == row
        )
        return bracketed(place_in(error, self.has) or next(named, ""))

    def warn(self, what: str, why: str, once: str = "") -> None:
        """Warns that `what` of this package is ignored, and why. Warns once per key `once`, by default the message."""
        message = f"left out {what}: {why}"
        if (key := once or message) not in self.faults:
            self.faults[key] = message
            say(f"package '{self.title}': {message}")

    def load(self, row: str, kinds: type | tuple[type, ...] = object) -> Any:
        """Loads the object of a row. Returns `None`, with a warning, if that fails or the object isn't of type `kinds`.

        Rows of the tree must load: their errors are raised.
        """
        if self.name == OURS:
            return load(row)
        try:
            found = load(row)
        except (Exception, SystemExit) as error:  # a failing import must not affect other packages
            why = one_line(error)
            asked = f" (it requires {self.requires}, this is {version(OURS)})" if self.requires else ""
            self.warn(f"'{row}'", f"{why}{self.failed_at(error, row)}{asked}", once=why)
            return None
        if not isinstance(found, kinds):
            names = " or ".join(each.__name__ for each in (kinds if isinstance(kinds, tuple) else (kinds,)))
            where = bracketed(place_of_row(row))
            self.warn(f"'{row}'", f"it must be {names}, but got {type(found).__name__}{where}")
            return None
        return found


def load(row: str) -> Any:
    """Imports and returns the object that a row `module:object` names."""
    module, _, name = row.partition(":")
    return getattr(import_module(module), name)


def _normal(name: str) -> str:
    """Returns a package name as pip normalizes it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _is_wanted(name: str) -> bool:
    return name == UPSTREAM or _normal(name) not in map(_normal, os.environ.get(WITHOUT_VARIABLE, "").split(","))


_EXTENSIONS: Iterator[Contribution] = (load(row) for name, row in EXTENSIONS.items() if _is_wanted(name))

THE_TREE = Package(OURS, contributions=(TREE, *_EXTENSIONS), universes=("qmlir.registry:UNIVERSE",))
"""The package of the tree itself: its core and its extensions."""


def _rows(points: EntryPoints, group: str) -> list[str]:
    return [point.value for point in sorted(points.select(group=group), key=lambda point: point.name)]


def _required(points: EntryPoints) -> str:
    """Returns the requirement on qmlir of the package of these entry points; empty if it has none."""
    asked = (each for point in points if point.dist is not None for each in point.dist.requires or ())
    parts = (each.partition(";")[0].replace(" ", "") for each in asked)
    return next((each for each in parts if re.match(rf"{OURS}[<>=!~(]", each)), "")


def _installed_package(name: str, release: str, points: EntryPoints) -> Package:
    """Returns an installed package, without contributions and with a warning if it was built for another version."""
    universes = tuple(_rows(points, UNIVERSE_GROUP))
    if name == UPSTREAM:
        return Package(name, release, universes)
    package = Package(name, release, universes, requires=_required(points))
    contributions: list[Contribution] = []
    for row in _rows(points, CONTRIBUTIONS_GROUP):
        found = package.load(row, Contribution)
        if found is None:
            continue
        if why := refusal(found.built_for):
            package.warn("all of it", why)
            return replace(package, universes=())
        contributions.append(found)
    tables = Contribution(
        importers=tuple(_rows(points, ONNX_IMPORTERS_GROUP)), exporters=tuple(_rows(points, ONNX_EXPORTERS_GROUP))
    )
    return replace(package, contributions=(*contributions, tables))


def _owner(point: EntryPoint) -> tuple[str, str]:
    """Returns the name and version of the package of an entry point; by default the name of the entry point."""
    about = point.dist and point.dist.metadata  # each request parses a file
    return (about["Name"], about["Version"]) if about and "Name" in about else (point.name, "")


@cache
def installed() -> tuple[Package, ...]:
    """Returns xDSL, then the other installed packages in alphabetical order."""
    found: dict[tuple[str, str], list[EntryPoint]] = {}
    everywhere = entry_points()
    for group in GROUPS:
        for point in everywhere.select(group=group):
            if (owner := _owner(point))[0] != OURS and _is_wanted(owner[0]):
                found.setdefault(owner, []).append(point)
    order = sorted(found, key=lambda owner: (owner[0] != UPSTREAM, owner))
    return tuple(_installed_package(*owner, EntryPoints(found[owner])) for owner in order)


@cache
def _always() -> tuple[Package, ...]:
    return (THE_TREE, *installed())


_plugged: tuple[Package, ...] = ()


def packages() -> tuple[Package, ...]:
    """Returns the tree, xDSL, the installed packages and the plug-ins of this run, in order of precedence."""
    return (*_always(), *_plugged) if _plugged else _always()


def outside() -> tuple[Package, ...]:
    """Returns the external packages: all except the tree and xDSL."""
    return tuple(package for package in packages() if package.name not in (OURS, UPSTREAM))


def package_of(module: str) -> Package | None:
    """Returns the contributing package that a Python module belongs to, or `None`."""
    outermost = module.partition(".")[0]
    return next((package for package in packages() if outermost in package.modules), None)


def in_package(error: BaseException) -> str:
    """Returns the end of a message, ` (in package 'fancy 1.0', fancy.py:12)`, if an external package raised `error`."""
    found = frames(error.__traceback__)
    owned = ((owner, where) for module, where, _ in found if (owner := package_of(module)) in outside())
    owner, where = next(owned, (None, ""))
    return "" if owner is None else owner.at(where)


def of_package(function: Any) -> str:
    """Returns the end of a message, ` (in package 'fancy 1.0', fancy.py:12)`, for a function of an external package."""
    if isinstance(function, Guarded):
        return function.hook.at()
    owner = package_of(getattr(function, "__module__", None) or "")
    return "" if owner is None or owner not in outside() else owner.at(place_of(function))


@dataclass(frozen=True)
class Hook:
    """A function in a table of an external package."""

    package: Package
    row: str
    """The row that names the table."""

    function: Any

    def at(self, error: BaseException | None = None) -> str:
        """Returns the end of a message that names the package and the line that raised `error` or defines the hook."""
        raised = "" if error is None else place_in(error, self.package.has)
        return self.package.at(raised or place_of(self.function) or place_of_row(self.row))


@dataclass(frozen=True)
class Guarded:
    """The function of a hook, wrapped so that its results are checked."""

    hook: Hook
    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def name_of(function: Any) -> str:
    """Returns the name of a function for messages."""
    function = function.hook.function if isinstance(function, Guarded) else function
    return getattr(function, "__qualname__", None) or repr(function)


def is_outside(owner: type) -> bool:
    """Returns True if a class belongs to an external package."""
    return package_of(owner.__module__) in outside()


def asked_about(error: BaseException, kind: type[_Asked]) -> _Asked | None:
    """Returns the argument of class `kind`, such as an operation, of the external function that raised `error`."""
    for module, _, frame in frames(error.__traceback__):
        if package_of(module) not in outside():
            continue
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS)]
        given: list[Any] = [frame.f_locals.get(name) for name in names]
        if len(names) > code.co_argcount:
            given.extend(cast(tuple[Any, ...], given.pop()))  # the elements of `*arguments`
        if (found := next((each for each in given if isinstance(each, kind)), None)) is not None:
            return found
    return None


def at_code(function: Any, error: BaseException | None = None) -> str:
    """Returns the end of a message about a function: its package, and the location that raised `error` or defines it.

    For code of an unknown package, it has only the location; for code of this tree, it is empty.
    """
    named = (in_package(error) if error is not None else "") or of_package(function)
    return named or bracketed(place_of(function))


def module_at(text: str) -> Any:
    """Imports a module, given its name or the path of a Python file."""
    if not text.endswith(".py"):
        return import_module(text)
    path = Path(text).resolve()
    name = path.stem
    if (there := find_spec(name)) is not None:
        if there.origin is not None and Path(there.origin).resolve() == path:
            return import_module(name)
        raise ImportError(f"a module '{name}' already exists; rename the file")
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # so that rows can name its objects
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


UNIVERSE_NAME, CONTRIBUTION_NAME = "UNIVERSE", "CONTRIBUTION"
"""The names that are read from a plug-in given as a module."""


def plugin(row: str) -> Package:
    """Loads a plug-in, given as `module:object`, a module or a path. A module provides UNIVERSE and CONTRIBUTION.

    Raises `PackageError` if it can't be loaded or was built for another version.
    """
    text, colon, name = row.partition(":")
    try:
        module = module_at(text)
        names = [name] if colon else [each for each in (UNIVERSE_NAME, CONTRIBUTION_NAME) if hasattr(module, each)]
        objects = {f"{module.__name__}:{each}": getattr(module, each) for each in names}
    except (Exception, SystemExit) as error:
        where = bracketed(place_in(error, lambda _: False))
        raise PackageError(f"cannot load plug-in '{row}': {_reason(error)}{where}") from error
    if not objects:
        raise PackageError(f"plug-in '{row}' defines neither {UNIVERSE_NAME} nor {CONTRIBUTION_NAME}")
    for each in objects.values():
        if not isinstance(each, Contribution) and not _is_for_xdsl(each):
            raise PackageError(f"plug-in '{row}' must be a Universe, a Contribution, a dialect or a pass")
    contributions = tuple(each for each in objects.values() if isinstance(each, Contribution))
    for each in contributions:
        if why := refusal(each.built_for):
            raise PackageError(f"plug-in '{row}' is incompatible: {why}")
    universes = tuple(name for name, each in objects.items() if not isinstance(each, Contribution))
    known = [each for package in installed() for each in package.contributions]
    new = tuple(each for each in contributions if not any(each is one for one in known))  # it may also be installed
    return Package(row, universes=universes, contributions=new, home=module.__name__.partition(".")[0])


def _is_for_xdsl(found: object) -> bool:
    """Returns True for a `Universe`, a dialect or a pass. xDSL is imported late: `qmlir --help` doesn't need it."""
    universe, ir, passes = map(import_module, ("xdsl.universe", "xdsl.ir", "xdsl.passes"))
    is_pass = isinstance(found, type) and issubclass(found, passes.ModulePass)
    return is_pass or isinstance(found, universe.Universe | ir.Dialect)


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, ImportError | AttributeError) else one_line(error)


@contextmanager
def plugged(plugins: Iterable[Package]) -> Generator[None]:
    """Enables these plug-ins inside the `with` block, in addition to the installed packages."""
    global _plugged
    before = _plugged
    _plugged = (*before, *plugins)
    try:
        yield
    finally:
        _plugged = before


def plug_ins() -> tuple[str, ...]:
    """Returns the names of this run's plug-ins, which a child process needs to load them."""
    return tuple(each.name for each in _plugged)


def continue_with(plug_ins: Iterable[str]) -> None:
    """Enables the plug-ins of the parent process without warnings, since the parent has reported all faults."""
    global _plugged
    silence()
    _plugged = tuple(plugin(each) for each in plug_ins)


# Digests of the code of packages. Cache keys contain them, because different code can compile different programs.

_SUFFIXES = (".py", ".mlir")


def _sources(module: str) -> list[str]:
    """Returns the source files of a module or Python package: its Python files and the patterns that it ships."""
    spec = find_spec(module)
    if spec is None:
        return []
    folders = list(spec.submodule_search_locations or ())
    if folders or spec.origin is None:
        return sorted(
            os.path.join(folder, name)
            for top in folders
            for folder, _, names in os.walk(top)
            for name in names
            if name.endswith(_SUFFIXES)
        )
    return [spec.origin]


def _contents(module: str) -> bytes:
    """Returns the content of all source files, in order."""
    found: list[bytes] = []
    for path in _sources(module):
        # For hundreds of small files, allocating buffers would take as long as reading.
        with open(path, "rb", buffering=0) as file:
            found.append(file.readall())
    return b"".join(found)


@lru_cache(16)
def code_digest(packages: tuple[Package, ...]) -> str:
    """Returns a digest of the names, versions and source files of these packages."""
    found = hashlib.sha256()
    for package in packages:
        found.update(f"{package.name} {package.version}".encode())
        if package.name != UPSTREAM:  # the version identifies xDSL's code; packages may be in development
            for module in sorted(package.modules):
                found.update(_contents(module))
    return found.hexdigest()


def sources_digest(modules: Iterable[str]) -> str:
    """Returns a digest of the sources of these modules and of all their submodules; skips missing modules."""
    found = hashlib.sha256()
    for module in sorted({*modules}):
        found.update(f"{module} ".encode() + _contents(module))
    return found.hexdigest()


_imported = WeakKeyDictionary[ModuleType, str]()
"""The digest of each module, computed at the first request, soon after its import."""


def plugged_code() -> str:
    """Returns a digest of the code of this run's plug-ins; empty if there are none.

    A process keeps the plug-in that it has loaded even if its files change, so the digest doesn't change either.
    """
    return _code_of(_plugged) if _plugged else ""


@lru_cache(16)
def _code_of(plugged: tuple[Package, ...]) -> str:
    found = hashlib.sha256()
    for module in sorted({module for package in plugged for module in package.modules}):
        found.update(f"{module} {_loaded_code(module)} ".encode())
    return found.hexdigest()


def _loaded_code(name: str) -> str:
    module = sys.modules.get(name)
    if module is not None and module in _imported:
        return _imported[module]
    found = hashlib.sha256(_contents(name)).hexdigest()
    if module is not None:
        _imported[module] = found
    return found
