"""Attention, its cache and rotary embedding against ONNX Runtime, in f32."""

from typing import Any

import numpy as np
import pytest

from tests.referee.onnxruntime.nodes import agree
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime

pytestmark = needs_onnxruntime

OUTPUTS = ["y", "present_key", "present_value", "scores"]


def _normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _four(heads: int = 4, shared: int = 2) -> list[np.ndarray | None]:
    return [_normal(2, heads, 3, 8), _normal(2, shared, 5, 8, seed=1), _normal(2, shared, 5, 6, seed=2)]


MASKS: dict[str, np.ndarray | None] = {
    "none": None,
    "floats": _normal(3, 5, seed=3),
    "booleans": np.random.default_rng(4).random((3, 5)) < 0.7,
    "of heads": _normal(1, 4, 3, 5, seed=5),
    "of batches": _normal(2, 1, 3, 5, seed=6),
}
MASKS["booleans"][1] = False  # a query without a key


@pytest.mark.parametrize("attributes", [{}, {"scale": 0.3}, {"softcap": 1.5}, {"is_causal": 1}], ids=str)
@pytest.mark.parametrize("mask", MASKS)
def test_masks(mask: str, attributes: dict[str, Any]) -> None:
    inputs = [*_four(), *([] if MASKS[mask] is None else [MASKS[mask]])]
    agree("Attention", inputs, opset=23, atol=1e-5, **attributes)


@pytest.mark.parametrize("mode", range(4))
def test_scores(mode: int) -> None:
    inputs = [*_four(), MASKS["floats"]]
    agree("Attention", inputs, ["y", "", "", "scores"], opset=23, atol=1e-5, softcap=2.0, qk_matmul_output_mode=mode)


def test_past() -> None:
    past = [_normal(2, 2, 4, 8, seed=7), _normal(2, 2, 4, 6, seed=8)]
    agree("Attention", [*_four(), None, *past], OUTPUTS[:3], opset=23, atol=1e-5)


@pytest.mark.parametrize("starts", [None, [0, 5], [3, 4]], ids=str)
@pytest.mark.parametrize("axis", [1, -2, 3])
@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_cache(mode: str, axis: int, starts: list[int] | None) -> None:
    shape = [2, 7, 7, 7]
    cache = _normal(*shape)
    shape[axis] = 2
    inputs = [cache, _normal(*shape, seed=1), None if starts is None else np.array(starts, np.int64)]
    agree("TensorScatter", inputs, opset=24, mode=mode, axis=axis)


def test_cache_that_goes_round() -> None:
    agree("TensorScatter", [_normal(2, 3, 5), _normal(2, 2, 5, seed=1), np.array([2, 1], np.int64)], opset=24,
          mode="circular")  # fmt: skip


def test_heads_side_by_side() -> None:
    inputs = [_normal(2, 3, 4 * 8), _normal(2, 5, 2 * 8, seed=1), _normal(2, 5, 2 * 6, seed=2)]
    agree("Attention", inputs, OUTPUTS[:3], opset=23, atol=1e-5, q_num_heads=4, kv_num_heads=2)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("size", [0, 4])
@pytest.mark.parametrize("is_flat", [False, True])
def test_rotary_embedding(is_flat: bool, size: int, interleaved: int) -> None:
    half = (size or 8) // 2
    angles = _normal(10, half, seed=1)
    positions = np.random.default_rng(2).integers(0, 10, (2, 3))
    x = _normal(2, 3, 4 * 8) if is_flat else _normal(2, 4, 3, 8)
    agree(
        "RotaryEmbedding",
        [x, np.cos(angles), np.sin(angles), positions],
        opset=23,
        num_heads=4,
        rotary_embedding_dim=size,
        interleaved=interleaved,
    )
