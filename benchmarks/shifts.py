"""Scales that are powers of two against any scales, ours against ours in turns: shifts against products of floats.

Two convolutions of 1x1 and 64 channels, channels last, integers in and out, whose weights are the same numbers; and
whole models of random weights, quantized by either scheme.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.architectures import random_inputs
from benchmarks.contest import Contest
from benchmarks.models import BENCH_MODELS, residual
from benchmarks.rows import BenchRow, Section, ratio_row, row_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import QUANTIZE

Array = npt.NDArray[Any]

_OPSET, _IR_VERSION = 17, 8
_CHANNELS, _SIZES = 64, (28, 56)
_BAR = 0.95

MODELS: Mapping[str, tuple[Callable[[], ModelProto], float]] = {
    "squeezenet": (BENCH_MODELS["squeezenet"].build, 1.0),
    "mlp": (BENCH_MODELS["mlp"].build, 1.0),
    "mobilenetv2": (BENCH_MODELS["mobilenetv2"].build, 0.97),
    "lstm": (BENCH_MODELS["lstm"].build, 0.97),
    "residual 3x3": (residual, 0.97),
    "residual 1x1": (partial(residual, 1, (64, 128, 256)), 0.97),
}
"""Whole models, and the bars of their ratios."""

SHIFTS, PRODUCTS = "powers of two", "asymmetric"

_SCHEMES: Mapping[str, Mapping[str, Any]] = {
    PRODUCTS: {},
    SHIFTS: {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"},
}


def _convolution(name: str, value: str, before: str, after: str) -> list[NodeProto]:
    """A convolution and a relu from `value`, of the scale `before`, to `<name>`, of the scale `after`; in QDQ form."""
    node = helper.make_node
    return [
        node("DequantizeLinear", [value, f"{before}_scale", f"{before}_zero"], [f"{name}_x"]),
        node("DequantizeLinear", [f"{name}_w", f"{name}_w_scale", "w_zero"], [f"{name}_real"], axis=0),
        node("DequantizeLinear", [f"{name}_b", f"{name}_b_scale"], [f"{name}_bias"], axis=0),
        node("Conv", [f"{name}_x", f"{name}_real", f"{name}_bias"], [f"{name}_sum"]),
        node("Relu", [f"{name}_sum"], [f"{name}_relu"]),
        node("QuantizeLinear", [f"{name}_relu", f"{after}_scale", f"{after}_zero"], [name]),
    ]


def convolutions(size: int, *, is_shift: bool) -> ModuleOp:
    """Two convolutions of images of `size`, i8 in and out; with `is_shift` scales are powers of two, zero points 0."""
    generator = np.random.default_rng(0)
    constants: dict[str, Array] = {"w_zero": np.zeros(_CHANNELS, np.int8)}
    scale = np.float32(1)
    for name, zero in (("x", 3), ("first", -128), ("second", -128)):
        constants[f"{name}_scale"], constants[f"{name}_zero"] = (
            np.array(scale),
            np.array(0 if is_shift else zero, np.int8),
        )
        weights = generator.integers(-127, 128, (_CHANNELS, _CHANNELS, 1, 1)).astype(np.int8)
        spread = np.linspace(0.5, 1, _CHANNELS, dtype=np.float32)
        spread = np.exp2(np.ceil(np.log2(spread))) if is_shift else spread
        following = {"x": "first", "first": "second", "second": ""}[name]
        constants |= {
            f"{following}_w": weights,
            f"{following}_w_scale": spread.astype(np.float32),
            f"{following}_b": generator.integers(-1000, 1000, _CHANNELS).astype(np.int32),
            f"{following}_b_scale": (scale * spread).astype(np.float32),
        }
        scale = np.float32(scale * np.sqrt(_CHANNELS) * 127 if not is_shift else scale * 1024)
    nodes = [
        helper.make_node("Transpose", ["x"], ["taken"], perm=[0, 3, 1, 2]),
        *_convolution("first", "taken", "x", "first"),
        *_convolution("second", "first", "first", "second"),
        helper.make_node("Transpose", ["second"], ["y"], perm=[0, 2, 3, 1]),
    ]
    shape = [1, size, size, _CHANNELS]
    used = {name for node in nodes for name in node.input}
    initializers = [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items() if name in used]
    taken, given = (helper.make_tensor_value_info(name, TensorProto.INT8, shape) for name in ("x", "y"))
    graph = helper.make_graph(nodes, "convolutions", [taken], [given], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    return run_pipeline(qmlir.load(model), QUANTIZE.passes("propagate", "raise", "rescale"))


def _compared(
    subject: str, modules: Mapping[str, ModuleOp], inputs: Mapping[str, Array], bar: float, contest: Contest
) -> Iterator[BenchRow]:
    for isa in ("host", *contest.isas):
        suffix = "" if isa == "host" else f", {isa}"
        contest.say(f"{subject}{suffix}: compiling")
        programs = {name: qmlir.compile(module, isa=isa) for name, module in modules.items()}
        for name, program in programs.items():
            for output, array in qmlir.interpret(modules[name], inputs).items():
                np.testing.assert_array_equal(program(inputs)[output], array, subject)
        found = contest.times({name: partial(program, inputs) for name, program in programs.items()})
        for name, times in found.items():
            yield row_of(times, f"{name}{suffix}", 1e6, "us", subject)
        what = f"{SHIFTS} over {PRODUCTS}{suffix}"
        yield ratio_row(subject, what, found[SHIFTS], [found[PRODUCTS]], None if suffix else bar)
        shortest = found[SHIFTS].low / found[PRODUCTS].low
        yield BenchRow(f"{what}, shortest times", shortest, None, "x", subject=subject)


def _rows(contest: Contest) -> Iterator[BenchRow]:
    for size in _SIZES:
        title = f"two 1x1 of {size}x{size}, {_CHANNELS}"
        inputs = {"x": np.random.default_rng(1).integers(-128, 128, (1, size, size, _CHANNELS)).astype(np.int8)}
        modules = {name: convolutions(size, is_shift=name == SHIFTS) for name in _SCHEMES}
        yield from _compared(title, modules, inputs, _BAR, contest)
    for name, (build, bar) in MODELS.items():
        contest.say(f"{name}: quantizing")
        model = build()
        samples: Sequence[Mapping[str, Array]] = [random_inputs(model, seed) for seed in range(2)]

        modules = {
            scheme: qmlir.quantize(qmlir.load(model), samples, **given).module for scheme, given in _SCHEMES.items()
        }
        yield from _compared(name, modules, random_inputs(model, 2), bar, contest)


def shift_section(contest: Contest) -> Section:
    """Everything, on one thread."""
    return Section("Scales that are powers of two against any, i8, calls from Python", list(_rows(contest)))
