"""`kernel-merge-functions`: merges kernels that differ only in scalar constants into one that loads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    PackableType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.analysis.operand_accesses import INTEGER_DIVISIONS
from qmlir.dialects.kernel.attributes import overwriting, overwritten
from qmlir.ir.builtin_types import as_integer
from qmlir.ir.equivalence import equivalent
from qmlir.ir.passes import count
from qmlir.ir.provenance import PROVENANCE_ATTRIBUTES, hand_on
from qmlir.targets.cpu.scheduled.aliases import destination_style
from qmlir.targets.cpu.scheduled.rewriting import Globals

_WIDTHS = (8, 16, 32, 64)
"""Bits of integers that fill their memory."""


def _is_number(type_: Attribute) -> bool:
    return isinstance(type_, AnyFloat) or ((integer := as_integer(type_)) is not None and integer.width.data in _WIDTHS)


def _numbers(function: FuncOp) -> list[arith.ConstantOp]:
    """The scalar constants of a kernel that may as well come from memory, in order: those that shape no loop."""
    return [
        op
        for op in function.walk()
        if isinstance(op, arith.ConstantOp)
        and isinstance(op.value, IntegerAttr | FloatAttr)
        and _is_number(op.result.type)
        and not any(isinstance(use.operation, INTEGER_DIVISIONS) and use.index == 1 for use in op.result.uses)
    ]


_NAMES = ("sym_name", *PROVENANCE_ATTRIBUTES)


def _groups(functions: Sequence[FuncOp]) -> list[list[FuncOp]]:
    """Kernels that are equal but for their numbers."""
    found: dict[object, list[list[FuncOp]]] = {}
    without: dict[Operation, Sequence[str]] = {}
    for function in functions:
        without |= {function: _NAMES, **dict.fromkeys(_numbers(function), ("value",))}
        key = (function.function_type, function.arg_attrs, tuple(each.name for each in function.walk()))
        groups = found.setdefault(key, [])
        group = next((group for group in groups if equivalent(group[0], function, without)), None)
        if group is None:
            groups.append([function])
        else:
            group.append(function)
    return [group for groups in found.values() for group in groups if len(group) > 1]


@dataclass(frozen=True)
class _Parameters:
    """Constants of one type in which the kernels of a group differ: those of the first kernel, and all values."""

    element: Attribute
    positions: tuple[list[arith.ConstantOp], ...]
    values: tuple[tuple[bytes, ...], ...]
    """For each parameter, its value in each kernel, as bytes in memory."""

    def elements(self, kernel: int) -> DenseIntOrFPElementsAttr:
        """Returns the parameters of the kernel at index `kernel`, as the contents of a memref."""
        packed = b"".join(row[kernel] for row in self.values)
        return DenseIntOrFPElementsAttr(TensorType(cast(Any, self.element), [len(self.values)]), BytesAttr(packed))


def _bytes(constant: arith.ConstantOp) -> bytes:
    """A number as memory holds it: 0.0 and -0.0 differ."""
    value = constant.value
    assert isinstance(value, IntegerAttr | FloatAttr)
    return cast(PackableType[Any], value.type).pack([value.value.data])


def _parameters(group: Sequence[FuncOp]) -> list[_Parameters]:
    """What the kernels of a group differ in, by type; numbers that agree in each kernel are one parameter."""
    found: dict[Attribute, dict[tuple[bytes, ...], list[arith.ConstantOp]]] = {}
    for numbers in zip(*map(_numbers, group), strict=True):
        values = tuple(map(_bytes, numbers))
        if len(set(values)) > 1:
            found.setdefault(numbers[0].result.type, {}).setdefault(values, []).append(numbers[0])
    return [_Parameters(element, tuple(rows.values()), tuple(rows)) for element, rows in found.items()]


def _first_written(function: FuncOp) -> int:
    """The place of the first argument that is written for sure; behind all where none is."""
    arguments = function.body.block.args
    written = [
        arguments.index(op.operands[destination.operand])
        for op in function.body.block.ops
        if (style := destination_style(op)) is not None
        for destination in style.destinations()
        if destination.operand is not None and op.operands[destination.operand] in arguments
    ]
    return min(written, default=len(arguments))


def _read_numbers(function: FuncOp, parameters: Sequence[_Parameters], position: int) -> None:
    """Let `function` take its parameters as arguments from `position` on, and read them at its start."""
    block = function.body.block
    memories = [
        block.insert_arg(MemRefType(each.element, [len(each.positions)]), position + number)
        for number, each in enumerate(parameters)
    ]
    loads: list[Operation] = []
    for memory, each in zip(memories, parameters, strict=True):
        memory.name_hint = "parameters"
        for number, constants in enumerate(each.positions):
            index = arith.ConstantOp(IntegerAttr(number, IndexType()))
            load = memref.LoadOp.get(memory, [index.result])
            load.res.name_hint = constants[0].result.name_hint
            loads += [index, load]
            for constant in constants:
                constant.result.replace_all_uses_with(load.res)
                Rewriter.erase_op(constant)
    Rewriter.insert_op(loads, InsertPoint.at_start(block))
    function.update_function_type()
    if function.arg_attrs is not None:
        entries = [_moved(entry, position, len(parameters)) for entry in function.arg_attrs]
        entries[position:position] = [DictionaryAttr({})] * len(parameters)
        function.arg_attrs = ArrayAttr(entries)


def _moved(entry: DictionaryAttr, position: int, by: int) -> DictionaryAttr:
    """What is said of an argument, after `by` others came in at `position`."""
    positions = [each + by * (each >= position) for each in overwritten(entry)]
    return overwriting(entry, positions) if positions else entry


class _Caller:
    """Passes parameters to calls; their memrefs are created at the start of the calling function."""

    def __init__(self, module: ModuleOp):
        self._globals = Globals(module)
        self._known: dict[tuple[FuncOp, Attribute], SSAValue] = {}
        self._last: dict[FuncOp, Operation] = {}
        self._calls: dict[str, list[CallOp]] = {}
        for op in module.walk():
            if isinstance(op, CallOp):
                self._calls.setdefault(op.callee.string_value(), []).append(op)

    def calls(self, function: FuncOp) -> list[CallOp]:
        """Returns the calls of a function in the module."""
        return self._calls.get(function.sym_name.data, [])

    def hand(self, call: CallOp, kernel: FuncOp, elements: Sequence[DenseIntOrFPElementsAttr], position: int) -> None:
        """Lets a call call `kernel`, with the parameters inserted before argument number `position`."""
        arguments = list(call.arguments)
        arguments[position:position] = [self._memory(call, each) for each in elements]
        call.callee, call.operands = SymbolRefAttr(kernel.sym_name.data), arguments

    def _memory(self, call: CallOp, elements: DenseIntOrFPElementsAttr) -> SSAValue:
        function = call.parent_op()
        while not isinstance(function, FuncOp):
            assert function is not None
            function = function.parent_op()
        found = self._known.get((function, elements))
        if found is None:
            constant = arith.ConstantOp(elements)
            constant.result.name_hint = "parameters"
            memory = self._globals.of(constant)
            last = self._last.get(function)
            start = InsertPoint.at_start(function.body.block) if last is None else InsertPoint.after(last)
            Rewriter.insert_op(memory, start)
            self._last[function] = memory
            found = self._known[function, elements] = memory.memref
        return found


@dataclass(frozen=True)
class KernelMergeFunctions(ModulePass):
    """Merges kernels that differ only in scalar constants, such as the scales of layers of equal shape.

    The constants that differ become elements of a small memref for each type. Every call passes these memrefs, before
    the memory that the kernel writes, and the kernel loads the constants at its start. Equal constants stay in the
    body, and so do sizes and integer divisors.

    Before:

    ```mlir
    func.func private @mul_4_f32(%x: memref<4xf32>, %y: memref<4xf32> {kernel.may_overwrite = array<i64: 0>}) {
      linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
      ^bb0(%a: f32, %old: f32):
        %scale = arith.constant 5.000000e-01 : f32
        %0 = arith.mulf %a, %scale : f32
        linalg.yield %0 : f32
      }
      func.return
    }
    func.func private @mul_4_f32_2(%x: memref<4xf32>, %y: memref<4xf32> {kernel.may_overwrite = array<i64: 0>}) {
      linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
      ^bb0(%a: f32, %old: f32):
        %scale = arith.constant 2.500000e-01 : f32
        %0 = arith.mulf %a, %scale : f32
        linalg.yield %0 : f32
      }
      func.return
    }
    func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {nn.result}) {
      func.call @mul_4_f32(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
      func.call @mul_4_f32_2(%y, %y) : (memref<4xf32>, memref<4xf32>) -> ()
      func.return
    }
    ```

    After:

    ```mlir
    "memref.global"() <{
        sym_name = "parameters", type = memref<1xf32>, initial_value = dense<5.000000e-01> : tensor<1xf32>,
        sym_visibility = "private", constant, alignment = 64 : i64
    }> : () -> ()
    "memref.global"() <{
        sym_name = "parameters_2", type = memref<1xf32>, initial_value = dense<2.500000e-01> : tensor<1xf32>,
        sym_visibility = "private", constant, alignment = 64 : i64
    }> : () -> ()
    func.func private @mul_4_f32(
        %x: memref<4xf32>, %parameters: memref<1xf32>, %y: memref<4xf32> {kernel.may_overwrite = array<i64: 0>}) {
      %c0 = arith.constant 0 : index
      %scale = memref.load %parameters[%c0] : memref<1xf32>
      linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
      ^bb0(%a: f32, %old: f32):
        %0 = arith.mulf %a, %scale : f32
        linalg.yield %0 : f32
      }
      func.return
    }
    func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {nn.result}) {
      %0 = memref.get_global @parameters : memref<1xf32>
      %1 = memref.get_global @parameters_2 : memref<1xf32>
      func.call @mul_4_f32(%x, %0, %y) : (memref<4xf32>, memref<1xf32>, memref<4xf32>) -> ()
      func.call @mul_4_f32(%y, %1, %y) : (memref<4xf32>, memref<1xf32>, memref<4xf32>) -> ()
      func.return
    }
    ```
    """

    name = "kernel-merge-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        caller = _Caller(op)
        kernels = [each for each in op.ops if isinstance(each, FuncOp) and caller.calls(each) and _is_kernel(each)]
        for group in _groups(kernels):
            self._share(group, caller)

    @staticmethod
    def _share(group: Sequence[FuncOp], caller: _Caller) -> None:
        kernel, *others = group
        parameters, position = _parameters(group), _first_written(kernel)
        if parameters:
            _read_numbers(kernel, parameters, position)
        for number, each in enumerate(group):
            elements = [row.elements(number) for row in parameters]
            for call in caller.calls(each):
                caller.hand(call, kernel, elements, position)
        for each in others:
            hand_on([each, kernel], kernel)
            Rewriter.erase_op(each)
            count("kernels shared")


def _is_kernel(function: FuncOp) -> bool:
    """Whether only its calls know a function, which has a body and no results."""
    is_private = function.sym_visibility == StringAttr("private")
    return is_private and not function.is_declaration and not function.function_type.outputs.data
