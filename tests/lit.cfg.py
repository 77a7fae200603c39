"""lit's configuration of the FileCheck files; the pytest collector reads RUN lines by it too.

`lit tests/filecheck` runs them with the tools of `.venv`, and `FILECHECK=FileCheck-22 lit-22 tests/filecheck` with
LLVM's own.
"""

import os
import sys
from pathlib import Path

import lit.formats

tests = Path(__file__).resolve().parent

config.name = "qmlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".onnxtxt"]
config.excludes = ["Inputs"]
config.test_source_root = str(tests)
config.test_exec_root = os.environ.get("QMLIR_LIT_OUTPUT", str(tests.parent / "build" / "lit"))

# The tools of the interpreter that runs lit where it has them; LLVM's lit runs under the system's Python.
beside_lit = Path(sys.executable).parent
binaries = beside_lit if (beside_lit / "qmlir-opt").exists() else tests.parent / ".venv" / "bin"
config.environment["PATH"] = os.pathsep.join([os.environ.get("QMLIR_BIN", str(binaries)), os.environ["PATH"]])
# The plug-ins under tests/support, and the package that its own tests load.
config.environment["PYTHONPATH"] = os.pathsep.join([str(tests.parent), str(tests / "plugins" / "qmlir_fxp")])

# Matched as whole words, and before %s is replaced, so that no path is touched.
config.substitutions += [
    (r"(?<![\w./-])(?:filecheck|FileCheck)(?![\w./-])", os.environ.get("FILECHECK", "filecheck")),
    (r"(?<![\w./-])split-file(?![\w./-])", f"{sys.executable} {tests / 'support' / 'split_file.py'}"),
]
