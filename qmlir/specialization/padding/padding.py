"""The walk over a function of open sizes that makes its valid elements independent of its padding.

Each value has an extent for each axis, and elements whose place is beyond the size of a run are padding: they may be
anything. A rule for a family of operations says which extents the results have. Where an operation would let padding
reach a valid element, as a sum along a padded axis does, the rule puts a neutral element there, by a mask that
compares places with the size of the run. What has no rule is declined.
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
    """What is known of a value."""

    axes: Axes
    zeros: frozenset[int] = frozenset()
    """The axes along which padding is 0, the zero point of a quantized value."""

    content: Content | None = None
    """The elements of a list of sizes."""

    places: Places | None = None
    """What integers are that count places: the sum of places along axes, each times its extent."""

    @property
    def is_open(self) -> bool:
        """Whether anything of it depends on an open size."""
        return any(axis.names for axis in self.axes) or self.names_sizes

    @property
    def names_sizes(self) -> bool:
        """Whether an element is an open size."""
        return self.content is not None and any(isinstance(size, Extent) for size in sizes_in(self.content))


@dataclass(frozen=True)
class Condition:
    """What must hold of the sizes of a run: `left` is `right`, or is `right` at least, by the operation `where`."""

    left: Extent
    right: Extent
    is_equal: bool
    where: str

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it holds for these sizes."""
        left, right = self.left.at(sizes), self.right.at(sizes)
        return left == right if self.is_equal else left >= right

    @property
    def names(self) -> tuple[str, ...]:
        """The open sizes that it is about."""
        return tuple(dict.fromkeys((*self.left.names, *self.right.names)))

    def __str__(self) -> str:
        return f"{self.where} requires {self.left} {'=' if self.is_equal else '>='} {self.right}"


Rule = Callable[[Any, "PaddingWalk"], "Sequence[PaddedValue] | None"]
"""The facts of the results of an operation, which it may change; `None` for one that has to be taken apart."""

MOST_TRIED = 1024
"""The largest size that is tried where two sizes may be the same."""

TABLE = "padding"
"""The table of the registry that has the rule of each operation class, or of a class that it inherits from."""


def rule_of(op: Operation) -> Rule | None:
    """The rule of `op`, that of the nearest class that it inherits from."""
    table = registry.table(TABLE)
    return next((table[each] for each in type(op).__mro__ if each in table), None)


def axis_name(port: str, dims: Sequence[str], axis: int) -> str:
    """The name of an open size of an input: its own, and otherwise the input's with the number of the axis."""
    return (dims[axis] if dims else "") or f"{port}.{axis}"


