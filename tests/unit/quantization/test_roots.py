"""What roots and logarithms read has 16 bits: small magnitudes are not lost."""

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import qmlir
from qmlir.quantization.report import coverage
from qmlir.quantization.roots import read_by_roots

_MODELS = {
    # The magnitude of a spectrum: a window of a signal in two phases.
    "sqrt": "{ re = MatMul(x, c) im = MatMul(x, s) p = Mul(re, re) q = Mul(im, im) t = Add(p, q) y = Sqrt(t) }",
    # The logarithm of an energy.
    "log": "{ re = MatMul(x, c) p = Mul(re, re) t = Add(p, e) y = Log(t) }",
    # Something over the deviation of something else.
    "quotient": "{ p = Mul(x, x) t = ReduceMean <axes = [1], keepdims = 1> (p) u = Add(t, e) d = Sqrt(u) "
    "k = MatMul(x, c) y = Div(k, d) }",
}


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


def _quantized(kind: str) -> ModuleOp:
    return qmlir.quantize(_model(kind), [_signal(seed) for seed in range(64)], validate=False).module


def test_faint_tones_keep_their_magnitude() -> None:
    module, errors = _quantized("sqrt"), list[float]()
    angles = np.outer(np.arange(16), np.arange(1, 5)) * np.pi / 8
    for signal in map(_signal, range(100, 140)):
        exact = np.abs(signal["x"] @ np.exp(1j * angles))
        errors += list((np.abs(qmlir.interpret(module, signal)["y"] - exact) / exact).flat)
    assert np.median(errors) < 0.018  # 0.020 with squares of 16 bits, 0.04 with 8 bits before the root


@pytest.mark.parametrize("kind", _MODELS)
def test_nothing_stays_in_float(kind: str) -> None:
    assert not coverage(_quantized(kind)).left_in_float


def test_what_they_read_is_found() -> None:
    function = next(iter(_model("quotient").ops))
    assert isinstance(function, FuncOp)
    names = {op.name for op in read_by_roots(function)}
    assert names == {"nn.mul", "nn.reduce_mean", "nn.add", "nn.sqrt"}
