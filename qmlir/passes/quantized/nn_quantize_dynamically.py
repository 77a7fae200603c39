"""`nn-quantize-dynamically`: turns float contractions with stored weights into integer ones of data quantized at run
time."""

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, f32, i8, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import (
    BiasedContractionOp,
    ContractionOp,
    ConvTransposeOp,
    MatMulOp,
    WindowedContractionOp,
)
from qmlir.dialects.nn.dynamic import products
from qmlir.dialects.nn.dynamic.ops import ASYMMETRIC, STEPS, STORAGES, SYMMETRIC, DynamicQuantizeOp
from qmlir.dialects.nn.dynamic.products import IntegerFactor
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp, Layer, LstmOp
from qmlir.dialects.nn.terms import InsertionBuilder
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import DequantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import COMPONENTS
from qmlir.ir.diagnostics import emit_remark, text_error, unknown, warn
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.ir.provenance import describe, origins_of, set_origins, set_tensor_names, tensor_names
from qmlir.quantization.retyping import DYNAMIC_DATA, DYNAMIC_ROLE, KEEP_FLOAT, is_f32
from qmlir.text.elements import integers_of

ROW, TENSOR = "row", "tensor"
"""The elements of the data that share a range: those of a row along the last axis, or all."""

_STORAGES = {ASYMMETRIC: "u8", SYMMETRIC: "i8"}
"""The storage of the data."""


class _Unsupported(Exception):
    """The reason for which an operation keeps float data."""


@dataclass(frozen=True)
class _Insertion(InsertionBuilder):
    """The insertion point of the operations that replace a contraction."""

    ROLE: ClassVar[str] = DYNAMIC_ROLE

    def add_constant(self, array: Array, element: Attribute) -> SSAValue:
        """Inserts a constant of elements of type `element`."""
        return self.append(ConstantOp.of(np.ascontiguousarray(array), TensorType(element, array.shape))).result


# Weights: stored integers that become factors of scale 1, and the scales of the sums.


def _stored_weights(value: SSAValue) -> ConstantOp | None:
    """Returns the constant integers of which a cast makes the float weights `value`, or `None`."""
    made = value.owner
    source = made.input.owner if isinstance(made, DequantizeCastOp) else None
    if not isinstance(source, ConstantOp) or constant_array(source.result) is None:
        return None
    return source if isinstance(element_of(source.result), UniformQuantizedType) else None


def _uniform(weights: ConstantOp) -> UniformQuantizedType:
    element = element_of(weights.result)
    assert isinstance(element, UniformQuantizedType)
    return element


def _of_scale_one(element: UniformQuantizedType, channels: int | None) -> UniformQuantizedType:
    """Returns the type with scale 1. Raises `_Unsupported` if a sum of the integers has no single scale."""
    if element.bits > 8:
        raise _Unsupported(f"its weights have {element.bits} bits, more than 8")
    if element.granularity is Granularity.BLOCK:
        raise _Unsupported("its weights have a scale for each block, but a sum of integers has only one")
    if element.granularity is Granularity.AXIS and element.axis != channels:
        raise _Unsupported(f"its weights have a scale per index of axis {element.axis}, not per output channel")
    limits, points = (element.storage_min, element.storage_max), element.zero_points
    if (points == points.flat[0]).all():
        return UniformQuantizedType.per_tensor(element.storage, f32, 1.0, int(points.flat[0]), limits)
    return UniformQuantizedType.per_axis(element.storage, f32, element.axis, np.ones(points.shape), points, limits)


def _factor(op: ContractionOp, weights: ConstantOp, largest: float) -> IntegerFactor:
    """Returns the weights of `op` as a factor. Raises `_Unsupported` if i32 might not hold sums of data up to
    `largest`."""
    channels, shape = op.quantization_slots().weight_channel_axis, shape_of(weights.result)
    element = _of_scale_one(_uniform(weights), channels)
    _, points = broadcast_parameters(element, shape)
    centered = np.abs(integers_of(weights.array, element.storage, is_unsigned=not element.is_signed) - points)
    summed = range(len(shape) - 2, len(shape)) if isinstance(op, MatMulOp) else range(len(shape))
    sums = centered.sum(axis=tuple(axis for axis in summed if axis != channels))
    if largest * int(sums.max(initial=0)) > products.LARGEST:
        raise _Unsupported("i32 cannot hold its sums")
    constant = ConstantOp.create(properties=weights.properties, result_types=[TensorType(element, shape)])
    set_origins(constant, origins_of(weights))
    constant.result.name_hint = weights.result.name_hint
    Rewriter.insert_op(constant, InsertPoint.before(op))
    return IntegerFactor(constant.result, element, known=weights.array)


# Operations


