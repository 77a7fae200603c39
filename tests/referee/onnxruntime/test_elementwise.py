"""Elementwise operators of plain tensors against ONNX Runtime, in the oldest and the newest version of each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.referee.onnxruntime.nodes import agree
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime

pytestmark = needs_onnxruntime

GENERATOR = np.random.default_rng(11)
ANY = np.concatenate([GENERATOR.standard_normal(200) * 3, [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 30.0, -30.0, 90.0, -90.0]])
INSIDE = GENERATOR.uniform(-1, 1, 200)
ABOVE = GENERATOR.uniform(1, 20, 200)
SPECIAL = np.array([np.nan, np.inf, -np.inf])

NEWEST = 22
"""ONNX Runtime has the newest of these operators by this version."""

# Both sides compute in f32 by approximations of a few units of the last place, 6e-8 each.
EQUAL = {"rtol": 0, "atol": 0}
CLOSE = {"rtol": 2e-6, "atol": 1e-7}
# `x / 2 * (1 + erf(x / sqrt 2))` cancels below 0: the errors of erf, 1.2 units of 6e-8 on each side, times |x| / 2.
CANCELLING = {"Gelu": {"rtol": 2e-6, "atol": 4e-7}}


def _unary(op_type: str, x: np.ndarray, opset: int, bound: Mapping[str, float], **attributes: Any) -> None:
    agree(op_type, [np.concatenate([x, SPECIAL]).astype(np.float32)], opset=opset, **bound, **attributes)


EXACT: dict[str, int] = {
    "Abs": 7, "Neg": 7, "Sqrt": 7, "Reciprocal": 7, "Floor": 7, "Ceil": 7, "Round": 11, "Sign": 9, "Relu": 7,
    "ThresholdedRelu": 10, "IsNaN": 9, "IsInf": 10,
}  # fmt: skip
FUNCTIONS: dict[str, tuple[int, np.ndarray]] = {
    "Exp": (7, ANY), "Log": (7, ABOVE), "Erf": (9, ANY), "Sin": (7, ANY), "Cos": (7, ANY), "Tan": (7, INSIDE),
    "Asin": (7, INSIDE), "Acos": (7, INSIDE), "Atan": (7, ANY), "Sinh": (9, INSIDE), "Cosh": (9, ANY),
    "Asinh": (9, ANY), "Acosh": (9, ABOVE), "Atanh": (9, INSIDE * 0.9), "Sigmoid": (7, ANY), "Tanh": (7, ANY),
    "Softplus": (7, ANY), "Softsign": (7, ANY), "HardSwish": (14, ANY), "Mish": (18, ANY), "Gelu": (20, ANY),
}  # fmt: skip
WITH_ATTRIBUTES: dict[str, tuple[int, tuple[str, ...]]] = {
    "LeakyRelu": (7, ("alpha",)), "Elu": (7, ("alpha",)), "Celu": (12, ("alpha",)), "Selu": (7, ("alpha", "gamma")),
    "ThresholdedRelu": (10, ("alpha",)), "HardSigmoid": (7, ("alpha", "beta")),
}  # fmt: skip


@pytest.mark.parametrize("op_type", EXACT)
def test_exact_functions(op_type: str) -> None:
    for opset in (EXACT[op_type], NEWEST):
        _unary(op_type, ANY, opset, EQUAL)


@pytest.mark.parametrize("op_type", FUNCTIONS)
def test_functions(op_type: str) -> None:
    oldest, x = FUNCTIONS[op_type]
    for opset in (oldest, NEWEST):
        _unary(op_type, x, opset, CANCELLING.get(op_type, CLOSE))


@pytest.mark.parametrize("op_type", WITH_ATTRIBUTES)
def test_functions_with_attributes(op_type: str) -> None:
    oldest, names = WITH_ATTRIBUTES[op_type]
    for opset in (oldest, NEWEST):
        _unary(op_type, ANY, opset, CLOSE)
        _unary(op_type, ANY, opset, CLOSE, **{name: 0.5 + position for position, name in enumerate(names)})


def test_gelu_by_tanh() -> None:
    _unary("Gelu", ANY, 20, {"rtol": 1e-5, "atol": 1e-6}, approximate="tanh")


INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
WIDE = (np.int32, np.int64)


def _integers(dtype: type[np.integer], shape: tuple[int, ...]) -> np.ndarray:
    """Small and large values, and the ends of the type."""
    limits = np.iinfo(dtype)
    small = GENERATOR.integers(max(limits.min, -9), 9, shape).astype(dtype)
    large = GENERATOR.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    ends = GENERATOR.choice(np.array([limits.min, limits.max], dtype), shape)
    return np.choose(GENERATOR.integers(0, 3, shape), [small, large, ends])


INTEGER_OPERATORS: dict[str, tuple[int, tuple[type[np.integer], ...]]] = {
    "Add": (14, WIDE), "Sub": (14, WIDE), "Mul": (14, WIDE), "Div": (14, WIDE), "Mod": (13, INTEGERS),
    "Min": (13, (*WIDE, np.uint32, np.uint64)), "Max": (13, (*WIDE, np.uint32, np.uint64)), "Equal": (13, WIDE),
    "Greater": (13, WIDE), "LessOrEqual": (16, WIDE), "BitwiseAnd": (18, INTEGERS), "BitwiseOr": (18, INTEGERS),
    "BitwiseXor": (18, INTEGERS),
}  # fmt: skip


@pytest.mark.parametrize(
    ("op_type", "dtype"), [(name, dtype) for name, (_, dtypes) in INTEGER_OPERATORS.items() for dtype in dtypes]
)
def test_integers(op_type: str, dtype: type[np.integer]) -> None:
    a, b = _integers(dtype, (40, 30)), _integers(dtype, (30,))
    if op_type in ("Div", "Mod"):  # by 0, and the smallest by -1, ends the process
        b[(b == 0) | (b.astype(np.int64) == -1)] = 3
    is_exact = np.iinfo(dtype).bits < 64  # ONNX Runtime goes through f64 for fmod
    for attributes in [{"fmod": 0}, {"fmod": 1}] if op_type == "Mod" and is_exact else [{}]:
        agree(op_type, [a, b], opset=INTEGER_OPERATORS[op_type][0], **EQUAL, **attributes)


FLOAT_OPERATORS = {"Add": 7, "Sub": 7, "Mul": 7, "Div": 7, "Min": 8, "Max": 8, "Equal": 11, "Greater": 7, "Less": 7}


@pytest.mark.parametrize("op_type", FLOAT_OPERATORS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats(op_type: str, dtype: type[np.floating]) -> None:
    a = np.concatenate([ANY, SPECIAL, [1.0, 2.0]]).astype(dtype).reshape(43, 5)
    b = np.array([1.5, 0.0, np.nan, np.inf, -3.0], dtype)
    for opset in (FLOAT_OPERATORS[op_type], NEWEST):
        agree(op_type, [a, b], opset=opset, **EQUAL)


@pytest.mark.parametrize("op_type", ["Sum", "Mean", "Max", "Min"])
def test_any_number_of_inputs(op_type: str) -> None:
    arrays = [GENERATOR.standard_normal(shape).astype(np.float32) for shape in [(4, 5), (5,), (3, 1, 1)]]
    for count in (1, 2, 3):
        agree(op_type, arrays[:count], opset=13, **CLOSE)


@pytest.mark.parametrize("base", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("exponent", [np.int32, np.int64, np.float32, np.float64])
def test_powers_of_mixed_types(base: type[np.number], exponent: type[np.number]) -> None:
    a, b = GENERATOR.integers(1, 9, (20, 1)).astype(base), np.arange(0, 8).astype(exponent)
    if np.issubdtype(exponent, np.floating):
        b = b + exponent(0.5)
    agree("Pow", [a, b], opset=15, **CLOSE)


@pytest.mark.parametrize("slopes", [(), (1,), (5,), (4, 1)])
def test_slopes(slopes: tuple[int, ...]) -> None:
    x, slope = GENERATOR.standard_normal((3, 4, 5)), GENERATOR.standard_normal(slopes)
    for opset in (9, 16):
        agree("PRelu", [x.astype(np.float32), slope.astype(np.float32)], opset=opset, **EQUAL)


def test_remainders_of_floats() -> None:
    a, b = ANY.astype(np.float32), np.full(ANY.shape, 0.75, np.float32) * GENERATOR.choice([-1, 1], ANY.shape)
    agree("Mod", [a, b.astype(np.float32)], opset=13, **EQUAL, fmod=1)


def test_bounds_of_clip() -> None:
    # ONNX's text lets a bound that is left out make infinities finite, its definition by other operators does not.
    x = np.append(ANY, np.nan).astype(np.float32)
    low, high = np.array(-1.5, np.float32), np.array(2.25, np.float32)
    agree("Clip", [x], opset=7, **EQUAL, min=-1.5, max=2.25)
    agree("Clip", [x], opset=7, **EQUAL, max=2.25)
    for opset in (11, 13):
        for bounds in ([], [low], [None, high], [low, high], [high, low]):
            agree("Clip", [x, *bounds], opset=opset, **EQUAL)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_shifts(direction: str, dtype: type[np.integer]) -> None:
    positions = GENERATOR.integers(0, np.iinfo(dtype).bits, (30,)).astype(dtype)
    agree("BitShift", [_integers(dtype, (40, 30)), positions], opset=11, **EQUAL, direction=direction)


@pytest.mark.parametrize("source", [*INTEGERS, np.float16, np.float32, np.float64, np.bool_])
@pytest.mark.parametrize("target", [*INTEGERS, np.float16, np.float32, np.float64, np.bool_])
def test_casts(source: type[np.generic], target: type[np.generic]) -> None:
    """Where ONNX defines them: a float that its integer type does not hold may become anything."""
    if issubclass(source, np.integer):
        x = _integers(source, (500,))
    elif issubclass(source, np.floating):
        x = GENERATOR.standard_normal(500) * 1000
        if issubclass(target, np.integer):
            x = np.clip(x, *((max(np.iinfo(target).min, -30000), min(np.iinfo(target).max, 30000))))
        # ONNX Runtime rounds twice from f64 to f16, over f32: what f32 holds is rounded once.
        x = x.astype(np.float32).astype(source)
    else:
        x = GENERATOR.choice([True, False], 50)
    agree("Cast", [x], opset=13, **EQUAL, to=helper.np_dtype_to_tensor_dtype(np.dtype(target)))
