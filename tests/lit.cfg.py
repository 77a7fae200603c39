"""lit's configuration: the FileCheck files as LLVM's own tools run them.

    lit tests/filecheck                      # with the filecheck package
    FILECHECK=FileCheck-22 lit tests/filecheck   # with LLVM's FileCheck
"""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

config.name = "qmlir"  # noqa: F821 (lit defines it)
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821

tests = Path(__file__).resolve().parent
binaries = Path(sys.executable).parent if shutil.which("qmlir-opt", path=str(Path(sys.executable).parent)) else None
environment = Path(os.environ.get("QMLIR_BIN", binaries or tests.parent / ".venv" / "bin"))
config.test_exec_root = os.environ.get("QMLIR_LIT_OUTPUT", str(tests.parent / "build" / "lit"))  # noqa: F821
config.test_source_root = str(tests)  # noqa: F821
config.environment["PATH"] = f"{environment}{os.pathsep}{os.environ['PATH']}"  # noqa: F821
config.environment["PYTHONPATH"] = str(tests.parent)  # noqa: F821 (plug-ins that the tests load)

filecheck = os.environ.get("FILECHECK")
if filecheck:
    config.substitutions.append((r"\bfilecheck\b", filecheck))  # noqa: F821
