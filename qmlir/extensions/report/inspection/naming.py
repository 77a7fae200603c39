"""Lookup of the node that a user names: by its name, a provenance key, a tensor, an input or a weight."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.ir.diagnostics import text_error
from qmlir.ir.provenance import Origin, origins_of, tensor_names
from qmlir.ir.signature import inputs_of
from qmlir.quantization.profiles.keys import functions_of, keyed_values

_SHOWN = 5
"""Number of similar names in the error."""


@dataclass(frozen=True)
class NamedNode:
    """The provenance keys and value keys that a name denotes."""

    name: str
    origins: frozenset[str] = frozenset()
    """Keys such as `fc1`, or `fc1/matmul` for a part, which includes the parts of that part."""

    values: frozenset[str] = frozenset()
    """The keys of inputs, and of values computed by operations without provenance."""

    def is_of(self, op: Operation) -> bool:
        """Returns true if `op` implements the node or a part of it."""
        return any(map(self.has, origins_of(op)))

    def has(self, origin: Origin) -> bool:
        """Returns true if `origin` is the node or a part of it."""
        key = str(origin)
        return any(each in (origin.name, key) or key.startswith(f"{each}/") for each in self.origins)


@dataclass
class _Names:
    """All known names, with the keys that they denote."""

    origins: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    values: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def add(self, module: ModuleOp) -> None:
        for op in module.walk():
            if isinstance(op, FuncOp):
                continue
            for origin in origins_of(op):
                key = str(origin)
                self.origins.setdefault(origin.name, set()).add(origin.name)
                self.origins.setdefault(key, set()).add(key)
                for place in range(1, origin.role.count("/") + 1):  # a part of a part: `gate` of `gate/matmul`
                    outer = "/".join((origin.name, *origin.role.split("/")[:place]))
                    self.origins.setdefault(outer, set()).add(outer)
        for op in module.walk():
            keys = {str(origin) for origin in origins_of(op)}
            for tensor in filter(None, tensor_names(op)):
                if tensor not in self.origins and keys:
                    self.origins[tensor] = keys
        self._add_values(module)

    def _add_values(self, module: ModuleOp) -> None:
        for each in keyed_values(module):
            if isinstance(each.owner, FuncOp) or not origins_of(each.owner):
                self.values.setdefault(each.key, set()).add(each.key)
            else:
                self.origins.setdefault(each.key, {str(origin) for origin in origins_of(each.owner)})
        for function in functions_of(module):
            for port in inputs_of(function):
                if port.name not in self.origins:
                    self.values.setdefault(port.name, set()).add(port.name)

    def known(self) -> Iterator[str]:
        yield from self.origins
        yield from self.values


def find_node(name: str, *modules: ModuleOp) -> NamedNode:
    """Returns the node that `name` denotes in the given stages of a model; the first stage that knows the name counts.

    Raises `DiagnosticError`, with similar names, if no stage does.
    """
    names = _Names()
    for module in modules:
        names.add(module)
    if name in names.origins or name in names.values:
        return NamedNode(name, frozenset(names.origins.get(name, ())), frozenset(names.values.get(name, ())))
    known = list(dict.fromkeys(names.known()))
    inside = [each for each in known if name and name.lower() in each.lower()]
    near = list(dict.fromkeys([*get_close_matches(name, known, n=_SHOWN, cutoff=0.6), *inside]))[:_SHOWN]
    found = (
        f"; similar: {', '.join(near)}" if near else f" (available: {', '.join(known[:_SHOWN])}, …)" if known else ""
    )
    raise text_error(f"the model has no node, tensor or input '{name}'{found}")
