"""Resizing in every mode, by scales and to sizes, on floats, integers and quantized values."""

import itertools

import numpy as np
import pytest

from qmlir.dialects.nn.resizing.ops import COORDINATE_MODES, NEAREST_MODES
from qmlir.ir.diagnostics import DiagnosticError
from tests.unit.dialects.nn.lower.driver import check, lowered, module_of, tensor

ROI = "roi = [0.0 : f32, -0.25 : f32, 1.25 : f32, 0.75 : f32]"


def properties(**named: object) -> str:
    texts = [f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}" for name, value in named.items()]
    roi = ["roi = [-0.25, 0.1, 1.25, 0.75]", "extrapolation_value = 2.5 : f32"]
    if named.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        texts += roi
    return f"nn.resize {{{', '.join(texts)}}}"


SIZES = [[2, 7], [5, 2], [4, 3], [8, 9]]


@pytest.mark.parametrize(
    ("coordinates", "nearest"), list(itertools.product(COORDINATE_MODES, NEAREST_MODES)), ids="-".join
)
@pytest.mark.parametrize("element", ["f32", "i1", "ui8", "!quant.uniform<i8:f32, 0.5:-3>"])
def test_nearest(coordinates: str, nearest: str, element: str) -> None:
    for sizes in SIZES:
        operation = properties(sizes=sizes, coordinate_transformation_mode=coordinates, nearest_mode=nearest)
        check(operation, [tensor([4, 3], element)], [tensor(sizes, element)], seeds=(0,))


@pytest.mark.parametrize("coordinates", COORDINATE_MODES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("flags", [{}, {"antialias": "true"}, {"exclude_outside": "true"}])
@pytest.mark.parametrize("element", ["f32", "i8", "!quant.uniform<u8:f32, 0.5:7>"])
def test_between_elements(coordinates: str, mode: str, flags: dict[str, str], element: str) -> None:
    operation = properties(mode=mode, coordinate_transformation_mode=coordinates, sizes=[3, 7])
    for name, value in flags.items():
        operation = operation.replace("}", f", {name} = {value}}}")
    check(operation, [tensor([4, 3], element)], [tensor([3, 7], element)], seeds=(0,))


@pytest.mark.parametrize(
    "element",
    ["f16", "bf16", "f64", "i4", "ui4", "i16", "ui16", "i32", "ui32", "i64", "ui64", "!quant.uniform<i4:f32, 2.0>"],
)
def test_cubic_of_every_element_type(element: str) -> None:
    check(properties(mode="cubic", sizes=[9]), [tensor([5], element)], [tensor([9], element)])


def test_scales_and_axes() -> None:
    operation = 'nn.resize {scales = array<f32: 2.0, 0.6>, axes = [-1, 1], mode = "linear"}'
    check(operation, ["tensor<2x5x3xf32>"], ["tensor<2x3x6xf32>"])
    check("nn.resize {sizes = [2, 3]}", ["tensor<2x3xf32>"], ["tensor<2x3xf32>"])


def test_crop_of_a_cut() -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    operation = properties(sizes=[3, 3], coordinate_transformation_mode="tf_crop_and_resize", mode="linear")
    check(operation, ["tensor<2x3xf32>"], ["tensor<3x3xf32>"], given={"input0": numbers})


def test_scales_at_run_time() -> None:
    module = module_of("nn.resize", ["tensor<4xf32>", "_", "tensor<1xf32>"], ["tensor<8xf32>"])
    with pytest.raises(DiagnosticError, match="sizes, scales and roi must be constant"):
        lowered(module)
