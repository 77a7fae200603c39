"""Emission of `scf` as C: loops and branches, with loop-carried values as variables."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region, SSAValue

from qmlir.extensions.aot.c.function import LARGEST, CWriter, EmitOperation
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.writing import Index, Text


def _carried(write: CWriter, op: Operation, initial: Sequence[SSAValue], inside: Sequence[SSAValue]) -> list[str]:
    """Declares variables for the values that a loop carries, with their initial values."""
    names: list[str] = []
    for value, argument in zip(initial, inside, strict=True):
        if memref_type(argument) is not None:
            raise op_error(op, "carries memory across iterations, which cannot be compiled")
        names.append(write.variable(op, argument, "sum", write.text(value)))
    return names


def _head(write: CWriter, name: str, bounds: tuple[Index, Index, Index]) -> str:
    lower, upper, step = bounds
    ends = [write.interval(each) for each in bounds]
    is_small = all(each is not None and each[0] > -LARGEST and each[1] < LARGEST for each in ends)
    kind = "int32_t" if is_small else "int64_t"
    on = f"{name}++" if step.number == 1 else f"{name} += {step}"
    return f"for ({kind} {name} = {lower}; {name} < {upper}; {on})"


def _induction(write: CWriter, value: SSAValue) -> str:
    name = write.names.new(write.hint(value, "i"))
    write.name(value, name)
    return name


def _for(write: CWriter, op: scf.ForOp) -> None:
    induction, *inside = op.body.block.args
    if not isinstance(induction.type, IndexType):
        raise op_error(op, f"loop induction variable must have type index, but got {induction.type}")
    names = _carried(write, op, tuple(op.iter_args), inside)
    bounds = write.bounds(op, (op.lb, op.ub, op.step))
    name = _induction(write, induction)
    with write.indented(_head(write, name, bounds), *bounds), write.steps(name, *bounds):
        write.assign(op, names, write.block(op.body.block))
    for name, result in zip(names, op.results, strict=True):
        write.name(result, name)


def _parallel(write: CWriter, op: scf.ParallelOp) -> None:
    if op.initVals:
        raise op_error(op, "reduces over parallel iterations, which cannot be compiled")
    rows = zip(op.body.block.args, op.lowerBound, op.upperBound, op.step, strict=True)
    with ExitStack() as loops:
        for induction, *values in rows:
            bounds, name = write.bounds(op, values), _induction(write, induction)
            loops.enter_context(write.indented(_head(write, name, bounds), *bounds))
            loops.enter_context(write.steps(name, *bounds))
        write.block(op.body.block)


def _branch(write: CWriter, op: Operation, names: Sequence[str], region: Region) -> None:
    """Emits a region of a branch, which assigns its results to `names`."""
    with write.perhaps():
        write.assign(op, names, write.region(region))


def _results(write: CWriter, op: Operation) -> list[str]:
    if any(memref_type(result) is not None for result in op.results):
        raise op_error(op, "returns memory, which cannot be compiled")
    return [write.variable(op, result) for result in op.results]


def _if(write: CWriter, op: scf.IfOp) -> None:
    condition = write.text(op.cond)
    names = _results(write, op)
    with write.indented(f"if ({condition})", condition):
        _branch(write, op, names, op.true_region)
    if op.false_region.blocks and (op.results or len(list(op.false_region.block.ops)) > 1):
        with write.indented("else"):
            _branch(write, op, names, op.false_region)


def _while(write: CWriter, op: scf.WhileOp) -> None:
    before, after = op.before_region.block, op.after_region.block
    names = _carried(write, op, tuple(op.arguments), before.args)
    results = [write.variable(op, result, "result") for result in op.results]
    for argument, name in zip(after.args, results, strict=True):
        write.name(argument, name)
    with write.indented("for (;;)"):
        condition, *forwarded = write.block(before)
        kept = write.names.new("goes_on")
        text = write.text(condition)
        write.line(f"const uint8_t {kept} = {text};", text)
        write.assign(op, results, forwarded)
        write.line(f"if (!{kept}) break;", Text(kept, frozenset({kept})))
        with write.perhaps():
            write.assign(op, names, write.block(after))


def _index_switch(write: CWriter, op: scf.IndexSwitchOp) -> None:
    chosen, names = write.index(op.arg), _results(write, op)
    with write.indented(f"switch ({chosen})", chosen):
        cases = zip(op.cases.get_values(), op.case_regions, strict=True)
        for head, region in (*((f"case {case}:", each) for case, each in cases), ("default:", op.default_region)):
            with write.indented(head, end="} break;"):
                _branch(write, op, names, region)


def _execute_region(write: CWriter, op: scf.ExecuteRegionOp) -> None:
    _branch(write, op, _results(write, op), op.region)


EMISSIONS = cast(
    dict[type[Operation], EmitOperation],
    {
        scf.ForOp: _for,
        scf.ParallelOp: _parallel,
        scf.IfOp: _if,
        scf.WhileOp: _while,
        scf.IndexSwitchOp: _index_switch,
        scf.ExecuteRegionOp: _execute_region,
    },
)
