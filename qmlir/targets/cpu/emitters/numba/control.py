"""Emits `scf`, custom kernels and team operations as Python: loops, branches, and variables for loop-carried values.

Every thread of `team` runs the function; `number` is the number of the thread. Both are passed to the team operations
of the runtime.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region, SSAValue

from qmlir.dialects.kernel.custom import CustomOp, called_kernel, stored_dtype
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.team.ops import ChunksOp, SingleOp
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.numba.function import EmitOperation, FunctionWriter
from qmlir.targets.cpu.emitters.writing import Index, Memory, Text, name_text


def _alias(write: FunctionWriter, value: SSAValue, name: str) -> None:
    """Binds `value` to an existing variable."""
    write.values[value] = Index.of(name_text(name)) if isinstance(value.type, IndexType) else name_text(name)


def _carried(
    write: FunctionWriter, op: Operation, initial: Sequence[SSAValue], inside: Sequence[SSAValue]
) -> list[str]:
    """Creates variables for loop-carried values and assigns the initial values; returns their names."""
    names: list[str] = []
    for value, argument in zip(initial, inside, strict=True):
        if memref_type(argument) is not None:
            raise op_error(op, "carries memory across iterations, which cannot be compiled")
        first = str(write.text(value))
        names.append(write.variable(argument, "carried"))
        write.line(f"{names[-1]} = {first}")
    return names


def _range_text(lower: Index, upper: Index, step: Index) -> str:
    if step.number == 1:
        return f"{upper}" if lower.number == 0 else f"{lower}, {upper}"
    return f"{lower}, {upper}, {step}"


def _for(write: FunctionWriter, op: scf.ForOp) -> None:
    induction, *inside = op.body.block.args
    if not isinstance(induction.type, IndexType):
        raise op_error(op, f"loop induction variable must have type index, but got {induction.type}")
    names = _carried(write, op, tuple(op.iter_args), inside)
    bounds = write.bounds(op, (op.lb, op.ub, op.step))
    name = write.variable(induction, "i")
    write.line(f"for {name} in range({_range_text(*bounds)}):")
    with write.indented(), write.steps(name, *bounds):
        yielded = write.block(op.body.block)
        write.assign(names, [write.text(value) for value in yielded])
    for name, result in zip(names, op.results, strict=True):
        _alias(write, result, name)


def _parallel(write: FunctionWriter, op: scf.ParallelOp) -> None:
    if op.initVals:
        raise op_error(op, "reduces over parallel iterations, which cannot be compiled")
    depth = write.depth
    rows = zip(op.body.block.args, op.lowerBound, op.upperBound, op.step, strict=True)
    with ExitStack() as loops:
        for induction, *values in rows:
            bounds, name = write.bounds(op, values), write.variable(induction, "i")
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
    """Emits one region of a branch, and assigns its results to the variables `names`."""
    with write.perhaps():
        yielded = write.region(region)
    write.assign(names, [write.text(value) for value in yielded])


def _if(write: FunctionWriter, op: scf.IfOp) -> None:
    if any(memref_type(result) is not None for result in op.results):
        raise op_error(op, "returns memory, which cannot be compiled")
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


def _array(write: FunctionWriter, memory: Memory, dtype: str) -> Text:
    flat = name_text(memory.array)
    if memory.offset.number != 0:
        flat = write.call("tail", flat, memory.offset)
    layout = "C" if memory.is_contiguous else "A"
    return write.call("array", flat, f'"{dtype}"', f'"{layout}"', *memory.shape, *memory.strides)


def _custom(write: FunctionWriter, op: CustomOp) -> None:
    """Emits a call of a custom kernel.

    Arrays with gaps are copied if the function requires contiguous arrays; results are copied back after the call.
    """
    called_kernel(op)  # of a function that a package gives
    arguments: list[Text] = []
    behind: list[str] = []
    for position, (value, own) in enumerate(zip(op.operands, op.own_types, strict=True)):
        dtype, memory = stored_dtype(element_type(own)), write.memory(value)
        if dtype is None:
            raise op_error(op, f"cannot pass a value of type {own} as an array")
        array = _array(write, memory, str(dtype))
        if memory.is_contiguous or op.any_strides is not None:
            arguments.append(array)
            continue
        copy = write.names.new("copy")
        write.line(f"{copy} = {array}.copy()")
        arguments.append(name_text(copy))
        if position >= len(op.inputs):
            gaps = write.names.new("gaps")
            behind += [f"{gaps} = {array}", f"{gaps}[...] = {copy}"]
    name = write.tables.function(op.function.data)
    write.line(f"{name}({', '.join(map(str, arguments))})")
    for line in behind:
        write.line(line)


TEAM, NUMBER = "team", "number"


def _of_thread(write: FunctionWriter, name: str, *operands: Text | int) -> Text:
    """Returns the call of a runtime operation with the team, the thread number, and `operands`."""
    return write.call(name, name_text(TEAM), name_text(NUMBER), *operands)


def _single(write: FunctionWriter, op: SingleOp) -> None:
    condition = _of_thread(write, "alone")
    write.line(f"if {NUMBER} == 0 and {condition}:" if op.first is not None else f"if {condition}:")
    with write.indented():
        write.region(op.body)
    write.line(str(_of_thread(write, "finished", 0)))


def _chunks(write: FunctionWriter, op: ChunksOp) -> None:
    steps, chunks = op.steps.value.data, op.chunks.value.data
    chunk, *bounds = (write.names.new(name) for name in ("chunk", "begin", "end"))
    write.line(f"{chunk} = {_of_thread(write, 'taken', -1, chunks)}")
    write.line(f"while {chunk} >= 0:")
    with write.indented():
        for position, (argument, bound) in enumerate(zip(op.body.block.args, bounds, strict=True)):
            call = write.call(("chunk_begin", "chunk_end")[position], name_text(TEAM), name_text(chunk), chunks, steps)
            write.line(f"{bound} = {call}")
            write.chunks[bound] = range(steps)
            write.values[argument] = Index.of(name_text(bound))
        write.region(op.body)
        write.line(f"{chunk} = {_of_thread(write, 'taken', name_text(chunk), chunks)}")
    write.line(str(_of_thread(write, "finished", chunks)))


EMISSIONS = cast(
    dict[type[Operation], EmitOperation],
    {
        ChunksOp: _chunks,
        CustomOp: _custom,
        SingleOp: _single,
        scf.ForOp: _for,
        scf.ParallelOp: _parallel,
        scf.IfOp: _if,
        scf.WhileOp: _while,
        scf.IndexSwitchOp: _index_switch,
        scf.ExecuteRegionOp: _execute_region,
    },
)
