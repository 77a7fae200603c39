"""`scf` in the emitted code: Python's loops and choices; values that they carry are variables."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region, SSAValue

from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.numba.function import EmitOperation, FunctionWriter, memref_type
from qmlir.targets.cpu.emitters.numba.text import Index, Text, name_text


def _alias(write: FunctionWriter, value: SSAValue, name: str) -> None:
    """Let a variable that there is be `value`."""
    write.values[value] = Index.of(name_text(name)) if isinstance(value.type, IndexType) else name_text(name)


def _carried(
    write: FunctionWriter, op: Operation, initial: Sequence[SSAValue], inside: Sequence[SSAValue]
) -> list[str]:
    """Variables for the values that a loop carries, with their first values."""
    names: list[str] = []
    for value, argument in zip(initial, inside, strict=True):
        if memref_type(argument) is not None:
            raise op_error(op, "carries memory from step to step, which has no compiled form")
        first = str(write.text(value))
        names.append(write.variable(argument, "carried"))
        write.line(f"{names[-1]} = {first}")
    return names


def _bounds(write: FunctionWriter, op: Operation, values: Sequence[SSAValue]) -> tuple[Index, Index, Index]:
    """The bounds and the step of a loop."""
    lower, upper, step = map(write.index, values)
    if step.number is not None and step.number < 1:
        raise op_error(op, f"goes on by {step.number}: the step of a loop is positive")
    return lower, upper, step


def _range_text(lower: Index, upper: Index, step: Index) -> str:
    if step.number == 1:
        return f"{upper}" if lower.number == 0 else f"{lower}, {upper}"
    return f"{lower}, {upper}, {step}"


def _for(write: FunctionWriter, op: scf.ForOp) -> None:
    induction, *inside = op.body.block.args
    if not isinstance(induction.type, IndexType):
        raise op_error(op, f"counts in {induction.type}: compiled are loops over index")
    names = _carried(write, op, tuple(op.iter_args), inside)
    bounds = _bounds(write, op, (op.lb, op.ub, op.step))
    name = write.variable(induction, "i")
    write.line(f"for {name} in range({_range_text(*bounds)}):")
    with write.indented(), write.steps(name, *bounds):
        yielded = write.block(op.body.block)
        write.assign(names, [write.text(value) for value in yielded])
    for name, result in zip(names, op.results, strict=True):
        _alias(write, result, name)


def _parallel(write: FunctionWriter, op: scf.ParallelOp) -> None:
    if op.initVals:
        raise op_error(op, "reduces over parallel steps, which has no compiled form")
    depth = write.depth
    rows = zip(op.body.block.args, op.lowerBound, op.upperBound, op.step, strict=True)
    with ExitStack() as loops:
        for induction, *values in rows:
            bounds, name = _bounds(write, op, values), write.variable(induction, "i")
            write.line(f"for {name} in range({_range_text(*bounds)}):")
            write.depth += 1
            loops.enter_context(write.steps(name, *bounds))
        count = len(write.lines)
        write.block(op.body.block)
        if len(write.lines) == count:
            write.line("pass")
    write.depth = depth


def _condition(write: FunctionWriter, value: SSAValue) -> Text:
    return write.call("holds", write.text(value))


def _branch(write: FunctionWriter, names: Sequence[str], region: Region) -> None:
    """One of the regions of a choice, which gives the values of `names`."""
    with write.perhaps():
        yielded = write.region(region)
    write.assign(names, [write.text(value) for value in yielded])


def _if(write: FunctionWriter, op: scf.IfOp) -> None:
    if any(memref_type(result) is not None for result in op.results):
        raise op_error(op, "gives memory, which has no compiled form")
    condition = _condition(write, op.cond)
    names = [write.variable(result) for result in op.results]
    write.line(f"if {condition}:")
    with write.indented():
        _branch(write, names, op.true_region)
    if op.false_region.blocks and (op.results or len(list(op.false_region.block.ops)) > 1):
        write.line("else:")
        with write.indented():
            _branch(write, names, op.false_region)


def _while(write: FunctionWriter, op: scf.WhileOp) -> None:
    before, after = op.before_region.block, op.after_region.block
    names = _carried(write, op, tuple(op.arguments), before.args)
    results = [write.variable(result, "result") for result in op.results]
    for argument, name in zip(after.args, results, strict=True):
        _alias(write, argument, name)
    write.line("while True:")
    with write.indented():
        condition, *forwarded = write.block(before)
        kept = write.names.new("goes_on")
        write.line(f"{kept} = {_condition(write, condition)}")
        write.assign(results, [write.text(value) for value in forwarded])
        write.line(f"if not {kept}:")
        with write.indented():
            write.line("break")
        with write.perhaps():
            yielded = write.block(after)
        write.assign(names, [write.text(value) for value in yielded])


def _index_switch(write: FunctionWriter, op: scf.IndexSwitchOp) -> None:
    chosen = write.index(op.arg)
    names = [write.variable(result) for result in op.results]
    word = "if"
    for case, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        write.line(f"{word} {chosen} == {case}:")
        with write.indented():
            _branch(write, names, region)
        word = "elif"
    if word == "if":
        _branch(write, names, op.default_region)
        return
    write.line("else:")
    with write.indented():
        _branch(write, names, op.default_region)


def _execute_region(write: FunctionWriter, op: scf.ExecuteRegionOp) -> None:
    names = [write.variable(result) for result in op.results]
    _branch(write, names, op.region)


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
