"""The models that benchmarks time, by name: architectures of the `onnx` package, and others that are put together here.

Nothing is trained: weights are random, always the same, and scaled so that activations keep about the size of the
input, as in trained networks. A builder takes nothing and gives an ONNX model with known sizes, batch 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from benchmarks.architectures import with_random_weights

Array = npt.NDArray[Any]

_OPSET, _IR_VERSION = 17, 8

_SEED = 1000
"""None that inputs are drawn from: a row of weights that is the input would give a sum like no other."""

_BIAS = 0.1
"""The standard deviation of biases."""

_RELU = 2.0
"""The gain of a layer behind a rectifier, which takes half of the mean square away: He et al. 2015, equation 10."""


@dataclass
class _Net:
    """A model under construction: each layer takes and gives names of tensors."""

    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(_SEED))
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    initializers: list[TensorProto] = field(default_factory=list[TensorProto])

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output, and the name of both."""
        name = f"{op_type.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name, **attributes))
        return name

    def constant(self, values: Any, dtype: npt.DTypeLike = np.float32) -> str:
        """An initializer."""
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def random(self, *shape: int, deviation: float, mean: float = 0.0) -> str:
        """A normally distributed initializer."""
        return self.constant(mean + deviation * self.generator.standard_normal(shape))

    def linear(self, value: str, inputs: int, outputs: int, gain: float = 1.0) -> str:
        """A Gemm of rows, as PyTorch exports its linear layer."""
        weight = self.random(outputs, inputs, deviation=np.sqrt(gain / inputs))
        return self.node("Gemm", value, weight, self.random(outputs, deviation=_BIAS), transB=1)

    def projection(self, value: str, inputs: int, outputs: int, gain: float = 1.0) -> str:
        """A linear layer of the last axis of any tensor: a MatMul and an Add."""
        weight = self.random(inputs, outputs, deviation=np.sqrt(gain / inputs))
        return self.node("Add", self.node("MatMul", value, weight), self.random(outputs, deviation=_BIAS))

    def convolution(
        self, value: str, inputs: int, outputs: int, size: int = 1, stride: int = 1, groups: int = 1, gain: float = 1.0
    ) -> str:
        """A Conv that keeps the size of the image, or divides it by the stride."""
        fan_in = inputs // groups * size * size
        weight = self.random(outputs, inputs // groups, size, size, deviation=np.sqrt(gain / fan_in))
        bias, pad = self.random(outputs, deviation=_BIAS), size // 2
        return self.node(
            "Conv", value, weight, bias,
            kernel_shape=[size, size], strides=[stride, stride], pads=[pad] * 4, group=groups,
        )  # fmt: skip

    def relu6(self, value: str) -> str:
        """Values cut off below 0 and above 6."""
        return self.node("Clip", value, self.constant(0), self.constant(6))

    def normalization(self, value: str, size: int) -> str:
        """A LayerNormalization of the last axis."""
        scale, bias = self.random(size, deviation=_BIAS, mean=1.0), self.random(size, deviation=_BIAS)
        return self.node("LayerNormalization", value, scale, bias, axis=-1, epsilon=1e-12)

    def gelu(self, value: str) -> str:
        """x (1 + erf(x / √2)) / 2, in the five nodes that exporters write before operator set 20."""
        error = self.node("Erf", self.node("Div", value, self.constant(np.sqrt(2))))
        product = self.node("Mul", value, self.node("Add", error, self.constant(1)))
        return self.node("Mul", product, self.constant(0.5))

    def model(self, name: str, taken: Sequence[int], given: Sequence[int]) -> ModelProto:
        """The model from `input`, of the shape `taken`, to what the last node gives."""
        (output,) = self.nodes[-1].output
        inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, taken)]
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, given)]
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)


def mlp(sizes: Sequence[int] = (784, 512, 256, 10), batch: int = 1) -> ModelProto:
    """A multilayer perceptron with rectifiers between its layers."""
    net, value = _Net(), "input"
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        value = net.linear(net.node("Relu", value) if place else value, inputs, outputs, _RELU if place else 1.0)
    return net.model("mlp", [batch, sizes[0]], [batch, sizes[-1]])


def convnet(batch: int = 1, size: int = 32, classes: int = 10) -> ModelProto:
    """A small plain network for images of 32x32: five 3x3 convolutions, two of them with stride 2."""
    net, value, channels = _Net(), "input", 3
    for place, (made, stride) in enumerate(((32, 1), (64, 2), (64, 1), (128, 2), (128, 1))):
        value = net.node("Relu", net.convolution(value, channels, made, 3, stride, gain=_RELU if place else 1.0))
        channels = made
    net.linear(net.node("Flatten", net.node("GlobalAveragePool", value)), channels, classes, _RELU)
    return net.model("convnet", [batch, 3, size, size], [batch, classes])


