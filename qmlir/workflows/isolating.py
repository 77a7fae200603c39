"""One contraction of a model alone, many times beside each other, each with another schedule: what a search times."""

from collections.abc import Iterator, Sequence

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.pattern_rewriter import PatternRewriter

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.lowering.types import integer_types
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.ir.provenance import Origin, origins_of, set_origins

_TAKEN_ALONG = (ConstantOp, EmptyOp)
"""What defines an operand and has none itself: it is a part of what is timed, as in the model."""


def _outer_values(op: Operation) -> Iterator[SSAValue]:
    """The values from around `op` that it, or what is in its regions, uses; each once."""
    seen: set[SSAValue] = set()
    for each in op.walk():
        for value in each.operands:
            owner = value.owner
            parent = owner if isinstance(owner, Operation) else owner.parent_op()
            if value not in seen and parent is not None and (parent is op or not op.is_ancestor(parent)):
                is_inside = parent is op and isinstance(owner, Block)
                seen.add(value)
                if not is_inside:
                    yield value


def _name(number: int) -> str:
    return f"schedule{number}"


def schedule_number(names: Sequence[str]) -> int | None:
    """Which of the schedules the nodes `names` of a kernel speak of, `None` where it is another kernel."""
    found = [int(name.removeprefix("schedule")) for name in names if name.startswith("schedule")]
    return found[0] if found else None


def scheduled_variants(module: ModuleOp) -> dict[int, ScheduleAttr]:
    """The schedules in a module of `alone` after the stage that assigns them, by number."""
    found: dict[int, ScheduleAttr] = {}
    for op in module.walk():
        schedule = op.loops if isinstance(op, PackedOp) else op.schedule if isinstance(op, ContractionOp) else None
        number = schedule_number([origin.name for origin in origins_of(op)])
        if schedule is not None and number is not None:
            found[number] = schedule
    return found


def alone(op: ContractionOp, schedules: Sequence[ScheduleAttr | None]) -> ModuleOp:
    """A module of the integer level that computes `op`, on tensors, once by each schedule; `None` is that of the table.

    Constants come along, other operands are inputs. The data operand is a sum of two inputs: it lies in the arena, as
    in a model. Each copy stands for a node of its own (`schedule_number`), and its result is an output.
    """
    values = list(_outer_values(op))
    given = [value for value in values if not isinstance(value.owner, _TAKEN_ALONG)]
    added = [op.x] if op.x in given else []
    arguments = [value.type for value in (*given, *added)]
    block = Block(arg_types=arguments)
    known: dict[SSAValue, SSAValue] = dict(zip(given, block.args, strict=False))
    for value in values:
        if isinstance(value.owner, _TAKEN_ALONG):
            known[value] = value.owner.clone().results[0]
            defined = known[value].owner
            assert isinstance(defined, Operation)
            block.add_op(defined)
    results = [op.target.type] * len(schedules)
    function = FuncOp("main", (arguments, results), Region(block))
    made: list[SSAValue] = []
    for number, schedule in enumerate(schedules):
        copy = op.clone(dict(known))
        copy.schedule = schedule
        set_origins(copy, [Origin(_name(number))])
        block.add_op(copy)
        made.append(copy.results[0])
    block.add_op(ReturnOp(*made))
    if added:
        _add_input(block, known[op.x], block.args[-1])
    return ModuleOp([function])


def _add_input(block: Block, x: SSAValue, other: SSAValue) -> None:
    """Let all that uses `x` use the sum of it and `other`."""
    first = block.first_op
    assert first is not None
    at = Lowering(first, PatternRewriter(first), integer_types())
    shape, element = shaped(x)
    users = list(x.uses)
    identity = AffineMap.identity(len(shape))
    total = at.compute([Input(x, identity), Input(other, identity)], shape, element, Scalar.__add__)
    for use in users:
        use.operation.operands[use.index] = total
