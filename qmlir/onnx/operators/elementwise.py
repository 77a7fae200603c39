"""Importers of elementwise operators: rows of tables, from operator to operation."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.onnx.node import Importer, Node


def _plain(operation: type[NnOp], *attributes: str) -> Importer:
    """The importer of an operator whose inputs are the operands and whose attributes are the properties of one name."""

    def importer(node: Node) -> SSAValue:
        operands = [node.input(place) for place in range(len(node.inputs))]
        return node.add(operation, *operands, **{name: node.attribute(name) for name in attributes}).results[0]

    return importer


def _cast(node: Node) -> SSAValue:
    element = node.element_type(node.attribute("to"))
    return node.add(ops.CastOp, node.input(), result_types=[TensorType(element, node.shape())]).result


def _clip(node: Node) -> SSAValue:
    """ONNX Clip: bounds are attributes before version 11, inputs from then on."""
    if node.version < 11:
        low, high = node.attribute("min", None), node.attribute("max", None)
        return node.add(ops.ClipOp, node.input(), minimum=low, maximum=high).result
    value = node.input()
    for bound, operation in ((node.optional(1), ops.MaxOp), (node.optional(2), ops.MinOp)):
        if bound is not None:
            value = node.add(operation, value, bound).result
    return value


IMPORTERS: dict[str, Importer] = {
    **{
        name: _plain(operation)
        for name, operation in {
            "Relu": ops.ReluOp, "Abs": ops.AbsOp, "Neg": ops.NegOp, "Sqrt": ops.SqrtOp, "Exp": ops.ExpOp,
            "Log": ops.LogOp, "Reciprocal": ops.ReciprocalOp, "Erf": ops.ErfOp, "Sigmoid": ops.SigmoidOp,
            "Tanh": ops.TanhOp, "HardSwish": ops.HardSwishOp, "Add": ops.AddOp, "Sub": ops.SubOp, "Mul": ops.MulOp,
            "Div": ops.DivOp, "Pow": ops.PowOp, "Equal": ops.EqualOp, "Greater": ops.GreaterOp,
            "GreaterOrEqual": ops.GreaterOrEqualOp, "Less": ops.LessOp, "LessOrEqual": ops.LessOrEqualOp,
            "Where": ops.WhereOp,
        }.items()
    },
    "LeakyRelu": _plain(ops.LeakyReluOp, "alpha"),
    "Cast": _cast,
    "Clip": _clip,
}  # fmt: skip
