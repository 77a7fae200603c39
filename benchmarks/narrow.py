"""Weights of few bits against weights of more, ours against ours: products of the same numbers, in turns.

The models are in ONNX: a product between casts, as quantizers write it. Its parts are raised to a product of integers,
so that integers come in and go out. Outputs are equal, or it is an error.

Weights alone are stored in few bits, too, and multiplied with floats: small floats and MX formats beside f32.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.contest import Contest, check_close
from benchmarks.layers import kernel_row
from benchmarks.rows import BenchRow, Section, ratio_row, row_of, with_rate
from qmlir.environment import default_environment
from qmlir.passmanager.manager import PassManager
from qmlir.pipelines import QUANTIZE
from qmlir.targets.cpu.compiler import Program, compile_module

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
    passes = QUANTIZE.passes("propagate", "raise")
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


# --- Floats by weights that are stored in few bits -------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """How weights are stored: a type of ONNX, and its scales."""

    name: str
    dtype: Any
    scales: Any = np.float32
    block: int = 0
    """The terms that share a scale; 0 where all of a channel do."""

    def constants(self, reals: Array, axis: int) -> tuple[Array, Array]:
        """Weights near `reals`, and their scales; terms lie along `axis`, channels along the other one."""
        size = reals.shape[axis]
        parts = size // (self.block or size)
        shape = (*reals.shape[:axis], parts, size // parts, *reals.shape[axis + 1 :])
        largest = np.abs(reals.reshape(shape)).max(axis=axis + 1)
        top = float(cast(Any, ml_dtypes.finfo(self.dtype)).max)
        scales = np.exp2(np.ceil(np.log2(largest / top))) if self.scales != np.float32 else largest / top
        held = scales.astype(self.scales)
        factors = np.repeat(held.astype(np.float32), size // parts, axis=axis)
        return (reals / factors).astype(self.dtype), held if self.block else held.reshape(-1)


STORED: Sequence[Stored] = (
    Stored("f8E4M3FN", ml_dtypes.float8_e4m3fn),
    Stored("f8E5M2", ml_dtypes.float8_e5m2),
    Stored("MXFP8 E4M3", ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, 32),
    Stored("MXFP6 E3M2", ml_dtypes.float6_e3m2fn, ml_dtypes.float8_e8m0fnu, 32),
    Stored("MXFP4", ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu, 32),
)

_FLOATS_OPSET = 28
"""The first with floats of 6 bits."""

_FLOAT_BOUND = 1e-4


@dataclass(frozen=True)
class FloatProduct:
    """A product of floats: a matrix of `rows`, or with `image` a convolution of 3x3 over squares of such a size."""

    rows: int
    terms: int
    columns: int
    image: int = 0

    @property
    def title(self) -> str:
        """The sizes."""
        if self.image:
            return f"conv 3x3, {self.image}x{self.image}x{self.terms} to {self.columns}"
        return f"matmul {self.rows}x{self.terms}x{self.columns}"

    @property
    def multiply_adds(self) -> int:
        """Of one run."""
        return self.terms * self.columns * (9 * self.image**2 if self.image else self.rows)

    def model(self, stored: Stored | None) -> ModelProto:
        """With normal weights, `stored` in few bits or as f32."""
        shape = (self.columns, self.terms, 3, 3) if self.image else (self.terms, self.columns)
        reals = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        axis = 1 if self.image else 0
        constants, nodes = {"w": reals}, list[NodeProto]()
        if stored is not None:
            if self.image:
                by_channel = Stored(stored.name, stored.dtype, stored.scales)
                weights, scales = by_channel.constants(reals.reshape(self.columns, -1), axis)
                layout: dict[str, Any] = {"axis": 0}
            else:
                weights, scales = stored.constants(reals, axis)
                layout = {"axis": 0, "block_size": stored.block} if stored.block else {"axis": 1}
            constants = {"stored": weights.reshape(shape), "scales": scales}
            if stored.scales != np.float32:
                layout["output_dtype"] = TensorProto.FLOAT
            nodes.append(helper.make_node("DequantizeLinear", ["stored", "scales"], ["w"], **layout))
        if self.image:
            nodes.append(helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1]))
        else:
            nodes.append(helper.make_node("MatMul", ["x", "w"], ["y"]))
        value = helper.make_tensor_value_info
        inputs = [value("x", TensorProto.FLOAT, self.input_shape)]
        initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
        graph = helper.make_graph(nodes, "product", inputs, [value("y", TensorProto.FLOAT, None)], initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _FLOATS_OPSET)], ir_version=_IR_VERSION)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of the data."""
        return (1, self.terms, self.image, self.image) if self.image else (self.rows, self.terms)


FLOAT_PRODUCTS: Sequence[tuple[FloatProduct, float]] = (
    (FloatProduct(1, 4096, 4096), 0.6),
    (FloatProduct(64, 512, 512), 1.3),
    (FloatProduct(1, 256, 256, image=14), 1.3),
)
"""With the bar of the time with small floats over that with f32."""


def saved_bytes(program: Program) -> int:
    """The size of a program that is saved: code and constants."""
    with TemporaryDirectory() as folder:
        program.save(Path(folder) / "program")
        return sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file())


def _float_rows(of: FloatProduct, bar: float, contest: Contest) -> Iterator[BenchRow]:
    title = of.title
    inputs = {"x": np.random.default_rng(1).standard_normal(of.input_shape).astype(np.float32)}
    programs: dict[str, Program] = {}
    contest.say(f"{title}: compiling")
    for stored in (None, *STORED):
        name, module = "f32" if stored is None else stored.name, qmlir.load(of.model(stored))
        programs[name] = compile_module(module)
        check_close(programs[name](inputs), qmlir.interpret(module, inputs), _FLOAT_BOUND)
    found = contest.times({name: partial(program, inputs) for name, program in programs.items()})
    for name, timing in found.items():
        row = row_of(timing, f"weights of {name}", 1e6, "us", title)
        yield with_rate(row, timing.median, of.multiply_adds, contest.peak(1).f32)
        yield BenchRow(f"weights of {name}, saved", saved_bytes(programs[name]) / 1e6, None, "MB", subject=title)
    for each in STORED:
        yield ratio_row(title, f"{each.name} over f32", found[each.name], [found["f32"]], bar)


def stored_section(contest: Contest) -> Section:
    """Floats by weights that are stored in small floats, on one thread."""
    rows = [row for each, bar in FLOAT_PRODUCTS for row in _float_rows(each, bar, contest)]
    return Section("Weights stored in small floats against f32, f32 activations, calls from Python", rows)
