"""`tests/plugins/qmlir_fxp`, installed beside the wheel: everything that it adds is there, in every tool."""

from pathlib import Path

import numpy as np
import pytest

from tests.referee.packaging.conftest import install, run
from tests.support.documents import ROOT

pytestmark = [pytest.mark.referee, pytest.mark.timeout(900)]

PACKAGE = ROOT / "tests" / "plugins" / "qmlir_fxp"
EXAMPLES = ROOT / "docs" / "examples"
QUANTIZED = """!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<2x!x>) -> tensor<2x!y> {
  %0 = nn.relu %x {requantize = #kernel.requantize<shift, even>} : (tensor<2x!x>) -> tensor<2x!y>
  func.return %0 : tensor<2x!y>
}
"""


@pytest.fixture(scope="module")
def with_fxp(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    install(programs, PACKAGE, tmp_path_factory.mktemp("fxp"), "qmlir_fxp", "--no-deps")
    return programs


def test_the_tools_show_what_it_adds(with_fxp: Path, tmp_path: Path) -> None:
    assert "convert-nn-to-fxp" in run(with_fxp / "qmlir-opt", "--list-passes", cwd=tmp_path)
    assert "fxp" in run(with_fxp / "qmlir-opt", "--show-dialects", cwd=tmp_path).split()
    assert "fxp" in run(with_fxp / "qmlir-opt", "--list-targets", cwd=tmp_path)
    found = run(with_fxp / "qmlir", "doctor", cwd=tmp_path)
    for line in (
        "dialects: fxp", "passes: convert-nn-to-fxp", "targets: fxp", "pdl: fxp.blocks",
        "importers: com.fxp::ConvBlock", "exporters: fxp.conv_block",
    ):  # fmt: skip
        assert f"qmlir-fxp 1.0  {line}" in found


def test_xdsl_opt_runs_its_passes(with_fxp: Path, tmp_path: Path) -> None:
    (tmp_path / "relu.mlir").write_text(QUANTIZED, encoding="utf-8")
    device = run(with_fxp / "xdsl-opt", "relu.mlir", "-p", "convert-nn-to-fxp", cwd=tmp_path)
    assert "fxp.shift" in device
    (tmp_path / "device.mlir").write_text(device, encoding="utf-8")
    assert run(with_fxp / "xdsl-opt", "device.mlir", cwd=tmp_path) == device


def test_a_model_on_the_device_and_the_host(with_fxp: Path, tmp_path: Path) -> None:
    one, samples = EXAMPLES / "digits_one.npz", EXAMPLES / "digits_samples.npz"
    run(
        with_fxp / "qmlir", "quantize", EXAMPLES / "digits_cnn.onnx", "--data", samples, "--device", "fxp,cpu",
        "-o", "out", cwd=tmp_path,
    )  # fmt: skip
    run(
        with_fxp / "qmlir", "compile", "out", "--shape", "input=1x1x8x8", "--device", "fxp,cpu", "-o", "program",
        cwd=tmp_path,
    )  # fmt: skip
    for source, name in (("out", "whole.npz"), ("program", "divided.npz")):
        run(with_fxp / "qmlir", "run", source, "--input", one, "-o", name, cwd=tmp_path)
    whole, divided = (np.load(tmp_path / name)["logits"] for name in ("whole.npz", "divided.npz"))
    np.testing.assert_array_equal(divided, whole, strict=True)
    assert list((tmp_path / "program").rglob("*.fxp"))
