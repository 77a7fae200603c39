"""The attributes of a module about padded dimensions whose loops may end at the runtime size."""

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from qmlir.ir.builtin_types import integer_list

FOLLOWED = "kernel.lengths"
"""The module attribute that maps inputs of `@main` with runtime sizes to a prime and a unit.

The capacity of that dimension is the prime times the unit. The prime divides no size that does not depend on it. So a
size or a loop bound that is a multiple of the prime is known to count elements along the dimension.
"""

FOLLOWS = "kernel.follows"
"""The module attribute of programs whose loops end at the runtime sizes of padded dimensions.

It is a digest of how the bounds depend on these sizes.
"""


@dataclass(frozen=True)
class Length:
    """A dimension whose loops may follow its runtime size."""

    name: str
    prime: int
    unit: int


def lengths_of(value: SSAValue | Operation) -> tuple[Length, ...]:
    """Returns the dimensions in `kernel.lengths` of the module that contains a value or an operation."""
    owner = value.owner if isinstance(value, SSAValue) else value
    op = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None and not (isinstance(op, ModuleOp) and FOLLOWED in op.attributes):
        op = op.parent_op()
    found = None if op is None else op.attributes[FOLLOWED]
    if not isinstance(found, DictionaryAttr):
        return ()
    rows = ((name, integer_list(cast(DenseArrayBase, each))) for name, each in found.data.items())
    return tuple(Length(name, *numbers) for name, numbers in rows)
