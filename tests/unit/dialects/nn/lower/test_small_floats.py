"""Floats of 8 bits and fewer at the integer level, where they are bits: every code, and f32 of every exponent."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import Float4E2M1FNType, Float8E5M2Type
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.small_floats import PowerRounding
from qmlir.interpreter.differences import first_changed
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import DTYPES
from qmlir.ir.passes import EVERY_BIT
from qmlir.ir.verification import verify
from qmlir.targets.cpu.compiler import compile_module
from qmlir.text.parsing import parse_module
from tests.unit.dialects.nn.lower.driver import ENVIRONMENT, check, lowered, module_of

FORMATS = [kind() for kind in DTYPES]
QUANTIZED = [each for each in FORMATS if each.SEMANTICS.has_sign]


def _reals() -> np.ndarray[Any, Any]:
    """Bits of f32: each exponent with mantissas around where the formats round, both signs, NaN and infinities."""
    exponents = np.arange(256, dtype=np.uint32)[:, None] << 23
    tops = np.arange(64, dtype=np.uint32) << 17
    near = np.array([0, 1, 0xFFFF, 0x10000, 0x10001, 0x1FFFF], np.uint32)
    bits = (exponents[:, :, None] | tops[:, None] | near).reshape(-1)
    return np.concatenate([bits, bits | 0x80000000]).view(np.float32)


def _same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype
        if array.dtype == np.float32:
            np.testing.assert_array_equal(found[name], array)
            continue
        first, second = (each.view(np.uint8) for each in (found[name], array))
        is_nan = np.isnan(array.astype(np.float32))
        np.testing.assert_array_equal(first[~is_nan], second[~is_nan])
        assert np.isnan(found[name][is_nan].astype(np.float32)).all()


@pytest.mark.parametrize("format_", FORMATS, ids=str)
def test_every_code_is_read(format_: Any) -> None:
    codes = np.arange(1 << format_.bitwidth, dtype=np.uint8).view(DTYPES[type(format_)])
    module = module_of("nn.cast", [f"tensor<{codes.size}x{format_}>"], [f"tensor<{codes.size}xf32>"])
    wanted = interpret(module, [codes])
    _same(interpret(lowered(module), [codes]), wanted)


@pytest.mark.parametrize("format_", FORMATS, ids=str)
@pytest.mark.parametrize("saturate", [True, False])
def test_every_exponent_is_written(format_: Any, saturate: bool) -> None:
    reals = _reals()
    roundings = PowerRounding if str(format_) == "f8E8M0FNU" else [None]
    for rounding in roundings:
        mode = "" if rounding is None else f', round_mode = "{rounding}"'
        module = module_of(
            f"nn.cast {{saturate = {str(saturate).lower()}{mode}}}",
            [f"tensor<{reals.size}xf32>"], [f"tensor<{reals.size}x{format_}>"],
        )  # fmt: skip
        _same(interpret(lowered(module), [reals]), interpret(module, [reals]))


@pytest.mark.parametrize("format_", QUANTIZED, ids=str)
@pytest.mark.parametrize("expressed", ["f32", "f16", "f64"])
def test_quantized_types(format_: Any, expressed: str) -> None:
    layouts = f"{format_}:{expressed}, 0.3", f"{format_}:{expressed}:1, {{0.3, 0.125, 7.0}}"
    for layout in (*layouts, f"{format_}:{expressed}:{{0:2}}, {{{{0.25, 0.5, 1.5}}, {{3.0, 0.75, 0.125}}}}"):
        real, quantized = f"tensor<4x3x{expressed}>", f"tensor<4x3x!quant.uniform<{layout}>>"
        for operation, operand, result in (("quant.qcast", real, quantized), ("quant.dcast", quantized, real)):
            text = f"""func.func @main(%x: {operand}) -> {result} {{
              %0 = {operation} %x : {operand} to {result}
              func.return %0 : {result}
            }}"""
            _check_text(text)


def _check_text(text: str) -> None:
    module = parse_module(ENVIRONMENT.new_context(), text)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    after = lowered(module)
    for seed in range(3):
        inputs = random_inputs(function, seed)
        changed = first_changed(interpret(module, inputs), interpret(after, inputs), EVERY_BIT)
        assert changed is None, str(changed)


@pytest.mark.parametrize("element", ["f8E4M3FN", "f4E2M1FN", "!quant.uniform<f8E5M2:f32, 0.5>"])
def test_movement(element: str) -> None:
    x, i64 = f"tensor<4x6x{element}>", "tensor<2xi64>"
    check("nn.transpose {permutation = array<i64: 1, 0>}", [x], [f"tensor<6x4x{element}>"])
    check("nn.reshape", [x], [f"tensor<24x{element}>"])
    check("nn.concat {axis = 0 : i64}", [x, x], [f"tensor<8x6x{element}>"])
    check("nn.gather {axis = 1 : i64}", [x, i64], [f"tensor<4x2x{element}>"])
    check("nn.where", ["tensor<4x6xi1>", x, x], [x])


MODEL = """
!w = !quant.uniform<f8E4M3FN:f32:0, {0.5, 0.25}>
!n = !quant.uniform<f4E2M1FN:f32, 0.125>
func.func @main(%x: tensor<3x4xf32> {nn.name = "x"}, %n: tensor<3x2x!n> {nn.name = "n"})
    -> (tensor<3x2x!n> {nn.name = "narrow"}, tensor<3x4xf8E5M2> {nn.name = "cast"}, tensor<3x2xi4> {nn.name = "bits"}) {
  %w = nn.constant dense<[[1.0, -2.0, 0.5, 448.0], [0.0, 3.5, -1.75, 0.0625]]> : tensor<2x4xf8E4M3FN> -> tensor<2x4x!w>
  %0 = quant.dcast %w : tensor<2x4x!w> to tensor<2x4xf32>
  %1 = nn.matmul %x, %0 {transpose_b = true} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  %2 = quant.dcast %n : tensor<3x2x!n> to tensor<3x2xf32>
  %3 = nn.add %1, %2 : tensor<3x2xf32>
  %4 = quant.qcast %3 : tensor<3x2xf32> to tensor<3x2x!n>
  %5 = nn.cast %x {saturate = false} : (tensor<3x4xf32>) -> tensor<3x4xf8E5M2>
  %6 = quant.scast %n : tensor<3x2x!n> to tensor<3x2xf4E2M1FN>
  %7 = nn.bit_cast %6 : (tensor<3x2xf4E2M1FN>) -> tensor<3x2xi4>
  func.return %4, %5, %7 : tensor<3x2x!n>, tensor<3x4xf8E5M2>, tensor<3x2xi4>
}"""


def test_a_program_takes_and_gives_them_as_numpy_has_them() -> None:
    module = parse_module(ENVIRONMENT.new_context(), MODEL)
    verify(module)
    program = compile_module(module, emitter="llvm")
    random = np.random.default_rng(0)
    narrow, wide = np.dtype(DTYPES[Float4E2M1FNType]), np.dtype(DTYPES[Float8E5M2Type])
    x = random.standard_normal((3, 4)).astype(np.float32)
    inputs = {"x": x, "n": random.integers(0, 16, (3, 2), np.uint8).view(narrow)}
    given = np.zeros((3, 2), narrow)
    found, wanted = program(inputs, {"narrow": given}), interpret(module, inputs)
    assert found["narrow"] is given
    assert [found[name].dtype for name in ("narrow", "cast", "bits")] == [narrow, wide, np.dtype(np.int8)]
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name].view(np.uint8), array.view(np.uint8))
    with pytest.raises(ValueError, match=r"input 'n' must be in \[0, 15\], but got 255 at \[0, 0\]"):
        program({"x": x, "n": np.full((3, 2), 255, np.uint8).view(narrow)})
    with pytest.raises(ValueError, match="input 'x' is NaN"):
        program({"x": np.full((3, 4), np.nan, np.float32), "n": inputs["n"]})
