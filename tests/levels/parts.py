"""The parts of a quantized composite whose types are free, each with the numbers that it gives in floats on a sample.

`components` of the composite gives their types by role. A part that only moves values has none of its own; one whose
value a result of the composite is, moved or not, has the type of that result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, f32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from qmlir import registry
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ConvOp, MatMulOp
from qmlir.ir.builtin_types import element_of
from qmlir.ir.decomposition import Parts
from qmlir.ir.evaluation import evaluate

Array = np.ndarray[Any, np.dtype[Any]]


class _Kept(Parts):
    """Parts that are there also where the types of some are not known."""

    def discard(self) -> None:
        pass


@dataclass
class Role:
    """What the parts of one role have in common: one type."""

    name: str
    is_sum: bool
    """Whether they add up products: without a type they are the accumulators."""

    is_constant: bool
    given: Attribute | None = None
    """The type of the result that some of them give."""

    alike: list[str] = field(default_factory=list[str])
    """Other roles whose values are put into one tensor with these: they have its type."""

    arrays: list[Array] = field(default_factory=list[Array])

    @property
    def real(self) -> Array:
        """What they give on the sample."""
        return self.arrays[0] if len(self.arrays) == 1 else np.concatenate([each.reshape(-1) for each in self.arrays])


def has_parts(op: Operation) -> bool:
    """Whether `op` is a quantized operation that may say the types of its parts: no operand is a float."""
    if not isinstance(op, NnOp) or type(op) not in registry.decompositions():
        return False
    if any(kind_of(element_of(value)) is Kind.FLOAT for value in op.operands):
        return False
    return any(kind_of(element_of(value)) is Kind.QUANTIZED for value in op.data_operands())


def _is_movement(part: Operation) -> bool:
    return isinstance(part, NnOp) and part.quantization_slots().shares_parameters and not isinstance(part, ConstantOp)


def _put_together(roles: dict[str, Role], floats: Parts, real: Operation) -> None:
    """Let the parts that give the operands of `real`, which joins or chooses, have one type."""
    names = dict.fromkeys(
        floats.roles[floats.operations.index(value.op)]
        for value in real.operands
        if isinstance(value, OpResult) and value.op in floats.operations
    )
    first, *others = [roles[name] for name in names if name in roles] or [None]
    for other in others:
        if first is not None and other is not None and not other.is_sum and other.name not in first.alike:
            first.alike.append(other.name)


def _givers(results: Sequence[SSAValue], made: Sequence[Operation]) -> Iterator[tuple[Operation, int]]:
    """The parts whose values are results, moved or not, each with the number of the result."""
    seen: set[SSAValue] = set()
    waiting = list(zip(results, range(len(results)), strict=True))
    while waiting:
        value, number = waiting.pop()
        if value in seen or not isinstance(value, OpResult) or value.op not in made:
            continue
        seen.add(value)
        if _is_movement(value.op):
            waiting += [(operand, number) for operand in value.op.operands]
        else:
            yield value.op, number


def roles_of(op: NnOp, twin: NnOp, reals: Mapping[SSAValue, Array], optional: Sequence[str] = ()) -> list[Role] | None:
    """The roles of the parts of `op` whose types are free, by `twin`, which is `op` in floats on the values `reals`.

    `None` where it has no parts. Parts of the roles `optional` are there only where they have a type.
    """
    decomposition = registry.decompositions()[type(op)]
    own, floats, values = _Kept(op), Parts(twin), dict(reals)
    op.components = twin.components = DictionaryAttr(dict.fromkeys(optional, f32))
    roles: dict[str, Role] = {}
    try:
        decomposition(op, own)
        results = decomposition(twin, floats)
        if results is None or own.roles != floats.roles:
            return None
        positions = {part: position for position, part in enumerate(floats.operations)}
        for role, part, real in zip(own.roles, own.operations, floats.operations, strict=True):
            found = evaluate(real, [values[operand] for operand in real.operands])
            assert found is not None
            values.update(zip(real.results, found, strict=True))
            is_piece = isinstance(part, ConstantOp) and kind_of(element_of(part.result)) is Kind.QUANTIZED
            if is_piece or _is_movement(real) or kind_of(element_of(real.results[0])) is not Kind.FLOAT:
                continue
            known = roles.setdefault(
                role, Role(role, isinstance(real, MatMulOp | ConvOp), isinstance(real, ConstantOp))
            )
            known.arrays += [each for each in found if each.size]
        for real in filter(_is_movement, floats.operations):
            _put_together(roles, floats, real)
        for part, number in _givers(results, floats.operations):
            role = floats.roles[positions[part]]
            if role in roles:
                roles[role].given = element_of(op.results[number])
        return [role for role in roles.values() if role.arrays]
    finally:
        Parts.discard(own)
        floats.discard()
        op.components = twin.components = None
