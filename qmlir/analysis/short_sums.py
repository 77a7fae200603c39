"""Whether sums of some products of bytes fit 16 bits: by the constant weights, in the order in which they are packed.

One instruction (`vpmaddubsw`) multiplies bytes without a sign by bytes with one and adds neighbours to 16 bits, where
it saturates. With `x` from 0 to 255 a sum is largest where `x` is 255 at every positive weight and 0 at every negative
one. So it never saturates, whatever `x` is, if the positive weights of each sum add up to at most 128 (255 * 128 is
32640) and the negative ones to at least -128. Of all 65,536 pairs of weights 75% are such. Of some steps that are added
before they are widened every partial sum fits, too: it has fewer weights.
"""

import numpy as np

from qmlir.analysis.contraction_ranges import known_weights
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.short_rounding import NEIGHBOURS, REACH
from qmlir.dialects.kernel.attributes import LayoutAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import product_weights, window_weights
from qmlir.dialects.kernel.variants import Variant, WeightLayout


def runs_of(op: ContractionOp) -> WeightLayout | None:
    """How the weights of `op` are packed, as far as no register decides; `None` where an algorithm changes them."""
    layout = LayoutAttr.of("u8s8_short", 1, 1)
    match op:
        case ConvOp():
            return window_weights(layout, op)
        case MatMulOp():
            *batches, channels, terms = shaped(op.w)[0]
            return product_weights(layout, int(np.prod(batches)), channels, terms)
        case _:
            return None


def largest_sums(weights: Array, group: int, steps: int) -> tuple[int, int]:
    """The smallest and the largest sum of the weights of one sign in 16 bits, of runs of terms `[…, run]`.

    A step has `group` terms, whose neighbours are one sum; `steps` steps are added, and what is left at the end of a
    run.
    """
    terms = weights.shape[-1]
    border = [(0, 0)] * (weights.ndim - 1) + [(0, -terms % (group * steps))]
    runs = np.pad(weights, border).astype(np.int16).reshape(-1, steps, group // NEIGHBOURS, NEIGHBOURS)
    low, high = (_added(limit(runs, 0)) for limit in (np.minimum, np.maximum))
    return int(low.min(initial=0)), int(high.max(initial=0))


def _added(runs: Array) -> Array:
    """The sums of neighbours of all steps, `[runs, neighbours]`: slices are faster than a sum over short axes."""
    pairs = runs[..., 0] + runs[..., 1]
    return sum((pairs[:, step] for step in range(1, pairs.shape[1])), pairs[:, 0])


def short_sums(op: ContractionOp, variant: Variant) -> tuple[int, int] | None:
    """The `largest_sums` of the constant weights of `op` in the steps of `variant`; `None` where there are none."""
    layout, known = runs_of(op), known_weights(op)
    if layout is None or known is None or layout.fault or not known.size:
        return None
    return largest_sums(known.reshape(layout.unpadded), variant.group, variant.short_steps)


def fit_short_sums(op: ContractionOp, variant: Variant) -> bool:
    """Whether 16 bits hold the sums of `short_steps` steps of `variant`, by constant weights."""
    found = short_sums(op, variant)
    return found is not None and found[0] >= -REACH and found[1] <= REACH
