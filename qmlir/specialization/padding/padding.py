"""The walk over a function with dynamic sizes that makes its valid elements independent of padding.

Each axis of a value has an extent. Elements beyond the runtime size are padding, which may have any value. The rule of
an operation family returns the extents of its results. If padding could reach a valid element (in a sum along a padded
axis, for example), the rule replaces it by a neutral element, with a mask that compares indices with the runtime size.
Operations without a rule are declined.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import Rewriter

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, element_limits
from qmlir.dialects.nn.building import NnOpT, build
from qmlir.dialects.nn.constant.ops import ConstantOp, storage_element
from qmlir.dialects.nn.elementwise.ops import AddOp, CastOp, DivOp, LessOp, MaxOp, MinOp, MulOp, WhereOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.logic.ops import AndOp
from qmlir.dialects.nn.movement.ops import ConcatOp, ReshapeOp
from qmlir.dialects.quant.ops import CastOperation
from qmlir.dialects.quant.types import Granularity, StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, ranked_tensor, shape_of
from qmlir.ir.decomposition import Parts, parts_given
from qmlir.ir.diagnostics import op_error
from qmlir.ir.provenance import describe, hand_on
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.padding.symbolic_sizes import Content, Extent, Quotient, as_extent, extents, sizes_in
from qmlir.specialization.specialize import reads_shapes_only
from qmlir.text.elements import dense_dtype

Axes = tuple[Extent, ...]


Places = Mapping[int, Extent]


@dataclass(frozen=True)
class PaddedValue:
    """The facts that the walk knows about a value."""

    axes: Axes
    zeros: frozenset[int] = frozenset()
    """The axes along which padding is 0 (the zero point of a quantized value)."""

    content: Content | None = None
    """The elements of a tensor of sizes."""

    places: Places | None = None
    """For a tensor of indices: its elements are the sum of the positions along these axes, each times its extent."""

    @property
    def is_open(self) -> bool:
        """Whether its shape or its elements depend on a dynamic dimension."""
        return any(axis.names for axis in self.axes) or self.names_sizes

    @property
    def names_sizes(self) -> bool:
        """Whether an element of the tensor is a dynamic size."""
        return self.content is not None and any(isinstance(size, Extent) for size in sizes_in(self.content))


@dataclass(frozen=True)
class Condition:
    """A requirement on runtime sizes, from the operation `where`: `left == right`, or `left >= right`."""

    left: Extent
    right: Extent
    is_equal: bool
    where: str

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Returns True if the condition holds for these sizes."""
        left, right = self.left.at(sizes), self.right.at(sizes)
        return left == right if self.is_equal else left >= right

    @property
    def names(self) -> tuple[str, ...]:
        """The dynamic dimensions in the condition."""
        return tuple(dict.fromkeys((*self.left.names, *self.right.names)))

    def __str__(self) -> str:
        return f"{self.where} requires {self.left} {'=' if self.is_equal else '>='} {self.right}"


Rule = Callable[[Any, "PaddingWalk"], "Sequence[PaddedValue] | None"]
"""Returns the facts of the results of an operation, which it may rewrite; `None` if it must be decomposed."""

MOST_TRIED = 1024
"""The largest size that is tried to find out if two sizes can be equal."""

TABLE = "padding"
"""The registry table with the rule of each operation class or of one of its base classes."""


def rule_of(op: Operation) -> Rule | None:
    """Returns the rule of the class of `op` or of its nearest base class, or `None`."""
    table = registry.table(TABLE)
    return next((table[each] for each in type(op).__mro__ if each in table), None)


def axis_name(port: str, dims: Sequence[str], axis: int) -> str:
    """Returns the name of an axis of an input: the name of its dimension if it has one, else `input.axis`."""
    return (dims[axis] if dims else "") or f"{port}.{axis}"


def open_inputs(function: FuncOp) -> dict[str, Axes]:
    """Returns the extents of each input of `function`. Raises `DiagnosticError` for one that isn't a ranked tensor."""
    found: dict[str, Axes] = {}
    for port in inputs_of(function):
        type_ = ranked_tensor(port.type)
        if type_ is None:
            raise op_error(
                function, f"input '{port.name}' must have a known rank to be padded, but got type {port.type}"
            )
        shape = type_.get_shape()
        found[port.name] = tuple(
            Extent.of(axis_name(port.name, port.dims, axis) if size < 0 else size) for axis, size in enumerate(shape)
        )
    return found


