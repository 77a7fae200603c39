"""Attention and rotary position embedding, composites on `[batch, heads, sequence, head size]`.

ONNX's operators also accept heads merged into the last axis, `[batch, sequence, heads * head size]`; the importer
reshapes these operands.
"""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, FloatAttr, IntegerAttr, StringAttr, TensorType, f32, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import ComponentwiseOp, Kind, NnOp, tensor_like, verify_precision
from qmlir.dialects.nn.elementwise.ops import broadcasts_to
from qmlir.dialects.nn.result_shapes import check_choice, check_shape, shape_text
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import MultipliesAndAdds, QuantizationSlots, Slot, volume

SCORES = ("raw", "capped", "biased", "softmax")
"""The stages at which an attention may return its `scores`, in ONNX's order: after the matrix product, the soft cap,
the mask, and the softmax."""


def _known(*sizes: int) -> int:
    """Returns the common size of `sizes`, which is static if one of them is."""
    return max(sizes)


@irdl_op_definition
class AttentionOp(ComponentwiseOp, MultipliesAndAdds):
    """Attention `softmax(cap(q k^T) + bias) v` for each head (ONNX Attention): result, present keys and values, scores.

    The operands are `q [B, Hq, S, D]`, `k [B, Hk, T, D]` and `v [B, Hk, T, Dv]`, where `Hk` divides `Hq`, and each head
    of `k` and `v` serves `Hq / Hk` consecutive heads of `q`. `q` and `k` are both multiplied by `sqrt(scale)`, by
    default the 4th root of `1 / D`. `past_key` and `past_value` precede `k` and `v` along the sequence. If `softcap` is
    not 0, `cap(x) = softcap * tanh(x / softcap)`.

    The bias is 0, or minus infinity if a key is masked. A key at position `t` is masked for a query at position `s`:

    - by an i1 `mask`, if its element is false; a float `mask` is the bias itself; keys after its end are masked
    - by `is_causal`, if `t > s + offset`
    - by `left_window` and `right_window`, unless `-1`, outside `s + offset - left_window <= t <= s + offset +
      right_window`
    - by `lengths`, if `t >= lengths[b]`

    The offset is the length of the past or, with `lengths`, `lengths[b] - S`. A query whose keys are all masked has
    zero probabilities and a zero result.
    """

    name = "nn.attention"
    RANKS: ClassVar[Mapping[str, int]] = dict.fromkeys(("query", "key", "value", "past_key", "past_value"), 4)

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    past_key = opt_operand_def(TensorType)
    past_value = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    result = result_def(TensorType)
    present_key = result_def(TensorType)
    present_value = result_def(TensorType)
    scores = result_def(TensorType)

    scale = opt_prop_def(FloatAttr)
    is_causal = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))
    left_window = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))
    right_window = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))
    softcap = opt_prop_def(FloatAttr, FloatAttr(0.0, f32))
    softmax_precision = opt_prop_def(Attribute)
    scores_are = opt_prop_def(StringAttr, StringAttr(SCORES[0]))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def score_scale(self, head_size: int) -> float:
        """Returns the factor of the products of queries and keys with `head_size` elements."""
        return 1 / math.sqrt(head_size or 1) if self.scale is None else self.scale.value.data

    @property
    def distances(self) -> tuple[Sequence[int], Sequence[int]]:
        """The maximum distances of visible keys before and after a query, from causality and windows."""
        left, right = self.left_window.value.data, self.right_window.value.data
        after = [0] if self.is_causal.value.data else []
        return [left] if left >= 0 else [], [right, *after] if right >= 0 else after

    def quantization_slots(self) -> QuantizationSlots:
        is_boolean = self.mask is not None and element_of(self.mask) == i1
        return QuantizationSlots({"lengths": None, "mask": None if is_boolean else Slot.INPUT})

    def verify_quantization(self) -> None:
        super().verify_quantization()
        for given, moved in ((self.key, self.present_key), (self.value, self.present_value)):
            if element_of(moved) != element_of(given):
                raise VerifyException(
                    f"present keys and values must have the type of the new ones: expected '{given.type}', but got "
                    f"'{moved.type}'"
                )

    def infer_result_types(self) -> Sequence[AnyTensor]:
        self._check_properties()
        query, key, value = (shape_of(operand) for operand in (self.query, self.key, self.value))
        if not len(query) == len(key) == len(value) == 4:
            found = ", ".join(str(operand.type) for operand in (self.query, self.key, self.value))
            raise VerifyException(
                f"query, key and value must have shape [batch, heads, sequence, head size], but got {found}"
            )
        batch, heads, head_size = _known(query[0], key[0], value[0]), query[1], _known(query[3], key[3])
        shared = _known(key[1], value[1])
        check_shape("query", self.query, (batch, heads, query[2], head_size))
        check_shape("key", self.key, (batch, shared, key[2], head_size))
        check_shape("value", self.value, (batch, shared, key[2], value[3]))
        if DYNAMIC_INDEX not in (heads, shared) and (shared == 0 or heads % shared):
            raise VerifyException(
                f"the number of query heads ({heads}) must be a multiple of the number of key heads ({shared})"
            )
        past = self._past_length(batch, shared, head_size, value[3])
        length = _known(key[2], value[2])
        total = DYNAMIC_INDEX if DYNAMIC_INDEX in (past, length) else past + length
        scores = (batch, heads, query[2], total)
        self._check_mask(scores)
        check_shape("lengths", self.lengths, (batch,))
        return [
            tensor_like(self.query, (batch, heads, query[2], value[3])),
            tensor_like(self.key, (batch, shared, total, head_size)),
            tensor_like(self.value, (batch, shared, total, value[3])),
            tensor_like(self.query, scores),
        ]

    def multiply_adds(self) -> int:
        """Returns the number of multiply-adds in `q k^T` and in the product of the scores with the values."""
        head_sizes = (_known(shape_of(self.query)[3], shape_of(self.key)[3]), shape_of(self.value)[3])
        return sum(volume((*shape_of(self.scores), size)) for size in head_sizes)

    def _check_properties(self) -> None:
        check_choice("scores_are", self.scores_are.data, SCORES)
        for name, window in (("left_window", self.left_window), ("right_window", self.right_window)):
            if window.value.data < -1:
                raise VerifyException(
                    f"{name} must be -1 (unlimited) or the number of keys, but got {window.value.data}"
                )
        if self.softmax_precision is not None:
            verify_precision(self.softmax_precision)
        if (self.past_key is None) != (self.past_value is None):
            raise VerifyException("past_key and past_value must be passed together")
        if self.past_key is not None and self.lengths is not None:
            raise VerifyException("expected either lengths or past_key and past_value, but got both")
        if self.lengths is not None and element_of(self.lengths) != i64:
            raise VerifyException(f"lengths must have elements of type i64, but got '{self.lengths.type}'")

    def _past_length(self, batch: int, heads: int, head_size: int, value_size: int) -> int:
        if self.past_key is None or self.past_value is None:
            return 0
        past, values = shape_of(self.past_key), shape_of(self.past_value)
        length = past[2] if len(past) == 4 else DYNAMIC_INDEX
        if length == DYNAMIC_INDEX and len(values) == 4:
            length = values[2]
        check_shape("past key", self.past_key, (batch, heads, length, head_size))
        check_shape("past value", self.past_value, (batch, heads, length, value_size))
        return length

    def _check_mask(self, scores: tuple[int, int, int, int]) -> None:
        if self.mask is None:
            return
        sizes = shape_of(self.mask)
        fits = 1 <= len(sizes) <= 4 and (DYNAMIC_INDEX in (sizes[-1], scores[-1]) or sizes[-1] <= scores[-1])
        if not fits or not broadcasts_to(sizes[:-1], scores[:-1]):
            raise VerifyException(
                f"mask must broadcast to {shape_text(scores)} (its last dimension may be smaller), but got "
                f"'{self.mask.type}'"
            )


