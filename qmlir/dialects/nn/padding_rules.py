"""The interface of padding rules, which let a program for one capacity compute every size up to that capacity.

Each axis of a value has an extent. Elements beyond the runtime size are padding, which may have any value. The rule of
an operation, `(op, at)`, returns the extents of its results. If padding could affect a valid element, for example in a
sum along a padded axis, the rule replaces the padding with a neutral element. To do so, it uses a mask that compares
indices with the runtime size. `qmlir.specialization.padding` visits the operations of a function and calls their rules.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, zip_longest
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.symbolic_sizes import Content, Extent, Quotient, Size, as_extent, extents, sizes_in
from qmlir.dialects.nn.base import Kind, element_limits, is_per_tensor, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp, storage_element
from qmlir.dialects.nn.elementwise.ops import AndOp, CastOp, MaxOp, MinOp, WhereOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.movement.ops import ConcatOp
from qmlir.dialects.nn.terms import Expr, InsertionBuilder
from qmlir.dialects.quant.types import StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, ranked_tensor, shape_of
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.evaluation import evaluate
from qmlir.ir.provenance import describe
from qmlir.ir.signature import inputs_of
from qmlir.registry import Hook
from qmlir.registry.faults import RAISED, one_line
from qmlir.text.elements import dense_dtype

Axes = tuple[Extent, ...]

ONE = Extent()


@dataclass(frozen=True)
class PaddedValue:
    """The facts that are known about a value in a padded function."""

    axes: Axes
    zeros: frozenset[int] = frozenset()
    """The axes along which the padding is 0 (the zero point, for a quantized value)."""

    content: Content | None = None
    """The elements of a tensor of sizes, if the value is one."""

    positions: Mapping[int, Extent] | None = None
    """For a tensor of indices: an element is the sum of its indices along these axes, each times the extent."""

    @property
    def is_open(self) -> bool:
        """Whether the shape or the elements of the value depend on a dynamic dimension."""
        return any(axis.names for axis in self.axes) or self.names_sizes

    @property
    def names_sizes(self) -> bool:
        """Whether any element of the tensor is a dynamic size."""
        return self.content is not None and any(isinstance(size, Extent) for size in sizes_in(self.content))

    def moved_to(self, after: Axes) -> "PaddedValue":
        """Returns the facts of this value after a reshape to the axes `after`, which keeps the order of the elements.

        Facts are kept for axes that occur exactly once before and after the reshape.
        """
        kept = {
            axis: after.index(extent)
            for axis, extent in enumerate(self.axes)
            if extent.names and self.axes.count(extent) == after.count(extent) == 1
        }
        is_placed = self.positions is not None and self.positions.keys() <= kept.keys()
        positions = {kept[axis]: step for axis, step in (self.positions or {}).items()} if is_placed else None
        return PaddedValue(after, frozenset(kept[axis] for axis in self.zeros if axis in kept), positions=positions)


@dataclass(frozen=True)
class Condition:
    """A requirement on runtime sizes, imposed by the operation `where`: `left == right`, or `left >= right`."""

    left: Extent
    right: Extent
    is_equal: bool
    where: str

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Returns True if the condition holds for the given sizes."""
        left, right = self.left.at(sizes), self.right.at(sizes)
        return left == right if self.is_equal else left >= right

    @property
    def names(self) -> tuple[str, ...]:
        """The dynamic dimensions on which the condition depends."""
        return tuple(dict.fromkeys((*self.left.names, *self.right.names)))

    def __str__(self) -> str:
        return f"{self.where} requires {self.left} {'=' if self.is_equal else '>='} {self.right}"


Rule = Callable[[Any, "PaddingSite"], "Sequence[PaddedValue] | None"]
"""A padding rule: returns the facts of the results of an operation, which it may rewrite.

`None` means that the operation must be decomposed.
"""

MOST_TRIED = 1024
"""The largest size that is tried to find out whether two sizes can be equal."""


# --- Elements that replace padding ------------------------------------------------------------------------------------


