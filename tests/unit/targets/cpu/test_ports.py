"""Arrays of the caller that memory holds in another form: integers of few bits without a sign, Booleans."""

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.emitted import BUILDS, run_c
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.compiler import Program, compile_module
from qmlir.targets.cpu.lowering import lowered
from qmlir.text.parsing import parse_module

TEXT = """
!a = !quant.uniform<u4:f32, 0.5:3>
!b = !quant.uniform<u4:f32, 0.25:0>
func.func @main(%x: tensor<16x!a> {nn.name = "x"}, %c: tensor<16xi1> {nn.name = "c"})
    -> (tensor<16x!b> {nn.name = "relu"}, tensor<16x!a> {nn.name = "same"}, tensor<32xi1> {nn.name = "twice"},
        tensor<18xi1> {nn.name = "padded"}) {
  %0 = nn.relu %x : (tensor<16x!a>) -> tensor<16x!b>
  %1 = nn.where %c, %x, %x : (tensor<16xi1>, tensor<16x!a>, tensor<16x!a>) -> tensor<16x!a>
  %2 = nn.concat %c, %c {axis = 0 : i64} : (tensor<16xi1>, tensor<16xi1>) -> tensor<32xi1>
  %3 = nn.pad %c {pads = array<i64: 2, 0>} : (tensor<16xi1>) -> tensor<18xi1>
  func.return %0, %1, %2, %3 : tensor<16x!b>, tensor<16x!a>, tensor<32xi1>, tensor<18xi1>
}"""


def test_integers_of_four_bits_and_booleans_come_and_go_as_the_caller_has_them() -> None:
    program = compile_module(parse_module(default_environment().new_context(), TEXT))
    x, condition = np.arange(16, dtype=np.uint8), np.arange(16) % 3 == 0
    given = np.full(16, 255, np.uint8)
    found = program({"x": x, "c": condition}, {"same": given})
    assert found["same"] is given
    assert {name: array.dtype for name, array in found.items()} == {
        "relu": np.uint8, "same": np.uint8, "twice": np.bool_, "padded": np.bool_
    }  # fmt: skip
    np.testing.assert_array_equal(found["same"], x)
    np.testing.assert_array_equal(
        found["relu"], np.clip(2 * (np.arange(16) - 3), 0, 15)
    )  # 0.5 (x - 3) in steps of 0.25
    np.testing.assert_array_equal(found["twice"], [*condition, *condition])
    np.testing.assert_array_equal(found["padded"], [False, False, *condition])


SUMS = """
!a = !quant.uniform<u4:f32, 0.5:3>
!s = !quant.uniform<u4<1:14>:f32, 0.75:9>
!n = !quant.uniform<i4<-7:7>:f32, 0.5>
func.func @main(%x: tensor<256x!a> {nn.name = "x"}, %y: tensor<256x!a> {nn.name = "y"},
    %w: tensor<256x!n> {nn.name = "w"}, %c: tensor<256xi1> {nn.name = "c"})
    -> (tensor<256x!s> {nn.name = "sum"}, tensor<256x!s> {nn.name = "product"}, tensor<256x!n> {nn.name = "twice"},
        tensor<256xi1> {nn.name = "not"}) {
  %0 = nn.add %x, %y : (tensor<256x!a>, tensor<256x!a>) -> tensor<256x!s>
  %1 = nn.mul %x, %y : (tensor<256x!a>, tensor<256x!a>) -> tensor<256x!s>
  %2 = nn.add %w, %w : (tensor<256x!n>, tensor<256x!n>) -> tensor<256x!n>
  %3 = nn.not %c : tensor<256xi1>
  func.return %0, %1, %2, %3 : tensor<256x!s>, tensor<256x!s>, tensor<256x!n>, tensor<256xi1>
}"""


