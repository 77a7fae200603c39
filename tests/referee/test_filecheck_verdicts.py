"""The FileCheck files by our runner and by LLVM's lit and FileCheck: the same verdicts, on whole and broken checks."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.commands import run_command
from tests.support.run_lines import COMMENTS, Shell, Step, read_file, run_file

TESTS = Path(__file__).resolve().parents[1]
FILES = [
    path for path in sorted((TESTS / "filecheck").rglob("*")) if path.suffix in COMMENTS and "Inputs" not in path.parts
]
EVERY = 12
"""One FileCheck file in so many is run by LLVM's lit in every run of the referees: each takes a start of our tools."""

LIT, FILECHECK = shutil.which("lit-22"), shutil.which("FileCheck-22")

pytestmark = [
    pytest.mark.referee,
    pytest.mark.skipif(
        LIT is None or FILECHECK is None,
        reason="lit-22 and FileCheck-22 are not installed (Debian: apt-get install llvm-22-tools)",
    ),
]


@pytest.mark.timeout(900)  # FileCheck files once more, by processes
@pytest.mark.parametrize(
    "files",
    [
        pytest.param(FILES[start::EVERY], marks=[] if start == 0 else pytest.mark.sweep, id=f"from {start}")
        for start in range(EVERY)
    ],
)
def test_llvms_lit_and_filecheck_give_our_results(files: list[Path], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    subprocess.run(
        [str(LIT), "-j2", "-q", f"--output={report}", *map(str, files)],
        env=os.environ
        | {
            "FILECHECK": str(FILECHECK),
            "QMLIR_BIN": str(Path(sys.executable).parent),
            "QMLIR_LIT_OUTPUT": str(tmp_path / "lit"),
        },
        capture_output=True,
        check=False,
    )
    results = json.loads(report.read_text())["tests"]
    theirs = {result["name"].removeprefix("qmlir :: filecheck/"): result["code"] for result in results}
    ours = {
        str(path.relative_to(TESTS / "filecheck")): run_file(path, tmp_path / f"ours{index}").code
        for index, path in enumerate(files)
    }
    assert ours == theirs


_WHOLE = "as they are"

_FEW, _MOST = 2, 20
"""The checks of a file that are broken in every run and in a sweep, evenly chosen: those of long files are alike, and
each costs the whole file."""


def _broken(text: str, prefixes: list[str], most: int) -> Iterator[tuple[str, str]]:
    """The text, and with one line changed, for up to `most` of its checks: what was done, and the text then."""
    yield _WHOLE, text
    lines = text.splitlines()
    check = re.compile(rf"^\s*(?://|#) (?:{'|'.join(map(re.escape, prefixes))})(?P<kind>-[A-Z]+)?: ")
    positions = [index for index, line in enumerate(lines) if check.match(line)]
    step = max(-(-len(positions) // most), 1)

    def with_line(index: int, *new: str) -> str:
        return "\n".join([*lines[:index], *new, *lines[index + 1 :]]) + "\n"

    for index in positions[::step]:
        line = lines[index]
        found = check.match(line)
        assert found is not None
        yield f"line {index + 1}: another word", with_line(index, f"{line}xyzzy")
        yield f"line {index + 1}: deleted", with_line(index)
        yield f"line {index + 1}: twice", with_line(index, line, line)
        if found["kind"] is None:
            yield f"line {index + 1}: negated", with_line(index, line.replace(": ", "-NOT: ", 1))
        if found["kind"] == "-NOT":
            yield f"line {index + 1}: no longer negated", with_line(index, line.replace("-NOT: ", ": ", 1))
    for first, second in list(pairwise(positions))[::step]:
        if second == first + 1:
            swapped = [*lines[:first], lines[second], lines[first], *lines[second + 1 :]]
            yield f"line {first + 1}: swapped with the next", "\n".join(swapped) + "\n"


def _filecheck_steps(path: Path, temporary: Path) -> list[Step]:
    """Every run of filecheck on the checks of the file."""
    shell = Shell()
    for line in read_file(path, temporary).lines:
        shell.run(line.tree)
    return [step for step in shell.steps if step.words[0] == "filecheck" and str(path) in step.words]


def _prefixes(words: list[str]) -> list[str]:
    given = re.findall(r"--check-prefix(?:es)?=(\S+)", " ".join(words))
    return ",".join(given).split(",") if given else ["CHECK"]


@pytest.mark.parametrize("most", [_FEW, pytest.param(_MOST, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS / "filecheck")))
def test_broken_checks(path: Path, most: int, tmp_path: Path) -> None:
    checks = tmp_path / "checks.mlir"
    differences: list[str] = []
    verdicts: Counter[bool] = Counter()
    for step in _filecheck_steps(path, tmp_path / "out"):
        arguments = [str(checks) if word == str(path) else word for word in step.words[1:]]
        for what, text in _broken(path.read_text(encoding="utf-8"), _prefixes(arguments), most):
            checks.write_text(text, encoding="utf-8")
            ours = run_command(["filecheck", *arguments], step.stdin).code == 0
            done = subprocess.run(
                [str(FILECHECK), *arguments], input=step.stdin, capture_output=True, text=True, check=False
            )
            verdicts[ours] += what != _WHOLE
            if ours != (done.returncode == 0):
                differences.append(f"{what}: {'passes' if ours else 'fails'} here only ({' '.join(arguments)})")
    assert not differences, "\n".join(differences)
    assert verdicts[False] or not verdicts.total(), "breaking the checks of this file breaks no test"
