"""The file of `--config`: which options it sets, what it rejects, and that a written file reads back unchanged."""

import argparse
import os
import tomllib
from pathlib import Path

import pytest

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.tools.command_runner import build_parser
from qmlir.tools.configuration import PATHS, WRITTEN, configured, options_of, write_configuration
from qmlir.tools.qmlir_cli import rows
from qmlir.tools.stdio import ArgumentParser, UsageError

COMMANDS = ("quantize", "run")


def build() -> ArgumentParser:
    parser = ArgumentParser(prog="qmlir quantize", allow_abbrev=False)
    parser.add_argument("model")
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--data", metavar="PATH", help="samples")
    group.add_argument("--profile", metavar="FILE", help="a profile")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="100%% of it")
    parser.add_argument("--scheme", default="", choices=["one", "two"], help="which")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="how many")
    parser.add_argument("--bound", type=float, metavar="DB", help="decibels")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1x3", help="shapes")
    parser.add_argument("--input", action="append", default=[], metavar="[NAME=]FILE", help="inputs")
    parser.add_argument("--cluster", metavar="ADDRESS", help="who does it")
    parser.add_argument("--resume", metavar="DIR", help="what is done")
    parser.add_argument("--strict", action="store_true", help="fail")
    parser.add_argument("--config", metavar="FILE")
    parser.add_argument("--write-config", action="store_true")
    parser.add_argument("--force", action="store_true")
    return parser


def read(folder: Path, text: str | None, *words: str) -> argparse.Namespace:
    """What a file says that the command line names."""
    named = []
    if text is not None:
        (folder / "qmlir.toml").write_text(text)
        named = [] if "--config" in words else ["--config", str(folder / "qmlir.toml")]
    return found_from(folder / "m.onnx", *named, *words)


def found_from(model: Path, *words: str, told: list[str] | None = None) -> argparse.Namespace:
    found = configured(
        build,
        "quantize",
        COMMANDS,
        lambda parser: parser.parse_args([str(model), *words]),
        [].append if told is None else told.append,
    )
    assert not isinstance(found, int)
    return found


def test_the_file_stands_for_options(tmp_path: Path) -> None:
    text = """
        [common]
        threads = 2
        isa = "avx2"      # shared, and not an option of this command
        [quantize]
        data = "samples.npz"
        output = "/elsewhere/out"
        scheme = "two"
        bound = 20
        shape = ["x=1x2", "y=3"]
        input = ["x=a.npy", "b.npz"]
        strict = true
        [run]
        engine = "of another command"
    """
    found = read(tmp_path, text)
    assert found.threads == 2
    assert (found.data, found.output) == (str(tmp_path / "samples.npz"), "/elsewhere/out")
    assert (found.scheme, found.bound, found.shape, found.strict) == ("two", 20.0, ["x=1x2", "y=3"], True)
    assert found.input == [f"x={tmp_path / 'a.npy'}", str(tmp_path / "b.npz")]


def test_the_command_line_goes_before_it(tmp_path: Path) -> None:
    text = """
        [common]
        threads = 2
        [quantize]
        threads = 3
        data = "samples.npz"
        output = "out"
        shape = ["x=1x2"]
    """
    assert read(tmp_path, text).threads == 3  # the table of the command before what is common
    found = read(tmp_path, text, "--threads", "4", "--shape", "z=9", "--profile", "p.json", "-o", "here")
    assert (found.threads, found.shape, found.output) == (4, ["z=9"], "here")
    assert (found.data, found.profile) == (None, "p.json")  # they exclude each other
    assert read(tmp_path, text, "--threads", "1").threads == 1  # a default, but said


@pytest.mark.parametrize("kind", ["file", "link", "dangling", "pipe"])
def test_an_output_that_the_file_names_replaces_nothing(tmp_path: Path, kind: str) -> None:
    text, other = '[quantize]\ndata = "x.npz"\noutput = "out.onnx"', tmp_path / "out.onnx"
    match kind:
        case "file":
            other.touch()
        case "pipe":
            os.mkfifo(other)
        case _:
            other.symlink_to(tmp_path if kind == "link" else tmp_path / "gone")
    with pytest.raises(DiagnosticError, match=r"names the output|is a pipe"):
        read(tmp_path, text)
    if kind != "pipe":
        assert read(tmp_path, text, "--force").output == str(other)
    assert read(tmp_path, text.replace("out.onnx", "m.onnx"), "-o", str(other)).output == str(other)


def test_an_output_that_the_file_names_may_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert read(tmp_path, '[quantize]\ndata = "x.npz"\noutput = "out"').output == str(tmp_path / "out")


