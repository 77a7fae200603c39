"""The dialects, one package each: how an operation gets its name, and how a dialect finds what its files define."""

from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition

OperationT = TypeVar("OperationT", bound=IRDLOperation)


def operation(name: str) -> Callable[[type[OperationT]], type[OperationT]]:
    """Define the operation `name`, as `irdl_op_definition` does a class that has its name inside."""

    def define(cls: type[OperationT]) -> type[OperationT]:
        cls.name = name
        return irdl_op_definition(cls)

    return define


def operations_in(*modules: ModuleType) -> list[type[Operation]]:
    """The operations that `modules` define, in the order of the files; an abstract base has no name and is left out."""
    return [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, IRDLOperation)
        if each.__module__ == module.__name__ and "name" in vars(each)
    ]
