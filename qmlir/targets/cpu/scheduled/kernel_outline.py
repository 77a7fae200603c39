"""`kernel-outline`: outlines each structured operation or whole loop as a function; equal operations share a function.

The name of a kernel describes its computation: `conv3x3s2_28x28x128_i8`, `add_1x56x56x64_i8`, `fill_8x8_i8`.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, StridedLayoutAttr, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike, MemoryWriteEffect

from qmlir.analysis.operand_accesses import is_constant
from qmlir.analysis.symbols import symbols_of, unique_name
from qmlir.dialects.kernel.attributes import overwriting
from qmlir.dialects.kernel.contraction import MatMulOp, WindowedOp
from qmlir.dialects.kernel.custom import CustomOp
from qmlir.dialects.kernel.ops import ReshapeOp, shaped
from qmlir.dialects.kernel.packed_ops import PackedBlocksOp, PackedMatMulOp
from qmlir.dialects.kernel.winograd import ByAlgorithmOp
from qmlir.ir.builtin_types import AnyMemRef, integer_list, memref_type
from qmlir.ir.control_flow import captured, has_uses, terminator_of
from qmlir.ir.diagnostics import op_error
from qmlir.ir.equivalence import equivalent
from qmlir.ir.passes import count
from qmlir.ir.provenance import PROVENANCE_ATTRIBUTES, Origin, merged_origins, set_origins
from qmlir.targets.cpu.loops.emitter import memory_of
from qmlir.targets.cpu.scheduled.aliases import (
    destination_style,
    has_tensors,
)

# One operation as a function: captured values become arguments, and constants are copied into it.


@dataclass(frozen=True)
class Outlined:
    """A function without a name, its operation, the caller's values that are its arguments, and its nodes."""

    function: FuncOp
    op: Operation
    arguments: list[SSAValue]
    origins: tuple[Origin, ...]


def _arguments(op: Operation) -> tuple[list[SSAValue], dict[int, int]]:
    """The arguments for `op`, and for each of its operands which of them it is; what is written comes last."""
    style = destination_style(op)
    written = [] if style is None else [destination.operand for destination in style.destinations()]
    order = [position for position in range(len(op.operands)) if position not in written]
    arguments: list[SSAValue] = []
    positions: dict[int, int] = {}

    def take(position: int) -> None:
        if not is_constant(op.operands[position]):
            positions[position] = len(arguments)
            arguments.append(op.operands[position])

    for position in order:
        take(position)
    arguments += [each for each in captured(op) if each not in op.operands and not is_constant(each)]
    if style is None:  # a loop or a choice: what it writes may be what it reads
        unique = list(dict.fromkeys(arguments))
        return unique, {position: unique.index(op.operands[position]) for position in positions}
    for position in written:
        if position is not None:
            take(position)
    return arguments, positions


def _argument_type(value: SSAValue) -> Attribute:
    """Returns the type of a kernel's argument for a value; a strided memref gets a dynamic offset."""
    found = memref_type(value)
    return value.type if found is None or not isinstance(found.layout, StridedLayoutAttr) else _anywhere(found)


def _anywhere(type_: MemRefType[Attribute]) -> MemRefType[Attribute]:
    layout = StridedLayoutAttr(type_.get_strides() or (), None)
    return MemRefType(type_.get_element_type(), type_.get_shape(), layout)


def _forget_offsets(block: Block) -> None:
    """Let views have offsets that nobody knows where those of their sources are not known."""
    for op in list(block.walk()):
        if isinstance(op, memref.SubviewOp | ReshapeOp):
            source, result = memory_of(op.source), memory_of(op.result)
            if source.get_offset() is None and result.get_offset() is not None:
                Rewriter.replace_value_with_new_type(op.result, _anywhere(result))


def _shared(op: Operation, positions: dict[int, int], types: list[Attribute]) -> dict[int, list[int]]:
    """For each argument that is written, the arguments whose memory it may be."""
    style = destination_style(op)
    found: dict[int, list[int]] = {}
    for number, destination in enumerate(() if style is None else style.destinations()):
        written = None if destination.operand is None else positions.get(destination.operand)
        if style is None or written is None:
            continue
        same = [
            argument
            for operand, argument in positions.items()
            if argument != written and types[argument] == types[written] and style.may_overwrite(operand, number)
        ]
        if same:
            found[written] = same
    return found