def open_inputs(function: FuncOp) -> dict[str, Axes]:
    """The extents of each input of `function`. Raises `DiagnosticError` for one that is no tensor of known rank."""
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
    """One walk over a function; rules ask it for facts and masks."""

    def __init__(self, function: FuncOp, capacities: Mapping[str, int], *, is_sized: bool = False):
        """`is_sized` says that the types in the function have the capacities in the place of open sizes."""
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
        """The input that takes each open size that is needed in a run."""
        self.mixed: dict[str, Operation] = {}
        """The open sizes along which places have to do with each other, or count, with an operation that says so."""
        self.outputs: dict[str, Axes] = {}
        self.conditions: list[Condition] = []
        """What sizes must fulfil. The function is not defined for others at any capacity."""

    # --- The walk -----------------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Axes]) -> None:
        """Follow the operations in their order."""
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
        """Record the open sizes that occur twice in one value: it has an element for each pair of their indices."""
        found = Counter(
            name
            for axis in axes
            for factor in axis.opened
            for name in (factor.names if isinstance(factor, Quotient) else (factor,))
        )
        self._mix_names(name for name, times in found.items() if times > 1)

    def _check_sizes(self, op: Operation, result: SSAValue, axes: Axes) -> None:
        """Decline where the type of a result has the capacities, and they lie elsewhere than in `axes`."""
        type_ = ranked_tensor(result.type) if self.is_sized else None
        if type_ is not None and type_.has_static_shape():
            shape = tuple(axis.at(self.capacities) for axis in axes)
            if shape != type_.get_shape():
                self.decline(op, f"returns {result.type}, in which the position of the dynamic dimension is unknown")

    def _count_places(self, op: Operation) -> None:
        """Places that `op` computes with must be the same whatever the capacity."""
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
        """Visit the parts of a composite in its place. Raises `DiagnosticError` for what is none."""
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

    # --- What rules ask -----------------------------------------------------------------------------------------------

    def facts(self, value: SSAValue) -> PaddedValue:
        """What is known of `value`."""
        return self._facts[value]

    def axes(self, value: SSAValue) -> Axes:
        """The extents of the axes of `value`."""
        return self._facts[value].axes

    def is_fixed(self, value: SSAValue) -> bool:
        """Whether `value` follows from the model and the capacities: it is known when the function is specialized."""
        return value in self._fixed

    def decline(self, op: Operation, reason: str) -> NoReturn:
        """Raise `DiagnosticError`: the function can't be padded because of `op`."""
        raise op_error(op, reason)

    def mix(self, *axes: Extent) -> None:
        """Record that places along `axes` have to do with each other."""
        self._mix_names(name for axis in axes for name in axis.names)

    def _mix_names(self, names: Iterable[str]) -> None:
        assert self._op is not None
        for name in names:
            self.mixed.setdefault(name, self._op)

    def count(self, op: Operation, axis: Extent) -> None:
        """Record that `op` counts places along `axis`: they must be the same whatever the capacity."""
        if not axis.counts_places:
            self.decline(op, f"uses flat indices along {axis}, which change if an inner dimension is padded")
        self.mix(axis)

    def derived(self, op: Operation, axis: Extent) -> None:
        """Record that a size follows from that of `axis` in another way than as a product; declined for known types."""
        if self.is_sized:
            self.decline(op, f"computes across a dimension of size {axis}")
        self.count(op, axis)

    def require(self, op: Operation, left: Extent, right: Extent, *, is_equal: bool) -> None:
        """Record a condition, unless it holds in any case. Declines one that never does."""
        found = Condition(left, right, is_equal, describe(op))
        is_bounded = not is_equal and right.number is not None and left.grows
        if left == right or (is_bounded and found.holds(dict.fromkeys(left.names, 1))):
            return  # sizes are 1 at least
        if not found.names and not found.holds({}):
            self.decline(op, f"expected size {right}, but got {left}")
        if found.names:
            self.conditions.append(found)

    def together(self, op: Operation, left: Extent, right: Extent) -> None:
        """Take two sizes for one, by a condition; declined unless they follow from one size and may be the same."""
        found = Condition(left, right, True, describe(op))
        sizes = range(1, MOST_TRIED + 1)
        is_one = set(left.names) == set(right.names) and len(left.names) == 1
        if self.is_sized or not (is_one and any(found.holds({left.names[0]: size}) for size in sizes)):
            self.decline(op, f"combines sizes {left} and {right}, which may differ")
        self.derived(op, left)
        self.derived(op, right)
        self.conditions.append(found)

    def place(self, op: Operation) -> None:
        """Record that `op` finds the same element by places of any capacity."""
        self._placed.add(op)

    def data(self, op: Operation, *values: SSAValue | None) -> None:
        """Let operands of `op` that are open sizes be those of the run, as numbers; among `values` only if given."""
        for place, operand in enumerate(tuple(op.operands)):
            facts = self._facts[operand]
            if facts.names_sizes and (not values or operand in values):
                assert facts.content is not None
                op.operands[place] = self._numbers(facts, operand)

    def select(self, op: Operation, operand: SSAValue, axes: Iterable[int], fill: Array | None) -> None:
        """Let `op` read `fill`, one element, in the place of padding of `operand` along `axes`."""
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
        """`operand` between limits that are `fill` where it is not `valid`, and those of its type elsewhere.

        The limits are bytes where the elements are, of which vectors are made; there are none of truth values.
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
        """Insert `op`, which stands for what `before` does."""
        hand_on((before,), op)
        op.location = before.location
        self._block.insert_op_before(op, before)
        return op

    def put(self, before: Operation, op: CastOperation) -> SSAValue:
        """The result of a cast that is inserted."""
        hand_on((before,), op)
        op.location = before.location
        self._block.insert_op_before(op, before)
        return op.result

    def keep(self, value: SSAValue, facts: PaddedValue) -> SSAValue:
        """Record the facts of a value that a rule makes."""
        self._facts[value] = facts
        return value

    # --- Masks and sizes of the run, before everything else -----------------------------------------------------------

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
        """The result of an operation on sizes of the run and constants, which is computed before all others."""
        return self._begin(op).results[0]

    def take(self, op: Operation, operand: SSAValue, axis: int, indices: SSAValue) -> None:
        """Let `op` read the places `indices` of `operand` along `axis`, in that order."""
        made = self.insert(op, build(GatherOp, [operand, indices], {"axis": axis}))
        self._facts[made.result] = self._facts[operand]
        for place, each in enumerate(tuple(op.operands)):
            if each is operand:
                op.operands[place] = made.result

    def number(self, element: AnyFloat, number: float) -> SSAValue:
        """A number of a float type."""
        dtype = dense_dtype(element)
        return self._begin(ConstantOp.of(np.array(number, dtype), TensorType(element, []))).result

    def scalar(self, like: SSAValue, number: Array) -> SSAValue:
        """One element of the type of the elements of `like`, as it is stored."""
        return self._begin(ConstantOp.of(number, TensorType(element_of(like), []))).result

    def constant(self, array: Array) -> SSAValue:
        """Numbers of type i64."""
        return self._begin(ConstantOp.of(array.astype(np.int64), TensorType(i64, array.shape))).result

    def size(self, extent: Extent) -> SSAValue:
        """The size of the run, a number of type i64."""
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
        """A list of sizes as numbers of the run, of the type that it has."""
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
        """Which elements are no padding along the axes `which`, as an i1 that broadcasts to values of these `axes`."""
        masks = [self._valid_along(axes[axis], len(axes) - axis - 1) for axis in which if axes[axis].names]
        found = masks[0]
        for each in masks[1:]:
            found = self._begin(build(AndOp, [found, each])).result
        return found

    def _valid_along(self, extent: Extent, behind: int) -> SSAValue:
        """Which places along an axis are no padding, with as many axes of size 1 behind."""
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
        """A size and numbers that are below it where `places` are below `factor`.

        What follows from one open size is compared as that size: it grows with it, and nothing is computed in a run.
        """
        names = list(factor.names) if isinstance(factor, Quotient) else []
        if len(names) != 1:
            return Extent.of(factor), places
        name = names[0]
        grown = [Extent.of(factor).at({name: size}) for size in range(1, self.capacities[name] + 1)]
        return Extent.of(name), np.searchsorted(grown, places, side="right")


def _is_quantized_alike(value: SSAValue) -> bool:
    """Whether all elements are integers of one scale and zero point."""
    element = element_of(value)
    return isinstance(element, UniformQuantizedType) and element.granularity is Granularity.TENSOR


def zero_of(value: SSAValue) -> Array | None:
    """0 as elements of `value` store it; `None` where they have none, or not one for all."""
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
    """The lowest or the highest element that `value` may store; `None` where its channels have types of their own."""
    element = element_of(value)
    if isinstance(element, UniformQuantizedType) and not _is_quantized_alike(value):
        return None
    dtype = dense_dtype(storage_element(element))
    return None if dtype is None else np.array(element_limits(element)[int(highest)], dtype)
