"""What a tool can use: the dialects and passes of xDSL, of this package, of installed packages and loaded plug-ins."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from qmlir import registry
from qmlir.ir.diagnostics import Diagnostic, Severity, emit, text_error

UNIVERSE_GROUP = "xdsl.universe"
OURS = "qmlir"


@dataclass
class Environment:
    """The dialects and passes that a tool knows, by name, none of them loaded yet."""

    dialects: dict[str, Callable[[], Dialect]] = field(default_factory=dict[str, Callable[[], Dialect]])
    passes: dict[str, Callable[[], type[ModulePass]]] = field(default_factory=dict[str, Callable[[], type[ModulePass]]])
    owners: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, owner: str, universe: Universe) -> None:
        """Add what a package brings. A name that another package has taken is refused with a warning."""
        for kind, known, new in (
            ("dialect", self.dialects, universe.all_dialects),
            ("pass", self.passes, universe.all_passes),
        ):
            for name, factory in new.items():
                key = f"{kind} '{name}'"
                if key in self.owners:
                    _warn(f"{key} of package '{owner}' is left out: package '{self.owners[key]}' has it")
                    continue
                self.owners[key] = owner
                known[name] = factory  # pyright: ignore[reportArgumentType]

    def new_context(self, *, allow_unregistered: bool = False) -> Context:
        """A context that knows every dialect and loads one when it is first used."""
        ctx = Context(allow_unregistered=allow_unregistered)
        for name, factory in self.dialects.items():
            ctx.register_dialect(name, factory)
        return ctx


def _warn(message: str) -> None:
    emit(Diagnostic(Severity.WARNING, message))


def _installed_universes() -> Iterator[tuple[str, Universe]]:
    for point in sorted(entry_points(group=UNIVERSE_GROUP), key=lambda point: point.name):
        if point.name == OURS:
            continue
        try:
            universe = point.load()
        except Exception as error:  # whatever a package outside does at import, the tool goes on without it
            _warn(f"package '{point.name}' is left out: {type(error).__name__}: {error}")
            continue
        if isinstance(universe, Universe):
            yield point.name, universe
        else:
            _warn(f"package '{point.name}' is left out: '{point.value}' is no xDSL Universe")


def load_plugin(environment: Environment, row: str) -> None:
    """Add the xDSL `Universe`, or the dialect or pass, that `module:object` names."""
    module, colon, name = row.partition(":")
    if not colon:
        raise text_error(f"plug-in '{row}' is not of the form module:object")
    try:
        plugin = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise text_error(f"cannot load plug-in '{row}': {error}") from error
    match plugin:
        case Universe():
            environment.add(row, plugin)
        case Dialect():
            environment.add(row, Universe(all_dialects={plugin.name: lambda: plugin}))
        case type() if issubclass(plugin, ModulePass):
            environment.add(row, Universe(all_passes={plugin.name: lambda: plugin}))
        case _:
            raise text_error(f"plug-in '{row}' is no Universe, no Dialect and no pass")


def default_environment() -> Environment:
    """xDSL's own dialects and passes, ours, and those of installed packages."""
    environment = Environment()
    environment.add(
        OURS,
        Universe(all_dialects=dict(registry.dialect_factories()), all_passes=dict(registry.pass_factories())),
    )
    for owner, universe in _installed_universes():
        kept = {name: row for name, row in universe.all_passes.items() if name not in registry.UPSTREAM_REPLACED}
        environment.add(owner, Universe(all_dialects=universe.all_dialects, all_passes=kept))
    return environment
