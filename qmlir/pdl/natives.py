"""The functions that patterns may call: those of the tree and of other packages, by name.

A package adds its own as tables from name to function: `pdl.constraints` and `pdl.rewrites` of its
`Contribution.tables`.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

from qmlir import registry
from qmlir.pdl.signatures import NativeFunction, native_function


class Role(StrEnum):
    """The use of a native function."""

    CONSTRAINT = "constraint"
    REWRITE = "rewrite"


@cache
def _read(role: Role, among: tuple[registry.Package, ...]) -> Mapping[str, NativeFunction]:
    # Cached by the list of packages, so that a plug-in of one run has no effect on the next.
    found: dict[str, NativeFunction] = {}
    rows: Mapping[str, Callable[..., Any]] = registry.table(f"pdl.{role}s")
    for name, function in rows.items():
        try:
            found[name] = native_function(name, function)
        except TypeError as error:
            package = registry.package_of(function.__module__)
            if package is None or package.name == registry.OURS:
                raise
            package.warn(f"the {role} '{name}' of patterns", str(error))
    return found


def native_functions(role: Role) -> Mapping[str, NativeFunction]:
    """All native functions of `role`, by name."""
    return _read(role, registry.packages())