@irdl_op_definition
class RotaryEmbeddingOp(NnOp):
    """Rotates pairs `(a, b)` of elements in each head by an angle that depends on their position (ONNX
    RotaryEmbedding).

    The result is `(cos * a - sin * b, sin * a + cos * b)` for the first `size` elements of each head, or for all
    elements if `size` is 0. `a` is the first half of these elements and `b` the second half; with `interleaved`, `a`
    has the elements at even indices and `b` those at odd indices. `cosines` and `sines` are
    `[batch, sequence, size / 2]`, or `[positions, size / 2]` if the operand `positions [batch, sequence]` is given.
    """

    name = "nn.rotary_embedding"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"positions": None})

    input = operand_def(TensorType)
    cosines = operand_def(TensorType)
    sines = operand_def(TensorType)
    positions = opt_operand_def(TensorType)
    result = result_def(TensorType)

    size = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))
    interleaved = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    def turned(self, head_size: int) -> int:
        """Returns the number of rotated elements in a head of size `head_size`."""
        return self.size.value.data or head_size

    def infer_result_types(self) -> Sequence[AnyTensor]:
        sizes = shape_of(self.input)
        if len(sizes) != 4:
            raise VerifyException(
                f"input must have shape [batch, heads, sequence, head size], but got '{self.input.type}'"
            )
        batch, _, sequence, head_size = sizes
        turned = self.turned(head_size)
        if turned != DYNAMIC_INDEX and (turned < 0 or turned % 2 or turned > head_size != DYNAMIC_INDEX):
            raise VerifyException(f"size must be even and at most the head size ({head_size}), but got {turned}")
        half = DYNAMIC_INDEX if turned == DYNAMIC_INDEX else turned // 2
        if self.positions is not None:
            if element_of(self.positions) != i64:
                raise VerifyException(f"positions must have elements of type i64, but got '{self.positions.type}'")
            check_shape("positions", self.positions, (batch, sequence))
        known = (batch, sequence, half) if self.positions is None else (DYNAMIC_INDEX, half)
        check_shape("cosines", self.cosines, known)
        check_shape("sines", self.sines, known)
        return [tensor_like(self.input, sizes)]