Fill = Callable[[SSAValue], Array | None]
"""A function that returns the stored value with which an operand's padding is replaced; `None` if its type has none."""


def zero_of(value: SSAValue) -> Array | None:
    """Returns the stored value that represents 0 in `value`.

    Returns `None` if no stored value represents it, or if that value differs between channels.
    """
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


def one_of(value: SSAValue) -> Array | None:
    """Returns 1 in the element type of `value`; `None` if it is quantized."""
    zero = zero_of(value)
    return None if zero is None or kind_of(element_of(value)) is Kind.QUANTIZED else np.ones_like(zero)


def _limit_of(value: SSAValue, *, highest: bool) -> Array | None:
    element = element_of(value)
    if isinstance(element, UniformQuantizedType) and not is_per_tensor(element):
        return None
    dtype = dense_dtype(storage_element(element))
    return None if dtype is None else np.array(element_limits(element)[int(highest)], dtype)


def lowest_of(value: SSAValue) -> Array | None:
    """Returns the lowest stored value of `value`; `None` if it is quantized per channel."""
    return _limit_of(value, highest=False)


def highest_of(value: SSAValue) -> Array | None:
    """Returns the highest stored value of `value`; `None` if it is quantized per channel."""
    return _limit_of(value, highest=True)


class PaddingSite:
    """The interface for rules: one operation of a function whose dynamic dimensions are padded to their capacities.

    A rule that cannot pad the operation declines it: `decline` raises `DiagnosticError`. Methods that check a
    requirement of padding decline in the same way.
    """

    def __init__(self, function: FuncOp, capacities: Mapping[str, int], *, is_sized: bool = False):
        """Starts without facts. If `is_sized`, the function's types have capacities instead of dynamic dimensions."""
        self.function = function
        self.op: Operation = function
        """The operation whose rule is being called."""
        self.start = InsertionBuilder(function, self._begin)
        """Inserts operations on runtime sizes and constants at the start of the function."""
        self.capacities = capacities
        self.is_sized = is_sized
        self.size_inputs: dict[str, str] = {}
        """The input that holds the runtime size of each dynamic dimension for which one is needed."""
        self.mixed: dict[str, Operation] = {}
        """The dynamic dimensions along which elements are mixed or indexed, each with an operation that does so."""
        self.derived_names: set[str] = set()
        """The dynamic dimensions from which sizes derive, but not by a product, such as the number of windows."""
        self.conditions: list[Condition] = []
        """The conditions on runtime sizes: for sizes that violate them, the function is undefined at any capacity."""
        self._block = function.body.block
        self._facts: dict[SSAValue, PaddedValue] = {}
        self._fixed: set[SSAValue] = set()
        self._placed: set[Operation] = set()
        self._begun: Operation | None = None
        self._sizes: dict[Extent, Expr] = {}
        self._masks: dict[tuple[Extent, int], SSAValue] = {}
        self._taken = {port.name for port in inputs_of(function)}

    # --- Facts --------------------------------------------------------------------------------------------------------

    def facts(self, value: SSAValue) -> PaddedValue:
        """Returns the facts known about `value`."""
        return self._facts[value]

    def axes(self, value: SSAValue) -> Axes:
        """Returns the extents of the axes of `value`."""
        return self._facts[value].axes

    def is_fixed(self, value: SSAValue) -> bool:
        """Returns True if `value` depends only on the model and the capacities, so that it is known at compile time."""
        return value in self._fixed

    def elements(self, value: SSAValue, what: str) -> list[Size]:
        """Returns the elements of a tensor of sizes.

        Declines if they are unknown; `what` names the thing that is computed from them.
        """
        content = self.facts(value).content
        if content is None:
            self.decline(f"computes {what} from sizes in an unsupported way")
        return sizes_in(content)

    def sizes(self, name: str) -> list[Size] | None:
        """Returns the numbers of the operation's parameter `name`; `None` if it is omitted."""
        op: Any = self.op
        value, known = getattr(op, f"{name}_value"), op.integers(name)
        if value is not None:
            return self.elements(value, name)
        return None if known is None else list(known)

    def integers(self, name: str) -> list[int] | None:
        """Returns the numbers of the parameter `name`; `None` if it is omitted. Declines if one is not static."""
        sizes = self.sizes(name)
        if any(not isinstance(size, int) for size in sizes or ()):
            self.decline(f"computes {name} from dynamic dimensions")
        return cast(list[int] | None, sizes)

    def array(self, name: str) -> Array | None:
        """Returns the numbers of the parameter `name` as an array, like `integers`."""
        numbers = self.integers(name)
        return None if numbers is None else np.array(numbers)

    def keep(self, value: SSAValue, facts: PaddedValue) -> SSAValue:
        """Records the facts about a value that a rule created, and returns the value."""
        self._facts[value] = facts
        return value

    # --- Requirements -------------------------------------------------------------------------------------------------

    def decline(self, reason: str) -> NoReturn:
        """Raises `DiagnosticError` with the reason why the operation prevents padding the function."""
        raise op_error(self.op, reason)

    def mix(self, *axes: Extent) -> None:
        """Records that the operation mixes elements along `axes`."""
        for name in (name for axis in axes for name in axis.names):
            self.mixed.setdefault(name, self.op)

    def count(self, axis: Extent) -> None:
        """Records that the operation uses indices along `axis`. Declines if these depend on a capacity."""
        if not axis.counts_places:
            self.decline(f"uses flat indices along {axis}, which change if an inner dimension is padded")
        self.mix(axis)

    def derived(self, axis: Extent) -> None:
        """Records that a size derives from that of `axis`, but not by a product. Declines if types have capacities."""
        if self.is_sized:
            self.decline(f"computes across a dimension of size {axis}")
        self.count(axis)
        self.derived_names.update(axis.names)

    def keeps_positions(self) -> None:
        """Records that the indices used by the operation select the same elements at every capacity."""
        self._placed.add(self.op)

    def require(self, left: Extent, right: Extent, *, is_equal: bool = False) -> None:
        """Records a condition on runtime sizes, unless it always holds. Declines if it never holds."""
        found = Condition(left, right, is_equal, describe(self.op))
        is_bounded = not is_equal and right.number is not None and left.grows
        if left == right or (is_bounded and found.holds(dict.fromkeys(left.names, 1))):
            return  # sizes are at least 1
        if not found.names and not found.holds({}):
            self.decline(f"expected size {right}, but got {left}")
        if found.names:
            self.conditions.append(found)

    def at_least(self, least: int, *sizes: Size) -> None:
        """Requires each dynamic size, which may be a difference, to be at least `least` at run time."""
        for size in sizes:
            if isinstance(size, Extent) and size.names:
                self.require(size, Extent.of(least))

    def together(self, left: Extent, right: Extent) -> None:
        """Records the condition that two sizes are equal.

        Declines unless both depend on the same single dynamic dimension and can be equal.
        """
        found = Condition(left, right, True, describe(self.op))
        sizes = range(1, MOST_TRIED + 1)
        is_one = set(left.names) == set(right.names) and len(left.names) == 1
        if self.is_sized or not (is_one and any(found.holds({left.names[0]: size}) for size in sizes)):
            self.decline(f"combines sizes {left} and {right}, which may differ")
        self.derived(left)
        self.derived(right)
        self.conditions.append(found)

    def broadcast(self, *values: Axes) -> Axes:
        """Returns the extents of the shape to which the given shapes broadcast."""
        found: Axes = ()
        for axes in values:
            joined: list[Extent] = []
            for left, right in zip_longest(reversed(found), reversed(axes), fillvalue=ONE):
                if left not in (right, ONE) and right != ONE:
                    self.together(left, right)
                joined.append(right if left == ONE else left)
            found = tuple(reversed(joined))
        return found

    # --- Rewrites of the operation ------------------------------------------------------------------------------------

    @property
    def here(self) -> InsertionBuilder:
        """A site that inserts operations before the current one, with its provenance and location."""
        return InsertionBuilder(self.op, self._insert)

    def _insert(self, op: Operation) -> None:
        op.location = self.op.location
        self._block.insert_op_before(op, self.op)

    def _read(self, operand: SSAValue, instead: SSAValue) -> SSAValue:
        for position, each in enumerate(tuple(self.op.operands)):
            if each is operand:
                self.op.operands[position] = instead
        return instead

    def replace(self, result: SSAValue, value: SSAValue, facts: PaddedValue) -> None:
        """Replaces a result of the operation with `value`, which a rule created and about which `facts` hold."""
        result.replace_all_uses_with(self.keep(value, facts))

    def data(self, *values: SSAValue | None) -> None:
        """Replaces operands that hold dynamic sizes with the runtime sizes; only those in `values` if any are given."""
        for operand in tuple(self.op.operands):
            facts = self._facts[operand]
            if facts.names_sizes and (not values or operand in values):
                self._read(operand, self._numbers(facts, operand))

    def select(self, operand: SSAValue, axes: Iterable[int], fill: Fill) -> SSAValue:
        """Makes the operation read `fill` instead of the padding of `operand` along `axes`.

        Returns the new operand.
        """
        facts, number, zero = self.facts(operand), fill(operand), zero_of(operand)
        is_zero = number is not None and zero is not None and bool(number == zero)
        chosen = [axis for axis in axes if facts.axes[axis].names and not (is_zero and axis in facts.zeros)]
        if not chosen:
            return operand
        if number is None:
            self.decline(f"would read padding of {operand.type}, which has no neutral element")
        valid = self.valid(facts.axes, chosen)
        if is_per_tensor(element_of(operand)):
            made = self._limit(operand, number, valid)
        else:
            made = self.here.add(WhereOp, valid, operand, self.scalar(operand, number)).result
        zeros = facts.zeros.union(chosen) if is_zero else frozenset[int]()
        return self._read(operand, self.keep(made, PaddedValue(facts.axes, zeros)))

    def _limit(self, operand: SSAValue, fill: Array, valid: SSAValue) -> SSAValue:
        """Clamps `operand` to limits that are `fill` for padding and those of its type for valid elements.

        The limits have the element type of the operand, so bytes stay bytes and vectorize; Booleans can't be clamped.
        """
        found = operand
        for kind, limit in ((MinOp, highest_of(operand)), (MaxOp, lowest_of(operand))):
            assert limit is not None
            if limit != fill:
                choices = [valid, self.scalar(operand, limit), self.scalar(operand, fill)]
                made = self.here.add(kind, found, self.start.add(WhereOp, *choices).result)
                type_ = TensorType(element_of(operand), shape_of(made.result))
                found = Rewriter.replace_value_with_new_type(made.result, type_)
        return found

    def take(self, operand: SSAValue, axis: int, indices: Expr) -> None:
        """Makes the operation read the elements of `operand` at `indices` along `axis`, in the order of the indices."""
        made = self.here.add(GatherOp, operand, indices.value, axis=axis).result
        self._read(operand, self.keep(made, self._facts[operand]))

    # --- Masks and runtime sizes, computed at the start of the function -----------------------------------------------

    def _begin(self, op: Operation) -> None:
        if self._begun is None:
            self._block.insert_op_before(op, cast(Operation, self._block.first_op))
        else:
            self._block.insert_op_after(op, self._begun)
        self._begun = op
        for result in op.results:
            self._facts[result] = PaddedValue(extents(shape_of(result)))

    def scalar(self, like: SSAValue, number: Array) -> SSAValue:
        """Returns a scalar constant with the element type of `like`; `number` is the stored value."""
        return self.start.append(ConstantOp.of(number, TensorType(element_of(like), []))).result

    def constant(self, array: Array) -> Expr:
        """Returns a constant tensor of type i64."""
        made = ConstantOp.of(array.astype(np.int64), TensorType(i64, array.shape))
        return Expr(self.start, self.start.append(made).result)

    def size(self, extent: Extent) -> Expr:
        """Returns the runtime size of `extent` as an i64 scalar."""
        if extent not in self._sizes:
            self._sizes[extent] = self._computed(extent)
        return self._sizes[extent]

    def _computed(self, extent: Extent) -> Expr:
        match extent.factors:
            case (str() as name,):
                argument = self._block.insert_arg(TensorType(i64, []), len(self._block.args))
                self.size_inputs[name] = self._new_name(name)
                return Expr(self.start, self.keep(argument, PaddedValue(())))
            case (Quotient() as found,):
                return self._quotient(found)
            case (first, second, *rest):
                return self.size(Extent.of(first)) * self.size(Extent.of(second, *rest))
            case _:
                return self.constant(np.array(extent.scale))

    def _quotient(self, size: Quotient) -> Expr:
        total = self.size(Extent.of(size.add))
        for factor, scale in size.terms:
            total = total + self.size(Extent.of(factor, scale))
        if size.divisor != 1:
            total = total / self.size(Extent.of(size.divisor))
        return total if size.most is None else total.apply(MinOp, self.size(Extent.of(size.most)))

    def _new_name(self, wanted: str) -> str:
        names = (wanted if not number else f"{wanted}_{number}" for number in count())
        found = next(name for name in names if name not in self._taken)
        self._taken.add(found)
        return found

    def _numbers(self, facts: PaddedValue, value: SSAValue) -> SSAValue:
        """Returns the runtime numbers of a tensor of sizes, with the type of `value`."""
        assert facts.content is not None
        listed = list(map(as_extent, sizes_in(facts.content)))
        self.mix(*listed)
        found, *others = (self.size(extent).value for extent in listed)
        if facts.content.ndim:
            rows = [self.start.reshaped(each, [1]) for each in (found, *others)]
            found = self.start.add(ConcatOp, rows, axis=0).result
        type_ = TensorType(element_of(value), shape_of(found))
        return found if element_of(value) == i64 else self.start.add(CastOp, found, result_types=[type_]).result

    def valid(self, axes: Axes, which: Collection[int]) -> SSAValue:
        """Returns an i1 mask that broadcasts to `axes`: true for elements that are not padding along axes `which`."""
        return self._all(self._valid_along(axes[axis], len(axes) - axis - 1) for axis in which if axes[axis].names)

    def _all(self, masks: Iterator[SSAValue]) -> SSAValue:
        found = next(masks)
        for each in masks:
            found = self.start.add(AndOp, found, each).result
        return found

    def _valid_along(self, extent: Extent, behind: int) -> SSAValue:
        """Returns the i1 mask of the valid indices along an axis, followed by `behind` axes of size 1."""
        key = (extent, behind)
        if key not in self._masks:
            digits = extent.digits(self.capacities).items()
            self._masks[key] = self._all(self._below(*each, behind) for each in digits)
        return self._masks[key]

    def _below(self, factor: str | Quotient, digits: Array, behind: int) -> SSAValue:
        """Returns the i1 mask of the indices whose digit is below the runtime size of `factor`.

        A factor that depends on one dimension is compared through that dimension: it is monotone, so nothing has to be
        computed at run time.
        """
        bound = Extent.of(factor)
        if isinstance(factor, Quotient) and len(bound.names) == 1:
            (name,) = bound.names
            grown = [bound.at({name: size}) for size in range(1, self.capacities[name] + 1)]
            bound, digits = Extent.of(name), np.searchsorted(grown, digits, side="right")
        return (self.constant(digits.reshape(-1, *(1,) * behind)) < self.size(bound)).value


