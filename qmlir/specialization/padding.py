"""Pads a function: makes its sizes static, so that smaller inputs use only a part of its inputs and outputs.

A walk visits the operations in order and calls the padding rule of each (`qmlir.dialects.nn.padding_rules`), which
makes valid elements independent of padding. An operation without a rule is decomposed; if it can't be, padding fails.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.symbolic_sizes import Extent, extents
from qmlir.dialects.nn.padding_rules import Axes, Condition, PaddedValue, PaddingSite, Rule
from qmlir.ir.builtin_types import ranked_tensor, shape_of
from qmlir.ir.control_flow import CONTROL, terminator_of
from qmlir.ir.decomposition import Parts, parts_given
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.signature import NAME, inputs_of, outputs_of
from qmlir.registry import paddings
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import reads_shapes_only, specialize_function


def rule_of(op: Operation) -> Rule | None:
    """Returns the padding rule of the class of `op` or of its nearest base class; `None` if there is none."""
    table = paddings()
    return next((table[each] for each in type(op).__mro__ if each in table), None)


def open_inputs(function: FuncOp) -> dict[str, Axes]:
    """Returns the extents of each input of `function`; a dynamic axis is named after its dimension, or `input.axis`.

    Raises `DiagnosticError` for an input that isn't a ranked tensor.
    """
    found: dict[str, Axes] = {}
    for port in inputs_of(function):
        type_ = ranked_tensor(port.type)
        if type_ is None:
            raise op_error(
                function, f"input '{port.name}' must have a known rank to be padded, but got type {port.type}"
            )
        names = [dim or f"{port.name}.{axis}" for axis, dim in enumerate(port.dims or [""] * type_.get_num_dims())]
        sizes = zip(names, type_.get_shape(), strict=True)
        found[port.name] = tuple(Extent.of(name if size < 0 else size) for name, size in sizes)
    return found


class PaddingWalk(PaddingSite):
    """One walk over a function, which calls the rules of its operations."""

    def run(self, inputs: Mapping[str, Axes]) -> dict[str, Axes]:
        """Visits the operations in order, given the extents of the inputs. Returns the extents of the outputs."""
        for argument, axes in zip(self._block.args, inputs.values(), strict=True):
            self.keep(argument, PaddedValue(axes))
        *operations, end = self._block.ops
        for op in operations:
            self._visit(op)
        assert isinstance(end, ReturnOp)
        self.op = end
        self._count_places()
        self.data()
        ports = outputs_of(self.function)
        return {port.name: self.axes(value) for port, value in zip(ports, end.operands, strict=True)}

    def _visit(self, op: Operation) -> None:
        self.op, rule = op, rule_of(op)
        found = None if rule is None else rule(op, self)
        if found is None and not any(self.facts(value).is_open for value in op.operands):
            found = [PaddedValue(self._closed(result)) for result in op.results]
        if found is None:
            self._take_apart(op)
            return
        if not (reads_shapes_only(op) or op in self._placed or any(facts.positions is not None for facts in found)):
            self._count_places()
        is_fixed = reads_shapes_only(op) or all(map(self.is_fixed, op.operands))
        for result, facts in zip(op.results, found, strict=True):
            self._check_sizes(result, facts.axes)
            self._mix_repeated(facts.axes)
            self.keep(result, facts)
            if is_fixed:
                self._fixed.add(result)

    def _mix_repeated(self, axes: Axes) -> None:
        """Marks dimensions that occur twice in a value as mixed, since it has an element for each pair of indices."""
        factors = Counter(name for axis in axes for factor in axis.opened for name in Extent.of(factor).names)
        self.mix(*(Extent.of(name) for name, times in factors.items() if times > 1))

    def _check_sizes(self, result: SSAValue, axes: Axes) -> None:
        """Declines if types have capacities and the shape of `result` differs from `axes`."""
        type_ = ranked_tensor(result.type) if self.is_sized else None
        if type_ is None or not type_.has_static_shape():
            return
        if tuple(axis.at(self.capacities) for axis in axes) != type_.get_shape():
            self.decline(f"returns {result.type}, in which the position of the dynamic dimension is unknown")

    def _count_places(self) -> None:
        """Requires that the indices that the operation computes with don't depend on the capacity."""
        for facts in map(self.facts, self.op.operands):
            for axis, step in (facts.positions or {}).items():
                if step.names:
                    self.decline(f"uses indices multiplied by {step}, which change if that dimension is padded")
                self.count(facts.axes[axis])

    def _closed(self, result: SSAValue) -> Axes:
        type_ = ranked_tensor(result.type)
        if type_ is None or not type_.has_static_shape():
            self.decline(f"returns {result.type}, whose size does not follow from the dynamic dimensions")
        return extents(type_.get_shape())

    def _take_apart(self, op: Operation) -> None:
        """Decomposes a composite and visits its parts. Raises `DiagnosticError` if `op` isn't a composite."""
        parts = Parts(op)
        values = parts_given(op, parts) if isinstance(op, IRDLOperation) else None
        if values is None or parts.is_excerpt:
            parts.discard()
            self.decline("has no padding rule for a dynamic dimension")
        self._block.insert_ops_before(parts.operations, op)
        for old, new in zip(tuple(op.results), values, strict=True):
            old.replace_all_uses_with(new)
        Rewriter.erase_op(op)
        for part in parts.operations:
            self._visit(part)


