"""A composite takes the place of a group only if its parts have every quantized type of the group."""

import re

import pytest
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, TensorType
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.contraction.ops import FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.nn.raising.groups import Raised
from qmlir.dialects.nn.raising.unification import CompositeMismatchError
from qmlir.ir.builtin_types import element_of, shape_of
from tests.support.emitted import parsed

GROUP = """
!x = !quant.uniform<i8:f32, 0.5>
!p = !quant.uniform<i16:f32, 0.125>
!y = !quant.uniform<i8:f32, 1.0>
func.func @main(%x: tensor<2x4x!x>, %w: tensor<3x4x!x>, %b: tensor<3x!x>) -> tensor<2x3x!y> {
  %p = nn.matmul %x, %w {transpose_b = true} : (tensor<2x4x!x>, tensor<3x4x!x>) -> tensor<2x3x!p>
  %y = nn.add %p, %b : (tensor<2x3x!p>, tensor<3x!x>) -> tensor<2x3x!y>
  func.return %y : tensor<2x3x!y>
}
"""


def _raised(module: ModuleOp, kept: str) -> Raised:
    """A layer in the place of a product and a sum, by a rule that remembers only one of their types."""
    product, total = (op for op in module.walk() if isinstance(op, MatMulOp | AddOp))
    elements = {"product": element_of(product.results[0]), "sum": element_of(total.results[0])}
    given = elements["sum" if kept == "both" else kept]
    layer = build(FullyConnectedOp, [*product.operands, total.operands[1]])
    Rewriter.replace_value_with_new_type(layer.results[0], TensorType(given, shape_of(total.results[0])))
    layer.components = DictionaryAttr({"matmul": elements["product" if kept == "both" else kept]})
    return Raised.of(layer, [], [total.results[0]], [product, total])


@pytest.mark.parametrize(("kept", "lost"), [("product", "nn.add"), ("sum", "nn.matmul"), ("both", "")])
def test_a_rule_that_forgets_a_type_does_not_apply(kept: str, lost: str) -> None:
    if not lost:
        assert isinstance(_raised(parsed(GROUP), kept).composite, FullyConnectedOp)
        return
    reason = r"no part of nn\.fully_connected can have the type '!quant\.uniform.*" + re.escape(f"'{lost}' op")
    with pytest.raises(CompositeMismatchError, match=reason):
        _raised(parsed(GROUP), kept)