# --- Rules that several families have ---------------------------------------------------------------------------------


def elementwise(op: Operation, at: PaddingSite) -> Sequence[PaddedValue]:
    """The padding rule of elementwise operations."""
    at.data()
    return [PaddedValue(at.broadcast(*map(at.axes, op.operands)))]


def each_sample(op: Operation, at: PaddingSite) -> Sequence[PaddedValue] | None:
    """The padding rule of operations that compute each sample separately: only the batch dimension may be dynamic."""
    data, *others = (at.axes(value) for value in op.operands)
    results = [shape_of(result)[1:] for result in op.results]
    is_open = any(axis.names for axis in (*data[1:], *(axis for axes in others for axis in axes)))
    if is_open or any(size < 0 for shape in results for size in shape):
        return None
    return [PaddedValue((data[0], *extents(shape))) for shape in results]


def along(axes_of: Callable[[Any, int], Iterable[int]]) -> Rule:
    """Returns the padding rule of an operation that computes along axes that must be static: `axes_of(op, rank)`.

    Its operands are broadcast to a common shape.
    """

    def rule(op: Operation, at: PaddingSite) -> Sequence[PaddedValue] | None:
        after = at.broadcast(*map(at.axes, op.operands))
        return None if any(after[axis].names for axis in axes_of(op, len(after))) else [PaddedValue(after)]

    return rule


