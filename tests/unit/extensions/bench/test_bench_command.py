"""`qmlir bench` from the command line: what is timed, and what is refused before anything takes its time."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import qmlir
from qmlir.targets.runtimes import packages
from qmlir.tools import qmlir_cli
from tests.support.classifiers import FINE, samples, saved_classifier

QUICK = ("--rounds", "1", "--seconds", "0.001")
MULTIPLY_ADDS = FINE.size + 2 * 2
"""Of one sample, by hand: 4 pixels for 2 units, 2 units for 2 classes."""


def run(*words: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return qmlir_cli.main(["bench", *map(str, words)], stdout=out, stderr=err), out.getvalue(), err.getvalue()


def timed(*words: str | Path) -> dict[str, Any]:
    code, out, err = run(*words, *QUICK, "--json")
    assert code == 0, err
    return json.loads(out)


def names(found: dict[str, Any]) -> list[str]:
    return [line["name"] for line in found["lines"]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved_classifier(tmp_path)


def test_a_float_model_is_timed_in_int8_and_f32(model: Path) -> None:
    found = timed(model)
    assert names(found) == ["qmlir int8", "qmlir f32"]
    assert (found["multiply_adds"], found["shapes"]) == (MULTIPLY_ADDS, {"x": [1, 4]})
    for line in found["lines"]:
        assert line["low_seconds"] <= line["median_seconds"] <= line["high_seconds"]
        assert line["multiply_adds_per_second"] == pytest.approx(MULTIPLY_ADDS / line["median_seconds"])
        assert line["ratio"] == pytest.approx(line["median_seconds"] / found["lines"][0]["median_seconds"])


def test_shapes_and_data_are_taken(model: Path, tmp_path: Path) -> None:
    found = timed(model, "--shape", "x=3x4")
    assert (found["multiply_adds"], found["shapes"]) == (3 * MULTIPLY_ADDS, {"x": [3, 4]})
    np.savez(tmp_path / "data.npz", x=samples()[0])
    assert timed(model, "--data", tmp_path / "data.npz")["shapes"] == {"x": [1, 4]}


def test_a_model_is_cut(model: Path) -> None:
    """The first layer alone has the products of 4 pixels for 2 units."""
    graph = onnx.load(model).graph
    inside = graph.node[0].output[0]
    found = timed(model, "--cut-outputs", inside)
    assert (names(found), found["multiply_adds"]) == (["qmlir int8", "qmlir f32"], FINE.size)
    code, _, err = run(model.parent, "--cut-outputs", inside, *QUICK)
    assert (code, "cut_inputs and cut_outputs require an ONNX model" in err) == (1, True)


def test_peers_run_beside(model: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    found = timed(model, "--against", "onnxruntime")
    assert names(found)[2:] == ["ONNX Runtime f32", "ONNX Runtime u8s8", "ONNX Runtime u8s8 exact"]
    assert set(found["versions"]) == {"qmlir", "onnxruntime"}


def test_openvino_runs_beside(model: Path) -> None:
    pytest.importorskip("openvino", reason="openvino is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime, which quantizes for it, is not installed")
    assert names(timed(model, "--against", "openvino"))[2:] == ["OpenVINO f32", "OpenVINO u8s8"]


def test_a_quantized_model_is_run_as_it_is(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from qmlir.extensions.bench.peers import FORMS, quantize  # noqa: PLC0415 - with onnxruntime only

    target = tmp_path / "quantized.onnx"
    quantize(model, target, FORMS["u8s8"], [{"x": row[None]} for row in samples(8)[0]])
    found = timed(target, "--against", "onnxruntime")
    assert names(found) == ["qmlir", "ONNX Runtime as given", "ONNX Runtime as given exact"]


def test_a_folder_a_module_and_a_program_are_timed(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=samples()[0])
    for words in (
        ("quantize", model, "--data", tmp_path / "data.npz", "-o", tmp_path / "out"),
        ("compile", tmp_path / "out", "--shape", "x=1x4", "-o", tmp_path / "program"),
    ):
        assert qmlir_cli.main(list(map(str, words)), stdout=io.StringIO(), stderr=io.StringIO()) == 0, words
    assert names(timed(tmp_path / "out")) == ["qmlir int8", "qmlir f32"]
    assert names(timed(tmp_path / "out" / "classifier.float.mlir")) == ["qmlir"]
    found = timed(tmp_path / "program")
    assert (names(found), found["multiply_adds"], found["shapes"]) == (["qmlir"], None, {"x": [1, 4]})
    for path in (tmp_path / "out", tmp_path / "program", tmp_path / "out" / "classifier.q.mlir"):
        code, _, err = run(path, "--against", "onnxruntime", *QUICK)
        assert (code, err.count("\n")) == (1, 1)
        assert "cannot compare with onnxruntime: " in err


def test_the_table_has_a_line_for_each(model: Path) -> None:
    code, out, err = run(model, *QUICK)
    assert code == 0
    assert "x 1x4; 1 thread" in out
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("qmlir")] == [
        ["qmlir", "int8"], ["qmlir", "f32"]
    ]  # fmt: skip
    assert "qmlir int8: compiling" in err


def test_what_is_missing_is_told_first(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    monkeypatch.setattr(qmlir, "compile", None)  # nobody gets so far
    assert run(model, "--against", "openvino") == (
        1, "", "error: OpenVINO is not installed; run pip install 'qmlir[peers]'\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--against", "onnxrutime"), 1, "unknown peer 'onnxrutime'; did you mean 'onnxruntime'?"),
        (("--rounds", "0"), 2, "--rounds must be at least 1 and --seconds greater than 0"),
        (("--seconds", "0"), 2, "--rounds must be at least 1 and --seconds greater than 0"),
        (("--seconds", "nan"), 2, "--rounds must be at least 1 and --seconds greater than 0"),
        (("--seconds", "inf"), 2, "--rounds must be at least 1 and --seconds greater than 0"),
        (("--shape", "z=1x4"), 1, "has no input 'z'"),
    ],
)
def test_wrong_words_are_told(model: Path, words: tuple[str, ...], code: int, message: str) -> None:
    found, _, err = run(model, *words)
    assert found == code
    assert message in err
