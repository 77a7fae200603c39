"""Measures parsing, verifying and printing of large modules: `make bench-ir`.

Each row has a bar that a person would notice; the figures are medians of a few rounds in one process. Nothing here
passes or fails: the machines are shared, and the table of record is in `docs/lab/performance.md`.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from benchmarks.rows import BenchRow, report
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.extensions.report.timing import median_seconds
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text.diagnostics import render
from qmlir.text.parsing import load_module, parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text, save_module

OPERATIONS, TYPES, CHANNELS = 10_000, 200, 256
WEIGHT_BYTES = 100 * 1024 * 1024


def _in_function(make: Callable[[Builder, SSAValue], SSAValue], argument: TensorType[UniformQuantizedType]) -> ModuleOp:
    function = FuncOp("main", ([argument], [argument]))
    builder = Builder(InsertPoint.at_end(function.body.block))
    result = make(builder, function.body.block.args[0])
    function.update_function_type()
    builder.insert(ReturnOp(result))
    function.update_function_type()
    return ModuleOp([function])


def many_types_module() -> ModuleOp:
    """10,000 operations on values with 200 different per-axis types of 256 channels."""
    generator = np.random.default_rng(0)
    types = [
        UniformQuantizedType.per_axis(
            i8, f32, 1, generator.uniform(0.001, 1.0, CHANNELS), generator.integers(-9, 9, CHANNELS)
        )
        for _ in range(TYPES)
    ]

    def chain(builder: Builder, value: SSAValue) -> SSAValue:
        for index in range(OPERATIONS):
            value = builder.insert(ReluOp(value, TensorType(types[index % TYPES], [4, CHANNELS]))).result
        return value

    return _in_function(chain, TensorType(types[-1], [4, CHANNELS]))


def large_weights_module() -> ModuleOp:
    """A module with 100 MB of f32 weights in four constants."""
    generator = np.random.default_rng(0)
    block = ModuleOp([])
    size = WEIGHT_BYTES // 4 // 4
    for index in range(4):
        array = generator.standard_normal(size, dtype=np.float32)
        constant = ConstantOp.of(array, TensorType(f32, [size]))
        constant.result.name_hint = f"w{index}"
        block.body.block.add_op(constant)
    return block


def measure_types() -> list[BenchRow]:
    """Parse, verify and print the module of many types."""
    text = module_text(many_types_module())
    environment = default_environment()

    def parse() -> ModuleOp:
        return parse_module(environment.new_context(), text)

    module = parse()
    return [
        BenchRow(f"{OPERATIONS} ops, {TYPES} types of {CHANNELS} channels: parse", median_seconds(parse), 6.0),
        BenchRow("the same: verify", median_seconds(lambda: verify(module)), 1.0),
        BenchRow("the same: print", median_seconds(lambda: module_text(module)), 2.5),
    ]


def measure_weights(folder: Path) -> list[BenchRow]:
    """Load, clone and print 100 MB of weights, and the text of an error on that module."""
    path = folder / "weights.mlir"
    save_module(large_weights_module(), path, PrintOptions(weights=Weights.SIDECAR))
    environment = default_environment()

    def load() -> ModuleOp:
        return load_module(environment.new_context(), path)

    module = load()
    elided = PrintOptions(weights=Weights.ELIDE)
    constant = module.body.block.first_op
    assert constant is not None
    broken = ReluOp(constant.results[0], TensorType(f32, [3]))
    rows = [
        BenchRow("100 MB of weights: load from the file beside the module", median_seconds(load), 0.5),
        BenchRow("the same: clone", median_seconds(module.clone), 0.05),
        BenchRow("the same: print elided", median_seconds(lambda: module_text(module, elided)), 0.2),
    ]
    module.body.block.add_op(broken)
    start = time.perf_counter()
    message = ""
    try:
        verify(module)
    except DiagnosticError as error:
        message = render(error.diagnostic)
    seconds = time.perf_counter() - start
    rows.append(BenchRow("the same: time to the text of an error", seconds, 0.5))
    rows.append(BenchRow("the same: length of that text", len(message.encode()), 20_000, "bytes"))
    return rows


def measure_start() -> BenchRow:
    """The time of `qmlir-opt --help`, a process of its own."""
    command = [sys.executable, "-c", "from qmlir.tools.qmlir_opt import console_main; console_main()", "--help"]
    seconds = median_seconds(lambda: subprocess.run(command, check=True, capture_output=True), 5)
    return BenchRow("qmlir-opt --help", seconds, 0.7)


def measure() -> list[BenchRow]:
    """All rows."""
    with tempfile.TemporaryDirectory() as folder:
        return [*measure_types(), *measure_weights(Path(folder)), measure_start()]


if __name__ == "__main__":
    report("bench-ir", "Measures parsing, verifying and printing.", measure)
