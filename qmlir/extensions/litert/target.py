"""The target `litert`: the operations and types of LiteRT's int8 kernels, which quantization follows."""

from qmlir.target import Accepted, Support, Target

_BYTES = Accepted(("i8",), ("asymmetric",))
_WEIGHTS = Accepted(("i8",), ("symmetric",), ("channel", "tensor"))
_SUMS = Accepted(("i32",), scales=("sum",))

_LAYERS = ("nn.conv", "nn.conv_transpose", "nn.fully_connected")
_FUNCTIONS = (
    "nn.add", "nn.sub", "nn.mul", "nn.matmul", "nn.relu", "nn.clip", "nn.sigmoid", "nn.tanh", "nn.gelu",
    "nn.leaky_relu", "nn.prelu", "nn.hard_swish", "nn.softmax", "nn.average_pool", "nn.global_average_pool",
    "nn.reduce_mean", "nn.resize",
)  # fmt: skip
_MOVEMENTS = (
    "nn.max_pool", "nn.reshape", "nn.squeeze", "nn.unsqueeze", "nn.transpose", "nn.concat", "nn.pad", "nn.slice",
    "nn.split", "nn.space_to_depth", "nn.depth_to_space", "nn.reduce_max", "nn.reduce_min",
)  # fmt: skip

LITERT = Target(
    "litert",
    summary="LiteRT's int8 reference kernels; emits a .tflite file",
    supports=(
        *(Support(name, input=_BYTES, weight=_WEIGHTS, bias=_SUMS, output=_BYTES) for name in _LAYERS),
        *(Support(name, input=_BYTES, weight=_BYTES, output=_BYTES) for name in _FUNCTIONS),
        *(Support(name) for name in _MOVEMENTS),
    ),
    keep=(
        "conv",
        "conv_transpose",
        "fully_connected",
        "softmax",
        "gelu",
        "hard_swish",
        "leaky_relu",
        "prelu",
        "global_average_pool",
    ),
    raises=("*",),
    requantize=("litert_reference",),
    emit="qmlir.extensions.litert.files:export_litert",
    suffix=".tflite",
)
