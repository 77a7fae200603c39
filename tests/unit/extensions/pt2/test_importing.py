"""Imports programs of `torch.export`, and rejects damaged archives with one clear message."""

import random
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.pt2_models import archive, call, config, layer, meta, program, tensor


def _load(path: Path, content: bytes, **options: Any) -> Any:
    path = path / "model.pt2"
    path.write_bytes(content)
    return qmlir.load(path, **options)


def test_a_layer_computes_its_formula_for_any_batch(tmp_path: Path) -> None:
    root, weights = layer()
    module = _load(tmp_path, archive(root, weights))
    for count in (1, 2, 5):
        x = np.random.default_rng(count).integers(-4, 5, (count, 3)).astype(np.float32)
        wanted = np.maximum(x @ weights["a.weight"].T + weights["a.bias"], 0)
        assert np.array_equal(qmlir.interpret(module, {"x": x})["relu"], wanted)


def test_operations_keep_their_module_and_operator(tmp_path: Path) -> None:
    text = str(_load(tmp_path, archive(*layer())))
    assert 'origin = "linear", op_type = "aten.linear.default", module = "a"' in text
    assert 'nn.dims = ["n", ""]' in text


def test_strides_and_an_offset_describe_a_weight(tmp_path: Path) -> None:
    root, weights = layer()
    listed = config(weights)
    entry = listed["config"]["a.weight"]["tensor_meta"]
    entry["strides"], entry["storage_offset"] = [{"as_int": 1}, {"as_int": 2}], {"as_int": 1}
    stored = np.arange(7, dtype=np.float32)
    module = _load(tmp_path, archive(root, {**weights, "a.weight": stored}, listed))
    wanted = np.maximum(stored[[[1, 3, 5], [2, 4, 6]]].sum(1) + weights["a.bias"], 0)
    assert np.array_equal(qmlir.interpret(module, {"x": np.ones((1, 3), np.float32)})["relu"][0], wanted)


def test_quantize_and_dequantize_become_a_type(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "scale": {"as_float": 0.5}, "zero_point": {"as_int": 3}, "quant_min": {"as_int": 0},
        "quant_max": {"as_int": 255}, "dtype": {"as_scalar_type": 1},
    }  # fmt: skip
    nodes = [
        call("quantized_decomposed.quantize_per_tensor.default", "q", input=tensor("x"), **given),
        call("quantized_decomposed.dequantize_per_tensor.default", "y", input=tensor("q"), **given),
    ]
    root = program(["x"], ["y"], nodes, {"x": meta((5,)), "q": meta((5,), "uint8"), "y": meta((5,))})
    x = np.array([-9, -0.25, 0.25, 0.75, 300], np.float32)
    found = qmlir.interpret(_load(tmp_path, archive(root, {})), {"x": x})["y"]
    assert np.array_equal(found, (np.clip(np.rint(x / np.float32(0.5)) + 3, 0, 255) - 3) * np.float32(0.5))


def _unsupported(root: Any, listed: Any) -> None:
    nodes = root["graph_module"]["graph"]["nodes"]
    nodes[0]["target"], nodes[1]["target"] = "torch.ops.aten.fft.default", "torch.ops.mine.op.default"


def _pickled(root: Any, listed: Any) -> None:
    listed["config"]["a.weight"]["use_pickle"] = True


def _outside(root: Any, listed: Any) -> None:
    listed["config"]["a.weight"]["tensor_meta"]["storage_offset"] = {"as_int": 1}


def _old(root: Any, listed: Any) -> None:
    root["schema_version"]["major"] = 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_unsupported, r"unsupported operators: aten.fft.default \(1, first in 'a'\), mine.op.default"),
        (_pickled, "weight 'a.weight' is pickled, and pickles are never opened"),
        (_outside, "needs 7 elements, but its storage has 6"),
        (_old, "its schema must have version 8, but has 5"),
    ],
)
def test_an_error_names_its_cause(tmp_path: Path, change: Callable[[Any, Any], None], message: str) -> None:
    root, weights = layer()
    listed = config(weights)
    change(root, listed)
    with pytest.raises(DiagnosticError, match=message):
        _load(tmp_path, archive(root, weights, listed))


def test_a_size_outside_the_range_is_rejected(tmp_path: Path) -> None:
    content = archive(*layer())
    with pytest.raises(DiagnosticError, match=r"size 65 of input 'x' must be in \[1, 64\]"):
        _load(tmp_path, content, shapes={"x": [65, 3]})
    assert "tensor<4x3xf32>" in str(_load(tmp_path, content, shapes={"x": [4, 3]}))


VALUES: list[Any] = [None, True, -1, 0, 1, 2**40, 2**70, 1.5, "", "x", "Symbol('n')", [], [1], {}, {"as_int": -1}]


def test_an_option_without_effect_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match=r"keep_casts requires an ONNX model, but got '.*model\.pt2'"):
        _load(tmp_path, archive(*layer()), keep_casts=True)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Returns the containers in `value`, each with one of its keys."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def _damaged(seed: int) -> bytes:
    """Returns an archive in which a JSON value or bytes of the zip file are changed."""
    choice = random.Random(seed)
    root, weights = layer()
    listed = config(weights)
    if choice.random() < 0.7:
        root, listed = deepcopy(root), deepcopy(listed)
        for _ in range(choice.choice((1, 1, 3))):
            places = _places(root if choice.random() < 0.75 else listed)
            if not places:
                continue
            container, key = choice.choice(places)
            if choice.random() < 0.2:
                del container[key]
            else:
                container[key] = deepcopy(choice.choice(VALUES))
        return archive(root, weights, listed)
    content = bytearray(archive(root, weights))
    for _ in range(choice.choice((1, 4, 16))):
        content[choice.randrange(len(content))] = choice.randrange(256)
    return bytes(content[: choice.randrange(len(content))] if choice.random() < 0.2 else content)


@pytest.mark.parametrize("block", range(4))
def test_damaged_archives_load_or_get_one_message(tmp_path: Path, block: int) -> None:
    for seed in range(block * 100, (block + 1) * 100):
        with suppress(DiagnosticError):
            _load(tmp_path, _damaged(seed))
