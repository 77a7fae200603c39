"""Single layers in int8, ours beside ONNX Runtime: convolutions of ResNet-50 and MobileNetV2, a product of BERT.

Both take u8 activations, channels last, and s8 weights by channel, and give u8: `QLinearConv` in the form that ONNX
Runtime runs without a transpose, and for us the standard node between two transposes, which the compiler removes. What
is timed is a whole call from Python, borders included; the kernel alone stands beside. Outputs are equal, or it is an
error; where ONNX Runtime saturates, it is held against its exact mode.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import qmlir
from benchmarks.contest import Contest
from benchmarks.rows import BenchRow, Section, ratio_row, row_of, with_rate
from qmlir.targets.cpu.compiler import Program, compile_module
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import TITLES, is_installed

Array = npt.NDArray[Any]

_OPSET, _IR_VERSION = 17, 8
_RUNTIME, _EXACT = f"{TITLES[onnx_runtime.PACKAGE]} u8s8", f"{TITLES[onnx_runtime.PACKAGE]} u8s8 exact"
_OURS = "qmlir"

_KERNEL_ROUNDS = 30
"""How often a program runs in Python to find the shortest time of its kernel."""

_SPREAD = 40.0
"""The standard deviation of outputs in their steps: most of them do not saturate."""

_WEIGHT_DEVIATION = 2 * 127 / np.sqrt(12)
"""Of weights drawn evenly from -127 to 127."""

_INPUT_DEVIATION = 256 / np.sqrt(12)


def _model(
    nodes: Sequence[NodeProto], taken: Sequence[int], given: Sequence[int], constants: dict[str, Array]
) -> ModelProto:
    inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, taken)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, given)]
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(list(nodes), "layer", inputs, outputs, initializers)
    domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=_IR_VERSION)


def _scales(terms: int, channels: int) -> dict[str, Array]:
    """Scales and zero points of input, weights by channel and output, for sums of so many products."""
    deviation = np.sqrt(terms) * _WEIGHT_DEVIATION * _INPUT_DEVIATION
    return {
        "x_scale": np.array(1, np.float32),
        "x_zero": np.array(128, np.uint8),
        "w_scale": np.linspace(0.5, 1.0, channels, dtype=np.float32),
        "w_zero": np.zeros(channels, np.int8),
        "y_scale": np.array(deviation / _SPREAD, np.float32),
        "y_zero": np.array(128, np.uint8),
    }


_PARAMETERS = ("x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero")


@dataclass(frozen=True)
class Convolution:
    """A convolution of square images and windows, `SAME` padding as PyTorch has it."""

    size: int
    inputs: int
    outputs: int
    window: int = 1
    stride: int = 1
    groups: int = 1

    @property
    def title(self) -> str:
        """As tables call it."""
        kind = "depthwise " if self.groups > 1 else ""
        stride = f" stride {self.stride}" if self.stride > 1 else ""
        channels = f"{self.inputs}" if self.groups > 1 else f"{self.inputs}→{self.outputs}"
        return f"{kind}{self.window}x{self.window}{stride}, {self.size}x{self.size}, {channels}"

    @property
    def _given(self) -> int:
        return -(-self.size // self.stride)

    @property
    def multiply_adds(self) -> int:
        """Of one run, those with the border's zeros among them."""
        return self._given**2 * self.outputs * self.window**2 * self.inputs // self.groups

    def inputs_of(self, generator: np.random.Generator) -> dict[str, Array]:
        """One image, channels last."""
        return {"x": generator.integers(0, 256, (1, self.size, self.size, self.inputs)).astype(np.uint8)}

    def models(self, generator: np.random.Generator) -> tuple[ModelProto, ModelProto]:
        """Ours, and that of ONNX Runtime, of the same weights."""
        shape = (self.outputs, self.inputs // self.groups, self.window, self.window)
        constants = {
            "w": generator.integers(-127, 128, shape).astype(np.int8),
            "b": generator.integers(-1000, 1000, self.outputs).astype(np.int32),
            **_scales(int(np.prod(shape[1:])), self.outputs),
        }
        pad = self.window // 2
        attributes: dict[str, Any] = {
            "kernel_shape": [self.window] * 2, "strides": [self.stride] * 2, "pads": [pad] * 4, "group": self.groups,
        }  # fmt: skip
        taken, given = [1, self.size, self.size, self.inputs], [1, self._given, self._given, self.outputs]
        ours = [
            helper.make_node("Transpose", ["x"], ["first"], perm=[0, 3, 1, 2]),
            helper.make_node("QLinearConv", ["first", *_PARAMETERS, "b"], ["last"], **attributes),
            helper.make_node("Transpose", ["last"], ["y"], perm=[0, 2, 3, 1]),
        ]
        theirs = helper.make_node(
            "QLinearConv", ["x", *_PARAMETERS, "b"], ["y"], domain="com.microsoft", channels_last=1, **attributes
        )
        return _model(ours, taken, given, constants), _model([theirs], taken, given, constants)


@dataclass(frozen=True)
class Product:
    """A matrix product of `rows` by `terms`, and weights of `terms` by `columns`."""

    rows: int
    terms: int
    columns: int

    @property
    def title(self) -> str:
        """As tables call it."""
        return f"matmul {self.rows}x{self.terms}x{self.columns}"

    @property
    def multiply_adds(self) -> int:
        """Of one run."""
        return self.rows * self.terms * self.columns

    def inputs_of(self, generator: np.random.Generator) -> dict[str, Array]:
        """The rows."""
        return {"x": generator.integers(0, 256, (self.rows, self.terms)).astype(np.uint8)}

    def models(self, generator: np.random.Generator) -> tuple[ModelProto, ModelProto]:
        """Ours, and that of ONNX Runtime, which are the same."""
        weights = generator.integers(-127, 128, (self.terms, self.columns)).astype(np.int8)
        constants = {"w": weights, **_scales(self.terms, self.columns)}
        node = helper.make_node("QLinearMatMul", ["x", *_PARAMETERS], ["y"])
        model = _model([node], [self.rows, self.terms], [self.rows, self.columns], constants)
        return model, model


Layer = Convolution | Product


def _depthwise(size: int, channels: int, stride: int = 1, window: int = 3) -> Convolution:
    return Convolution(size, channels, channels, window, stride, channels)


LAYERS: Mapping[str, Sequence[tuple[Layer, float | None]]] = {
    "3x3": (
        (Convolution(56, 64, 64, 3), 0.7),
        (Convolution(28, 128, 128, 3), 0.7),
        (Convolution(14, 256, 256, 3), 0.7),
        (Convolution(7, 512, 512, 3), 0.85),
        (Convolution(56, 128, 128, 3, 2), None),
    ),
    "1x1": (
        (Convolution(56, 64, 64), 1.0),
        (Convolution(56, 64, 256), 1.0),
        (Convolution(56, 256, 64), 1.0),
        (Convolution(28, 512, 128), 1.0),
        (Convolution(28, 128, 512), 1.0),
        (Convolution(14, 1024, 256), 1.0),
        (Convolution(14, 256, 1024), 1.0),
        (Convolution(7, 2048, 512), 1.0),
        (Convolution(7, 512, 2048), 1.0),
        (Convolution(56, 256, 512, 1, 2), 1.0),
    ),
    "matmul": ((Product(128, 384, 1536), 1.0), (Product(128, 1536, 384), None)),
    "depthwise": (
        (_depthwise(112, 32), 0.5),
        (_depthwise(112, 96, 2), 0.5),
        (_depthwise(56, 144), 0.5),
        (_depthwise(56, 144, 2), 0.5),
        (_depthwise(28, 192), 0.5),
        (_depthwise(14, 384), 0.5),
        (_depthwise(14, 576), 0.5),
        (_depthwise(7, 960), 0.5),
        (_depthwise(14, 384, 1, 5), None),
    ),
    "first": ((Convolution(224, 3, 64, 7, 2), None), (Convolution(224, 3, 32, 3, 2), None)),
}
"""The layers by kind, each with the bar of our time over that of ONNX Runtime."""


def _peers(model: ModelProto) -> Mapping[str, onnx_runtime.OrtSession]:
    if not is_installed(onnx_runtime.PACKAGE):
        return {}
    rows = ((_RUNTIME, False), (_EXACT, True))
    return {
        name: onnx_runtime.OrtSession(
            model.SerializeToString(), onnx_runtime.OrtOptions(is_exact=is_exact, is_deterministic=False)
        )
        for name, is_exact in rows
    }


def kernel_row(
    subject: str, what: str, program: Program, inputs: Mapping[str, Array], products: int, peak: float
) -> BenchRow:
    """The shortest time of the slowest kernel of a program: of a single layer that is the one that multiplies."""
    seconds = max(each.seconds for each in program.time_kernels(inputs, _KERNEL_ROUNDS))
    row = BenchRow(f"{what}, the kernel alone", seconds * 1e6, None, "us", subject=subject)
    return with_rate(row, seconds, products, peak)


def _rows(layer: Layer, bar: float | None, contest: Contest) -> Iterator[BenchRow]:
    generator = np.random.default_rng(0)
    ours, theirs = layer.models(generator)
    inputs = layer.inputs_of(generator)
    contest.say(f"{layer.title}: compiling")
    isas = {_OURS: "host", **{f"{_OURS} {isa}": isa for isa in contest.isas}}
    programs = {name: compile_module(qmlir.load(ours), isa=isa) for name, isa in isas.items()}
    peers = _peers(theirs)
    outputs = {name: program(inputs)["y"] for name, program in programs.items()}
    expected = peers[_EXACT](inputs)["y"] if peers else outputs[_OURS]
    for name, output in outputs.items():
        np.testing.assert_array_equal(output, expected, f"{layer.title}: {name}")
    runs: dict[str, Callable[[], object]] = {
        name: partial(call, inputs) for name, call in {**programs, **peers}.items()
    }
    found = contest.times(runs)
    peak, products = contest.peak(1).int8, layer.multiply_adds
    for name, timing in found.items():
        yield with_rate(row_of(timing, name, 1e6, "us", layer.title), timing.median, products, peak)
    for name, program in programs.items():
        row = kernel_row(layer.title, name, program, inputs, products, peak)
        yield row
        if peers:
            bar_of_host = bar if name == _OURS else None
            yield ratio_row(layer.title, f"{name} over {_RUNTIME}", found[name], [found[_RUNTIME]], bar_of_host)
            alone = row.figure / 1e6 / found[_RUNTIME].low
            yield BenchRow(f"{row.what}, over the shortest {_RUNTIME}", alone, None, "x", subject=layer.title)


def layer_section(kinds: Sequence[str], contest: Contest) -> Section:
    """The layers of some kinds, each in turns with its peer, on one thread."""
    layers = [each for kind in kinds for each in LAYERS[kind]]
    rows = [row for layer, bar in layers for row in _rows(layer, bar, contest)]
    return Section("Layers, u8 activations and s8 weights, calls from Python", rows)
