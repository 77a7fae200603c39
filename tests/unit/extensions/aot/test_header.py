"""The header of programs without Python: names that C and C++ take, and folders in which a user has files."""

import shutil
import subprocess
from pathlib import Path

import pytest

import qmlir
from qmlir.environment import default_environment
from qmlir.text.parsing import parse_module
from qmlir.text.writing import LIST
from tests.support.commands import run_command

RELU = """func.func @main(%x: tensor<4xf32> {{nn.name = "{name}"}}) -> (tensor<4xf32> {{nn.name = "y"}}) {{
  %0 = nn.relu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize(
    "name", ["X", "static_cast", "linux", "MODEL_ARENA_BYTES", "uint8_t", "INT8_MAX", "y", "a/b", "7"]
)
def test_inputs_have_names_that_c_and_cpp_take(name: str, tmp_path: Path) -> None:
    module = parse_module(default_environment().new_context(), RELU.format(name=name))
    qmlir.emit(module, format="c").save(tmp_path)
    for compiler, file in (("gcc", "model.c"), ("g++", "model.h")):
        done = subprocess.run([compiler, "-fsyntax-only", tmp_path / file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_what_a_user_adds_to_a_folder_is_kept(tmp_path: Path) -> None:
    model, folder = tmp_path / "m.mlir", tmp_path / "out"
    model.write_text(RELU.format(name="x"), encoding="utf-8")
    command = ["qmlir", "compile", str(model), "--emit", "c", "-o", str(folder)]
    assert run_command(command, "").code == 0
    assert run_command(command, "").code == 0  # its own program is replaced
    (folder / "main.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    assert run_command(command, "").code == 0
    assert {path.name for path in folder.iterdir()} == {LIST, "main.c", "model.c", "model.h", "model.json"}
    assert (folder / "main.c").read_text(encoding="utf-8") == "int main(void) { return 0; }\n"