def _contract(op: ContractionOp, scope: str, scheme: str) -> bool:
    """Replaces a contraction with stored weights; returns whether it has any. Raises `_Unsupported`."""
    left, weights = (_stored_weights(value) for value in op.operands[:2])
    if (left is None and weights is None) or not is_f32(op.results[0]):
        return False
    data, shape = op.operands[0], shape_of(op.results[0])
    if weights is None or left is not None:
        raise _Unsupported("its weights are the left factor")
    if isinstance(op, MatMulOp) and min(len(shape_of(value)) for value in op.operands) < 2:
        raise _Unsupported("one of its factors is a vector")
    if isinstance(op, ConvTransposeOp) and scheme != SYMMETRIC:
        raise _Unsupported("a transposed convolution requires data without a zero point; help: pass --scheme symmetric")
    w = _factor(op, weights, STEPS[scheme])
    at = _Insertion(op, lambda made: Rewriter.insert_op(made, InsertPoint.before(op)))
    is_windowed = isinstance(op, WindowedContractionOp)
    axes = [-1] if scope == ROW and not is_windowed else None
    quantize = at.add(DynamicQuantizeOp, data, storage=_STORAGES[scheme], scheme=scheme, axes=axes)
    element = UniformQuantizedType.per_tensor(STORAGES[_STORAGES[scheme]], f32, 1.0)
    x = IntegerFactor(quantize.result, element, None if scheme == SYMMETRIC else quantize.zero_point)
    properties = {name: value for name, value in op.properties.items() if name != COMPONENTS}
    if is_windowed and x.zero_point is not None:
        x = products.padded(at, x, op.windows.pads)
        properties.pop("pads", None)
    integers = products.cast(at, x.value, i8)
    stored = at.append(StorageCastOp(integers, TensorType(element, shape_of(integers)))).result
    product = at.append(
        type(op).create(
            operands=[stored, w.value], result_types=[TensorType(products.SUM, shape)], properties=properties
        )
    )
    total = at.append(StorageCastOp(product.results[0], TensorType(i32, shape))).result
    scales = _uniform(weights).scales.astype(np.float32)
    bias = op.bias if isinstance(op, BiasedContractionOp) else None
    if is_windowed:
        total = products.corrected_conv(at, total, x, w)
        ones = (1,) * (len(shape) - 2)
        scales = (
            np.tile(scales, op.quantization_slots().channel_repeats).reshape(1, -1, *ones) if scales.ndim else scales
        )
        bias = None if bias is None else at.reshaped(bias, (1, *shape_of(bias), *ones))
    else:
        transpose_b = not isinstance(op, MatMulOp) or op.is_rhs_transposed
        total = products.corrected_matmul(at, total, x, w, transpose_b=transpose_b)
    result = products.scaled(at, total, quantize.scale, at.add_constant(scales, f32), bias)
    assert not isinstance(result.owner, Block)
    set_origins(result.owner, origins_of(op))
    set_tensor_names(result.owner, tensor_names(op))
    Rewriter.replace_op(op, (), [result])
    return True


def _layer(op: Layer, scheme: str) -> bool:
    """Replaces a recurrent layer with stored weights; returns whether it has any. Raises `_Unsupported`."""
    weights = {value: stored for value in (op.weight, op.recurrence) if (stored := _stored_weights(value)) is not None}
    if not weights:
        return False
    if not isinstance(op, LstmOp):
        raise _Unsupported(f"'{op.name}' does not support dynamically quantized data")
    if scheme != ASYMMETRIC:
        raise _Unsupported("the data of a whole layer is u8 with a zero point; help: pass --scheme asymmetric")
    operands = [weights[value].result if value in weights else value for value in op.operands]
    made = DynamicLstmOp.create(
        operands=operands, result_types=op.result_types, properties=dict(op.properties), attributes=dict(op.attributes)
    )
    try:
        made.verify_()
    except VerifyException as error:
        made.drop_all_references()
        raise _Unsupported(str(error)) from error
    Rewriter.replace_op(op, made)
    return True


