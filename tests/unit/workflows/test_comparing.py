"""What `qmlir.compare` takes: modules, paths with and without a runtime, folders, programs; and what it refuses."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.tools import qmlir_cli
from qmlir.workflows.comparison.subjects import ModuleSubject

MODEL = Path(__file__).parents[3] / "docs" / "examples" / "digits.onnxtxt"
IMAGES = np.random.default_rng(5).uniform(-1, 1, (16, 4)).astype(np.float32)
DATA = {"image": IMAGES}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "samples.npz", image=IMAGES)
    path = tmp_path / "out"
    code = qmlir_cli.main(["quantize", str(MODEL), "--data", str(tmp_path / "samples.npz"), "-o", str(path), "--quiet"])
    assert code == 0
    return path


def keys(found: Any) -> list[str]:
    return [each.key for each in found.values]


def test_modules_and_paths_are_the_same(folder: Path) -> None:
    float_module = qmlir.load(MODEL)
    quantized = qmlir.quantize(float_module, DATA).module
    found = [
        qmlir.compare(one, other, DATA)
        for one, other in ((float_module, quantized), (MODEL, folder), (str(MODEL), quantized), (folder, None))
    ]
    assert keys(found[0]) == ["image", "fc1", "relu1"]
    assert all(each.values == found[0].values for each in found)
    assert 30 < found[0].outputs[0].sqnr_db < 60


def test_parts_of_composites(folder: Path) -> None:
    found = qmlir.compare(folder, None, DATA, parts=True)
    assert keys(found) == ["image", "fc1/matmul", "fc1/bias_add", "relu1"]


@pytest.mark.parametrize("level", ["integer", "loops"])
def test_a_model_with_itself_lowered(folder: Path, level: str) -> None:
    for found in (
        qmlir.compare(folder, None, DATA, level=level, samples=2),
        qmlir.compare(folder, f"{level}:{folder}", DATA, samples=2),
        qmlir.compare(qmlir.load(folder / "digits.q.mlir"), None, DATA, level=level, samples=2),
    ):
        assert {each.sqnr_db for each in (*found.values, *found.outputs)} == {math.inf}
        assert "relu1" in keys(found)


def test_runtimes_in_front_of_a_path(folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    exact = qmlir.compare(f"onnxruntime:{MODEL}", MODEL, DATA)
    assert (keys(exact), exact.values[0].operation) == (["fc1", "relu1"], "Gemm")
    assert exact.first_below(120) is None
    used = qmlir.compare(f"onnxruntime-optimized:{MODEL}", f"interpreter:{folder}", DATA, samples=4)
    assert [each.key for each in used.outputs] == ["logits"]
    assert used.outputs[0].sqnr_db < 60


def test_programs(folder: Path, tmp_path: Path) -> None:
    module = qmlir.load(folder / "digits.q.mlir")
    fixed = qmlir.quantize(qmlir.load(MODEL, shapes={"image": (2, 4)}), DATA).module
    program = qmlir.compile(fixed)
    program.save(tmp_path / "saved")
    sides: list[tuple[Any, Any]] = [
        (module, f"compiled:{folder}"), (module, qmlir.compile(module)), (qmlir.compile(module), module),
        (fixed, tmp_path / "saved"), (str(tmp_path / "saved"), qmlir.load_program(tmp_path / "saved")),
    ]  # fmt: skip
    for one, other in sides:
        found = qmlir.compare(one, other, DATA, samples=4)
        assert (found.samples, found.outputs[0].key, found.outputs[0].sqnr_db) == (4, "logits", math.inf)


def test_a_subject_is_taken_as_it_is(folder: Path) -> None:
    subject = ModuleSubject(qmlir.load(MODEL), "mine")
    assert qmlir.compare(subject, folder, DATA).reference == "mine"


def test_sizes_that_a_model_leaves_open() -> None:
    found = qmlir.compare(MODEL, MODEL, DATA, shapes={"image": (8, 4)}, samples=8)
    assert (found.samples, found.values[0].elements) == (8, 16)
    with pytest.raises(DiagnosticError, match="samples must be at least the batch size of the model, but got 4"):
        qmlir.compare(MODEL, MODEL, DATA, shapes={"image": (8, 4)}, samples=4)


REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("cannot compare one model alone; pass a second model", lambda: qmlir.compare(MODEL, None, DATA)),
    ("unknown level 'loop'; did you mean 'loops'", lambda: qmlir.compare(MODEL, None, DATA, level="loop")),
    (
        "level cannot be combined with a second model; prefix its path with a runtime instead",
        lambda: qmlir.compare(MODEL, MODEL, DATA, level="loops"),
    ),
    (
        "unknown runtime 'onnxrutime'; did you mean 'onnxruntime'",
        lambda: qmlir.compare("onnxrutime:m.onnx", MODEL, DATA),
    ),
    ("cannot read 'none.onnx': No such file", lambda: qmlir.compare("none.onnx", MODEL, DATA)),
    ("cannot read 'none.onnx': No such file", lambda: qmlir.compare("compiled:none.onnx", MODEL, DATA)),
    (
        "is not an ONNX model; ONNX Runtime requires a .onnx file",
        lambda: qmlir.compare(f"onnxruntime:{__file__}", MODEL, DATA),
    ),
    ("cannot compare a program with a program; compare it with a model", lambda: qmlir.compare(len, len, DATA)),
    ("cannot compare int: expected a module, a program or a path", lambda: qmlir.compare(3, MODEL, DATA)),  # type: ignore[arg-type]
    ("is not a folder written by 'qmlir quantize'", lambda: qmlir.compare(MODEL.parent, MODEL, DATA)),
    ("has no input 'picture'", lambda: qmlir.compare(MODEL, MODEL, {"picture": IMAGES})),
]


@pytest.mark.parametrize(("message", "run"), REFUSED, ids=[message for message, _ in REFUSED])
def test_what_is_refused(message: str, run: Callable[[], Any]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        run()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
