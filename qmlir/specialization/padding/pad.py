"""Pads a function: makes its sizes static, so that it computes every smaller size in a part of its results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp

from qmlir.ir.builtin_types import shape_of
from qmlir.ir.control_flow import CONTROL
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.signature import NAME, inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.specialization.padding.padding import Axes, Condition, PaddingWalk, open_inputs
from qmlir.specialization.padding.symbolic_sizes import Extent
from qmlir.specialization.specialize import specialize_function


@dataclass(frozen=True)
class Outline:
    """Properties of a function with dynamic sizes that don't depend on the capacities."""

    inputs: Mapping[str, Axes]
    outputs: Mapping[str, Axes]
    mixed: frozenset[str]
    """The dynamic dimensions whose elements are mixed. Inputs can be split along any other one."""

    conditions: tuple[Condition, ...] = ()
    """Conditions on the runtime sizes: the function is undefined for other sizes."""

    @property
    def sizes(self) -> tuple[str, ...]:
        """The dynamic dimensions, in the order of the inputs."""
        return _names(self.inputs)


def _names(inputs: Mapping[str, Axes]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(size for axes in inputs.values() for extent in axes for size in extent.names))


def open_sizes(module: ModuleOp, name: str = "main") -> tuple[str, ...]:
    """Returns the dynamic dimensions of the inputs of a function: their names, or `input.axis` if they have none."""
    return _names(open_inputs(function_of(module, name)))


_OUTLINED = 64
"""The capacity used to compute an outline. It is small because the padded function is discarded."""


def outline(module: ModuleOp, name: str = "main") -> Outline:
    """Returns the outline of a function. Raises `DiagnosticError`, naming the operation, if it can't be padded."""
    clone = module.clone()
    function = function_of(clone, name)
    capacities = dict.fromkeys(open_sizes(module, name), _OUTLINED)
    check_function(function, capacities)
    erase_dead(function.body)
    inputs = open_inputs(function)
    walk = PaddingWalk(function, capacities)
    walk.run(inputs)
    return Outline(inputs, walk.outputs, frozenset(walk.mixed), tuple(dict.fromkeys(walk.conditions)))


def pad_function(module: ModuleOp, capacities: Mapping[str, int], name: str = "main") -> dict[str, str]:
    """Pads a function to the `capacities` of its dynamic dimensions, in place.

    Inputs and outputs have their valid elements at the front of each factor of their axes. Dynamic dimensions of
    capacity 1 become 1. Others become i64 scalar inputs if masks or computations need them; returns the names of these
    inputs by dimension. Raises `DiagnosticError`, naming the operation, if one can't be padded; the function is then
    left partly rewritten.
    """
    function = function_of(module, name)
    check_function(function, capacities)
    erase_dead(function.body)
    inputs = open_inputs(function)
    sizes = {size: number for size, number in capacities.items() if number != 1}
    walked = {port: tuple(_without_ones(axis, sizes) for axis in axes) for port, axes in inputs.items()}
    walk = PaddingWalk(function, sizes)
    walk.run(walked)
    for condition in walk.conditions:
        if not condition.holds(sizes):
            raise op_error(function, f"does not accept these sizes: {condition}, {_given(condition, sizes)}")
    _take_sizes(function, list(walk.size_inputs.values()))
    shapes = {port: [axis.at(capacities) for axis in axes] for port, axes in inputs.items()}
    specialize_function(module, shapes, {}, name)
    _check_outputs(function, walk.outputs, sizes)
    return walk.size_inputs


def _given(condition: Condition, sizes: Mapping[str, int]) -> str:
    named = ", ".join(f"{name} = {sizes[name]}" for name in condition.names)
    return f"but got {condition.left.at(sizes)} and {condition.right.at(sizes)} for {named}"


def _without_ones(axis: Extent, sizes: Mapping[str, int]) -> Extent:
    return Extent.of(*(factor if isinstance(factor, int) or factor in sizes else 1 for factor in axis.factors))


def check_function(function: FuncOp, capacities: Mapping[str, int]) -> None:
    """Raises `DiagnosticError` for a function with several blocks or calls, or without these dynamic dimensions."""
    if len(function.body.blocks) > 1:
        raise op_error(function, "must have a single block to be padded")
    for op in function.walk():
        if isinstance(op, CallOp):
            raise op_error(op, "is a call; inline it before padding its dynamic dimensions")
        if op is not function and isinstance(op, CONTROL):
            raise op_error(op, "is a branch or a loop, which cannot be padded; fix its shapes (fix-shapes)")
    wanted = {size for axes in open_inputs(function).values() for axis in axes for size in axis.names}
    for size in capacities:
        if size not in wanted:
            known = ", ".join(sorted(wanted)) or "none"
            raise op_error(function, f"has no dynamic dimension '{size}' (available: {known})")
    for size in sorted(wanted):
        if capacities.get(size, 0) < 1:
            raise op_error(function, f"requires a maximum size >= 1 for the dynamic dimension '{size}'")


def _take_sizes(function: FuncOp, names: Sequence[str]) -> None:
    """Adds the arguments that the walk appended to the signature."""
    count = len(inputs_of(function))
    given = list(function.arg_attrs or [DictionaryAttr({})] * count)
    function.arg_attrs = ArrayAttr([*given, *(DictionaryAttr({NAME: StringAttr(name)}) for name in names)])
    types = [argument.type for argument in function.body.block.args]
    function.function_type = FunctionType.from_lists(types, function.function_type.outputs.data)


def _check_outputs(function: FuncOp, outputs: Mapping[str, Axes], capacities: Mapping[str, int]) -> None:
    """Raises `DiagnosticError` if an output has other sizes than the walk derived."""
    returned = function.body.block.last_op
    assert returned is not None
    for value, (name, axes) in zip(returned.operands, outputs.items(), strict=True):
        wanted = tuple(axis.at(capacities) for axis in axes)
        if shape_of(value) != wanted:
            raise op_error(function, f"output '{name}' must have shape {wanted}, but got {shape_of(value)}")
