"""The rewrite driver: its budget, and what it hands on."""

import pytest
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.elementwise.ops import AbsOp
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, source_location
from qmlir.ir.provenance import Origin, origins_of, set_origins
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.text.parsing import parse_module

ENVIRONMENT = default_environment()
SOURCE = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1", op_type = "Relu"}
  %1 = nn.abs %0 : tensor<2xf32> {origin = "abs1"}
  func.return %1 : tensor<2xf32>
}
"""


class ReluToAbs(RewritePattern):
    """`relu -> abs`: the driver does not care that it is wrong."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, AbsOp(op.input))


class AbsToRelu(RewritePattern):
    """The way back."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AbsOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, ReluOp(op.input))


class FuseAbsOfRelu(RewritePattern):
    """Two operations become one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AbsOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if isinstance(inner, ReluOp):
            rewriter.replace(op, ReluOp(inner.input))
            rewriter.erase(inner)


class Failing(RewritePattern):
    """A pattern with a fault."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ReluOp):
            raise VerifyException("no such thing")


def _module():
    ctx = ENVIRONMENT.new_context()
    return ctx, parse_module(ctx, SOURCE, "model.mlir")


def _only(module: Operation, kind: type[Operation]) -> Operation:
    (found,) = [op for op in module.walk() if isinstance(op, kind)]
    return found


def test_patterns_that_undo_each_other_are_stopped_by_name() -> None:
    ctx, module = _module()
    with pytest.raises(DiagnosticError, match="rewriting did not converge within 4096 rewrites; most frequent"):
        apply_patterns_greedily(module, [ReluToAbs(), AbsToRelu()], ctx)


def test_a_replaced_operation_hands_on_node_and_place() -> None:
    ctx, module = _module()
    apply_patterns_greedily(module, [AbsToRelu()], ctx)
    relus = [op for op in module.walk() if isinstance(op, ReluOp)]
    assert [origins_of(op) for op in relus] == [(Origin("relu1", "Relu"),), (Origin("abs1"),)]
    assert [str(source_location(op.location)) for op in relus] == ["model.mlir:2:3", "model.mlir:3:3"]


def test_a_fused_operation_has_the_nodes_of_what_it_replaced() -> None:
    ctx, module = _module()
    apply_patterns_greedily(module, [FuseAbsOfRelu()], ctx)
    # The pattern replaced only the abs; a fusion that takes in more says so itself (see the batch norm pattern).
    assert origins_of(_only(module, ReluOp)) == (Origin("abs1"),)


def test_a_fault_in_a_pattern_names_the_pattern_and_the_node() -> None:
    ctx, module = _module()
    with pytest.raises(DiagnosticError) as caught:
        apply_patterns_greedily(module, [Failing()], ctx)
    assert caught.value.diagnostic.message == "'nn.relu' op (relu1) pattern 'Failing' failed: no such thing"
    assert not getattr(caught.value, "__notes__", [])


def test_statistics_count_by_pattern() -> None:
    ctx, module = _module()
    assert apply_patterns_greedily(module, [AbsToRelu()], ctx).counts == {"AbsToRelu": 1}
    assert not apply_patterns_greedily(module, [AbsToRelu()], ctx).counts


def test_origins_are_kept_once_and_in_order() -> None:
    op = _only(_module()[1], ReluOp)
    origins = (Origin("b", "Relu"), Origin("a", "", "gate/matmul"), Origin("b", "Relu"))
    set_origins(op, origins)
    assert origins_of(op) == origins[:2]
    set_origins(op, ())
    assert not op.attributes
