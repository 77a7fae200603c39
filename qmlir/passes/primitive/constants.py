"""Passes that prepare constants before types are chosen.

- `nn-fold-constants`: folds constant expressions.
- `nn-tie-embeddings`: makes matrix products with a transposed embedding table read the table itself.
- `quant-expand-floats`: converts constants stored as floats of at most 8 bits to types for computation.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, IntegerType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import FOLD_LIMIT, constant_array, fold
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import CastOp, MulOp, SubOp
from qmlir.dialects.nn.movement.ops import MovementOp, TransposeOp
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.dialects.quant.lower import same_integers
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import UniformFloatType, UniformQuantizedType
from qmlir.ir.builtin_types import as_integer, element_of, shape_of, tensor
from qmlir.ir.control_flow import has_uses
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import hand_on, origins_of, set_origins, with_origins_of
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.retyping import slots_of
from qmlir.quantization.stored_constants import stored_float, tables_of

# `nn-fold-constants`: constant expressions, and integers that are already quantized weights.

_MOST_BITS = 8
"""The widest integers that are treated as quantized weights."""


@dataclass(frozen=True)
class _Codes:
    """The stored integers of `(cast(codes) - zero_point) * scale`."""

    constant: ConstantOp
    storage: IntegerType
    zero_point: Array
    """The integer zero points, in a shape that broadcasts to the shape of the codes."""


def _cast_integers(value: SSAValue) -> tuple[ConstantOp, IntegerType] | None:
    """Returns the constant of small integers that is cast to f32, with its element type, or `None`."""
    cast = value.owner
    if not isinstance(cast, CastOp) or element_of(cast.result) != f32:
        return None
    constant, element = cast.input.owner, as_integer(element_of(cast.input))
    if element is None or not 1 < element.width.data <= _MOST_BITS or constant_array(cast.input) is None:
        return None
    assert isinstance(constant, ConstantOp)
    return constant, element


def _codes(value: SSAValue) -> _Codes | None:
    found = _cast_integers(value)
    if found is not None:
        return _Codes(*found, np.zeros((), np.int64))
    difference = value.owner
    if not isinstance(difference, SubOp):
        return None
    found, subtracted = _cast_integers(difference.lhs), _real_constant(difference.rhs)
    if found is None or subtracted is None or not (subtracted == np.rint(subtracted)).all():
        return None
    return _Codes(*found, subtracted.astype(np.int64))


def _real_constant(value: SSAValue) -> Array | None:
    """Returns the elements of a constant, which may be cast from integers, or `None`."""
    cast = value.owner
    return constant_array(cast.input if isinstance(cast, CastOp) and element_of(value) == f32 else value)


def _axis(shapes: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> int | None:
    """Returns the axis of `shape` along which parameters of these shapes vary; -1 if there is none.

    Returns `None` if they vary along several axes, or broadcast the codes.
    """
    if max(map(len, shapes)) > len(shape):
        return None
    sizes = {(at, size) for each in shapes for at, size in enumerate(each, len(shape) - len(each)) if size != 1}
    axes = {at for at, _ in sizes}
    is_along = len(axes) <= 1 and all(size == shape[at] for at, size in sizes)
    return next(iter(axes), -1) if is_along else None


def _quantized_type(codes: _Codes, scale: Array) -> UniformQuantizedType | None:
    """Returns the type of stored integers with this scale and zero point; `None` if there is none."""
    shape = tuple(shape_of(codes.constant.result))
    axis = _axis((scale.shape, codes.zero_point.shape), shape)
    if axis is None or not (np.isfinite(scale) & (scale > 0)).all():
        return None
    try:
        if axis < 0:
            numbers = float(scale.item()), int(codes.zero_point.item())
            return UniformQuantizedType.per_tensor(codes.storage, f32, *numbers)
        scales, points = (np.broadcast_to(each.ravel(), shape[axis]) for each in (scale, codes.zero_point))
        return UniformQuantizedType.per_axis(codes.storage, f32, axis, scales.astype(np.float64), points)
    except VerifyException:  # the zero point does not fit its integers
        return None


class KeepCodes(RewritePattern):
    """`(cast(codes) - zero_point) * scale -> dcast(constant)`: quantized weights keep their integers and scales.

    Both sides round only a product to f32, since differences between integers of at most 8 bits are exact.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter, /) -> None:
        for value, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            codes, scale = _codes(value), constant_array(factor)
            if codes is None or scale is None or element_of(op.result) != f32:
                continue
            element = _quantized_type(codes, scale)
            if element is None or tensor(op.result.type).get_shape() != shape_of(codes.constant.result):
                continue
            stored = ConstantOp.of(codes.constant.array, TensorType(element, shape_of(codes.constant.result)))
            rewriter.replace(op, [stored, DequantizeCastOp(stored.result, tensor(op.result.type))])
            count("constants that keep their integers")
            return


