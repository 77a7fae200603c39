"""Few rows by matrices of bytes that are read as they are: sums by hand, interpreted and compiled."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from benchmarks.emitted import BUILDS, differing_bits, run_c
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.packed_ops import PackedMatMulOp
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.interpreter.run import interpret
from qmlir.targets.cpu.host import host_isa, runs_here
from qmlir.text.parsing import parse_module
from tests.support.contractions import Array, Case, tensor
from tests.support.emitted import loaded, parsed
from tests.support.sampled import sampled
from tests.unit.targets.cpu.loops.test_contractions import ENVIRONMENT, check, loops, run

LAST = -(1 << 15)


def case(x: Array, w: Array, *, zero_points: tuple[int, int], is_turned: bool) -> Case:
    """Products of `x` `[B, G, K]` by matrices `[B, N, K]`, which memory holds as `[B, K, N]` if they are turned."""
    sums = (x.astype(np.int64) - zero_points[0]) @ (w.astype(np.int64) - zero_points[1]).swapaxes(1, 2)
    given, result = tensor(x.shape, f"i{8 * x.itemsize}"), tensor(sums.shape, "i32")
    held = np.ascontiguousarray(w.swapaxes(1, 2)) if is_turned else w
    read, moved = tensor(held.shape, "i8"), tensor(w.shape, "i8")
    turn = f"""
        %e = tensor.empty() : {moved}
        %w = linalg.generic {{
          indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
          iterator_types = ["parallel", "parallel", "parallel"]
        }} ins(%v : {read}) outs(%e : {moved}) {{
        ^bb0(%a: i8, %o: i8):
          linalg.yield %a : i8
        }} -> {moved}"""
    text = f"""
      func.func @main(%x: {given}, %{"v" if is_turned else "w"}: {read}) -> {result} {{
        {turn if is_turned else ""}
        %r = kernel.matmul ins(%x, %w : {given}, {moved}) -> {result} attributes {{
            input_zero_point = {zero_points[0]} : i32, weight_zero_point = {zero_points[1]} : i32}} {{
        ^bb0(%acc: i32):
          kernel.yield %acc : i32
        }}
        func.return %r : {result}
      }}"""
    return Case(text, [x, held], sums)


def drawn(seed: int) -> Case:
    """Any sizes that the variants are for: heads, rows that share a matrix, terms and channels."""
    rng = np.random.default_rng(seed)
    batch, rows, is_turned = 2, int(rng.integers(1, 5)), bool(seed % 2)
    terms, channels = (2 * int(rng.integers(1, 12)), int(rng.choice([16, 32, 48, 64, 80, 128, 192])))
    if not is_turned:
        terms, channels = 32 * int(rng.choice([1, 2, 3, 9])), int(rng.integers(1, 22))
    dtype = rng.choice([np.int8, np.int16])
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, (batch, rows, terms), dtype, endpoint=True)
    zero_point = int(rng.integers(-128, 128))
    if dtype == np.int16:
        zero_point = LAST if is_turned else 0
        x = x if rng.random() < 0.5 else np.where(rng.random(x.shape) < 0.9, LAST, 32767).astype(np.int16)
        x[..., 64 if is_turned else 30000 :] = LAST  # sums that fit in 32 bits
        x = (x // 64 if not is_turned else x).astype(np.int16)
    w = rng.integers(-128, 128, (batch, channels, terms), np.int8)
    return case(x, w, zero_points=(zero_point, int(rng.integers(-128, 128))), is_turned=is_turned)


def variant(each: Case, isa: str) -> str:
    """The variant that a case is scheduled for."""
    module = parse_module(ENVIRONMENT.new_context(), each.text)
    run(module, f'kernel-assign-schedule{{isa="{isa}"}}')
    (found,) = (
        op.schedule.variant for op in module.walk() if isinstance(op, ContractionOp) and op.schedule is not None
    )
    return found


@pytest.mark.parametrize(("isa", "seed"), sampled(["avx2", "avx512-vnni"], range(8)))
def test_interpreted(isa: str, seed: int) -> None:
    each = drawn(seed)
    assert variant_named(variant(each, isa)).is_unpacked
    (found,) = interpret(loops(each, isa, threads=1 + seed % 2), each.inputs).values()
    check(found, each)


@pytest.mark.parametrize("seed", range(6))
def test_compiled(seed: int, tmp_path: Path) -> None:
    each = drawn(seed)
    module = loops(each, host_isa(), threads=1 + seed // 2 % 2)
    (found,) = loaded(module, tmp_path, ("numba", "llvm")[seed // 3])(each.inputs).values()
    check(found, each)


@pytest.mark.parametrize(
    ("isa", "channels", "wanted"),
    [
        ("avx2", 16, "i16_shifted_rows"), ("avx512-vnni", 48, "i16_shifted_rows"),
        ("avx2-vnni", 32, "u16_rows"), ("avx512-vnni", 64, "u16_rows"),
    ],
)  # fmt: skip
def test_the_largest_sums_of_probabilities(isa: str, channels: int, wanted: str, tmp_path: Path) -> None:
    """One probability of 1, and sums of weights whose product by 2^15 leaves 32 bits: they wrap, and wrap back."""
    x = np.full((2, 1, 4096), LAST, np.int16)
    x[:, :, 77] = 32767
    w = np.full((2, channels, 4096), -128, np.int8)
    each = case(x, w, zero_points=(LAST, 127), is_turned=True)
    assert variant(each, isa) == wanted
    assert (each.expected == 65535 * -255).all()
    if runs_here(isa):
        (found,) = loaded(loops(each, isa), tmp_path, "llvm")(each.inputs).values()
        check(found, each)


@pytest.mark.parametrize("isa", ["avx2-vnni", "avx512-vnni"])
@pytest.mark.parametrize(("terms", "channels", "rows"), [(4, 64, 1), (36, 192, 3), (12, 128, 4)])
def test_each_channel_of_words_has_its_own_sum(isa: str, terms: int, channels: int, rows: int) -> None:
    """Bytes are interleaved by blocks, so that sums are in another order until the end."""
    rng = np.random.default_rng(terms)
    x = rng.integers(LAST, 32767, (2, rows, terms), np.int16, endpoint=True)
    w = rng.integers(-128, 128, (2, channels, terms), np.int8)
    each = case(x, w, zero_points=(LAST, -5), is_turned=True)
    assert variant(each, isa) == "u16_rows"
    (found,) = interpret(loops(each, isa), each.inputs).values()
    check(found, each)


def test_words_with_another_zero_point() -> None:
    """A schedule written by hand may ask for them: sums of the weights make up for the offset."""
    rng = np.random.default_rng(0)
    x, w = rng.integers(-99, 99, (2, 1, 8), np.int16), rng.integers(-128, 128, (2, 64, 8), np.int8)
    each = case(x, w, zero_points=(77, 3), is_turned=True)
    assert variant(each, "avx512-vnni") != "u16_rows"
    asked = '{schedule = #kernel.schedule<variant = "u16_rows", rows = 1, vectors = 4, lanes = 16>, '
    each = replace(each, text=each.text.replace("attributes {", f"attributes {asked}"))
    (found,) = interpret(loops(each, "avx512-vnni"), each.inputs).values()
    check(found, each)


def _packed(each: Case) -> PackedMatMulOp:
    module = parse_module(ENVIRONMENT.new_context(), each.text)
    run(module, 'kernel-assign-schedule{isa="avx2"},kernel-pack')
    (found,) = (op for op in module.walk() if isinstance(op, PackedMatMulOp))
    return found


@pytest.mark.parametrize("is_turned", [False, True])
def test_no_byte_of_the_matrices_is_moved(is_turned: bool) -> None:
    """The operand is the argument in another shape."""
    x, w = np.zeros((2, 1, 32), np.int8), np.zeros((2, 16, 32), np.int8)
    found = _packed(case(x, w, zero_points=(3, 5), is_turned=is_turned))
    (argument,) = found.w.owner.operands
    assert found.w.owner.name == "kernel.reshape"
    assert argument is found.parent_block().args[1]


@pytest.mark.parametrize(
    ("shapes", "is_turned"),
    [
        (((2, 5, 32), (2, 16, 32)), False),  # five rows share a matrix
        (((2, 1, 24), (2, 16, 24)), False),  # terms that don't fill registers
        (((2, 1, 31), (2, 16, 31)), True),  # an odd number of terms
        (((2, 1, 32), (2, 12, 32)), True),  # channels that don't fill registers
    ],
)
def test_other_matrices_are_packed(shapes: Any, is_turned: bool) -> None:
    x, w = (np.zeros(shape, np.int8) for shape in shapes)
    assert variant(case(x, w, zero_points=(0, 0), is_turned=is_turned), "avx2") == "i16_pairs"


ATTENTION = """
!q = !quant.uniform<i8:f32, 0.03:7>
!s = !quant.uniform<i8:f32, 0.11:-3>
!p = !quant.uniform<i16:f32, 1.52587890625e-05:-32768>
!y = !quant.uniform<i8:f32, 0.01:1>
func.func @main(
    %q: tensor<1x2x1x32x!q> {nn.name = "q"}, %k: tensor<1x2x600x32x!q> {nn.name = "k"},
    %v: tensor<1x2x600x32x!q> {nn.name = "v"}) -> (tensor<1x2x1x32x!y> {nn.name = "y"}) {
  %0 = nn.matmul %q, %k {transpose_b = true} : (tensor<1x2x1x32x!q>, tensor<1x2x600x32x!q>) -> tensor<1x2x1x600x!s>
  %1 = nn.softmax %0 : (tensor<1x2x1x600x!s>) -> tensor<1x2x1x600x!p>
  %2 = nn.matmul %1, %v : (tensor<1x2x1x600x!p>, tensor<1x2x600x32x!q>) -> tensor<1x2x1x32x!y>
  func.return %2 : tensor<1x2x1x32x!y>
}
"""


@pytest.mark.parametrize("sharpness", [0, 1, 127], ids=["alike", "any", "one"])
def test_attention_over_a_cache_is_equal_everywhere(sharpness: int, tmp_path: Path) -> None:
    """Probabilities that are all alike, any, and one of nearly 1 beside 0: by numba, by LLVM, and as C."""
    module, random = parsed(ATTENTION), np.random.default_rng(sharpness)
    keys, values = (random.integers(-128, 128, (1, 2, 600, 32)).astype(np.int8) for _ in range(2))
    inputs = {"q": np.full((1, 2, 1, 32), 7 + min(sharpness, 120), np.int8), "k": keys, "v": values}
    wanted = qmlir.interpret(module, inputs)
    by_hand = quantized_attention(inputs)
    assert np.array_equal(wanted["y"], by_hand)
    for codegen in ("numba", "llvm"):
        assert np.array_equal(qmlir.compile(module, codegen=codegen)(inputs)["y"], by_hand)
    if (build := next(each for each in BUILDS if each.name == "gcc -O2")).is_installed():
        ended, found = run_c(qmlir.emit(module), build, inputs, wanted, tmp_path)
        assert (ended, differing_bits(wanted, found)) == (0, 0)


def quantized_attention(inputs: dict[str, Array]) -> Array:
    """The formulas of the contract in wide integers; the softmax in f64, whose rounding is far below a half step."""
    q, k, v = (inputs[name].astype(np.int64) - 7 for name in "qkv")
    scale = np.float32(np.float32(0.03) * np.float32(0.03)) / np.float32(0.11)
    scores = np.clip(np.rint((q @ k.swapaxes(-1, -2)).astype(np.float32) * scale) - 3, -128, 127) + 3
    raised = np.exp(np.float64(np.float32(0.11)) * (scores - scores.max(axis=-1, keepdims=True)))
    steps = np.clip(np.rint(raised / raised.sum(axis=-1, keepdims=True) * 65536), 0, 65535).astype(np.int64)
    last = np.float32(np.float32(2.0**-16) * np.float32(0.03)) / np.float32(0.01)
    return np.clip(np.rint((steps @ v).astype(np.float32) * last) + 1, -128, 127).astype(np.int8)


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_probabilities_add_up_to_their_bound_at_most(seed: int) -> None:
    """Rows of any length and sharpness, with elements that all round up: what the type promises is kept."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 3000))
    text = f"""
    !s = !quant.uniform<i8:f32, {random.choice([0.01, 0.3, 4.0])}>
    !p = !quant.uniform<i16:f32, 1.52587890625e-05:-32768>
    func.func @main(%x: tensor<4x{count}x!s>) -> tensor<4x{count}x!p> {{
      %0 = nn.softmax %x : (tensor<4x{count}x!s>) -> tensor<4x{count}x!p>
      func.return %0 : tensor<4x{count}x!p>
    }}"""
    module = parsed(text)
    (softmax,) = (op for op in module.walk() if isinstance(op, SoftmaxOp))
    bound = softmax.row_total()
    scores = random.integers(-128, 128, (4, count)).astype(np.int8)
    scores[1], scores[2] = 5, random.choice([-128, 127], count)
    (found,) = interpret(module, [scores]).values()
    assert bound is not None
    assert (found.astype(np.int64) + 32768).sum(axis=-1).max() <= bound <= 65537 + count // 2 + 1
