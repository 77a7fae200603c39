"""Which ONNX operators become an operation: read from the code of their importers.

An importer is a function, or a method of a row of a table; the operations that it may add are the classes that it
names: in its text, in what it closes over, in its row, and in the functions of `qmlir.formats`, of `qmlir.onnx` and of
extensions, and the methods of its node, that it names or closes over.
"""

import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from xdsl.ir import Operation

from qmlir import registry
from qmlir.formats.node import SourceNode

_PACKAGES = ("qmlir.formats.", "qmlir.onnx.", "qmlir.extensions.")

_METHODS = ("cast", "reshaped")
"""The methods of a node that add operations of their own."""


def _named(value: types.CodeType, known: Mapping[str, Any]) -> Iterator[Any]:
    """What the names in a piece of code stand for; `module.name` is followed."""
    modules = [known[name] for name in value.co_names if isinstance(known.get(name), types.ModuleType)]
    for name in value.co_names:
        if name in known:
            yield known[name]
        if name in _METHODS:
            yield vars(SourceNode)[name]
        for module in modules:
            if name in vars(module):
                yield vars(module)[name]
    for constant in value.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _named(constant, known)


def _reached(function: types.FunctionType) -> Iterator[Any]:
    """What a function names or closes over, with what stands in the containers among it."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for each in (*_named(function.__code__, function.__globals__), *cells, *(function.__defaults__ or ())):
        match each:
            case dict():
                yield from each.values()
            case list() | tuple():
                yield from each
            case _:
                yield each


def operations_added(importer: Callable[..., Any]) -> frozenset[type[Operation]]:
    """The operations that an importer may add."""
    found: set[type[Operation]] = set()
    seen: set[int] = set()
    waiting: list[Any] = [importer]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, type) and issubclass(each, Operation) and "name" in dir(each):
            found.add(each)
        elif isinstance(each, types.FunctionType) and each.__module__.startswith(_PACKAGES):
            waiting.extend(_reached(each))
        elif isinstance(each, types.MethodType):
            waiting.extend(vars(each.__self__).values())
        elif isinstance(each, partial):
            waiting.extend((each.func, *each.keywords.values()))
    return frozenset(found)


@cache
def operators_by_operation() -> Mapping[type[Operation], tuple[str, ...]]:
    """For each operation the ONNX operators whose importers add it, sorted."""
    found: dict[type[Operation], list[str]] = {}
    for operator, importer in sorted(registry.onnx_importers().items()):
        for operation in operations_added(importer):
            found.setdefault(operation, []).append(operator)
    return {operation: tuple(operators) for operation, operators in found.items()}
