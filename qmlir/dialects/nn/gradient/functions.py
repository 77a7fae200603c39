"""A function in two: one that returns besides what its gradient reads, and one that computes the gradient of it."""

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike

from qmlir.dialects.nn.base import tensor_like
from qmlir.dialects.nn.gradient.backward import Backward
from qmlir.dialects.nn.gradient.recomputing import recompute
from qmlir.dialects.nn.gradient.reverse import depending_on, gradients
from qmlir.dialects.nn.ops.contraction import WindowedContractionOp
from qmlir.dialects.nn.ops.elementwise import AddOp
from qmlir.dialects.nn.terms import Site
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.effects import erase_dead
from qmlir.ir.interfaces import Recomputable
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports


def gradient_name(name: str) -> str:
    """The name of the gradient of an input or an output."""
    return f"gradient_{name}"


def differentiated(
    function: FuncOp, variables: Sequence[BlockArgument], targets: Sequence[int], *, are_ones: bool, recomputes: bool
) -> tuple[FuncOp, int]:
    """The function that computes the gradients with respect to `variables`, and how many values are kept for it.

    `targets` are the results whose gradients are given, by arguments, or with `are_ones` all 1. `function`, which has
    one block, gets the values that are kept as further results; with `recomputes` what costs little is computed again
    and not kept. Raises `DiagnosticError` for an operation without a
    rule.
    """
    last = function.get_return_op()
    assert last is not None
    inputs, outputs = inputs_of(function), outputs_of(function)
    operations = [each for each in function.body.block.ops if each is not last]
    added = Block()
    at = Backward(last, added.add_op)
    reached = [place for place in targets if last.operands[place] in depending_on(operations, variables)]
    seeds: dict[SSAValue, SSAValue] = {}
    given: list[Port] = []
    for place in reached:
        value, port = last.operands[place], outputs[place]
        if are_ones:
            seed = at.filled(1.0, value)
        else:
            seed = added.insert_arg(tensor_like(value, shape_of(value)), len(added.args))
            given.append(Port(gradient_name(port.name), seed.type, port.dims))
        # A value that is returned twice has the gradients of both.
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
    """Give `function` the type that its block says, and the names of these ports."""
    last = function.get_return_op()
    assert last is not None
    arguments, results = function.body.block.args, last.operands
    function.function_type = FunctionType.from_lists([each.type for each in arguments], [each.type for each in results])
    set_ports(function, inputs, outputs)


def _kept(function: FuncOp, last: ReturnOp, backward: Block, *, are_last: bool) -> list[tuple[SSAValue, Port]]:
    """Make what `backward` reads of `function` arguments, and constants its own: each value with its new port.

    With `are_last` what a convolution gives is kept with its channels last, as it is computed.
    """
    known: dict[SSAValue, Port] = dict(zip(function.body.block.args, inputs_of(function), strict=True))
    for value, port in zip(last.operands, outputs_of(function), strict=True):
        known.setdefault(value, port)
    names = {port.name for port in known.values()}
    others = len(known)
    own: dict[SSAValue, SSAValue] = {}
    kept: list[tuple[SSAValue, Port]] = []
    for op in list(backward.ops):
        for place, value in enumerate(op.operands):
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
                        crossing = _site(value.owner, last).transposed(value, _channels_last(value))
                    known[value] = Port(_free(f"kept{len(known) - others}", names), crossing.type)
                own[value] = argument = backward.insert_arg(crossing.type, len(kept))
                if crossing is not value and (first := backward.first_op) is not None:
                    order = _channels_last(value)
                    back = [order.index(axis) for axis in range(len(order))]
                    own[value] = _site(value.owner, first).transposed(argument, back)
                kept.append((crossing, known[value]))
            op.operands[place] = own[value]
    return kept


def _has_windows(value: SSAValue) -> bool:
    """Whether a value is what a convolution gives, or computed of that element by element."""
    pending, found = [value], {value}
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, WindowedContractionOp):
            return True
        if isinstance(owner, Recomputable):
            new = [each for each in owner.operands if each not in found and shape_of(each) == shape_of(value)]
            found.update(new)
            pending += new
    return False


def _channels_last(value: SSAValue) -> list[int]:
    """The axes of what a convolution gives, with those of the channels last."""
    return [0, *range(2, len(shape_of(value))), 1]


def _site(owner: Operation | Block, place: Operation) -> Site:
    """Where operations for the nodes of `owner` are added before `place`."""
    assert isinstance(owner, Operation)
    return Site(owner, lambda made: Rewriter.insert_op(made, InsertPoint.before(place)))


def _free(name: str, taken: Iterable[str]) -> str:
    """`name`, with underscores after it while it is taken."""
    while name in taken:
        name += "_"
    return name
