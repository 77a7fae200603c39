"""Between signed values of a restored module and the unsigned integers that an exported model holds for them.

Nodes that were edited or added after the export read and give the tensors of the model; restored operations have the
types of the module.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.elementwise import AddOp, CastOp
from qmlir.dialects.quant.types import StoredType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.provenance import Origin, origins_of
from qmlir.onnx.export.unsigned import offset
from qmlir.onnx.graph import GraphBuilder


def _shifted(builder: GraphBuilder, value: SSAValue, number: int, element: Attribute) -> SSAValue:
    origins: Sequence[Origin] = origins_of(value.owner) if isinstance(value.owner, Operation) else ()
    shape = shape_of(value)
    wide = builder.append(CastOp.create(operands=[value], result_types=[TensorType(i32, shape)]), origins).result
    constant = builder.append(ConstantOp.of(np.array(number, np.int32), TensorType(i32, [])), origins).result
    added = builder.append(AddOp.create(operands=[wide, constant], result_types=[wide.type]), origins).result
    return builder.append(CastOp.create(operands=[added], result_types=[TensorType(element, shape)]), origins).result


def as_held(builder: GraphBuilder, value: SSAValue) -> SSAValue:
    """The unsigned integers that the model holds for a signed value."""
    element = element_of(value)
    assert isinstance(element, StoredType)
    return _shifted(builder, builder.plain(value), offset(element), IntegerType(8, Signedness.UNSIGNED))


def from_held(builder: GraphBuilder, value: SSAValue, element: StoredType) -> SSAValue:
    """The signed value for which the model holds the integers of `value`."""
    return builder.stored(_shifted(builder, builder.plain(value), -offset(element), i8), element, [])
