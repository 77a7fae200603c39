"""What a module of loops says to every emitter: its functions and constants, its ports, and where buffers lie."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, NoneAttr, RankedStructure, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from qmlir.dialects.kernel.attributes import overwritten
from qmlir.ir.budgets import budget, over
from qmlir.ir.builtin_types import AnyDense, as_dense
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.ir.signature import REFUSES_NAN, Port, inputs_of, memory_outputs_of
from qmlir.targets.cpu.emitters.numba.elements import caller_dtype, item_size, unfilled_bits
from qmlir.targets.cpu.isa.base import ALIGNMENT

PortRow: TypeAlias = tuple[str, str, tuple[int, ...], bool, int]
"""Of a port: its name, the NumPy type and the shape of the caller's array, whether NaN is refused, and the width of
elements that do not fill that type."""


class Loops:
    """The functions and constants of a module. Raises `DiagnosticError` where it has no @main."""

    def __init__(self, module: ModuleOp) -> None:
        self.globals = {op.sym_name.data: op for op in module.ops if isinstance(op, memref.GlobalOp)}
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        main = self.functions.get("main")
        if main is None or main.is_declaration:
            raise text_error("a module without a function @main cannot be emitted")
        self.main = main

    @property
    def kernels(self) -> list[FuncOp]:
        """The functions that @main may call."""
        found = [op for op in self.functions.values() if op is not self.main and not op.is_declaration]
        for function in found:
            if function.function_type.outputs.data:
                raise op_error(function, "returns values: a kernel writes into memory")
        return found

    @property
    def inputs(self) -> list[PortRow]:
        """What @main takes."""
        ports = inputs_of(self.main)
        return _port_rows(self.main, ports, self.main.body.block.args[: len(ports)])

    @property
    def outputs(self) -> list[PortRow]:
        """What @main gives."""
        first = len(inputs_of(self.main))
        return _port_rows(self.main, memory_outputs_of(self.main), self.main.body.block.args[first:])

    @property
    def in_place(self) -> list[list[int]]:
        """For each output the inputs whose memory it may be."""
        entries = self.main.arg_attrs
        return [] if entries is None else [overwritten(entry) for entry in entries.data[len(inputs_of(self.main)) :]]

    def constant(self, op: memref.GetGlobalOp) -> tuple[str, AnyDense]:
        """The symbol of a constant, and its value. Raises `DiagnosticError` where there is none of its type."""
        symbol = op.name_.string_value()
        if symbol not in self.globals:
            raise op_error(op, f"names @{symbol}, and the module has no such memref.global")
        named = self.globals[symbol]
        if named.type != op.memref.type:
            raise op_error(op, f"has the type {op.memref.type}, and @{symbol} {named.type}")
        value = as_dense(named.initial_value)
        if value is None or _contents(value.type) != _contents(named.type):
            found = "none" if value is None else value.type
            raise op_error(
                named, f"has the type {named.type}, and takes a value of that shape and element, found {found}"
            )
        return symbol, value


def _contents(type_: RankedStructure[Attribute]) -> tuple[tuple[int, ...], Attribute]:
    """How many elements there are of which type."""
    return type_.get_shape(), type_.get_element_type()


def _port_rows(function: FuncOp, ports: Sequence[Port], arguments: Sequence[SSAValue]) -> list[PortRow]:
    """The rows of `ports`, which are these arguments."""
    rows: list[PortRow] = []
    refusing = arguments_with(REFUSES_NAN, function)
    for port, argument in zip(ports, arguments, strict=True):
        type_ = cast(TensorType[Any], port.of_caller().type)
        element = type_.get_element_type()
        dtype, shape = caller_dtype(function, element), tuple(type_.get_shape())
        rows.append((port.name, dtype, shape, argument in refusing, unfilled_bits(element)))
    return rows


def arguments_with(name: str, function: FuncOp) -> list[SSAValue]:
    """The arguments of a function that have the attribute `name`."""
    entries = () if function.arg_attrs is None else function.arg_attrs.data
    arguments = zip(function.body.block.args, entries, strict=False)
    return [argument for argument, entry in arguments if name in entry.data]


@dataclass
class Arena:
    """The working memory of a program while its buffers are placed, one after the other."""

    size: int = 0

    def place(self, op: memref.AllocOp) -> tuple[int, int]:
        """The byte where a buffer begins, and its elements. Raises `DiagnosticError` for what has no known size."""
        type_ = op.memref.type
        if op.dynamic_sizes or not isinstance(type_.layout, NoneAttr):
            raise op_error(op, f"allocates {type_}: compiled are known sizes without a layout")
        count = math.prod(type_.get_shape())
        start = -(-self.size // ALIGNMENT) * ALIGNMENT
        self.size = start + count * item_size(type_.get_element_type())
        if self.size > budget("arena-bytes"):
            raise op_error(op, f"needs an arena whose bytes are {over('arena-bytes', self.size)}")
        return start, count
