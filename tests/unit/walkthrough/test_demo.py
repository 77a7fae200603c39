"""The demonstration writes what it says, and ends where the compiled program is wrong."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from docs.walkthrough import demo
from qmlir.levels import LEVELS


def test_everything_is_there(tmp_path: Path) -> None:
    printed = io.StringIO()
    assert demo.main(["-o", str(tmp_path / "demo")], stdout=printed) == 0
    folder = tmp_path / "demo"
    pages = sorted((folder / "levels").glob("*.mlir"))
    assert [page.stem.partition("-")[2] for page in pages] == list(LEVELS)
    image = np.load(demo.TEST)["input"][:1]
    # What was written at each level is what the program computes: behind the quantized level, bit for bit.
    outputs = [qmlir.interpret(qmlir.load(page), {"input": image})["logits"] for page in pages]
    for found in outputs[4:6]:
        np.testing.assert_array_equal(found, outputs[3])
    assert "100 images: every bit of every output is equal" in printed.getvalue()
    assert (folder / "report.html").stat().st_size > 20_000
    compile((folder / "levels" / "kernels.py").read_text(encoding="utf-8"), "kernels.py", "exec")


def test_a_wrong_program_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One unit in the last place of one output, from the second image on."""
    right = demo.compile

    def wrong(module: Any, **options: Any) -> Any:
        program = right(module, **options)
        calls = iter(range(1000))

        def call(inputs: Any) -> dict[str, Any]:
            outputs = program(inputs)
            if next(calls):
                outputs["logits"][0, 3] = np.nextafter(outputs["logits"][0, 3], np.float32(np.inf))
            return outputs

        return call

    monkeypatch.setattr(demo, "compile", wrong)
    assert demo.main(["-o", str(tmp_path / "demo")]) == 1
    assert "sample 1: output 'logits' at [0, 3] was" in capsys.readouterr().err
    assert not (tmp_path / "demo" / "report.html").exists()
