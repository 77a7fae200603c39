"""Dynamic quantization: parameters are computed at run time from the range of the quantized values.

The results are plain tensors, because a quantized type contains its parameters, which are known only at run time.
`!quant.any<u8:f32>` would name the storage, but no operation computes with it: each consumer casts the integers to a
type of scale 1 and applies the scale itself, so the type would only add a cast.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, Signedness, StringAttr, TensorType, f32, i8
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, plain_type
from qmlir.dialects.nn.reduction.ops import reduced_axes, reduced_shape
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import NumericallyDiscontinuous

STORAGES = {"u8": IntegerType(8, Signedness.UNSIGNED), "i8": i8}
"""The storage types of the result and of its zero point."""

ASYMMETRIC, SYMMETRIC = "asymmetric", "symmetric"

STEPS = {ASYMMETRIC: 255.0, SYMMETRIC: 127.0}
"""The number of quantization steps of the range, which for `symmetric` is that of the absolute values."""

MIDDLE = 128
"""The difference between the integers of `u8` and `i8`."""

ZEROS = ("onnx", "onnxruntime")
"""The runtimes whose scale is used if all values are 0."""


@irdl_op_definition
class DynamicQuantizeOp(NnOp):
    """Quantizes the operand to 8 bits by its range; also returns scale and zero point (ONNX DynamicQuantizeLinear).

    Without `axes`, one range covers all elements, and scale and zero point are scalars. With `axes`, each slice along
    these axes has its own range: `axes = [-1]` quantizes each row, and the scale keeps the axes with size 1.

    - `scheme = "asymmetric"`: The range `[min, max]` is extended to contain 0. Then `scale = (max - min) / 255`,
      `zero_point = round(clip(0 - min / scale, 0, 255))`, and the integers are
      `clip(round(x / scale) + zero_point, 0, 255)`. For `storage = "i8"`, integers and zero point are 128 less.
    - `scheme = "symmetric"`: `scale = max(abs(x)) / 127`, and the integers are `clip(round(x / scale), -127, 127)`. For
      `storage = "u8"`, they are 128 more. The zero point is the scalar constant 0, or 128.

    Each step is computed in f32 and rounded once, and ties round to even. If all elements are 0, or there are none,
    the range has the width 1, or with `zeros = "onnxruntime"` the number of steps, so that the scale is 1. If an
    element is NaN or infinite, or the range overflows, the steps follow IEEE arithmetic, and an integer or a zero point
    that is NaN becomes 0, as in `nn.cast`.

    Asymmetric u8 without axes equals DynamicQuantizeLinear of ONNX and of ONNX Runtime. Symmetric i8 with
    `axes = [-1]` has the scale of torchao's `Int8DynamicActivationInt8Weight`, except that torchao's scale is at least
    1e-5. Torchao multiplies by the rounded reciprocal of the scale instead of dividing, so that integers may differ by
    one step close to a tie.
    """

    name = "nn.dynamic_quantize"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    traits = traits_def(NumericallyDiscontinuous())

    input = operand_def(TensorType)
    zeros = opt_prop_def(StringAttr, StringAttr(ZEROS[0]))
    storage = opt_prop_def(StringAttr, StringAttr("u8"))
    scheme = opt_prop_def(StringAttr, StringAttr(ASYMMETRIC))
    axes = opt_prop_def(DenseArrayBase[IntegerType])
    result = result_def(TensorType)
    scale = result_def(TensorType)
    zero_point = result_def(TensorType)

    @property
    def is_of_onnx(self) -> bool:
        """Whether the operation is DynamicQuantizeLinear of ONNX."""
        return self.axes is None and self.storage.data == "u8" and not self.is_symmetric

    @property
    def is_symmetric(self) -> bool:
        """Whether the zero point is constant."""
        return self.scheme.data == SYMMETRIC

    @property
    def steps(self) -> float:
        """The number of quantization steps of the range."""
        return STEPS[self.scheme.data]

    @property
    def span_of_zeros(self) -> float:
        """The width of the range if all elements are 0."""
        return 1.0 if self.zeros.data == ZEROS[0] else self.steps

    @property
    def constant_zero_point(self) -> int:
        """The zero point of the scheme `symmetric`."""
        return 0 if self.storage.data == "i8" else MIDDLE

    @property
    def shift(self) -> int:
        """The difference between the stored integers and the integers of the formula for the scheme."""
        return (0 if self.storage.data == "u8" else -MIDDLE) + (MIDDLE if self.is_symmetric else 0)

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and largest integer of the formula for the scheme."""
        return (-self.steps if self.is_symmetric else 0.0), self.steps

    @property
    def reduced_axes(self) -> tuple[int, ...]:
        """The axes that share a range, counted from the front."""
        return reduced_axes(self.integers("axes"), len(shape_of(self.input)))

    def verify_(self) -> None:
        super().verify_()
        check_choice("zeros", self.zeros.data, ZEROS)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if plain_type(element_of(self.input)) != f32:
            raise VerifyException(f"input must be a tensor of f32, but got '{self.input.type}'")
        check_choice("storage", self.storage.data, STORAGES)
        check_choice("scheme", self.scheme.data, STEPS)
        if self.axes is not None and not self.integers("axes"):
            raise VerifyException("axes must not be empty; omit them for one range of all elements")
        storage, shape = STORAGES[self.storage.data], shape_of(self.input)
        scales = () if self.axes is None else reduced_shape(shape, self.reduced_axes, keep_dims=True)
        points = () if self.is_symmetric else scales
        return [TensorType(storage, shape), TensorType(f32, scales), TensorType(storage, points)]
