"""A few FileCheck files through lit, so that lit's reading of RUN lines and ours stay the same."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

SMOKE = [
    "passes/general/inline.mlir",
    "text/numbers.mlir",
    "tools/qmlir_opt/bad_input.mlir",
]
"""Pipes, `&&`, `not`, redirections and substitutions; lit starts a process for each command."""


def test_smoke_set(tmp_path: Path) -> None:
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        [binaries / "lit", "-j2", "--no-progress-bar", "-v", *(TESTS / "filecheck" / name for name in SMOKE)],
        env={**os.environ, "QMLIR_BIN": str(binaries), "QMLIR_LIT_OUTPUT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Passed: {len(SMOKE)}" in done.stdout
