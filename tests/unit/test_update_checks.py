"""`pytest --update-checks` on copies of small files: what it writes, and what it leaves to a person."""

from pathlib import Path

import pytest

from tests.support.run_lines import run_file
from tests.support.update_checks import update_file

FUNCTION = """func.func @main(%x: tensor<2xf32>, %unused: tensor<1x2xf32>) -> tensor<2xf32> {
  %a = nn.relu %x : tensor<2xf32> {origin = "50%off"}
  %b = nn.add %a, %a : tensor<2xf32>
  func.return %b : tensor<2xf32>
}
"""
CHECKS = """// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>, [[V1:%.+]]: tensor<1x2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V0]] : tensor<2xf32> {origin = "50%off"}
// CHECK-NEXT: [[V3:%.+]] = nn.add [[V2]], [[V2]] : tensor<2xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<2xf32>
"""
RUN = "// RUN: qmlir-opt %s | filecheck %s\n"


def _update(folder: Path, text: str) -> tuple[str, str, str]:
    """The code and report of an update, and the text after it."""
    path = folder / "case.mlir"
    path.write_text(text)
    outcome = update_file(path, folder / "out")
    return outcome.code, outcome.report, path.read_text()


def test_checks_are_written_above_each_function(tmp_path: Path) -> None:
    source = f"{RUN}\n// A comment of the first.\n{FUNCTION}\n{FUNCTION.replace('@main', '@other')}"
    checks = f"{RUN}\n// A comment of the first.\n{CHECKS}{FUNCTION}\n"
    checks += (CHECKS + FUNCTION).replace("@main", "@other")
    assert _update(tmp_path, source) == ("PASS", "", checks)


def test_checks_stay_where_they_stood_together(tmp_path: Path) -> None:
    old = f"{RUN}// Kept.\n{FUNCTION}\n// CHECK: nn.abs\n// CHECK-NEXT: nothing\n// Kept too.\n"
    assert _update(tmp_path, old) == ("PASS", "", f"{RUN}// Kept.\n{FUNCTION}\n{CHECKS}// Kept too.\n")


@pytest.mark.parametrize("checks", ["// CHECK: nn.add", CHECKS])
def test_what_passes_is_left_alone(tmp_path: Path, checks: str) -> None:
    text = f"{RUN}{checks}\n{FUNCTION}"
    assert _update(tmp_path, text) == ("PASS", "", text)


def test_only_the_failing_prefix_is_written(tmp_path: Path) -> None:
    run = RUN + "// RUN: not qmlir-opt %s.nowhere 2>&1 | filecheck %s --check-prefix=GONE\n"
    old = f"{run}// CHECK: nn.add\n// GONE: what it said before\n{FUNCTION}"
    said = "error: cannot read '{{.*}}case.mlir.nowhere': No such file or directory; did you mean 'case.mlir'?"
    new = f"{run}// CHECK: nn.add\n// GONE: {said}\n"
    assert _update(tmp_path, old) == ("PASS", "", new + FUNCTION)


def test_brackets_are_escaped(tmp_path: Path) -> None:
    text = f"{RUN}%0 = nn.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>\n"
    code, _, new = _update(tmp_path, text)
    assert code == "PASS"
    assert r"nn.constant dense<{{\[\[}}1.0" in new


EXPECTING = """func.func @main(%x: tensor<2xf32>) {
  %wanted = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq %x, %wanted : tensor<2xf32>
  func.return
}
"""


def test_an_expected_number_is_never_changed(tmp_path: Path) -> None:
    _, _, checked = _update(tmp_path, RUN + EXPECTING)
    # A check beside the number is written anew …
    other = checked.replace("[[V0:%.+]]: tensor<2xf32>", "[[V0:%.+]]: tensor<7xf32>")
    assert other != checked
    assert _update(tmp_path, other) == ("PASS", "", checked)
    # … the number is not.
    old_number = checked.replace("= nn.constant dense<[1.0, 2.0]>", "= nn.constant dense<[1.0, 3.0]>", 1)
    assert old_number != checked
    code, report, after = _update(tmp_path, old_number)
    assert code == "FAIL"
    assert "a number that a check operation expects would change" in report
    assert after == old_number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{RUN}// CHECK-NOT: nn.add\n{FUNCTION}", "line 2 is a check that a person has shaped"),
        (f"{RUN}{FUNCTION[:-2]}}} // CHECK: nn.abs\n", "line 6 has a check behind its code"),
        (f"// RUN: qmlir-opt %s | grep nn.abs\n{FUNCTION}", "does not end in '| filecheck %s'"),
        (
            f"{RUN}// CHECK: check.expect_eq %x, %y : tensor<3xf32>\n{FUNCTION}",
            "a check operation expects would change",
        ),
        (
            f"{RUN}// RUN: qmlir-opt %s --print-op-generic | filecheck %s\n{FUNCTION}",
            "two RUN lines print different things for CHECK",
        ),
    ],
)
def test_what_is_left_to_a_person(tmp_path: Path, text: str, reason: str) -> None:
    code, report, after = _update(tmp_path, text)
    assert code == "FAIL"
    assert reason in report
    assert after == text


def test_a_tool_that_fails_is_no_reason_to_write(tmp_path: Path) -> None:
    text = f"{RUN}// CHECK: nn.add\nfunc.func @main(\n"
    code, report, after = _update(tmp_path, text)
    assert code == "FAIL"
    assert "error:" in report
    assert after == text


def test_twice_is_once(tmp_path: Path) -> None:
    _, _, once = _update(tmp_path, RUN + FUNCTION)
    assert _update(tmp_path, once) == ("PASS", "", once)
    assert run_file(tmp_path / "case.mlir", tmp_path / "out").code == "PASS"
