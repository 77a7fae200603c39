"""The schedules that a contraction may have, and what makes two contractions one kernel."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.kernel.attributes import isa_names
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.variants import variant_named
from qmlir.environment import default_environment
from qmlir.extensions.search.schedules import candidates, kernel_identity
from qmlir.targets.cpu.scheduled.schedule import schedule_for
from qmlir.text.parsing import parse_module

_CONV = """
func.func @main(%x: tensor<1x9x9x8xi8>) -> tensor<1x7x7x16xi32> {
  %w = arith.constant dense<1> : tensor<16x3x3x8xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x9x9x8xi8>, tensor<16x3x3x8xi8>) -> tensor<1x7x7x16xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x7x7x16xi32>
}
"""


def _matmul(element: str, total: str, more: str = "", rows: int = 12, channels: int = 64) -> str:
    x, w, y = f"tensor<{rows}x16x{element}>", f"tensor<{channels}x16x{element}>", f"tensor<{rows}x{channels}x{total}>"
    return f"""
func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %0 = kernel.matmul ins(%x, %w : {x}, {w}) -> {y} {more} {{
  ^bb0(%acc: {total}):
    kernel.yield %acc : {total}
  }}
  func.return %0 : {y}
}}
"""


def _parsed(text: str) -> tuple[ModuleOp, ContractionOp]:
    module = parse_module(default_environment().new_context(), text, "test")
    return module, next(op for op in module.walk() if isinstance(op, ContractionOp))


@pytest.mark.parametrize("isa", isa_names())
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("text", [_CONV, _matmul("i8", "i32"), _matmul("f32", "f32")], ids=["conv", "bytes", "floats"])
def test_the_first_is_that_of_the_table_and_each_is_there_once(text: str, isa: str, threads: int) -> None:
    _, op = _parsed(text)
    found = candidates(op, isa, threads)
    assert found[0] == schedule_for(op, isa, threads)
    assert len(found) == len(set(found)) > 1
    registers = 16 if isa in ("generic", "avx2", "avx2-vnni", "wasm-simd") else 32
    assert all(each.rows * each.vectors < registers for each in found)
    assert threads == 2 or not any(each.threads for each in found)


def test_a_single_sum_may_be_made_in_several_ways() -> None:
    _, op = _parsed(_matmul("i8", "i32", rows=1, channels=1))
    assert len(candidates(op, "avx512-vnni", 1)) > 1


@pytest.mark.parametrize(("rows", "channels", "is_tried"), [(1, 16384, True), (64, 16384, False), (1, 64, False)])
def test_distances_are_tried_for_large_weights_that_are_read_once(rows: int, channels: int, is_tried: bool) -> None:
    _, op = _parsed(_matmul("i8", "i32", rows=rows, channels=channels))
    distances = {each.ahead for each in candidates(op, "avx512-vnni", 1)}
    assert distances == ({0, 2048, 4096} if is_tried else {0})


def test_what_is_divided_is_there_undivided_too() -> None:
    _, op = _parsed(_matmul("i8", "i32", rows=4096))
    found = candidates(op, "generic", 2)
    assert {each.threads for each in found} == {False, True}
    assert sum(each.threads for each in found) * 2 == len(found)


def test_floats_keep_the_loops_that_decide_their_rounding() -> None:
    _, op = _parsed(_matmul("f32", "f32"))
    assert {each.variant for each in candidates(op, "avx2", 1)} == {schedule_for(op, "avx2", 1).variant}


def test_algorithms_are_there_where_they_fit() -> None:
    _, conv = _parsed(_CONV)
    assert {"winograd", "winograd_f4", "winograd_f4_bytes", "splat"} == {
        each.variant for each in candidates(conv, "generic", 1)
    }
    _, product = _parsed(_matmul("i8", "i32"))
    assert "winograd" not in {each.variant for each in candidates(product, "generic", 1)}


_DEPTHWISE = """
func.func @main(%x: tensor<1x9x9x8xi8>, %w: tensor<8x3x3x1xi8>) -> tensor<1x7x7x8xi32> {
  %0 = kernel.conv ins(%x, %w : tensor<1x9x9x8xi8>, tensor<8x3x3x1xi8>) -> tensor<1x7x7x8xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x7x7x8xi32>
}
"""


@pytest.mark.parametrize(("isa", "variant"), [("avx2", "depthwise_pairs"), ("avx512-vnni", "depthwise_dot")])
def test_interleaved_rows_are_as_many_registers_in_each(isa: str, variant: str) -> None:
    _, op = _parsed(_DEPTHWISE)
    found = candidates(op, isa, 1)
    own = [each for each in found if each.variant == variant]
    assert {each.variant for each in found} >= {variant, "depthwise"}
    assert {each.vectors for each in own} == {variant_named(variant).group} == {each.k_unroll for each in own}
    assert len({each.rows for each in own}) > 1


def test_numbers_and_names_do_not_make_another_kernel() -> None:
    _, op = _parsed(_matmul("i8", "i32"))
    _, same = _parsed(
        _matmul("i8", "i32", 'attributes {input_zero_point = 3 : i32, input_total = 9 : i64, origin = "fc1"}')
    )
    _, unsigned = _parsed(_matmul("i8", "i32", "attributes {input_unsigned}"))
    _, larger = _parsed(_matmul("i8", "i32", rows=13))
    identity = kernel_identity(op, "avx2", 1)
    assert identity == kernel_identity(same, "avx2", 1)
    others = [
        kernel_identity(unsigned, "avx2", 1), kernel_identity(larger, "avx2", 1), kernel_identity(op, "avx2", 2),
        kernel_identity(op, "generic", 1),
    ]  # fmt: skip
    assert len({identity, *others}) == 5


def test_known_weights_and_an_epilogue_make_another_kernel() -> None:
    _, op = _parsed(_CONV)
    text = _CONV.replace("kernel.yield %acc", "%1 = arith.addi %acc, %acc : i32\n    kernel.yield %1")
    _, longer = _parsed(text)
    assert "constant" in kernel_identity(op, "avx2", 1)
    assert kernel_identity(longer, "avx2", 1) == kernel_identity(op, "avx2", 1) + " | arith.addi i32"
