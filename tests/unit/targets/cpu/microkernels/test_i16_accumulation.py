"""Sums of pairs of bytes in 16 bits: what the loops give at every edge, and which weights they are for."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.pipelines import COMPILE
from qmlir.text.parsing import parse_module
from tests.support.contractions import Array, Case, constant, convolved, tensor
from tests.support.emitted import loaded
from tests.unit.targets.cpu.loops.test_contractions import ENVIRONMENT, check, loops, run

_EDGES = (-128, -127, -65, -64, -1, 0, 1, 2, 64, 65, 127)


def _is_short(w: Array, steps: int) -> bool:
    """The rule itself, written out: 255 times the weights of one sign of each sum stays in 16 bits."""
    for row in w.tolist():
        for first, position in product(range(0, len(row), 4 * steps), (0, 2)):
            own = [row[at : at + 2] for at in range(first + position, min(first + 4 * steps, len(row)), 4)]
            low, high = (255 * sum(limit(each, 0) for pair in own for each in pair) for limit in (min, max))
            if low < -(1 << 15) or high >= 1 << 15:
                return False
    return True


def _case(x: Array, w: Array, *, is_conv: bool = False) -> Case:
    """Products of `x` in the signed or the convolution of an image by a window that moves by 2."""
    kind, attributes, wide = "matmul", "", x.astype(np.int64)
    if is_conv:
        kind, attributes = (
            "conv",
            " attributes {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, groups = 1 : i64}",
        )
    sums = convolved(wide, w.astype(np.int64), (2, 2), (1, 1), 1) if is_conv else wide @ w.astype(np.int64).T
    text = f"""
      func.func @main(%x: {tensor(x.shape, "i8")}) -> {tensor(sums.shape, "i32")} {{
        %w = {constant(w.astype(np.int8), "i8")}
        %r = kernel.{kind} ins(%x, %w : {tensor(x.shape, "i8")}, {tensor(w.shape, "i8")})
            -> {tensor(sums.shape, "i32")}{attributes} {{
        ^bb0(%acc: i32):
          kernel.yield %acc : i32
        }}
        func.return %r : {tensor(sums.shape, "i32")}
      }}"""
    return Case(text, [x.astype(np.int8)], sums)


def _variant(case: Case, isa: str = "avx2") -> str:
    module = parse_module(ENVIRONMENT.new_context(), case.text)
    run(module, f'kernel-assign-schedule{{isa="{isa}"}}')
    return _variants(module)[0]


def _variants(module: ModuleOp) -> list[str]:
    return [op.schedule.variant for op in module.walk() if isinstance(op, ContractionOp) and op.schedule is not None]


def test_every_pair_of_edges_is_chosen_by_the_rule() -> None:
    x = np.zeros((9, 4), np.int8)
    for pair in product(_EDGES, repeat=2):
        # The other pair needs all 8 bits and is short, so that no variant of fewer bits is in question.
        found = _variant(_case(x, np.array([[*pair, -128, 0]])))
        assert (found == "u8s8_short4") == _is_short(np.array([pair]), 1), pair
        assert found in ("u8s8_short4", "i16_pairs"), pair


@pytest.mark.parametrize("seed", range(6))
def test_the_most_steps_that_the_weights_prove_are_chosen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w = np.array([[*rng.integers(-20, 21, 31), -128]])  # 8 bits
    w[0, 1:31] = np.clip(w[0, 1:31] * (1 + seed // 2), -127, 127)
    w[0, 30] = 0
    short = [steps for steps in (4, 2, 1) if _is_short(w, steps)]
    wanted = {4: "u8s8_short4", 2: "u8s8_short2", 1: "u8s8_short"}.get(max(short, default=0), "i16_pairs")
    assert _variant(_case(np.zeros((1, 32)), w)) == wanted


@pytest.mark.parametrize("isa", ["avx2-vnni", "avx512-vnni"])
def test_where_there_are_dot_products_of_bytes_these_are_taken(isa: str) -> None:
    assert _variant(_case(np.zeros((1, 4)), np.array([[127, 1, -128, 0]])), isa) == "u8s8_dot"


def _compiled(module: ModuleOp, inputs: list[Any], folder: Path) -> Array:
    (found,) = loaded(module, folder)(inputs).values()
    return found


@pytest.mark.parametrize(("steps", "name"), [(1, "u8s8_short"), (2, "u8s8_short2"), (4, "u8s8_short4")])
def test_no_sum_saturates_at_any_edge(steps: int, name: str, tmp_path: Path) -> None:
    """The largest weights that are short, in each of the places that are added, by the smallest and largest bytes."""
    terms = 4 * steps + 4
    rows: list[Array] = []
    for first, second in ((127, 1), (128 - 64, 64), (-128, 0), (-127, -1), (-64, -64), (127, -128)):
        for one, other in product(range(2 * steps), repeat=2):
            row = np.zeros(terms, np.int64)
            row[one // 2 * 4 + one % 2] += first
            row[other // 2 * 4 + other % 2] += second
            if row.max() < 128 and row.min() >= -128 and _is_short(row[None], steps):
                rows.append(row)
    row = np.zeros(terms, np.int64)
    row[[0, 4 * steps]] = 127, 127  # too much for more steps
    rows.append(row)
    rng = np.random.default_rng(steps)
    x = rng.choice([-128, -127, 126, 127], (29, terms))
    x[0], x[1] = -128, 127
    w = np.array(rows)
    case = _case(x, w)
    assert _variant(case) == name
    (found,) = interpret(loops(case, "avx2"), case.inputs).values()
    check(found, case)
    check(_compiled(loops(case, "avx2"), case.inputs, tmp_path), case)


def test_a_convolution_of_odd_sizes(tmp_path: Path) -> None:
    """Three channels and taps of three: a run of nine terms, whose last step is padded."""
    rng = np.random.default_rng(3)
    w = rng.integers(-30, 31, (11, 3, 3, 3))
    w[:, 0, 0, 0], w[:, 0, 0, 1] = -98, 97
    case = _case(rng.integers(-128, 128, (1, 9, 7, 3)), w, is_conv=True)
    assert _variant(case).startswith("u8s8_short")
    module = loops(case, "avx2")
    (found,) = interpret(module, case.inputs).values()
    check(found, case)
    check(_compiled(module, case.inputs, tmp_path), case)


_MODEL = """
func.func @main(%x: tensor<1x6x9x9xf32> {nn.name = "x"}) -> (tensor<1x5xf32> {nn.name = "y"}) {
  %w0 = nn.constant dense<"0xW0"> : tensor<10x6x1x1xf32>
  %w1 = nn.constant dense<"0xW1"> : tensor<8x5x3x3xf32>
  %w2 = nn.constant dense<"0xW2"> : tensor<9x8x2x3xf32>
  %w3 = nn.constant dense<"0xW3"> : tensor<5x18xf32>
  %0 = nn.conv %x, %w0 : (tensor<1x6x9x9xf32>, tensor<10x6x1x1xf32>) -> tensor<1x10x9x9xf32> {origin = "a"}
  %1 = nn.relu %0 : tensor<1x10x9x9xf32>
  %2 = nn.conv %1, %w1 {strides = array<i64: 2, 2>, groups = 2 : i64}
      : (tensor<1x10x9x9xf32>, tensor<8x5x3x3xf32>) -> tensor<1x8x4x4xf32> {origin = "b"}
  %3 = nn.relu %2 : tensor<1x8x4x4xf32>
  %4 = nn.conv %3, %w2 {dilations = array<i64: 3, 1>, strides = array<i64: 1, 1>}
      : (tensor<1x8x4x4xf32>, tensor<9x8x2x3xf32>) -> tensor<1x9x1x2xf32> {origin = "c"}
  %5 = nn.relu %4 : tensor<1x9x1x2xf32>
  %6 = nn.reshape %5 : (tensor<1x9x1x2xf32>) -> tensor<1x18xf32>
  %7 = nn.matmul %6, %w3 {transpose_b = true} : (tensor<1x18xf32>, tensor<5x18xf32>) -> tensor<1x5xf32> {origin = "d"}
  func.return %7 : tensor<1x5xf32>
}
"""


def _model(rng: np.random.Generator) -> ModuleOp:
    text = _MODEL
    for name, count in (("W0", 60), ("W1", 360), ("W2", 432), ("W3", 90)):
        text = text.replace(name, rng.normal(size=count).astype(np.float32).tobytes().hex())
    return parse_module(ENVIRONMENT.new_context(), text)


def _lowered_variants(quantized: ModuleOp) -> list[str]:
    lowered = quantized.clone()
    run(lowered, COMPILE.text("lower", "fuse") + ',kernel-assign-schedule{isa="avx2"}')
    return _variants(lowered)


@pytest.mark.parametrize(("steps", "count"), [(1, 1), (2, 1), (2, 8), (4, 1)])
def test_weights_with_short_sums_get_these_loops(steps: int, count: int) -> None:
    """The order in which the pass adds terms is that of the kernels, for windows of every kind, whatever chooses the
    codes: the error of weights, or with enough samples to judge it that of products."""
    rng = np.random.default_rng(steps)
    module = _model(rng)
    data = [{"x": rng.normal(size=(1, 6, 9, 9)).astype(np.float32)} for _ in range(count)]
    found = qmlir.quantize(module, data, accumulator_bits=16, accumulator_pairs=steps, validate=False)
    plain = qmlir.quantize(module, data, effort=0, validate=False).module
    accepted = {f"u8s8_short{each if each > 1 else ''}" for each in (1, 2, 4) if each >= steps}
    chosen = _lowered_variants(found.module)
    assert len(chosen) == 4
    assert set(chosen) <= accepted
    assert "i16_pairs" in _lowered_variants(plain)
    assert (found.repair is not None) == (count > 1)
    if found.repair is not None:
        assert found.repair.passes == f"quant-fit-i16-accumulators{{steps={steps}}},quant-correct-bias"
    (signal,), (noisy,) = (qmlir.interpret(each, data[0]).values() for each in (module, found.module))
    assert np.sum((noisy - signal) ** 2) < {1: 1e-3, 2: 1e-2, 4: 4e-2}[steps] * np.sum(signal**2)


def test_other_numbers_of_pairs_are_refused() -> None:
    module, data = _model(np.random.default_rng(0)), [{"x": np.zeros((1, 6, 9, 9), np.float32)}]
    with pytest.raises(DiagnosticError, match="accumulator_pairs must be one of 1, 2, 4, but got 3"):
        qmlir.quantize(module, data, accumulator_bits=16, accumulator_pairs=3)
    with pytest.raises(DiagnosticError, match="accumulator_bits has no effect on training"):
        qmlir.trainable(module, data, accumulator_bits=16, accumulator_pairs=2)
