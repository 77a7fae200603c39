"""Conversion with legality: what is illegal goes, what stays is named."""

import pytest
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.elementwise.ops import AbsOp, NegOp
from qmlir.environment import default_environment
from qmlir.ir.conversion import Legality, convert, convert_partially
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.parsing import parse_module

SOURCE = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.neg %0 : tensor<2xf32> {origin = "neg1"}
  func.return %1 : tensor<2xf32>
}
"""


class UnaryToAbs(RewritePattern):
    """Turns a relu or a negation into an absolute value, whoever asks."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ReluOp | NegOp):
            rewriter.replace(op, AbsOp(op.input))


def _converted(legality: Legality, patterns: list[RewritePattern], partial: bool = False) -> list[str]:
    ctx = default_environment().new_context()
    module = parse_module(ctx, SOURCE)
    (convert_partially if partial else convert)(module, patterns, legality, ctx)
    return [op.name for op in module.walk() if op.name.startswith("nn.")]


def test_only_illegal_operations_are_converted() -> None:
    assert _converted(Legality(illegal_operations=(ReluOp,)), [UnaryToAbs()]) == ["nn.abs", "nn.neg"]


def test_an_operation_that_is_kept_stays() -> None:
    legality = Legality(frozenset({"nn"}), is_kept=lambda op: isinstance(op, AbsOp | NegOp))
    assert _converted(legality, [UnaryToAbs()]) == ["nn.abs", "nn.neg"]


def test_what_is_left_is_named_with_its_node() -> None:
    legality = Legality(illegal_operations=(ReluOp, AbsOp), accepted="nn.neg")
    with pytest.raises(DiagnosticError, match=r"'nn.abs' op \(relu1\) is not legal here.*expected nn.neg"):
        _converted(legality, [UnaryToAbs()])
    assert _converted(legality, [UnaryToAbs()], partial=True) == ["nn.abs", "nn.neg"]


def test_only_legal_dialects_are_left() -> None:
    legality = Legality(legal_dialects=frozenset({"builtin", "func"}))
    with pytest.raises(
        DiagnosticError, match=r"'nn.abs' op \(relu1\) is not legal here \(legal dialects: builtin, func\)"
    ):
        _converted(legality, [UnaryToAbs()])


def test_an_operation_that_nobody_registered_has_the_dialect_of_its_name() -> None:
    ctx = default_environment().new_context()
    ctx.allow_unregistered = True
    module = parse_module(ctx, '"model.op"() : () -> ()')
    with pytest.raises(DiagnosticError, match=r"'model.op' op is not legal here \(legal dialects: builtin\)"):
        convert(module, [], Legality(legal_dialects=frozenset({"builtin"})), ctx)
    with pytest.raises(DiagnosticError, match=r"'model.op' op is not legal here"):
        convert(module, [], Legality(frozenset({"model"})), ctx)
