"""Movement, indexing and reductions as ONNX Runtime computes them, over the operator sets in which they changed."""

from typing import Any

import numpy as np
import pytest

from tests.referee.onnxruntime.nodes import agree

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")

pytestmark = pytest.mark.referee

GENERATOR = np.random.default_rng(11)
Array = np.ndarray


def floats(*shape: int) -> Array:
    return GENERATOR.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Array:
    return np.array(values, dtype=np.int64)


def scalar(value: Any, dtype: Any = np.int64) -> Array:
    return np.array(value, dtype=dtype)


X = floats(3, 4, 5)
WHOLE = GENERATOR.integers(-5, 6, (3, 4, 5)).astype(np.int32)

CASES: dict[str, tuple[str, list[Array | None], int, dict[str, Any]]] = {
    "Pad 7": ("Pad", [X], 7, {"pads": [1, 0, 2, 0, -1, 1], "value": 2.5}),
    "Pad 7 edge": ("Pad", [X], 7, {"pads": [1, 0, 2, 0, 3, 1], "mode": "edge"}),
    "Pad 13": ("Pad", [WHOLE, ints(0, -2, 1, 3, 0, -1), scalar(7, np.int32)], 13, {}),
    "Pad 13 reflect": ("Pad", [X, ints(0, 3, 1, 2, 0, 4)], 13, {"mode": "reflect"}),
    "Pad 18": ("Pad", [X, ints(1, 2, -1, 0), None, ints(-1, 0)], 18, {}),
    "Pad 19 wrap": ("Pad", [X, ints(1, 2, 3, 0), None, ints(1, -1)], 19, {"mode": "wrap"}),
    "Pad 19 wrap shrunk": ("Pad", [X, ints(-1, 2), None, ints(1)], 19, {"mode": "wrap"}),
    "Pad 19 edge shrunk": ("Pad", [X, ints(2, -2), None, ints(1)], 19, {"mode": "edge"}),
    "Slice 9": ("Slice", [X], 9, {"starts": [-3, 1], "ends": [9, -1], "axes": [1, 2]}),
    "Slice 13": ("Slice", [X, ints(-1, 4), ints(-9, 0), ints(2, 1), ints(-2, -1)], 13, {}),
    "Squeeze 11": ("Squeeze", [floats(1, 3, 1)], 11, {"axes": [-1]}),
    "Squeeze 13": ("Squeeze", [floats(1, 3, 1), ints(-1)], 13, {}),
    "Unsqueeze 11": ("Unsqueeze", [X], 11, {"axes": [0, -1]}),
    "Unsqueeze 13": ("Unsqueeze", [X, ints(-1, 1)], 13, {}),
    "Expand": ("Expand", [floats(3, 1), ints(2, 1, 4)], 13, {}),
    "Tile": ("Tile", [X, ints(2, 1, 3)], 13, {}),
    "GatherElements": ("GatherElements", [X, GENERATOR.integers(-4, 4, (2, 6, 5))], 13, {"axis": 1}),
    "GatherND": ("GatherND", [X, GENERATOR.integers(-4, 4, (3, 2, 1))], 13, {"batch_dims": 1}),
    "ScatterElements 11": (
        "ScatterElements",
        [X, np.array([[[0], [1]], [[2], [-1]]]), floats(2, 2, 1)],
        11,
        {"axis": -1},
    ),
    "OneHot": ("OneHot", [np.array([[0, -2], [3, 7]]), scalar(4), ints(-1, 6)], 11, {"axis": 1}),
    "OneHot of floats": (
        "OneHot",
        [scalar([0.0, 2.0], np.float32), scalar(3.0, np.float32), scalar([0.5, 2.0], np.float32)],
        11,
        {},
    ),
    "Trilu": ("Trilu", [X, scalar(-1)], 14, {"upper": 0}),
    "Range": ("Range", [scalar(9), scalar(-2), scalar(-3)], 11, {}),
    "Range of floats": ("Range", [scalar(0.5, np.float32), scalar(2.0, np.float32), scalar(0.25, np.float32)], 11, {}),
    "NonZero": ("NonZero", [WHOLE], 13, {}),
    "EyeLike": ("EyeLike", [WHOLE[0]], 9, {"k": -1, "dtype": 1}),
    "DepthToSpace": ("DepthToSpace", [floats(2, 8, 2, 3)], 13, {"blocksize": 2, "mode": "CRD"}),
    "SpaceToDepth": ("SpaceToDepth", [floats(2, 2, 4, 6)], 13, {"blocksize": 2}),
    "Compress": ("Compress", [X, scalar([False, True, True], bool)], 11, {"axis": -1}),
    "Compress flat": ("Compress", [X, scalar([False, True, True], bool)], 11, {}),
    "ArgMax": ("ArgMax", [WHOLE], 13, {"axis": 1, "select_last_index": 1, "keepdims": 0}),
    "ArgMin": ("ArgMin", [WHOLE], 13, {"axis": -1}),
    "CumSum": ("CumSum", [X, scalar(1, np.int32)], 14, {"reverse": 1, "exclusive": 1}),
    "ReverseSequence": ("ReverseSequence", [X, ints(1, 3, 2)], 10, {"batch_axis": 0, "time_axis": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_node(name: str) -> None:
    op_type, inputs, opset, attributes = CASES[name]
    agree(op_type, inputs, opset=opset, **attributes)


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("op_type", ["ScatterElements", "ScatterND"])
def test_scatter_reductions(op_type: str, reduction: str) -> None:
    """Indices that appear more than once."""
    if op_type == "ScatterND":
        indices, updates = GENERATOR.integers(-3, 3, (7, 1)), GENERATOR.integers(-5, 6, (7, 4, 5)).astype(np.int32)
        attributes: dict[str, Any] = {}
    else:
        indices = GENERATOR.integers(-3, 3, (3, 4, 5))
        updates, attributes = GENERATOR.integers(-5, 6, (3, 4, 5)).astype(np.int32), {"axis": 0}
    agree(op_type, [WHOLE, indices, updates], opset=18, reduction=reduction, **attributes)


@pytest.mark.parametrize("opset", [7, 11, 13, 18])
@pytest.mark.parametrize(
    ("sizes", "count"), [((1, 3), 2), ((2, 1, 1), 3), (None, 2), (None, 4)], ids=["uneven", "three", "halves", "ones"]
)
def test_split(opset: int, sizes: tuple[int, ...] | None, count: int) -> None:
    """The sizes are an attribute at first, an input later."""
    outputs = [f"y{position}" for position in range(count)]
    inputs: list[Array | None] = [X]
    attributes: dict[str, Any] = {"axis": 1}
    if sizes is not None and opset < 13:
        attributes["split"] = sizes
    elif sizes is not None:
        inputs.append(ints(*sizes))
    elif opset >= 18:
        attributes["num_outputs"] = count
    agree("Split", inputs, outputs, opset=opset, **attributes)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("opset", [10, 11])
def test_top_k(opset: int, largest: int) -> None:
    """Ties: the lower index comes first."""
    attributes = {"largest": largest} if opset >= 11 else {}
    values = WHOLE.astype(np.float32)
    agree("TopK", [values, ints(3)], ["values", "indices"], opset=opset, axis=1, **attributes)


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("axis", [None, 0, 2])
def test_unique(axis: int | None, is_sorted: int) -> None:
    attributes = {} if axis is None else {"axis": axis}
    values = GENERATOR.integers(0, 2, (4, 2, 5)).astype(np.float32)
    agree("Unique", [values], ["y", "first", "inverse", "counts"], opset=11, sorted=is_sorted, **attributes)


REDUCTIONS = [
    f"Reduce{name}" for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
]


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("op_type", REDUCTIONS)
def test_reduction(op_type: str, opset: int, keepdims: int) -> None:
    """The axes are an attribute at first, an input later."""
    values = np.abs(X) + 0.5
    if opset < (13 if op_type == "ReduceSum" else 18):
        agree(op_type, [values], opset=opset, axes=[0, -1], keepdims=keepdims)
    else:
        agree(op_type, [values, ints(0, -1)], opset=opset, keepdims=keepdims)


@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceSumSquare"])
def test_reduction_of_integers(op_type: str) -> None:
    agree(op_type, [WHOLE, ints(1)], opset=18)
