"""Real values of stored integers, compared exactly: one float where it holds the product with the scale, else two.

An f32 scale has 24 significant bits: its product with an integer below 2^29 has the 53 of f64. A longer product is
`high + low`: the product rounded, and what the rounding left, which a fused step gives exactly. Rounding keeps the
order, so the high parts decide, and where they are equal the low ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects import math
from xdsl.dialects.builtin import Float64Type, f64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import UniformQuantizedType, storage_limits
from qmlir.ir.builtin_types import tensor

_ONE_FLOAT = 1 << 29
"""Integers below this need no second float."""

_MOST_EXPONENTS = 900
"""Scales that are further apart, in powers of 2, have products that leave the range of f64."""


@dataclass(frozen=True)
class ExactReal:
    """A real value, exact: the sum of its parts, the low one at most half a unit in the last place of the high one."""

    high: Scalar
    low: Scalar | None

    def compare(self, predicate: str, other: "ExactReal") -> Scalar:
        """Whether `lt`, `le`, `gt`, `ge` or `eq` holds."""
        if self.low is None and other.low is None:
            return self.high.compare(predicate, other.high)
        low = self.high.constant(0.0) if self.low is None else self.low
        other_low = self.high.constant(0.0) if other.low is None else other.low
        is_tie, by_low = self.high.compare("eq", other.high), low.compare(predicate, other_low)
        if predicate == "eq":
            return is_tie & by_low
        return is_tie.select(by_low, self.high.compare(predicate, other.high))

    @property
    def parts(self) -> tuple[Scalar, ...]:
        """The one or two floats."""
        return (self.high,) if self.low is None else (self.high, self.low)


@dataclass(frozen=True)
class ExactReading:
    """Inputs of a structured operation, and how the scalars of one point become an exact real."""

    inputs: tuple[Input, ...]
    count: int
    """How many floats each real value is."""
    read: Callable[[Sequence[Scalar]], ExactReal]


def exact_scales(value: SSAValue, element: UniformQuantizedType) -> npt.NDArray[np.float64]:
    """The scales of an operand as its values are compared, in a shape that broadcasts against it."""
    scales, _ = broadcast_parameters(element, tensor(value.type).get_shape())
    return scales if isinstance(element.expressed, Float64Type) else scales.astype(np.float32).astype(np.float64)


def exact_reals(
    at: Lowering, operands: Sequence[tuple[SSAValue, UniformQuantizedType, AffineMap]]
) -> list[ExactReading]:
    """Quantized operands as exact reals that may be compared with each other, all of them in one unit."""
    scales = [exact_scales(value, element) for value, element, _ in operands]
    exponents = np.concatenate([np.frexp(each)[1].reshape(-1) for each in scales])
    if exponents.size and exponents.max() - exponents.min() > _MOST_EXPONENTS:
        raise at.error(f"cannot be compiled: it compares values whose scales differ by more than 2^{_MOST_EXPONENTS}")
    unit = int(exponents.max()) if exponents.size else 0  # so that no product leaves the range of f64
    return [_exact_real(at, operand, np.ldexp(own, -unit)) for operand, own in zip(operands, scales, strict=True)]


def _exact_real(
    at: Lowering, operand: tuple[SSAValue, UniformQuantizedType, AffineMap], scales: npt.NDArray[np.float64]
) -> ExactReading:
    value, element, map_ = operand
    largest = max(map(abs, storage_limits(element.storage))) + int(np.abs(element.zero_points).max())
    is_short = largest < _ONE_FLOAT and not isinstance(element.expressed, Float64Type)
    own = quantized.centred(at, value, map_)
    scale = quantized.parameter(at, scales, f64, map_)

    def read(scalars: Sequence[Scalar]) -> ExactReal:
        integers, factors = quantized.split(scalars, own.inputs, scale.inputs)
        integer = own.read(integers).to(f64)
        factor = scale.of(factors, integer)
        high = factor * integer
        return ExactReal(high, None if is_short else factor.apply(math.FmaOp, integer, -high))

    return ExactReading((*own.inputs, *scale.inputs), 1 if is_short else 2, read)
