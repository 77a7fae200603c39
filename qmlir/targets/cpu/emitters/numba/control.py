"""Emits control flow, custom kernels and team operations as Python.

Every thread of `team` runs the function; `number` is the number of the thread. Both are passed to the team operations
of the runtime.
"""

from contextlib import nullcontext
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation

from qmlir.dialects.kernel.custom import CustomOp, called_kernel, stored_dtype
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.team.ops import ChunksOp, SingleOp
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.control import CONTROL, branch, results_of
from qmlir.targets.cpu.emitters.numba.function import FunctionWriter
from qmlir.targets.cpu.emitters.writing import Index, Memory, Text, name_text


def _index_switch(write: FunctionWriter, op: scf.IndexSwitchOp) -> None:
    chosen, names, word = write.index(op.arg), results_of(write, op), "if"
    for case, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        with write.indented(f"{word} {chosen} == {case}"):
            branch(write, names, region)
        word = "elif"
    with write.indented("else") if word == "elif" else nullcontext():
        branch(write, names, op.default_region)


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
    with write.indented(f"if {NUMBER} == 0 and {condition}" if op.first is not None else f"if {condition}"):
        write.region(op.body)
    write.line(str(_of_thread(write, "finished", 0)))


def _chunks(write: FunctionWriter, op: ChunksOp) -> None:
    steps, chunks = op.steps.value.data, op.chunks.value.data
    chunk, *bounds = (write.names.new(name) for name in ("chunk", "begin", "end"))
    write.line(f"{chunk} = {_of_thread(write, 'taken', -1, chunks)}")
    with write.indented(f"while {chunk} >= 0"):
        for argument, bound, name in zip(op.body.block.args, bounds, ("chunk_begin", "chunk_end"), strict=True):
            call = write.call(name, name_text(TEAM), name_text(chunk), chunks, steps)
            write.line(f"{bound} = {call}")
            write.chunks[bound] = range(steps)
            write.values[argument] = Index.of(name_text(bound))
        write.region(op.body)
        write.line(f"{chunk} = {_of_thread(write, 'taken', name_text(chunk), chunks)}")
    write.line(str(_of_thread(write, "finished", chunks)))


EMISSIONS: dict[type[Operation], Any] = {
    **CONTROL,
    ChunksOp: _chunks,
    CustomOp: _custom,
    SingleOp: _single,
    scf.IndexSwitchOp: _index_switch,
}
