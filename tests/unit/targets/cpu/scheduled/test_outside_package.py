"""An operation that no pass has heard of goes down by the interface alone: destination style."""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType, i8
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.test_value import create_ssa_value

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.ir.interfaces import Destination, DestinationStyle
from qmlir.ir.verification import verify
from qmlir.levels import LevelMembership
from qmlir.registry import Contribution
from qmlir.targets.cpu.scheduled.aliases import results_written
from qmlir.targets.cpu.scheduled.kernel_bufferize import KernelBufferize
from qmlir.targets.cpu.scheduled.kernel_outline import KernelOutline
from qmlir.targets.cpu.scheduled.kernel_plan_memory import KernelPlanMemory
from qmlir.text.parsing import parse_module


@irdl_op_definition
class ShiftOp(IRDLOperation, DestinationStyle):
    """Each element moved by one place: its memory must be another, unless somebody allows it."""

    name = "outside.shift"

    input = operand_def()
    outs = opt_operand_def()
    result = opt_result_def()

    irdl_options = (AttrSizedOperandSegments(),)
    assembly_format = "$input (`outs` $outs^ `:` type($outs))? attr-dict `:` type($input) (`->` type($result)^)?"

    def destinations(self) -> Sequence[Destination]:
        return [Destination(None if self.outs is None else 1)]

    def on_memory(self, memory: Callable[[SSAValue], SSAValue], outs: Sequence[SSAValue]) -> Operation:
        return ShiftOp.build(operands=[memory(self.input), list(outs)], result_types=[[]])

    def may_overwrite(self, operand: int, destination: int) -> bool:
        return False


TEXT = """
func.func @main(%x: tensor<100xi8>) -> tensor<100xi8> {
  %0 = outside.shift %x : tensor<100xi8> -> tensor<100xi8>
  %1 = outside.shift %0 : tensor<100xi8> -> tensor<100xi8>
  %2 = outside.shift %1 : tensor<100xi8> -> tensor<100xi8>
  %3 = outside.shift %2 : tensor<100xi8> -> tensor<100xi8>
  func.return %3 : tensor<100xi8>
}
"""


def _down() -> ModuleOp:
    ctx = default_environment().new_context()
    ctx.load_dialect(Dialect("outside", [ShiftOp], [], [LevelMembership(frozenset({"integer", "scheduled"}))]))
    module = parse_module(ctx, TEXT, "outside.mlir")
    for each in (KernelBufferize(), KernelOutline(), KernelPlanMemory()):
        each.apply(ctx, module)
        verify(module)
    return module


def test_it_takes_the_same_road() -> None:
    module = _down()
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    assert set(functions) == {"shift_100_i8", "main"}
    calls = [op for op in functions["main"].walk() if isinstance(op, CallOp)]
    assert [call.callee.string_value() for call in calls] == ["shift_100_i8"] * 4
    # The last one writes the result; no two of the three buffers between are needed longer than for two calls.
    assert calls[-1].arguments[1] is functions["main"].body.block.args[1]
    arena = next(op for op in functions["main"].walk() if op.name == "memref.alloc")
    assert str(arena.results[0].type) == "memref<320xi8>"  # two places of 128 bytes, and the slack


@irdl_op_definition
class PutOp(IRDLOperation):
    """A number into a tensor, as upstream's operations do it: without the interface."""

    name = "outside.put"

    number = operand_def()
    dest = operand_def()
    result = result_def()


@irdl_op_definition
class ClearOp(IRDLOperation):
    """Memory set to 0."""

    name = "outside.clear"

    target = operand_def()

    assembly_format = "$target attr-dict `:` type($target)"
    traits = traits_def(MemoryWriteEffect())


DESTINATIONS = {PutOp: lambda _: [Destination(1, is_read=True)]}


def test_a_package_says_what_an_operation_without_the_interface_writes() -> None:
    number, dest = (create_ssa_value(type_) for type_ in (i8, TensorType(i8, [4])))
    op = PutOp.create(operands=[number, dest], result_types=[dest.type])
    assert not results_written(op)
    rows = Contribution(tables={"bufferize.destinations": (f"{__name__}:DESTINATIONS",)})
    with registry.plugged([registry.Package("outside", contributions=(rows,))]):
        assert results_written(op) == [Destination(1, is_read=True)]


def test_what_writes_memory_is_a_kernel() -> None:
    ctx = default_environment().new_context()
    ctx.load_dialect(Dialect("outside", [ClearOp], []))
    text = "func.func @main(%y: memref<4xi8> {nn.result}) { outside.clear %y : memref<4xi8> func.return }"
    module = parse_module(ctx, text)
    KernelOutline().apply(ctx, module)
    kernel, main = (op for op in module.ops if isinstance(op, FuncOp))
    assert [op.name for op in kernel.body.block.ops] == ["outside.clear", "func.return"]
    assert [op.name for op in main.body.block.ops] == ["func.call", "func.return"]
