"""Convolutions, pools and resizes of random attributes, as ONNX Runtime computes them from the same ONNX node."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.referee.onnxruntime.nodes import both

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")

pytestmark = pytest.mark.referee

REFUSED = (
    onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
    onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
    onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
)
"""ONNX Runtime has no kernel for some attributes and types."""

CASES = 60
Array = np.ndarray
Drawn = tuple[str, int, list[Array | None], dict[str, Any], int]
"""An operator, its operator set, inputs, attributes, and how many outputs there are."""


class Draw:
    """Random choices from one seed."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def integers(self, count: int, low: int, high: int) -> list[int]:
        return [self.integer(low, high) for _ in range(count)]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one_of(self, *choices: Any) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def floats(self, *shape: int) -> Array:
        return self.rng.standard_normal(shape).astype(np.float32)


def _padding(draw: Draw, at_most: list[int]) -> dict[str, Any]:
    if draw.chance(0.3):
        return {"auto_pad": draw.one_of("VALID", "SAME_UPPER", "SAME_LOWER")}
    return {"pads": [draw.integer(0, most) for most in at_most * 2]} if draw.chance(0.8) else {}


def _steps(draw: Draw, rank: int, padding: dict[str, Any]) -> tuple[list[int], list[int], list[int]]:
    """Kernel, strides and dilations. ONNX Runtime leaves dilations out of `auto_pad`, against the standard."""
    kernel, strides, dilations = (draw.integers(rank, 1, high) for high in (3, 3, 2))
    return kernel, strides, [1] * rank if "auto_pad" in padding else dilations


