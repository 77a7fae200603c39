"""The callers of the digits, each built and run: in C, in Rust, and drawn in Chromium."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.browser import chromium, served
from examples.digits import __main__ as digits
from examples.digits.__main__ import EXAMPLES, quantized, write
from qmlir.extensions.aot.llvm import linkers
from qmlir.extensions.aot.llvm.linkers import WASM_LINKERS
from tests.support.chromium import needs_chromium

IMAGES = 40


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    return quantized()


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return np.load(EXAMPLES / "digits_test.npz")["input"][:IMAGES]


def digits_of(module: ModuleOp, images: np.ndarray) -> list[int]:
    """What the interpreter says."""
    return [int(qmlir.interpret(module, [image[None]])["logits"].argmax()) for image in images]


def test_they_are_classified(module: ModuleOp, images: np.ndarray) -> None:
    labels = np.load(EXAMPLES / "digits_test.npz")["labels"][:IMAGES]
    assert np.mean(np.array(digits_of(module, images)) == labels) > 0.9


@pytest.mark.parametrize(
    "command",
    [
        [
            "cc",
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O2",
            "classify.c",
            "-Istatic",
            "-Lstatic",
            "-ldigits",
            "-lm",
        ],
        [
            "rustc",
            "-O",
            "--edition",
            "2021",
            "-D",
            "warnings",
            "classify.rs",
            "-L",
            "static",
            "-l",
            "static=digits",
            "-l",
            "m",
        ],
    ],
    ids=["c", "rust"],
)
def test_a_caller(module: ModuleOp, images: np.ndarray, tmp_path: Path, command: list[str]) -> None:
    # What is found may be a stand-in of rustup that has no compiler.
    if shutil.which(command[0]) is None or subprocess.run([command[0], "--version"], check=False).returncode:
        pytest.skip(f"no {command[0]}")
    write(module, "static", tmp_path)
    subprocess.run([*command, "-o", "classify"], cwd=tmp_path, check=True)
    text = "\n".join(" ".join(str(number) for number in image.ravel()) for image in images)
    run = [tmp_path / "classify"]
    done = subprocess.run(run, input=text, capture_output=True, text=True, check=True)
    assert [int(line) for line in done.stdout.split()] == digits_of(module, images)
    for wrong, message in (
        ("0 " * 70, "an image is 64 numbers, found the end after 6 of them"),
        ("0 0 x", "an image is 64 numbers, found something else after 2 of them|'x' is not a number"),
        ("nan " * 64, "input 1 holds NaN"),
    ):
        done = subprocess.run(run, input=wrong, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.strip() in message.split("|")) == (1, True), done.stderr


def test_without_a_linker(module: ModuleOp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkers, "WASM_LINKERS", {"wasm-ld": lambda _: None})
    monkeypatch.setattr(digits, "quantized", lambda: module)
    monkeypatch.setattr(sys, "argv", ["digits", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match="error: cannot link a module of WebAssembly: found none of wasm-ld"):
        digits.main()
    assert (tmp_path / "static" / "libdigits.a").is_file()


PAINT = """
const canvas = document.getElementById("drawing"), ink = canvas.getContext("2d"), size = canvas.width / 8;
arguments[0].forEach((shade, place) => {
  ink.fillStyle = `rgb(${shade} ${shade} ${shade})`;
  ink.fillRect((place % 8) * size, Math.floor(place / 8) * size, size, size);
});
window.classify();
return [Number(document.getElementById("digit").value), [...window.image()]];
"""


@pytest.mark.referee
@needs_chromium
@pytest.mark.skipif(all(each("wasm32") is None for each in WASM_LINKERS.values()), reason="no wasm-ld, no ziglang")
def test_the_page(module: ModuleOp, images: np.ndarray, tmp_path: Path) -> None:
    """Images are painted in the squares of the drawing, and one is drawn by hand."""
    chains = pytest.importorskip("selenium.webdriver.common.action_chains")
    waits = pytest.importorskip("selenium.webdriver.support.wait")
    write(module, "wasm", tmp_path)
    with served(tmp_path) as address, chromium() as browser:
        browser.get(f"{address}/index.html")
        waits.WebDriverWait(browser, 30).until(lambda page: page.execute_script("return window.ready"))
        found: list[int] = []
        for image in images:
            shades = np.rint(255 * image.ravel()).astype(int)
            digit, seen = browser.execute_script(PAINT, shades.tolist())
            assert np.allclose(seen, shades / 255, atol=1e-4)
            found.append(digit)
        assert found == digits_of(module, images)
        browser.find_element("id", "clear").click()
        assert browser.execute_script("return window.image().every((each) => each === 0)")
        hand = chains.ActionChains(browser)
        hand.move_to_element_with_offset(browser.find_element("id", "drawing"), 0, -90).click_and_hold()
        hand.move_by_offset(0, 90).move_by_offset(0, 90).release().perform()
        drawn = np.array(browser.execute_script("return [...window.image()]"), np.float32).reshape(1, 8, 8)
        assert drawn.max() > 0.5
        digit = int(browser.execute_script("return document.getElementById('digit').value"))
        assert digit == digits_of(module, drawn[None])[0]
        assert [each for each in browser.get_log("browser") if each["level"] == "SEVERE"] == []
