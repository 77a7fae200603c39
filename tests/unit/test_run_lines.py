"""What RUN lines mean: each case ends as stated, in-process and under lit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.run_lines import run_file

TESTS = Path(__file__).resolve().parents[1]

CASES = {
    "pass": ("PASS", "// RUN: true"),
    "pipe": ("PASS", "// RUN: echo one two | filecheck %s\n// CHECK: one two"),
    "llvm_name": ("PASS", "// RUN: echo one | FileCheck %s\n// CHECK: one"),
    "mismatch": ("FAIL", "// RUN: echo one | filecheck %s\n// CHECK: two"),
    "no_checks": ("FAIL", "// RUN: echo one | filecheck %s"),
    "empty_input": ("FAIL", "// RUN: cat %s.nowhere | filecheck %s\n// CHECK: one"),
    "prefixes": ("PASS", "// RUN: echo one two | filecheck %s --check-prefixes=A,B\n// A: one\n// B: two"),
    "input_file": ("PASS", "// RUN: echo one > %t && filecheck %s --input-file=%t\n// CHECK: one"),
    "no_input_file": ("FAIL", "// RUN: filecheck %s --input-file=%t.none\n// CHECK: one"),
    "no_redirected_file": ("UNRESOLVED", "// RUN: cat < %t.none"),
    "no_file_to_compare": ("PASS", "// RUN: not diff %s %t.none"),
    "full_lines": ("FAIL", "// RUN: echo one two | filecheck %s --match-full-lines\n// CHECK: one"),
    "two_lines": ("FAIL", "// RUN: echo one\n// RUN: not echo one"),
    "continued": ("PASS", "// RUN: echo one \\\n// RUN:   two | grep 'one two'"),
    "not": ("PASS", "// RUN: not grep nothing-like-it-in-here.%%. %S/pipe.mlir"),
    "not_turns_success": ("FAIL", "// RUN: not echo one"),
    "and_stops": ("FAIL", "// RUN: not echo one && echo two"),
    "or_goes_on": ("PASS", "// RUN: not echo one || echo two"),
    "semicolon_forgets": ("PASS", "// RUN: not echo one ; echo two"),
    "failure_inside_a_pipe": ("FAIL", "// RUN: not echo one | cat"),
    "redirections": ("PASS", "// RUN: echo one > %t\n// RUN: echo two >> %t\n// RUN: cat < %t | wc -l | grep 2"),
    "error_stream": (
        "PASS",
        "// RUN: not qmlir-opt --no-such 2> %t\n// RUN: grep no-such %t\n"
        "// RUN: not qmlir-opt --no-such 2>&1 | grep no-such\n// RUN: not qmlir-opt --no-such 2>&1 > %t.both | cat\n",
    ),
    "operators_in_quotes": ("PASS", "// RUN: echo 'one | two > three' | filecheck %s\n// CHECK: one | two > three"),
    "files": ("PASS", "// RUN: mkdir %t.d && cp %s %t.d/x && cmp %s %t.d/x && diff %s %t.d/x && rm -r %t.d"),
    "diff": ("FAIL", "// RUN: echo one > %t.1 && echo two > %t.2 && diff %t.1 %t.2"),
    "percent": ("PASS", "// RUN: echo 5%% | filecheck %s\n// CHECK: 5%"),
    "line_number": ("PASS", "// RUN: echo %(line+1) | filecheck %s\n// CHECK: 2"),
    "stem": ("PASS", "// RUN: echo %{s:stem} | filecheck %s --match-full-lines\n// CHECK:{{^ *}}stem"),
    "define": ("PASS", "// DEFINE: %{say} = echo one\n// RUN: %{say} | filecheck %s\n// CHECK: one"),
    "unknown_command": ("FAIL", "// RUN: no-such-command-anywhere"),
    "no_run_line": ("UNRESOLVED", "func.func private @f()"),
    "required": ("PASS", "// REQUIRES: !no-such-feature\n// RUN: true"),
    "requires_more": ("UNSUPPORTED", "// REQUIRES: no-such-feature\n// RUN: not true"),
    "unsupported": ("UNSUPPORTED", "// UNSUPPORTED: !no-such-feature\n// RUN: not true"),
    "expected_failure": ("XFAIL", "// XFAIL: *\n// RUN: not true"),
    "unexpected_pass": ("XPASS", "// XFAIL: *\n// RUN: true"),
    "bad_condition": ("UNRESOLVED", "// REQUIRES: a &&\n// RUN: true"),
    "end": ("PASS", "// RUN: true\n// END.\n// RUN: not true"),
    "split_file": (
        "PASS",
        "// RUN: split-file %s %t && cat %t/b.txt | filecheck %s\n// CHECK: two\n//--- a.txt\none\n//--- b.txt\ntwo",
    ),
    "split_file_without_marker": ("FAIL", "// RUN: split-file %s %t"),
}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder with a file for each case, and lit's configuration of the FileCheck files for it."""
    for name, (_, text) in CASES.items():
        (tmp_path / f"{name}.mlir").write_text(text + "\n")
    (tmp_path / "lit.cfg.py").write_text(
        f"lit_config.load_config(config, {str(TESTS / 'lit.cfg.py')!r})\n"
        f"config.test_source_root = {str(tmp_path)!r}\nconfig.test_exec_root = {str(tmp_path / 'lit')!r}\n"
    )
    return tmp_path


def test_in_process(written: Path) -> None:
    found = {name: run_file(written / f"{name}.mlir", written / name) for name in CASES}
    wrong = {name: found[name] for name, (wanted, _) in CASES.items() if found[name].code != wanted}
    assert not wrong


def test_under_lit(written: Path) -> None:
    report = written / "report.json"
    binaries = Path(sys.executable).parent
    subprocess.run(
        [binaries / "lit", "-j2", "-q", f"--output={report}", written],
        env={key: value for key, value in os.environ.items() if key != "FILECHECK"} | {"QMLIR_BIN": str(binaries)},
        capture_output=True,
        check=False,
    )
    codes = {
        test["name"].removeprefix("qmlir :: ").removesuffix(".mlir"): test["code"]
        for test in json.loads(report.read_text())["tests"]
    }
    assert codes == {name: wanted for name, (wanted, _) in CASES.items()}


def test_a_failure_shows_the_line_and_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text("// RUN: true\n// RUN: qmlir-opt %s | filecheck %s\n// CHECK: nn.relu\nfunc.func private @f()\n")
    outcome = run_file(path, tmp_path / "out")
    assert outcome.code == "FAIL"
    assert f"{path}: RUN: at line 2" in outcome.report
    assert "nn.relu" in outcome.report
    assert len(outcome.report.splitlines()) < 20
