"""Reverse-mode differentiation of functions, and rematerialization of their values."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike

from qmlir import registry
from qmlir.arithmetic.combinatorial import BinaryChoices
from qmlir.dialects.nn.base import tensor_like
from qmlir.dialects.nn.contraction.ops import WindowedContractionOp
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule, is_differentiable
from qmlir.dialects.nn.terms import InsertionBuilder
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control_flow import reached, terminator_of
from qmlir.ir.decomposition import Parts, parts_given
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.interfaces import Recomputable, volume
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports

# Rematerialization: chooses which values the gradient reads from memory and which it recomputes, to minimize memory.
#
# Elementwise operations are memory-bound: recomputing a chain of them from its start is faster than writing and reading
# its results. The choice is a minimum cut between the values that are computed anyway and the values that the gradient
# reads, as in Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016, and PyTorch's partitioner.


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)


def _bytes(value: SSAValue) -> int:
    """Returns the memory of a value in bytes; dynamic sizes count as 1."""
    width = getattr(element_of(value), "bitwidth", 32)
    return max(volume(shape_of(value)) * width // 8, 1)


def recompute(forward: Block, backward: Block, free: Container[SSAValue]) -> None:
    """Copies operations of `forward` to the start of `backward`, so that their results need not be stored.

    `free` are the values that can be read without storing them: inputs and results of the forward function.
    """
    first = backward.first_op
    assert first is not None
    own = {*backward.args, *(result for op in backward.ops for result in op.results)}

    def is_kept(value: SSAValue) -> bool:
        return value not in own and value not in free and not _is_constant(value)

    read = [value for value in dict.fromkeys(value for op in backward.ops for value in op.operands) if is_kept(value)]

    def before(value: SSAValue) -> Iterable[SSAValue]:
        return filter(is_kept, value.owner.operands if isinstance(value.owner, Recomputable) else ())

    positions = {value: position for position, value in enumerate(reached(read, before))}
    # Two variables per value: whether the backward function has it, and whether it computes it.
    choices = BinaryChoices(2 * len(positions))
    for value in read:
        choices.pay(1 + sum(map(_bytes, positions)), zero=2 * positions[value])
    for value, position in positions.items():
        has, computes = 2 * position, 2 * position + 1
        if not isinstance(value.owner, Recomputable):
            choices.pay(_bytes(value), one=has)
            continue
        choices.pay(_bytes(value), one=has, zero=computes)
        for operand in filter(is_kept, value.owner.operands):
            choices.forbid(computes, 2 * positions[operand])
    _, chosen = choices.best()
    again = {value for value, position in positions.items() if chosen[2 * position] and chosen[2 * position + 1]}
    copies: dict[SSAValue, SSAValue] = {}
    for op in forward.ops:
        if not again.isdisjoint(op.results):
            backward.insert_op_before(op.clone(copies), first)
    for value, copy in copies.items():
        value.replace_uses_with_if(copy, lambda use: use.operation.parent is backward)


# Reverse-mode differentiation: propagates gradients from results to operands, by one rule per operation.
#
# Rules come from the registry (`gradients`). A composite without a rule has the gradient of its parts, which are
# recomputed from its operands.

Insert = Callable[[Operation], object]


def depending_on(operations: Sequence[Operation], variables: Sequence[SSAValue]) -> set[SSAValue]:
    """Returns `variables` and all results of `operations`, which are in program order, that depend on them."""
    dependent = set(variables)
    for op in operations:
        if not dependent.isdisjoint(op.operands):
            dependent.update(op.results)
    return dependent


def gradients(
    operations: Sequence[Operation], seeds: Mapping[SSAValue, SSAValue], variables: Sequence[SSAValue], insert: Insert
) -> Gradients:
    """Returns the gradients with respect to `variables`; `seeds` are the gradients of some results of `operations`.

    `insert` is called with each new operation, in order. In the result, `None` stands for a gradient that is 0
    everywhere. Each variable is treated as independent of the others. Raises `DiagnosticError` if an operation on the
    path has no gradient rule.
    """
    inner = [op for op in operations if not any(result in variables for result in op.results)]
    dependent = depending_on(inner, variables)
    found = dict(seeds)
    for op in reversed(inner):
        given = [found.get(result) if result in dependent else None for result in op.results]
        if all(gradient is None for gradient in given):
            continue
        at = Backward(op, insert, dependent)
        parts = _rule_of(op)(at, op, *given)
        if len(parts) != len(op.operands):
            raise op_error(op, f"gradient rule must return {len(op.operands)} gradients, but returned {len(parts)}")
        for operand, part in zip(op.operands, parts, strict=True):
            if part is not None and operand in dependent and is_differentiable(operand):
                found[operand] = at.append(AddOp(found[operand], part)).result if operand in found else part
    return [found.get(variable) for variable in variables]


def _rule_of(op: Operation) -> Rule:
    rule: Rule | None = registry.gradients().get(type(op))
    if rule is not None:
        return rule
    if type(op) in registry.decompositions():
        return _by_parts
    raise op_error(op, "cannot be differentiated: it has no gradient rule")


def _by_parts(at: Backward, op: Operation, *given: SSAValue | None) -> Gradients:
    parts = Parts(op)
    results = parts_given(op, parts)
    if results is None or parts.is_excerpt:
        parts.discard()
        raise at.error(
            "it has no gradient rule, and its dynamic shapes prevent decomposition; fix the input shapes with --shape"
        )
    for part in parts.operations:
        at.insert(part)
    seeds: dict[SSAValue, SSAValue] = {}
    for result, gradient in zip(results, given, strict=True):
        if gradient is not None:  # two results may be the same value of the parts
            seeds[result] = at.append(AddOp(seeds[result], gradient)).result if result in seeds else gradient
    operands = [operand for operand in dict.fromkeys(op.operands) if operand in at.wanted]
    found = dict(zip(operands, gradients(parts.operations, seeds, operands, at.insert), strict=True))
    # An operand that occurs twice has a single gradient, the sum of both.
    return [found.pop(operand, None) for operand in op.operands]


# Splits a function into a forward function, which also returns the values that the gradient reads, and the gradient.


def gradient_name(name: str) -> str:
    """Returns the name of the gradient of the input or output `name`."""
    return f"gradient_{name}"


def differentiated(
    function: FuncOp, variables: Sequence[BlockArgument], targets: Sequence[int], *, are_ones: bool, recomputes: bool
) -> tuple[FuncOp, int]:
    """Returns the function that computes the gradients, and the number of values that `function` keeps for it.

    The gradients are those with respect to `variables`. `targets` are the indices of the results whose gradients the
    new function takes as arguments, or assumes to be 1 if `are_ones` is set. `function` must have one block; the kept
    values become additional results of it. With `recomputes`, values that are cheap to compute are recomputed instead.
    Raises `DiagnosticError` for an operation without a gradient rule.
    """
    last = terminator_of(function.body.block)
    inputs, outputs = inputs_of(function), outputs_of(function)
    operations = [each for each in function.body.block.ops if each is not last]
    added = Block()
    at = Backward(last, added.add_op)
    reached = [position for position in targets if last.operands[position] in depending_on(operations, variables)]
    seeds: dict[SSAValue, SSAValue] = {}
    given: list[Port] = []
    for position in reached:
        value, port = last.operands[position], outputs[position]
        if are_ones:
            seed = at.filled(1.0, value)
        else:
            seed = added.insert_arg(tensor_like(value, shape_of(value)), len(added.args))
            given.append(Port(gradient_name(port.name), seed.type, port.dims))
        # A value that is returned twice has the sum of both gradients.
        seeds[value] = at.append(AddOp(seeds[value], seed)).result if value in seeds else seed
    found = gradients(operations, seeds, variables, added.add_op)
    returned = [
        at.filled(0.0, variable) if gradient is None else gradient
        for variable, gradient in zip(variables, found, strict=True)
    ]
    added.add_op(ReturnOp(*returned))
    backward = FuncOp(function.sym_name.data, ([], []), Region(added))
    erase_dead(backward.body)
    if recomputes:
        recompute(function.body.block, added, {*function.body.block.args, *last.operands})
    kept = _kept(function, last, added, are_last=recomputes)
    more = [(value, port) for value, port in kept if port not in (*inputs, *outputs)]
    last.operands = [*last.operands, *(value for value, _ in more)]
    _declare(function, inputs, [*outputs, *(port for _, port in more)])
    ports = [
        Port(gradient_name(inputs[variable.index].name), value.type, inputs[variable.index].dims)
        for variable, value in zip(variables, returned, strict=True)
    ]
    _declare(backward, [*(port for _, port in kept), *given], ports)
    return backward, len(more)


def _declare(function: FuncOp, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
    """Sets the type of `function` to that of its block, and the names of these ports."""
    function.update_function_type()
    set_ports(function, inputs, outputs)


def _kept(function: FuncOp, last: Operation, backward: Block, *, are_last: bool) -> list[tuple[SSAValue, Port]]:
    """Turns the values of `function` that `backward` reads into arguments, and clones constants; returns the new ports.

    With `are_last`, results of convolutions are kept with channels last, as they are computed.
    """
    known: dict[SSAValue, Port] = dict(zip(function.body.block.args, inputs_of(function), strict=True))
    for value, port in zip(last.operands, outputs_of(function), strict=True):
        known.setdefault(value, port)
    names = {port.name for port in known.values()}
    others = len(known)
    own: dict[SSAValue, SSAValue] = {}
    kept: list[tuple[SSAValue, Port]] = []
    for op in list(backward.ops):
        for position, value in enumerate(op.operands):
            if (value.owner if isinstance(value.owner, Block) else value.owner.parent) is backward:
                continue
            if value not in own and isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike):
                constant = value.owner.clone()
                backward.insert_op_before(constant, op)
                own[value] = constant.results[cast(OpResult, value).index]
            elif value not in own:
                crossing = value
                if value not in known:
                    if are_last and _has_windows(value):
                        crossing = insertion_before(last, value.owner).transposed(value, _channels_last(value))
                    known[value] = Port(_free(f"kept{len(known) - others}", names), crossing.type)
                own[value] = argument = backward.insert_arg(crossing.type, len(kept))
                if crossing is not value and (first := backward.first_op) is not None:
                    order = _channels_last(value)
                    back = [order.index(axis) for axis in range(len(order))]
                    own[value] = insertion_before(first, value.owner).transposed(argument, back)
                kept.append((crossing, known[value]))
            op.operands[position] = own[value]
    return kept


def _has_windows(value: SSAValue) -> bool:
    """Whether a value is the result of a convolution, or computed from one elementwise."""

    def before(each: SSAValue) -> Iterable[SSAValue]:
        operands = each.owner.operands if isinstance(each.owner, Recomputable) else ()
        return (operand for operand in operands if shape_of(operand) == shape_of(value))

    return any(isinstance(each.owner, WindowedContractionOp) for each in reached([value], before))


def _channels_last(value: SSAValue) -> list[int]:
    """Returns the permutation that moves the channels of a convolution's result last."""
    return [0, *range(2, len(shape_of(value))), 1]


def insertion_before(following: Operation, owner: Operation | Block) -> InsertionBuilder:
    """Returns an insertion point before `following` for operations with the origins of the operation `owner`."""
    assert isinstance(owner, Operation)
    return InsertionBuilder(owner, lambda made: Rewriter.insert_op(made, InsertPoint.before(following)))


def _free(name: str, taken: Iterable[str]) -> str:
    """Appends underscores to `name` until it is not in `taken`."""
    while name in taken:
        name += "_"
    return name
