"""Upstream MLIR's `mlir-opt` as a referee: many small modules in one process."""

import re
import shutil
import subprocess
from collections.abc import Sequence

import pytest

MLIR_OPT = shutil.which("mlir-opt-22")

needs_mlir_opt = pytest.mark.skipif(
    MLIR_OPT is None, reason="mlir-opt-22 is not installed (Debian: apt-get install mlir-22-tools)"
)

_ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)


def run_each(modules: Sequence[str]) -> list[tuple[bool, str]]:
    """For each module of one line: whether upstream accepts it, and what it prints or complains of."""
    assert MLIR_OPT is not None
    assert all("\n" not in module for module in modules)
    source = "\n// -----\n".join(modules)
    done = subprocess.run(
        [MLIR_OPT, "--split-input-file", "-"], input=source, capture_output=True, text=True, check=False
    )
    errors: dict[int, str] = {}
    for line, message in _ERROR.findall(done.stderr):
        errors.setdefault((int(line) - 1) // 2, message)
    printed = iter(done.stdout.split("// -----\n"))
    results: list[tuple[bool, str]] = []
    for index in range(len(modules)):
        # Upstream prints nothing for a module that it refuses, but keeps its place between the markers.
        text = next(printed, "")
        results.append((index not in errors, errors.get(index, text.strip())))
    return results
