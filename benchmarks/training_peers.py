"""What training gains in peers: `python -m benchmarks.training_peers model.onnx images.npz`; extra `referees`.

The ResNet-8 of `benchmarks.training` begins with the weights of the same ONNX file, and is trained on the same images
in the same order, mirrored and shifted in the same way: as many epochs and steps, Adam, the cross entropy and the
divergence from the float model in the same shares. The best epoch by the same held-out images is judged on `x_test`.
What is quantized is the same, too: weights per channel, the image, every result that a layer or a sum reads, and the
scores, with 8 bits. All peers begin with the ranges of 512 images. Their accuracy is that of what they simulate.

- brevitas: its quantizers per channel and per tensor. Scales are parameters, which begin with percentiles of
  activations and the largest weight of a channel, or with at most 4 bits where weights have the least squared error
  (its `MSE` quantizers; by the largest weight, 2 bits stay at chance). By powers of two they are rounded up to one.
- esp-ppq: the passes and the quantizer of its sample for training, with other bits and zero points for activations, and
  the delegates of its passes LSQ and TQT (by powers of two), which learn scales. Biases stay floats.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from onnx import load_model_from_string, numpy_helper

from benchmarks.rows import BenchRow, add_output, print_rows
from benchmarks.training import accuracy, ready, varied
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.training.finetuning import CALIBRATION, NARROW, NARROW_RATE, RATE
from qmlir.extensions.training.optimizers import cosine_share
from qmlir.extensions.training.samples import parted

SETTINGS: Mapping[str, tuple[int, int, bool]] = {
    "W8A8, powers of two": (8, 8, True),
    "W4A8": (4, 8, False),
    "W4A4": (4, 4, False),
    "W2A4": (2, 4, False),
}
"""Bits of weights and of activations, and whether scales are powers of two."""


class FloatLayers:
    """The layers of the float model, and its quantizers, which change nothing."""

    def __init__(self, nn: Any) -> None:
        self.nn = nn

    def conv(self, *sizes: int) -> Any:
        """A convolution of these channels, kernel, stride and padding."""
        return self.nn.Conv2d(*sizes)

    def linear(self, *sizes: int) -> Any:
        """The layer of the scores."""
        return self.nn.Linear(*sizes)

    def relu(self) -> Any:
        """A relu, and what rounds its result."""
        return self.nn.ReLU()

    def rounded(self, *, is_score: bool = False) -> Any:
        """What rounds a value of either sign."""
        return self.nn.Identity()


class BrevitasLayers(FloatLayers):
    """Layers of brevitas by its standard quantizers, of so many bits."""

    def __init__(self, nn: Any, weights: int, activations: int, is_power: bool) -> None:
        super().__init__(nn)
        self._layers: Any = import_module("brevitas.nn")
        kind = "FixedPoint" if is_power else "Float"
        fixed, scaled, shifted = (
            import_module(f"brevitas.quant.{name}") for name in ("fixed_point", "scaled_int", "shifted_scaled_int")
        )
        self._bias = scaled.Int32Bias
        known = fixed if is_power else scaled
        self._weight = getattr(known, f"Int8WeightPerChannel{kind}{'MSE' if weights <= NARROW else ''}")
        self._unsigned = getattr(known, f"Uint8ActPerTensor{kind}")
        self._signed = getattr(known, f"Int8ActPerTensor{kind}")
        self._shifted = self._signed if is_power else shifted.ShiftedUint8ActPerTensorFloat
        self._bits = (weights, activations)

    def _layer(self, kind: Any, sizes: tuple[int, ...]) -> Any:
        return kind(
            *sizes, bias=True, weight_quant=self._weight, weight_bit_width=self._bits[0], bias_quant=self._bias,
            weight_scaling_impl_type="parameter_from_stats", weight_narrow_range=False,
        )  # fmt: skip

    def conv(self, *sizes: int) -> Any:
        """A convolution with quantized weights, and a bias of 32 bits."""
        return self._layer(self._layers.QuantConv2d, sizes)

    def linear(self, *sizes: int) -> Any:
        """The layer of the scores, in the same way."""
        return self._layer(self._layers.QuantLinear, sizes)

    def relu(self) -> Any:
        """A relu with unsigned integers."""
        return self._layers.QuantReLU(act_quant=self._unsigned, bit_width=self._bits[1], return_quant_tensor=True)

    def rounded(self, *, is_score: bool = False) -> Any:
        """Integers with a zero point; scores have 8 bits, and leave as floats."""
        if is_score:
            return self._layers.QuantIdentity(act_quant=self._signed, bit_width=8)
        return self._layers.QuantIdentity(act_quant=self._shifted, bit_width=self._bits[1], return_quant_tensor=True)


def resnet8(layers: FloatLayers) -> Any:
    """The network of the ONNX file; layers in the order of its nodes, so that weights find their places."""
    nn = layers.nn

    def real(value: Any) -> Any:
        return getattr(value, "value", value)

    class Block(nn.Module):  # pyright: ignore[reportUntypedBaseClass]
        def __init__(self, of: int, to: int, stride: int) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.first, self.between = layers.conv(of, to, 3, stride, 1), layers.relu()
            self.second, self.rounded = layers.conv(to, to, 3, 1, 1), layers.rounded()
            self.beside = layers.conv(of, to, 1, stride) if stride > 1 else None
            self.beside_rounded = layers.rounded() if stride > 1 else None
            self.end = layers.relu()

        def forward(self, x: Any) -> Any:
            y = self.rounded(self.second(self.between(self.first(x))))
            if self.beside is not None and self.beside_rounded is not None:
                x = self.beside_rounded(self.beside(x))
            return self.end(real(y) + real(x))

    class Net(nn.Module):  # pyright: ignore[reportUntypedBaseClass]
        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
            self.body = nn.Sequential(layers.rounded(), layers.conv(3, 16, 3, 1, 1), layers.relu(), *blocks)
            self.pooled, self.last, self.scores = layers.rounded(), layers.linear(64, 10), layers.rounded(is_score=True)

        def forward(self, x: Any) -> Any:
            return real(self.scores(self.last(self.pooled(real(self.body(x)).mean((2, 3))))))

    return Net()


def weights_of(path: Path) -> list[tuple[Array, Array]]:
    """The weight and the bias of each layer, in the order of the nodes."""
    graph = load_model_from_string(path.read_bytes()).graph
    known = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    return [(known[node.input[1]], known[node.input[2]]) for node in graph.node if node.op_type in ("Conv", "Gemm")]


def fill(torch: Any, net: Any, weights: list[tuple[Array, Array]]) -> Any:
    """Give the layers of `net` their weights and biases."""
    layers = [each for each in net.modules() if isinstance(each, torch.nn.Conv2d | torch.nn.Linear)]
    with torch.no_grad():
        for layer, (weight, bias) in zip(layers, weights, strict=True):
            layer.weight.copy_(torch.from_numpy(weight.copy()))
            layer.bias.copy_(torch.from_numpy(bias.copy()))
    return net


@dataclass(frozen=True)
class Data:
    """Images and classes, and the places of those that train and that are held out."""

    images: Array
    classes: Array
    training: Array
    held: Array


@dataclass(frozen=True)
class Student:
    """A quantized network in training."""

    scores: Callable[[Any], Any]
    """Of a batch, with gradients."""

    learned: Sequence[Any]
    kept: Sequence[Any]
    """All that an epoch changes."""

    mode: Callable[[bool], object] = bool
    """Tell it whether it trains."""


def of_brevitas(torch: Any, path: Path, setting: str, images: Iterable[Any]) -> Student:
    """The network of brevitas, with the ranges of `images`."""
    net = fill(torch, resnet8(BrevitasLayers(torch.nn, *SETTINGS[setting])), weights_of(path))
    with torch.no_grad(), import_module("brevitas.graph.calibrate").calibration_mode(net):
        for each in images:
            net(each)
    return Student(net, list(net.parameters()), [*net.parameters(), *net.buffers()], net.train)


def of_esp_ppq(torch: Any, path: Path, setting: str, images: Sequence[Any]) -> Student:
    """The graph of esp-ppq, quantized by its passes, and its delegates, which learn scales."""
    weights, activations, is_power = SETTINGS[setting]
    core, api, passes, quantizers, algorithm = (
        import_module(f"esp_ppq.{name}")
        for name in ("core", "api", "quantization.optim", "quantization.quantizer", "quantization.algorithm.training")
    )
    kinds = core.QuantizationProperty

    def set_grid(config: Any, bits: int, *, is_weight: bool = False) -> None:
        is_shifted = not (is_weight or is_power)
        low = 0 if is_shifted else -(2 ** (bits - 1))
        config.num_of_bits, config.quant_min, config.quant_max = bits, low, low + 2**bits - 1
        policy = kinds.ASYMMETRICAL if is_shifted else kinds.SYMMETRICAL
        policy += kinds.LINEAR + (kinds.PER_CHANNEL if is_weight else kinds.PER_TENSOR)
        config.policy = core.QuantizationPolicy(policy + (kinds.POWER_OF_2 if is_power else 0))

    graph: Any = api.load_onnx_graph(str(path))
    quantizer: Any = quantizers.TensorRTQuantizer(graph)
    for name, type_ in [(op.name, op.type) for op in graph.operations.values()]:
        quantizer.quantize_operation(op_name=name, platform=quantizer.target_platform)
        configs = graph.operations[name].config
        for each in configs.input_quantization_config:
            is_weight = each.policy.has_property(kinds.PER_CHANNEL)
            set_grid(each, weights if is_weight else activations, is_weight=is_weight)
        for each in configs.output_quantization_config:
            set_grid(each, 8 if type_ == "Gemm" else activations)
    executor = import_module("esp_ppq.executor").TorchExecutor(graph=graph, device="cpu")
    executor.tracing_operation_meta(inputs=images[0])
    import_module("esp_ppq.lib").Pipeline(
        [
            passes.QuantizeSimplifyPass(),
            passes.QuantizeFusionPass(activation_type=quantizer.activation_fusion_types),
            passes.ParameterQuantizePass(),
            passes.RuntimeCalibrationPass(),
        ]
    ).optimize(calib_steps=len(images), collate_fn=None, graph=graph, dataloader=images, executor=executor)
    delegate = algorithm.TQTDelegator if is_power else algorithm.LSQDelegator
    learned: dict[int, Any] = {}
    for op in graph.operations.values():
        for config, variable in getattr(op, "config_with_variable", ()):
            if config.state == core.QuantizationStates.ACTIVATED:
                found = delegate(config=config, var=variable)
                executor.register_quantize_delegate(config=config, delegator=found)
                if found.is_scale_trainable:
                    scale = found.log2_scale if is_power else config.scale
                    learned[id(scale)] = scale
        if op.type in ("Conv", "Gemm"):
            learned |= {id(each.value): each.value for each in op.inputs if each.is_parameter}
    tensors = [each.requires_grad_(True) for each in learned.values()]
    return Student(lambda batch: executor.forward_with_gradient(batch)[0], tensors, tensors)


PEERS = {"brevitas": of_brevitas, "esp-ppq": of_esp_ppq}


def train(
    torch: Any, student: Student, teacher: Any, data: Data, rate: float, arguments: argparse.Namespace
) -> Iterator[float]:
    """Train as `qmlir.finetune` does, and leave what there was in the best epoch: its accuracies on held-out images by
    epoch."""
    functional, optimizer = torch.nn.functional, torch.optim.Adam(student.learned, rate)
    steps, best, kept = len(data.training) // arguments.batch, -1.0, list[Any]()
    for epoch in range(arguments.epochs):
        random = np.random.default_rng([0, epoch])
        order = random.permutation(data.training)
        student.mode(True)
        for position in range(steps):
            chosen = order[position * arguments.batch :][: arguments.batch]
            x = torch.from_numpy(varied({"image": data.images[chosen]}, random)["image"])
            with torch.no_grad():
                wanted = functional.softmax(teacher(x) / arguments.temperature, 1)
            scores = student.scores(x)
            own = functional.cross_entropy(scores, torch.from_numpy(data.classes[chosen]))
            log = functional.log_softmax(scores / arguments.temperature, 1)
            taught = functional.kl_div(log, wanted, reduction="batchmean") * arguments.temperature**2
            share = cosine_share((epoch * steps + position) / (arguments.epochs * steps), arguments.warmup)
            for group in optimizer.param_groups:
                group["lr"] = share * rate
            optimizer.zero_grad()
            ((1 - arguments.distill) * own + arguments.distill * taught).backward()
            optimizer.step()
        student.mode(False)
        positions = [data.held[at : at + arguments.batch] for at in range(0, len(data.held), arguments.batch)]
        scores_of = arrays(torch, student.scores)
        right = [scores_of(data.images[each]).argmax(1) == data.classes[each] for each in positions]
        found = float(np.concatenate(right).mean())
        if found > best:
            best, kept = found, [each.detach().clone() for each in student.kept]
        yield found
    with torch.no_grad():
        for each, array in zip(student.kept, kept, strict=True):
            each.copy_(array)


def arrays(torch: Any, scores: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """A function of tensors as one of arrays."""

    def of_arrays(images: Array) -> Array:
        with torch.no_grad():
            return scores(torch.from_numpy(images)).numpy()

    return of_arrays


def _rows(arguments: argparse.Namespace) -> Iterator[BenchRow]:
    torch: Any = import_module("torch")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    archive = dict(np.load(arguments.images))
    images, classes = (np.concatenate([archive[f"{kind}_train"], archive[f"{kind}_valid"]]) for kind in "xy")
    share = len(archive["x_valid"]) / len(images)
    data = Data(ready(images), classes.astype(np.int64), *parted(len(images), share, arguments.batch, 0)[1:])
    teacher = fill(torch, resnet8(FloatLayers(torch.nn)), weights_of(arguments.model)).eval()
    first = [torch.from_numpy(data.images[data.training[at : at + 64]]) for at in range(0, CALIBRATION, 64)]

    def judged(scores: Callable[[Any], Any]) -> float:
        return accuracy(arrays(torch, scores), arguments.batch, archive["x_test"], archive["y_test"])

    exact = judged(teacher)
    of = arguments.model.stem
    yield BenchRow("top-1, float in torch", 100 * exact, None, "%", subject=of)
    for name in arguments.only or list(SETTINGS):
        for peer in arguments.peer or list(PEERS):
            what = f"{name}, {peer}"
            student = PEERS[peer](torch, arguments.model, name, first)
            student.mode(False)
            lost = 100 * (exact - judged(student.scores))
            yield BenchRow(f"points lost without training, {what}", lost, None, "points", subject=of)
            rate = arguments.rate or (NARROW_RATE if SETTINGS[name][0] <= NARROW else RATE)
            for epoch, found in enumerate(train(torch, student, teacher, data, rate, arguments), 1):
                print(f"{what}, epoch {epoch}: {found:.4f} on held-out images", file=sys.stderr, flush=True)
            lost = 100 * (exact - judged(student.scores))
            yield BenchRow(f"points lost after training, {what}", lost, None, "points", subject=of)


def main() -> None:
    """Read the command line, train, and print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training_peers", description=__doc__)
    parser.add_argument("model", type=Path, help="the ResNet-8, with its batch norms folded")
    parser.add_argument("images", type=Path, help="an archive of images and classes")
    parser.add_argument("--only", action="append", choices=list(SETTINGS), help="only this (may be repeated)")
    parser.add_argument("--peer", action="append", choices=list(PEERS), help="only this (may be repeated)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rate", type=float, help="default: that of qmlir.finetune, by the bits of the weights")
    parser.add_argument("--warmup", type=float, default=0.02)
    parser.add_argument("--distill", type=float, default=0.5)
    parser.add_argument("--temperature", type=float, default=2.0)
    add_output(parser)
    arguments = parser.parse_args()
    print_rows(list(_rows(arguments)), arguments)


if __name__ == "__main__":
    main()
