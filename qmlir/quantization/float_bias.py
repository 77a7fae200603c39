"""A float bias between casts: it becomes integers of the scale of the sums, so that the contraction can be fused.

Some quantizers put casts around data and weights only, and leave the bias as it was trained.
"""

from weakref import WeakSet

import numpy as np
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.quantization.casts import quantized_constant
from qmlir.quantization.fusion import dequantized_from, requested_type
from qmlir.quantization.retyping import is_float, may_be_quantized, slots_of
from qmlir.quantization.sums import addend_type, product_type


class QuantizeFloatBias(RewritePattern):
    """`qcast(f(dcast(x), dcast(w), bias)) -> qcast(f(dcast(x), dcast(w), dcast(integers)))` for a constant bias.

    The integers have the scale `s_x * s_w` of the sums of products, as a quantized bias has: each is off by half of it
    at most, which is as a rule a thousandth of a step of the result. Where it is more than half such a step, the result
    could change by several: `|rint(a + d) - rint(a)| <= 1` for `|d| <= 1/2` and the rounding of the floats beside it.
    Such a bias stays, as does one that 32 bits of that scale do not hold, and the operation with it: a remark says why.
    """

    def __init__(self) -> None:
        self._remarked = WeakSet[Operation]()  # a pattern sees an operation again whenever another one changed

    def _stays(self, op: Operation, reason: str) -> None:
        if op not in self._remarked:
            self._remarked.add(op)
            emit_remark(op, f"is not quantized, because its bias is not: {reason}")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not may_be_quantized(op) or not isinstance(op, Quantizable):
            return
        places = {slot: place for place, slot in slots_of(op).items()}
        if not {Slot.INPUT, Slot.WEIGHT, Slot.BIAS} <= set(places) or not op.results[0].uses:
            return
        bias = op.operands[places[Slot.BIAS]]
        array = constant_array(bias)
        if array is None or not is_float(bias):
            return
        sources = (dequantized_from(op.operands[places[slot]]) for slot in (Slot.INPUT, Slot.WEIGHT))
        data, weight = (None if source is None else element_type(source.type) for source in sources)
        if not isinstance(data, UniformQuantizedType) or not isinstance(weight, UniformQuantizedType):
            return
        result = requested_type(op.results[0])
        if result is None:
            return
        product = product_type(data, weight, 0, op.quantization_slots().channel_repeats)
        if product is None:
            return
        type_ = addend_type(array, product, array.ndim)
        if type_ is None:
            self._stays(op, "the bias does not fit i32 with the scale of the accumulator")
            return
        stored = quantized_constant(bias, type_)
        error, step = np.abs(stored.array * type_.scales - array.astype(np.float64)).max(initial=0), result.scales.min()
        if error > step / 2:
            self._stays(
                op,
                f"with the accumulator's scale {type_.scales.max():g} the bias would be off by {error:g}, more "
                f"than half a quantization step of the result ({step:g})",
            )
            return
        real = DequantizeCastOp(stored.result, bias.type)
        set_origins(real, origins_of(stored))
        rewriter.insert([stored, real])
        op.operands[places[Slot.BIAS]] = real.result
        rewriter.notify_op_modified(op)
