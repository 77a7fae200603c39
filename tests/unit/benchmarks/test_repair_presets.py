"""What `benchmarks.repair_peers` reads of a process: scores of presets, and the words of those that fail."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from benchmarks import repair_presets
from benchmarks.repair_presets import PresetTask, Scores


def _saved(folder: Path) -> None:
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, "N", 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", ports[:1], ports[1:])
    (folder / "model.onnx").write_bytes(helper.make_model(graph).SerializeToString())


def test_batches_are_all_samples_in_their_order(tmp_path: Path) -> None:
    _saved(tmp_path)
    data = np.random.default_rng(0).normal(size=(3, 10, 2)).astype(np.float32)
    for most, sizes in ((0, [4, 4, 2]), (3, [3, 3, 3, 1])):  # what the model takes at once decides
        task = PresetTask(tmp_path / "model.onnx", {"x": data}, 1, most, 4, 8, 0)
        batches = task.batches(4)
        assert [each["x"].shape[1] for each in batches] == sizes
        np.testing.assert_array_equal(np.concatenate([each["x"] for each in batches], 1), data)
        assert (task.output, task.count) == ("y", 10)


def test_a_preset_writes_its_scores_or_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def halves(task: PresetTask) -> Scores:
        return lambda feeds: feeds["x"] / task.weights

    def fails(task: PresetTask) -> Scores:
        raise NotImplementedError(f"no integers of {task.activations} bits")

    presets = {"halves": (halves, ("W4A4",)), "fails": (fails, ("W4A4",)), "of 8 bits": (fails, ("W8A8",))}
    monkeypatch.setattr(repair_presets, "PRESETS", {"peer": presets})
    _saved(tmp_path)
    images = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    arrays: dict[str, Any] = {"data/x": images, "test/x": images}
    np.savez(tmp_path / "samples.npz", **arrays, axis=0, most=2, iterations=0)
    repair_presets.run("peer", tmp_path, ["W4A4"], [])
    names = sorted(path.name for path in tmp_path.glob("peer-*"))
    assert names == ["peer-W4A4-0.npz", "peer-W4A4-1.npz"]
    good, bad = (dict(np.load(tmp_path / name)) for name in names)
    assert str(good["preset"]) == "halves"
    assert float(good["seconds"]) >= 0
    np.testing.assert_array_equal(good["scores"], images / 4)
    assert str(bad["failure"]) == "NotImplementedError: no integers of 4 bits"
