"""The padding rule of constants: short lists of integers may be tensors of sizes."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from qmlir.arithmetic.symbolic_sizes import extents
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, Rule
from qmlir.ir.builtin_types import element_of, shape_of

MOST_SIZES = 64
"""The largest number of elements of a constant that is treated as a tensor of sizes."""


def _constant(op: ConstantOp, at: PaddingSite) -> Sequence[PaddedValue]:
    shape = shape_of(op.result)
    is_list = len(shape) <= 1 and sum(shape) <= MOST_SIZES and kind_of(element_of(op.result)) is Kind.INTEGER
    array = constant_array(op.result) if is_list else None
    return [PaddedValue(extents(shape), content=None if array is None else array.astype(object))]


RULES: Mapping[type[Operation], Rule] = {ConstantOp: _constant}
