"""Records that loops make, in the interpreter and by every emitter, against those that NumPy makes of the values."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.emitted import BUILDS, differing_bits, run_c
from qmlir.arithmetic.records import RecordLayout
from qmlir.interpreter.run import interpret
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.cpu.lowering import lowered
from tests.support.emitted import parsed

LAYOUTS = {7: RecordLayout(2048), 3000: RecordLayout(300, 1, 40), 6000: RecordLayout(5)}
"""By the word where a record begins."""


def _records(shape: tuple[int, int, int]) -> ModuleOp:
    """A module that adds a value, and a part of it with gaps in memory, to records of `LAYOUTS`."""
    x, part = ("x".join(map(str, sizes)) for sizes in (shape, (*shape[:2], 7)))
    return parsed(f"""
func.func @main(%x: tensor<{x}xf32> {{nn.name = "x"}}, %r: tensor<8000xi64> {{nn.name = "r"}})
    -> (tensor<8000xi64> {{nn.name = "y"}}) {{
  %1 = arith.constant dense<7> : tensor<1xi64>
  %2 = arith.constant dense<3000> : tensor<1xi64>
  %3 = arith.constant dense<6000> : tensor<1xi64>
  %part = tensor.extract_slice %x[0, 0, 2] [{part.replace("x", ", ")}] [1, 1, 1] : tensor<{x}xf32> to tensor<{part}xf32>
  %r1 = kernel.record %x at %1 in %r bins 2048 : i64
      : tensor<{x}xf32>, tensor<1xi64>, tensor<8000xi64> -> tensor<8000xi64>
  %r2 = kernel.record %x at %2 in %r1 bins 300 : i64 axis 1 : i64
      : tensor<{x}xf32>, tensor<1xi64>, tensor<8000xi64> -> tensor<8000xi64>
  %r3 = kernel.record %part at %3 in %r2 bins 5 : i64
      : tensor<{part}xf32>, tensor<1xi64>, tensor<8000xi64> -> tensor<8000xi64>
  %r4 = kernel.record %part at %1 in %r3 bins 2048 : i64
      : tensor<{part}xf32>, tensor<1xi64>, tensor<8000xi64> -> tensor<8000xi64>
  func.return %r4 : tensor<8000xi64>
}}
""")


def _empty() -> np.ndarray:
    records = np.zeros(8000, np.int64)
    for first, layout in LAYOUTS.items():
        records[first : first + layout.words] = layout.empty()
    return records


def _draws(shape: tuple[int, int, int]) -> list[np.ndarray]:
    """Values of one sign and of both, with zeros, infinities, NaN and subnormal numbers, and any bits of floats."""
    generator = np.random.default_rng(0)
    normal = generator.standard_normal(shape)
    draws = [
        np.zeros(shape), -generator.uniform(1, 2, shape), normal, np.maximum(normal, 0), normal * 1e-42,
        -np.abs(normal) * 1e20, normal * 1e30, np.where(normal > 1, np.inf, normal), np.full(shape, -np.inf),
        np.where(normal < -2, -np.inf, np.where(normal > 2, np.nan, 1)), np.full(shape, 2.0**24 - 1),
    ]  # fmt: skip
    bits = generator.integers(0, 1 << 32, shape, np.uint64).astype(np.uint32)
    return [*(each.astype(np.float32) for each in draws), bits.view(np.float32)]


@pytest.mark.parametrize("emitter", ["numba", "llvm"])
def test_compiled_records_are_those_of_numpy_in_every_bit(emitter: str) -> None:
    shape = (3, 40, 100)
    module = _records(shape)
    program = compile_module(module, emitter=emitter)
    records = _empty()
    expected = records.copy()
    for x in _draws(shape):
        (expected,) = interpret(module, [x, expected]).values()
        program([x, records], {"y": records})
        assert np.array_equal(records, expected)


def test_interpreted_loops_and_c_have_the_same_bits(tmp_path: Path) -> None:
    shape = (2, 40, 9)
    module = _records(shape)
    loops = lowered(module, "generic")
    expected = _empty()
    build = next(each for each in BUILDS if each.name == "gcc -O2")
    source = qmlir.emit(module) if build.is_installed() else None
    for number, x in enumerate(_draws(shape)[2::4]):
        before = expected
        (expected,) = interpret(module, [x, before]).values()
        (found,) = interpret(loops, [x, before]).values()
        assert np.array_equal(found, expected)
        if source is not None:
            folder = tmp_path / str(number)
            folder.mkdir()
            ended, outputs = run_c(source, build, {"x": x, "r": before}, {"y": expected}, folder)
            assert ended == 0
            assert differing_bits({"y": expected}, outputs) == 0


RUNS = """
func.func @main(%x: tensor<70xf32>, %n: tensor<2xi64>, %r: tensor<60xi64>) -> tensor<60xi64> {
  %0 = arith.constant dense<0> : tensor<1xi64>
  %1 = kernel.record %x at %0 in %r runs %n bins 16 : i64
      : tensor<70xf32>, tensor<1xi64>, tensor<60xi64>, tensor<2xi64> -> tensor<60xi64>
  func.return %1 : tensor<60xi64>
}
"""


def test_runs_of_any_number_and_size() -> None:
    """A run of 19 has two vectors and three elements more; 8 runs are as many as there are words for."""
    module = parsed(RUNS)
    program, layout = compile_module(module, emitter="llvm"), RecordLayout(16)
    records = np.zeros(60, np.int64)
    records[: layout.words] = layout.empty()
    expected = records.copy()
    values = np.random.default_rng(0).normal(size=70).astype(np.float32)
    values[[3, 30]] = np.inf, np.nan
    for runs in ([3, 19], [8, 8], [1, 70], [8, 1], [0, 5], [5, 0]):
        (expected,) = interpret(module, [values, np.array(runs), expected]).values()
        program([values, np.array(runs), records], {"output0": records})
        assert np.array_equal(records, expected)
