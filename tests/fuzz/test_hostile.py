"""Names of a model never become code; values in files that take a compiler. Others are a row of `kinds.py`."""

import re
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from qmlir.targets.cpu.emitters.llvm.emit import emit_module
from qmlir.targets.cpu.host import host_processor
from qmlir.targets.cpu.lowering import lowered
from qmlir.tools import qmlir_cli
from qmlir.workflows.loading import load
from tests.fuzz.frame import findings, run_tool
from tests.fuzz.hostile import HOSTILE_PROGRAMS, TEXTS


@pytest.mark.sweep
def test_values_in_files_of_programs_change_nothing() -> None:
    found = findings(HOSTILE_PROGRAMS, 0, range(400))
    assert [f"{each.number} ({each.origin}): {each.what}\n{each.detail}" for each in found] == []


_MODEL = """
func.func @main(%x: tensor<2x4xf32> {nn.name = NAME}) -> (tensor<2x3xf32> {nn.name = NAME}) {
  %w = nn.constant dense<0.5> : tensor<4x3xf32> {origin = NAME}
  %0 = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32> {origin = NAME, op_type = NAME}
  %1 = nn.relu %0 : tensor<2x3xf32> {origin = NAME}
  func.return %1 : tensor<2x3xf32>
}
"""
_C_WORDS = re.compile(r"""/\*.*?\*/|//(?:(?:\\|\?\?/)\n|[^\n])*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_IR_WORDS = re.compile(r"""(?m)^;[^\n]*$|c?"[^"\n]*\"""")


def _c(folder: Path) -> str:
    words = ("compile", "m.mlir", "-o", "c", "--emit", "c", "--quiet")
    assert run_tool(qmlir_cli.main, words).code == 0
    return "".join(_C_WORDS.sub("", path.read_text("utf-8")) for path in sorted(folder.glob("c/*.[ch]")))


def _ir(folder: Path) -> str:
    return _IR_WORDS.sub("", emit_module(lowered(load(folder / "m.mlir"), "generic"), host_processor()))


@cache
def _tokens(emitted: Callable[[Path], str], name: str) -> str:
    """The code for a model of this name, without strings and comments, each word as `name`."""
    literal = "".join(f"\\{byte:02X}" for byte in name.encode())
    with TemporaryDirectory() as folder, chdir(folder):
        Path("m.mlir").write_text(_MODEL.replace("NAME", f'"{literal}"'))
        return _WORD.sub("name", re.sub(r"\s+", " ", emitted(Path(folder))))


@pytest.mark.parametrize("emitted", [_c, _ir])
@pytest.mark.parametrize("kind", [kind for kind, text in TEXTS.items() if text])
def test_no_name_of_a_model_enters_code(emitted: Callable[[Path], str], kind: str) -> None:
    """The code has the tokens that it has for a name of letters. Tests of Python and HTML are where these are made."""
    assert _tokens(emitted, TEXTS[kind][:3000]) == _tokens(emitted, "n")
