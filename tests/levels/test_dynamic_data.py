"""Random networks with data that is quantized at run time: every bit is that of the formulas by hand, at every level.

Layers are matrix products, fully connected layers and convolutions, with and without bias, of weights of 4 and 8 bits,
with zero points or none. Rows of zeros are among the data. A few networks are compiled in every run; `make sweep` has
more, each also as a program in C.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from benchmarks.emitted import run_c
from qmlir import emit
from qmlir.arithmetic.arrays import Array
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.targets.cpu.compiler import compile_module
from qmlir.text.parsing import parse_module
from tests.levels.stages import GCC

F32 = np.float32


# The formulas, in NumPy.


def quantized_by_hand(x: Array, axes: tuple[int, ...] | None, scheme: str) -> tuple[Array, Array, Array]:
    """Integers minus their zero point as i64, the scale, and the zero point; ranges along `axes`, or of all."""
    keeps = axes is not None
    if scheme == "symmetric":
        span, low, steps = np.abs(x).max(axis=axes, keepdims=keeps), F32(0), F32(127)
    else:
        low, high = (np.minimum(x.min(axis=axes, keepdims=keeps), 0), np.maximum(x.max(axis=axes, keepdims=keeps), 0))
        span, steps = high - low, F32(255)
    scale = np.where(span == 0, F32(1), span) / steps
    zero_point = np.rint(np.clip(0 - low / scale, 0, 255)) if scheme == "asymmetric" else np.zeros((), F32)
    limits = (0, 255) if scheme == "asymmetric" else (-127, 127)
    integers = np.clip(np.rint(x / scale) + zero_point, *limits)
    return (integers - zero_point).astype(np.int64), scale.astype(F32), zero_point.astype(np.int64)


def convolved_by_hand(x: Array, w: Array, stride: int, pad: int, groups: int) -> Array:
    """An exact convolution of integers `[N, C, H, W]`."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    out, inner, height, width = w.shape
    rows, columns = ((size - taps) // stride + 1 for size, taps in zip(x.shape[2:], (height, width), strict=True))
    result = np.zeros((len(x), out, rows, columns), np.int64)
    for channel in range(out):
        first = channel // (out // groups) * inner
        for i in range(rows):
            for j in range(columns):
                window = x[:, first : first + inner, i * stride : i * stride + height, j * stride : j * stride + width]
                result[:, channel, i, j] = (window * w[channel]).sum(axis=(1, 2, 3))
    return result


# Networks: IR in the weight-only form, and its outputs by hand.


def _dense(array: Array) -> str:
    return str(array.tolist()) if array.ndim else str(array.item())


@dataclass
class Network:
    """A random network under construction."""

    seed: int
    scope: str
    scheme: str
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def floats(self, *shape: int) -> Array:
        return (self.rng.standard_normal(shape) * 2.0 ** self.rng.integers(-2, 3)).astype(F32)

    def weights(self, shape: tuple[int, ...], axis: int) -> tuple[str, str, Array, Array]:
        """The name and the type of float weights, their integers minus zero points, and their scales."""
        bits, channels = (4 if self.chance(0.3) else 8), shape[axis]
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        integers = self.rng.integers(low, high + 1, shape)
        several = self.chance(0.7)
        scales = self.rng.uniform(0.01, 0.5, channels if several else 1).astype(F32)
        points = self.rng.integers(low, high + 1, len(scales)) if self.chance(0.4) else np.zeros(len(scales), np.int64)
        texts = [f"{float(s)!r}" + (f":{z}" if z else "") for s, z in zip(scales, points, strict=True)]
        parameters = f":{axis}, {{{', '.join(texts)}}}" if several else f", {texts[0]}"
        sizes = "x".join(map(str, shape))
        stored, real = self.name(), self.name()
        type_ = f"tensor<{sizes}x!quant.uniform<i{bits}:f32{parameters}>>"
        self.lines += [
            f"{stored} = nn.constant dense<{_dense(integers)}> : tensor<{sizes}xi{bits}> -> {type_}",
            f"{real} = quant.dcast {stored} : {type_} to tensor<{sizes}xf32>",
        ]
        along = [1] * len(shape)
        along[axis] = -1
        return real, f"tensor<{sizes}xf32>", integers - points.reshape(along), scales

    def layer(self, name: str, x: Array) -> tuple[str, Array]:
        """Adds a layer that fits data `x`, named `name`; its name and its result by hand."""
        kind = "conv" if x.ndim == 4 else str(self.rng.choice(["matmul", "transposed", "fully_connected"]))
        axes = (-1,) if self.scope == "row" and kind != "conv" else None
        data, scale, _ = quantized_by_hand(x, axes, self.scheme)
        properties = ""
        if kind == "conv":
            groups = 2 if x.shape[1] % 2 == 0 and self.chance(0.4) else 1
            out, taps, stride, pad = (
                groups * self.integer(1, 3),
                self.integer(1, 3),
                self.integer(1, 2),
                self.integer(0, 1),
            )
            w, type_, integers, scales = self.weights((out, x.shape[1] // groups, taps, taps), 0)
            total = convolved_by_hand(data, integers, stride, pad, groups)
            properties = f"strides = [{stride}, {stride}], pads = {[pad] * 4}, groups = {groups}"
            scales = scales.reshape(-1, 1, 1)
        else:
            columns, terms = self.integer(1, 20), x.shape[-1]
            shape = (terms, columns) if kind == "matmul" else (columns, terms)
            w, type_, integers, scales = self.weights(shape, 1 if kind == "matmul" else 0)
            total = data @ (integers if kind == "matmul" else integers.T)
            properties = "transpose_b = true" if kind == "transposed" else ""
        value = total.astype(F32) * (scale * scales).astype(F32)
        operands, types = [name, w], [f"tensor<{'x'.join(map(str, x.shape))}xf32>", type_]
        if kind in ("conv", "fully_connected") and self.chance(0.6):
            bias = self.floats(value.shape[1 if kind == "conv" else -1])
            operands.append(self.name())
            types.append(f"tensor<{len(bias)}xf32>")
            self.lines.append(f"{operands[-1]} = nn.constant dense<{_dense(bias)}> : {types[-1]}")
            value = value + (bias.reshape(-1, 1, 1) if kind == "conv" else bias)
        result = self.name()
        op = "matmul" if kind == "transposed" else kind
        out_type = f"tensor<{'x'.join(map(str, value.shape))}xf32>"
        attributes = f" {{{properties}}}" if properties else ""
        self.lines.append(f"{result} = nn.{op} {', '.join(operands)}{attributes} : ({', '.join(types)}) -> {out_type}")
        return result, value


def network(seed: int, scope: str, scheme: str) -> tuple[ModuleOp, dict[str, Array], Array]:
    """A module of one or two layers, its input, and its output by hand."""
    net = Network(seed, scope, scheme)
    if net.chance(0.35):
        x = net.floats(net.integer(1, 2), net.integer(1, 4), net.integer(3, 6), net.integer(3, 6))
    else:
        x = net.floats(*([net.integer(1, 3)] if net.chance(0.4) else []), net.integer(1, 6), net.integer(1, 40))
        x[..., net.integer(0, x.shape[-2] - 1), :] = 0
    given, name, value = x, "%x", x
    for _ in range(net.integer(1, 2)):
        name, value = net.layer(name, value)
        if value.ndim == 4 and min(value.shape[2:]) < 3:
            break
    types = (f"tensor<{'x'.join(map(str, each.shape))}xf32>" for each in (given, value))
    body = "\n".join(f"  {line}" for line in net.lines)
    start, end = types
    text = f"func.func @main(%x: {start}) -> {end} {{\n{body}\n  func.return {name} : {end}\n}}\n"
    module = lowered(
        parse_module(default_environment().new_context(), text),
        f"nn-quantize-dynamically{{scope={scope} scheme={scheme}}},dce",
    )
    assert "quant.dcast" not in str(module), text  # all layers are quantized
    return module, {"input0": given}, value


def lowered(module: ModuleOp, pipeline: str) -> ModuleOp:
    """A copy of `module` behind a pipeline."""
    module = module.clone()
    PassManager(default_environment().new_context(), parse_pipeline(pipeline, default_environment().passes)).run(module)
    verify(module)
    return module


def compiled_by_c(module: ModuleOp, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the program in C gives, built without optimizations."""
    with TemporaryDirectory() as folder:
        ended, found = run_c(emit(module), GCC, inputs, interpret(module, inputs), Path(folder))
    assert not ended
    return found


FORMS = [(scope, scheme) for scope in ("row", "tensor") for scheme in ("asymmetric", "symmetric")]
SEEDS = range(8)
MORE = range(8, 120)


def check(found: Mapping[str, Any], wanted: Array) -> None:
    (array,) = found.values()
    np.testing.assert_array_equal(array.view(np.int32), wanted.view(np.int32))


def check_interpreted(seed: int, scope: str, scheme: str) -> None:
    module, inputs, wanted = network(seed, scope, scheme)
    for each in (module, lowered(module, "canonicalize,cse,dce"), lowered(module, "nn-decompose")):
        check(interpret(each, inputs), wanted)


@pytest.mark.parametrize(("scope", "scheme"), FORMS)
def test_interpreted(scope: str, scheme: str) -> None:
    for seed in SEEDS:
        check_interpreted(seed, scope, scheme)


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("emitter", ["numba", "llvm"])
def test_some_compiled(seed: int, emitter: str) -> None:
    module, inputs, wanted = network(seed, *FORMS[seed % len(FORMS)])
    check(compile_module(module, emitter=emitter)(inputs), wanted)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", MORE)
@pytest.mark.parametrize(("scope", "scheme"), FORMS)
def test_more_by_every_emitter(scope: str, scheme: str, seed: int) -> None:
    check_interpreted(seed, scope, scheme)
    module, inputs, wanted = network(seed, scope, scheme)
    for emitter in ("numba", "llvm"):
        check(compile_module(module, emitter=emitter)(inputs), wanted)
    check(compiled_by_c(module, inputs), wanted)
