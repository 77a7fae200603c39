"""The node that a user names: by its name, by a provenance key, by a tensor, an input or a weight of the model."""

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
"""So many near names stand in the error."""


@dataclass(frozen=True)
class NamedNode:
    """What a name means: the keys of provenance that belong to it, and the keys of values."""

    name: str
    origins: frozenset[str] = frozenset()
    """`fc1`, or `fc1/matmul` for a part; with a part go the parts of that part."""

    values: frozenset[str] = frozenset()
    """Inputs, and values of operations without provenance, by their keys."""

    def is_of(self, op: Operation) -> bool:
        """Whether `op` stands for the node, or for a part of it."""
        return any(map(self.has, origins_of(op)))

    def has(self, origin: Origin) -> bool:
        """Whether `origin` is the node, or a part of it."""
        key = str(origin)
        return any(each in (origin.name, key) or key.startswith(f"{each}/") for each in self.origins)


@dataclass
class _Names:
    """What can be named, and what it means."""

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
    """What `name` is in the stages of a model that `modules` are; the first in which something has that name counts.

    Raises `DiagnosticError`, with near names, where nothing has it.
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
