"""`qmlir partition` on a module: the report as a table and as JSON, and the module with its parts."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.tools import qmlir_cli

_TEXT = """
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
  func.func @main(%x: tensor<?x4x!x> {nn.name = "x", nn.dims = ["batch", ""]}) -> (tensor<?x4x!x> {nn.name = "y"}) {
    %0 = nn.add %x, %x : (tensor<?x4x!x>, tensor<?x4x!x>) -> tensor<?x4x!x> {origin = "twice"}
    %1 = nn.sigmoid %0 : (tensor<?x4x!x>) -> tensor<?x4x!x> {origin = "end"}
    func.return %1 : tensor<?x4x!x>
  }
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(_TEXT)
    return path


def run(*arguments: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = qmlir_cli.main(["partition", *map(str, arguments)], stdin=io.StringIO(), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def test_the_table(model: Path) -> None:
    code, out, err = run(model, "--shape", "x=3x4")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "@main: 1 part, 2 crossings of 24 bytes"
    assert "main_dsp_0  dsp              1     0  x 3x4xi8  twice 3x4xi8  24 bytes" in out
    assert "end          nn.sigmoid  target 'dsp' does not support it" in out


def test_json_and_the_module(model: Path, tmp_path: Path) -> None:
    code, out, _ = run(model, "--json", "-o", tmp_path / "parts.mlir")
    (found,) = json.loads(out)
    assert code == 0
    assert (found["function"], found["crossings"], found["bytes"]) == ("main", 2, 8)
    assert found["parts"][0]["results"] == [{"name": "twice", "type": "?x4xi8", "bytes": 4}]
    reason = "target 'dsp' does not support it"
    assert found["stays"] == [{"node": "end", "operation": "nn.sigmoid", "target": "cpu", "reason": reason}]
    divided = qmlir.load(tmp_path / "parts.mlir")
    x = np.arange(-8, 8, dtype=np.int8).reshape(4, 4)
    expected = qmlir.interpret(qmlir.load(model), [x])
    np.testing.assert_array_equal(qmlir.interpret(divided, [x])["y"], expected["y"], strict=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "nobody"], "unknown target 'nobody'"),
        (["--min-ops", "0"], "transfer_bytes and intensity must be >= 0, and min_ops must be >= 1"),
        (["-o", "no/such/folder.mlir"], "cannot write 'no/such/folder.mlir'"),
    ],
)
def test_errors(model: Path, arguments: list[str], message: str) -> None:
    code, out, err = run(model, *arguments)
    assert (code, out) == (1, "")
    assert message in err


def test_a_module_without_targets(tmp_path: Path) -> None:
    path = tmp_path / "plain.mlir"
    path.write_text("func.func @main() {\n  func.return\n}\n")
    code, _, err = run(path)
    assert code == 1
    assert "no target: the module has no target.specs; pass --device" in err
    assert run(path, "--device", "cpu")[:2] == (0, "@main: no part for any of cpu\n")