class FoldLargeConstants(RewritePattern):
    """`f(constants) -> constant` of any size, if the result has no more elements than all operands together.

    An operation that only moves a constant is folded only if other operations compute with the result, or read it as
    weights and nothing else reads the constant. Otherwise it is kept, because quantized types pass through it and
    several readers can share one constant.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, NnOp):
            return
        shapes = [tensor(operand.type).get_shape() for operand in op.operands]
        fold(op, max(FOLD_LIMIT, sum(prod(shape) for shape in shapes if DYNAMIC_INDEX not in shape)), rewriter)


def _foldable(module: ModuleOp) -> set[Operation]:
    """Returns the operations that compute on constants, and those that move a constant for such an operation."""
    known, found = list[NnOp](), set[Operation]()
    values = set[SSAValue]()
    for op in module.walk():
        if isinstance(op, ConstantOp):
            values.add(op.result)
        elif isinstance(op, NnOp) and op.operands and values.issuperset(op.operands):
            values.update(op.results)
            known.append(op)
    for op in reversed(known):
        users = {use.operation for result in op.results for use in result.uses}
        if not isinstance(op, MovementOp) or not found.isdisjoint(users) or _is_moved_weight(op):
            found.add(op)
    return found


def _is_moved_weight(op: NnOp) -> bool:
    """Returns True if only contractions read the result of `op`, as weights, and only `op` reads the constant."""
    uses = [use for result in op.results for use in result.uses]
    readers = ((use.operation, use.index) for use in uses)
    are_weights = all(isinstance(user, Quantizable) and slots_of(user).get(at) is Slot.WEIGHT for user, at in readers)
    return bool(uses) and are_weights and all(value.has_one_use() for value in op.operands)


@dataclass(frozen=True)
class NnFoldConstants(ModulePass):
    """Evaluates constant expressions of any size, so that weights are constants when types are chosen.

    Exporters write weights as expressions, such as a cast from f16, a division by a norm, or integers times a scale.
    Integers times a scale are already quantized: the integers are kept, and the scale becomes part of their type.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
      %codes = nn.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
      %scale = nn.constant dense<[[0.5, 0.25]]> : tensor<1x2xf32>
      %0 = nn.cast %codes : (tensor<2x2xi8>) -> tensor<2x2xf32>
      %1 = nn.mul %0, %scale : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
      %2 = nn.matmul %x, %1 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
      func.return %2 : tensor<1x2xf32>
    }
    ```

    After:

    ```mlir
    !w = !quant.uniform<i8:f32:1, {0.5, 0.25}>
    func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
      %codes = nn.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
      %0 = quant.dcast %codes : tensor<2x2x!w> to tensor<2x2xf32>
      %1 = nn.matmul %x, %0 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
      func.return %1 : tensor<1x2xf32>
    }
    ```
    """

    name = "nn-fold-constants"
    preserves: ClassVar[Preservation] = ROUNDED  # products of transposed weights sum in another order

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns_greedily(op, [KeepCodes()], ctx)
        apply_patterns_greedily(op, [FoldLargeConstants()], ctx, only=_foldable(op).__contains__)


# `nn-tie-embeddings`: two copies of an embedding table become one.


@dataclass(frozen=True)
class NnTieEmbeddings(ModulePass):
    """Makes a matrix product with the transpose of an embedding table read the table, with `transpose_b`.

    The output layer of a decoder often uses the transpose of its token table as weights. Exporters write these weights
    as a second constant, or as a transpose of the table. This pass restores the single tensor of the trained model, so
    that both uses also share a single quantized type. Small constants are left unchanged
    (`qmlir.quantization.stored_constants`).

    Before:

    ```mlir
    func.func @main(%tokens: tensor<?xi64>) -> tensor<?x4096xf32> {
      %table = nn.constant dense<0.5> : tensor<4096x4xf32>
      %0 = nn.gather %table, %tokens : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
      %head = nn.constant dense<0.5> : tensor<4x4096xf32>
      %1 = nn.matmul %0, %head : (tensor<?x4xf32>, tensor<4x4096xf32>) -> tensor<?x4096xf32>
      func.return %1 : tensor<?x4096xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%tokens: tensor<?xi64>) -> tensor<?x4096xf32> {
      %table = nn.constant dense<0.5> : tensor<4096x4xf32>
      %0 = nn.gather %table, %tokens : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
      %1 = nn.matmul %0, %table {transpose_b = true}
          : (tensor<?x4xf32>, tensor<4096x4xf32>) -> tensor<?x4096xf32>
      func.return %1 : tensor<?x4096xf32>
    }
    ```
    """

    name = "nn-tie-embeddings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            for table in list(tables_of(function)):
                for product in list(_products_with(function, table)):
                    _share(product, table)


def _products_with(function: FuncOp, table: SSAValue) -> Iterator[MatMulOp]:
    """Yields the matrix products with the transpose of `table` in its block."""
    array = constant_array(table)
    assert array is not None
    for op in function.walk():
        if isinstance(op, MatMulOp) and not op.is_rhs_transposed and op.parent is table.owner.parent:
            made, own = op.rhs.owner, constant_array(op.rhs)
            is_transpose = isinstance(made, TransposeOp) and made.input is table and made.order == (1, 0)
            if is_transpose or (own is not None and _is_same(own, array.T)):
                yield op


def _is_same(array: Array, other: Array) -> bool:
    """Returns True if two arrays are bit-identical, including signs of zeros."""
    if array.shape != other.shape or array.dtype != other.dtype:
        return False
    bits = np.dtype(f"u{array.itemsize}")
    return bool((array.view(bits) == other.view(bits)).all())


def _share(product: MatMulOp, table: SSAValue) -> None:
    old, owner = product.rhs.owner, table.owner
    assert isinstance(old, Operation)
    assert isinstance(owner, Operation)
    if not owner.is_before_in_block(product):
        block = product.parent
        assert block is not None
        owner.detach()
        Rewriter.insert_op(owner, InsertPoint.at_start(block))
    product.operands[1] = table
    product.transpose_b = BoolAttr.from_bool(True)
    hand_on((old,), owner)
    if not has_uses(old):
        Rewriter.erase_op(old)
    count("tables shared")


# `quant-expand-floats`: low-precision floats become integers, or floats for computation.


@dataclass(frozen=True)
class QuantExpandFloats(ModulePass):
    """Converts dequantized constants that are stored as floats of at most 8 bits to a type for computation.

    Values of f4E2M1FN are integers from -12 to 12 with half the scale, and values of f6E2M3FN are integers from -60 to
    60 with an eighth of the scale. Such constants, including the blocks of MX formats, become these integers, so that
    contractions with them are exact. Constants in other formats become floats, which are requantized later; with
    `integers_only`, they are left unchanged. No value changes, except for the sign of 0.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %w = nn.constant dense<[[0.5, 6.0], [-1.5, -4.0]]> : tensor<2x2xf4E2M1FN>
          -> tensor<2x2x!quant.uniform<f4E2M1FN:f32:0, {1.0, 0.5}>>
      %0 = quant.dcast %w : tensor<2x2x!quant.uniform<f4E2M1FN:f32:0, {1.0, 0.5}>> to tensor<2x2xf32>
      %1 = nn.matmul %x, %0 : tensor<2x2xf32> {origin = "fc"}
      func.return %1 : tensor<2x2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %w = nn.constant dense<[[1, 12], [-3, -8]]> : tensor<2x2xi5>
          -> tensor<2x2x!quant.uniform<i5<-12:12>:f32:0, {0.5, 0.25}>>
      %0 = quant.dcast %w : tensor<2x2x!quant.uniform<i5<-12:12>:f32:0, {0.5, 0.25}>> to tensor<2x2xf32>
      %1 = nn.matmul %x, %0 : tensor<2x2xf32> {origin = "fc"}
      func.return %1 : tensor<2x2xf32>
    }
    ```
    """

    name = "quant-expand-floats"
    preserves: ClassVar[Preservation] = ROUNDED

    integers_only: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            floats = Counter[str]()
            for cast in list(function.walk()):
                type_ = stored_float(cast)
                if type_ is not None and isinstance(cast, DequantizeCastOp):
                    self._expand(cast, type_, floats)
            for format_, number in sorted(floats.items()):
                are = "constants that are" if number > 1 else "constant that is"
                emit_remark(function, f"has {number} {are} stored as {format_}; requantizing as f32")

    def _expand(self, cast: DequantizeCastOp, type_: UniformFloatType, floats: Counter[str]) -> None:
        """Replaces `cast` by integers or floats; `floats` counts the latter by stored format."""
        constant = cast.input.owner
        assert isinstance(constant, ConstantOp)
        found, shape = same_integers(type_), shape_of(cast.input)
        if found is not None:
            integers = np.ldexp(constant.array.astype(np.float64), found[1]).astype(np.int8)
            held = ConstantOp.of(integers, TensorType(found[0], shape))
            made = [held, with_origins_of(cast, DequantizeCastOp(held.result, cast.result.type))]
        elif not self.integers_only:
            made = [ConstantOp.of(dequantize(constant.array, type_), TensorType(type_.expressed_type, shape))]
            floats[str(type_.storage)] += 1
        else:
            return
        set_origins(made[0], origins_of(constant))
        made[0].results[0].name_hint = constant.result.name_hint
        count("constants")
        Rewriter.replace_op(cast, made, [made[-1].results[0]])
        if not constant.result.uses:
            Rewriter.erase_op(constant)
