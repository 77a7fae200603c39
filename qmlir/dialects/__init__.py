"""The dialects, one package each, and how a dialect finds the operations that its files define."""

from types import ModuleType

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation


def operations_in(*modules: ModuleType) -> list[type[Operation]]:
    """The operations that `modules` define, in the order of the files; an abstract base has no name and is left out."""
    return [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, IRDLOperation)
        if each.__module__ == module.__name__ and "name" in vars(each)
    ]
