"""The operations that the mode `qlinear` of `requantize` means something for, and what it takes of their types.

Their arithmetic is stated in `qmlir.arithmetic.qlinear`: that of ONNX Runtime's operators on 8 bits, one scale and one
zero point for each tensor. Products go by it as `requantize` says it of any accumulator.
"""

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.qlinear import MOST, Affine, Sum
from qmlir.arithmetic.requantization import Mode, accumulator_scale, f32_multiplier
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.base import NnOp, element_of, shape_of
from qmlir.dialects.nn.ops.activations import SigmoidOp
from qmlir.dialects.nn.ops.elementwise import AddOp, MulOp
from qmlir.dialects.nn.ops.pooling import AveragePoolOp
from qmlir.dialects.nn.ops.softmax import SoftmaxOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType

OPERATIONS: tuple[type[Operation], ...] = (AddOp, MulOp, AveragePoolOp, SigmoidOp, SoftmaxOp)

QLINEAR = RequantizeAttr.of(Mode.QLINEAR)

_SMALLEST_STEP = 2.0**-30
"""`floor(1 / s_y)` has 31 bits."""


def is_qlinear(op: Operation) -> bool:
    """Whether `op` computes by the mode `qlinear`."""
    return isinstance(op, NnOp) and op.requantize == QLINEAR


def affine(element: UniformQuantizedType) -> Affine:
    """The parameters of a type that has one scale."""
    return Affine(np.float32(element.scale), element.zero_point)


def is_whole_image(op: AveragePoolOp, sizes: tuple[int, ...]) -> bool:
    """Whether a pool has one window, the whole image: ONNX Runtime computes it as a global one, by the mode `f32`."""
    windows = op.windows
    return tuple(windows.kernel) == tuple(sizes) and not any(sum(windows.padding(axis)) for axis in range(len(sizes)))


def verify_qlinear(op: NnOp) -> None:
    """Check that the mode means something for `op`, and that its floats stay where every machine converts them."""
    if not isinstance(op, OPERATIONS):
        names = ", ".join(each.name for each in OPERATIONS)
        raise VerifyException(f"cannot requantize by {Mode.QLINEAR}, which is for {names}")
    elements = [_single(value) for value in (*op.operands, *op.results)]
    if not _largest(op, elements) < MOST:
        raise VerifyException(f"has scales whose ratio takes results of mode {Mode.QLINEAR} beyond 32 bits")


def _single(value: SSAValue) -> UniformQuantizedType:
    element = element_of(value)
    if (
        not isinstance(element, UniformQuantizedType)
        or element.granularity is not Granularity.TENSOR
        or element.expressed != f32
        or element.bits != 8
    ):
        raise VerifyException(
            f"takes values of 8 bits, of f32 and with one scale, in mode {Mode.QLINEAR}, found {value.type}"
        )
    return element


def _largest(op: NnOp, elements: list[UniformQuantizedType]) -> float:
    """A bound of the floats that become integers."""
    result, scales = affine(elements[-1]), [np.float32(element.scale) for element in elements]
    try:
        match op:
            case AddOp():
                for scale in scales[:2]:
                    f32_multiplier(scale, result.scale)
                return Sum.of(affine(elements[0]), affine(elements[1]), result).largest
            case MulOp():
                return 65536.0 * float(f32_multiplier(accumulator_scale(*scales[:2]), result.scale)) + 256
            case AveragePoolOp():
                return 257.0 * float(f32_multiplier(scales[0], result.scale)) + 256
            case SoftmaxOp():
                axis = shape_of(op.input)[op.axis.value.data]
                return MOST if result.scale < _SMALLEST_STEP or axis == 0 else 0.0
            case _:
                return 0.0
    except ValueError as error:
        raise VerifyException(f"cannot requantize by {Mode.QLINEAR}: {error}") from error