def outline(op: Operation) -> Outlined:
    """Moves `op`, an operation on memrefs, to a new private function, and removes its provenance."""
    arguments, positions = _arguments(op)
    types = list(map(_argument_type, arguments))
    block = Block(arg_types=types)
    inside: dict[SSAValue, SSAValue] = {}
    for value in captured(op):
        if is_constant(value):
            assert isinstance(value.owner, Operation)
            constant = value.owner.clone()
            block.add_op(constant)
            inside[value] = constant.results[0]
    for value, argument in zip(arguments, block.args, strict=True):
        inside.setdefault(value, argument)
        argument.name_hint = value.name_hint
    origins = merged_origins(op.walk())
    op.detach()
    for each in op.walk():
        for position, operand in enumerate(each.operands):
            if operand in inside:
                each.operands[position] = inside[operand]
    for position, argument in positions.items():
        op.operands[position] = block.args[argument]  # one value may be two arguments
    block.add_ops([op, ReturnOp()])
    _forget_offsets(block)
    for each in block.walk():
        for name in PROVENANCE_ATTRIBUTES:
            each.attributes.pop(name, None)
    function = FuncOp("kernel", (types, []), Region(block), visibility="private")
    shared = _shared(op, positions, types)
    if shared:
        nothing = DictionaryAttr({})
        function.arg_attrs = ArrayAttr(
            overwriting(nothing, shared[number]) if number in shared else nothing for number in range(len(types))
        )
    return Outlined(function, op, arguments, origins)


_MOST_WORDS = 3
"""The maximum number of nodes or roles in a name."""

_REGIONS = {"scf.for": "loop", "scf.if": "choice"}
"""Names for operations whose own name doesn't describe the computation."""

_PLAIN = ("fill", "copy")
"""Operations that keep these names regardless of the model's node."""


_PRODUCTS = (MatMulOp, PackedMatMulOp, PackedBlocksOp)


def kernel_name(op: Operation, origins: Sequence[Origin]) -> str:
    """Returns a name for `op`: the operation or its roles in the model, and the shape and type of its result."""
    structure = _structure(op)
    words = structure if structure in _PLAIN else _contraction(op) or _roles(origins) or structure
    parts = [re.sub(r"\W+", "_", words)]
    written = _written(op)
    if written is not None:
        shape = written.get_shape()
        if isinstance(op, WindowedOp | ByAlgorithmOp) and shape[0] == 1:
            shape = shape[1:]
        sizes = _matmul_shape(op) if isinstance(op, _PRODUCTS) else shape
        parts += ["x".join(map(str, sizes)) or "scalar"]
        parts += [str(written.get_element_type())]
    return "_".join(parts)


def _written(op: Operation) -> AnyMemRef | None:
    style = destination_style(op)
    if style is None:
        return None
    destination = style.destinations()[0].operand
    return None if destination is None else memref_type(op.operands[destination])


def _matmul_shape(op: MatMulOp | PackedMatMulOp | PackedBlocksOp) -> Sequence[int]:
    """Returns batches, rows, terms and columns of a matmul."""
    *batches, rows, columns = shaped(op.target)[0]
    return (*batches, rows, op.terms(), columns)


def _contraction(op: Operation) -> str:
    if isinstance(op, _PRODUCTS):
        return "matmul"
    if isinstance(op, ByAlgorithmOp):
        return "winograd"
    if not isinstance(op, WindowedOp):
        return ""
    strides, dilations = integer_list(op.strides), integer_list(op.dilations)
    groups, channels = op.group_count, op.channels()
    words = "conv" if groups == 1 else "depthwise" if groups == channels else f"conv_g{groups}_"
    words += "x".join(map(str, op.window()))
    for letter, numbers in (("s", strides), ("d", dilations)):
        if set(numbers) != {1}:
            words += letter + "x".join(map(str, numbers if len(set(numbers)) > 1 else numbers[:1]))
    return words


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


def _roles(origins: Sequence[Origin]) -> str:
    words = [_snake(origin.role.rpartition("/")[2] or origin.op_type) for origin in origins]
    words = [word for word in dict.fromkeys(words) if word]
    return "_".join(words[:_MOST_WORDS])


def _structure(op: Operation) -> str:
    """Returns a description of an operation that corresponds to no node of the model."""
    if isinstance(op, CustomOp):
        return op.stands_in_for.rpartition(".")[2]
    if not isinstance(op, linalg.GenericOp):
        return _REGIONS.get(op.name) or op.name.rpartition(".")[2]
    inside = list(op.body.block.ops)[:-1]
    if not inside:
        return _movement(op, op.body.block)
    if len(inside) == 1:
        return inside[0].name.rpartition(".")[2]
    kinds = {kind.data for kind in op.iterator_types}
    return "reduce" if IteratorType.REDUCTION in kinds else "map"


def _movement(op: linalg.GenericOp, block: Block) -> str:
    if terminator_of(block).operands[0].owner is not block:
        return "fill"
    return "copy" if len({attribute.data for attribute in op.indexing_maps}) == 1 else "move"


_PRIVATE = StringAttr("private")


def _is_kernel(op: Operation) -> bool:
    """Returns true if a top-level `op` computes on memory; a loop that already calls kernels doesn't count."""
    if op.has_trait(MemoryWriteEffect, value_if_unregistered=False) or destination_style(op) is not None:
        return True
    return bool(op.regions) and not any(isinstance(each, CallOp) for each in op.walk())


