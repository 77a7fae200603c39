"""What the `calib` operations compute."""

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.integers import integer_limits
from qmlir.dialects.calib.ops import FakeQuantOp, ObserveOp


def _observe(op: ObserveOp, x: Array) -> tuple[Array]:
    return (x,)


def _fake_quant(op: FakeQuantOp, x: Array, log2_threshold: Array) -> tuple[Array]:
    bits, signed = op.bits.value.data, bool(op.signed.value.data)
    low, high = integer_limits(bits, is_signed=signed)
    exponent = np.ceil(log2_threshold.astype(np.float64)) - (bits - 1 if signed else bits)
    scale = np.exp2(exponent).astype(np.float32)
    if op.axis is not None:
        layout = [1] * x.ndim
        layout[op.axis.value.data] = -1
        scale = scale.reshape(layout)
    # A power of two divides and multiplies exactly; the clipped integers are exact in f64 up to 32 bits.
    steps = np.clip(np.rint(x / scale).astype(np.float64), low, high)
    return ((steps * scale).astype(np.float32),)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    ObserveOp: _observe,
    FakeQuantOp: _fake_quant,
}
