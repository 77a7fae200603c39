"""A package outside: the dialect `fancy`, what its operation computes, and the ONNX operator that it comes from
and becomes again.

It uses what every package can use: xDSL, and four entry points.
"""

import numpy as np
from xdsl.dialects.builtin import FloatAttr, TensorType, f32
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.universe import Universe

from qmlir.onnx.export.emission import NodeEmitter
from qmlir.onnx.node import Node
from qmlir.registry import Contribution


@irdl_op_definition
class ScaledSquareOp(IRDLOperation):
    """`factor * x * x`."""

    name = "fancy.scaled_square"

    input = operand_def(TensorType)
    factor = prop_def(FloatAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$input `by` $factor attr-dict `:` type($input) `->` type($result)"


Fancy = Dialect("fancy", [ScaledSquareOp])
UNIVERSE = Universe(all_dialects={"fancy": lambda: Fancy})


def _scaled_square(op: ScaledSquareOp, x: np.ndarray) -> tuple[np.ndarray]:
    return (np.float32(op.factor.value.data) * x * x,)


EVALUATORS = {ScaledSquareOp: _scaled_square}
CONTRIBUTION = Contribution(evaluators={"fancy": "fancy:EVALUATORS"}, built_for="0.2")


def _import_scaled_square(node: Node) -> SSAValue:
    factor = node.attribute("factor")
    if factor is None:
        raise node.error("lacks the attribute 'factor'")
    value = node.input()
    op = ScaledSquareOp.build(
        operands=[value], result_types=[value.type], properties={"factor": FloatAttr(factor, f32)}
    )
    return node.insert(op).result


def _export_scaled_square(out: NodeEmitter, op: ScaledSquareOp) -> None:
    out.node("ScaledSquare", out.inputs, out.output, domain="com.example", factor=op.factor.value.data)


EXPORTERS = {ScaledSquareOp: _export_scaled_square}

IMPORTERS = {"com.example::ScaledSquare": _import_scaled_square}