class _Kernels:
    """The kernels created so far. All have the same name and no provenance until `finish`, so that they compare."""

    def __init__(self, module: ModuleOp):
        self._names = symbols_of(module)
        self._known: dict[Hashable, list[_Kernel]] = {}

    def kernel(self, made: Outlined, before: FuncOp) -> "_Kernel":
        """Returns the kernel for `made`: an existing one that is equivalent, or a new one, inserted before `before`."""
        function = made.function
        key = (function.function_type, function.arg_attrs, tuple(each.name for each in function.walk()))
        candidates = self._known.setdefault(key, [])
        for known in candidates:
            if equivalent(known.function, function):
                function.erase()
                known.origins.update(dict.fromkeys(made.origins))
                return known
        name = unique_name(kernel_name(made.op, made.origins), self._names)
        candidates.append(_Kernel(function, name, dict.fromkeys(made.origins)))
        Rewriter.insert_op(function, InsertPoint.before(before))
        count("kernels")
        return candidates[-1]

    def finish(self) -> None:
        """Gives all kernels their names, and the nodes that they stand for."""
        for kernel in chain.from_iterable(self._known.values()):
            kernel.function.sym_name = StringAttr(kernel.name)
            set_origins(kernel.function, kernel.origins)


@dataclass(frozen=True)
class _Kernel:
    """A kernel, its future name, and the nodes of the model that it computes, in order."""

    function: FuncOp
    name: str
    origins: dict[Origin, None]


class _Caller:
    """Replaces the operations of a function by calls."""

    def __init__(self, function: FuncOp, kernels: _Kernels):
        self._function = function
        self._kernels = kernels
        self._casts: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        for op in list(self._function.body.block.ops):
            if _is_kernel(op):
                self._call(op)
        for op in reversed(list(self._function.body.block.ops)):
            if op.has_trait(ConstantLike, value_if_unregistered=False) and not has_uses(op):
                Rewriter.erase_op(op)

    def _call(self, op: Operation) -> None:
        if op.results or has_tensors(op):
            raise op_error(op, "must not have results; run kernel-bufferize first")
        after = op.next_op
        assert after is not None, "a block ends with a terminator"
        made = outline(op)
        kernel = self._kernels.kernel(made, self._function)
        types = kernel.function.function_type.inputs
        arguments = [self._passed(value, type_, after) for value, type_ in zip(made.arguments, types, strict=True)]
        call = CallOp(kernel.name, arguments, [])
        call.location = op.location
        set_origins(call, made.origins)
        Rewriter.insert_op(call, InsertPoint.before(after))
        count("calls")

    def _passed(self, value: SSAValue, type_: Attribute, before: Operation) -> SSAValue:
        """Returns `value` cast to the type of an argument: a memref with a dynamic offset."""
        if value.type == type_:
            return value
        if value not in self._casts:
            made = memref.CastOp.get(value, cast(AnyMemRef, type_))
            made.dest.name_hint = value.name_hint
            Rewriter.insert_op(made, InsertPoint.before(before))
            self._casts[value] = made.dest
        return self._casts[value]


@dataclass(frozen=True)
class KernelOutline(ModulePass):
    """Outlines each structured operation or outermost loop of a public function as a private function that it calls.

    Equal operations share one function. Its name describes the computation, and its provenance lists the nodes of all
    these operations. Views stay in the caller: a kernel takes memrefs, which are strided if they are parts of others.
    Scalar constants are copied into the kernel; other scalars and lookup tables are arguments. Memrefs that the kernel
    writes come last, with an attribute `kernel.may_overwrite` that names the arguments whose memory they may reuse.

    Before:

    ```mlir
    func.func @main(%x: memref<4xi8>, %y: memref<4xi8> {nn.result}) {
      linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : memref<4xi8>) outs(%y : memref<4xi8>) attrs = {origin = "n", op_type = "Neg"} {
      ^bb0(%a: i8, %old: i8):
        %zero = arith.constant 0 : i8
        %0 = arith.subi %zero, %a : i8
        linalg.yield %0 : i8
      }
      func.return
    }
    ```

    After:

    ```mlir
    func.func private @neg_4_i8(%x: memref<4xi8>, %y: memref<4xi8> {kernel.may_overwrite = array<i64: 0>})
        attributes {origin = "n", op_type = "Neg"} {
      linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : memref<4xi8>) outs(%y : memref<4xi8>) {
      ^bb0(%a: i8, %old: i8):
        %zero = arith.constant 0 : i8
        %0 = arith.subi %zero, %a : i8
        linalg.yield %0 : i8
      }
      func.return
    }
    func.func @main(%x: memref<4xi8>, %y: memref<4xi8> {nn.result}) {
      func.call @neg_4_i8(%x, %y) {origin = "n", op_type = "Neg"} : (memref<4xi8>, memref<4xi8>) -> ()
      func.return
    }
    ```
    """

    name = "kernel-outline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = _Kernels(op)
        for function in list(op.ops):
            if isinstance(function, FuncOp) and function.sym_visibility != _PRIVATE and not function.is_declaration:
                _Caller(function, kernels).run()
        kernels.finish()