class PaddingWalk:
    """One walk over a function. It provides facts and masks for the rules."""

    def __init__(self, function: FuncOp, capacities: Mapping[str, int], *, is_sized: bool = False):
        """Creates a walk. `is_sized` means that the types in the function have capacities instead of dynamic sizes."""
        self._function = function
        self._block = function.body.block
        self._facts: dict[SSAValue, PaddedValue] = {}
        self._fixed: set[SSAValue] = set()
        self._placed: set[Operation] = set()
        self._begun: Operation | None = None
        self._sizes: dict[Extent, SSAValue] = {}
        self._masks: dict[tuple[Extent, int], SSAValue] = {}
        self._taken = {port.name for port in inputs_of(function)}
        self._op: Operation | None = None
        self.capacities = capacities
        self.is_sized = is_sized
        self.size_inputs: dict[str, str] = {}
        """The input for each dynamic dimension whose size is needed at run time."""
        self.mixed: dict[str, Operation] = {}
        """The dynamic dimensions whose elements are mixed or indexed, with an operation that does it."""
        self.outputs: dict[str, Axes] = {}
        self.conditions: list[Condition] = []
        """Conditions on the runtime sizes: the function is undefined for other sizes, at any capacity."""

    # --- The walk -----------------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Axes]) -> None:
        """Visits the operations in order, given the extents of the inputs."""
        for argument, axes in zip(self._block.args, inputs.values(), strict=True):
            self._facts[argument] = PaddedValue(axes)
        for op in list(self._block.ops):
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        if isinstance(op, ReturnOp):
            self._op = op
            self._count_places(op)
            self.data(op)
            ports = outputs_of(self._function)
            self.outputs = {port.name: self.axes(value) for port, value in zip(ports, op.operands, strict=True)}
            return
        self._op, rule = op, rule_of(op)
        found = None if rule is None else rule(op, self)
        if found is None and not any(self.facts(value).is_open for value in op.operands):
            found = [PaddedValue(self._closed(op, result)) for result in op.results]
        if found is None:
            self._take_apart(op)
            return
        if not (reads_shapes_only(op) or op in self._placed or any(facts.places is not None for facts in found)):
            self._count_places(op)
        is_fixed = reads_shapes_only(op) or all(map(self.is_fixed, op.operands))
        for result, facts in zip(op.results, found, strict=True):
            self._check_sizes(op, result, facts.axes)
            self._mix_repeated(facts.axes)
            self._facts[result] = facts
            if is_fixed:
                self._fixed.add(result)

    def _mix_repeated(self, axes: Axes) -> None:
        """Marks dimensions that occur twice in one value as mixed: it has an element for each pair of their indices."""
        found = Counter(
            name
            for axis in axes
            for factor in axis.opened
            for name in (factor.names if isinstance(factor, Quotient) else (factor,))
        )
        self._mix_names(name for name, times in found.items() if times > 1)

    def _check_sizes(self, op: Operation, result: SSAValue, axes: Axes) -> None:
        """Declines `op` if its types have capacities and the shape of `result` differs from `axes`."""
        type_ = ranked_tensor(result.type) if self.is_sized else None
        if type_ is not None and type_.has_static_shape():
            shape = tuple(axis.at(self.capacities) for axis in axes)
            if shape != type_.get_shape():
                self.decline(op, f"returns {result.type}, in which the position of the dynamic dimension is unknown")

    def _count_places(self, op: Operation) -> None:
        """Requires the indices that `op` computes with to be the same for every capacity."""
        for facts in map(self.facts, op.operands):
            for axis, step in (facts.places or {}).items():
                if step.names:
                    self.decline(op, f"uses indices multiplied by {step}, which change if that dimension is padded")
                self.count(op, facts.axes[axis])

    def _closed(self, op: Operation, result: SSAValue) -> Axes:
        type_ = ranked_tensor(result.type)
        if type_ is None or not type_.has_static_shape():
            self.decline(op, f"returns {result.type}, whose size does not follow from the dynamic dimensions")
        return extents(type_.get_shape())

    def _take_apart(self, op: Operation) -> None:
        """Decomposes a composite and visits its parts. Raises `DiagnosticError` if `op` isn't a composite."""
        parts = Parts(op)
        values = parts_given(op, parts) if isinstance(op, IRDLOperation) else None
        if values is None or parts.is_excerpt:
            parts.discard()
            self.decline(op, "has no padding rule for a dynamic dimension")
        self._block.insert_ops_before(parts.operations, op)
        for old, new in zip(tuple(op.results), values, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()
        for part in parts.operations:
            self._visit(part)

    # --- Interface for rules ------------------------------------------------------------------------------------------

    def facts(self, value: SSAValue) -> PaddedValue:
        """Returns the facts about `value`."""
        return self._facts[value]

    def axes(self, value: SSAValue) -> Axes:
        """Returns the extents of the axes of `value`."""
        return self._facts[value].axes

    def is_fixed(self, value: SSAValue) -> bool:
        """Returns True if `value` depends only on the model and the capacities, so that it's known at compile time."""
        return value in self._fixed

    def decline(self, op: Operation, reason: str) -> NoReturn:
        """Raises `DiagnosticError`: the function can't be padded because of `op`."""
        raise op_error(op, reason)

    def mix(self, *axes: Extent) -> None:
        """Records that elements along `axes` are mixed."""
        self._mix_names(name for axis in axes for name in axis.names)

    def _mix_names(self, names: Iterable[str]) -> None:
        assert self._op is not None
        for name in names:
            self.mixed.setdefault(name, self._op)

    def count(self, op: Operation, axis: Extent) -> None:
        """Records that `op` uses indices along `axis`, and declines it if they depend on a capacity."""
        if not axis.counts_places:
            self.decline(op, f"uses flat indices along {axis}, which change if an inner dimension is padded")
        self.mix(axis)

    def derived(self, op: Operation, axis: Extent) -> None:
        """Records that a size depends on that of `axis` other than by a product. Declines if types have capacities."""
        if self.is_sized:
            self.decline(op, f"computes across a dimension of size {axis}")
        self.count(op, axis)

    def require(self, op: Operation, left: Extent, right: Extent, *, is_equal: bool) -> None:
        """Records a condition on runtime sizes unless it always holds. Declines `op` if it never holds."""
        found = Condition(left, right, is_equal, describe(op))
        is_bounded = not is_equal and right.number is not None and left.grows
        if left == right or (is_bounded and found.holds(dict.fromkeys(left.names, 1))):
            return  # sizes are at least 1
        if not found.names and not found.holds({}):
            self.decline(op, f"expected size {right}, but got {left}")
        if found.names:
            self.conditions.append(found)

    def together(self, op: Operation, left: Extent, right: Extent) -> None:
        """Records the condition that two sizes are equal. Declines unless they depend on one size and can be equal."""
        found = Condition(left, right, True, describe(op))
        sizes = range(1, MOST_TRIED + 1)
        is_one = set(left.names) == set(right.names) and len(left.names) == 1
        if self.is_sized or not (is_one and any(found.holds({left.names[0]: size}) for size in sizes)):
            self.decline(op, f"combines sizes {left} and {right}, which may differ")
        self.derived(op, left)
        self.derived(op, right)
        self.conditions.append(found)

    def place(self, op: Operation) -> None:
        """Records that the indices of `op` select the same element at every capacity."""
        self._placed.add(op)

    def data(self, op: Operation, *values: SSAValue | None) -> None:
        """Replaces operands of `op` that hold dynamic sizes by the runtime sizes; only those in `values` if given."""
        for place, operand in enumerate(tuple(op.operands)):
            facts = self._facts[operand]
            if facts.names_sizes and (not values or operand in values):
                assert facts.content is not None
                op.operands[place] = self._numbers(facts, operand)

    def select(self, op: Operation, operand: SSAValue, axes: Iterable[int], fill: Array | None) -> None:
        """Makes `op` read `fill`, one element, instead of the padding of `operand` along `axes`."""
        known = self.axes(operand)
        chosen = [axis for axis in axes if known[axis].names]
        if not chosen:
            return
        if fill is None:
            self.decline(op, f"would read padding of {operand.type}, which has no neutral element")
        valid = self.valid(known, chosen)
        if _is_quantized_alike(operand):
            made = self._limit(op, operand, fill, valid)
        else:
            made = self.insert(op, build(WhereOp, [valid, operand, self.scalar(operand, fill)])).result
        self._facts[made] = PaddedValue(known, frozenset(chosen))
        for place, each in enumerate(tuple(op.operands)):
            if each is operand:
                op.operands[place] = made

    def _limit(self, op: Operation, operand: SSAValue, fill: Array, valid: SSAValue) -> SSAValue:
        """Clamps `operand` to limits that are `fill` for padding and those of its type for valid elements.

        The limits have the element type of the operand, so bytes stay bytes and vectorize; Booleans can't be clamped.
        """
        found = operand
        for kind, highest in ((MinOp, True), (MaxOp, False)):
            limit = limit_of(operand, highest=highest)
            assert limit is not None
            if limit != fill:
                choices = [valid, self.scalar(operand, limit), self.scalar(operand, fill)]
                made = build(kind, [found, self.begin(build(WhereOp, choices))])
                type_ = TensorType(element_of(operand), shape_of(made.result))
                Rewriter.replace_value_with_new_type(made.result, type_)
                found = self.insert(op, made).result
        return found

    def insert(self, before: Operation, op: NnOpT) -> NnOpT:
        """Inserts `op` before `before`, with its provenance and location."""
        hand_on((before,), op)
        op.location = before.location
        self._block.insert_op_before(op, before)
        return op

    def put(self, before: Operation, op: CastOperation) -> SSAValue:
        """Inserts a cast before `before` and returns its result."""
        hand_on((before,), op)
        op.location = before.location
        self._block.insert_op_before(op, before)
        return op.result

    def keep(self, value: SSAValue, facts: PaddedValue) -> SSAValue:
        """Records the facts of a value that a rule created, and returns the value."""
        self._facts[value] = facts
        return value

    # --- Masks and runtime sizes, computed at the start of the function -----------------------------------------------

    def _begin(self, op: NnOpT) -> NnOpT:
        if self._begun is None:
            self._block.insert_op_before(op, cast(Operation, self._block.first_op))
        else:
            self._block.insert_op_after(op, self._begun)
        self._begun = op
        for result in op.results:
            self._facts[result] = PaddedValue(extents(shape_of(result)))
        return op

    def begin(self, op: NnOp) -> SSAValue:
        """Inserts an operation on runtime sizes and constants at the start of the function; returns its result."""
        return self._begin(op).results[0]

    def take(self, op: Operation, operand: SSAValue, axis: int, indices: SSAValue) -> None:
        """Makes `op` read the elements of `operand` at `indices` along `axis`, in that order."""
        made = self.insert(op, build(GatherOp, [operand, indices], {"axis": axis}))
        self._facts[made.result] = self._facts[operand]
        for place, each in enumerate(tuple(op.operands)):
            if each is operand:
                op.operands[place] = made.result

    def number(self, element: AnyFloat, number: float) -> SSAValue:
        """Returns a scalar constant of a float type."""
        dtype = dense_dtype(element)
        return self._begin(ConstantOp.of(np.array(number, dtype), TensorType(element, []))).result

    def scalar(self, like: SSAValue, number: Array) -> SSAValue:
        """Returns a scalar constant of the element type of `like`; `number` is the stored value."""
        return self._begin(ConstantOp.of(number, TensorType(element_of(like), []))).result

    def constant(self, array: Array) -> SSAValue:
        """Returns a constant tensor of type i64."""
        return self._begin(ConstantOp.of(array.astype(np.int64), TensorType(i64, array.shape))).result

    def size(self, extent: Extent) -> SSAValue:
        """Returns the runtime size of `extent` as an i64 scalar."""
        if extent not in self._sizes:
            match extent.factors:
                case (str() as name,):
                    self._sizes[extent] = self._block.insert_arg(TensorType(i64, []), len(self._block.args))
                    self._facts[self._sizes[extent]] = PaddedValue(())
                    self.size_inputs[name] = self._new_name(name)
                case (Quotient() as found,):
                    self._sizes[extent] = self._quotient(found)
                case (int() as number,):
                    self._sizes[extent] = self.constant(np.array(number))
                case (first, *rest):
                    inner = [self.size(Extent.of(first)), self.size(Extent.of(*rest))]
                    self._sizes[extent] = self._begin(build(MulOp, inner)).result
                case _:
                    self._sizes[extent] = self.constant(np.array(1))
        return self._sizes[extent]

    def _quotient(self, size: Quotient) -> SSAValue:
        total = self.size(Extent.of(size.add))
        for factor, scale in size.terms:
            total = self._begin(build(AddOp, [total, self.size(Extent.of(factor, scale))])).result
        if size.divisor != 1:
            total = self._begin(build(DivOp, [total, self.size(Extent.of(size.divisor))])).result
        if size.most is not None:
            total = self._begin(build(MinOp, [total, self.size(Extent.of(size.most))])).result
        return total

    def _new_name(self, wanted: str) -> str:
        names = (wanted if not number else f"{wanted}_{number}" for number in count())
        found = next(name for name in names if name not in self._taken)
        self._taken.add(found)
        return found

    def _numbers(self, facts: PaddedValue, value: SSAValue) -> SSAValue:
        """Returns the runtime numbers of a tensor of sizes, with the type of `value`."""
        assert facts.content is not None
        extents_of_all = [as_extent(size) for size in sizes_in(facts.content)]
        self.mix(*extents_of_all)
        found = [self.size(extent) for extent in extents_of_all]
        if facts.content.ndim:
            listed = [self._begin(ReshapeOp(each, [1])).result for each in found]
            found = [self._begin(ConcatOp(listed, 0)).result]
        type_ = TensorType(element_of(value), shape_of(found[0]))
        if element_of(value) != i64:
            found = [self._begin(CastOp.build(operands=found, result_types=[type_])).result]
        return found[0]

    def valid(self, axes: Axes, which: Collection[int]) -> SSAValue:
        """Returns an i1 mask of the elements that aren't padding along the axes `which`; it broadcasts to `axes`."""
        masks = [self._valid_along(axes[axis], len(axes) - axis - 1) for axis in which if axes[axis].names]
        found = masks[0]
        for each in masks[1:]:
            found = self._begin(build(AndOp, [found, each])).result
        return found

    def _valid_along(self, extent: Extent, behind: int) -> SSAValue:
        """Returns the i1 mask of the valid indices along an axis, followed by `behind` axes of size 1."""
        key = (extent, behind)
        if key not in self._masks:
            found: SSAValue | None = None
            for factor, digits in extent.digits(self.capacities).items():
                bound, places = self._bounded(factor, digits)
                places = self.constant(places.reshape(-1, *(1,) * behind))
                is_valid = self._begin(build(LessOp, [places, self.size(bound)])).result
                found = is_valid if found is None else self._begin(build(AndOp, [found, is_valid])).result
            assert found is not None
            self._masks[key] = found
        return self._masks[key]

    def _bounded(self, factor: str | Quotient, places: Array) -> tuple[Extent, Array]:
        """Returns a size and numbers that are below it exactly if `places` are below `factor`.

        A factor that depends on one dimension is compared through that dimension: it is monotone, so nothing has to be
        computed at run time.
        """
        names = list(factor.names) if isinstance(factor, Quotient) else []
        if len(names) != 1:
            return Extent.of(factor), places
        name = names[0]
        grown = [Extent.of(factor).at({name: size}) for size in range(1, self.capacities[name] + 1)]
        return Extent.of(name), np.searchsorted(grown, places, side="right")


def _is_quantized_alike(value: SSAValue) -> bool:
    """Returns True if `value` is quantized per tensor: all elements have one scale and zero point."""
    element = element_of(value)
    return isinstance(element, UniformQuantizedType) and element.granularity is Granularity.TENSOR


def zero_of(value: SSAValue) -> Array | None:
    """Returns the stored value of 0 in `value`, or `None` if it has none or it differs between channels."""
    element = element_of(value)
    dtype = dense_dtype(storage_element(element))
    if dtype is None:
        return None
    if not isinstance(element, StoredType):
        return np.zeros((), dtype)
    if not isinstance(element, UniformQuantizedType) or element.zero_points.size != 1:
        return None
    is_stored = element.storage_min <= element.zero_point <= element.storage_max
    return np.array(element.zero_point, dtype) if is_stored else None


def limit_of(value: SSAValue, *, highest: bool) -> Array | None:
    """Returns the lowest or highest stored value of `value`, or `None` if it is quantized per channel."""
    element = element_of(value)
    if isinstance(element, UniformQuantizedType) and not _is_quantized_alike(value):
        return None
    dtype = dense_dtype(storage_element(element))
    return None if dtype is None else np.array(element_limits(element)[int(highest)], dtype)
