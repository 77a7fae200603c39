"""Golden vectors next to C code: their numbers, and a program that checks itself, built by the host's compiler."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.parsing import parse_module
from tests.support.commands import run_command

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")

INTEGERS = """
!x = !quant.uniform<u8:f32, 0.5:10>
!y = !quant.uniform<i16:f32, 0.25:-3>
func.func @main(%x: tensor<1x6x!x> {nn.name = "x"})
    -> (tensor<1x6x!y> {nn.name = "y"}, tensor<1x6xi1> {nn.name = "above"}) {
  %0 = nn.add %x, %x : (tensor<1x6x!x>, tensor<1x6x!x>) -> tensor<1x6x!y>
  %1 = quant.dcast %x : tensor<1x6x!x> to tensor<1x6xf32>
  %2 = nn.constant dense<4.0> : tensor<f32>
  %3 = nn.greater %1, %2 : (tensor<1x6xf32>, tensor<f32>) -> tensor<1x6xi1>
  func.return %0, %3 : tensor<1x6x!y>, tensor<1x6xi1>
}
"""
FLOATS = """
func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {
  %0 = nn.sqrt %x : tensor<1x4xf32>
  func.return %0 : tensor<1x4xf32>
}
"""


def _module(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


def _numbers(header: str, name: str) -> list[str]:
    found = re.search(rf"m_golden_{name}\[\d+\]\[\d+\] = \{{(.*?)\}};", header, re.DOTALL)
    assert found is not None
    return re.findall(r"[-\w.]+", found[1])


def _checked(folder: Path, *sources: str) -> tuple[int, str]:
    """How the main of the golden vectors ends, and what it says."""
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", *sources, "-o", "check", "-lm"], cwd=folder, check=True)
    done = subprocess.run(["./check"], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@needs_compiler
def test_integers(tmp_path: Path) -> None:
    """Sums by hand: x is 0.5 (q - 10), and y = 2x is stored as 4y - 3, so 4q - 43; x > 4 is q > 18."""
    emitted = qmlir.emit(_module(INTEGERS), name="m", golden=3)
    assert sorted(emitted.files) == ["m.c", "m.h", "m.json", "m_golden.c", "m_golden.h"]
    header = str(emitted.files["m_golden.h"])
    x, y, above = ([*map(int, _numbers(header, name))] for name in ("x", "y", "above"))
    assert len(x) == 18
    assert {0, 255} <= {*x}
    assert y == [4 * each - 43 for each in x]
    assert above == [int(each > 18) for each in x]
    emitted.save(tmp_path)
    assert _checked(tmp_path, "m.c", "m_golden.c") == (0, "0 of 36 elements differ\n")
    spoiled = header.replace(f"{y[0]},", f"{y[0] + 1},", 1) if x[0] != y[0] else ""
    assert spoiled != header
    (tmp_path / "m_golden.h").write_text(spoiled, encoding="utf-8")
    code, said = _checked(tmp_path, "m.c", "m_golden.c")
    assert code == 1
    assert re.fullmatch(r"[1-9]\d* of 36 elements differ\n", said)


@needs_compiler
def test_floats_that_are_not_finite(tmp_path: Path) -> None:
    data = np.array([[4.0, -1.0, np.inf, -0.0], [0.25, 2.0, 0.0, 1e-40]], np.float32)
    emitted = qmlir.emit(_module(FLOATS), name="m", golden=2, data=data)
    header = str(emitted.files["m_golden.h"])
    assert _numbers(header, "x")[:4] == ["4.0f", "-1.0f", "INFINITY", "-0.0f"]
    assert _numbers(header, "y")[:4] == ["2.0f", "NAN", "INFINITY", "-0.0f"]
    emitted.save(tmp_path)
    assert _checked(tmp_path, "m.c", "m_golden.c") == (0, "0 of 8 elements differ\n")
    (tmp_path / "m_golden.h").write_text(header.replace("NAN", "0.0f").replace("-0.0f}", "0.0f}"), encoding="utf-8")
    assert _checked(tmp_path, "m.c", "m_golden.c")[0] == 1


@needs_compiler
def test_the_command(tmp_path: Path) -> None:
    """Samples of floats are quantized for the input; machine code is checked by the same files."""
    (tmp_path / "m.mlir").write_text(INTEGERS, encoding="utf-8")
    np.savez(tmp_path / "samples.npz", x=np.array([[-5, 0, 0.25, 0.75, 5, 999]] * 3, np.float32))
    for form, source in (("c", "m.c"), ("object", "m.o")):
        folder = tmp_path / form
        words = ["--emit", form, "--name", "m", "--golden", "2", "--data", str(tmp_path / "samples.npz")]
        done = run_command(["qmlir", "compile", str(tmp_path / "m.mlir"), *words, "-o", str(folder)], "")
        assert done.code == 0, done.stderr
        x = _numbers((folder / "m_golden.h").read_text(encoding="utf-8"), "x")
        assert [*map(int, x)] == [0, 10, 10, 12, 20, 255] * 2  # 0.5 and 1.5 steps: ties go to the even ones
        assert _checked(folder, source, "m_golden.c") == (0, "0 of 24 elements differ\n")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"golden": 2, "format": "wasm"}, "--golden (golden=) requires a format with a C header, but got 'wasm'"),
        ({"golden": -1}, "golden must be at least 1 sample, but got -1"),
        ({"golden": 3, "data": np.zeros((2, 4), np.float32)}, "--golden 3 (golden=3) requires 3 samples, but got 2"),
        ({"data": np.zeros((2, 4), np.float32)}, "data has no effect without golden vectors; help: pass --golden N"),
    ],
)
def test_messages(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        qmlir.emit(_module(FLOATS), name="m", **settings)
    assert message in str(caught.value)


def test_a_python_program_has_no_golden_vectors(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(FLOATS, encoding="utf-8")
    done = run_command(["qmlir", "compile", str(tmp_path / "m.mlir"), "--golden", "2", "-o", str(tmp_path / "p")], "")
    assert done.code != 0
    assert "--golden requires --emit with a C header" in done.stderr