def lstm(sequence: int = 32, inputs: int = 64, hidden: int = 256, classes: int = 10) -> ModelProto:
    """An LSTM whose last state is classified; nodes as PyTorch exports them."""
    net = _Net()
    deviation = 1 / np.sqrt(3 * hidden)  # of what PyTorch draws: uniform in ±1/√hidden
    weights = (
        net.random(1, 4 * hidden, inputs, deviation=deviation),
        net.random(1, 4 * hidden, hidden, deviation=deviation),
        net.random(1, 8 * hidden, deviation=deviation),
    )
    states = net.node("LSTM", "input", *weights, hidden_size=hidden)
    steps = net.node("Squeeze", states, net.constant([1], np.int64))
    last = net.node("Gather", steps, net.constant(-1, np.int64), axis=0)
    net.linear(last, hidden, classes)
    return net.model("lstm", [sequence, 1, inputs], [1, classes])


MOBILENET_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Sandler et al. 2018, table 2: expansion, channels, repeats and first stride of the bottlenecks."""

_BRANCH = 0.25
"""The gain of what is added to a residual: sums of three stay below twice the size."""


def mobilenet_v2(classes: int = 1000) -> ModelProto:
    """MobileNetV2 for images of 224x224, its batch normalizations folded into the convolutions."""
    net = _Net()
    value, channels = net.relu6(net.convolution("input", 3, 32, 3, 2)), 32
    for expansion, made, repeats, first in MOBILENET_V2:
        for stride in (first, *[1] * (repeats - 1)):
            before, wide, is_residual = value, channels * expansion, stride == 1 and channels == made
            if expansion > 1:
                value = net.relu6(net.convolution(value, channels, wide, gain=_RELU))
            value = net.relu6(net.convolution(value, wide, wide, 3, stride, groups=wide, gain=_RELU))
            value = net.convolution(value, wide, made, gain=_BRANCH if is_residual else _RELU)
            value, channels = net.node("Add", before, value) if is_residual else value, made
    value = net.relu6(net.convolution(value, channels, 1280, gain=_RELU))
    net.linear(net.node("Flatten", net.node("GlobalAveragePool", value)), 1280, classes, _RELU)
    return net.model("mobilenetv2", [1, 3, 224, 224], [1, classes])


def _attention(net: _Net, value: str, sequence: int, width: int, heads: int) -> str:
    """Multi-head self-attention: softmax(Q Kᵀ / √size) V of each head, projected."""
    size = width // heads
    split = net.constant([1, sequence, heads, size], np.int64)

    def heads_of(perm: Sequence[int]) -> str:
        return net.node("Transpose", net.node("Reshape", net.projection(value, width, width), split), perm=perm)

    query, key, values = heads_of([0, 2, 1, 3]), heads_of([0, 2, 3, 1]), heads_of([0, 2, 1, 3])
    scores = net.node("Div", net.node("MatMul", query, key), net.constant(np.sqrt(size)))
    mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), values)
    joined = net.node("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = net.node("Reshape", joined, net.constant([1, sequence, width], np.int64))
    return net.projection(joined, width, width)


def encoder(layers: int = 6, width: int = 384, heads: int = 12, sequence: int = 64) -> ModelProto:
    """The encoder of a BERT, as large as MiniLM's where nothing else is said, from embedded tokens on."""
    net, value = _Net(), "input"
    for _ in range(layers):
        attended = net.node("Add", _attention(net, value, sequence, width, heads), value)
        value = net.normalization(attended, width)
        wide = net.gelu(net.projection(value, width, 4 * width))
        value = net.normalization(net.node("Add", net.projection(wide, 4 * width, width, _RELU), value), width)
    return net.model("encoder", [1, sequence, width], [1, sequence, width])


@dataclass(frozen=True)
class BenchModel:
    """A model that is timed."""

    build: Callable[[], ModelProto]
    peer_form: str = "u8s8"
    """How peers have it in int8, by name in `peers.quantizers.FORMS`: `dynamic` where that is what their users take."""


BENCH_MODELS: Mapping[str, BenchModel] = {
    "resnet50": BenchModel(partial(with_random_weights, "resnet50")),
    "mobilenetv2": BenchModel(mobilenet_v2),
    "squeezenet": BenchModel(partial(with_random_weights, "squeezenet")),
    "mlp": BenchModel(mlp),
    "lstm": BenchModel(lstm, "dynamic"),
    "encoder": BenchModel(encoder, "dynamic"),
}
"""The models by name."""
