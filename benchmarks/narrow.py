"""Weights of few bits against weights of more, ours against ours: matrix products of the same numbers, in turns.

The models are in ONNX: a product between casts, as quantizers write it. Its parts are raised to a product of integers,
so that integers come in and go out. Outputs are equal, or it is an error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.contest import Contest
from benchmarks.layers import kernel_row
from benchmarks.rows import BenchRow, Section, ratio_row, row_of, with_rate
from qmlir.environment import default_environment
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import QUANTIZE
from qmlir.targets.cpu.compiler import compile_module

Array = npt.NDArray[Any]

_OPSET, _IR_VERSION = 25, 13
"""The first with integers of 2 bits."""


@dataclass(frozen=True)
class Product:
    """A product of `rows` by weights `[terms, columns]`, which are some of `values`."""

    rows: int
    terms: int
    columns: int
    values: Sequence[int]
    types: tuple[str, str] = ("i4", "i8")
    """What they are stored as, and what that is compared with."""

    bar: float | None = None
    """Of the time with the one over that with the other."""

    @property
    def title(self) -> str:
        """The sizes, and the weights where their type has others."""
        named = "" if "i8" in self.types else f", weights {', '.join(map(str, self.values))}"
        return f"matmul {self.rows}x{self.terms}x{self.columns}{named}"


PRODUCTS: Sequence[Product] = (
    Product(1, 4096, 4096, range(-7, 8), bar=0.6),
    Product(128, 1024, 1024, range(-7, 8), bar=1.0),
    Product(1, 4096, 4096, (-1, 0, 1), ("i2", "i4"), bar=0.9),
    Product(1, 4096, 4096, (-1, 1), ("i2", "i4"), bar=0.9),
)

_TYPES = {"i8": np.dtype(np.int8), "i4": np.dtype(ml_dtypes.int4), "i2": np.dtype(ml_dtypes.int2)}

_SPREAD = 40.0
"""The standard deviation of outputs in their steps: most of them do not saturate."""


def product(rows: int, weights: Array, element: str) -> ModuleOp:
    """A product of i8 by `weights`, whole numbers of few bits, that are stored as `element`; integers out."""
    terms, columns = weights.shape
    dtype = _TYPES[element]
    deviation = np.sqrt(terms) * float(weights.std()) * 256 / np.sqrt(12)
    constants: dict[str, Array] = {
        "w": weights.astype(dtype),
        "x_scale": np.array(1, np.float32),
        "x_zero": np.array(3, np.int8),
        "w_scale": np.linspace(0.5, 1.0, columns, dtype=np.float32),
        "w_zero": np.zeros(columns, dtype),
        "y_scale": np.array(deviation / _SPREAD, np.float32),
        "y_zero": np.array(0, np.int8),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["x_real"]),
        helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["w_real"], axis=1),
        helper.make_node("MatMul", ["x_real", "w_real"], ["y_real"]),
        helper.make_node("QuantizeLinear", ["y_real", "y_scale", "y_zero"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.INT8, [rows, terms])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, [rows, columns])]
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "product", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    module, environment = qmlir.load(model), default_environment()
    passes = parse_pipeline(QUANTIZE.text("propagate", "raise"), environment.passes)
    PassManager(environment.new_context(), passes).run(module)
    return module


def _rows(of: Product, contest: Contest) -> Iterator[BenchRow]:
    generator, title, (few, more) = np.random.default_rng(0), of.title, of.types
    rows, terms, columns = of.rows, of.terms, of.columns
    weights = generator.choice(np.array(of.values), (terms, columns))
    inputs = {"x": generator.integers(-128, 128, (rows, terms)).astype(np.int8)}
    contest.say(f"{title}: compiling")
    for isa in ("host", *contest.isas):
        suffix = "" if isa == "host" else f", {isa}"
        programs = {name: compile_module(product(rows, weights, name), isa=isa) for name in of.types}
        narrow, wide = (programs[name](inputs)["y"] for name in of.types)
        np.testing.assert_array_equal(narrow, wide, title)
        found = contest.times({name: partial(program, inputs) for name, program in programs.items()})
        products, peak = rows * terms * columns, contest.peak(1).int8
        for name, timing in found.items():
            row = row_of(timing, f"weights of {name}{suffix}", 1e6, "us", title)
            yield with_rate(row, timing.median, products, peak)
        for name, program in programs.items():
            yield kernel_row(title, f"weights of {name}{suffix}", program, inputs, products, peak)
        yield ratio_row(title, f"{few} over {more}{suffix}", found[few], [found[more]], None if suffix else of.bar)


def narrow_section(contest: Contest) -> Section:
    """All products, on one thread."""
    rows = [row for each in PRODUCTS for row in _rows(each, contest)]
    return Section("Weights of few bits against more, i8 activations, calls from Python", rows)