UNDEFINED = """
!q = !quant.uniform<i8<-100:100>:f32, 0.5:3>
!n = !quant.uniform<i8<-127:127>:f32, 0.05>
!y = !quant.uniform<i8:f32, 0.0078125:-1>
func.func @main(%a: tensor<4xi32> {nn.name = "a"}, %b: tensor<4xi32> {nn.name = "b"},
    %x: tensor<40xf32> {nn.name = "x"}, %i: tensor<3xi64> {nn.name = "i"}, %n: tensor<3x!n> {nn.name = "n"})
    -> (tensor<4xi32> {nn.name = "quotient"}, tensor<4xi32> {nn.name = "rest"}, tensor<40x!q> {nn.name = "log"},
        tensor<3xf32> {nn.name = "gathered"}, tensor<3x!y> {nn.name = "tanh"}) {
  %0 = nn.div %a, %b : tensor<4xi32>
  %1 = nn.mod %a, %b : tensor<4xi32>
  %2 = nn.log %x : tensor<40xf32>
  %3 = quant.qcast %2 : tensor<40xf32> to tensor<40x!q>
  %4 = nn.gather %x, %i {axis = 0 : i64} : (tensor<40xf32>, tensor<3xi64>) -> tensor<3xf32>
  %5 = nn.tanh %n : (tensor<3x!n>) -> tensor<3x!y>
  func.return %0, %1, %3, %4, %5 : tensor<4xi32>, tensor<4xi32>, tensor<40x!q>, tensor<3xf32>, tensor<3x!y>
}"""


def test_what_has_no_value_inside_a_graph() -> None:
    """As docs/exactness.md says it: 0, the nearest element, some integer; numbers beside them are what they are."""
    program = compile_module(parse_module(default_environment().new_context(), UNDEFINED))
    x = np.concatenate([np.full(20, -1, np.float32), np.full(20, np.e, np.float32)])
    found = program(
        {
            "a": np.array([7, -7, 7, -(1 << 31)], np.int32),
            "b": np.array([0, 0, 2, -1], np.int32),
            "x": x,
            "i": np.array([-1000, 1000, 20]),
            "n": np.array([-128, -127, 127], np.int8),
        }
    )
    np.testing.assert_array_equal(found["quotient"], [0, 0, 3, -(1 << 31)])
    np.testing.assert_array_equal(found["rest"], [0, 0, 1, 0])
    np.testing.assert_array_equal(found["gathered"], [x[0], x[-1], x[20]])
    np.testing.assert_array_equal(found["log"][20:], 5)  # 1 / 0.5 + 3
    np.testing.assert_array_equal(found["tanh"], np.clip(np.rint(np.tanh([-6.4, -6.35, 6.35]) * 128) - 1, -128, 127))


@pytest.fixture(scope="module")
def sums() -> ModuleOp:
    """Integers of four bits, rescaled with and without a sign, and Booleans."""
    return parse_module(default_environment().new_context(), SUMS)


@pytest.fixture(scope="module")
def program(sums: ModuleOp) -> Program:
    """The same, compiled."""
    return compile_module(sums)


def _inputs() -> dict[str, np.ndarray]:
    x, y = (each.reshape(-1).astype(np.uint8) for each in np.mgrid[:16, :16])
    return {"x": x, "y": y, "w": x.astype(np.int8) - 8, "c": x > y}


def test_limits_without_a_sign_are_kept_on_the_way_down(sums: ModuleOp, program: Program) -> None:
    """12 of four bits is held as -4 from the integer level on, and is 12 again for the caller."""
    inputs = _inputs()
    x, y = inputs["x"].astype(np.int64) - 3, inputs["y"].astype(np.int64) - 3
    expected = np.clip(np.rint(np.float32(0.5 / 0.75) * (x + y).astype(np.float32)) + 9, 1, 14)
    for found in (interpret(sums, inputs), interpret(lowered(sums, "generic"), inputs), program(inputs)):
        np.testing.assert_array_equal(found["sum"], expected)
        product = np.clip(np.rint(np.float32(0.25 / 0.75) * (x * y).astype(np.float32)) + 9, 1, 14)
        np.testing.assert_array_equal(found["product"], product)
        np.testing.assert_array_equal(found["twice"], np.clip(2 * inputs["w"].astype(np.int64), -7, 7))
        np.testing.assert_array_equal(found["not"], ~inputs["c"])