@dataclass(frozen=True)
class Outline:
    """Properties of a function with dynamic sizes that don't depend on the capacities."""

    inputs: Mapping[str, Axes]
    outputs: Mapping[str, Axes]
    mixed: frozenset[str]
    """The dynamic dimensions whose elements are mixed. Inputs can be split along all other dynamic dimensions."""

    conditions: tuple[Condition, ...] = ()
    """Conditions on the runtime sizes: the function is undefined for other sizes."""

    derived: frozenset[str] = frozenset()
    """The dynamic dimensions from which sizes derive, but not by a product."""

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
    outputs = walk.run(inputs)
    conditions = tuple(dict.fromkeys(walk.conditions))
    return Outline(inputs, outputs, frozenset(walk.mixed), conditions, frozenset(walk.derived_names))


def pad_function(module: ModuleOp, capacities: Mapping[str, int], name: str = "main") -> dict[str, str]:
    """Pads a function to the `capacities` of its dynamic dimensions, in place.

    The valid elements of inputs and outputs are at the front of each factor of their axes. A dynamic dimension of
    capacity 1 has size 1. The size of any other one becomes an i64 scalar input if masks or computations need it;
    returns the names of these inputs by dimension. Raises `DiagnosticError`, naming the operation, if one can't be
    padded; the function is then left partly rewritten.
    """
    function = function_of(module, name)
    check_function(function, capacities)
    erase_dead(function.body)
    inputs = open_inputs(function)
    sizes = {size: number for size, number in capacities.items() if number != 1}
    walked = {port: tuple(_without_ones(axis, sizes) for axis in axes) for port, axes in inputs.items()}
    walk = PaddingWalk(function, sizes)
    outputs = walk.run(walked)
    for condition in walk.conditions:
        if not condition.holds(sizes):
            raise op_error(function, f"does not accept these sizes: {condition}, {_given(condition, sizes)}")
    _take_sizes(function, list(walk.size_inputs.values()))
    shapes = {port: [axis.at(capacities) for axis in axes] for port, axes in inputs.items()}
    specialize_function(module, shapes, {}, name)
    _check_outputs(function, outputs, sizes)
    return walk.size_inputs


def _given(condition: Condition, sizes: Mapping[str, int]) -> str:
    named = ", ".join(f"{name} = {sizes[name]}" for name in condition.names)
    return f"but got {condition.left.at(sizes)} and {condition.right.at(sizes)} for {named}"


def _without_ones(axis: Extent, sizes: Mapping[str, int]) -> Extent:
    return Extent.of(*(factor if isinstance(factor, int) or factor in sizes else 1 for factor in axis.factors))


def check_function(function: FuncOp, capacities: Mapping[str, int]) -> None:
    """Raises `DiagnosticError` if a function has several blocks, calls functions, or lacks one of these dimensions."""
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
    function.update_function_type()


def _check_outputs(function: FuncOp, outputs: Mapping[str, Axes], capacities: Mapping[str, int]) -> None:
    """Raises `DiagnosticError` if the sizes of an output differ from those that the walk derived."""
    for value, (name, axes) in zip(terminator_of(function.body.block).operands, outputs.items(), strict=True):
        wanted = tuple(axis.at(capacities) for axis in axes)
        if shape_of(value) != wanted:
            raise op_error(function, f"output '{name}' must have shape {wanted}, but got {shape_of(value)}")
