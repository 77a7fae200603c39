"""A function of `math` gives the same bits interpreted, expanded and interpreted, and compiled by LLVM."""

from functools import cache

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.functions import FUNCTIONS
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter
from qmlir.interpreter.run import interpret
from qmlir.targets.cpu.loops.math_expand import MathExpand
from qmlir.text.parsing import parse_module
from tests.support.compiled_scalars import compiled

F32 = npt.NDArray[np.float32]
_BINARY = ("atan2", "powf")
_SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        2,
        -3,
        88.7,
        -103.9,
        1e-45,
        -1e-45,
        1.2e-38,
        3.4e38,
        1e20,
        16777217,
        np.inf,
        -np.inf,
        np.nan,
    ],
    np.float32,
)


@cache
def arguments() -> tuple[F32, F32]:
    """All pairs of special values, then bit patterns of every kind, then numbers as networks have them."""
    generator = np.random.default_rng(11)
    pairs = np.meshgrid(_SPECIAL, _SPECIAL)
    bits = generator.integers(0, 1 << 32, (2, 20_000), np.uint32).view(np.float32)
    usual = (generator.standard_normal((2, 20_000)) * np.array([[8], [3]])).astype(np.float32)
    x, y = np.concatenate([np.stack([pair.reshape(-1) for pair in pairs]), bits, usual], axis=1)
    return x, y


def _function(name: str, element: str = "f32") -> tuple[ModuleOp, tuple[F32, ...]]:
    count = 2 if name in _BINARY else 1
    names = ["%x", "%y"][:count]
    parameters = ", ".join(f"{each}: {element}" for each in names)
    text = f"""
      func.func @main({parameters}) -> {element} {{
        %0 = math.{name} {", ".join(names)} : {element}
        func.return %0 : {element}
      }}"""
    return parse_module(default_environment().new_context(), text, "test.mlir"), arguments()[:count]


def _expanded(module: ModuleOp) -> ModuleOp:
    MathExpand().apply(default_environment().new_context(), module)
    assert not any(op.name.removeprefix("math.") in FUNCTIONS for op in module.walk())
    return module


def _same_bits(found: npt.NDArray[np.generic], expected: npt.NDArray[np.generic]) -> None:
    """NaN has many bit patterns, of which IEEE 754 prescribes none."""
    is_nan = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), is_nan)
    integer = np.dtype(f"u{expected.itemsize}")
    np.testing.assert_array_equal(found.view(integer)[~is_nan], expected.view(integer)[~is_nan])


@pytest.mark.parametrize("speed", [0, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled(name: str, speed: int) -> None:
    module, values = _function(name)
    (function,) = (op for op in _expanded(module).ops if isinstance(op, func.FuncOp))
    _same_bits(compiled(function, speed)(*values), FUNCTIONS[name](*values))


_ELEMENTS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("element", _ELEMENTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_interpreted_in_a_body(name: str, element: str) -> None:
    """In f16 and bf16 too, whose functions are those of f32, rounded."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = [value.astype(_ELEMENTS[element]) for value in arguments()[: 2 if name in _BINARY else 1]]
    type_ = f"tensor<{len(values[0])}x{element}>"
    names = ["%x", "%y"][: len(values)]
    text = f"""
      func.func @main({", ".join(f"{each}: {type_}" for each in names)}) -> {type_} {{
        %init = tensor.empty() : {type_}
        %0 = linalg.generic {{
          indexing_maps = [{", ".join(["affine_map<(d0) -> (d0)>"] * (len(names) + 1))}], iterator_types = ["parallel"]
        }} ins({", ".join(names)} : {", ".join([type_] * len(names))}) outs(%init : {type_}) {{
        ^bb0({", ".join(f"%a{place}: {element}" for place in range(len(names) + 1))}):
          %1 = math.{name} {", ".join(f"%a{place}" for place in range(len(names)))} : {element}
          linalg.yield %1 : {element}
        }} -> {type_}
        func.return %0 : {type_}
      }}"""
    module = parse_module(default_environment().new_context(), text, "test.mlir")
    (before,) = interpret(module, values).values()
    (after,) = interpret(_expanded(module), values).values()
    _same_bits(after, before)
    _same_bits(before, FUNCTIONS[name](*values))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_interpreted_on_lanes(name: str) -> None:
    values = [value[:8_000:500].copy() for value in arguments()[: 2 if name in _BINARY else 1]]
    module, _ = _function(name, f"vector<{len(values[0])}xf32>")
    (found,) = Interpreter(_expanded(module)).call("main", values)
    _same_bits(found, FUNCTIONS[name](*values))