def on_images(rule: Rule) -> Rule:
    """Wraps the rule of an operation on images `[N, C, spatial…]`, to be used only if a spatial axis is dynamic.

    Images are computed separately, so a dynamic batch needs no rule. Channels and weights must be static.
    """

    def whole(op: Operation, at: PaddingSite) -> Sequence[PaddedValue] | None:
        data, *others = map(at.axes, op.operands)
        if at.is_sized or not any(axis.names for axis in data[1:]):
            return each_sample(op, at)
        for axis in (data[1], *(axis for axes in others for axis in axes)):
            if axis.names:
                at.decline(f"has {axis} channels or weights, but only spatial axes and the batch can be padded")
        return rule(op, at)

    return whole


def evaluated(op: Operation, at: PaddingSite, contents: Sequence[Content]) -> Content | None:
    """Evaluates an operation that only moves sizes, with its evaluator; `None` if an index or a shape is dynamic."""
    known = [
        each if any(isinstance(size, Extent) for size in sizes_in(each)) else each.astype(int) for each in contents
    ]
    if not isinstance(op, ConcatOp) and any(each.dtype == object for each in known[1:]):
        return None
    results = evaluate(op, known)
    return None if results is None else results[0]


def with_sizes(
    rule: Rule, evaluator: Callable[[Any, PaddingSite, Sequence[Content]], Content | None] = evaluated
) -> Rule:
    """Wraps `rule`: an operation whose operands are all tensors of sizes is instead evaluated symbolically.

    `evaluator(op, at, contents)` returns the resulting sizes, or `None` if `rule` applies.
    """

    def whole(op: Operation, at: PaddingSite) -> Sequence[PaddedValue] | None:
        contents = [content for value in op.operands if (content := at.facts(value).content) is not None]
        is_list = len(contents) == len(op.operands) and len(shape_of(op.results[0])) <= 1
        found = evaluator(op, at, contents) if is_list else None
        if found is None:
            return rule(op, at)
        content = np.asarray(found, object)
        return [PaddedValue(extents(content.shape), content=content)]

    return whole


def guarded_padding(hook: Hook) -> Rule:
    """Wraps a package's rule to check the facts that it returns: one for each result, with an extent for each axis."""

    def guarded(op: Operation, at: PaddingSite) -> Sequence[PaddedValue] | None:
        def wrong(message: str, error: BaseException | None = None) -> DiagnosticError:
            return op_error(op, f"cannot be padded: its padding rule {message}{hook.at(error)}")

        try:
            found = cast(object, hook.function(op, at))
        except DiagnosticError:
            raise
        except RAISED as error:  # a package may raise anything
            raise wrong(f"raises {one_line(error)}", error) from error
        if found is None:
            return None
        facts = cast(Sequence[object], found) if isinstance(found, Sequence) else ()
        known = [each for each in facts if isinstance(each, PaddedValue)]
        types = [ranked_tensor(result.type) for result in op.results]
        if len(known) != len(facts) or [len(each.axes) for each in known] != [
            -1 if type_ is None else type_.get_num_dims() for type_ in types
        ]:
            raise wrong(f"must return a PaddedValue for each of ({', '.join(map(str, op.result_types))})")
        return known

    return guarded
