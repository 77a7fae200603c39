"""An operation of another package in an epilogue: on whole registers where a table says how, on scalars otherwise."""

from collections.abc import Iterator, Sequence

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, VectorType, i32
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.levels import LevelMembership
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.registry import Contribution
from qmlir.targets.cpu.loops.emitter import Emitter
from qmlir.targets.cpu.loops.vector_lowerings import Form
from qmlir.text.parsing import parse_module


@irdl_op_definition
class TripleOp(IRDLOperation):
    """Three times a number."""

    name = "outside.triple"

    input = operand_def(i32)
    result = result_def(i32)

    assembly_format = "$input attr-dict"
    traits = traits_def(Pure())


def _triple(emit: Emitter, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    return emit.binary(arith.MuliOp, values[0], emit.constant(3, i32))


FORMS = {TripleOp: Form(_triple)}

TEXT = """
func.func @main(%x: tensor<4x16xi8>, %w: tensor<16x16xi8>) -> tensor<4x16xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<4x16xi8>, tensor<16x16xi8>) -> tensor<4x16xi32> {
  ^bb0(%sum: i32):
    %1 = outside.triple %sum
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<4x16xi32>
}
"""


@pytest.fixture
def contributed() -> Iterator[None]:
    """A package that has a row of the table."""
    rows = Contribution(tables={"loops.forms": (f"{__name__}:FORMS",)})
    with registry.plugged([registry.Package("outside", contributions=(rows,))]):
        yield


def _loops() -> ModuleOp:
    environment = default_environment()
    ctx = environment.new_context()
    levels = frozenset({"integer", "scheduled", "loops"})
    ctx.load_dialect(Dialect("outside", [TripleOp], [], [LevelMembership(levels)]))
    module = parse_module(ctx, TEXT)
    text = "kernel-assign-schedule{isa=avx512-vnni},kernel-pack,kernel-bufferize,convert-kernel-to-loops"
    PassManager(ctx, parse_pipeline(text, environment.passes)).run(module)
    return module


def test_a_row_makes_registers_of_it(contributed: None) -> None:
    module = _loops()
    assert not [op for op in module.walk() if isinstance(op, TripleOp)]
    assert [op for op in module.walk() if isinstance(op, arith.MuliOp) and isinstance(op.result.type, VectorType)]


def test_without_a_row_it_stays_on_scalars() -> None:
    assert [op for op in _loops().walk() if isinstance(op, TripleOp)]