@dataclass(frozen=True)
class NnQuantizeDynamically(ModulePass):
    """Quantizes the data of contractions at run time, if their weights are constants of at most 8 bits.

    The weights must be in the weight-only form: stored integers that `quant.dcast` converts to floats, with one scale
    per tensor or per output channel. `nn.dynamic_quantize` then quantizes the data, and the contraction computes exact
    i32 sums, which are corrected for the zero points of the data. The result is
    `f32(sum) * f32(data_scale * weight_scale)`, plus the bias, and each step is rounded to f32. This is the arithmetic
    of models that ONNX Runtime quantized dynamically.

    - `scope = row` quantizes each row of the data of a matmul or fully connected layer (each token) by its own range;
      `tensor` quantizes all rows by one range. The data of a convolution or of a whole LSTM (`nn.dynamic_lstm`) always
      has one range.
    - `scheme = asymmetric` quantizes data to u8 with a zero point, `symmetric` to i8 without one.

    Without `scope`, the pass replaces only the operations whose activations a recipe or an option made `dynamic`, which
    `quant-assign-types` has marked.

    An operation keeps float data, and a remark gives the reason, if its weights have several scales within one sum, if
    i32 cannot hold its sums, or if its form is not supported. Float weights that become unused are left to `dce`.

    Before (run with `scope=row`):

    ```mlir
    !w = !quant.uniform<i8:f32:0, {0.5, 0.25}>
    func.func @main(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
      %0 = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!w> {origin = "w"}
      %1 = quant.dcast %0 {origin = "w"} : tensor<2x3x!w> to tensor<2x3xf32>
      %2 = nn.matmul %x, %1 {transpose_b = true}
          : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32> {origin = "fc"}
      func.return %2 : tensor<4x2xf32>
    }
    ```

    After:

    ```mlir
    !w = !quant.uniform<i8:f32:0, {0.5, 0.25}>
    !ones = !quant.uniform<i8:f32, 1.0>
    !data = !quant.uniform<u8:f32, 1.0>
    !sum = !quant.uniform<i32:f32, 1.0>
    func.func @main(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
      %0 = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!w> {origin = "w"}
      %1 = quant.dcast %0 {origin = "w"} : tensor<2x3x!w> to tensor<2x3xf32>
      %2 = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!ones> {origin = "w"}
      %3, %4, %5 = nn.dynamic_quantize %x {axes = [-1]}
          : (tensor<4x3xf32>) -> (tensor<4x3xui8>, tensor<4x1xf32>, tensor<4x1xui8>) {origin = "fc", role = "dynamic"}
      %6 = nn.cast %3 : (tensor<4x3xui8>) -> tensor<4x3xi8> {origin = "fc", role = "dynamic"}
      %7 = quant.scast %6 {origin = "fc", role = "dynamic"} : tensor<4x3xi8> to tensor<4x3x!data>
      %8 = nn.matmul %7, %2 {transpose_b = true}
          : (tensor<4x3x!data>, tensor<2x3x!ones>) -> tensor<4x2x!sum> {origin = "fc", role = "dynamic"}
      %9 = quant.scast %8 {origin = "fc", role = "dynamic"} : tensor<4x2x!sum> to tensor<4x2xi32>
      %10 = nn.cast %5 : (tensor<4x1xui8>) -> tensor<4x1xi32> {origin = "fc", role = "dynamic"}
      %11 = nn.constant dense<[[6, 15]]> : tensor<1x2xi32> {origin = "fc", role = "dynamic"}
      %12 = nn.mul %10, %11 : (tensor<4x1xi32>, tensor<1x2xi32>) -> tensor<4x2xi32> {origin = "fc", role = "dynamic"}
      %13 = nn.sub %9, %12 : tensor<4x2xi32> {origin = "fc", role = "dynamic"}
      %14 = nn.constant dense<[0.5, 0.25]> : tensor<2xf32> {origin = "fc", role = "dynamic"}
      %15 = nn.mul %4, %14 : (tensor<4x1xf32>, tensor<2xf32>) -> tensor<4x2xf32> {origin = "fc", role = "dynamic"}
      %16 = nn.cast %13 : (tensor<4x2xi32>) -> tensor<4x2xf32> {origin = "fc", role = "dynamic"}
      %17 = nn.mul %16, %15 : tensor<4x2xf32> {origin = "fc"}
      func.return %17 : tensor<4x2xf32>
    }
    ```
    """

    name = "nn-quantize-dynamically"
    preserves: ClassVar[Preservation] = MEANING

    scope: str = ""
    scheme: str = ASYMMETRIC

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = {"scope": ("", ROW, TENSOR), "scheme": tuple(STEPS)}
        for name, names in known.items():
            if (given := getattr(self, name)) not in names:
                raise text_error(f"nn-quantize-dynamically: {unknown(name, given, filter(None, names))}")
        done, refused = 0, list[str]()
        for each in list(op.walk()):
            if (form := self._form(each)) is None:
                continue
            is_marked = each.attributes.pop(DYNAMIC_DATA, None) is not None
            try:
                if isinstance(each, ContractionOp):
                    done += _contract(each, *form)
                elif isinstance(each, Layer):
                    done += _layer(each, form[1])
            except _Unsupported as reason:
                emit_remark(each, f"keeps float data: {reason}")
                refused += [f"{describe(each)}: {reason}"] if is_marked else []
        if refused and not done:
            warn(f"dynamic activations have no effect, as all operations keep float data; the first is {refused[0]}")
        count("operations with dynamically quantized data", done)

    def _form(self, op: Operation) -> tuple[str, str] | None:
        """Returns the scope and the scheme of the data of `op`; `None` if it is not to be quantized."""
        marked = op.attributes.get(DYNAMIC_DATA)
        if isinstance(marked, ArrayAttr):
            scope, scheme = (cast(StringAttr, each).data for each in cast(ArrayAttr[Attribute], marked))
            return scope, scheme
        is_meant = self.scope and KEEP_FLOAT not in op.attributes and isinstance(op, ContractionOp | Layer)
        return (self.scope, self.scheme) if is_meant else None
