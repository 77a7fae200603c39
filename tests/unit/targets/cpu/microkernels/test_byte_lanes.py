"""Bytes of several steps in a register, of which each step takes a lane: the sums, whole runs or not, by any lanes."""

from pathlib import Path

import numpy as np
import pytest

from qmlir.interpreter.run import interpret
from qmlir.text.parsing import parse_module
from tests.support.contractions import constant, tensor
from tests.support.emitted import loaded
from tests.support.sampled import sampled
from tests.unit.targets.cpu.loops.test_contractions import ENVIRONMENT, run


@pytest.mark.parametrize(("terms", "lanes", "is_unsigned"), sampled([1, 12, 16, 23, 32, 37, 70], [4, 8], [False, True]))
def test_runs_and_what_is_left_of_them(terms: int, lanes: int, is_unsigned: bool, tmp_path: Path) -> None:
    """No whole run, a run, several; steps after them, the last one not filled; bytes of any sign."""
    rng = np.random.default_rng(terms)
    low = 0 if is_unsigned else -128
    x, w = rng.integers(low, low + 256, (5, terms)), rng.integers(-128, 128, (lanes + 1, terms))
    x[0], w[0] = low, -128
    x[1] = low + 255
    shapes = tensor(x.shape, "i8"), tensor(w.shape, "i8")
    text = f"""
      func.func @main(%x: {shapes[0]}) -> {tensor((5, lanes + 1), "i32")} {{
        %w = {constant(w.astype(np.int8), "i8")}
        %r = kernel.matmul ins(%x, %w : {shapes[0]}, {shapes[1]}) -> {tensor((5, lanes + 1), "i32")} attributes {{
          {"input_unsigned, " if is_unsigned else ""}input_zero_point = 7 : i32,
          schedule = #kernel.schedule<variant = "s8s8_lanes", rows = 2, vectors = 2, lanes = {lanes}>}} {{
        ^bb0(%acc: i32):
          kernel.yield %acc : i32
        }}
        func.return %r : {tensor((5, lanes + 1), "i32")}
      }}"""
    module = parse_module(ENVIRONMENT.new_context(), text)
    run(module, "kernel-assign-schedule,kernel-pack")
    inputs, expected = [x.astype(np.uint8).view(np.int8)], (x - 7) @ w.T
    (found,) = interpret(module, inputs).values()
    np.testing.assert_array_equal(found, expected)
    run(module, "kernel-bufferize,kernel-outline,kernel-plan-memory,convert-kernel-to-loops,simd-legalize")
    (found,) = interpret(module, inputs).values()
    np.testing.assert_array_equal(found, expected)
    (found,) = loaded(module, tmp_path)(inputs).values()
    np.testing.assert_array_equal(found, expected)
