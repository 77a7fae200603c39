"""Recorded statistics of a value, and the statistics and ranges that a model carries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.calibrators import calibrate
from qmlir.arithmetic.schemes import Grid
from qmlir.arithmetic.statistics import BatchRanges, Statistics
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.quant.types import CalibratedQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.quantization.choice import Choice
from qmlir.quantization.profiles.attributes import set_ranges, statistics_of
from qmlir.quantization.profiles.keys import has_parameters, keyed_values, tensor_of
from qmlir.quantization.profiles.profile import Profile, model_digest

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
