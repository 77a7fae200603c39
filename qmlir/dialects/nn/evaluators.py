"""NumPy semantics of the `nn` operations: one table per family, from operation class to evaluator.

An evaluator takes the operation and its operands as arrays, and returns its results. Float, integer and boolean values
are held in arrays of the corresponding type (booleans as 0 and 1).

The rest of this text is the specification of the semantics on quantized values; `docs/arithmetic.md` explains it.

Stored integers `q` represent `s * (q - z)`; scales are taken as f32. Integers are exact: int64, or Python integers
if 64 bits are too few. BLAS computes sums only if a bound proves that every partial sum is exact.

To **requantize** an exact integer `a` of scale `s` to a result of scale `s_y` and zero point `z_y` means to compute
`saturate(rne(f32(a) * m) + z_y)` with `m = f32(s / s_y)`. The product is rounded to f32, ties to even, and the sum
saturates to the storage range of the result. If the operation's property `requantize` names another mode, the formulas
of `qmlir.arithmetic.requantization` apply instead. If `m` is 1, which is always the case if the scales are equal, `a`
stays unchanged. A 32-bit result with zero point 0 and `m` = 1 is an **accumulator**: it keeps exact integers, and
saturates like any other result. The modes with a multiplier take 32-bit integers, to which `a` first saturates.

1. **Movement**, max pool, maxima and minima along axes, selection: stored integers, unchanged. Padding never wins.
   **Slices by index** of a tensor in which each slice has its own parameters: `q - z`, requantized from the scale
   of the slice.
2. **Contractions**, including Einstein sums: `a = sum (q_x - z_x)(q_w - z_w)`, plus the integers of the bias;
   padding adds 0; requantized from `s = f32(s_x * s_w)`, per channel if the weights have per-channel scales.
   Weights in **blocks**: the scales differ inside the sum, so the accumulator is not an integer. Each block's sum `a_b`
   is exact; `t = f32(t + f32(f32(s_x * s_b) * f32(a_b)))` over the blocks in ascending (row-major) order from 0; the
   bias is dequantized and added last in f32; then the result is quantized, `rne(t / s_y) + z_y`.
3. **One scale**: relu, absolute value, negation, clip, sums along axes; sum, difference, minimum and maximum of two
   operands whose scales are equal, or are brought to one scale in an integer mode (`common_scale` in
   `qmlir.dialects.nn.requantize`): the operation on the integers `q - z`, then requantized. A clip clamps the
   requantized integer to its bounds, quantized to the type of the result.
   **Means**, including average pools: the exact sum, requantized with `m = f32(s / f32(s_y * f32(count)))`; the count
   is the operation's own divisor, per window.
4. **Products**: `(q_a - z_a)(q_b - z_b)`, requantized from `s = f32(s_a * s_b)`.
5. **Comparisons**, and indices of maxima and minima: on the real values, exactly.
6. **Normalizations of rows** of `n` elements: with `d = q - z`, `t = sum(d)` (0 for an RMS norm) and the integers `k`
   and `e` of `qmlir.arithmetic.row_norms`, `r = 2^(k / 2) / sqrt(2^k (n sum(d^2) - t^2) + e)` is the nearest f32, and
   `f32(f32(n d - t) * r)` the normalized element; times the scale, plus the bias, each in f32; then quantized.
7. **All other operations**, and those of 3 if the scales differ: each operand is dequantized as by `quant.dcast`, the
   operation runs in floats, and each result is quantized as by `quant.qcast`.
8. **Mode `qlinear`**: the steps of `qmlir.arithmetic.requantization`, instead of 1 to 7.
9. **Modes `litert_reference` and `litert_xnnpack`**: the formulas of `qmlir.arithmetic.litert`, instead of 3 and 7;
   those of 1, 2 and 4 apply with the multipliers of LiteRT's kernels.
"""

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.attention import evaluate as attention
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.components import with_components
from qmlir.dialects.nn.constant import evaluate as constant
from qmlir.dialects.nn.contraction import evaluate as contraction
from qmlir.dialects.nn.dynamic import evaluate as dynamic
from qmlir.dialects.nn.elementwise import evaluate as elementwise
from qmlir.dialects.nn.evaluation import is_quantized, through_float
from qmlir.dialects.nn.indexing import evaluate as indexing
from qmlir.dialects.nn.island import evaluate as island
from qmlir.dialects.nn.litert import evaluate as litert
from qmlir.dialects.nn.movement import evaluate as movement
from qmlir.dialects.nn.normalization import evaluate as normalization
from qmlir.dialects.nn.pooling import evaluate as pooling
from qmlir.dialects.nn.recurrent import evaluate as recurrent
from qmlir.dialects.nn.reduction import evaluate as reduction
from qmlir.dialects.nn.requantize import mode_of
from qmlir.dialects.nn.resizing import evaluate as resizing
from qmlir.dialects.nn.sequence import evaluate as sequence
from qmlir.dialects.nn.shapes import evaluate as shapes
from qmlir.dialects.nn.strings import evaluate as strings
from qmlir.dialects.nn.training import evaluate as training
from qmlir.dialects.nn.trees import evaluate as trees
from qmlir.ir.evaluation import ByOperation, Evaluator, RegionEvaluator, Results

_FAMILIES = (
    constant, elementwise, contraction, pooling, resizing, movement, normalization, training, attention,
    recurrent, dynamic, indexing, reduction, shapes, strings, trees,
)  # fmt: skip


QUANTIZED: dict[type[Operation], Callable[..., Results | None]] = {
    operation: evaluator
    for family in (contraction, elementwise, indexing, normalization, pooling, reduction)
    for operation, evaluator in family.QUANTIZED.items()
}
"""The evaluators of operations with integer arithmetic. They return `None` if the parameters do not permit it."""


BY_MODE: dict[Mode, dict[type[Operation], Callable[..., Results | None]]] = {
    Mode.QLINEAR: {**elementwise.QLINEAR, **normalization.QLINEAR, **pooling.QLINEAR},
    **litert.BY_MODE,
}
"""The evaluators of modes with formulas of their own. They return `None` if the general evaluator applies."""


def _first_of(exact: Callable[..., Results | None], otherwise: Evaluator) -> Evaluator:
    def evaluator(op: NnOp, *operands: Any) -> Results:
        results = exact(op, *operands)
        return otherwise(op, *operands) if results is None else results

    return evaluator


def _chosen(evaluator: Callable[..., Any], op: NnOp) -> Callable[..., Any]:
    chosen = evaluator.choose(op) if isinstance(evaluator, ByOperation) else evaluator
    assert not isinstance(chosen, RegionEvaluator)
    return chosen


def _by_elements(plain: Evaluator, exact: Callable[..., Results | None] | None) -> ByOperation:
    in_float = through_float(plain)

    def choose(op: NnOp) -> Evaluator:
        if not op.quantizes() and not any(is_quantized(value) for value in op.data_operands()):
            return plain
        own = BY_MODE.get(mode_of(op), {}).get(type(op))
        otherwise = plain if op.quantization_slots().shares_parameters else _chosen(in_float, op)
        for first in (exact, own):
            otherwise = otherwise if first is None else _first_of(_chosen(first, op), otherwise)
        return otherwise

    return ByOperation(choose)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Any, ...]]] = {
    **sequence.EVALUATORS,
    **island.EVALUATORS,
    **with_components(
        {
            operation: _by_elements(plain, QUANTIZED.get(operation))
            for family in _FAMILIES
            for operation, plain in family.EVALUATORS.items()
        }
    ),
}
