"""A disk that takes nothing more: each command that writes ends in one line, and leaves nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MODEL = Path(__file__).parents[3] / "docs" / "examples" / "layer.mlir"

SCRIPT = """
import io, json, os, resource, sys
from qmlir.tools.qmlir_cli import main
model = sys.argv[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # of each file: what is longer fails as on a full disk
found = {}
for words in (
    ["profile", model, "--data", "data.npy", "-o", "out"],
    ["quantize", model, "--data", "data.npy", "-o", "out"],
    ["finetune", model, "--data", "data.npy", "--epochs", "1", "-o", "out.mlir"],
    ["report", model, "--data", "data.npy", "--no-time", "-o", "out"],
    ["export", model, "-o", "out.onnx"],
    ["run", model, "--input", "input0=x.npy", "-o", "out"],
    ["compile", model, "-o", "out"],
):
    err = io.StringIO()
    try:
        code = main(words, stdin=io.StringIO(), stdout=io.StringIO(), stderr=err)
    except BaseException as error:
        code = repr(error)
    found[words[0]] = [code, err.getvalue()]
print(json.dumps([found, sorted(os.listdir())]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX's")
def test_every_command_that_writes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "data.npy", rng.normal(size=(4, 8)).astype(np.float32))
    np.save(tmp_path / "x.npy", np.ones((2, 8), np.float32))
    before = sorted(path.name for path in tmp_path.iterdir())
    environment = {**os.environ, "QMLIR_CACHE_DIR": str(tmp_path.with_name("full-cache"))}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(MODEL)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found, left = json.loads(done.stdout)
    for command, (code, said) in found.items():
        assert code == 1, (command, code, said)
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, (command, said)
        assert "File too large" in errors[0]
    assert left == before
