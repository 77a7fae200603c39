"""`qmlir`: the table of commands, the help without the compiler, exit codes as they are documented."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qmlir.extensions
from qmlir.tools import commands, qmlir_cli
from qmlir.tools.command_runner import build_parser, command_of
from qmlir.tools.configuration import MODELS
from qmlir.tools.stdio import Subcommand

EVERYWHERE = {"--quiet", "--verbose", "--json", "--config", "--write-config"}


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = qmlir_cli.main(words, stdin=io.StringIO(), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def test_a_row_for_each_file() -> None:
    folder = Path(commands.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    extensions = Path(qmlir.extensions.__file__).parent
    files |= {path.stem.removesuffix("_command") for path in extensions.glob("*/*_command.py")}
    assert files == {row.name.replace("-", "_") for row in qmlir_cli.rows()}
    assert all(row.summary for row in qmlir_cli.rows())


@pytest.mark.parametrize("row", qmlir_cli.rows(), ids=lambda row: row.name)
def test_a_row_loads_the_command_of_its_file(row: Subcommand) -> None:
    name = row.name.replace("-", "_")
    module = command_of(row).run.__module__
    assert module == f"qmlir.tools.commands.{name}" or re.fullmatch(rf"qmlir\.extensions\.\w+\.{name}_command", module)
    parser = build_parser(row)
    assert {name for action in parser._actions for name in action.option_strings} >= EVERYWHERE
    assert f"usage: qmlir {row.name}" in parser.format_help()  # and no help text breaks argparse


def test_the_help_names_commands_and_exit_codes() -> None:
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for row in qmlir_cli.rows():
        assert f"\n    {row.name}" in out
        assert row.summary in " ".join(out.split())
    for exit_code in ("0 ", "1 ", "2 ", "130 "):
        assert f"\n  {exit_code}" in out


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["--nothing"], ["nothing"], []])
def test_the_compiler_stays_where_it_is(words: list[str]) -> None:
    code = (
        "import sys; from qmlir.tools.qmlir_cli import main; main(sys.argv[1:]); "
        "print([name for name in ('numpy', 'xdsl', 'numba', 'onnx', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("row", qmlir_cli.rows(), ids=lambda row: row.name)
def test_help_and_first_errors_leave_the_compiler_where_it_is(row: Subcommand, tmp_path: Path) -> None:
    """An unknown option, an unknown limit and, for commands that take a model, files that do not exist."""
    command = command_of(row)
    takes_model = any(action.metavar in MODELS for action in build_parser(row).actions)
    lines = [f"{row.name} --help", f"{row.name} --nothing", f"{row.name} --limit nothing=1"]
    lines += command.examples if takes_model else ()
    code = (
        "import shlex, sys; from qmlir.tools.qmlir_cli import main; "
        "print('codes', *[main(shlex.split(line)) for line in sys.argv[1:]]); "
        "print([name for name in ('numpy', 'xdsl.ir', 'numba', 'onnx', 'rich') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *lines], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    codes, modules = done.stdout.splitlines()[-2:]
    assert codes == f"codes 0 2 2{' 1 1' if takes_model else ''}"
    assert done.stderr.count("No such file or directory") == (2 if takes_model else 0)
    assert modules == "[]"


@pytest.mark.parametrize(("words", "code"), [("--help", 0), ("--version", 0), ("--nothing", 2), ("nosuch.mlir", 1)])
def test_qmlir_opt_leaves_the_compiler_where_it_is(words: str, code: int, tmp_path: Path) -> None:
    program = (
        "import sys; from qmlir.tools.qmlir_opt import main; print('code', main(sys.argv[1:])); "
        "print([name for name in ('numpy', 'xdsl.ir', 'numba', 'onnx') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, words], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-2:] == [f"code {code}", "[]"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["quantise"], "unknown command 'quantise'; did you mean 'quantize'?"),
        (["xyz"], "unknown command 'xyz' (see qmlir --help)"),
        (["run"], "qmlir run: error: the following arguments are required: MODEL (see qmlir run --help)"),
        (["run", "a.mlir", "--engin", "compiled"], "unrecognized arguments: --engin compiled"),
        (["run", "a.mlir", "--threads", "many"], "argument --threads: invalid int value: 'many'"),
        (["quantize", "a.mlir", "-o", "out", "--data", "x", "--profile", "y"], "--profile: not allowed with argument"),
        (["quantize", "a.mlir", "--data", "x.npz"], "the following arguments are required: -o/--output"),
    ],
)
def test_wrong_usage_is_one_line_and_2(words: list[str], message: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_help_of_a_command() -> None:
    code, out, err = run("quantize", "--help")
    assert (code, err) == (0, "")
    assert "--weight-scheme {asymmetric," in out


def test_no_word_at_all_is_answered_with_the_help() -> None:
    code, out, err = run()
    assert (code, out) == (2, "")
    assert all(row.summary[:30] in err for row in qmlir_cli.rows())
