"""The program that `@main` of a module of loops describes: memory, constants, ports, and the order of kernels.

It is computed once and shared by all emitters. `@main` takes the caller's arrays, inputs before outputs. Its own memory
is one arena, and its kernels write their results to memory.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, NoneAttr, RankedStructure, TensorType, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import GlobalOp
from xdsl.ir import Attribute, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.attributes import overwritten
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.dialects.quant.infer import scaling_of
from qmlir.dialects.simd.base import tile_of
from qmlir.ir.builtin_types import as_dense
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.ir.limits import budget, over
from qmlir.ir.provenance import origins_of
from qmlir.ir.rewriting import operations_in
from qmlir.ir.signature import MAIN, REFUSES_NAN, Port, inputs_of, memory_outputs_of
from qmlir.targets.cpu.emitters.elements import caller_dtype, item_size, unfilled_bits
from qmlir.targets.cpu.isa import isa_of
from qmlir.targets.cpu.isa.base import ALIGNMENT, InstructionSet
from qmlir.targets.cpu.runtime.ports import ArrayPort
from qmlir.text.elements import dense_array

SLACK = 64
"""The number of bytes after the last buffer that vector loads may read."""


@dataclass(frozen=True)
class ArenaBuffer:
    """A buffer of the arena: its offset in bytes, and its number of elements."""

    start: int
    elements: int
    element: Attribute


@dataclass(frozen=True)
class Constant:
    """A `memref.global` that `@main` reads."""

    symbol: str
    dense: DenseIntOrFPElementsAttr[Any]

    @property
    def element(self) -> Attribute:
        """The element type of the constant."""
        return self.dense.get_element_type()

    @property
    def array(self) -> Array:
        """The values of the constant, read-only."""
        return dense_array(self.dense)

    @property
    def elements(self) -> int:
        """The number of elements of the constant."""
        return math.prod(self.dense.get_shape())


PortRow: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class MainPort:
    """An array of the caller: its name, the element type, the NumPy type that the caller sees, and the shape.

    `bits` is the width of elements that don't fill their NumPy type, 0 for others. `in_place` lists the inputs, by
    index, whose memory this output may reuse. Stored integers have a `scale` and a `zero_point`.
    """

    name: str
    value: SSAValue
    element: Attribute
    dtype: str
    shape: tuple[int, ...]
    refuses_nan: bool
    bits: int
    in_place: tuple[int, ...] = ()
    scale: float | None = None
    zero_point: int = 0

    @property
    def elements(self) -> int:
        """The number of elements of the array."""
        return math.prod(self.shape)

    @property
    def row(self) -> PortRow:
        """The port as a row of an emitted module. Only stored integers have a scale and a zero point there."""
        scaling = () if self.scale is None else (self.scale, self.zero_point)
        return self.name, self.dtype, self.shape, self.refuses_nan, self.bits, *scaling

    @cached_property
    def array(self) -> ArrayPort:
        """The port as the Python runtime sees it."""
        return ArrayPort(
            self.name, np.dtype(self.dtype), self.shape, self.refuses_nan, bits=self.bits, scale=self.scale,
            zero_point=self.zero_point,
        )  # fmt: skip


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel, and the names of the model's nodes that it computes."""

    kernel: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LoopProgram:
    """A module of loops and the contents of its `@main`, as returned by `program_of`."""

    module: ModuleOp
    isa: InstructionSet
    main: FuncOp
    kernels: tuple[FuncOp, ...]
    """All functions except `@main`, in module order."""

    buffers: Mapping[SSAValue, ArenaBuffer]
    """The buffers of the arena, by the result of their `memref.alloc`."""

    constants: Mapping[str, Constant]
    """The constants by symbol, in the order of their first use in `@main`."""

    inputs: tuple[MainPort, ...]
    outputs: tuple[MainPort, ...]
    calls: tuple[KernelCall, ...]

    @property
    def arena_bytes(self) -> int:
        """The size of the arena in bytes, including the slack that vector loads may read after the last buffer."""
        ends = (each.start + each.elements * item_size(each.element) for each in self.buffers.values())
        return max(ends, default=0) + SLACK

    @property
    def weights_bytes(self) -> int:
        """The size of all constants, in bytes."""
        return sum(each.elements * item_size(each.element) for each in self.constants.values())

    @property
    def scratch_bytes(self) -> int:
        """The largest stack use of local arrays, in bytes: those of `@main` plus those of the largest kernel.

        `@main` calls the kernels, and kernels don't call each other.
        """
        return _scratch(self.main) + max(map(_scratch, self.kernels), default=0)

    def kernel(self, symbol: str) -> FuncOp | None:
        """Returns the kernel named `symbol`, or `None`."""
        return next((each for each in self.kernels if each.sym_name.data == symbol), None)


