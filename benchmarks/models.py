"""The models that benchmarks time, by name: architectures of the `onnx` package, and others that are put together here.

Nothing is trained: weights are random, always the same, and scaled so that activations keep about the size of the
input, as in trained networks. A builder takes nothing and gives an ONNX model with known sizes, batch 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from benchmarks.architectures import with_random_weights

Array = npt.NDArray[Any]

_OPSET, _IR_VERSION = 17, 8

_SEED = 1000
"""None that inputs are drawn from: a row of weights that is the input would give a sum like no other."""

_BIAS = 0.1
"""The standard deviation of biases."""

HEAD = 64
"""The width of a head of a decoder."""

_CACHES = ("key", "value")

_LARGE = 1 << 10
"""The bytes from which on a constant is external, where there is a file for it."""

_RELU = 2.0
"""The gain of a layer behind a rectifier, which takes half of the mean square away: He et al. 2015, equation 10."""


@dataclass
class _Net:
    """A model under construction: each layer takes and gives names of tensors."""

    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(_SEED))
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    initializers: list[TensorProto] = field(default_factory=list[TensorProto])
    inputs: list[ValueInfoProto] = field(default_factory=list[ValueInfoProto])
    outputs: list[ValueInfoProto] = field(default_factory=list[ValueInfoProto])
    external: BinaryIO | None = None
    """The file of large constants; without one, the model holds them."""

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output, and the name of both."""
        name = f"{op_type.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name, **attributes))
        return name

    def constant(self, values: Any, dtype: npt.DTypeLike = np.float32) -> str:
        """An initializer."""
        name, array = f"constant_{len(self.initializers)}", np.asarray(values, dtype)
        if self.external is None or array.nbytes < _LARGE:
            self.initializers.append(numpy_helper.from_array(array, name))
            return name
        tensor = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape)
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": Path(self.external.name).name, "offset": self.external.tell(), "length": array.nbytes}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self.external.write(array.tobytes())
        self.initializers.append(tensor)
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
        self.inputs.append(helper.make_tensor_value_info("input", TensorProto.FLOAT, taken))
        self.outputs.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, given))
        return self.whole(name)

    def whole(self, name: str) -> ModelProto:
        """The model of all inputs and outputs."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)


def mlp(sizes: Sequence[int] = (784, 512, 256, 10), batch: int = 1) -> ModelProto:
    """A multilayer perceptron with rectifiers between its layers."""
    net, value = _Net(), "input"
    for position, (inputs, outputs) in enumerate(pairwise(sizes)):
        value = net.linear(net.node("Relu", value) if position else value, inputs, outputs, _RELU if position else 1.0)
    return net.model("mlp", [batch, sizes[0]], [batch, sizes[-1]])


def convnet(batch: int = 1, size: int = 32, classes: int = 10) -> ModelProto:
    """A small plain network for images of 32x32: five 3x3 convolutions, two of them with stride 2."""
    net, value, channels = _Net(), "input", 3
    for position, (made, stride) in enumerate(((32, 1), (64, 2), (64, 1), (128, 2), (128, 1))):
        value = net.node("Relu", net.convolution(value, channels, made, 3, stride, gain=_RELU if position else 1.0))
        channels = made
    net.linear(net.node("Flatten", net.node("GlobalAveragePool", value)), channels, classes, _RELU)
    return net.model("convnet", [batch, 3, size, size], [batch, classes])


def residual(window: int = 3, stages: Sequence[int] = (16, 32, 64), size: int = 32, classes: int = 10) -> ModelProto:
    """A residual network of one block a stage, as ResNet-8 for CIFAR; windows of 1x1 leave its matrix products."""
    net, channels = _Net(), stages[0]
    value = net.node("Relu", net.convolution("input", 3, channels, window))
    for made in stages:
        stride = 1 if made == channels else 2
        inner = net.node("Relu", net.convolution(value, channels, made, window, stride, gain=_RELU))
        branch = net.convolution(inner, made, made, window, gain=_BRANCH)
        shortcut = value if made == channels else net.convolution(value, channels, made, 1, stride)
        value, channels = net.node("Relu", net.node("Add", branch, shortcut)), made
    net.linear(net.node("Flatten", net.node("GlobalAveragePool", value)), channels, classes, _RELU)
    return net.model("residual", [1, 3, size, size], [1, classes])


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


@dataclass(frozen=True)
class _Attention:
    """Multi-head attention of rows of this width: softmax(Q Kᵀ / √size) V of each head, projected."""

    width: int
    heads: int

    def of(self, net: _Net, query: str, key: str, value: str, rows: int, keys: int) -> str:
        """What so many `rows` of queries find in so many rows of keys and values."""
        size = self.width // self.heads
        lengths = dict.fromkeys((rows, keys))
        splits = {length: net.constant([1, length, self.heads, size], np.int64) for length in lengths}

        def heads_of(data: str, length: int, perm: Sequence[int]) -> str:
            projected = net.projection(data, self.width, self.width)
            return net.node("Transpose", net.node("Reshape", projected, splits[length]), perm=perm)

        queries, turned, values = (
            heads_of(query, rows, [0, 2, 1, 3]), heads_of(key, keys, [0, 2, 3, 1]), heads_of(value, keys, [0, 2, 1, 3])
        )  # fmt: skip
        scores = net.node("Div", net.node("MatMul", queries, turned), net.constant(np.sqrt(size)))
        mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), values)
        joined = net.node("Transpose", mixed, perm=[0, 2, 1, 3])
        joined = net.node("Reshape", joined, net.constant([1, rows, self.width], np.int64))
        return net.projection(joined, self.width, self.width)

    def pre_norm(self, net: _Net, value: str, rows: int) -> str:
        """A layer whose norms are before its branches, as in vision and speech."""
        normed = net.normalization(value, self.width)
        value = net.node("Add", value, self.of(net, normed, normed, normed, rows, rows))
        wide = net.gelu(net.projection(net.normalization(value, self.width), self.width, 4 * self.width))
        return net.node("Add", value, net.projection(wide, 4 * self.width, self.width, _RELU))

    def post_norm(self, net: _Net, value: str, attended: str, activation: Callable[[str], str]) -> str:
        """The rest of a layer whose norms are after its sums: of the first text encoders, and of detectors."""
        value = net.normalization(net.node("Add", attended, value), self.width)
        wide = activation(net.projection(value, self.width, 4 * self.width))
        return net.normalization(
            net.node("Add", net.projection(wide, 4 * self.width, self.width, _RELU), value), self.width
        )


def encoder(layers: int = 6, width: int = 384, heads: int = 12, sequence: int = 64) -> ModelProto:
    """The encoder of a BERT, as large as MiniLM's where nothing else is said, from embedded tokens on."""
    net, value, attention = _Net(), "input", _Attention(width, heads)
    for _ in range(layers):
        attended = attention.of(net, value, value, value, sequence, sequence)
        value = attention.post_norm(net, value, attended, net.gelu)
    return net.model("encoder", [1, sequence, width], [1, sequence, width])


