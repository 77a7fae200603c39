"""`qmlir inspect` on a model, a module and a folder of `qmlir quantize`."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from qmlir.tools import qmlir_cli

DIGITS = Path(__file__).resolve().parents[4] / "docs" / "examples" / "digits.onnxtxt"


def run(*arguments: str | Path, stdin: str = "") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    words = ["inspect", *map(str, arguments)]
    return qmlir_cli.main(words, stdin=io.StringIO(stdin), stdout=out, stderr=err), out.getvalue(), err.getvalue()


def test_the_table() -> None:
    code, out, err = run(DIGITS, "--shape", "image=3x4")
    assert (code, err) == (0, "")
    head, table = out.split("\n\n")
    # Three samples, each with two sums of four products; eight weights and two biases of 4 bytes.
    assert "multiply-adds: 24, 0.0% in integers" in head
    assert "weights: 10 numbers, 40 bytes" in head
    names = [line.split()[0] for line in table.splitlines()]
    assert names == ["layer", "fc1", "relu1"]


def test_json_is_data_alone() -> None:
    code, out, _ = run(DIGITS, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["multiply_adds"] == 8  # of one sample: the batch is open
    assert found["inputs"][0]["shape"] == [None, 4]
    assert [layer["key"] for layer in found["layers"]] == ["fc1", "relu1"]
    assert found["kept"] == ["nn.fully_connected"]


def test_a_folder_of_quantize(tmp_path: Path) -> None:
    np.savez(tmp_path / "samples.npz", image=np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4))
    words = ["quantize", str(DIGITS), "--data", str(tmp_path / "samples.npz"), "-o", str(tmp_path / "out")]
    assert qmlir_cli.main(words, stdout=io.StringIO(), stderr=io.StringIO()) == 0
    code, out, _ = run(tmp_path / "out")
    assert code == 0
    assert "100.0% in integers" in out
    assert "16 bytes, 40 bytes as floats" in out  # eight bytes of weights, two biases of 32 bits


MODULE = """
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x2xf32> {
  %v = nn.constant dense<1.0> : tensor<4x2xf32> {origin = "v"}
  %0 = nn.relu %x : tensor<4x4xf32> {origin = "small"}
  %1 = nn.matmul %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {origin = "products"}
  %2 = nn.matmul %1, %v : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> {origin = "bytes"}
  func.return %2 : tensor<4x2xf32>
}
"""


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("macs", ["products", "bytes", "small"]),  # 64, 32, 0
        ("bytes", ["small", "products", "bytes"]),  # 64, 64, 32 and 32 of weights: equal ones stay in order
    ],
)
def test_sorting(sort: str, order: list[str]) -> None:
    code, out, _ = run("-", "--sort", sort, stdin=MODULE)
    assert code == 0
    assert [line.split()[0] for line in out.split("\n\n")[1].splitlines()[1:]] == order


@pytest.mark.parametrize("form", ["program", "c"])
def test_options_of_models_for_a_program(form: str, tmp_path: Path) -> None:
    words = ["compile", str(DIGITS), "--shape", "image=1x4", "--emit", form, "-o", str(tmp_path / "out"), "--json"]
    out = io.StringIO()
    assert qmlir_cli.main(words, stdout=out, stderr=io.StringIO()) == 0
    code, shown, _ = run(tmp_path / "out", "--json")
    assert code == 0
    if form == "c":
        assert json.loads(out.getvalue())["card"] == json.loads(shown)
    for options in (
        ["--shape", "image=1x4"], ["--cut-inputs", "image"], ["--cut-outputs", "y"], ["--no-fallback"],
        ["--strip-training"], ["--keep-casts"], ["--sort", "macs"],
    ):  # fmt: skip
        assert run(tmp_path / "out", *options) == (
            1, "", f"error: {options[0]} requires a model, but '{tmp_path}/out' is a compiled program\n"
        )  # fmt: skip


def test_bad_arguments(tmp_path: Path) -> None:
    code, out, err = run(tmp_path / "nowhere.onnx")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert run(DIGITS, "--sort", "name")[0] == 2
