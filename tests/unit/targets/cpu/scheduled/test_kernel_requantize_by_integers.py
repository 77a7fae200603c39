"""Requantizations in integers: every way that the pass has gives the integers of the reference functions."""

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode, requantize_f32, requantize_qlinear
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler
from qmlir.passmanager.running import run_pipeline
from tests.support.emitted import parsed
from tests.support.residual import residual_network

LIMITS = {8: (-128, 127), 16: (-32768, 32767)}


def _module(channels: int, places: int, mode: Mode, multipliers: Array, zero_point: int, bits: int) -> ModuleOp:
    blob = multipliers.astype(np.float32).tobytes().hex().upper()
    dense = f'"0x{blob}"' if channels > 1 else repr(float(np.float32(multipliers[0])))
    low, high = LIMITS[bits]
    shape = f"{places}x{channels}"
    return parsed(f"""
func.func @main(%x: tensor<{shape}xi32>) -> tensor<{shape}xi{bits}> {{
  %m = arith.constant dense<{dense}> : tensor<{channels}xf32>
  %e = tensor.empty() : tensor<{shape}xi{bits}>
  %r = linalg.generic {{
      indexing_maps = [
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %m : tensor<{shape}xi32>, tensor<{channels}xf32>) outs(%e : tensor<{shape}xi{bits}>) {{
  ^bb0(%a: i32, %f: f32, %o: i{bits}):
    %q = kernel.requantize %a, %f {{
      mode = #kernel.requantize<{mode}>, zero_point = {zero_point}, minimum = {low}, maximum = {high}
    }} : i32, f32 -> i{bits}
    linalg.yield %q : i{bits}
  }} -> tensor<{shape}xi{bits}>
  func.return %r : tensor<{shape}xi{bits}>
}}
""")


def _reference(mode: Mode, x: Array, multipliers: Array, zero_point: int, bits: int) -> Array:
    way = requantize_f32 if mode is Mode.F32 else requantize_qlinear
    return way(x, multipliers.astype(np.float32), zero_point, LIMITS[bits])


def _ties(rng: np.random.Generator, multipliers: Array, places: int) -> Array:
    """Accumulators next to those that are half-way between two results."""
    halves = rng.integers(-300, 300, (places, len(multipliers))) + 0.5
    nearest = np.rint(halves / multipliers) + rng.integers(-1, 2, halves.shape)
    return np.clip(nearest, -(1 << 31), (1 << 31) - 1).astype(np.int32)


def _lowered(module: ModuleOp) -> tuple[ModuleOp, list[Diagnostic]]:
    told: list[Diagnostic] = []
    with diagnostic_handler(told.append):
        made = run_pipeline(module.clone(), "kernel-requantize-by-integers")
    return made, told


# All accumulators of 32 bits: f32 doesn't hold them, and few sums and shifts have their steps.
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("mode", [Mode.F32, Mode.QLINEAR])
@pytest.mark.parametrize("seed", range(4))
def test_accumulators_of_32_bits(seed: int, mode: Mode, bits: int) -> None:
    rng = np.random.default_rng([seed, bits])
    channels, places = int(rng.choice([1, 5])), 3000
    multipliers = (2.0 ** rng.uniform(-24, -3) * 2.0 ** rng.uniform(0, 4, channels)).astype(np.float32)
    zero_point = int(rng.integers(*LIMITS[bits]))
    made, told = _lowered(_module(channels, places, mode, multipliers, zero_point, bits))
    (remark,) = told
    assert "by every rounding of f32 in 64 bits" in remark.message or (
        bits == 8 and "proven at each of 255" in remark.message
    )
    assert "f32>)" not in str(made)
    ends = np.array([-(1 << 31), (1 << 31) - 1, 1 << 24, (1 << 24) + 1, -(1 << 24) - 1, 0])
    for x in (
        rng.integers(-(1 << 31), 1 << 31, (places, channels)).astype(np.int32),
        _ties(rng, multipliers, places),
        np.resize(ends, (places, channels)).astype(np.int32),
    ):
        wanted = _reference(mode, x, multipliers, zero_point, bits)
        np.testing.assert_array_equal(qmlir.interpret(made, [x])["output0"], wanted)


def test_multipliers_that_no_word_holds_together() -> None:
    rng = np.random.default_rng(0)
    multipliers = np.array([3.1e-1, 2.7e-9, 1.3e-14, 0.75], np.float32)
    made, told = _lowered(_module(4, 2000, Mode.F32, multipliers, 9, 8))
    (remark,) = told
    assert remark.message.endswith("by every rounding of f32 in 64 bits")
    assert "tensor<4xi8>" in str(made)  # the places of each
    for x in (_ties(rng, multipliers, 2000), rng.integers(-(1 << 31), 1 << 31, (2000, 4)).astype(np.int32)):
        wanted = _reference(Mode.F32, x, multipliers, 9, 8)
        np.testing.assert_array_equal(qmlir.interpret(made, [x])["output0"], wanted)


def test_a_rounding_that_is_wrong_is_found_out() -> None:
    """The half of ties away from even: what a test of random accumulators alone would not see."""
    multipliers = np.array([0.31], np.float32)
    made, _ = _lowered(_module(1, 400, Mode.F32, multipliers, 0, 8))
    x = np.arange(-200, 200, dtype=np.int32).reshape(-1, 1)
    wanted = _reference(Mode.F32, x, multipliers, 0, 8)
    text = str(made)
    assert np.array_equal(qmlir.interpret(made, [x])["output0"], wanted)
    half = re.findall(r"arith\.constant (\d{4,}) : i64", text)
    broken = [parsed(text.replace(number, str(int(number) + 1))) for number in half]
    assert broken
    assert all(not np.array_equal(qmlir.interpret(each, [x])["output0"], wanted) for each in broken)


@pytest.mark.parametrize("accumulator", ["i8", ""])
def test_a_network_with_a_residual_sum_has_no_floats(accumulator: str) -> None:
    module = residual_network(accumulator)
    rng = np.random.default_rng(1)
    x = rng.integers(-128, 128, (1, 4, 8, 8)).astype(np.int8)
    (wanted,) = qmlir.interpret(module, [x]).values()
    emitted = qmlir.emit(module, cpu="cortex-m3")
    text = emitted.files["model.c"]
    assert isinstance(text, str)
    assert not re.search(r"\b(float|double)\b", text)
    for emitter in ("numba", "llvm"):
        program = qmlir.compile(module, isa="portable-integer", emitter=emitter)
        np.testing.assert_array_equal(program([x])["y"], wanted)
