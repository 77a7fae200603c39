"""`nn-smooth` and `nn-split-outlier-channels`: scale columns that are far larger than the others, or separate them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.schemes import F64
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp, MulOp
from qmlir.dialects.nn.normalization.ops import LayerNormOp, RmsNormOp
from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.interfaces import Slot
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import COMPOSITE, TENSOR, assign_role, origins_of
from qmlir.quantization.choice import Choice
from qmlir.quantization.outlier_channels import (
    Hidden,
    column_ranges,
    constant_like,
    erase_unused,
    exchange,
    hidden_of,
    named,
    norms_of,
    range_of,
    readers,
    weights_of,
    with_weights,
)
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.profiles.statistics import STATS, calibrated_type, observed, stats_of, with_range
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.settings import TakesRecipe
from qmlir.quantization.types import type_from_range

# `nn-smooth`: the columns of a norm are scaled by factors, and the weights of its readers are divided by them.

STRENGTHS = (0.4, 0.5, 0.6, 0.7, 0.8)
"""The candidates for the exponent `a` in `max|X|^a / max|W|^(1 - a)`: larger ones move more of the difference between
columns into the weights."""

_WORTH_SMOOTHING = 0.7
"""Factors are used if they reduce the expected squared error to at most this fraction, as in a text encoder with
outliers. Smaller expected gains do not show up in measurements: with 0.8, an encoder with random weights loses 1 dB."""

_FLAT = 1 << 10
"""A column smaller than the largest one divided by this number is treated as if it had that size."""


@dataclass(frozen=True)
class _Reading:
    """Contractions that read one value, by its columns."""

    low: F64
    high: F64
    squares: F64
    """The mean square of each column, estimated by distributing that of the whole value in proportion to squared
    ranges."""

    weights: npt.NDArray[np.float32]
    """The weights of all contractions, `[columns, channels]`."""

    levels: tuple[int, int]
    """The numbers of codes of data and weights."""

    @property
    def sizes(self) -> F64:
        """The largest magnitude of each column."""
        return np.maximum(-self.low, self.high)

    @cached_property
    def _room(self) -> F64:
        """Memory for two arrays of the shape of the weights: new memory takes longer than the arithmetic."""
        return np.empty((2, *self.weights.shape))

    # Rounding adds an error of a twelfth of the squared scale to each element. That of the data is multiplied by the
    # weights of its column, that of the weights by the data.
    def error(self, factors: F64) -> float:
        """Returns the expected squared error of the contractions if the columns of the data are multiplied by
        `factors`."""
        weights, squares = self._room
        np.divide(self.weights, factors[:, None], out=weights)
        low, high = range_of(self.low * factors, self.high * factors)
        of_data = ((high - low) / self.levels[0]) ** 2 * np.square(weights, out=squares).sum()
        steps = 2 * np.abs(weights, out=weights).max(0) / self.levels[1]
        return float(of_data + np.square(steps, dtype=np.float64).sum() * (self.squares * factors**2).sum())

    def factors(self) -> F64:
        """Returns the factors (at most 1) with the smallest expected error; all ones if the gain is too small."""
        none = np.ones(self.low.shape)
        sizes, largest = (np.maximum(each, each.max() / _FLAT) for each in (self.sizes, np.abs(self.weights).max(1)))
        found = [largest ** (1 - strength) / sizes**strength for strength in STRENGTHS]
        best = min((each / each.max() for each in found), key=self.error)
        return best if self.error(best) <= _WORTH_SMOOTHING * self.error(none) else none


@dataclass(frozen=True)
class NnSmooth(TakesRecipe):
    """Multiplies the columns of a norm's result by factors that equalize them, and divides the weights by the factors.

    Some columns in the result of a row norm may be ten times larger than the others. With a single 8-bit scale, the
    smaller columns then get few codes. As in SmoothQuant (Xiao et al., 2023), column `j` is divided by `max|X_j|^a /
    max|W_j|^(1 - a)`; the ranges of the columns come from the profile. The pass uses the `a` with the smallest expected
    error, and changes nothing unless the error is much smaller than without factors.

    If only matrix products with constant weights read the norm, the factors are folded into its scale and its bias. If
    it has other readers, such as the next sum of a residual stream, the products read it through an `nn.mul`, which
    replaces the rescale from the wider type of the stream. The factors are rounded to values that the quantized type of
    the `nn.mul` constant represents exactly, so the weights are divided by exactly the factors that the columns are
    multiplied by.

    The other options are those of `quant-assign-types`. If they name a calibrator other than `min_max`, nothing
    changes, because only the minima and maxima of the smoothed columns are known. If the module names targets, no
    `nn.mul` is added, since a target may not compute it. Values and weights whose parameters a rule gives are left
    unchanged.

    Before:

    ```mlir
    !x = !quant.calibrated<f32<-2.0:2.0>>
    !n = !quant.calibrated<f32<-8.0:8.0>>
    !y = !quant.calibrated<f32<-9.0:9.0>>
    #n = #calib.stats<min = -8.0, max = 8.0, mean = 0.0, std = 4.0, count = 8, axis = 1, mins = [-1.0, -8.0],
                      maxs = [1.0, 8.0]>
    func.func @main(%x: tensor<4x2x!x>) -> tensor<4x2x!y> {
      %scale = nn.constant dense<[1.0, 8.0]> : tensor<2xf32>
      %w = nn.constant dense<[[1.0, -1.0], [1.0, 1.0]]> : tensor<2x2xf32>
      %0 = nn.rms_norm %x, %scale : (tensor<4x2x!x>, tensor<2xf32>) -> tensor<4x2x!n> {origin = "n", calib.stats = #n}
      %1 = nn.matmul %0, %w : (tensor<4x2x!n>, tensor<2x2xf32>) -> tensor<4x2x!y> {origin = "fc"}
      func.return %1 : tensor<4x2x!y>
    }
    ```

    After:

    ```mlir
    !x = !quant.calibrated<f32<-2.0:2.0>>
    !n = !quant.calibrated<f32<-2.29739670999407:2.29739670999407>>
    !y = !quant.calibrated<f32<-9.0:9.0>>
    func.func @main(%x: tensor<4x2x!x>) -> tensor<4x2x!y> {
      %scale = nn.constant dense<[1.0, 2.2973967]> : tensor<2xf32>
      %0 = nn.rms_norm %x, %scale : (tensor<4x2x!x>, tensor<2xf32>) -> tensor<4x2x!n> {origin = "n"}
      %w = nn.constant dense<[[1.0, -1.0], [3.4822023, 3.4822023]]> : tensor<2x2xf32>
      %1 = nn.matmul %0, %w : (tensor<4x2x!n>, tensor<2x2xf32>) -> tensor<4x2x!y> {origin = "fc"}
      func.return %1 : tensor<4x2x!y>
    }
    ```
    """

    name = "nn-smooth"
    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        recipe, may_add = self.whole_recipe(), not targets_of(op)
        for function in functions_of(op):
            recipe.learn(function)
            for norm in norms_of(function):
                if isinstance(norm, LayerNormOp | RmsNormOp):
                    _smooth(norm, recipe, may_add)


Norm = LayerNormOp | RmsNormOp


def _smooth(norm: Norm, recipe: Recipe, may_add: bool) -> None:
    products = readers(norm.result)
    into_norm = all(use.operation in products for use in norm.result.uses) and _parameters(norm) is not None
    data = recipe.wish(norm, Slot.OUTPUT)
    if not into_norm:
        smooth = MulOp(norm.result, norm.result)
        assign_role(smooth, origins_of(norm), "smooth")
        wide, data = data, recipe.wish(smooth, Slot.OUTPUT)
        smooth.erase()
        products = [each for each in products if recipe.wish(each, Slot.INPUT) == data]
        if not may_add or not products or wide.storage.bits <= data.storage.bits:
            return
    weights = [recipe.wish(each, Slot.WEIGHT) for each in products]
    is_free = all(each.is_quantized and each.parameters is None for each in (data, *weights))
    if data.needs_statistics or not is_free:
        return
    reading = _reading(norm, products, data, weights)
    if reading is None:
        if stats_of(norm.result) is not None:
            emit_remark(norm, "is not smoothed: the profile has no per-column ranges for it")
        return
    factors = reading.factors()
    if (factors == 1.0).all():
        return
    if into_norm:
        _fold(norm, reading, factors)
    else:
        factors = _insert(norm, reading, factors, products, data)
    for product in products:
        found = weights_of(product)
        assert found is not None
        exchange(product, 1, with_weights(product, found / factors[:, None]))
    emit_remark(norm, f"is smoothed for {named(products)}: its columns are scaled by {factors.min():.3g} to 1")
    count("norms smoothed")


def _reading(norm: Norm, products: Sequence[MatMulOp], data: Choice, weights: Sequence[Choice]) -> _Reading | None:
    ranges, stats = column_ranges(norm.result), stats_of(norm.result)
    if ranges is None or stats is None:
        return None
    largest = np.maximum(-ranges[0], ranges[1]) ** 2
    if not largest.any():
        return None
    squares = largest * (stats.summary.mean**2 + stats.summary.deviation**2) / largest.mean()
    levels = data.storage.levels - 1, min(each.storage.levels for each in weights) - 1
    found = [array for each in products if (array := weights_of(each)) is not None]
    return _Reading(*ranges, squares, np.concatenate(found, 1), levels)


def _parameters(norm: Norm) -> list[int] | None:
    """Returns the operand indices of a norm's scale and bias; `None` if they are not constants with an element for each
    column."""
    if norm.scale is None:
        return None
    positions = list(range(1, len(norm.operands)))
    arrays = [constant_array(norm.operands[position]) for position in positions]
    columns = shape_of(norm.result)[-1:]
    return positions if all(array is not None and array.shape == columns for array in arrays) else None


def _fold(norm: Norm, reading: _Reading, factors: F64) -> None:
    """Makes `norm` return its columns multiplied by `factors`."""
    for position in _parameters(norm) or ():
        array = constant_array(norm.operands[position])
        assert array is not None
        exchange(norm, position, constant_like(norm.operands[position], (array * factors).astype(array.dtype)))
    norm.attributes.pop(STATS, None)
    with_range(norm.result, *_scaled(reading, factors))


def _scaled(reading: _Reading, factors: F64) -> tuple[float, float]:
    return float((reading.low * factors).min()), float((reading.high * factors).max())


def _insert(norm: Norm, reading: _Reading, factors: F64, products: Sequence[MatMulOp], data: Choice) -> F64:
    """Makes `products` read `norm` multiplied by factors that its type represents exactly, and returns these."""
    grid = type_from_range(0.0, float(factors.max()), data)
    codes = np.maximum(np.rint(factors / grid.scale), 1)
    held = (codes * grid.scale).astype(np.float32)
    constant = ConstantOp.of(held, TensorType(Float32Type(), held.shape))
    exact = held.astype(np.float64)
    type_ = TensorType(calibrated_type(*_scaled(reading, exact), Float32Type()), shape_of(norm.result))
    smooth = MulOp(norm.result, constant.result, type_)
    for made in (constant, smooth):
        assign_role(made, origins_of(norm), "smooth")
    Rewriter.insert_op([constant, smooth], InsertPoint.after(norm))
    for product in products:
        product.operands[0] = smooth.result
    return exact


# `nn-split-outlier-channels`: a contraction with outlier columns becomes the sum of two contractions.

FEWEST = 16
"""At most one in `FEWEST` columns is computed separately."""

_WORTH_SPLITTING = 0.5
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
    they choose a calibrator other than `min_max` are left unchanged, as are values whose parameters a rule gives, and
    modules that name targets.

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
    if observed(hidden.last.result) is None or choices[-1].storage.bits > _WIDEST:
        return False
    choices.append(recipe.wish(hidden.last, Slot.INPUT))
    changed = [recipe.wish(op, slot) for op in (*hidden.operations, hidden.last) for slot in (Slot.WEIGHT, Slot.OUTPUT)]
    is_free = all(each.parameters is None for each in (*choices, *changed))
    return is_free and all(each.is_quantized and not each.needs_statistics for each in choices)


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

    return large if error(large) + error(rest) <= _WORTH_SPLITTING * error(order) else None


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

    def add(op: NnOp, constants: dict[SSAValue, Operation], shape: Sequence[int], low: float, high: float) -> SSAValue:
        taken = {**made, **{value: constant.results[0] for value, constant in constants.items()}}
        part = op.clone(taken)
        for name in (STATS, TENSOR, COMPOSITE):
            part.attributes.pop(name, None)
        assign_role(part, origins_of(op), role)
        Rewriter.insert_op([*constants.values(), part], InsertPoint.before(hidden.last))
        type_ = TensorType(calibrated_type(low, high, Float32Type()), shape)
        made[op.results[0]] = Rewriter.replace_value_with_new_type(part.results[0], type_)
        return made[op.results[0]]

    for op in hidden.operations:
        ranges = column_ranges(op.results[0])
        assert ranges is not None
        if isinstance(op, MatMulOp) and (weights := weights_of(op)) is not None:
            constants: dict[SSAValue, Operation] = {op.rhs: with_weights(op, weights[:, columns])}
        else:
            constants = _elements(op, columns)
        shape = (*shape_of(op.results[0])[:-1], columns.size)
        low, high = (end[columns] for end in ranges)
        add(op, constants, shape, float(low.min()), float(high.max()))
    weights = weights_of(hidden.last)
    assert weights is not None
    terms: dict[SSAValue, Operation] = {hidden.last.rhs: with_weights(hidden.last, weights[columns])}
    return add(hidden.last, terms, shape_of(hidden.last.result), *range_)


def _elements(op: NnOp, columns: Columns) -> dict[SSAValue, Operation]:
    """Returns the constants with an element for each column, restricted to `columns`."""
    arrays = {value: array for value in op.operands if (array := constant_array(value)) is not None and array.size > 1}
    return {value: constant_like(value, array[..., columns]) for value, array in arrays.items()}
