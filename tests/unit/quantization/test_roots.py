"""What roots and logarithms read has 16 bits: small magnitudes are not lost."""

from typing import Any

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import qmlir
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import MulOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.quantization.predicates import adds_up_positive, read_by_roots
from qmlir.quantization.report import coverage

_MODELS = {
    # The magnitude of a spectrum: a window of a signal in two phases.
    "sqrt": "{ re = MatMul(x, c) im = MatMul(x, s) p = Mul(re, re) q = Mul(im, im) t = Add(p, q) y = Sqrt(t) }",
    # The logarithm of an energy.
    "log": "{ re = MatMul(x, c) p = Mul(re, re) t = Add(p, e) y = Log(t) }",
    # Something over the deviation of something else.
    "quotient": "{ p = Mul(x, x) t = ReduceMean <axes = [1], keepdims = 1> (p) u = Add(t, e) d = Sqrt(u) "
    "k = MatMul(x, c) y = Div(k, d) }",
}


NARROW = {"sqrt_square": True, "slot": "output", "storage": "i16"}


def _model(kind: str) -> ModuleOp:
    angles = np.outer(np.arange(16), np.arange(1, 5)) * np.pi / 8
    rows = [" ".join(f"{v:.6f}," for v in table.flat).rstrip(",") for table in (np.cos(angles), np.sin(angles))]
    return qmlir.load(
        parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> '
            f"g (float[1, 16] x) => (float[1, 4] y) <float[16, 4] c = {{{rows[0]}}}, float[16, 4] s = {{{rows[1]}}}, "
            f"float[1, 1] e = {{0.01}}> {_MODELS[kind]}"
        )
    )


def _signal(seed: int) -> dict[str, np.ndarray]:
    """Loud and faint tones."""
    generator = np.random.default_rng(seed)
    loud = 10.0 ** generator.uniform(-2, 0)
    return {"x": (loud * generator.standard_normal((1, 16))).astype(np.float32)}


def _quantized(kind: str, **settings: Any) -> ModuleOp:
    return qmlir.quantize(_model(kind), [_signal(seed) for seed in range(64)], validate=False, **settings).module


def test_faint_tones_keep_their_magnitude() -> None:
    module, errors = _quantized("sqrt"), list[float]()
    angles = np.outer(np.arange(16), np.arange(1, 5)) * np.pi / 8
    for signal in map(_signal, range(100, 140)):
        exact = np.abs(signal["x"] @ np.exp(1j * angles))
        errors += list((np.abs(qmlir.interpret(module, signal)["y"] - exact) / exact).flat)
    assert np.median(errors) < 0.018  # 0.020 with squares of 16 bits, 0.04 with 8 bits before the root


@pytest.mark.parametrize(("recipe", "bits", "is_symmetric"), [([], 32, True), ([NARROW], 16, False)])
def test_only_squares_of_32_bits_have_a_symmetric_type(recipe: list[Any], bits: int, *, is_symmetric: bool) -> None:
    squares = [op.result for op in _quantized("sqrt", recipe=recipe).walk() if isinstance(op, MulOp)]
    assert len(squares) == 2
    for element in map(quantized_type, squares):
        assert element is not None
        assert element.bits == bits
        assert (not element.zero_points.any()) == is_symmetric


@pytest.mark.parametrize("requantize", ["single_round", "double_round"])
def test_squares_of_different_scales_are_added_exactly(requantize: str) -> None:
    """Squares have 32 bits, whose zero point must be 0: exact rescaling has no bit left to subtract one."""
    module = _quantized("sqrt", requantize=requantize)
    signal = _signal(0)
    found = qmlir.compile(module, codegen="llvm")(signal)["y"]
    assert np.array_equal(found, qmlir.interpret(module, signal)["y"])


@pytest.mark.parametrize("kind", _MODELS)
def test_nothing_stays_in_float(kind: str) -> None:
    assert not coverage(_quantized(kind)).left_in_float


def test_what_they_read_is_found() -> None:
    function = next(iter(_model("quotient").ops))
    assert isinstance(function, FuncOp)
    names = {op.name for op in read_by_roots(function)}
    assert names == {"nn.mul", "nn.reduce_mean", "nn.add", "nn.sqrt"}


_BANDS = {
    "after": "m = MatMul(t, f)",
    "before": "u = Transpose <perm = [1, 0]> (t) v = MatMul(g, u) m = Transpose <perm = [1, 0]> (v)",
    "magnitude": "r = Sqrt(t) m = MatMul(r, f)",
    "joined": "a = MatMul(t, f) b = MatMul(p, f) m = Add(a, b)",
}
"""Bands `m` of the powers `t`, by filters that are not negative."""

_FLOORS = {
    "max": "n = Max(m, e) y = Log(n)",
    "add": "n = Add(m, e) y = Log(n)",
    "clip": "n = Clip(m, e) k = Log(n) y = Mul(k, d)",
}


# The filters are triangles over 8 powers. With 8 bits for powers, -8 dB are reached.
@pytest.mark.parametrize(("bands", "floor"), [*((each, "max") for each in _BANDS), ("after", "add"), ("after", "clip")])
def test_bands_of_a_spectrum_keep_their_logarithm(bands: str, floor: str) -> None:
    angles = np.outer(np.arange(16), np.arange(1, 9)) * np.pi / 16
    filters = np.maximum(1 - np.abs(np.arange(8)[:, None] - np.array([0.5, 2.5, 4.5, 6.5])) / 1.5, 0)
    held = {"c": np.cos(angles), "s": np.sin(angles), "f": filters, "g": filters.T}
    constants = ", ".join(
        f"float[{array.shape[0]}, {array.shape[1]}] {name} = {{{', '.join(f'{v:.6f}' for v in array.flat)}}}"
        for name, array in held.items()
    )
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1, 16] x) => (float[1, 4] y) '
        f"<{constants}, float e = {{1e-6}}, float d = {{4.342945}}> {{ re = MatMul(x, c) im = MatMul(x, s) "
        f"p = Mul(re, re) q = Mul(im, im) t = Add(p, q) {_BANDS[bands]} {_FLOORS[floor]} }}"
    )
    random = np.random.default_rng(0)
    loud = 10.0 ** random.uniform(-1, 0, (64, 1, 1))
    signals = [
        {"x": each} for each in (loud * np.sin(random.uniform(0, 3, (64, 1, 1)) * np.arange(16))).astype(np.float32)
    ]
    module = qmlir.quantize(qmlir.load(model), signals, validate=False).module
    found, exact = list[np.ndarray](), list[np.ndarray]()
    for signal in signals:
        re, im = (signal["x"].astype(np.float64) @ held[name] for name in "cs")
        power = re**2 + im**2
        sums = {"magnitude": np.sqrt(power), "joined": power + re**2}.get(bands, power) @ filters
        exact.append(np.log(sums + 1e-6) * (4.342945 if floor == "clip" else 1.0))
        found.append(qmlir.interpret(module, signal)["y"])
    errors, wanted = np.stack(found) - np.stack(exact), np.stack(exact)
    assert 10 * np.log10(np.square(wanted - wanted.mean()).sum() / np.square(errors).sum()) > 22


def test_products_that_may_cancel_end_the_search() -> None:
    module = _model("log")
    function = next(iter(module.ops))
    assert isinstance(function, FuncOp)
    assert not any(adds_up_positive(op) for op in function.walk() if isinstance(op, MatMulOp))
