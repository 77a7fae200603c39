"""`fxp.conv_block`: a convolution, its bias and what limits the result, which the device computes without a stop.

It is a composite of `nn` operations: quantizing looks at its parts, which have widths of their own, and raising makes
it whole again, with the types of its parts in `components`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.base import tensor_like
from qmlir.dialects.nn.components import of_parts
from qmlir.dialects.nn.contraction.ops import ConvOp, WindowedContractionOp
from qmlir.dialects.nn.decomposition import with_types
from qmlir.dialects.nn.elementwise.ops import AddOp, ClipOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.nn.result_shapes import output_sizes
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import Parts

WINDOW = ("strides", "dilations", "pads", "groups")
"""The properties that say how a kernel slides, as `nn.conv` has them."""


@irdl_op_definition
class ConvBlockOp(WindowedContractionOp):
    """`min(max(conv(x, w) + b, 0), maximum)`; without a maximum, a relu."""

    name = "fxp.conv_block"

    maximum = opt_prop_def(FloatAttr)

    def infer_result_types(self) -> Sequence[Any]:
        data, weight = shape_of(self.data), shape_of(self.weight)
        self.verify_groups("output")
        if self.bias is None:
            raise VerifyException("has a bias, with one element for each output channel")
        self.verify_bias_shape()
        return [tensor_like(self.data, (data[0], weight[0], *output_sizes(data[2:], self.windows)))]

    def verify_quantization(self) -> None:
        """The bias has a scale of its own: the device shifts it to where the sums are."""
        self.verify_factors(self.data, self.weight)


def _parts(op: ConvBlockOp, parts: Parts) -> Sequence[SSAValue]:
    shape = shape_of(op.result)
    assert op.bias is not None
    correlation = ConvOp.create(
        operands=[op.data, op.weight],
        result_types=[tensor_like(op.data, shape)],
        properties={name: value for name, value in op.properties.items() if name in WINDOW},
    )
    parts.add("correlation", correlation)
    bias = parts.add("bias/reshape", ReshapeOp(op.bias, (*shape_of(op.bias), *(1,) * (len(shape) - 2)))).result
    total = parts.add("sum", AddOp(correlation.result, bias)).result
    if op.maximum is None:
        return [parts.add("limit", ReluOp(total)).result]
    limits = {"minimum": FloatAttr(0.0, op.maximum.type), "maximum": op.maximum}
    limited = ClipOp.create(operands=[total], result_types=[tensor_like(op.data, shape)], properties=limits)
    return [parts.add("limit", limited).result]


DECOMPOSITIONS: dict[type[Operation], Callable[..., Any]] = {ConvBlockOp: with_types(_parts)}
EVALUATORS: dict[type[Operation], Callable[..., Any]] = {ConvBlockOp: of_parts}
"""What it computes is what its parts compute, on floats and on quantized values."""
