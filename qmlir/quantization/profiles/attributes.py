"""Statistics beside values: the attribute `calib.stats` on the operation that gives a value, or on an argument.

An operation with one result has one `#calib.stats`; one with several has an array with an entry for each, `unit` where
nothing is known.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    DictionaryAttr,
    Float16Type,
    Float64Type,
    FunctionType,
    ModuleOp,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.types import StatsAttr
from qmlir.dialects.nn.base import NnOp, plain_type
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.decomposition import components_of
from qmlir.dialects.quant.types import CalibratedQuantizedType
from qmlir.ir.builtin_types import element_of, tensor
from qmlir.ir.control_flow import handed_on
from qmlir.ir.decomposition import Parts
from qmlir.quantization.profiles.keys import functions_of, is_constant

STATS = "calib.stats"

PARTS = "calib.parts"
"""The statistics of the parts of a composite that is whole until its length is known, by role."""

_SMALLEST: Mapping[type[Attribute], float] = {Float16Type: 2.0**-24, BFloat16Type: 2.0**-133, Float64Type: 2.0**-1074}


def calibrated_type(minimum: float, maximum: float, expressed: AnyFloat) -> CalibratedQuantizedType:
    """The type of a value seen in this range.

    A range of one number is none to the type. It is widened to 0, which a quantizer does anyway; that of zeros alone
    by the smallest positive number of the expressed type, whose scale is degenerate still.
    """
    if minimum == maximum:
        minimum, maximum = min(minimum, 0.0), max(maximum, 0.0)
    if minimum == maximum:
        maximum = _SMALLEST.get(type(expressed), 2.0**-149)
    return CalibratedQuantizedType.of(minimum, maximum, expressed)


def _place(value: SSAValue) -> tuple[Operation | FuncOp, int]:
    """Who gives `value`, and at which place among its like."""
    if isinstance(value, OpResult):
        return value.op, value.index
    function = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(function, FuncOp) or not isinstance(value, BlockArgument):
        raise ValueError("statistics can only be attached to results and function arguments")
    return function, value.index


def _entries(function: FuncOp) -> list[dict[str, Attribute]]:
    if function.arg_attrs is None:
        return [{} for _ in function.function_type.inputs]
    return [dict(cast(Mapping[str, Attribute], entry.data)) for entry in function.arg_attrs]


def attach(value: SSAValue, statistics: Statistics | StatsAttr) -> None:
    """Put `statistics`, of at least one value seen, beside `value`."""
    attribute = statistics if isinstance(statistics, StatsAttr) else StatsAttr.of_statistics(statistics)
    owner, place = _place(value)
    if not isinstance(value.owner, Operation):
        assert isinstance(owner, FuncOp)
        entries = _entries(owner)
        entries[place][STATS] = attribute
        owner.arg_attrs = ArrayAttr(DictionaryAttr(entry) for entry in entries)
    elif len(owner.results) == 1:
        owner.attributes[STATS] = attribute
    else:
        known = owner.attributes.get(STATS)
        each: list[Attribute] = [UnitAttr() for _ in owner.results]
        if isinstance(known, ArrayAttr):
            each = list(cast(ArrayAttr[Attribute], known))
        each[place] = attribute
        owner.attributes[STATS] = ArrayAttr(each)


def attach_parts(composite: NnOp, statistics: Mapping[str, Statistics]) -> None:
    """Give a composite the ranges of its parts, in its `components`, and their statistics beside it."""
    expressed = plain_type(element_of(composite.results[0]))
    assert isinstance(expressed, AnyFloat)
    types = {role: calibrated_type(each.minimum, each.maximum, expressed) for role, each in statistics.items()}
    composite.components = DictionaryAttr({**components_of(composite), **types})
    known = composite.attributes.get(PARTS)
    before: Mapping[str, Attribute] = known.data if isinstance(known, DictionaryAttr) else {}
    made = {role: StatsAttr.of_statistics(each) for role, each in statistics.items()}
    if before or made:
        composite.attributes[PARTS] = DictionaryAttr({**before, **made})


def hand_on_parts(composite: Operation, parts: Parts) -> None:
    """Put the statistics beside a composite beside its parts."""
    known = composite.attributes.get(PARTS)
    for role, part in zip(parts.roles, parts.operations, strict=True):
        if isinstance(known, DictionaryAttr) and role in known.data and not is_constant(part):
            part.attributes[STATS] = known.data[role]


def stats_of(value: SSAValue) -> StatsAttr | None:
    """What stands beside `value`, `None` where nothing does, as beside what a loop hands on."""
    if isinstance(value.owner, Block) and not isinstance(value.owner.parent_op(), FuncOp):
        return None
    owner, place = _place(value)
    if isinstance(value.owner, Operation):
        known = owner.attributes.get(STATS)
        if isinstance(known, ArrayAttr):
            known = cast(ArrayAttr[Attribute], known).data[place]
    else:
        assert isinstance(owner, FuncOp)
        known = _entries(owner)[place].get(STATS)
    return known if isinstance(known, StatsAttr) else None


def statistics_of(value: SSAValue) -> Statistics | None:
    """The statistics beside `value`, `None` where there are none, or only a summary."""
    known = stats_of(value)
    return known.statistics if known is not None and known.is_complete else None


@dataclass
class _Ties:
    """Values that have one type because a call, a choice or a loop hands one on as the other."""

    _parents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def root(self, value: SSAValue) -> SSAValue:
        while (parent := self._parents.get(value)) is not None:
            value = parent
        return value

    def tie(self, left: Iterable[SSAValue], right: Iterable[SSAValue]) -> None:
        for one, other in zip(left, right, strict=True):
            if self.root(one) is not self.root(other):
                self._parents[self.root(one)] = self.root(other)


def _return_of(function: FuncOp) -> ReturnOp | None:
    last = function.body.blocks[-1].last_op
    return last if isinstance(last, ReturnOp) else None


def _calls(module: ModuleOp) -> Iterator[tuple[CallOp, FuncOp]]:
    functions = {function.sym_name.data: function for function in functions_of(module)}
    for op in module.walk():
        if isinstance(op, CallOp) and op.callee.root_reference.data in functions:
            yield op, functions[op.callee.root_reference.data]


def _values_of(function: FuncOp) -> Iterator[SSAValue]:
    """The arguments of a function and of regions in it, and the results."""
    for op in function.walk():
        yield from (argument for region in op.regions for block in region.blocks for argument in block.args)
        if op is not function:
            yield from op.results


def _own_constants(module: ModuleOp) -> None:
    """Let each loop begin with a constant of its own: two that begin with one constant have ranges of their own."""
    for each in [each for op in module.walk() for each in handed_on(op)]:
        owner = each.given.owner
        if isinstance(owner, Operation) and is_constant(owner) and not each.given.has_one_use():
            own = owner.clone()
            Rewriter.insert_op(own, InsertPoint.before(each.user))
            each.user.operands[each.place] = own.results[0]


def _ties(module: ModuleOp) -> _Ties:
    ties = _Ties()
    for op in module.walk():
        for each in handed_on(op):
            ties.tie([each.given], [each.taken])
    for call, function in _calls(module):
        ties.tie(call.operands, function.body.blocks[0].args)
        if (returned := _return_of(function)) is not None:
            ties.tie(call.results, returned.operands)
    return ties


def _constants_in(
    module: ModuleOp, ties: _Ties, roots: Set[SSAValue]
) -> Iterator[tuple[SSAValue, tuple[float, float]]]:
    """The ranges of constants that are tied to values of `roots`."""
    for each in (each for op in module.walk() for each in handed_on(op) if ties.root(each.given) in roots):
        array = constant_array(each.given)
        if array is not None and array.size and np.isfinite(array).all():
            yield each.given, (float(array.min()), float(array.max()))


def tied_statistics(module: ModuleOp, entries: Mapping[SSAValue, Statistics]) -> dict[SSAValue, Statistics]:
    """The statistics of values without an entry that calls, choices and loops hand on as values with one.

    No sample reached them, as in a branch that none took. Of several values with entries the one of the widest range
    counts.
    """
    ties, known = _ties(module), dict[SSAValue, Statistics]()
    for value, each in entries.items():
        widest = known.setdefault(ties.root(value), each)
        if each.maximum - each.minimum > widest.maximum - widest.minimum:
            known[ties.root(value)] = each
    results = (result for function in functions_of(module) for op in function.body.walk() for result in op.results)
    roots = ((each, ties.root(each)) for each in results if each not in entries and constant_array(each) is None)
    return {each: known[root] for each, root in roots if root in known}


def set_ranges(module: ModuleOp, entries: Mapping[SSAValue, tuple[float, float]]) -> None:
    """Give each value that has an entry, and what calls, choices and loops hand on as it, the calibrated type of the
    range, which constants among them are in."""
    _own_constants(module)
    ties = _ties(module)
    ranges: dict[SSAValue, tuple[float, float]] = {}
    known = {ties.root(value) for value in entries}
    for value, (minimum, maximum) in (*entries.items(), *_constants_in(module, ties, known)):
        root = ties.root(value)
        low, high = ranges.get(root, (minimum, maximum))
        ranges[root] = min(low, minimum), max(high, maximum)
    for function in functions_of(module):
        for value in list(_values_of(function)):
            if (found := ranges.get(ties.root(value))) is not None:
                type_ = tensor(value.type)
                expressed = plain_type(type_.get_element_type())
                assert isinstance(expressed, AnyFloat)
                element = calibrated_type(*found, expressed)
                Rewriter.replace_value_with_new_type(value, TensorType(element, type_.get_shape(), type_.encoding))
        returned = _return_of(function)
        outputs = function.function_type.outputs.data if returned is None else [each.type for each in returned.operands]
        inputs = [argument.type for argument in function.body.blocks[0].args]
        function.function_type = FunctionType.from_lists(inputs, list(outputs))
