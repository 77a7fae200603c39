"""`qmlir tune` from the command line: what it prints and keeps, and how it ends."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from qmlir.targets.cpu import cache
from qmlir.tools import qmlir_cli
from tests.support.classifiers import samples, saved_classifier


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "cache"))
    saved_classifier(tmp_path)
    np.savez(tmp_path / "data.npz", x=samples()[0])
    return tmp_path


def run(folder: Path, *words: str | Path, command: str = "tune") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    arguments = [command, folder / "classifier.onnx", "--isa", "generic", *words]
    return qmlir_cli.main(list(map(str, arguments)), stdout=out, stderr=err), out.getvalue(), err.getvalue()


def test_a_table_and_a_second_run(folder: Path) -> None:
    code, out, _ = run(folder, "--data", folder / "data.npz", "--shape", "x=4x4")
    assert code == 0
    assert "matmul 4x2 of 4" in out
    assert "splat 4 x 1" in out
    assert f"qmlir compile reads them from {folder / 'cache' / 'tuned'}" in out
    code, out, err = run(folder, "--data", folder / "data.npz", "--shape", "x=4x4", "--json", "--verbose")
    found = json.loads(out)
    assert (code, found["isa"], found["remaining"]) == (0, "generic", 0)
    assert not any(each["is_new"] for each in found["kernels"])
    assert found["kernels"][0]["name"] in err


def test_what_is_left_is_told(folder: Path) -> None:
    """Without time for any kernel, there are no schedules to count."""
    code, out, _ = run(folder, "--seconds", "0")
    assert (code, out) == (0, "2 kernels not searched in time; run qmlir tune again to continue\n")


def test_a_model_without_contractions_is_told_in_a_line(folder: Path) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "classifier.onnx").write_bytes(model.SerializeToString())
    code, out, err = run(folder)
    assert (code, out.count("\n"), err) == (0, 1, "")
    assert out.startswith("nothing to search: the model has no matrix product or convolution")
    code, out, _ = run(folder, "--json")
    assert (code, json.loads(out)["kernels"]) == (0, [])


def test_a_damaged_store_is_told(folder: Path) -> None:
    run(folder, "--seconds", "0")
    (store,) = (folder / "cache" / "tuned").iterdir()
    store.write_text("{")
    code, _, err = run(folder, "--seconds", "0")
    assert (code, "warning: " in err, "does not contain tuned schedules" in err) == (0, True, True)


def test_a_damaged_store_is_told_in_a_line_where_it_would_be_used(folder: Path) -> None:
    run(folder, "--seconds", "0")
    (store,) = (folder / "cache" / "tuned").iterdir()
    store.write_text("{")
    code, _, err = run(folder, "--shape", "x=1x4", "--quiet", "-o", folder / "program", command="compile")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(f"warning: '{store}' does not contain tuned schedules")


def test_compiling_without(folder: Path) -> None:
    code, out, _ = run(folder, "--no-tuned", "--shape", "x=1x4", "-o", folder / "program", command="compile")
    assert (code, "a program for generic" in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--kernels", "0"), 2, "--kernels must be at least 1, but got 0"),
        (("--seconds", "-1"), 2, "--seconds must be >= 0, but got -1.0"),
        (("--seconds", "nan"), 2, "--seconds must be >= 0, but got nan"),
        (("--threads", "0"), 1, "threads must be at least 1, but got 0"),
    ],
)
def test_wrong_words_are_told(folder: Path, words: tuple[str, ...], code: int, message: str) -> None:
    found, _, err = run(folder, *words)
    assert (found, message in err, err.count("\n")) == (code, True, 1)


def test_a_store_that_cannot_be_written_is_told(folder: Path) -> None:
    (folder / "cache").write_text("a file")
    code, _, err = run(folder)
    assert (code, "cannot save tuned schedules in" in err, err.count("\n")) == (1, True, 1)