def test_another_file(tmp_path: Path) -> None:
    other = tmp_path / "sub" / "other.toml"
    other.parent.mkdir()
    other.write_text('[quantize]\ndata = "x.npz"\noutput = "out"')
    found = read(tmp_path, "[quantize]\nthreads = 7", "--config", str(other))
    assert (found.threads, found.data) == (1, str(tmp_path / "sub" / "x.npz"))
    with pytest.raises(DiagnosticError, match=r"cannot read '.*gone.toml': No such file"):
        read(tmp_path, None, "--config", str(tmp_path / "gone.toml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[quantize]\nschem = 'one'",
            r"unknown key 'schem' in \[quantize\]; did you mean 'scheme'\? \(available: data,",
        ),
        ("[quantize]\nwrite-config = true", r"unknown key 'write-config' in \[quantize\]"),
        ("[common]\nscheme = 'one'", r"unknown key 'scheme' in \[common\].* \(available: data, isa, json,"),
        ("[quantize]\ncluster = 'tcp://host:1'", r"unknown key 'cluster' in \[quantize\]"),
        ("[common]\ncluster = 'tcp://host:1'", r"unknown key 'cluster' in \[common\]"),
        ("[quantise]", r"unknown table 'quantise'; did you mean 'quantize'\? \(available: common, quantize, run\)"),
        ("threads = 1", r"unknown table 'threads'.* \(available: common, quantize, run\)"),
        ("quantize = 1", r"'quantize' must be a table \[quantize\], but got 1"),
        ("[quantize]\nscheme = 'three'", r"scheme in \[quantize\] must be one of one, two, but got 'three'"),
        ("[quantize]\nthreads = 1.5", r"threads in \[quantize\] must be an integer, but got 1.5"),
        ("[quantize]\nthreads = true", r"threads in \[quantize\] must be an integer, but got True"),
        ("[quantize]\nbound = '1'", r"bound in \[quantize\] must be a number, but got '1'"),
        ("[quantize]\nshape = 'x=1'", r"shape in \[quantize\] must be a list, but got 'x=1'"),
        ("[quantize]\nstrict = 1", r"strict in \[quantize\] must be true or false, but got 1"),
        ("[quantize]\ndata = 1", r"data in \[quantize\] must be a string, but got 1"),
        ("[quantize]\ndata = 'a'\nprofile = 'b'", "data and profile cannot be combined"),
        ("[quantize", "is not TOML"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as caught:
        read(tmp_path, text, "-o", "out")
    assert str(tmp_path / "qmlir.toml") in str(caught.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for option in ("profile", "data"):
        with pytest.raises(DiagnosticError, match=rf"{option} in \[quantize\] must name a file, but '.*' is a pipe"):
            read(tmp_path, f"[quantize]\n{option} = 'pipe'", "-o", "out")


def test_what_must_be_said_somewhere(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="-o/--output"):
        read(tmp_path, "[quantize]\ndata = 'x.npz'")


def test_what_is_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    words = [
        "--data",
        "x.npz",
        "-o",
        "out",
        "--scheme",
        "two",
        "--threads",
        "5",
        "--shape",
        'a"\\=1x2',
        "--input",
        "q=i.npy",
    ]
    asked = read(tmp_path, None, *words, "--write-config", "--config", "new.toml")
    path = write_configuration(build(), "quantize", asked)
    assert path == Path("new.toml")
    text = path.read_text()
    assert "# 100% of it\n" in text  # complete, with comments
    assert "# profile = " in text
    found = read(tmp_path, None, "--config", "new.toml")
    for name, value in vars(read(tmp_path, None, *words)).items():
        if name in ("data", "output"):
            assert os.path.abspath(getattr(found, name)) == os.path.abspath(value)
        elif name == "input":
            assert [os.path.abspath(each.removeprefix("q=")) for each in found.input] == [str(work / "i.npy")]
        elif name != "config":
            assert getattr(found, name) == value
    with pytest.raises(UsageError, match="already exists; name another file with --config, or remove it"):
        write_configuration(build(), "quantize", asked)
    assert path.read_text() == text
    with pytest.raises(UsageError, match="--write-config requires --config FILE"):
        read(tmp_path, None, *words, "--write-config")


def test_nothing_has_to_be_there_to_write_it(tmp_path: Path) -> None:
    asked = read(tmp_path, None, "--write-config", "--config", str(tmp_path / "new.toml"))
    assert write_configuration(build(), "quantize", asked) == tmp_path / "new.toml"
    assert tomllib.loads((tmp_path / "new.toml").read_text()) == {"quantize": {"threads": 1, "strict": False}}


def test_only_the_named_file_is_read_and_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, models = tmp_path / "work", tmp_path / "models"
    for folder in (work, models):
        folder.mkdir()
        (folder / "qmlir.toml").write_text("[quantize]\nscheme = 'two'\nunknown = 1\n")
    os.mkfifo(tmp_path / "qmlir.toml")  # opening it would wait for a writer
    monkeypatch.chdir(work)
    words = ("--data", "x.npz", "-o", "out")
    for model in (models / "m.onnx", work / "m.onnx", Path("m.onnx"), tmp_path / "m.onnx"):
        told = [""]
        assert found_from(model, *words, told=told).scheme == ""
        assert told == [""]
    named = tmp_path / "named.toml"
    for text in ("[quantize]\nscheme = 'one'\n", "[run]\nengine = 'compiled'\n"):
        named.write_text(text)
        told = [""]
        found_from(models / "m.onnx", *words, "--config", str(named), told=told)
        assert told == ["", f"using options from '{named}'"]


@pytest.mark.parametrize("option", ["force", "config", "write-config", "load-plugin", "preprocess", "budget"])
def test_only_the_command_line_sets_what_runs_code_or_replaces_files(tmp_path: Path, option: str) -> None:
    with pytest.raises(DiagnosticError, match=rf"unknown key '{option}' in \[quantize\]"):
        read(tmp_path, f"[quantize]\n{option} = true\n", "--data", "x", "-o", "out")


def test_every_option_is_classified() -> None:
    """An option that takes a path is known to write, or to read."""
    reads = {"data", "profile", "calibration", "recipe", "reference", "labels", "input", "validation", "dump"}
    for row in rows():
        options = options_of(build_parser(row))
        paths = {key for key, action in options.items() if action.metavar in PATHS}
        assert {options[key].dest for key in paths - reads} <= set(WRITTEN), row.name


def test_a_file_names_no_passes() -> None:
    """They may write files."""
    row = next(row for row in rows() if row.name == "profile")
    options = options_of(build_parser(row))
    assert "axis" in options
    assert "passes" not in options
