"""Work of a team in the emitted code: calls of the runtime on the team and on the number of the thread.

Every thread of `team` runs the function, as the thread `number`.
"""

from typing import cast

from xdsl.ir import Operation

from qmlir.dialects.team.ops import ChunksOp, SingleOp
from qmlir.targets.cpu.emitters.numba.function import EmitOperation, FunctionWriter
from qmlir.targets.cpu.emitters.numba.text import Index, Text, name_text

TEAM, NUMBER = "team", "number"


def _of_thread(write: FunctionWriter, name: str, *operands: Text | int) -> Text:
    """The call of an operation on the team and the thread."""
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
        for place, (argument, bound) in enumerate(zip(op.body.block.args, bounds, strict=True)):
            call = write.call(("chunk_begin", "chunk_end")[place], name_text(TEAM), name_text(chunk), chunks, steps)
            write.line(f"{bound} = {call}")
            write.chunks[bound] = range(steps)
            write.values[argument] = Index.of(name_text(bound))
        write.region(op.body)
        write.line(f"{chunk} = {_of_thread(write, 'taken', name_text(chunk), chunks)}")
    write.line(str(_of_thread(write, "finished", chunks)))


EMISSIONS: dict[type[Operation], EmitOperation] = {
    SingleOp: cast(EmitOperation, _single),
    ChunksOp: cast(EmitOperation, _chunks),
}
