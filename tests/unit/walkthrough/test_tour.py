"""The tour shows every level, keeps a module for each step, and ends where a pass breaks what it promises."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from docs.walkthrough import tour
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.passes import EVERY_BIT, MEANING, ROUNDED
from qmlir.levels import LEVELS

EXAMPLE = Path(tour.EXAMPLE)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("tour") / "modules"
    printed = (folder.parent / "printed.txt").open("w+")
    with printed:
        assert tour.main([str(EXAMPLE), "-o", str(folder)], stdout=printed) == 0
        printed.seek(0)
        return printed.read(), folder


def test_every_level_is_shown(walked: tuple[str, Path]) -> None:
    text, _ = walked
    positions = [text.index(f"level {name}") for name in LEVELS]
    assert positions == sorted(positions)
    assert text.rstrip().splitlines()[-3] == "→ compiled: runs: every bit as before"


def test_the_modules_read_and_compute_the_same(walked: tuple[str, Path]) -> None:
    """Behind the pass that decides types, all of them compute the same bits, whatever reads them."""
    _, folder = walked
    pages = sorted(folder.glob("*.mlir"))
    image = np.random.default_rng(1).uniform(-1, 1, (1, 2, 4, 4)).astype(np.float32)
    found = {page.name: qmlir.interpret(qmlir.load(page), {"image": image})["features"] for page in pages}
    decided = next(position for position, page in enumerate(pages) if "quant-assign-types" in page.name)
    assert decided > 2
    last = found[pages[-1].name]
    assert np.abs(last - found[pages[0].name]).max() < 0.1  # of a range of 4: five steps of the output, at most
    for page in pages[decided:]:
        np.testing.assert_array_equal(found[page.name], last)
    assert "def main(" in (folder / f"{len(pages):02d}-kernels.py").read_text(encoding="utf-8")


def test_a_pass_that_breaks_its_promise_ends_it() -> None:
    old = {"y": np.array([1.0, 2.0], np.float32)}
    new = {"y": np.array([1.0, np.nextafter(np.float32(2), np.float32(3))], np.float32)}
    for kept in (ROUNDED, MEANING):
        assert tour.Compared({}, old, old).told(new, kept, ModuleOp([])).startswith("runs: ")
    with pytest.raises(DiagnosticError, match=r"'y' at \[1\] was 2.0, is 2.0000002"):
        tour.Compared({}, old, old).told(new, EVERY_BIT, ModuleOp([]))


def test_an_input_that_is_no_float_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.mlir"
    model.write_text("func.func @main(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {\n  func.return %x : tensor<?x2xf32>\n}")
    assert tour.main([str(model), "-o", str(tmp_path / "out")]) == 1
    assert "input 'input0' has type tensor<?x2xf32>: a tour takes f32 tensors of known sizes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
