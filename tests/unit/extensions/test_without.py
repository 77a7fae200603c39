"""The core without extensions: it loads, quantizes, compiles and runs a model, and imports none of them."""

import subprocess
import sys

import pytest

from qmlir.registry.package import WITHOUT_VARIABLE
from qmlir.registry.tree import EXTENSIONS

_CORE = """
import sys
import numpy as np
import qmlir

data = np.random.default_rng(0).random((64, 4), np.float32)
quantized = qmlir.quantize("docs/examples/digits.onnxtxt", data)
program = qmlir.compile(quantized, codegen="llvm")
found, wanted = program(data[:1]), qmlir.interpret(quantized, data[:1])
assert all(np.array_equal(found[name], wanted[name]) for name in wanted), (found, wanted)
print(quantized.repair, quantized.remedies)
print(*sorted(name for name in sys.modules if name.startswith("qmlir.extensions.")))
"""


def _run(code: str, *without: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", f"import os; os.environ[{WITHOUT_VARIABLE!r}] = {','.join(without)!r}\n{code}"]
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False)


def test_the_core_needs_no_extension() -> None:
    done = _run(_CORE, *EXTENSIONS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["None None", ""]
    assert done.stderr == ""


CASES = [
    (
        "training",
        "import qmlir; qmlir.finetune",
        "'qmlir.finetune' requires the extension 'training', which is left",
    ),
    ("search", "from qmlir import search", "cannot import name 'search'"),
    (
        "recovery",
        "import qmlir; qmlir.quantize('docs/examples/digits.onnxtxt', effort='auto')",
        "effort auto requires the extension 'recovery', which is left out",
    ),
    (
        "pdl",
        "from qmlir.tools.qmlir_opt import main; main(['--pdl-file', 'a', 'docs/examples/fully_connected.mlir'])",
        "--pdl-file: unknown pass 'apply-pdl'; the extension 'pdl' is left out",
    ),
    ("lsp", "from qmlir.tools.qmlir_cli import main; main(['lsp'])", "unknown command 'lsp'"),
    (
        "aot",
        "from qmlir.tools.qmlir_cli import main; main(['compile', 'a.mlir', '-o', 'b', '--emit', 'c'])",
        "unrecognized arguments: --emit c",
    ),
    (
        "microsoft",
        "import qmlir; from onnx import parser; qmlir.load(parser.parse_model('<ir_version: 10, opset_import: "
        '["": 21, "com.microsoft": 1]> g (float[2] x) => (float[2] y) {y = com.microsoft.QuickGelu (x)}\'), '
        "fallback=False)",
        "QuickGelu",
    ),
]
"""An extension, code that needs it, and a part of the message where it is left out."""

_EACH = f"""
import sys, traceback
for code in {[code for _, code, _ in CASES]!r}:
    try:
        exec(code, {{}})
    except (Exception, SystemExit):
        traceback.print_exc()
    print("\\0", file=sys.stderr)
"""


@pytest.fixture(scope="module")
def said_with_all() -> list[str]:
    """The errors of each code with all extensions: one process runs them all."""
    *said, rest = _run(_EACH).stderr.split("\0\n")
    assert (len(said), rest) == (len(CASES), "")
    return said


@pytest.mark.parametrize("case", range(len(CASES)), ids=[extension for extension, _, _ in CASES])
def test_what_is_left_out_is_named(case: int, said_with_all: list[str]) -> None:
    extension, code, message = CASES[case]
    assert message in _run(code, extension).stderr
    assert message not in said_with_all[case]
