"""What the device says of itself."""

from qmlir.target import Accepted, Support, Target

BYTES = Accepted(("i8",), ("symmetric_pow2",))
"""Activations: signed bytes around 0."""

WEIGHTS = Accepted(("i4",), ("symmetric_pow2",), ("channel", "tensor"))
PRODUCTS = Accepted(("i24",), ("symmetric_pow2",))
"""The sums of a correlation."""

BIAS = Accepted(("i16",), ("symmetric_pow2",))
BIASED = Accepted(("i16", "i24"), ("symmetric_pow2",))
"""What goes into and comes out of the addition of a bias."""

SUMS = Accepted(("i16", "i8"), ("symmetric_pow2",))
"""What a bias was added to, before it is limited."""

ONE_GROUP = {"groups": (1,)}

TARGET = Target(
    "fxp",
    summary="a fixed-point accelerator: bytes, weights of 4 bits, rescales by shifts",
    supports=(
        Support("fxp.conv_block", input=BYTES, weight=WEIGHTS, output=BYTES, properties=ONE_GROUP),
        Support("nn.conv", role="*correlation", input=BYTES, weight=WEIGHTS, accumulator=PRODUCTS, output=PRODUCTS,
                properties=ONE_GROUP),
        Support("nn.conv", input=BYTES, weight=WEIGHTS, output=SUMS, properties=ONE_GROUP),
        Support("nn.add", role="*sum", bias=BIAS, accumulator=BIASED, output=SUMS),
        Support("nn.add", role="*bias_add", bias=BIAS, accumulator=BIASED, output=SUMS),
        Support("nn.add", input=BYTES, accumulator=SUMS, output=BYTES),
        Support("nn.relu", input=SUMS, output=BYTES),
        Support("nn.clip", input=SUMS, output=BYTES),
    ),
    requantize=("shift:even",),
    raises=("fxp.*", "nn.conv"),
    parameters={"accumulator": 32},
    stages={"quantize.lower.before": "apply-pdl{named=fxp.blocks}"},
    lowering="convert-nn-to-fxp,canonicalize,cse,dce,verify-integer-only",
    emit="qmlir_fxp.emit:text_of",
    suffix=".fxp",
)  # fmt: skip
