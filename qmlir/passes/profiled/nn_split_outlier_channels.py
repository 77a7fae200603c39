"""`nn-split-outlier-channels`: splits a contraction whose data has outlier columns into the sum of two contractions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.interfaces import Slot
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import COMPOSITE, TENSOR, assign_role, origins_of
from qmlir.quantization.outlier_channels import (
    Hidden,
    column_ranges,
    constant_like,
    erase_unused,
    hidden_of,
    range_of,
    weights_of,
    with_weights,
)
from qmlir.quantization.profiles.attributes import STATS, calibrated_type
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.profiles.statistics import observed
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.settings import TakesRecipe

FEWEST = 16
"""At most one in `FEWEST` columns is computed separately."""

WORTH = 0.5
"""Columns are split if this reduces the expected squared error to at most this fraction."""

_WIDEST = 8
"""The widest data whose columns are split: wider data has enough codes."""

Columns = npt.NDArray[np.intp]


@dataclass(frozen=True)
class NnSplitOutlierChannels(TakesRecipe):
    """Computes a few columns that are far larger than the others in separate matrix products.

    Between two matrix products of a transformer, individual columns may be ten times larger than all others. With a
    single 8-bit scale, the other columns then get few codes. The operations in between compute each column
    independently, so the columns can be split into two groups, each with its own scales: the first product computes the
    channels of each group, and the second product becomes the sum of two, one over the terms of each group. The group
    of outliers has `columns` columns, by default one vector register of them, so it costs next to nothing. If the
    weights of the second product have one scale per block, `columns` is rounded up to whole blocks.

    The ranges of columns come from the profile. The other options are those of `quant-assign-types`. Values for which
    they choose a calibrator other than `min_max` are left unchanged, and so are modules that name targets.

    Before (run with `columns=1`):

    ```mlir
    !x = !quant.calibrated<f32<-2.0:2.0>>
    !h = !quant.calibrated<f32<0.0:64.0>>
    !y = !quant.calibrated<f32<0.0:80.0>>
    #h = #calib.stats<min = 0.0, max = 64.0, mean = 0.5, std = 2.0, count = 64, axis = 1,
                      mins = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                      maxs = [1.0, 1.0, 1.0, 64.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]>
    func.func @main(%x: tensor<4x2x!x>) -> tensor<4x1x!y> {
      %up = nn.constant dense<1.0> : tensor<2x16xf32>
      %down = nn.constant dense<1.0> : tensor<16x1xf32>
      %0 = nn.rms_norm %x : (tensor<4x2x!x>) -> tensor<4x2x!x> {origin = "n"}
      %1 = nn.matmul %0, %up : (tensor<4x2x!x>, tensor<2x16xf32>) -> tensor<4x16x!h> {origin = "up", calib.stats = #h}
      %2 = nn.relu %1 : (tensor<4x16x!h>) -> tensor<4x16x!h> {origin = "relu", calib.stats = #h}
      %3 = nn.matmul %2, %down : (tensor<4x16x!h>, tensor<16x1xf32>) -> tensor<4x1x!y> {origin = "down"}
      func.return %3 : tensor<4x1x!y>
    }
    ```

    After:

    ```mlir
    !x = !quant.calibrated<f32<-2.0:2.0>>
    !small = !quant.calibrated<f32<0.0:1.0>>
    !large = !quant.calibrated<f32<0.0:64.0>>
    !rest = !quant.calibrated<f32<0.0:15.0>>
    !y = !quant.calibrated<f32<0.0:80.0>>
    func.func @main(%x: tensor<4x2x!x>) -> tensor<4x1x!y> {
      %0 = nn.rms_norm %x : (tensor<4x2x!x>) -> tensor<4x2x!x> {origin = "n"}
      %up = nn.constant dense<1.0> : tensor<2x15xf32>
      %1 = nn.matmul %0, %up
          : (tensor<4x2x!x>, tensor<2x15xf32>) -> tensor<4x15x!small> {origin = "up", role = "rest"}
      %2 = nn.relu %1 : tensor<4x15x!small> {origin = "relu", role = "rest"}
      %down = nn.constant dense<1.0> : tensor<15x1xf32>
      %3 = nn.matmul %2, %down
          : (tensor<4x15x!small>, tensor<15x1xf32>) -> tensor<4x1x!rest> {origin = "down", role = "rest"}
      %upmost = nn.constant dense<1.0> : tensor<2x1xf32>
      %4 = nn.matmul %0, %upmost
          : (tensor<4x2x!x>, tensor<2x1xf32>) -> tensor<4x1x!large> {origin = "up", role = "largest"}
      %5 = nn.relu %4 : tensor<4x1x!large> {origin = "relu", role = "largest"}
      %downmost = nn.constant dense<[[1.0]]> : tensor<1x1xf32>
      %6 = nn.matmul %5, %downmost
          : (tensor<4x1x!large>, tensor<1x1xf32>) -> tensor<4x1x!large> {origin = "down", role = "largest"}
      %7 = nn.add %3, %6 : (tensor<4x1x!rest>, tensor<4x1x!large>) -> tensor<4x1x!y> {origin = "down"}
      func.return %7 : tensor<4x1x!y>
    }
    ```
    """

    name = "nn-split-outlier-channels"
    preserves: ClassVar[Preservation] = ROUNDED

    columns: int = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        recipe = self.whole_recipe()
        if targets_of(op):
            return
        for function in functions_of(op):
            for hidden in list(hidden_of(function)):
                number = _whole_blocks(hidden, recipe, self.columns)
                if _may_be_split(hidden, recipe) and (large := _large_columns(hidden, number)) is not None:
                    text = f"one for the {large.size} largest of its {shape_of(hidden.last.lhs)[-1]} columns"
                    emit_remark(hidden.last, f"is split into the sum of two matmuls: {text}")
                    _split(hidden, large)
                    count("products split")


def _whole_blocks(hidden: Hidden, recipe: Recipe, columns: int) -> int:
    """Returns `columns`, rounded up to whole blocks if the weights of the sum have a scale for each block."""
    block = recipe.wish(hidden.last, Slot.WEIGHT).granularity.block or 1
    return -(-columns // block) * block


def _may_be_split(hidden: Hidden, recipe: Recipe) -> bool:
    choices = [recipe.wish(op, Slot.OUTPUT) for op in hidden.operations]
    choices.append(recipe.wish(hidden.last, Slot.INPUT))
    data = recipe.wish(hidden.operations[-1], Slot.OUTPUT)
    if observed(hidden.last.result) is None or data.storage.bits > _WIDEST:
        return False
    return all(each.quantize and not each.needs_statistics for each in choices)


# Rounding adds an error of a twelfth of the squared scale to each element, which the weights of its column multiply.
def _large_columns(hidden: Hidden, number: int) -> Columns | None:
    """Returns the columns worth computing separately, in order."""
    ranges, weights = column_ranges(hidden.last.lhs), weights_of(hidden.last)
    if weights is None or ranges is None or any(column_ranges(value) is None for value in hidden.values):
        return None
    low, high = ranges
    if low.size < FEWEST * number:
        return None
    order = np.argsort(np.minimum(low, -high), kind="stable")
    large, rest = np.sort(order[:number]), np.sort(order[number:])
    squares = np.square(weights, dtype=np.float64).sum(1)

    def error(columns: Columns) -> float:
        lowest, highest = range_of(low[columns], high[columns])
        return (highest - lowest) ** 2 * float(squares[columns].sum())

    return large if error(large) + error(rest) <= WORTH * error(order) else None


def _split(hidden: Hidden, large: Columns) -> None:
    last = hidden.last
    everything = np.arange(shape_of(last.lhs)[-1])
    total, bound = observed(last.result), _sum_bound(hidden, large)
    assert total is not None
    rest = np.setdiff1d(everything, large)
    lowest, highest = _sum_bound(hidden, rest)
    remaining = max(lowest, total.minimum - bound[1]), min(highest, total.maximum - bound[0])
    first = _part(hidden, rest, "rest", remaining)
    second = _part(hidden, large, "largest", bound)
    whole = AddOp(first, second, last.result.type)
    whole.attributes.update(last.attributes)
    whole.result.name_hint = last.result.name_hint
    for use in last.result.uses:  # these are no longer parts of a layer
        use.operation.attributes.pop(COMPOSITE, None)
    Rewriter.insert_op(whole, InsertPoint.before(last))
    last.result.replace_all_uses_with(whole.result)
    for op in (last, *reversed(hidden.operations)):
        constants = [value.owner for value in op.operands]
        Rewriter.erase_op(op)
        for each in constants:
            erase_unused(each)


def _sum_bound(hidden: Hidden, columns: Columns) -> tuple[float, float]:
    """Returns bounds of the sum over some columns, from their ranges."""
    weights, ranges = weights_of(hidden.last), column_ranges(hidden.last.lhs)
    assert weights is not None
    assert ranges is not None
    ends = [end[columns, None] * weights[columns] for end in ranges]
    return float(np.minimum(*ends).sum(0).min()), float(np.maximum(*ends).sum(0).max())


def _part(hidden: Hidden, columns: Columns, role: str, range_: tuple[float, float]) -> SSAValue:
    """Builds the last product over some of the columns, and returns its result."""
    made: dict[SSAValue, SSAValue] = {}
    for op in hidden.operations:
        ranges = column_ranges(op.results[0])
        assert ranges is not None
        constants = _channels(op, columns) if isinstance(op, MatMulOp) and weights_of(op) is not None else {}
        constants = constants or _elements(op, columns)
        shape = (*shape_of(op.results[0])[:-1], columns.size)
        low, high = (end[columns] for end in ranges)
        _add(hidden, op, made, constants, shape, (float(low.min()), float(high.max())), role)
    weights = weights_of(hidden.last)
    assert weights is not None
    terms: dict[SSAValue, Operation] = {hidden.last.rhs: with_weights(hidden.last, weights[columns])}
    return _add(hidden, hidden.last, made, terms, shape_of(hidden.last.result), range_, role)


def _channels(op: MatMulOp, columns: Columns) -> dict[SSAValue, Operation]:
    weights = weights_of(op)
    assert weights is not None
    return {op.rhs: with_weights(op, weights[:, columns])}


def _elements(op: NnOp, columns: Columns) -> dict[SSAValue, Operation]:
    """Returns the constants with an element for each column, restricted to `columns`."""
    arrays = {value: array for value in op.operands if (array := constant_array(value)) is not None and array.size > 1}
    return {value: constant_like(value, array[..., columns]) for value, array in arrays.items()}


def _add(
    hidden: Hidden,
    op: NnOp,
    made: dict[SSAValue, SSAValue],
    constants: dict[SSAValue, Operation],
    shape: Sequence[int],
    range_: tuple[float, float],
    role: str,
) -> SSAValue:
    """Inserts the part of `op` for some columns before the last product, and records it in `made`."""
    taken = {**made, **{value: constant.results[0] for value, constant in constants.items()}}
    part = op.clone(taken)
    for name in (STATS, TENSOR, COMPOSITE):
        part.attributes.pop(name, None)
    assign_role(part, origins_of(op), role)
    Rewriter.insert_op([*constants.values(), part], InsertPoint.before(hidden.last))
    type_ = TensorType(calibrated_type(*range_, Float32Type()), shape)
    made[op.results[0]] = Rewriter.replace_value_with_new_type(part.results[0], type_)
    return made[op.results[0]]
