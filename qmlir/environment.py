"""The environment of a tool: the dialects and passes of qmlir, xDSL, installed packages, and plug-ins."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TypeVar

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from qmlir import registry
from qmlir.ir.messages import DiagnosticError, text_error
from qmlir.registry.faults import one_line

_T = TypeVar("_T")


def _guarded(what: str, owner: str, factory: Callable[[], _T]) -> Callable[[], _T]:
    """Wraps a factory so that an error names the requested object and its package."""

    def made() -> _T:
        try:
            return factory()
        except DiagnosticError:
            raise
        except (Exception, SystemExit) as error:  # any error of a package at import
            raise text_error(f"cannot load {what} of package '{owner}': {one_line(error)}") from error

    return made


@dataclass
class Environment:
    """The dialects and passes that a tool knows, by name, loaded on demand."""

    dialects: dict[str, Callable[[], Dialect]] = field(default_factory=dict[str, Callable[[], Dialect]])
    passes: dict[str, Callable[[], type[ModulePass]]] = field(default_factory=dict[str, Callable[[], type[ModulePass]]])
    owners: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, package: registry.Package, universe: Universe) -> None:
        """Adds the dialects and passes of a package. Skips names that another package already uses, with a warning."""
        taken: dict[str, list[str]] = {}
        self.dialects |= self._free("dialect", universe.all_dialects, package, taken)
        self.passes |= self._free("pass", universe.all_passes, package, taken)
        for owner, names in taken.items():
            package.warn(", ".join(names), f"package '{owner}' has {'this name' if len(names) == 1 else 'these names'}")

    def _free(
        self, kind: str, new: Mapping[str, Callable[[], _T]], package: registry.Package, taken: dict[str, list[str]]
    ) -> dict[str, Callable[[], _T]]:
        """Returns the entries of `new` with free names, now owned by the package; adds the others to `taken`."""
        free: dict[str, Callable[[], _T]] = {}
        for name, factory in new.items():
            key = f"{kind} '{name}'"
            if key in self.owners:
                taken.setdefault(self.owners[key], []).append(key)
                continue
            self.owners[key] = package.title
            free[name] = factory if package.name == registry.OURS else _guarded(key, package.title, factory)
        return free

    def new_context(self, *, allow_unregistered: bool = False) -> Context:
        """Returns a context in which every dialect is registered; each is loaded when it is first used."""
        ctx = Context(allow_unregistered=allow_unregistered)
        for name, factory in self.dialects.items():
            ctx.register_dialect(name, factory)
        return ctx


def _universe(package: registry.Package, row: str) -> Universe | None:
    """Returns the dialects and passes in a row of a package; a plug-in may name a single dialect or pass."""
    match package.load(row, (Universe, Dialect, type)):
        case Universe() as universe:
            return universe
        case Dialect() as dialect:
            return Universe(all_dialects={dialect.name: lambda: dialect})
        case type() as found if issubclass(found, ModulePass):
            return Universe(all_passes={found.name: lambda: found})
        case _:
            return None


def default_environment() -> Environment:
    """Returns the environment with qmlir, xDSL, all installed packages, and the plug-ins of this run.

    The caller may add to it.
    """
    known = _environment_of(registry.packages())
    return Environment(dict(known.dialects), dict(known.passes), dict(known.owners))


@lru_cache(16)
def _environment_of(packages: tuple[registry.Package, ...]) -> Environment:
    environment = Environment()
    rows: set[str] = set()
    for package in packages:
        if package.name == registry.OURS:
            own = Universe(all_dialects=registry.UNIVERSE.all_dialects, all_passes=registry.pass_factories())
            environment.add(package, own)
            continue
        replaced = registry.UPSTREAM_REPLACED if package.name == registry.UPSTREAM else ()
        for row in package.universes:
            if row in rows or (universe := _universe(package, row)) is None:  # a plug-in that is also installed
                continue
            rows.add(row)
            kept = {name: factory for name, factory in universe.all_passes.items() if name not in replaced}
            environment.add(package, Universe(all_dialects=universe.all_dialects, all_passes=kept))
        passes = {name: partial(registry.load, row) for name, row in package.rows("passes")}
        environment.add(package, Universe(all_passes=passes))
    return environment


@contextmanager
def plugins(rows: Iterable[str]) -> Generator[None]:
    """Activates plug-ins inside the `with` block. Raises `DiagnosticError` if one cannot be loaded."""
    try:
        found = [registry.plugin(row) for row in rows]
    except registry.PackageError as error:
        raise text_error(str(error)) from error
    with registry.plugged(found):
        yield