def _scratch(function: FuncOp) -> int:
    types = (op.memref.type for op in function.walk() if isinstance(op, memref.AllocaOp))
    sizes = (math.prod(type_.get_shape()) * item_size(type_.get_element_type()) for type_ in types)
    return sum(-(-size // ALIGNMENT) * ALIGNMENT for size in sizes)


def arguments_with(name: str, function: FuncOp) -> list[SSAValue]:
    """Returns the arguments of a function that have the attribute `name`."""
    entries = () if function.arg_attrs is None else function.arg_attrs.data
    arguments = zip(function.body.block.args, entries, strict=False)
    return [argument for argument, entry in arguments if name in entry.data]


def _buffer(op: memref.AllocOp, used: int) -> ArenaBuffer:
    """Returns the arena buffer of an allocation after `used` bytes. Raises `DiagnosticError` if it doesn't fit."""
    type_ = op.memref.type
    if op.dynamic_sizes or not isinstance(type_.layout, NoneAttr):
        raise op_error(op, f"allocations must have a static shape and no layout, but got {type_}")
    start = -(-used // ALIGNMENT) * ALIGNMENT
    found = ArenaBuffer(start, math.prod(type_.get_shape()), type_.get_element_type())
    end = start + found.elements * item_size(found.element)
    if end > budget("arena-bytes"):
        raise op_error(op, f"needs an arena of {over('arena-bytes', end)}")
    return found


def _contents(type_: RankedStructure[Attribute]) -> tuple[tuple[int, ...], Attribute]:
    """Returns the shape and element type, which determine the contents of a type."""
    return type_.get_shape(), type_.get_element_type()


def _constant(op: memref.GetGlobalOp, named: memref.GlobalOp | None) -> Constant:
    """Returns the constant of a `memref.get_global`. Raises `DiagnosticError` if it is missing or has another type."""
    symbol = op.name_.string_value()
    if named is None:
        raise op_error(op, f"refers to @{symbol}, but the module has no such memref.global")
    if named.type != op.memref.type:
        raise op_error(op, f"has the type {op.memref.type}, and @{symbol} {named.type}")
    value = as_dense(named.initial_value)
    if value is None or _contents(value.type) != _contents(named.type):
        found = "none" if value is None else value.type
        raise op_error(named, f"must have a value of its type {named.type}, but got {found}")
    return Constant(symbol, value)


def _ports(function: FuncOp, ports: Sequence[Port], first: int) -> tuple[MainPort, ...]:
    """Returns the ports of the arguments from number `first`."""
    refusing = arguments_with(REFUSES_NAN, function)
    entries = () if function.arg_attrs is None else function.arg_attrs.data
    found: list[MainPort] = []
    for number, port in enumerate(ports, first):
        argument, type_ = function.body.block.args[number], cast(TensorType[Attribute], port.of_caller().type)
        seen, shape = type_.get_element_type(), tuple(type_.get_shape())
        element, scale = storage_element(seen), scaling_of(seen)
        in_place = tuple(overwritten(entries[number])) if number < len(entries) else ()
        dtype, bits = caller_dtype(function, element), unfilled_bits(element)
        found.append(MainPort(port.name, argument, element, dtype, shape, argument in refusing, bits, in_place, *scale))
    return tuple(found)


def program_of(module: ModuleOp) -> LoopProgram:
    """Returns the program of a module of loops.

    Raises `DiagnosticError` if the module has no `@main`, or has memory or constants that a program can't contain.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    named = {op.sym_name.data: op for op in module.ops if isinstance(op, memref.GlobalOp)}
    main = functions.get(MAIN)
    if main is None or main.is_declaration:
        raise text_error("a module without a function @main cannot be emitted")
    kernels = tuple(each for each in functions.values() if each is not main and not each.is_declaration)
    callable_ = {each.sym_name.data for each in kernels}
    buffers: dict[SSAValue, ArenaBuffer] = {}
    constants: dict[str, Constant] = {}
    calls: list[KernelCall] = []
    used = 0
    for op in main.walk():
        if isinstance(op, memref.AllocOp):
            buffer = buffers[op.memref] = _buffer(op, used)
            used = buffer.start + buffer.elements * item_size(buffer.element)
        elif isinstance(op, memref.GetGlobalOp):
            symbol = op.name_.string_value()
            found = _constant(op, named.get(symbol))
            constants.setdefault(symbol, found)
        elif isinstance(op, func.CallOp):
            symbol = op.callee.root_reference.data
            if symbol not in callable_:
                raise op_error(op, f"calls @{symbol}, and the module has no such kernel")
            calls.append(KernelCall(symbol, tuple(str(origin) for origin in origins_of(op))))
    inputs = _ports(main, inputs_of(main), 0)
    outputs = _ports(main, memory_outputs_of(main), len(inputs))
    return LoopProgram(module, isa_of(module), main, kernels, buffers, constants, inputs, outputs, tuple(calls))


_FEWEST_CARRIED = 2
"""The fewest vectors that the loop over the terms of a register tile carries."""


_LOOPS = scf.ForOp, scf.ParallelOp, scf.WhileOp


def _vectors(values: Iterable[SSAValue]) -> int:
    return sum(math.prod(tile_of(value)) for value in values if isinstance(value.type, VectorType))


def is_tiled(function: FuncOp) -> bool:
    """Returns true if a loop of a kernel carries several vectors, and all of its innermost loops compute on vectors.

    LLVM's passes find nothing to improve in such a kernel: registers are chosen, and no loop is left to vectorize.
    """
    loops = [op for op in operations_in(function) if isinstance(op, _LOOPS)]
    bodies = [operations_in(loop)[1:] for loop in loops]
    innermost = [body for body in bodies if not any(isinstance(op, _LOOPS) for op in body)]
    return any(
        _vectors(loop.body.block.args) >= _FEWEST_CARRIED for loop in loops if isinstance(loop, scf.ForOp)
    ) and all(any(_vectors(op.results) for op in body) for body in innermost)


def constants_of(module: ModuleOp) -> dict[str, Array]:
    """Returns the constants of a module of loops by the names of their globals."""
    found: dict[str, Array] = {}
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DenseIntOrFPElementsAttr):
            found[op.sym_name.data] = dense_array(cast(DenseIntOrFPElementsAttr[Any], op.initial_value))
    return found
