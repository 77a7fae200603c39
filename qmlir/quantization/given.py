"""Parameters that rules give to values: which values have them, and the ranges of those that no sample reached."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import Bools, Storage
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.decomposition import is_part, marks_on
from qmlir.ir.diagnostics import op_error
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.quantization.choice import Choice, GivenParameters
from qmlir.quantization.profiles.keys import functions_of, has_parameters, keyed_values
from qmlir.quantization.profiles.statistics import Observed, observed, set_ranges, set_ranges_before_biases
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.retyping import is_f32, slots_of
from qmlir.quantization.types import type_of_parameters
from qmlir.registry import PackageError

DATA = (Slot.INPUT, Slot.WEIGHT, Slot.OUTPUT)


@dataclass(frozen=True)
class Given:
    """Parameters that a rule gives to a value in a slot of an operation."""

    parameters: GivenParameters
    source: str
    """The name of the rule."""

    is_named: bool
    """True if the rule names operations or values, rather than a slot alone."""

    op: Operation
    slot: Slot
    value: SSAValue

    def type_with(self, choice: Choice) -> UniformQuantizedType:
        """Returns the type with these parameters and the storage of `choice`. Raises `DiagnosticError` if they do not
        fit."""
        try:
            return type_of_parameters(self.parameters, choice)
        except (ValueError, PackageError) as error:
            raise op_error(self.op, f"cannot have the parameters of {self.source}: {error}") from error


def given_in(function: FuncOp, recipe: Recipe) -> dict[SSAValue, list[Given]]:
    """Returns the parameters that rules give to the computed values and arguments of `function`.

    They are those at the operation that computes a value, and at the operations that read it, in order. The result of
    an inner part of a layer, such as the product before the bias, has parameters only if a rule names the part.

    Values that the model quantizes itself keep their types. Raises `DiagnosticError` if a rule names one.
    """
    found: dict[SSAValue, list[Given]] = {}
    for op in function.body.walk() if recipe.gives_parameters else ():
        slots = slots_of(op).items() if isinstance(op, Quantizable) else ()
        places = [(op.operands[position], slot) for position, slot in slots if slot in DATA]
        for value, slot in (*places, *((result, Slot.OUTPUT) for result in op.results)):
            owner = value.owner
            is_inner = isinstance(owner, Operation) and is_part(owner) and not marks_on(owner)
            if not is_f32(value) or constant_array(value) is not None:
                continue
            if isinstance(owner, DequantizeCastOp):
                if rule := recipe.rule_of_value(value):
                    raise op_error(owner, f"is quantized by the model, but {rule} gives it parameters; help: remove it")
                continue
            if is_inner and not recipe.names_part(op, slot):
                continue
            if (given := recipe.parameters(op, slot, value)) is not None:
                found.setdefault(value, []).append(Given(*given, op, slot, value))
    return found


def _given_values(module: ModuleOp, recipe: Recipe) -> set[SSAValue]:
    """Returns the computed values and arguments of `module` to which rules give parameters."""
    found = set[SSAValue]()
    for function in functions_of(module) if recipe.gives_parameters else ():
        recipe.find_values(function)
        found |= given_in(function, recipe).keys()
    return found


def given_keys(module: ModuleOp, recipe: Recipe) -> set[str]:
    """Returns the keys of the values of `module` to which rules give parameters."""
    found = _given_values(module, recipe)
    return {each.key for each in keyed_values(module) if each.value in found} if found else set()


def keys_without_ranges(module: ModuleOp, recipe: Recipe, ports: Mapping[SSAValue, Storage]) -> list[str]:
    """Returns the keys of the values with neither a range nor given parameters, nor a type that follows from others.

    `ports` are the storages that override those of the recipe, as for `give_ranges`.
    """
    copies: dict[SSAValue, SSAValue] = {}
    ranged = module.clone(copies)
    give_ranges(ranged, recipe, {copies[value]: storage for value, storage in ports.items()})
    values = (each for each in keyed_values(ranged) if not (each.is_constant or each.may_be_nan or follows(each.owner)))
    return [each.key for each in values if observed(each.value) is None and not has_parameters(each.value)]


def follows(op: Operation) -> bool:
    """Returns True if the types of the results of `op` need no range: they are those of its operands, or fixed."""
    slots = op.quantization_slots() if isinstance(op, Quantizable) else None
    return slots is not None and (slots.shares_parameters or slots.fixed_output is not None)


def fixed_values(module: ModuleOp, recipe: Recipe) -> set[SSAValue]:
    """Returns the values and weights of `module` that must not be rescaled, as rules give their parameters."""
    found = _given_values(module, recipe)
    for op in module.walk() if recipe.gives_parameters else ():
        if isinstance(op, Quantizable) and recipe.wish(op, Slot.WEIGHT).parameters is not None:
            found |= {op.operands[position] for position, slot in slots_of(op).items() if slot is Slot.WEIGHT}
    return found


def represented(type_: UniformQuantizedType) -> tuple[float, float]:
    """Returns the smallest and the largest number that a per-tensor type represents."""
    ends = (type_.storage_min, type_.storage_max)
    low, high = ((end - type_.zero_point) * type_.scale for end in ends)
    return low, high


def saturated(seen: Observed, type_: UniformQuantizedType) -> float:
    """Returns the fraction of the observed elements that are too large or too small for `type_`, at least.

    Without statistics, elements are assumed to be evenly distributed.
    """
    low, high = represented(type_)
    low, high = low - type_.scale / 2, high + type_.scale / 2
    if seen.statistics is None:
        width = seen.maximum - seen.minimum
        inside = max(min(high, seen.maximum) - max(low, seen.minimum), 0.0)
        return 1 - inside / width if width > 0 else float(not low <= seen.minimum <= high)
    histogram = seen.statistics.histogram
    outside = (histogram.edges[1:] <= low) | (histogram.edges[:-1] >= high)
    return float(histogram.counts @ outside) / max(histogram.total, 1)


def saturates(array: Array, type_: UniformQuantizedType) -> Bools:
    """Returns a mask of the elements of a constant that are too large or too small for `type_`."""
    scales, zero_points = broadcast_parameters(type_, array.shape)
    codes = np.rint(array.astype(np.float64) / scales) + zero_points
    return (codes < type_.storage_min) | (codes > type_.storage_max)


# Without samples, or for values that no sample reached, the given parameters are the range of a value.


def give_ranges(module: ModuleOp, recipe: Recipe, ports: Mapping[SSAValue, Storage]) -> None:
    """Sets the range of each value without one to that of the parameters that rules give.

    `ports` are the storages of inputs and outputs that callers pass as integers; others have that of the recipe.
    A value that only a clamping operation reads gets the range of the clamped result, and a sum to which a bias is
    added one that follows from the bias.
    """
    ranges: dict[SSAValue, tuple[float, float]] = {}
    for function in functions_of(module) if recipe.gives_parameters else ():
        recipe.find_values(function)
        for value, (given, *_) in given_in(function, recipe).items():
            if observed(value) is None:
                choice = recipe.wish(given.op, given.slot)
                storage = ports.get(value, choice.storage)
                ranges[value] = represented(given.type_with(replace(choice, storage=storage)))
        for op in function.body.walk():
            if isinstance(op, Quantizable) and op.quantization_slots().limits_operand and op.results[0] in ranges:
                for operand in _alone(op):
                    ranges.setdefault(operand, ranges[op.results[0]])
    if ranges:
        set_ranges(module, ranges)
        set_ranges_before_biases(module)


def _alone(op: Quantizable) -> Iterable[SSAValue]:
    """Yields the computed operands that only `op` reads and that have no range."""
    for operand in op.operands:
        if is_f32(operand) and operand.has_one_use() and observed(operand) is None:
            yield operand
