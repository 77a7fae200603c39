"""A norm of rows of integers, on floats that hold them: the numbers of its root are made of the scale in each run."""

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, f32, i64
from xdsl.ir import SSAValue

from qmlir.dialects.calib.ops import RowNormOp
from qmlir.dialects.nn.ops import normalization as ops
from qmlir.dialects.nn.ops.elementwise import AddOp, MulOp
from qmlir.dialects.nn.terms import Site, Term
from qmlir.ir.builtin_types import shape_of


def simulated_rows(at: Site, op: ops.RowNormOp, integers: Term, scale: SSAValue) -> Term:
    """What `op` makes of integers `q - z` of one `scale`, in f32, before it is quantized.

    The steps are those of `qmlir.dialects.nn.interpret.quantized.normalization`.
    """
    sizes = shape_of(op.operands[0])
    first, grouped = op.first_axis if isinstance(op, ops.TrailingNormOp) else 2, sizes
    parameters = [Term(at, value) for value in op.operands[1:]]
    if isinstance(op, ops.ScaledChannelNormOp):
        batch, channels, *image = sizes
        if isinstance(op, ops.GroupNormOp) and (groups := op.groups.value.data) != channels:
            grouped = (batch, groups, channels // groups, *image)
        parameters = [Term(at, at.reshaped(each.value, [channels, *(1 for _ in image)])) for each in parameters]
    rows = RowNormOp.create(
        operands=[_shaped(at, integers.value, grouped), scale],
        result_types=[TensorType(f32, grouped)],
        properties={
            "axis": IntegerAttr(first, i64), "bits": IntegerAttr(op.row_bounds().bits, i64),
            "epsilon": op.epsilon, "centred": BoolAttr.from_bool(op.IS_CENTRED),
        },
    )  # fmt: skip
    found = Term(at, _shaped(at, at.append(rows).result, sizes))
    for operation, parameter in zip((MulOp, AddOp), parameters, strict=False):  # the scale, then the bias
        found = found.apply(operation, parameter)
    return found


def _shaped(at: Site, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    return value if shape_of(value) == tuple(sizes) else at.reshaped(value, sizes)