def vision(layers: int = 2, width: int = 64, heads: int = 2, size: int = 64, patch: int = 8) -> ModelProto:
    """A vision transformer: patches by a convolution, a class token, positions, pre-norm layers, a classifier."""
    net, attention, patches = _Net(), _Attention(width, heads), (size // patch) ** 2
    kernel = net.random(width, 3, patch, patch, deviation=1 / (patch * np.sqrt(3)))
    image = net.node("Conv", "input", kernel, net.random(width, deviation=_BIAS), strides=[patch, patch])
    rows = net.node("Transpose", net.node("Reshape", image, net.constant([1, width, -1], np.int64)), perm=[0, 2, 1])
    value = net.node("Concat", net.random(1, 1, width, deviation=_BIAS), rows, axis=1)
    value = net.node("Add", value, net.random(1, patches + 1, width, deviation=_BIAS))
    for _ in range(layers):
        value = attention.pre_norm(net, value, patches + 1)
    first = net.node("Gather", net.normalization(value, width), net.constant(0, np.int64), axis=1)
    net.linear(first, width, 10)
    return net.model("vision", [1, 3, size, size], [1, 10])


def _waves(rows: int, width: int) -> Array:
    """Sines and cosines of positions, by frequencies from 1 down to 1/10000."""
    angles = np.arange(rows)[:, None] * 10000 ** (-np.arange(width // 2) / (width // 2 - 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


def speech(layers: int = 2, width: int = 64, heads: int = 2, frames: int = 300, bands: int = 40) -> ModelProto:
    """The encoder of speech as in Whisper: two convolutions over time, sinusoids, pre-norm layers, a norm."""
    net, value, attention, rows = _Net(), "input", _Attention(width, heads), frames // 2
    for inputs, stride in ((bands, 1), (width, 2)):
        kernel = net.random(width, inputs, 3, deviation=np.sqrt(_RELU / (3 * inputs)))
        bias = net.random(width, deviation=_BIAS)
        value = net.gelu(net.node("Conv", value, kernel, bias, strides=[stride], pads=[1, 1]))
    value = net.node("Add", net.node("Transpose", value, perm=[0, 2, 1]), net.constant(_waves(rows, width)))
    for _ in range(layers):
        value = attention.pre_norm(net, value, rows)
    net.normalization(value, width)
    return net.model("speech", [1, bands, frames], [1, rows, width])


def _positions(net: _Net, mask: str, axis: int, width: int) -> str:
    """Sines and cosines of how far along an axis of the mask something is, as DETR computes them of its padding."""
    last = [net.constant([each], np.int64) for each in (-1, 1 << 62, axis)]
    count = net.node("CumSum", mask, net.constant(axis, np.int64))
    share = net.node("Div", count, net.node("Add", net.node("Slice", count, *last), net.constant(1e-6)))
    angle = net.node("Mul", net.node("Unsqueeze", share, net.constant([3], np.int64)), net.constant(2 * np.pi))
    angles = net.node("Div", angle, net.constant(10000 ** (2 * np.arange(width // 2) / width)))
    return net.node("Concat", net.node("Sin", angles), net.node("Cos", angles), axis=3)


def detector(width: int = 64, heads: int = 2, size: int = 64, queries: int = 10) -> ModelProto:
    """A detector as DETR: convolutions with frozen batch norms, positions by a padding mask added to queries and keys,
    one layer of an encoder and one of a decoder, and boxes.
    """
    net, value, attention, rows = _Net(), "input", _Attention(width, heads), (size // 8) ** 2
    for inputs, outputs in pairwise((3, 16, 32, width)):
        value = net.convolution(value, inputs, outputs, 3, 2, gain=_RELU)
        scale = net.constant(net.generator.uniform(0.3, 3, (outputs, 1, 1)))
        value = net.node("Relu", net.node("Add", net.node("Mul", value, scale), net.random(outputs, 1, 1, deviation=1)))
    flat, shape = net.convolution(value, width, width), net.constant([1, -1, width], np.int64)
    value = net.node("Reshape", net.node("Transpose", flat, perm=[0, 2, 3, 1]), shape)
    mask = net.node("Cast", "mask", to=TensorProto.FLOAT)
    positions = net.node("Concat", *(_positions(net, mask, axis, width // 2) for axis in (1, 2)), axis=3)
    positions = net.node("Reshape", positions, shape)
    placed = net.node("Add", value, positions)
    value = attention.post_norm(
        net, value, attention.of(net, placed, placed, value, rows, rows), lambda wide: net.node("Relu", wide)
    )
    asked = net.random(1, queries, width, deviation=1)
    found = attention.of(net, asked, net.node("Add", value, positions), value, queries, rows)
    found = attention.post_norm(net, asked, found, lambda wide: net.node("Relu", wide))
    net.node("Sigmoid", net.projection(found, width, 4))
    model = net.model("detector", [1, 3, size, size], [1, queries, 4])
    model.graph.input.append(helper.make_tensor_value_info("mask", TensorProto.INT64, [1, size // 8, size // 8]))
    return model


@dataclass(frozen=True)
class Decoder:
    """A decoder of one token with a cache of keys and values: root mean square norms, gated layers, no biases."""

    layers: int
    width: int
    hidden: int
    vocabulary: int = 8000
    past: int = 64

    is_extended: bool = False
    """True if a call writes its row into the caches, at the indices `place`, instead of appending it."""

    @property
    def heads(self) -> int:
        """The number of heads."""
        return self.width // HEAD

    @property
    def parameters(self) -> int:
        """The number of weights, without those of norms."""
        layer = self.width * (4 * self.width + 3 * self.hidden)
        return self.layers * layer + 2 * self.vocabulary * self.width

    def write(self, path: Path) -> None:
        """Write the model, and its weights to a file beside it: they may be more than a model can hold."""
        with path.with_suffix(".data").open("wb") as external:
            model = self._model(_Net(external=external))
        path.write_bytes(model.SerializeToString())

    def model(self) -> ModelProto:
        """The model with its weights in it."""
        return self._model(_Net())

    def states(self) -> dict[str, str]:
        """The caches of an extended model, as `quantize` takes them."""
        names = [f"{name}_{layer}" for layer in range(self.layers) for name in _CACHES]
        return {f"past_{each}": f"present_{each}" for each in names}

    def sample(self, generator: np.random.Generator) -> dict[str, Array]:
        """Inputs of an extended model: a token that fills the last row of random caches."""
        place = [[[[0, head, self.past - 1]] for head in range(self.heads)]]
        shape = (1, self.heads, self.past, HEAD)
        caches = {each: generator.standard_normal(shape, np.float32) for each in self.states()}
        return {"token": generator.integers(0, self.vocabulary, (1, 1)), "place": np.array(place), **caches}

    def _model(self, net: _Net) -> ModelProto:
        if self.is_extended:
            net.inputs.append(helper.make_tensor_value_info("place", TensorProto.INT64, [1, self.heads, 1, 3]))
        net.inputs.append(helper.make_tensor_value_info("token", TensorProto.INT64, [1, 1]))
        value = net.node("Gather", net.random(self.vocabulary, self.width, deviation=1.0), "token")
        for number in range(self.layers):
            value = net.node("Add", value, self._attention(net, self._norm(net, value), number))
            normed = self._norm(net, value)
            gate = self._linear(net, normed, self.width, self.hidden)
            gated = net.node("Mul", net.node("Mul", gate, net.node("Sigmoid", gate)),
                             self._linear(net, normed, self.width, self.hidden))  # fmt: skip
            value = net.node("Add", value, self._linear(net, gated, self.hidden, self.width))
        logits = self._linear(net, self._norm(net, value), self.width, self.vocabulary)
        net.outputs.append(helper.make_tensor_value_info(logits, TensorProto.FLOAT, [1, 1, self.vocabulary]))
        return net.whole("decoder")

    @staticmethod
    def _linear(net: _Net, value: str, inputs: int, outputs: int) -> str:
        return net.node("MatMul", value, net.random(inputs, outputs, deviation=inputs**-0.5))

    def _norm(self, net: _Net, value: str) -> str:
        mean = net.node("ReduceMean", net.node("Mul", value, value), axes=[-1])
        root = net.node("Sqrt", net.node("Add", mean, net.constant(1e-5)))
        return net.node("Mul", net.node("Div", value, root), net.random(self.width, deviation=_BIAS, mean=1.0))

    def _attention(self, net: _Net, value: str, number: int) -> str:
        size, heads = HEAD, self.heads
        split = net.constant([1, 1, heads, size], np.int64)
        query, *others = (self._linear(net, value, self.width, self.width) for _ in range(3))
        query, *others = (
            net.node("Transpose", net.node("Reshape", each, split), perm=[0, 2, 1, 3]) for each in (query, *others)
        )
        for position, name in enumerate(_CACHES):
            before, after = f"past_{name}_{number}", f"present_{name}_{number}"
            net.inputs.append(helper.make_tensor_value_info(before, TensorProto.FLOAT, [1, heads, self.past, size]))
            if self.is_extended:
                net.nodes.append(helper.make_node("ScatterND", [before, "place", others[position]], [after], after))
                others[position] = after
            else:
                others[position] = net.node("Concat", before, others[position], axis=2)
            shape = [1, heads, self.past + (not self.is_extended), size]
            net.outputs.append(helper.make_tensor_value_info(others[position], TensorProto.FLOAT, shape))
        turned = net.node("Transpose", others[0], perm=[0, 1, 3, 2])
        scores = net.node("Mul", net.node("MatMul", query, turned), net.constant(size**-0.5))
        mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), others[1])
        joined = net.node(
            "Reshape", net.node("Transpose", mixed, perm=[0, 2, 1, 3]), net.constant([1, 1, self.width], np.int64)
        )
        return self._linear(net, joined, self.width, self.width)


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
