"""Constant weights that an operation dequantizes: the numbers and the scales of what it computes, and their bits."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qmlir.analysis.readings import computes_only
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.integers import integer_limits
from qmlir.arithmetic.small_floats import PlainFloat
from qmlir.dialects.kernel.lowering.lowering import constant_array
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.variants import Variant, variant_named
from qmlir.ir.builtin_types import as_integer
from qmlir.ir.evaluation import evaluate
from qmlir.text.elements import narrowed

FUSED = "splat_fma"
"""The loops of floats of processors that make floats of stored weights in a run.

Others, of portable C and of WebAssembly, have none that read them as they are: their programs hold f32, as a
microcontroller has more memory for constants than for what it computes.
"""

_WIDEST = 8
"""The bits of codes whose numbers are looked up."""

OF_BYTES = ("f32s8", "f32e4m3", "f32e5m2", "f32e3m4")
"""Variants whose loops make floats of weights that have a byte each, the fastest first."""

HOLDING = ("f32s2", "f32s4", "f32e2m1", *OF_BYTES)
"""All of them, the fewest bits first."""


@dataclass(frozen=True)
class HeldWeights:
    """Weights as the loops of a variant hold them: integers or codes, in int8, and scales that make up for it."""

    variant: Variant
    codes: Array
    scales: Array


@dataclass(frozen=True)
class DequantizedWeights:
    """Constant weights that are numbers in f32, integers less zero points or floats of few bits, times their scales.

    The scales are as many, or broadcast to them.
    """

    numbers: Array
    scales: Array

    def held(self, names: Sequence[str]) -> HeldWeights | None:
        """What the first of these variants reads that holds each number exactly, where one does."""
        return next(filter(None, (self._held_by(variant_named(name)) for name in names)), None)

    def _held_by(self, variant: Variant) -> HeldWeights | None:
        if variant.weight_float is not None:
            return self._as_floats(variant, variant.weight_float)
        assert variant.weight_bits is not None
        low, high = integer_limits(variant.weight_bits)
        if not (self.numbers.min() >= low and self.numbers.max() <= high):  # nor where there is NaN
            return None
        codes = self.numbers.astype(np.int8)
        is_exact = np.array_equal(codes, self.numbers) and not (np.signbit(self.numbers) & (codes == 0)).any()
        return HeldWeights(variant, codes, self.scales) if is_exact else None

    def _as_floats(self, variant: Variant, format_: PlainFloat) -> HeldWeights | None:
        found = format_.scaled_codes(self.numbers)
        if found is None:
            return None
        codes, power = found
        scales = np.ldexp(self.scales, power)
        is_exact = np.isfinite(scales).all() and np.array_equal(np.ldexp(scales, -power), self.scales)
        return HeldWeights(variant, codes, scales) if is_exact else None

    def reals(self) -> Array:
        """The weights themselves in f32, each rounded once."""
        with np.errstate(all="ignore"):  # infinities and NaN are weights, too
            return np.asarray(self.scales * self.numbers, np.float32)


def _constant(value: SSAValue) -> Array | None:
    return constant_array(value.owner) if isinstance(value.owner, Operation) else None


def read_elements(op: GenericOp, place: int) -> Array | None:
    """The elements of a constant input as `op` reads them for each element of its result; `None` for another input."""
    known, shape = _constant(op.inputs[place]), shaped(op.results[0])[0]
    dims = [each.position for each in op.indexing_maps.data[place].data.results if isinstance(each, AffineDimExpr)]
    if known is None or len(dims) != known.ndim or len({*dims}) != len(dims):
        return None
    sizes = [shape[axis] if axis in dims else 1 for axis in range(len(shape))]
    return np.broadcast_to(known.transpose(np.argsort(dims)).reshape(sizes), shape)


def elementwise_owner(value: SSAValue) -> GenericOp | None:
    """The operation that computes each element of `value` from one of each input, and nothing else, where one does."""
    op = value.owner
    if not isinstance(op, GenericOp) or len(op.results) != 1:
        return None
    is_parallel = all(kind.data is IteratorType.PARALLEL for kind in op.iterator_types)
    is_in_order = op.indexing_maps.data[-1].data == AffineMap.identity(len(op.iterator_types))
    return op if is_parallel and is_in_order else None


@dataclass(frozen=True)
class _Product:
    """The body `scale * number` of an operation: the scales as it reads them, and what computes the number."""

    scales: Array
    scale: SSAValue
    number: SSAValue

    def numbers(self, op: GenericOp) -> Array | None:
        """The numbers in f32, `None` where they are not of constants; bytes are looked up in a table of all codes."""
        block = op.body.block
        sources = [each for each in block.args[: len(op.inputs)] if each is not self.scale]
        arrays = [read_elements(op, each.index) for each in sources]
        known = [array for array in arrays if array is not None and array.size]
        element = as_integer(sources[0].type) if len(sources) == len(known) > 0 else None
        if element is None:
            return None
        if len(sources) > 1 or element.width.data > _WIDEST:
            return self._computed(block, dict(zip(sources, known, strict=True)))
        codes = np.arange(1 << element.width.data)
        table = self._computed(block, {sources[0]: narrowed(codes.astype(np.uint8).view(np.int8), element)})
        return None if table is None else table[known[0].astype(np.int64) & codes[-1]]

    def _computed(self, block: Block, values: dict[SSAValue, Any]) -> Array | None:
        """The numbers of what the sources are."""
        for op in block.ops:
            if self.number in values:
                break
            if isinstance(op, IndexOp) or not computes_only(op) or any(each not in values for each in op.operands):
                return None
            with np.errstate(all="ignore"):  # among all codes are some that no weight has
                results = evaluate(op, [values[each] for each in op.operands])
            if results is None:
                return None
            values.update(zip(op.results, results, strict=True))
        return np.asarray(values[self.number], np.float32) if self.number in values else None


def _product(op: GenericOp) -> _Product | None:
    block = op.body.block
    last = block.last_op
    product = last.operands[0].owner if last is not None else None
    if not isinstance(product, arith.MulfOp) or product.result.type != f32:
        return None
    for scale, number in itertools.permutations(product.operands):
        if isinstance(scale, BlockArgument) and scale.block is block and 0 < scale.index < len(op.inputs):
            scales = read_elements(op, scale.index)
        else:
            found = scale.owner.value if isinstance(scale.owner, arith.ConstantOp) else None
            is_one = isinstance(found, FloatAttr)
            scales = np.full(shaped(op.results[0])[0], found.value.data, np.float32) if is_one else None
        if scales is not None:
            return _Product(scales, scale, number)
    return None


def dequantized_weights(value: SSAValue) -> DequantizedWeights | None:
    """What `value` is dequantized from, where it is that."""
    op = elementwise_owner(value)
    product = None if op is None else _product(op)
    numbers = None if op is None or product is None else product.numbers(op)
    return None if product is None or numbers is None else DequantizedWeights(numbers, product.scales)


def alike(array: Array, axis: int) -> int:
    """How many neighbours along an axis are always alike, from the first one on: its size where all are."""
    size = array.shape[axis]
    moved = np.moveaxis(array, axis, 0).reshape(size, -1)
    changes = np.flatnonzero((moved[1:] != moved[:-1]).any(axis=1)) + 1
    return math.gcd(size, *changes.tolist())
