"""The text of a program: one instruction a line, registers with their types, numbers in hexadecimal.

.part main_fxp_0
in    r0 i8 1x1x8x8
data  r1 i4 16x1x3x3 03fdfc…
corr  r2 i24 1x16x8x8 r0 r1 pads=1,1,1,1
…
out   r6
"""

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.ir.builtin_types import integer_list, tensor
from qmlir.ir.diagnostics import op_error
from qmlir.ir.provenance import origins_of
from qmlir.text.elements import dense_array
from qmlir_fxp.dialect import ops

MNEMONICS: Mapping[type[Operation], str] = {
    ops.ConstantOp: "data",
    ops.CorrelateOp: "corr",
    ops.AddBiasOp: "bias",
    ops.AddOp: "add",
    ops.ShiftOp: "shift",
    ops.LimitOp: "limit",
}


def _type(value: SSAValue) -> str:
    type_ = tensor(value.type)
    sizes = "x".join("?" if size == DYNAMIC_INDEX else str(size) for size in type_.get_shape())
    return f"i{ops.width(value)} {sizes}"


def _number(attribute: Attribute) -> str:
    match attribute:
        case DenseArrayBase():
            return ",".join(map(str, integer_list(attribute)))
        case IntegerAttr():
            return str(attribute.value.data)
        case StringAttr():
            return attribute.data
        case _:
            raise ValueError(f"no number: {attribute}")


def _line(op: Operation, registers: Mapping[SSAValue, str]) -> str:
    (result,) = op.results
    words = [f"{MNEMONICS[type(op)]:5} {registers[result]} {_type(result)}"]
    if isinstance(op, ops.ConstantOp):
        words.append(dense_array(op.value).tobytes().hex())
    else:
        words += [registers[operand] for operand in op.operands]
        words += [f"{name}={_number(value)}" for name, value in sorted(op.properties.items())]
    origins = ", ".join(map(str, origins_of(op)))
    return " ".join(words) + (f"  ; {origins}" if origins else "")


def _function(function: FuncOp) -> Iterator[str]:
    yield f".part {function.sym_name.data}"
    registers: dict[SSAValue, str] = {}
    for argument in function.body.block.args:
        registers[argument] = f"r{len(registers)}"
        yield f"in    {registers[argument]} {_type(argument)}"
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            yield from (f"out   {registers[value]}" for value in op.operands)
        elif type(op) in MNEMONICS:
            registers[op.results[0]] = f"r{len(registers)}"
            yield _line(op, registers)
        else:
            raise op_error(op, f"is not an instruction of the device: {', '.join(MNEMONICS.values())} are")


def text_of(module: ModuleOp) -> str:
    """The program of a module of instructions. Raises `DiagnosticError` for what is not an instruction."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]
    return "\n".join(line for function in functions for line in _function(function)) + "\n"
