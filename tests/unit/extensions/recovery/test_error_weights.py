"""Weights of errors against the squared gradients of the outputs, written out, of a network with two outputs."""

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.extensions.recovery.block_programs import error_weights
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of

_RANDOM = np.random.default_rng(5)
_STEM, _HEAD, _SIDE = (_RANDOM.normal(size=shape).astype(np.float32) for shape in ((4, 3), (2, 4), (3, 4)))
_X = _RANDOM.normal(size=(2, 3)).astype(np.float32)


def _initializer(name: str, array: Array) -> str:
    return f"float{list(array.shape)} {name} = {{{', '.join(map(str, array.reshape(-1).tolist()))}}}"


def _module() -> ModuleOp:
    """`z = 100 HEAD relu(s)` and `t`, of `u = SIDE relu(s)`, behind `s = STEM x`."""
    weights = ", ".join(map(_initializer, ("w", "v", "q"), (_STEM, 100 * _HEAD, _SIDE)))
    return qmlir.load(
        parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[N, 3] x) => (float[N, 2] z, float[N, 3] t) <{weights}> {{
            s = Gemm <transB = 1> (x, w)
            h = Relu (s)
            z = Gemm <transB = 1> (h, v)
            u = Gemm <transB = 1> (h, q)
            t = Tanh (u)
        }}""")
    )


def _sums(module: ModuleOp) -> tuple[ModuleOp, SSAValue]:
    """The module on primitives, and what the ReLU reads there."""
    run_pipeline(module, "nn-decompose,canonicalize")
    relu = next(op for op in function_of(module, "main").walk() if isinstance(op, ReluOp))
    return module, relu.operands[0]


def test_weights_are_the_squared_gradients_of_both_outputs_relative_to_these() -> None:
    module, sums = _sums(_module())
    found = error_weights(module, "main", sums, [[_X]] * 300, (2, 4))
    assert found is not None
    s = _X.astype(np.float64) @ _STEM.T
    h = np.maximum(s, 0)
    z, t = 100 * h @ _HEAD.T, np.tanh(h @ _SIDE.T)
    of_z = np.square(100 * _HEAD).sum(0) / np.square(z).mean()
    of_t = np.square((1 - np.square(t))[:, :, None] * _SIDE).sum(1) / np.square(t).mean()
    expected = (s > 0) * (of_z + of_t)
    # 1,200 draws of signs: their mean has a standard error of at most sqrt(2 / 1200), 4%.
    np.testing.assert_allclose(np.mean(found, 0), expected / expected.mean(), rtol=0.2, atol=1e-6)
    assert np.mean(found) == pytest.approx(1, rel=1e-5)


def test_two_runs_give_the_same_weights() -> None:
    module, sums = _sums(_module())
    one, other = (error_weights(module, "main", sums, [[_X]] * 2, (2, 4)) for _ in range(2))
    assert one is not None
    assert other is not None
    assert all(map(np.array_equal, one, other))
    assert not np.array_equal(one[0], one[1])  # signs are drawn anew for each batch


@pytest.mark.parametrize("flat", ["Floor (h)", "Mul (h, zero)"])
def test_where_no_output_has_a_gradient_there_are_no_weights(flat: str) -> None:
    zero = np.zeros(1, np.float32)
    module = qmlir.load(
        parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[N, 3] x) => (float[N, 4] y) <{_initializer("w", _STEM)}, {_initializer("zero", zero)}> {{
            s = Gemm <transB = 1> (x, w)
            h = Relu (s)
            y = {flat}
        }}""")
    )
    lowered, sums = _sums(module)
    assert error_weights(lowered, "main", sums, [[_X]], (2, 4)) is None
