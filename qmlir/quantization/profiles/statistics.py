"""Recorded statistics of values: how they are attached to a module, and the statistics and ranges that a model carries.

The attribute `calib.stats` is on the producer of a value, or on an argument. The attribute of an operation with one
result is a `#calib.stats`. If the operation has several results, it is an array with one entry per result; the entry of
a result without statistics is `unit`.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
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
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.disjoint_set import DisjointSet

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.calibrators import calibrate
from qmlir.arithmetic.schemes import Grid
from qmlir.arithmetic.statistics import BatchRanges, Statistics
from qmlir.dialects.calib.types import StatsAttr
from qmlir.dialects.nn.base import NnOp, plain_type
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.decomposition import components_of
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.quant.types import CalibratedQuantizedType
from qmlir.ir.builtin_types import element_of, tensor
from qmlir.ir.control_flow import forwarded
from qmlir.ir.decomposition import Parts
from qmlir.quantization.choice import Choice
from qmlir.quantization.profiles.keys import functions_of, has_parameters, is_constant, keyed_values, tensor_of
from qmlir.quantization.profiles.profile import Profile, model_digest

STATS = "calib.stats"

PARTS = "calib.parts"
"""The attribute with the statistics of a composite's parts, by role, if it is decomposed only when its length is
known."""

_SMALLEST: Mapping[type[Attribute], float] = {Float16Type: 2.0**-24, BFloat16Type: 2.0**-133, Float64Type: 2.0**-1074}


def calibrated_type(minimum: float, maximum: float, expressed: AnyFloat) -> CalibratedQuantizedType:
    """Returns the calibrated type of a value with the observed range from `minimum` to `maximum`.

    The type requires two distinct bounds. A range of a single number is widened to include 0, as a quantizer would do
    anyway. If all observed values are 0, the range is widened by the smallest positive number of the expressed type;
    its scale remains degenerate.
    """
    if minimum == maximum:
        minimum, maximum = min(minimum, 0.0), max(maximum, 0.0)
    if minimum == maximum:
        maximum = _SMALLEST.get(type(expressed), 2.0**-149)
    return CalibratedQuantizedType.of(minimum, maximum, expressed)


def with_range(value: SSAValue, minimum: float, maximum: float) -> SSAValue:
    """Gives a float tensor the calibrated type of an observed range; returns the value that replaces `value`."""
    type_ = tensor(value.type)
    expressed = plain_type(type_.get_element_type())
    assert isinstance(expressed, AnyFloat)
    element = calibrated_type(minimum, maximum, expressed)
    return Rewriter.replace_value_with_new_type(value, TensorType(element, type_.get_shape(), type_.encoding))


def _argument(value: SSAValue) -> tuple[FuncOp, int]:
    """Returns the function of which `value` is an argument, and the index of the argument."""
    function = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(function, FuncOp) or not isinstance(value, BlockArgument):
        raise ValueError("statistics can only be attached to results and function arguments")
    return function, value.index


def _entries(function: FuncOp) -> list[dict[str, Attribute]]:
    if function.arg_attrs is None:
        return [{} for _ in function.function_type.inputs]
    return [dict(cast(Mapping[str, Attribute], entry.data)) for entry in function.arg_attrs]


def attach(value: SSAValue, statistics: Statistics | StatsAttr) -> None:
    """Attaches `statistics` to `value`; at least one element must have been observed."""
    attribute = statistics if isinstance(statistics, StatsAttr) else StatsAttr.of_statistics(statistics)
    if not isinstance(value, OpResult):
        function, position = _argument(value)
        entries = _entries(function)
        entries[position][STATS] = attribute
        function.arg_attrs = ArrayAttr(DictionaryAttr(entry) for entry in entries)
    elif len(value.op.results) == 1:
        value.op.attributes[STATS] = attribute
    else:
        known = value.op.attributes.get(STATS)
        each: list[Attribute] = [UnitAttr() for _ in value.op.results]
        if isinstance(known, ArrayAttr):
            each = list(cast(ArrayAttr[Attribute], known))
        each[value.index] = attribute
        value.op.attributes[STATS] = ArrayAttr(each)


def attach_parts(
    composite: NnOp, statistics: Mapping[str, Statistics], ranges: Mapping[str, tuple[float, float]] | None = None
) -> None:
    """Adds the ranges of the parts of `composite` to its `components`, and attaches the parts' statistics to it.

    `ranges` are those of parts without statistics.
    """
    expressed = plain_type(element_of(composite.results[0]))
    assert isinstance(expressed, AnyFloat)
    ends = {**(ranges or {}), **{role: (each.minimum, each.maximum) for role, each in statistics.items()}}
    types = {role: calibrated_type(*each, expressed) for role, each in ends.items()}
    composite.components = DictionaryAttr({**components_of(composite), **types})
    known = composite.attributes.get(PARTS)
    before: Mapping[str, Attribute] = known.data if isinstance(known, DictionaryAttr) else {}
    made = {role: StatsAttr.of_statistics(each) for role, each in statistics.items()}
    if before or made:
        composite.attributes[PARTS] = DictionaryAttr({**before, **made})


def hand_on_parts(composite: Operation, parts: Parts) -> None:
    """Attaches the part statistics that are stored on `composite` to its `parts`."""
    known = composite.attributes.get(PARTS)
    for role, part in zip(parts.roles, parts.operations, strict=True):
        if isinstance(known, DictionaryAttr) and role in known.data and not is_constant(part):
            part.attributes[STATS] = known.data[role]


def stats_of(value: SSAValue) -> StatsAttr | None:
    """Returns the statistics attribute of `value`, or `None`. Loop-carried values and results of branches have none."""
    if isinstance(value.owner, Block) and not isinstance(value.owner.parent_op(), FuncOp):
        return None
    if isinstance(value, OpResult):
        known = value.op.attributes.get(STATS)
        if isinstance(known, ArrayAttr):
            known = cast(ArrayAttr[Attribute], known).data[value.index]
    else:
        function, position = _argument(value)
        known = _entries(function)[position].get(STATS)
    return known if isinstance(known, StatsAttr) else None


def statistics_of(value: SSAValue) -> Statistics | None:
    """Returns the full statistics attached to `value`; `None` if there are none, or only a summary."""
    known = stats_of(value)
    return known.statistics if known is not None and known.is_complete else None


def _values_of(function: FuncOp) -> Iterator[SSAValue]:
    """Yields the arguments of a function and of its nested regions, and the results."""
    for op in function.walk():
        yield from (argument for region in op.regions for block in region.blocks for argument in block.args)
        yield from op.results


def _own_constants(module: ModuleOp) -> None:
    """Gives each loop its copy of a shared initial constant, so that the loops can have different ranges."""
    for each in [each for op in module.walk() for each in forwarded(op)]:
        owner = each.given.owner
        if isinstance(owner, Operation) and is_constant(owner) and not each.given.has_one_use():
            own = owner.clone()
            Rewriter.insert_op(own, InsertPoint.before(each.user))
            each.user.operands[each.position] = own.results[0]


def _ties(module: ModuleOp) -> DisjointSet[SSAValue]:
    """Returns the values in sets that share a type because a call, a branch or a loop passes one on as the other."""
    functions = {function.sym_name.data: function for function in functions_of(module)}
    ties = DisjointSet([value for function in functions.values() for value in _values_of(function)])
    pairs = [(each.given, each.taken) for op in module.walk() for each in forwarded(op)]
    for call in (op for op in module.walk() if isinstance(op, CallOp)):
        if (function := functions.get(call.callee.root_reference.data)) is None:
            continue
        pairs += zip(call.operands, function.body.blocks[0].args, strict=True)
        if (returned := function.get_return_op()) is not None:
            pairs += zip(call.results, returned.operands, strict=True)
    for one, other in pairs:
        ties.union(one, other)
    return ties


def _constants_in(
    module: ModuleOp, ties: DisjointSet[SSAValue], roots: Set[SSAValue]
) -> Iterator[tuple[SSAValue, tuple[float, float]]]:
    """Yields the ranges of constants that are tied to values of `roots`."""
    for each in (each for op in module.walk() for each in forwarded(op) if ties.find(each.given) in roots):
        array = constant_array(each.given)
        if array is not None and array.size and np.isfinite(array).all():
            yield each.given, (float(array.min()), float(array.max()))


def tied_statistics(module: ModuleOp, entries: Mapping[SSAValue, Statistics]) -> dict[SSAValue, Statistics]:
    """Returns statistics for values without an entry in `entries`, taken from values that they are tied to.

    Calls, branches and loops tie values that they pass on. A value has no entry if no sample reached it, as in a branch
    that was never taken. If several tied values have entries, the entry with the widest range is used.
    """
    ties, known = _ties(module), dict[SSAValue, Statistics]()
    for value, each in entries.items():
        widest = known.setdefault(ties.find(value), each)
        if each.maximum - each.minimum > widest.maximum - widest.minimum:
            known[ties.find(value)] = each
    results = (result for function in functions_of(module) for op in function.body.walk() for result in op.results)
    roots = ((each, ties.find(each)) for each in results if each not in entries and constant_array(each) is None)
    return {each: known[root] for each, root in roots if root in known}


def set_ranges(module: ModuleOp, entries: Mapping[SSAValue, tuple[float, float]]) -> None:
    """Sets the calibrated type of each value in `entries`, and of the values that control flow and calls tie to it.

    The range also includes any constants among these values.
    """
    _own_constants(module)
    ties = _ties(module)
    ranges: dict[SSAValue, tuple[float, float]] = {}
    known = {ties.find(value) for value in entries}
    for value, (minimum, maximum) in (*entries.items(), *_constants_in(module, ties, known)):
        root = ties.find(value)
        low, high = ranges.get(root, (minimum, maximum))
        ranges[root] = min(low, minimum), max(high, maximum)
    for function in functions_of(module):
        for value in list(_values_of(function)):
            if (found := ranges.get(ties.find(value))) is not None:
                with_range(value, *found)
        returned = function.get_return_op()
        outputs = function.function_type.outputs.data if returned is None else [each.type for each in returned.operands]
        inputs = [argument.type for argument in function.body.blocks[0].args]
        function.function_type = FunctionType.from_lists(inputs, list(outputs))


# The recorded statistics of a value, or its observed range if there are no statistics.


@dataclass(frozen=True)
class Observed:
    """The observed range of a value, and its statistics if there are any; calibrators use these to narrow the range."""

    minimum: float
    maximum: float
    statistics: Statistics | None = None

    @staticmethod
    def of_constant(array: Array) -> "Observed":
        """Returns the full statistics of a constant. A constant without elements is treated as a single zero."""
        known = Statistics.of(array if array.size else np.zeros(1))
        ends = known.minimum, known.maximum
        batches = BatchRanges(1.0, 1, ends, ends, ends)  # each batch has the same range
        return Observed(*ends, replace(known, batches=batches))

    def range(self, choice: Choice) -> tuple[float, float]:
        """Returns the range chosen by the calibrator of `choice`, or the full range if there are no statistics.

        Raises `ValueError` if `choice` names a calibrator that requires statistics, but there are none.
        """
        if self.statistics is None:
            if choice.needs_statistics:
                raise ValueError(f"calibrator '{choice.calibrator}' needs statistics, but the profile has only a range")
            return self.minimum, self.maximum
        grid = Grid(choice.storage, choice.scheme, choice.rule)
        low, high = calibrate(choice.data_calibrator, self.statistics, grid, choice.calibrator_options)
        return low, high


def observed_range(value: SSAValue) -> tuple[float, float] | None:
    """Returns the smallest and the largest observed element of `value`; `None` if it was not profiled."""
    element = element_of(value)
    return (element.minimum, element.maximum) if isinstance(element, CalibratedQuantizedType) else None


def observed(value: SSAValue) -> Observed | None:
    """Returns the observed range of `value` and its statistics; `None` if it was not profiled."""
    ends = observed_range(value)
    return None if ends is None else Observed(*ends, statistics_of(value))


def seen_statistics(value: SSAValue) -> Statistics | None:
    """Returns the recorded statistics of `value`; `None` if it was not profiled, or has only a range."""
    seen = observed(value)
    return None if seen is None else seen.statistics


def was_infinite(value: SSAValue) -> bool:
    """Returns True if minus or plus infinity was observed in `value`."""
    seen = seen_statistics(value)
    return seen is not None and any(seen.infinities)


# Statistics that a model carries: types with ranges, and `calib.stats` on its values, from any tool.
#
# A model that qmlir exported with its statistics has statistics for each part of its composites. Other tools write
# statistics only for the tensors of the model. When a composite is decomposed, these stay with the tensor, which the
# last part produces. The range of a sum before the bias is added is derived from the bias and the range of the result.


def statistics_of_tensors(module: ModuleOp) -> dict[str, Statistics]:
    """Returns the statistics of all values that have statistics, by the name of the tensor in the model."""
    known = {tensor_of(each): statistics_of(each.value) for each in keyed_values(module)}
    return {name: statistics for name, statistics in known.items() if name and statistics is not None}


def _range_before_bias(value: SSAValue) -> tuple[float, float] | None:
    """Returns the range of a sum that is only added to a constant, from the range of the result."""
    uses = list(value.uses)
    user = uses[0].operation if len(uses) == 1 else None
    if not isinstance(user, AddOp) or not user.quantization_slots().takes_accumulators:
        return None
    bias, after = constant_array(user.operands[1 - uses[0].index]), observed(user.results[0])
    if bias is None or after is None or not bias.size:
        return None
    return after.minimum - float(bias.max()), after.maximum - float(bias.min())


def set_ranges_before_biases(module: ModuleOp) -> None:
    """Sets the range of each sum that has none, derived from the bias and the range after the bias is added."""
    values = (each.value for each in keyed_values(module) if observed(each.value) is None)
    found = {value: _range_before_bias(value) for value in values if not has_parameters(value)}
    set_ranges(module, {value: range_ for value, range_ in found.items() if range_ is not None})


def carried_profile(module: ModuleOp, tensors: Mapping[str, Statistics]) -> Profile:
    """Returns the profile that a lowered module carries. Its number of samples is 0, because the number is unknown.

    `tensors` are the `statistics_of_tensors` of the module before lowering. A value of which only the range is known
    has the range in its type, and no entry in the profile.
    """
    values = [each for each in keyed_values(module) if not each.is_constant and not has_parameters(each.value)]
    seen = {each.key: statistics_of(each.value) or tensors.get(tensor_of(each)) for each in values}
    return Profile(model_digest(module), 0, {key: each for key, each in seen.items() if each}, "", "the model")
