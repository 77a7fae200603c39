"""`kernel-outline`: each structured operation, or whole loop, becomes a function; equal ones are one function."""

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike, MemoryWriteEffect

from qmlir.analysis.symbols import symbols_of, unique_name
from qmlir.ir.diagnostics import op_error
from qmlir.ir.equivalence import equivalent
from qmlir.ir.provenance import hand_on
from qmlir.ir.statistics import count
from qmlir.targets.cpu.scheduled.bufferization.destinations import destination_style, has_tensors
from qmlir.targets.cpu.scheduled.bufferization.kernel_names import kernel_name
from qmlir.targets.cpu.scheduled.bufferization.outlining import Outlined, outline
from qmlir.targets.cpu.scheduled.bufferization.slices import memory_type

_PRIVATE = StringAttr("private")


def _is_kernel(op: Operation) -> bool:
    """Whether `op`, in the block of a function, computes on memory; a loop that calls kernels already does not."""
    if op.has_trait(MemoryWriteEffect, value_if_unregistered=False) or destination_style(op) is not None:
        return True
    return bool(op.regions) and not any(isinstance(each, CallOp) for each in op.walk())


class _Kernels:
    """The kernels of a module so far."""

    def __init__(self, module: ModuleOp):
        self._names = symbols_of(module)
        self._known: dict[Hashable, list[tuple[FuncOp, FuncOp]]] = {}

    def function(self, made: Outlined, op: Operation, before: FuncOp) -> FuncOp:
        """The kernel that does what `made` does: one of those that are there, or `made` itself, now with a name."""
        function = made.function
        key = (function.function_type, function.arg_attrs, tuple(each.name for each in function.walk()))
        candidates = self._known.setdefault(key, [])
        for model, known in candidates:
            if equivalent(model, function):
                function.erase()
                return known
        named = function.clone()
        named.sym_name = StringAttr(unique_name(kernel_name(op), self._names))
        block = before.parent
        assert block is not None
        block.insert_op_before(named, before)
        candidates.append((function, named))
        count("kernels")
        return named


class _Caller:
    """A function whose operations become calls."""

    def __init__(self, function: FuncOp, kernels: _Kernels):
        self._function = function
        self._kernels = kernels
        self._casts: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        for op in list(self._function.body.block.ops):
            if _is_kernel(op):
                self._call(op)
        for op in reversed(list(self._function.body.block.ops)):
            is_constant = op.has_trait(ConstantLike, value_if_unregistered=False)
            if is_constant and not any(result.uses for result in op.results):
                op.detach()
                op.erase()

    def _call(self, op: Operation) -> None:
        if op.results or has_tensors(op):
            raise op_error(op, "has results: kernels are made of operations on memory, after kernel-bufferize")
        made = outline(op)
        kernel = self._kernels.function(made, op, self._function)
        types = kernel.function_type.inputs
        arguments = [self._passed(value, type_, op) for value, type_ in zip(made.arguments, types, strict=True)]
        call = CallOp(kernel.sym_name.data, arguments, [])
        call.location = op.location
        sources = list(op.walk())
        hand_on(sources, call)
        hand_on(sources, kernel)
        self._insert(call, op)
        op.detach()
        op.erase()
        count("calls")

    def _passed(self, value: SSAValue, type_: Attribute, before: Operation) -> SSAValue:
        """`value` in the type of an argument: memory that begins somewhere as memory that may begin anywhere."""
        if value.type == type_:
            return value
        if value not in self._casts:
            cast = memref.CastOp.get(value, memory_type(type_))
            cast.dest.name_hint = value.name_hint
            self._insert(cast, before)
            self._casts[value] = cast.dest
        return self._casts[value]

    @staticmethod
    def _insert(op: Operation, before: Operation) -> None:
        block = before.parent
        assert block is not None
        block.insert_op_before(op, before)


@dataclass(frozen=True)
class KernelOutline(ModulePass):
    """Make each structured operation of a public function, or outermost loop, a private function that it calls.

    Equal ones are one function, whose name says what it computes and which stands for the nodes of all. Views stay with
    the caller: a kernel sees plain memory, with strides where it is a part of something. Scalar constants are copied
    into the kernel, other scalars and lookup tables are arguments; what is written comes last, and says by
    `kernel.may_overwrite` which arguments' memory it may be.

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
