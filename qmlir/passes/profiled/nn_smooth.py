"""`nn-smooth`: scales the columns of a norm by factors, and divides the weights of the norm's readers by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.schemes import F64
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import MulOp
from qmlir.dialects.nn.normalization.ops import LayerNormOp, RmsNormOp
from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.interfaces import Slot
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import assign_role, origins_of
from qmlir.quantization.choice import Choice
from qmlir.quantization.outlier_channels import (
    column_ranges,
    constant_like,
    exchange,
    named,
    norms_of,
    range_of,
    readers,
    weights_of,
    with_weights,
)
from qmlir.quantization.profiles.attributes import STATS, calibrated_type, stats_of
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.settings import TakesRecipe
from qmlir.quantization.types import type_from_range

STRENGTHS = (0.4, 0.5, 0.6, 0.7, 0.8)
"""The candidates for the exponent `a` in `max|X|^a / max|W|^(1 - a)`: larger ones move more of the difference between
columns into the weights."""

WORTH = 0.7
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

    # Rounding adds an error of a twelfth of the squared scale to each element. That of the data is multiplied by the
    # weights of its column, that of the weights by the data.
    def error(self, factors: F64) -> float:
        """Returns the expected squared error of the contractions if the columns of the data are multiplied by
        `factors`."""
        weights = self.weights / factors[:, None]
        low, high = range_of(self.low * factors, self.high * factors)
        of_data = ((high - low) / self.levels[0]) ** 2 * np.square(weights, dtype=np.float64).sum()
        steps = 2 * np.abs(weights).max(0) / self.levels[1]
        return float(of_data + np.square(steps, dtype=np.float64).sum() * (self.squares * factors**2).sum())

    def factors(self) -> F64:
        """Returns the factors (at most 1) with the smallest expected error; all ones if the gain is too small."""
        none = np.ones(self.low.shape)
        sizes, largest = (np.maximum(each, each.max() / _FLAT) for each in (self.sizes, np.abs(self.weights).max(1)))
        found = [largest ** (1 - strength) / sizes**strength for strength in STRENGTHS]
        best = min((each / each.max() for each in found), key=self.error)
        return best if self.error(best) <= WORTH * self.error(none) else none


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
    `nn.mul` is added, since a target may not compute it.

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
    if data.needs_statistics or not all(each.quantize for each in (data, *weights)):
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
    type_ = TensorType(calibrated_type(*_scaled(reading, factors), Float32Type()), shape_of(norm.result))
    Rewriter.replace_value_with_new_type(norm.result, type_)


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
