"""`kernel.custom` in the emitted code: a custom kernel, called with arrays of numba's own kind."""

from typing import cast

from xdsl.ir import Operation

from qmlir.dialects.kernel.custom import CustomOp, called_kernel, stored_dtype
from qmlir.dialects.quant.infer import element_type
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.numba.function import EmitOperation, FunctionWriter, Memory
from qmlir.targets.cpu.emitters.numba.text import Text, name_text


def _array(write: FunctionWriter, memory: Memory, dtype: str) -> Text:
    flat = name_text(memory.array)
    if memory.offset.number != 0:
        flat = write.call("tail", flat, memory.offset)
    layout = "C" if memory.is_contiguous else "A"
    return write.call("array", flat, f'"{dtype}"', f'"{layout}"', *memory.shape, *memory.strides)


def _custom(write: FunctionWriter, op: CustomOp) -> None:
    """The call; memory with gaps is copied where the function wants none, results after the call."""
    called_kernel(op)  # of a function that a package gives
    arguments: list[Text] = []
    behind: list[str] = []
    for place, (value, own) in enumerate(zip(op.operands, op.own_types, strict=True)):
        dtype, memory = stored_dtype(element_type(own)), write.memory(value)
        if dtype is None:
            raise op_error(op, f"has a value of type {own}: no array of it can be handed over")
        array = _array(write, memory, str(dtype))
        if memory.is_contiguous or op.any_strides is not None:
            arguments.append(array)
            continue
        copy = write.names.new("copy")
        write.line(f"{copy} = {array}.copy()")
        arguments.append(name_text(copy))
        if place >= len(op.inputs):
            gaps = write.names.new("gaps")
            behind += [f"{gaps} = {array}", f"{gaps}[...] = {copy}"]
    name = write.tables.function(op.function.data)
    write.line(f"{name}({', '.join(map(str, arguments))})")
    for line in behind:
        write.line(line)


EMISSIONS = cast(dict[type[Operation], EmitOperation], {CustomOp: _custom})