def test_booleans_may_come_as_bytes(sums: ModuleOp, program: Program) -> None:
    inputs = _inputs()
    inputs["c"] = inputs["c"].astype(np.int8)
    for found in (interpret(sums, inputs), program(inputs)):
        np.testing.assert_array_equal(found["not"], inputs["c"] == 0)


def _with(name: str, number: int, dtype: str) -> dict[str, np.ndarray]:
    inputs = _inputs()
    bad = inputs[name].view(np.uint8).copy()
    bad[[5, 9]] = number
    return inputs | {name: bad.view(dtype)}


@pytest.mark.parametrize(
    ("name", "number", "dtype", "message"),
    [
        ("x", 16, "u1", "input 'x' must be in [0, 15], but got 16 at [5]"),
        ("w", 8, "i1", "input 'w' must be in [-8, 7], but got 8 at [5]"),
        ("w", 256 - 9, "i1", "input 'w' must be in [-8, 7], but got -9 at [5]"),
        ("c", 2, "?", "input 'c' must be in [0, 1], but got 2 at [5]"),
        ("c", 255, "?", "input 'c' must be in [0, 1], but got 255 at [5]"),
        ("c", 2, "i1", "input 'c' must be in [0, 1], but got 2 at [5]"),
        ("c", 255, "i1", "input 'c' must be in [0, 1], but got -1 at [5]"),
        ("c", 1, "u1", "input 'c' must be"),
        ("w", 1, "u1", "input 'w' must be int8, but got uint8"),
        ("w", 1, "?", "input 'w' must be int8, but got bool"),
    ],
)
@pytest.mark.parametrize("level", ["quantized", "loops", "compiled"])
def test_what_is_no_value_of_the_type_is_refused_everywhere(
    sums: ModuleOp, program: Program, level: str, name: str, number: int, dtype: str, message: str
) -> None:
    """By the interpreter at every level as by compiled code: a table has no place for it."""
    run: dict[str, Callable[[dict[str, np.ndarray]], object]] = {
        "quantized": lambda inputs: interpret(sums, inputs),
        "loops": lambda inputs: interpret(lowered(sums, "generic"), inputs),
        "compiled": program,
    }
    with pytest.raises((DiagnosticError, ValueError)) as caught:
        run[level](_with(name, number, dtype))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("element", "low", "high"), [("u4", 0, 15), ("i4", -8, 7), ("u3", 0, 7), ("u8", 0, 255), ("i16", -32768, 32767)]
)
def test_the_advice_for_floats_is_accepted(element: str, low: int, high: int) -> None:
    text = f"""!x = !quant.uniform<{element}:f32, 0.5:3>
    func.func @main(%x: tensor<4x!x> {{nn.name = "x"}}) -> (tensor<4x!x> {{nn.name = "y"}}) {{
      %0 = nn.concat %x {{axis = 0 : i64}} : (tensor<4x!x>) -> tensor<4x!x>
      func.return %0 : tensor<4x!x>
    }}"""
    program = compile_module(parse_module(default_environment().new_context(), text))
    x = np.array([-9e4, -0.8, 0.7, 9e4], np.float32)
    with pytest.raises(ValueError, match="help: pass") as caught:
        program({"x": x})
    expression = str(caught.value).partition("help: pass ")[2].partition(" (scale ")[0]
    np.testing.assert_array_equal(program({"x": eval(expression, {"np": np, "x": x})})["y"], [low, 1, 4, high])


WIDTHS = [(sign, bits) for bits in range(1, 33) for sign in "ui"]
"""Every type of stored integers: unsigned and signed, 1 to 32 bits."""


def _range(sign: str, bits: int) -> tuple[int, int]:
    return (0, (1 << bits) - 1) if sign == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _zero_point(sign: str, bits: int) -> int:
    """A number that is neither an end of the range nor its middle, where there is one."""
    low, high = _range(sign, bits)
    return low + (5 * (high - low) + 7) // 8


def _dtype(sign: str, bits: int) -> str:
    return f"{'u' * (sign == 'u')}int{max(8, 1 << (bits - 1).bit_length())}"


