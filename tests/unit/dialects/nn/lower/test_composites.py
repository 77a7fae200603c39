"""Softmax, normalizations and attention at the integer level: by their parts, the numbers that they have as a whole."""

from collections.abc import Sequence

import numpy as np
import pytest

from qmlir.ir.passes import EVERY_BIT, ROUNDED
from tests.unit.dialects.nn.lower.driver import check, tensor

I8 = "!quant.uniform<i8:f32, 0.05:-3>"
PROBABILITY = "!quant.uniform<u8:f32, 0.00390625>"
FLOATS = ("f32", "f64", "f16", "bf16")


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "hardmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_and_its_relatives(name: str, axis: int, element: str) -> None:
    type_ = tensor((2, 3, 5), element)
    check(f"nn.{name} {{axis = {axis}}}", [type_], [type_], preservation=ROUNDED if element == "f64" else EVERY_BIT)


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("properties", ["{axis = 1}", '{empty_rows = "uniform"}'])
def test_masked_softmax(properties: str, element: str) -> None:
    type_ = tensor((2, 3, 5), element)
    preservation = ROUNDED if element == "f64" else EVERY_BIT
    check(f"nn.softmax {properties}", [type_, "tensor<3x5xi1>"], [type_], preservation=preservation)


def test_quantized_softmax() -> None:
    check("nn.softmax", [tensor((3, 7), I8)], [tensor((3, 7), PROBABILITY)])
    check("nn.softmax", [tensor((3, 7), I8), "tensor<3x7xi1>"], [tensor((3, 7), PROBABILITY)])


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("nn.layer_norm {axis = 1}", [(4, 5), (4, 5)]),
        ("nn.layer_norm", [(5,), "_"]),
        ("nn.rms_norm", [(5,)]),
        ("nn.instance_norm", [(4,), (4,)]),
        ("nn.group_norm {groups = 2}", [(4,), (4,)]),
        ("nn.lp_norm {axis = 1, p = 1}", []),
        ("nn.lp_norm {p = 2}", []),
        ("nn.lp_norm {epsilon = 2.0}", []),
        ("nn.local_response_norm {size = 3, alpha = 0.5, beta = 0.75, bias = 1.5}", []),
        ("nn.local_response_norm {size = 4}", []),
    ],
)
def test_normalizations(operation: str, parameters: Sequence[tuple[int, ...] | str], element: str) -> None:
    data = tensor((3, 4, 5), element)
    operands = [each if isinstance(each, str) else tensor(each, element) for each in parameters]
    check(operation, [data, *operands], [data], preservation=ROUNDED)


ATTENTION = (
    ("", 2, 2, 0, "_", "_"),
    ("{is_causal = true, scale = 0.5}", 2, 2, 0, "_", "_"),
    ("{softcap = 2.0, scores_are = \"capped\"}", 4, 2, 0, "_", "_"),
    ("{left_window = 1, right_window = 1, scores_are = \"biased\"}", 4, 1, 3, "_", "_"),
    ("{is_causal = true, scores_are = \"softmax\"}", 2, 1, 2, "tensor<3x{keys}xi1>", "_"),
    ("", 2, 2, 0, "tensor<2x1x3x3xELEMENT>", "_"),
    ("", 2, 2, 2, "tensor<3x4xi1>", "_"),
    ("{scale = -0.5}", 2, 1, 0, "_", "_"),
    ("{is_causal = true, left_window = 2}", 2, 1, 0, "_", "tensor<2xi64>"),
    ("{right_window = 0}", 2, 2, 0, "_", "_"),
    ("{left_window = 0}", 2, 2, 0, "_", "_"),
)  # fmt: skip


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize(("properties", "heads", "shared", "past", "mask", "lengths"), ATTENTION)
def test_attention(properties: str, heads: int, shared: int, past: int, mask: str, lengths: str, element: str) -> None:
    """Of 2 batches, 3 queries and 4 keys, with heads of 5 and values of 6 elements."""
    keys = 4 + past
    query = tensor((2, heads, 3, 5), element)
    key, value = tensor((2, shared, 4, 5), element), tensor((2, shared, 4, 6), element)
    before = [tensor((2, shared, past, size), element) for size in (5, 6)] if past else ["_", "_"]
    masked = mask.replace("ELEMENT", element).replace("{keys}", str(keys))
    results = [
        tensor(shape, element)
        for shape in ((2, heads, 3, 6), (2, shared, keys, 5), (2, shared, keys, 6), (2, heads, 3, keys))
    ]
    given = None if lengths == "_" else {"input3": np.array([2, 4], np.int64)}
    operands = [query, key, value, masked, *before, lengths]
    check(f"nn.attention {properties}", operands, results, preservation=ROUNDED, given=given)


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("properties", ["", "{interleaved = true}", "{size = 4}", "{size = 4, interleaved = true}"])
@pytest.mark.parametrize("positions", [False, True])
def test_rotary_embedding(positions: bool, properties: str, element: str) -> None:
    half = 2 if "size" in properties else 3
    data = tensor((2, 3, 4, 6), element)
    table = tensor((7, half) if positions else (2, 4, half), element)
    check(f"nn.rotary_embedding {properties}", [data, table, table, "tensor<2x4xi64>" if positions else "_"], [data])
