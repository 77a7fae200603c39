"""Running a module before and after a pass: on which inputs, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.interpreter.differences import Execution, inputs_in
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.passes import EVERY_BIT
from qmlir.text.parsing import parse_module


def _module(body: str, size: str = "4", name: str = "main") -> ModuleOp:
    type_ = f"tensor<{size}xf32>"
    text = f'func.func @{name}(%x: {type_} {{nn.name = "x"}}) -> {type_} {{ {body} func.return %r : {type_} }}'
    return parse_module(default_environment().new_context(), text.replace("TYPE", type_))


RELU = '%r = nn.relu %x : TYPE {origin = "relu1"}'
CASTS = (
    "%q = quant.qcast %n : TYPE to tensor<4x!quant.uniform<i8:f32, 1.0>> "
    "%r = quant.dcast %q : tensor<4x!quant.uniform<i8:f32, 1.0>> to TYPE"
)
ABS = '%r = nn.abs %x : TYPE {origin = "relu1"}'


def test_numbers_of_given_inputs_are_compared() -> None:
    positive = Execution({"x": np.float32([1, 2, 3, 4])})
    positive.prepare(_module(RELU))
    positive.check(_module(RELU), _module(ABS), EVERY_BIT)
    mixed = Execution({"x": np.float32([1, 2, -3, 4])})
    mixed.prepare(_module(RELU))
    with pytest.raises(
        DiagnosticError, match=r"'nn.abs' op \(relu1\) .* @main output 'output0' at \[2\] was 0.0, is 3.0;"
    ):
        mixed.check(_module(RELU), _module(ABS), EVERY_BIT)


def test_random_inputs_find_it_too() -> None:
    execution = Execution(seed=3)
    execution.prepare(_module(RELU))
    with pytest.raises(DiagnosticError, match="changes a value: in @main output 'output0' at"):
        execution.check(_module(RELU), _module(ABS), EVERY_BIT)


def test_a_pass_that_fixes_sizes_is_held_on_inputs_of_these_sizes() -> None:
    execution = Execution()
    execution.prepare(_module(RELU, "?"))
    execution.check(_module(RELU, "?"), _module(RELU, "7"), EVERY_BIT)
    with pytest.raises(DiagnosticError, match="changes a value: in @main output 'output0' at"):
        execution.check(_module(RELU, "7"), _module(ABS, "7"), EVERY_BIT)


def test_what_has_become_other_numbers_is_run_anew() -> None:
    execution = Execution()
    execution.prepare(_module(RELU))
    execution.forget()
    execution.prepare(_module(ABS))
    execution.check(_module(ABS), _module(ABS), EVERY_BIT)


def test_every_public_function_runs_where_there_is_no_main() -> None:
    execution = Execution()
    execution.prepare(_module(RELU, name="other"))
    with pytest.raises(DiagnosticError, match="in @other output"):
        execution.check(_module(RELU, name="other"), _module(ABS, name="other"), EVERY_BIT)


@pytest.mark.parametrize(
    ("given", "module", "message"),
    [
        ({"y": np.zeros(4, np.float32)}, _module(RELU), r"unknown input 'y' \(available: x\)"),
        ({"x": np.zeros(3, np.float32)}, _module(RELU), "must have shape 4, but got 3"),
        ({"x": np.zeros(4)}, _module(RELU), "input 'x' must be float32, but got float64"),
        (
            {},
            _module(f"%n = nn.log %x : TYPE {CASTS}"),
            r"'quant.qcast' op cannot be computed: the input contains NaN, which cannot be quantized",
        ),
        (
            {},
            parse_module(default_environment().new_context(), "func.func private @f()"),
            "nothing to run: the module has no public function with a body",
        ),
    ],
)
def test_what_does_not_run_is_said(given: dict[str, np.ndarray], module: ModuleOp, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        Execution(given).prepare(module)


def test_inputs_are_read_from_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "inputs.npz", x=np.arange(4, dtype=np.float32))
    assert inputs_in(tmp_path / "inputs.npz")["x"].tolist() == [0, 1, 2, 3]
    (tmp_path / "broken.npz").write_bytes(b"PK no archive")
    with pytest.raises(DiagnosticError, match=r"broken.npz': it is not a .npy or .npz file of plain arrays"):
        inputs_in(tmp_path / "broken.npz")


def _of_two(body: str, operand: str, result: str) -> ModuleOp:
    text = f"func.func @main(%x: tensor<64x{operand}>, %y: tensor<64x{operand}>) -> tensor<64x{result}> {{ {body}\n"
    return parse_module(default_environment().new_context(), f"{text} func.return %r : tensor<64x{result}> }}")


def _at_ends(limit: str) -> ModuleOp:
    byte, sums = "!quant.uniform<i8:f32, 1.0>", "!quant.uniform<i16:f32, 1.0>"
    body = f"""%0 = nn.add %x, %y : (tensor<64x{byte}>, tensor<64x{byte}>) -> tensor<64x{sums}>
      %r = nn.clip %0 {{maximum = {limit}}} : tensor<64x{sums}>"""
    return _of_two(body, byte, sums)


def _at_zeros(function: str) -> ModuleOp:
    """The reciprocal of the larger one, of which 0 and -0 have infinities of two signs."""
    larger = "%0 = nn.max %x, %y" if function == "max" else "%1 = nn.greater %y, %x : (T, T) -> tensor<64xi1>"
    types = " : (T, T) -> T" if function == "max" else "\n%0 = nn.where %1, %y, %x : (tensor<64xi1>, T, T) -> T"
    return _of_two((larger + types + "\n%r = nn.reciprocal %0 : T").replace("T", "tensor<64xf32>"), "f32", "f32")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # 127 twice, and 0 beside -0: numbers over the ranges have neither.
        (_at_ends("254.0"), _at_ends("253.0")),
        (_at_zeros("max"), _at_zeros("where")),
    ],
)
def test_ends_and_zeros_are_drawn(before: ModuleOp, after: ModuleOp) -> None:
    alone = Execution(draws=1)
    alone.prepare(before)
    alone.check(before, after.clone(), EVERY_BIT)
    execution = Execution()
    execution.prepare(before)
    with pytest.raises(DiagnosticError, match=r"changes a value: in @main .* \(inputs: ends of the range and zeros\)"):
        execution.check(before, after, EVERY_BIT)


def test_ends_and_zeros_without_a_result_are_left_out() -> None:
    """0 divides no integer; the first draw has none among the divisors, and is held."""
    type_ = "tensor<2xi32>"
    text = f"""func.func @main(%x: {type_}, %y: {type_}) -> {type_} {{
      %r = nn.OP %x, %y : {type_}
      func.return %r : {type_}
    }}"""
    quotient, remainder = (
        parse_module(default_environment().new_context(), text.replace("OP", name)) for name in ("div", "mod")
    )
    execution = Execution()
    execution.prepare(quotient)
    with pytest.raises(DiagnosticError, match=r"changes a value: in @main .*, is -?\d+"):
        execution.check(quotient, remainder, EVERY_BIT)
