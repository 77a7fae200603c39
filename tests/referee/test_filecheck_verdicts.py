"""Every FileCheck file, whole and broken, by our runner and by LLVM's lit and FileCheck: the same verdicts."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.run_lines import RunLineError, run_file

TESTS = Path(__file__).resolve().parents[1]
LIT, FILECHECK = shutil.which("lit-22"), shutil.which("FileCheck-22")

pytestmark = [
    pytest.mark.referee,
    pytest.mark.skipif(
        LIT is None or FILECHECK is None,
        reason="lit-22 and FileCheck-22 are not installed (Debian: apt-get install llvm-22-tools)",
    ),
]

_CHECK = re.compile(r"^(\s*// [A-Z]+(?:-NEXT|-SAME)?: .*[a-z])", re.MULTILINE)


def _broken(text: str) -> str | None:
    """`text` with a word that is nowhere behind its last plain check, `None` where it has none."""
    found = list(_CHECK.finditer(text))
    found = [match for match in found if "RUN" not in match[0] and "-NOT" not in match[0]]
    if not found:
        return None
    end = found[-1].end()
    return f"{text[:end]}xyzzy{text[end:]}"


def _copy(folder: Path) -> list[Path]:
    """The FileCheck files, and a broken copy of each that checks something."""
    shutil.copytree(TESTS / "filecheck", folder / "filecheck")
    shutil.copy(TESTS / "lit.cfg.py", folder / "lit.cfg.py")
    for path in sorted((folder / "filecheck").rglob("*.mlir")):
        broken = _broken(path.read_text(encoding="utf-8"))
        if "Inputs" not in path.parts and broken is not None:
            path.with_name(f"{path.stem}_broken.mlir").write_text(broken, encoding="utf-8")
    return [path for path in sorted((folder / "filecheck").rglob("*.mlir")) if "Inputs" not in path.parts]


def _ours(path: Path, temporary: Path) -> bool:
    temporary.mkdir()
    try:
        run_file(path, temporary)
    except RunLineError:
        return False
    return True


def test_same_verdicts(tmp_path: Path) -> None:
    paths = _copy(tmp_path)
    report = tmp_path / "report.json"
    subprocess.run(
        [str(LIT), "-j2", "-q", f"--output={report}", str(tmp_path / "filecheck")],
        env={
            **os.environ,
            "FILECHECK": str(FILECHECK),
            "QMLIR_BIN": str(Path(sys.executable).parent),
            "QMLIR_LIT_OUTPUT": str(tmp_path / "lit"),
        },
        capture_output=True,
        check=False,
    )
    results = {entry["name"]: entry["code"] == "PASS" for entry in json.loads(report.read_text())["tests"]}
    theirs = {name.partition(" :: ")[2].removeprefix("filecheck/"): passed for name, passed in results.items()}
    ours = {
        str(path.relative_to(tmp_path / "filecheck")): _ours(path, tmp_path / f"ours{index}")
        for index, path in enumerate(paths)
    }
    assert ours == theirs
    # Both verdicts occur: a broken copy fails, its original passes.
    assert sum(ours.values()) >= 30
    assert sum(not passed for passed in ours.values()) >= 20
