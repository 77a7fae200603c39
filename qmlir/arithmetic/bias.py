"""The bias of a contraction as i32 integers with scale `f32(s_x * s_w)` and zero point 0, and never clipped.

The scale of a bias follows from others. Where its integers would become too large, the weight scale of that channel is
raised until they fit, so that the accumulator and the bias keep one scale: Glow's remedy, channel by channel. ONNX
Runtime lost models to the overflow until it did the same.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.arithmetic.schemes import F64, LARGEST_SCALE, SMALLEST_SCALE, Bools, RangeError, power_of_two_ceiling

LIMIT = (1 << 29) - 1
"""The largest integer that a bias is given, a quarter of i32 as in Glow: the rest is for the sum of products."""


@dataclass(frozen=True, eq=False)
class FittedScales:
    """Weight scales that give the bias room, its own scales `f32(s_x * s_w)`, and where a weight scale was raised.

    All have the shape of the weight scales, `[]` or `[channels]`; the scales are f64 numbers that are f32 numbers.
    """

    weight_scales: F64
    bias_scales: F64
    raised: Bools


def _steps(sizes: F64, scales: F64) -> F64:
    """`rne(f32(size / scale))` as `quant.qcast` computes it; infinity where the scale underflowed."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = sizes.astype(np.float32) / scales.astype(np.float32)
    return np.where(sizes == 0, 0.0, np.rint(quotient).astype(np.float64))


def _up(values: F64) -> F64:
    """The smallest f32 numbers that are not below `values`."""
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32)
        return np.where(nearest < values, np.nextafter(nearest, np.float32(np.inf)), nearest).astype(np.float64)


def fit_bias(
    minimum: npt.ArrayLike,
    maximum: npt.ArrayLike,
    input_scale: float,
    weight_scales: npt.ArrayLike,
    limit: npt.ArrayLike = LIMIT,
    is_power_of_two: bool = False,
) -> FittedScales:
    """The weight scales under which a bias from `minimum` to `maximum`, of shape `[channels]`, fits.

    For a constant bias both ends are the bias itself; one that is computed has the range that was profiled. A weight
    scale is raised to the first f32 number (or power of two) at which the bias takes integers up to `limit`, one number
    or one for each channel: `2^31 - 1` less what the sum of products needs, where that is known. A bias of 0 fits any
    scale, and leaves its filter as fine as it is. One weight scale for all channels is raised for the largest bias.

    The scale of the bias is a normal f32 number at least. Raises `RangeError` where a bias is not finite, or no f32
    scale is large enough.
    """
    ends = np.broadcast_arrays(np.asarray(minimum, np.float64), np.asarray(maximum, np.float64))
    sizes = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    if len(bad := np.argwhere(~np.isfinite(sizes))):
        raise RangeError(f"bias must be finite, but element {bad[0].tolist()} is not")
    source, given = (np.asarray(scale).astype(np.float32).astype(np.float64) for scale in (input_scale, weight_scales))
    for scales in (source, given):
        if not (np.isfinite(scales) & (scales > 0)).all():
            raise RangeError(f"scales must be positive and finite in f32, but got {scales}")
    if (np.asarray(limit) < 1).any():
        raise ValueError(f"limit must be >= 1, but got {limit}")
    limits = np.broadcast_to(np.asarray(limit, np.float64), sizes.shape)
    if given.size == 1 and sizes.size:  # the bias that needs the largest scale decides for all
        worst = int(np.argmax(sizes / limits))
        sizes, limits = (each.reshape(-1)[worst].reshape(given.shape) for each in (sizes, limits))
    elif given.shape != sizes.shape:
        raise ValueError(f"bias of shape {sizes.shape} does not match weight scales of shape {given.shape}")

    def product_scales(scales: F64) -> F64:
        with np.errstate(over="ignore", under="ignore"):
            return accumulator_scale(input_scale, scales).astype(np.float64)

    def too_small(scales: F64) -> Bools:
        products = product_scales(scales)
        return (_steps(sizes, products) > limits) | (products < SMALLEST_SCALE)

    raised = too_small(given)
    # Half a step more than the limit still rounds down to it, but who rounds what is up to f32: begin below, and climb.
    wanted = np.maximum(sizes / (limits + 0.5), SMALLEST_SCALE) / source * (1 - 2.0**-22)
    scales = np.where(raised, np.maximum(_up(wanted), given), given)
    if is_power_of_two:
        scales = np.where(raised, power_of_two_ceiling(scales), scales)
    while (short := too_small(scales)).any():
        next_up = 2 * scales if is_power_of_two else _up(np.nextafter(scales, np.inf))
        scales = np.where(short, next_up, scales)
    products = product_scales(scales)
    if (bad := ~(np.isfinite(products) & (scales <= LARGEST_SCALE))).any():
        raise RangeError(f"a bias of {sizes[bad].flat[0]} needs a weight scale beyond the range of f32")
    return FittedScales(scales, products, raised)
