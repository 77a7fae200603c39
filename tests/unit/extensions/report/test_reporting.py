"""Reports of real modules: what they say agrees with what NumPy makes of the values; folders, models and bad input."""

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.extensions.report.model import Report, ReportNode
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.tools.qmlir_cli import main
from qmlir.workflows.comparison.subjects import ModuleSubject
from qmlir.workflows.quantizing import quantize

MODEL = Path(__file__).parents[4] / "docs" / "examples" / "digits.onnxtxt"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "samples.npz"
    np.savez(path, image=np.random.default_rng(0).uniform(-1, 1, (24, 4)).astype(np.float32))
    return path


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report, Any, Any]:
    """A report of a quantized module with times, and both modules."""
    path = tmp_path_factory.mktemp("report") / "page.html"
    model = qmlir.load(MODEL, shapes={"image": (1, 4)})
    quantized = qmlir.quantize(model, data).module
    labels = np.arange(24) % 2
    report = qmlir.report(quantized, data, path, reference=model, labels=labels, samples=24, title="digits")
    return path, report, model, quantized


def node_of(report: Report, name: str) -> ReportNode:
    return next(node for node in report.nodes if node.name == name)


def test_nodes_and_edges(made: tuple[Path, Report, Any, Any]) -> None:
    _, report, _, _ = made
    assert [(node.name, node.operation) for node in report.nodes] == [
        ("image", "input"), ("fc1", "nn.fully_connected"), ("relu1", "nn.relu"), ("logits", "output"),
    ]  # fmt: skip
    assert [(edge.source, edge.target) for edge in report.edges] == [(0, 1), (1, 2), (2, 3)]


def test_errors_and_histograms_are_of_all_samples(made: tuple[Path, Report, Any, Any], data: Path) -> None:
    _, report, model, quantized = made
    images = np.load(data)["image"]
    subjects = ModuleSubject(model), ModuleSubject(quantized)
    exact, found = (
        np.concatenate([subject.values({"image": image[None]})["relu1"][0] for image in images]).astype(np.float64)
        for subject in subjects
    )
    node = node_of(report, "relu1")
    assert node.error is not None
    assert node.error.sqnr_db == pytest.approx(10 * np.log10((exact**2).sum() / ((exact - found) ** 2).sum()))
    assert node.error.max_error == pytest.approx(np.abs(exact - found).max())
    assert node.range == pytest.approx((exact.min(), exact.max()))
    histogram = node.histogram
    assert histogram is not None
    edges = histogram.start + histogram.width * np.arange(len(histogram.float_counts) + 1)
    for values, counts in ((exact, histogram.float_counts), (found, histogram.quantized_counts)):
        expected = [int(((values >= low) & (values < high)).sum()) for low, high in pairwise(edges)]
        assert list(counts) == expected
        assert sum(counts) == values.size


def test_what_is_cut_off_by_a_relu_is_no_error(made: tuple[Path, Report, Any, Any]) -> None:
    _, report, _, _ = made
    layer, relu = node_of(report, "fc1"), node_of(report, "relu1")
    assert layer.is_limited
    assert layer.error is not None
    assert relu.error is not None
    assert layer.error.sqnr_db == pytest.approx(relu.error.sqnr_db)  # but for the rounding of the upper limit
    assert layer.error.max_error == pytest.approx(relu.error.max_error)
    assert layer.clipped is not None
    assert layer.clipped > 0.05


def test_weights_sizes_and_kernels(made: tuple[Path, Report, Any, Any]) -> None:
    _, report, _, _ = made
    layer = node_of(report, "fc1")
    weights = np.array([[1.0, -2.0, 0.5, 0.25], [0.0, 3.0, -1.5, 2.0]])
    assert layer.weights is not None
    assert layer.weights.minima == tuple(weights.min(axis=1))
    assert layer.weights.maxima == tuple(weights.max(axis=1))
    assert layer.weights.scales == pytest.approx(np.abs(weights).max(axis=1) / 127)
    assert layer.multiply_adds == 8
    assert layer.bytes == 8 + 2 * 4 + 2 * 2 * 4  # weights, bias, and a scale for each channel of both
    assert layer.kernels
    assert all(use.seconds > 0 for use in layer.kernels)
    assert layer.seconds == pytest.approx(sum(use.seconds for use in layer.kernels))
    figures = {figure.name: figure for figure in report.figures}
    assert figures["weights"].reference == 10 * 4
    assert figures["time"].quantized > 0


def test_labels_in_the_file_of_the_data(made: tuple[Path, Report, Any, Any], data: Path, tmp_path: Path) -> None:
    _, report, model, quantized = made
    both, page = tmp_path / "both.npz", tmp_path / "page.html"
    np.savez(both, image=np.load(data)["image"], truth=np.arange(24) % 2)
    found = qmlir.report(quantized, both, page, reference=model, labels=f"truth={both}", samples=24, time=False)
    # The float model is quantized by the same data.
    alone = qmlir.report(model, both, page, labels=f"truth={both}", samples=24, time=False)
    figures, others, expected = ({each.name: each for each in each.figures} for each in (found, alone, report))
    assert figures["top-1 accuracy"] == others["top-1 accuracy"] == expected["top-1 accuracy"]
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        qmlir.report(quantized, both, page, reference=model, samples=24, time=False)
    assert [each.message for each in said] == ["ignoring array 'truth' in the data: the model has no such input"]


