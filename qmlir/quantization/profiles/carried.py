"""Statistics that a model carries: types with ranges, and `calib.stats` beside its values, from whatever wrote them.

A model that was exported with its statistics has them for each part of its composites. Statistics of a model's tensors
alone, as other tools write them, stay with the tensors when composites become parts: the last part gives the tensor.
The range of a sum before its bias follows from both.
"""

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.elementwise import AddOp
from qmlir.quantization.observed import observed
from qmlir.quantization.profiles.attached import set_ranges, statistics_of
from qmlir.quantization.profiles.digest import model_digest
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.profiles.given import has_parameters
from qmlir.quantization.profiles.keys import keyed_values, tensor_of


def statistics_of_tensors(module: ModuleOp) -> dict[str, Statistics]:
    """The statistics of values that have them, by the model's names of these tensors."""
    known = {tensor_of(each): statistics_of(each.value) for each in keyed_values(module)}
    return {name: statistics for name, statistics in known.items() if name and statistics is not None}


def _range_before_bias(value: SSAValue) -> tuple[float, float] | None:
    """The range of a sum that is only added to a constant, from that of what comes of it."""
    uses = list(value.uses)
    user = uses[0].operation if len(uses) == 1 else None
    if not isinstance(user, AddOp) or not user.quantization_slots().takes_accumulators:
        return None
    bias, after = constant_array(user.operands[1 - uses[0].index]), observed(user.results[0])
    if bias is None or after is None or not bias.size:
        return None
    return after.minimum - float(bias.max()), after.maximum - float(bias.min())


def set_ranges_before_biases(module: ModuleOp) -> None:
    """Give sums that have no range the one that follows from that of what they are after their biases."""
    values = (each.value for each in keyed_values(module) if observed(each.value) is None)
    found = {value: _range_before_bias(value) for value in values if not has_parameters(value)}
    set_ranges(module, {value: range_ for value, range_ in found.items() if range_ is not None})


def carried_profile(module: ModuleOp, tensors: Mapping[str, Statistics]) -> Profile:
    """The profile that a lowered module carries: of no samples, as nobody says how many there were.

    `tensors` are the `statistics_of_tensors` from before it was lowered. Where only a range is known it is in the type
    of the value, and the profile says nothing.
    """
    values = [each for each in keyed_values(module) if not each.is_constant and not has_parameters(each.value)]
    seen = {each.key: statistics_of(each.value) or tensors.get(tensor_of(each)) for each in values}
    return Profile(model_digest(module), 0, {key: each for key, each in seen.items() if each}, "", "the model")
