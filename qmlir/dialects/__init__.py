"""The dialects, one package each, and the lookup of the operations that a dialect's modules define."""

from types import ModuleType

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation


def operations_in(*modules: ModuleType) -> list[type[Operation]]:
    """Returns the operations that `modules` define, in file order; abstract bases, which have no name, are skipped."""
    return [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__ and "name" in vars(each)
        if issubclass(each, IRDLOperation)  # last: for other classes, it asks all subclasses
    ]
