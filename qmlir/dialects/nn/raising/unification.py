"""Unification of a template (the parts of a composite) with operations of a module, from the results upward.

Two operations match if their classes, properties, shapes and operands match. The operands of a commutative operation
may be swapped: on failure, the search backtracks to the last such choice. It is iterative, because an unrolled layer is
as deep as its sequence is long. Constants that were moved at compile time are matched with the parts that move them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, IntAttr, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import is_per_tensor
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import AddOp, EqualOp, MaxOp, MinOp, MulOp
from qmlir.dialects.nn.movement.ops import MovementOp
from qmlir.dialects.quant.infer import verify_quantized_tensor
from qmlir.dialects.quant.types import AnyQuantizedType, Granularity, StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import evaluate

COMMUTATIVE = (AddOp, MulOp, MinOp, MaxOp, EqualOp)

Pair = tuple[SSAValue, SSAValue]
"""A value of the template, paired with a value of the module."""

Held = tuple[SSAValue, SSAValue | None]
"""A template value that only moves a placeholder's elements, and the constant that matches it (`None` for 0)."""


class CompositeMismatchError(Exception):
    """A difference between a group of operations and a composite that prevents raising."""


@dataclass(frozen=True)
class Mismatch:
    """Why two operations or values do not match, and how deep the match got."""

    reason: str
    depth: int = 0


