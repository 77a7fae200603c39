"""`AtenNode`: a call of an ATen operator for its importer, with its arguments by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerType, TensorType, f32, i1, i64
from xdsl.ir import Attribute, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.movement.ops import ConcatOp
from qmlir.dialects.nn.shapes.ops import ExpandOp, ShapeOp
from qmlir.extensions.pt2.archive import Call
from qmlir.extensions.pt2.sizes import Size
from qmlir.formats.node import NO_DEFAULT, SourceNode
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import DiagnosticError, text_error

Integer: TypeAlias = "int | SSAValue"
"""An integer that is known, or an i64 vector of one element."""

END = 2**63 - 1
"""The end of a slice that extends to the end of its axis."""


@dataclass(frozen=True)
class Declared:
    """The declared type of a tensor: unknown sizes are `DYNAMIC_INDEX` in `shape`, and expressions in `sizes`."""

    element: Attribute
    shape: tuple[int, ...]
    sizes: tuple[Size, ...]

    @property
    def type(self) -> TensorType[Any]:
        """The type of the tensor."""
        return TensorType(cast(Any, self.element), self.shape)


@dataclass(frozen=True)
class AtenNode(SourceNode):
    """A call of an operator, and the graph under construction."""

    call: Call
    arguments: Mapping[str, Any]
    """The arguments: values of tensors, numbers, lists, element types, or `None`."""

    outputs: Sequence[Declared]
    """The declared types of the outputs that are tensors."""

    sizes: Mapping[str, Sequence[Size]]
    """The declared sizes of the arguments that are tensors."""

    def error(self, message: str) -> DiagnosticError:
        place = f" in module '{self.call.module}'" if self.call.module else ""
        return text_error(f"{self.call.target} '{self.call.name}'{place}: {message}")

    def unsupported(self, reason: str) -> DiagnosticError:
        return self.error(reason)

    # Arguments

    def has_attribute(self, name: str) -> bool:
        return self.arguments.get(name) is not None

    def attribute(self, name: str, default: Any = NO_DEFAULT) -> Any:
        found = self.arguments.get(name)
        return (None if default is NO_DEFAULT else default) if found is None else found

    def _checked(self, name: str, default: Any, kinds: tuple[type, ...], what: str) -> Any:
        found = self.attribute(name, default)
        if found is NO_DEFAULT or not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
            raise self.error(f"argument '{name}' must be {what}, but got {found}")
        return found

    def number(self, name: str, default: float | None = None) -> int | float:
        """Returns an argument that is a number."""
        return self._checked(name, default, (int, float, bool), "a number")

    def index(self, name: str, default: int | None = None) -> int:
        """Returns an argument that is a known integer."""
        return self._checked(name, default, (int,), "a known integer")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Returns an argument that is a Boolean."""
        return self._checked(name, default, (bool,), "a Boolean")

    def text(self, name: str, default: str | None = None) -> str:
        """Returns an argument that is a string."""
        return self._checked(name, default, (str,), "a string")

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """Returns an argument that is a list of known integers; a single one is a list."""
        found = self.attribute(name, default)
        listed = list(cast(Sequence[Any], found)) if isinstance(found, list | tuple) else [found]
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in listed):
            raise self.error(f"argument '{name}' must be a list of known integers, but got {found}")
        return list(listed)

    def spread(self, name: str, count: int, default: int) -> list[int]:
        """Returns an argument that has an integer for each of `count` axes, or one for all of them."""
        found = self.integers(name, [default]) or [default]
        if len(found) == 1:
            found *= count
        if len(found) != count:
            raise self.error(f"argument '{name}' must have {count} integers, but got {found}")
        return found

    def size_list(self, name: str) -> list[Integer]:
        """Returns an argument that is a list of sizes, some of which may be known only at run time."""
        found = self.attribute(name, None)
        found = [found] if isinstance(found, int) else found
        if not isinstance(found, list) or not all(isinstance(each, int | SSAValue) for each in cast(list[Any], found)):
            raise self.error(f"argument '{name}' must be a list of sizes, but got {found}")
        return cast(list[Integer], found)

    def axis(self, name: str = "dim", default: int | None = None, *, rank: int | None = None) -> int:
        """Returns an argument that is an axis, not negative."""
        rank = len(self.shape()) if rank is None else rank
        return self.in_rank(self.index(name, default), rank)

    def in_rank(self, axis: int, rank: int) -> int:
        """Returns a possibly negative axis as a number from 0 on."""
        if not -max(rank, 1) <= axis < max(rank, 1):
            raise self.error(f"axis {axis} is out of range for rank {rank}")
        return axis % max(rank, 1)

    def axes(self, name: str, rank: int) -> list[int]:
        """Returns an argument that is a list of axes; all axes if it is omitted or empty."""
        return [self.in_rank(each, rank) for each in self.integers(name, [])] or list(range(rank))

    def maybe(self, name: str) -> SSAValue | None:
        """Returns an argument that is a tensor or omitted, as a plain tensor."""
        found = self.arguments.get(name)
        return None if found is None else self.tensor(name)

    def tensor(self, name: str = "self") -> SSAValue:
        """Returns an argument that is a tensor, as a plain tensor."""
        return self.graph.plain(self.any_tensor(name))

    def any_tensor(self, name: str = "self") -> SSAValue:
        """Returns an argument that is a tensor, quantized or not."""
        found = self.arguments.get(name)
        if not isinstance(found, SSAValue):
            raise self.error(f"argument '{name}' must be a tensor, but got {found}")
        return cast(SSAValue, found)

    def tensors(self, name: str) -> list[SSAValue]:
        """Returns an argument that is a list of tensors."""
        found = self.arguments.get(name)
        listed = cast(list[Any], found) if isinstance(found, list) else []
        if not listed or not all(isinstance(each, SSAValue) for each in listed):
            raise self.error(f"argument '{name}' must be a list of tensors, but got {found}")
        return [self.graph.plain(each) for each in listed]

    def operand(self, name: str, element: Attribute) -> SSAValue:
        """Returns an argument that is a tensor or a number, as a tensor of type `element`."""
        found = self.arguments.get(name)
        if isinstance(found, SSAValue):
            return self.cast(self.graph.plain(cast(SSAValue, found)), element)
        return self.filled(self.number(name), element)

    def array(self, name: str) -> Array:
        """Returns the elements of an argument that must be a constant tensor."""
        return self.elements(self.tensor(name), f"argument '{name}'")

    def elements(self, value: SSAValue, what: str) -> Array:
        """Returns the elements of a tensor that must be constant."""
        found = self.graph.constant_value(value)
        if found is None:
            raise self.error(f"{what} must be constant")
        return found

    # Results

    def declared(self, index: int = 0) -> Declared:
        """Returns the declared type of an output."""
        if index >= len(self.outputs):
            raise self.error(f"missing output {index}")
        return self.outputs[index]

    @property
    def element(self) -> Attribute:
        """The declared element type of the first output."""
        return self.declared().element

    def promoted(self, *names: str) -> Attribute:
        """Returns the common element type of arguments that are tensors or numbers, by PyTorch's promotion."""
        values = [self.arguments.get(name) for name in names]
        tensors = [self.graph.plain(cast(SSAValue, each)) for each in values if isinstance(each, SSAValue)]
        numbers = [each for each in values if not isinstance(each, SSAValue)]
        best: Attribute = i1
        # Tensors with axes come before those without, and these come before numbers, if their categories are equal.
        groups = (
            [element_of(each) for each in tensors if shape_of(each)],
            [element_of(each) for each in tensors if not shape_of(each)],
            [i1 if isinstance(each, bool) else i64 if isinstance(each, int) else f32 for each in numbers],
        )
        found = -1
        for group in groups:
            if not group:
                continue
            wide = max(group, key=lambda element: (_category(element), _bits(element)))
            if _category(wide) > found:
                best, found = wide, _category(wide)
        return best

    def filled(self, number: float, element: Attribute) -> SSAValue:
        """Adds a scalar constant of type `element`."""
        with np.errstate(all="ignore"):
            try:
                array = np.array(number).astype(self.graph.dtype_of(element))
            except (OverflowError, ValueError, TypeError) as error:
                raise self.error(f"{number} is no {element}") from error
        return self.add_constant(array, element)

    def vector(self, sizes: Sequence[Integer]) -> SSAValue:
        """Returns an i64 vector of integers, some of which are known only at run time."""
        parts = [
            self.add_constant(np.array([each], np.int64), i64) if isinstance(each, int) else each for each in sizes
        ]
        return parts[0] if len(parts) == 1 else self.add(ConcatOp, parts, axis=0).result

    def size(self, value: SSAValue, axis: int) -> Integer:
        """Returns the size of an axis."""
        found = shape_of(value)[axis]
        return self.add(ShapeOp, value, start=axis, end=axis + 1).result if found == DYNAMIC_INDEX else found

    def expanded(self, value: SSAValue, sizes: Sequence[Integer]) -> SSAValue:
        """Returns `value` broadcast to the given sizes."""
        if all(isinstance(each, int) for each in sizes):
            return self.add(ExpandOp, value, shape=list(sizes)).result
        known = [each if isinstance(each, int) else DYNAMIC_INDEX for each in sizes]
        hint = TensorType(cast(Any, element_of(value)), known)
        return self.add(ExpandOp, value, shape=self.vector(sizes), result_types=[hint]).result

    def is_zero(self, value: SSAValue) -> bool:
        """Returns True if all elements of `value` are known to be 0."""
        if isinstance(value.owner, ExpandOp):
            value = value.owner.input
        if not isinstance(value.owner, ConstantOp):
            return False
        found = self.graph.constant_value(value)
        return found is not None and not found.astype(np.float64).any()


Importer: TypeAlias = Callable[[AtenNode], "SSAValue | Sequence[SSAValue]"]
"""A function that adds the operations of a call, and returns the values of its outputs."""


def _category(element: Attribute) -> int:
    """Returns the order of an element type: Booleans, then integers, then floats."""
    return 2 if isinstance(element, AnyFloat) else int(element != i1)


def _bits(element: Attribute) -> int:
    return element.bitwidth if isinstance(element, AnyFloat | IntegerType) else 0
