"""Softmax and normalizations against ONNX Runtime, over the operator sets in which their meaning changed."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.referee.onnxruntime.nodes import agree
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime

pytestmark = needs_onnxruntime


def _normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _positive(*shape: int, seed: int = 1) -> np.ndarray:
    return np.abs(_normal(*shape, seed=seed)) + np.float32(0.5)


@pytest.mark.parametrize(
    ("axis", "opset"),
    [*product((None, 0, 1, 2), (7, 11, 13)), (-1, 11), (-1, 13)],  # negative axes came with operator set 11
)
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax(op_type: str, axis: int | None, opset: int) -> None:
    attributes = {} if axis is None else {"axis": axis}
    x = np.round(_normal(3, 4, 5) * 2)  # with ties
    agree(op_type, [x], opset=opset, **attributes)
    agree(op_type, [_normal(2, 6, 1, 1)], opset=opset, **({} if axis == 2 else attributes))


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 2, 2)])
@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batch_norm(opset: int, shape: tuple[int, ...]) -> None:
    parameters = [_normal(3, seed=2), _normal(3, seed=3), _normal(3, seed=4), _positive(3)]
    agree("BatchNormalization", [_normal(*shape), *parameters], opset=opset, epsilon=0.01)


def test_batch_norm_of_elements() -> None:
    parameters = [_normal(3, 4, seed=2), _normal(3, 4, seed=3), _normal(3, 4, seed=4), _positive(3, 4)]
    agree("BatchNormalization", [_normal(2, 3, 4), *parameters], opset=7, spatial=0)


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 4, 5), (1, 3, 2, 3, 4)])
def test_instance_norm(shape: tuple[int, ...]) -> None:
    inputs = [_normal(*shape) * 3 + 2, _normal(3, seed=2), _normal(3, seed=3)]
    agree("InstanceNormalization", inputs, opset=6 + 1, epsilon=0.001, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(groups: int) -> None:
    inputs = [_normal(2, 6, 4, 5) * 3 + 2, _normal(6, seed=2), _normal(6, seed=3)]
    agree("GroupNormalization", inputs, opset=21, num_groups=groups, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_layer_norm(axis: int, dtype: Any) -> None:
    x = _normal(3, 4, 5, dtype=dtype)
    scale, bias = _normal(*x.shape[axis:], seed=2, dtype=dtype), _normal(*x.shape[axis:], seed=3, dtype=dtype)
    bound = {"rtol": 4e-3, "atol": 4e-3} if dtype == np.float16 else {"atol": 1e-5}
    agree("LayerNormalization", [x, scale, bias], opset=17, axis=axis, **bound)
    if dtype == np.float32:
        outputs = ["y", "mean", "inverse_deviation"]
        agree("LayerNormalization", [x, scale, bias], outputs, opset=17, axis=axis, **bound)
        agree("RMSNormalization", [x, scale], opset=23, axis=axis, **bound)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lp_norm(axis: int, p: int) -> None:
    x = _normal(3, 4, 5)
    x[:, 1, 2] = x[1, :, 2] = x[1, 1] = 0  # a sum of 0 along each axis
    agree("LpNormalization", [x], opset=22, axis=axis, p=p)


@pytest.mark.parametrize("size", [1, 3, 5, 13])
def test_local_response_norm(size: int) -> None:
    """More instances than channels, and more channels than instances. ONNX Runtime takes odd sizes only."""
    for shape in ((2, 7, 3, 4), (7, 2, 3, 4)):
        agree("LRN", [_normal(*shape) * 3], opset=13, size=size, alpha=0.2, beta=0.6, bias=1.5)