@dataclass
class Unification:
    """A correspondence between the values and operations of a template and those of a module."""

    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Maps each value of the template, including placeholders, to a value of the module."""

    operations: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    held: list[Held] = field(default_factory=list[Held])


@dataclass(frozen=True)
class Rules:
    """The criteria for a match; each comparison returns the difference, or `None` if there is none."""

    compare_values: Callable[[SSAValue, SSAValue], str | None]
    compare_operations: Callable[[Operation, Operation], str | None]
    is_free: Callable[[SSAValue], bool]
    """Returns whether a template value is a placeholder, which matches any value of the module."""

    held_by: Callable[[SSAValue, SSAValue], Sequence[Held]] = lambda template, value: ()
    """Returns the placeholders whose elements are held by a constant that matches moved values."""


Pending = tuple[Pair, "Pending"] | None


def _pushed(pending: Pending, pairs: Iterable[Pair]) -> Pending:
    for pair in pairs:
        pending = (pair, pending)
    return pending


@dataclass
class _Walk:
    """A unification in progress, with the state for backtracking."""

    rules: Rules
    found: Unification
    trail: list[SSAValue | Operation | None] = field(default_factory=list[SSAValue | Operation | None])
    choices: list[tuple[int, Pending]] = field(default_factory=list[tuple[int, Pending]])

    def undo(self, length: int) -> None:
        while len(self.trail) > length:
            last = self.trail.pop()
            if last is None:
                self.found.held.pop()
            elif isinstance(last, SSAValue):
                del self.found.values[last]
            else:
                del self.found.operations[last]

    def bind(self, template: SSAValue, value: SSAValue) -> None:
        self.found.values[template] = value
        self.trail.append(template)

    def match(self, template: SSAValue, value: SSAValue, pending: Pending) -> Pending | str:
        """Returns the pairs that remain to be matched, or the difference."""
        if template in self.found.values:
            same = self.found.values[template] is value
            return pending if same else "its parts read different values"
        if template is value:
            return pending
        if (fault := self.rules.compare_values(template, value)) is not None:
            return fault
        if self.rules.is_free(template):
            self.bind(template, value)
            return pending
        if held := self.rules.held_by(template, value):
            self.bind(template, value)
            self.found.held.extend(held)
            self.trail.extend([None] * len(held))
            return pending
        return self._match_operations(template, value, pending)

    def _match_operations(self, template: SSAValue, value: SSAValue, pending: Pending) -> Pending | str:
        if not isinstance(template, OpResult) or not isinstance(value, OpResult):
            return "one of its values is defined outside"
        mine, other = template.op, value.op
        if template.index != value.index or len(mine.operands) != len(other.operands):
            return f"expected '{mine.name}', but got '{other.name}'"
        if (fault := self.rules.compare_operations(mine, other)) is not None:
            return fault
        for result, counterpart in zip(mine.results, other.results, strict=True):
            self.bind(result, counterpart)
        self.found.operations[mine] = other
        self.trail.append(mine)
        if isinstance(mine, COMMUTATIVE) and mine.operands[0] is not mine.operands[1]:
            swapped = list(zip(mine.operands, reversed(other.operands), strict=True))
            if all(self._may_match(*pair) for pair in swapped):
                self.choices.append((len(self.trail), _pushed(pending, swapped)))
        return _pushed(pending, zip(mine.operands, other.operands, strict=True))

    def _may_match(self, template: SSAValue, value: SSAValue) -> bool:
        """Whether a local comparison admits the match of two values; saves attempts, and avoids misleading reasons."""
        if template in self.found.values or template is value:
            return self.found.values.get(template, template) is value
        if self.rules.compare_values(template, value) is not None:
            return False
        if self.rules.is_free(template) or self.rules.held_by(template, value):
            return True
        return isinstance(template, OpResult) and isinstance(value, OpResult) and type(template.op) is type(value.op)

    def run(self, pending: Pending) -> Mismatch | None:
        worst = Mismatch("")
        while pending is not None:
            (template, value), rest = pending
            after = self.match(template, value, rest)
            if not isinstance(after, str):
                pending = after
                continue
            if not worst.reason or len(self.trail) > worst.depth:
                worst = Mismatch(after, len(self.trail))
            if not self.choices:
                return worst
            length, pending = self.choices.pop()
            self.undo(length)
        return None


def unify(pairs: Sequence[Pair], rules: Rules, found: Unification | None = None) -> Unification | Mismatch:
    """Matches all pairs and extends `found`.

    Returns the unification, or the mismatch of the attempt that got deepest.
    """
    walk = _Walk(rules, Unification() if found is None else found)
    fault = walk.run(_pushed(None, pairs))
    return walk.found if fault is None else fault


# Reassembly of constant operands that were sliced or moved by decomposition, or by folding after it.
#
# If the parts of a composite would slice, squeeze or reshape an operand but the module holds a constant instead, the
# operand itself was a constant. The original index of each element follows from applying the same movement to element
# indices.


def constant_of(value: SSAValue) -> ConstantOp | None:
    """Returns the constant that defines `value`, if its elements are available in memory."""
    op = value.owner
    return op if isinstance(op, ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr) else None


def movement_chain(value: SSAValue) -> tuple[SSAValue, list[MovementOp]]:
    """Returns the origin of the elements that `value` only moves, and the movements in execution order."""
    chain: list[MovementOp] = []
    while isinstance(op := value.owner, MovementOp) and len(op.operands) == 1:
        chain.append(op)
        value = op.operands[0]
    return value, chain[::-1]


def _without_parameters(element: StoredType) -> AnyQuantizedType:
    low, high = IntAttr(element.storage_min), IntAttr(element.storage_max)
    return AnyQuantizedType(element.storage, low, high, element.expressed_type or NoneAttr())


def _elements(candidates: set[Attribute], shape: Sequence[int]) -> Iterator[Attribute]:
    """Yields the possible element types of a constant of `shape` whose slices have the types `candidates`.

    Integers with equal storage but different parameters become `!quant.any`; the slices have their types.
    """
    if len(candidates) != 1:
        stored = {_without_parameters(each) for each in candidates if isinstance(each, StoredType)}
        if len(stored) == 1 and all(isinstance(each, StoredType) for each in candidates):
            yield from stored
        return
    (element,) = candidates
    if is_per_tensor(element) or not isinstance(element, UniformQuantizedType):
        yield element
    elif element.granularity is Granularity.AXIS:
        for axis in range(len(shape)):
            moved = element.along(axis)
            try:
                verify_quantized_tensor(TensorType(moved, shape))
            except VerifyException:
                continue
            yield moved
        yield _without_parameters(element)


def element_of_whole(candidates: set[Attribute], shape: Sequence[int]) -> Attribute | None:
    """Returns the element type of a constant of `shape` with slices of these types; `None` if incompatible."""
    return next(_elements(candidates, shape), None)


def _numbers_behind(template: SSAValue, shape: Sequence[int]) -> Array:
    """Returns, for each element of a moved placeholder of `shape`, the index of the original element."""
    numbers: Array = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    for op in movement_chain(template)[1]:
        (numbers,) = evaluate(op, [numbers]) or (numbers,)
    return numbers.reshape(-1)


def _filled(shape: Sequence[int], slices: Sequence[Held], dtype: np.dtype[Any]) -> Array:
    """Returns the elements of a placeholder from its slices; 0 for unused ones, such as those of an uncomputed gate."""
    data = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype)
    known = np.zeros(data.shape, np.bool_)
    for template, value in slices:
        positions = _numbers_behind(template, shape)
        constant = None if value is None else constant_of(value)
        stored = np.zeros(positions.size, dtype) if constant is None else constant.array.reshape(-1)
        if positions.size != stored.size or (known[positions] & (data[positions] != stored)).any():
            raise CompositeMismatchError("its constants have conflicting values")
        data[positions], known[positions] = stored, True
    return data.reshape(shape)


def put_together(held: Sequence[Held]) -> dict[SSAValue, ConstantOp]:
    """Returns a constant for each placeholder, assembled from the constants of `held`.

    Raises `CompositeMismatchError` if a placeholder cannot be assembled.
    """
    slices: dict[SSAValue, list[Held]] = defaultdict(list)
    for template, value in held:
        slices[movement_chain(template)[0]].append((template, value))
    found: dict[SSAValue, ConstantOp] = {}
    for placeholder, own in slices.items():
        shape = shape_of(placeholder)
        constants = [constant_of(value) for _, value in own if value is not None]
        dtypes = [constant.array.dtype for constant in constants if constant is not None]
        element = element_of_whole({element_of(value) for _, value in own if value is not None}, shape)
        if DYNAMIC_INDEX in shape or element is None or not dtypes:
            raise CompositeMismatchError("its constants cannot be combined")
        found[placeholder] = ConstantOp.of(_filled(shape, own, dtypes[0]), TensorType(element, shape))
    return found