def convolution(draw: Draw) -> Drawn:
    rank, groups = draw.integer(1, 3), draw.integer(1, 3)
    inputs, outputs = groups * draw.integer(1, 3), groups * draw.integer(1, 3)
    padding = _padding(draw, [2] * rank)
    kernel, strides, dilations = _steps(draw, rank, padding)
    sizes = [draw.integer(0, 6) + (taps - 1) * step + 1 for taps, step in zip(kernel, dilations, strict=True)]
    values: list[Array | None] = [draw.floats(draw.integer(1, 2), inputs, *sizes)]
    values += [draw.floats(outputs, inputs // groups, *kernel), draw.floats(outputs) if draw.chance(0.5) else None]
    return "Conv", 21, values, {"strides": strides, "dilations": dilations, "group": groups, **padding}, 1


def transposed_convolution(draw: Draw) -> Drawn:
    rank, groups = draw.integer(1, 3), draw.integer(1, 2)
    inputs, outputs = groups * draw.integer(1, 3), draw.integer(1, 3)
    kernel, strides, dilations = (draw.integers(rank, 2, high) for high in (3, 3, 2))
    sizes = draw.integers(rank, 2, 5)
    values: list[Array | None] = [draw.floats(draw.integer(1, 2), inputs, *sizes)]
    values += [draw.floats(inputs, outputs, *kernel), draw.floats(outputs * groups) if draw.chance(0.5) else None]
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": groups}
    if draw.chance(0.5):
        attributes["output_padding"] = [draw.integer(0, stride - 1) for stride in strides]
    if draw.chance(0.7):
        attributes["pads"] = draw.integers(2 * rank, 0, 1)
    return "ConvTranspose", 21, values, attributes, 1


def pool(draw: Draw) -> Drawn:
    operator = draw.one_of("MaxPool", "AveragePool", "LpPool")
    rank = draw.integer(1, 3)
    attributes = _padding(draw, [0] * rank)
    kernel, strides, dilations = _steps(draw, rank, attributes)
    if "auto_pad" in attributes:  # ONNX Runtime refuses some strides beyond the kernel
        strides = [min(stride, taps) for stride, taps in zip(strides, kernel, strict=True)]
    elif "pads" in attributes:
        attributes["pads"] = [draw.integer(0, taps - 1) for taps in kernel * 2]
    sizes = [draw.integer(0, 6) + (taps - 1) * step + 1 for taps, step in zip(kernel, dilations, strict=True)]
    attributes |= {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    if "auto_pad" not in attributes:
        attributes["ceil_mode"] = draw.integer(0, 1)
    outputs = 1
    if operator == "AveragePool":
        attributes["count_include_pad"] = draw.integer(0, 1)
    elif operator == "LpPool":
        attributes["p"] = draw.integer(1, 3)
    elif draw.chance(0.5):
        outputs = 2
        attributes["storage_order"] = draw.integer(0, 1)
    data = draw.floats(draw.integer(1, 2), draw.integer(1, 2), *sizes)
    if operator == "MaxPool" and draw.chance(0.5):
        data = draw.rng.integers(0, 4, data.shape).astype(draw.one_of(np.float32, np.uint8, np.int8))  # ties
    return operator, 21, [data], attributes, outputs


def resize(draw: Draw) -> Drawn:
    mode = draw.one_of("nearest", "linear", "cubic")
    opset = draw.one_of(11, 13, 18, 19)
    shape = [1, draw.integer(1, 2), draw.integer(1, 7), draw.integer(1, 7)]
    attributes: dict[str, Any] = {"mode": mode}
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    coordinates += ["half_pixel_symmetric"] if opset == 19 else []
    attributes["coordinate_transformation_mode"] = draw.one_of(*coordinates)
    if mode == "nearest":
        attributes["nearest_mode"] = draw.one_of("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes["cubic_coeff_a"] = draw.one_of(-0.75, -0.5)
        attributes["exclude_outside"] = draw.integer(0, 1)
    if mode != "nearest" and opset >= 18 and attributes["coordinate_transformation_mode"] == "half_pixel":
        attributes["antialias"] = draw.integer(0, 1)
    attributes["extrapolation_value"] = 7.5
    roi = np.array([0, 0, 0.125, 0.25, 1, 1, 0.75, 1.25], np.float32)
    # ONNX Runtime cuts nothing along an axis that keeps its size.
    sizes = np.array([*shape[:2], shape[2] + draw.integer(1, 6), shape[3] + draw.integer(1, 6)], np.int64)
    if draw.chance(0.5):
        sizes[2:] = np.maximum(np.array(shape[2:]) - draw.integer(1, 3), 1)
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize" and 1 in shape[2:]:
        shape[2:] = [2, 3]
        sizes[2:] = [5, 1]
    no_scales = None if opset >= 13 else np.zeros(0, np.float32)
    return "Resize", opset, [draw.floats(*shape), roi, no_scales, sizes], attributes, 1


def scaled(draw: Draw) -> Drawn:
    """Resizes by scales. Where a coordinate depends on a size that a scale gives, it is a whole number."""
    operator, opset, (_, roi, *_), attributes, outputs = resize(draw)
    is_whole = attributes["coordinate_transformation_mode"] in ("align_corners", "tf_crop_and_resize")
    factors = [draw.one_of(*((0.5, 2.0, 3.0) if is_whole else (0.5, 0.6, 0.7, 1.0, 1.3, 2.0, 3.0))) for _ in range(2)]
    shape = [1, 2, 2 * draw.integer(1, 4), 2 * draw.integer(1, 4)]
    scales = np.array([1, 1, *factors], np.float32)
    return operator, opset, [draw.floats(*shape), roi, scales], attributes, outputs


def older_resize(draw: Draw) -> Drawn:
    operator, opset = draw.one_of(("Resize", 10), ("Upsample", 9), ("Upsample", 7))
    mode = draw.one_of("nearest", "linear")
    choices = (1.0, 1.5, 2.0, 3.0) if operator == "Upsample" else (0.5, 0.6, 1.0, 1.5, 2.0)
    scales = [1.0, 1.0, draw.one_of(*choices), draw.one_of(*choices)]
    data = draw.floats(1, 2, draw.integer(2, 6), draw.integer(2, 6))
    if opset == 7:
        return operator, opset, [data], {"mode": mode, "scales": scales}, 1
    return operator, opset, [data, np.array(scales, np.float32)], {"mode": mode}, 1


FAMILIES: tuple[Callable[[Draw], Drawn], ...] = (
    convolution,
    transposed_convolution,
    pool,
    resize,
    scaled,
    older_resize,
)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_like_onnxruntime(family: Callable[[Draw], Drawn]) -> None:
    compared = 0
    for seed in range(CASES):
        operator, opset, values, attributes, outputs = drawn = family(Draw(seed))
        names = [f"o{position}" for position in range(outputs)]
        try:
            found = both(operator, values, names, opset, **attributes)
        except REFUSED:
            continue
        compared += 1
        for name, ours, theirs in found:
            about = f"{name} of seed {seed}: {drawn}"
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), about
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, err_msg=about)
    assert compared >= CASES * 2 // 3