def test_accuracy_is_by_the_labels(made: tuple[Path, Report, Any, Any], data: Path) -> None:
    _, report, model, quantized = made
    images, labels = np.load(data)["image"], np.arange(24) % 2
    theirs, ours = (
        np.array([qmlir.interpret(each, {"image": image[None]})["logits"].argmax() for image in images])
        for each in (model, quantized)
    )
    figures = {figure.name: figure for figure in report.figures}
    assert figures["top-1 accuracy"].reference == pytest.approx(100 * (theirs == labels).mean())
    assert figures["top-1 accuracy"].quantized == pytest.approx(100 * (ours == labels).mean())
    assert figures["agreement"].quantized == pytest.approx(100 * (theirs == ours).mean())


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return main(words, stdin=io.StringIO(), stdout=out, stderr=err), out.getvalue(), err.getvalue()


def test_a_folder_of_quantize(data: Path, tmp_path: Path) -> None:
    folder, page = tmp_path / "out", tmp_path / "page.html"
    code, _, err = run("quantize", str(MODEL), "--data", str(data), "-o", str(folder), "--quiet")
    assert code == 0, err
    code, out, err = run(
        "report", str(folder), "--data", str(data), "-o", str(page), "--no-time", "--samples", "3", "--json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert found["samples"] == 3
    assert found["bytes"] == page.stat().st_size
    assert {figure["name"] for figure in found["figures"]} == {"agreement", "output error", "weights"}
    assert "digits" in page.read_text()


def test_a_float_model_is_quantized_first(data: Path, tmp_path: Path) -> None:
    code, out, err = run("report", str(MODEL), "--data", str(data), "-o", str(tmp_path / "a.html"), "--no-time")
    assert code == 0, err
    assert "4 nodes, 8 samples" in out


def test_data_that_can_be_read_once(data: Path, tmp_path: Path) -> None:
    images = np.load(data)["image"]
    report = qmlir.report(qmlir.load(MODEL), ([image] for image in images[:5]), tmp_path / "a.html", time=False)
    assert report.samples == 5


def test_the_mask_of_a_softmax(tmp_path: Path) -> None:
    text = """func.func @main(%x: tensor<2x4xf32>, %m: tensor<2x4xi1>)
        -> (tensor<2x4xf32>, tensor<2x4xf32>) {
      %0 = nn.softmax %x, %m {axis = 1, empty_rows = "uniform"} : (tensor<2x4xf32>, tensor<2x4xi1>) -> tensor<2x4xf32>
      %1 = nn.softmax %x {axis = 1} : tensor<2x4xf32>
      func.return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
    }"""
    path = tmp_path / "masked.mlir"
    path.write_text(text)
    module = qmlir.load(path)
    given = {"input0": np.eye(2, 4, dtype=np.float32), "input1": np.tri(2, 4, 1, dtype=bool)}
    report = qmlir.report(module, given, tmp_path / "page.html", time=False)
    texts = [node.mask for node in report.nodes if node.operation == "nn.softmax"]
    assert [("uniform" in text, "probability 0" in text) for text in texts] == [(True, True), (False, False)]


def test_what_does_not_fit_is_said(data: Path, tmp_path: Path) -> None:
    model = qmlir.load(MODEL)
    quantized = qmlir.quantize(model, data).module
    page = tmp_path / "page.html"
    with pytest.raises(DiagnosticError, match="is quantized; pass the float model with --reference"):
        qmlir.report(quantized, data, page)
    with pytest.raises(DiagnosticError, match="has no quantized value"):
        qmlir.report(model, data, page, reference=model)
    with pytest.raises(DiagnosticError, match="samples must be at least 1, but got 0"):
        qmlir.report(model, data, page, samples=0)
    with pytest.raises(DiagnosticError, match="does not exist"):
        qmlir.report(model, data, tmp_path / "nowhere" / "page.html")
    with pytest.raises(DiagnosticError, match=r"expected one label per sample \(24\), but got 3"):
        qmlir.report(quantized, data, page, reference=model, labels=[0, 1, 0])
    assert not page.exists()
    code, _, err = run("report", str(tmp_path), "--data", str(data))
    assert code == 1
    assert "not a folder written by 'qmlir quantize'" in err


def test_layers_have_what_repairs_did_to_them(data: Path, tmp_path: Path) -> None:
    """Also those of a saved module, as text and in the page."""
    saved, page = tmp_path / "repaired.mlir", tmp_path / "page.html"
    model = qmlir.load(MODEL)
    quantize(model, data, weights="i3", effort=2, validate=False).save(saved)
    report = qmlir.report(saved, data, page, reference=model, time=False)
    repairs = node_of(report, "fc1").repairs
    assert repairs[0].repair == "quant-gptq"
    assert f"repaired: 1 layer\n  fc1: quant-gptq {repairs[0].gain_db:.1f} dB" in report.text()
    assert f'"repair":"quant-gptq","nodes":["fc1"],"before_db":{repairs[0].before_db:g}' in page.read_text()
    assert not node_of(report, "relu1").repairs
