"""Decomposing a composite: the parts, each with its role, in front of the operation that they replace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from qmlir.ir.provenance import assign_role, origins_of

OperationT = TypeVar("OperationT", bound=Operation)


@dataclass
class Parts:
    """The operations that a composite becomes, in order."""

    composite: Operation
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(self, role: str, op: OperationT) -> OperationT:
        """Add a part; it stands for the composite's nodes, in `role`."""
        assign_role(op, origins_of(self.composite), role)
        self.operations.append(op)
        return op


Decomposition = Callable[..., Sequence[SSAValue] | None]
"""Takes a composite and its `Parts`, adds the parts, and returns the values of its results; `None` where it cannot."""


@dataclass(frozen=True)
class Keep:
    """Which composites stay whole: kinds (`softmax`, `nn.softmax`), names of the model's nodes, and globs of either."""

    names: tuple[str, ...]

    def __contains__(self, op: Operation) -> bool:
        known = (op.name, op.name.partition(".")[2], *(origin.name for origin in origins_of(op)))
        return any(fnmatchcase(name, pattern) for pattern in self.names for name in known)
