"""The figures of the pictures about `docs/examples/digits_cnn.onnx`, from the commands that the pages show.

They are in `docs/pictures/measured.json`; the pictures of the HTML report are made alongside.
"""

import json
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from docs.generator.pictures import screenshot
from qmlir.tools import qmlir_cli, qmlir_opt

FILE = "measured.json"

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_MODEL, _SAMPLES = str(_EXAMPLES / "digits_cnn.onnx"), str(_EXAMPLES / "digits_samples.npz")
RECIPE = """[[rule]]
slot = "input"
calibrator = { name = "percentile", percent = 99.0 }

[[rule]]
slot = "output"
calibrator = { name = "percentile", percent = 99.0 }
"""
"""The recipe of `docs/debugging-accuracy.md` for samples with an outlier."""
_PLAN = (
    "compile{{isa=avx2 stages=lower,fuse,schedule}},kernel-bufferize,kernel-mark-in-place,kernel-outline,"
    "kernel-merge-functions,kernel-plan-memory{{plan_file={}}}"
)


def _run(main: Any, *words: str) -> str:
    """The standard output of a command; its errors end the program."""
    out = StringIO()
    if main(words, stdout=out) != 0:
        sys.exit(f"failed: {' '.join(words)}")
    return out.getvalue()


def _ratios(folder: Path) -> dict[str, float]:
    """The SQNR in decibels of each value and output of a quantized model, but those that saturate on purpose."""
    found = json.loads(_run(qmlir_cli.main, "compare", str(folder), "--data", _SAMPLES, "--json", "--quiet"))
    rows = (row for row in (*found["values"], *found["outputs"]) if not row["is_limited"])
    return {row["key"]: round(row["sqnr_db"], 1) for row in rows}


def _arena(folder: Path) -> dict[str, Any]:
    """The buffers of the program for one image: name, first and last step, offset and size in bytes."""
    plan = folder.with_suffix(".txt")
    passes = _PLAN.format(plan)
    _run(qmlir_opt.main, str(folder / "digits_cnn.q.mlir"), "-p", passes, "-o", str(folder.with_suffix(".mlir")))
    rows = plan.read_text().partition("steps        buffer\n")[2].splitlines()
    cells = [row.split(maxsplit=4) for row in rows if row]
    buffers = [
        {"name": name, "steps": [int(each) for each in steps.split("-")], "offset": int(offset), "size": int(size)}
        for _, offset, size, steps, name in cells
    ]
    return {"title": plan.read_text().splitlines()[0], "buffers": buffers}


def measure(pictures: Path) -> None:
    """Run the commands, and write the figures and the pictures of the report into `pictures`."""
    samples = np.load(_SAMPLES)["input"]
    samples[7] *= 255
    with TemporaryDirectory() as name:
        folder = Path(name)
        spoiled, recipe = folder / "spoiled.npz", folder / "cut.toml"
        np.savez(spoiled, input=samples)
        recipe.write_text(RECIPE)
        for output, *words in (
            ("bad", "--data", str(spoiled)),
            ("cut", "--data", str(spoiled), "--recipe", str(recipe)),
            ("one", "--data", _SAMPLES, "--shape", "input=1x1x8x8"),
        ):
            _run(qmlir_cli.main, "quantize", _MODEL, *words, "--no-validate", "--quiet", "-o", str(folder / output))
        found = {
            "sqnr": {each: _ratios(folder / each) for each in ("bad", "cut")},
            "arena": _arena(folder / "one"),
        }
        (pictures / FILE).write_text(json.dumps(found) + "\n", encoding="utf-8")
        page = folder / "report.html"
        _run(qmlir_cli.main, "report", str(folder / "one"), "--data", _SAMPLES, "--no-time", "--quiet", "-o", str(page))
        screenshot.take(page, pictures)