@pytest.fixture(scope="module")
def widths() -> ModuleOp:
    """A relu for each type: the larger one of an element and the zero point."""
    names = [f"{sign}{bits}" for sign, bits in WIDTHS]
    types = [
        f"!{name} = !quant.uniform<{name}:f32, 0.5:{_zero_point(*each)}>"
        for name, each in zip(names, WIDTHS, strict=True)
    ]
    takes = ", ".join(f'%{name}: tensor<9x!{name}> {{nn.name = "{name}"}}' for name in names)
    gives = ", ".join(f'tensor<9x!{name}> {{nn.name = "relu_{name}"}}' for name in names)
    body = [f"%r_{name} = nn.relu %{name} : tensor<9x!{name}>" for name in names]
    values = ", ".join(f"%r_{name}" for name in names)
    result_types = ", ".join(f"tensor<9x!{name}>" for name in names)
    lines = [*types, f"func.func @main({takes}) -> ({gives}) {{", *body, f"func.return {values} : {result_types}", "}"]
    return parse_module(default_environment().new_context(), "\n".join(lines))


def _arrays() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Elements of each type, its ends and what is next to the zero point among them, and what relus give."""
    random = np.random.default_rng(0)
    inputs, outputs = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for sign, bits in WIDTHS:
        (low, high), zero = _range(sign, bits), _zero_point(sign, bits)
        ends = [low, high, zero, min(zero + 1, high), max(zero - 1, low)]
        array = np.concatenate([ends, random.integers(low, high, 4, endpoint=True)])
        inputs[f"{sign}{bits}"] = array.astype(_dtype(sign, bits))
        outputs[f"relu_{sign}{bits}"] = np.maximum(array, zero).astype(_dtype(sign, bits))
    return inputs, outputs


def _by_c(build_name: str) -> Callable[[ModuleOp, Mapping[str, np.ndarray], Path], Mapping[str, np.ndarray]]:
    def run(module: ModuleOp, inputs: Mapping[str, np.ndarray], folder: Path) -> Mapping[str, np.ndarray]:
        build = next(each for each in BUILDS if each.name == build_name)
        if not build.is_installed():
            pytest.skip(f"{build.compiler} is not installed")
        ended, found = run_c(qmlir.emit(module), build, inputs, _arrays()[1], folder)
        assert ended == 0
        return found

    return run


def _by_library(module: ModuleOp, inputs: Mapping[str, np.ndarray], folder: Path) -> Mapping[str, np.ndarray]:
    """As C calls a shared library."""
    qmlir.emit(module, format="shared", name="net", cpu="host").save(folder)
    outputs = {name: np.empty_like(array) for name, array in _arrays()[1].items()}
    given = [array.ctypes.data_as(ctypes.c_void_p) for array in (*inputs.values(), *outputs.values())]
    assert ctypes.CDLL(str(folder / "libnet.so")).net_run(*given) == 0
    return outputs


EMITTERS: dict[str, Callable[[ModuleOp, Mapping[str, np.ndarray], Path], Mapping[str, np.ndarray]]] = {
    "interpreter": lambda module, inputs, _: interpret(module, inputs),
    "loops": lambda module, inputs, _: interpret(lowered(module, "generic"), inputs),
    "numba": lambda module, inputs, _: compile_module(module)(inputs),
    "llvm": lambda module, inputs, _: compile_module(module, emitter="llvm")(inputs),
    "shared library": _by_library,
    "C": _by_c("gcc -O0"),
    "C with sanitizers": _by_c("gcc sanitizers"),
}


@pytest.mark.parametrize(
    "emitter", [pytest.param(name, marks=[pytest.mark.sweep] * ("sanitizers" in name)) for name in EMITTERS]
)
def test_every_emitter_has_ports_of_every_width(emitter: str, widths: ModuleOp, tmp_path: Path) -> None:
    inputs, outputs = _arrays()
    found = EMITTERS[emitter](widths, inputs, tmp_path)
    for name, wanted in outputs.items():
        np.testing.assert_array_equal(found[name], wanted, strict=True, err_msg=name)
