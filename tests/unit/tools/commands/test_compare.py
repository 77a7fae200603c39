"""`qmlir compare`: the table, bounds and exit codes, JSON, orders, and what is said on a terminal."""

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.tools import qmlir_cli

MODEL = Path(__file__).parents[4] / "docs" / "examples" / "digits.onnxtxt"
IMAGES = np.random.default_rng(7).uniform(-1, 1, (16, 4)).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "samples.npz", image=IMAGES)
    words = ["quantize", str(MODEL), "--data", str(tmp_path / "samples.npz"), "-o", str(tmp_path / "out"), "--quiet"]
    assert qmlir_cli.main(words, stdout=io.StringIO()) == 0
    return tmp_path / "out"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(folder: Path, *words: str | Path, out: io.StringIO | None = None, stdin: str = "") -> tuple[int, str, str]:
    out, err = out or io.StringIO(), io.StringIO()
    data = ["--data", str(folder.parent / "samples.npz")]
    arguments = ["compare", *map(str, words), *data]
    code = qmlir_cli.main(arguments, stdin=io.StringIO(stdin), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def rows(text: str) -> dict[str, list[str]]:
    """The cells of the plain table by the first one; cells are two spaces apart."""
    lines = text.split("\n\n")[1].splitlines()
    return {cells[0]: cells[1:] for cells in (re.split(" {2,}", line) for line in lines)}


def test_the_table(folder: Path) -> None:
    code, out, err = run(folder, folder)
    assert (code, err) == (0, "")
    found = qmlir.compare(MODEL, folder, {"image": IMAGES})
    assert out.startswith(f"{folder}/digits.q.mlir against {folder}/digits.float.mlir, 16 samples\n\n")
    table = rows(out)
    assert list(table) == ["value", "image", "fc1", "relu1"]
    assert table["relu1"][:3] == ["nn.relu", "f32 i8", f"{found.values[2].sqnr_db:.1f}"]
    assert float(table["relu1"][3]) == pytest.approx(found.values[2].max_error, rel=1e-3)
    assert table["fc1"][-1] == "saturates: limited by what follows"
    output = found.outputs[0]
    assert f"output logits: {output.sqnr_db:.1f} dB" in out
    assert f"top-1 agreement {100 * (output.top1_agreement or 0):.2f}%" in out
    assert not any(line.endswith(" ") for line in out.splitlines())


def test_columns_are_aligned(folder: Path) -> None:
    lines = run(folder, folder)[1].split("\n\n")[1].splitlines()
    end = lines[0].index("SQNR dB") + len("SQNR dB")
    assert all(line[end - 1] != " " and line[end] == " " for line in lines)


def test_a_bound_decides_the_exit_code(folder: Path) -> None:
    found = qmlir.compare(MODEL, folder, {"image": IMAGES})
    lowest = min(each.sqnr_db for each in (*found.values, *found.outputs) if not each.is_limited)
    code, out, _ = run(folder, folder, "--min-sqnr", str(int(lowest)))
    assert (code, out.splitlines()[-1]) == (0, f"no value is below {int(lowest)} dB")
    code, out, _ = run(folder, folder, "--min-sqnr", "1000")
    assert code == 1
    assert out.splitlines()[-1].startswith("first below 1000 dB: image (quant.qcast), ")
    assert rows(out)["relu1"][-1] == "below the bound"


def test_json(folder: Path) -> None:
    code, out, _ = run(folder, folder, "--json", "--min-sqnr", "1000")
    found: dict[str, Any] = json.loads(out)
    assert (code, found["samples"], found["first_below"], found["unmatched"]) == (1, 16, "image", [])
    assert found["below"] == ["image", "relu1", "logits"]
    assert [each["key"] for each in found["values"]] == ["image", "fc1", "relu1"]
    assert found["values"][1]["is_limited"] is True
    assert set(found["values"][0]) >= {"sqnr_db", "max_error", "mean_error", "mean_squared_error", "largest", "type"}
    same = json.loads(run(folder, MODEL, MODEL, "--json")[1])
    assert [each["sqnr_db"] for each in same["values"]] == [None, None]  # infinite


def test_orders(folder: Path) -> None:
    assert list(rows(run(folder, folder, "--sort", "sqnr")[1]))[1:] == ["fc1", "image", "relu1"]
    assert list(rows(run(folder, folder, "--worst", "1")[1]))[1:] == ["image"]


def test_a_limit_and_the_level(folder: Path) -> None:
    code, out, err = run(folder, folder, "--level", "integer", "--samples", "3", "--min-sqnr", "300")
    assert (code, err) == (0, "")
    assert f"integer:{folder} against {folder}, 3 samples" in out
    assert rows(out)["relu1"][2] == "inf"
    assert "remark" in run(folder, folder, "--level", "integer", "--samples", "1", "--verbose")[2]


def test_what_has_no_counterpart_is_counted_and_named(folder: Path) -> None:
    code, out, err = run(folder, folder, "--level", "loops", "--samples", "1", "--verbose")
    assert code == 0
    assert re.search(r"^\d values? of .* without a counterpart: image, fc1$", out, re.MULTILINE)
    assert f"only in {folder}: fc1" in err.splitlines()


def test_a_module_from_standard_input(folder: Path) -> None:
    text = (folder / "digits.float.mlir").read_text()
    code, out, _ = run(folder, "-", folder, stdin=text)
    assert code == 0
    assert list(rows(out)) == ["value", "image", "fc1", "relu1"]


def test_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    code, out, _ = run(folder, folder, "--min-sqnr", "1000", out=Terminal())
    assert code == 1
    assert "\x1b[31m" in out
    assert "\x1b[" not in run(folder, folder, "--min-sqnr", "1000")[1]
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert all(len(line) <= 100 for line in plain.splitlines()[2:8])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--worst", "0"], 2, "qmlir compare: error: --worst must be at least 1, but got 0\n"),
        (["--sort", "name"], 2, "invalid choice: 'name'"),
        (["--samples", "0"], 1, "error: samples must be >= 1, but got 0\n"),
        (["none.onnx"], 1, "error: cannot read 'none.onnx': No such file or directory\n"),
    ],
)
def test_what_is_wrong(folder: Path, words: list[str], code: int, message: str) -> None:
    found, out, err = run(folder, folder, *words)
    assert (found, out) == (code, "")
    assert message in err
    assert err.count("\n") == 1


def test_data_under_another_name(folder: Path) -> None:
    np.savez(folder.parent / "samples.npz", picture=IMAGES)
    code, _, err = run(folder, folder)
    assert (code, "has no input 'picture' (available: image" in err) == (1, True)


def test_no_model_alone(folder: Path) -> None:
    code, _, err = run(folder, MODEL)
    assert (code, err.startswith("error: cannot compare one model alone; pass a second model")) == (1, True)


def test_both_models_are_cut(folder: Path) -> None:
    code, out, err = run(folder, MODEL, MODEL, "--cut-outputs", "hidden")
    assert (code, err) == (0, "")
    assert "output hidden: inf dB" in out
    code, _, err = run(folder, folder, "--cut-outputs", "hidden")
    assert (code, err) == (1, f"error: --cut-inputs and --cut-outputs require an ONNX model, but got '{folder}'\n")
