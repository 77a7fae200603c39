"""Layers that an emitted C program prints: built by the host's compiler, and compared with the interpreter."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.commands import run_command

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
DATA = "docs/examples/digits_samples.npz"


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a quantized model (`out`), its C program (`c`), and what the program printed (`dump.txt`)."""
    folder = tmp_path_factory.mktemp("device")
    quantized = qmlir.quantize("docs/examples/digits_cnn.onnx", DATA, validate=False)
    quantized.save(folder / "out")
    words = ["compile", str(folder / "out"), "--emit", "c", "--name", "m", "--shape", "input=1x1x8x8", "--golden", "2"]
    done = run_command(["qmlir", *words, "--golden-layers", "--data", DATA, "-o", str(folder / "c")], "")
    assert done.code == 0, done.stderr
    if shutil.which("cc") is not None:
        command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-DM_LAYERS", "m.c", "m_golden.c", "-lm"]
        subprocess.run(command, cwd=folder / "c", check=True)
        printed = subprocess.run(["./a.out"], cwd=folder / "c", check=True, capture_output=True, text=True).stdout
        (folder / "dump.txt").write_text(f"boot: 3 ms\n{printed}", encoding="utf-8")
    return folder


def _compare(device: Path, dump: str, *words: str) -> tuple[int, str]:
    path = device / "changed.txt"
    path.write_text(dump, encoding="utf-8")
    command = ["qmlir", "compare", str(device / "out"), "--dump", str(path), "--data", DATA, *words]
    done = run_command(command, "")
    return done.code, done.stdout + done.stderr


@needs_compiler
def test_what_a_device_prints_equals_the_interpreter(device: Path) -> None:
    code, text = _compare(device, (device / "dump.txt").read_text())
    assert (code, text) == (0, "20 layers of 2 samples: all elements are equal\n")


@needs_compiler
def test_the_first_layer_that_differs_is_named(device: Path) -> None:
    """Element 5 of channel-last [1, 4, 4, 64] in row 1, column 2 of sample 1 changes; so do all later layers."""
    lines = (device / "dump.txt").read_text().splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith("layer /dw2/dw2.2/Clip i8 1x4x4x64: ")]
    numbers = lines[places[1]].split()
    wanted = int(numbers[4 + (1 * 4 + 2) * 64 + 5])
    numbers[4 + (1 * 4 + 2) * 64 + 5] = str(wanted ^ 3)
    lines[places[1]] = " ".join(numbers)
    lines[places[1] + 1] = re.sub(r"-?\d+$", "99", lines[places[1] + 1])
    code, text = _compare(device, "\n".join(lines))
    assert code == 1
    assert text.startswith("first difference: sample 1, layer '/dw2/dw2.2/Clip' (nn.clip, from Clip '/dw2/dw2.2/Clip')")
    values = f"expected {wanted}, but the device has {wanted ^ 3}"
    assert f"1 of 1024 elements differ; the first at [0, 5, 1, 2]: {values}" in text
    found = json.loads(_compare(device, "\n".join(lines), "--json")[1])["difference"]
    assert (found["sample"], found["index"], found["different"]) == (1, [0, 5, 1, 2], 1)
    with np.load(device / "c" / "m_layers.npz") as layers:
        assert layers["/dw2/dw2.2/Clip"].shape == (2, 1, 64, 4, 4)
        assert layers["/dw2/dw2.2/Clip"][1, 0, 5, 1, 2] == wanted


@needs_compiler
@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        (r" -?\d+\n", "\n", "must have 1024 integers (1x8x8x16), but has 1023 numbers; is the line complete?"),
        ("layer /Relu ", "layer /Relo ", "has no layer '/Relo'; did you mean '/Relu'?"),
        ("/Add_1 i8 1x4x4x64", "/Add_1 i8 1x1x16x64", "must have shape 1x64x4x4, but has 1x1x16x64"),
        ("layer ", "layers ", "has no line 'layer NAME TYPE SHAPE: N N N …'"),
    ],
)
def test_a_dump_that_does_not_fit_is_one_line(device: Path, pattern: str, replacement: str, message: str) -> None:
    text = (device / "dump.txt").read_text(encoding="utf-8")
    code, said = _compare(device, re.sub(pattern, replacement, text))
    assert code == 1
    assert message in said
    assert len(said.splitlines()) == 1


def test_a_program_without_the_macro_is_the_one_without_layers(device: Path) -> None:
    with_layers = (device / "c" / "m.c").read_text(encoding="utf-8")
    words = ["compile", str(device / "out"), "--emit", "c", "--name", "m", "--shape", "input=1x1x8x8"]
    assert run_command(["qmlir", *words, "-o", str(device / "plain")], "").code == 0
    plain = (device / "plain" / "m.c").read_text(encoding="utf-8")
    assert "M_LAYERS" not in plain
    assert re.sub(r" *#ifdef M_LAYERS\n.*?#endif\n\n?", "", with_layers, flags=re.DOTALL) == plain


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"golden_layers": True}, "--golden-layers (golden_layers=) requires golden vectors; help: pass --golden N"),
        ({"golden_layers": True, "golden": 1, "format": "object"}, "requires format c, but got 'object'"),
    ],
)
def test_messages(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        qmlir.emit("docs/examples/fully_connected.mlir", **settings)
    assert message in str(caught.value)
