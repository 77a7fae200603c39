"""What ONNX Runtime's QLinear operators compute, step by step in f32, where that is not the default arithmetic.

The steps are those of its CPU kernels on x86-64 with AVX2 and FMA; each is rounded once, `fma` rounds a product and a
sum once. Read in onnxruntime/core/mlas/lib/{qladd,qlmul}.cpp, intrinsics/avx2/qladd_avx2.cpp and
x86_64/LogisticKernelFma3.S, and in onnxruntime/contrib_ops/cpu/quantization/{qlinear_pool,qlinear_softmax}.cc.
Without FMA its sums round each product, and its sigmoid each step; on ARM its sums are integers of fixed point.

- **Sum**: `rne(fma(q_a, r_a, fma(q_b, r_b, c)))`, `r = s / s_y`, `c = z_y - fma(r_a, z_a, r_b * z_b)`; the
  operands of the operator change places where its first one repeats along the innermost axis.
- **Product**: `rne((q_a - z_a)(q_b - z_b) * m + z_y)`, `m = (s_a * s_b) / s_y`.
- **Average pool**: `rne(t / count / s_y + z_y)`; `t` adds `s_x * (q - z_x)` up in f32 over the kernel, row-major.
- **Sigmoid**: a quotient of polynomials, quantized as any real value.
- **Softmax**: `rne(e * floor(1 / s_y) / t) + z_y`; `e` is a table of powers, `t` adds them up in f32 along the axis.

Results saturate. The order of the zero point and the rounding is what matters: it decides at half-way cases.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.fused import fused_f32

Reals = npt.NDArray[np.float32]

MOST = float(1 << 31)
"""Results as large as this have no integer of 32 bits: what ONNX Runtime makes of them depends on the machine."""


class Affine(NamedTuple):
    """The parameters of a tensor: `scale * (q - zero_point)`."""

    scale: np.float32
    zero_point: int


def rounded(value: Array, limits: tuple[int, int]) -> npt.NDArray[np.int64]:
    """A float that holds the zero point already, rounded to even and kept inside the limits."""
    return np.asarray(np.clip(np.rint(value.astype(np.float64)), *limits), np.int64)


# --- Sums -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sum:
    """`fma(left, left_ratio, fma(right, right_ratio, offset))` of the stored integers of two operands."""

    left_ratio: np.float32
    right_ratio: np.float32
    offset: np.float32

    @staticmethod
    def of(left: Affine, right: Affine, result: Affine) -> "Sum":
        """The constants of a sum."""
        ratios = [np.float32(each.scale / result.scale) for each in (left, right)]
        product = np.float32(ratios[1] * np.float32(right.zero_point))
        moved = fused_f32(ratios[0], left.zero_point, product)
        return Sum(ratios[0], ratios[1], np.float32(np.float32(result.zero_point) - moved))

    @property
    def largest(self) -> float:
        """What no sum is larger than."""
        return 257.0 * float(self.left_ratio + self.right_ratio) + abs(float(self.offset))

    def apply(self, left: Array, right: Array) -> Reals:
        """The sum, the zero point of the result in it."""
        return fused_f32(left, self.left_ratio, fused_f32(right, self.right_ratio, self.offset))


# --- Means ------------------------------------------------------------------------------------------------------------


def moved_mean(total: Reals, count: npt.ArrayLike, result: Affine) -> Reals:
    """The mean of `count` reals whose f32 sum is `total`, the zero point of the result in it."""
    mean = total / np.asarray(count).astype(np.float32)
    return np.asarray(mean / result.scale + np.float32(result.zero_point), np.float32)


# --- Sigmoid ----------------------------------------------------------------------------------------------------------

SIGMOID_END = 18.0
"""Beyond it the function is taken to be level."""

_NUMERATOR = (
    4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03, 2.48287947061529e-01,
)  # fmt: skip
_DENOMINATOR = (
    6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03, 1.16817656904453e-01,
    9.93151921023180e-01,
)  # fmt: skip


def _polynomial(coefficients: Sequence[float], x: Reals) -> Reals:
    """By Horner's rule with fused steps, from the coefficient of the highest power down."""
    value = np.full(x.shape, coefficients[0], np.float32)
    for coefficient in coefficients[1:]:
        value = fused_f32(value, x, coefficient)
    return value


def sigmoid(x: Reals) -> Reals:
    """Eigen's rational approximation of `1 / (1 + e^-x)`, in odd and even powers of `x`."""
    inside = np.clip(x, np.float32(-SIGMOID_END), np.float32(SIGMOID_END))
    square = np.asarray(inside * inside, np.float32)
    quotient = inside * _polynomial(_NUMERATOR, square) / _polynomial(_DENOMINATOR, square)
    return np.maximum(quotient + np.float32(0.5), np.float32(0))


# --- Softmax ----------------------------------------------------------------------------------------------------------

_RESERVE = 5.0
"""How far below the largest f32 the logarithm of a sum of powers stays."""


def softmax_powers(scale: np.float32, terms: int) -> Reals:
    """`e^(scale * (i - 255) + h)` for i from 0 to 255: element `255 + q - max` stands for `q`.

    `h` makes the powers large, yet `terms` of them have a sum in f32.
    """
    most = np.float32(np.finfo(np.float32).max / np.float32(terms))
    headroom = max(0.0, float(np.float32(math.log(most))) - _RESERVE)
    places = np.arange(256, dtype=np.float64) - 255 + headroom / float(scale)
    return np.array([math.exp(place * float(scale)) for place in places], np.float32)


def softmax_steps(result: np.float32) -> np.float32:
    """`floor(1 / s_y)`: how many steps of the result a sum of 1 is."""
    return np.floor(np.float32(1) / result)


SOFTMAX_LARGEST = np.float32(65536)
"""More steps than any result has. `e * floor(1 / s_y)` of few terms is beyond f32; it saturates as any large one does.

ONNX Runtime converts that infinity, and what it becomes depends on the processor.
"""
