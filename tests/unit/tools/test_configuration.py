"""`qmlir.toml`: what counts, what wins, what is refused, and that what is written is read as it was."""

import argparse
import os
import tomllib
from pathlib import Path

import pytest

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.tools.configuration import PATHS, WRITTEN, configured, options_of, write_configuration
from qmlir.tools.frame import build_parser
from qmlir.tools.qmlir_cli import ROWS
from qmlir.tools.streams import ArgumentParser, UsageError

COMMANDS = ("quantize", "run")


def build() -> ArgumentParser:
    parser = ArgumentParser(prog="qmlir quantize", allow_abbrev=False)
    parser.set_defaults(model_argument="model")
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
        build, "quantize", COMMANDS, lambda parser: parser.parse_args([str(model), *words]), (told or []).append
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
            r"unknown key 'schem' in \[quantize\], did you mean 'scheme'\? \(accepted: data,",
        ),
        ("[quantize]\nwrite-config = true", r"unknown key 'write-config' in \[quantize\]"),
        ("[common]\nscheme = 'one'", r"unknown key 'scheme' in \[common\].* \(accepted: cluster, data, isa,"),
        ("[quantise]", r"unknown table 'quantise', did you mean 'quantize'\? \(accepted: common, quantize, run\)"),
        ("threads = 1", r"unknown table 'threads'.* \(accepted: common, quantize, run\)"),
        ("quantize = 1", r"'quantize' is a table, \[quantize\], found 1"),
        ("[quantize]\nscheme = 'three'", r"scheme in \[quantize\] is one of one, two, found 'three'"),
        ("[quantize]\nthreads = 1.5", r"threads in \[quantize\] is a whole number, found 1.5"),
        ("[quantize]\nthreads = true", r"threads in \[quantize\] is a whole number, found True"),
        ("[quantize]\nbound = '1'", r"bound in \[quantize\] is a number, found '1'"),
        ("[quantize]\nshape = 'x=1'", r"shape in \[quantize\] is a list, found 'x=1'"),
        ("[quantize]\nstrict = 1", r"strict in \[quantize\] is true or false, found 1"),
        ("[quantize]\ndata = 1", r"data in \[quantize\] is a string, found 1"),
        ("[quantize]\ndata = 'a'\nprofile = 'b'", "data and profile exclude each other"),
        ("[quantize", "is not TOML"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as caught:
        read(tmp_path, text, "-o", "out")
    assert str(tmp_path / "qmlir.toml") in str(caught.value)


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
    asked = read(tmp_path, None, *words, "--write-config")
    path = write_configuration(build(), "quantize", asked)
    assert path == Path("qmlir.toml")
    text = path.read_text()
    assert "# 100% of it\n" in text  # complete, with comments
    assert "# profile = " in text
    found = read(tmp_path, None)
    work.joinpath("qmlir.toml").rename(tmp_path / "aside.toml")
    for name, value in vars(read(tmp_path, None, *words)).items():
        if name in ("data", "output"):
            assert os.path.abspath(getattr(found, name)) == os.path.abspath(value)
        elif name == "input":
            assert [os.path.abspath(each.removeprefix("q=")) for each in found.input] == [str(work / "i.npy")]
        else:
            assert getattr(found, name) == value
    (tmp_path / "aside.toml").rename(path)
    with pytest.raises(UsageError, match="exists: name another file with --config, or remove it"):
        write_configuration(build(), "quantize", asked)
    assert path.read_text() == text


def test_nothing_has_to_be_there_to_write_it(tmp_path: Path) -> None:
    asked = read(tmp_path, None, "--write-config", "--config", str(tmp_path / "new.toml"))
    assert write_configuration(build(), "quantize", asked) == tmp_path / "new.toml"
    assert tomllib.loads((tmp_path / "new.toml").read_text()) == {"quantize": {"threads": 1, "strict": False}}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The working directory, and a folder of somebody else with a model."""
    work, models = tmp_path / "work", tmp_path / "models"
    work.mkdir()
    models.mkdir()
    (models / "samples.npz").touch()
    (models / "elsewhere").symlink_to(work)
    (work / "outside").symlink_to(tmp_path)
    (work / "secret.npz").touch()
    monkeypatch.chdir(work)
    return work, models


def test_one_file_is_read_and_told(folders: tuple[Path, Path]) -> None:
    work, models = folders
    own, beside, named = work / "qmlir.toml", models / "qmlir.toml", work / "named.toml"
    words = ("--data", "x.npz", "-o", "out")
    for path, scheme in ((beside, "two"), (own, "one"), (named, "two")):
        path.write_text(f"[quantize]\nscheme = '{scheme}'\n")
    for more, scheme, told in (
        (["--config", str(named)], "two", f"options of '{named}'"),
        ([], "one", "options of 'qmlir.toml', in the working directory"),
    ):
        said = [""]
        assert found_from(models / "m.onnx", *words, *more, told=said).scheme == scheme
        assert said[1:] == [told]
    own.unlink()
    said = [""]
    assert found_from(models / "m.onnx", *words, told=said).scheme == "two"
    assert said[1:] == [f"options of '{beside}', beside the model"]
    said = [""]
    beside.write_text("[run]\nthreads = 1")
    assert found_from(models / "m.onnx", *words, told=said).scheme == ""
    assert said[1:] == []  # it says nothing of this command


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("output = 'out'", "output in [quantize] is not for a file beside the model"),
        ("threads = 9", "threads in [quantize] is not for a file beside the model"),
        ("strict = true", "strict in [quantize] is not for a file beside the model"),
        ("input = ['x.npy']", "input in [quantize] is not for a file beside the model"),
        ("cluster = 'tcp://10.0.0.1:8786'", "cluster in [quantize] is not for a file beside the model"),
        ("resume = 'parts'", "resume in [quantize] is not for a file beside the model"),
        ("data = '../work/secret.npz'", "outside of the folder of a file beside the model"),
        ("data = 'elsewhere/secret.npz'", "outside of the folder of a file beside the model"),
        ("data = '/etc/passwd'", "outside of the folder of a file beside the model"),
        ("data = 'pipe'", "which is not a file and no folder"),
        ("scheme = 'one\\u001b[31m'", "scheme in [quantize] is one line of text"),
    ],
)
def test_what_lies_beside_a_model_says_how_to_quantize_alone(
    folders: tuple[Path, Path], text: str, reason: str
) -> None:
    work, models = folders
    os.mkfifo(models / "pipe")
    text = text.replace("'one", '"one').replace("[31m'", '[31m"')
    (models / "qmlir.toml").write_text(f"[quantize]\n{text}\n")
    with pytest.raises(DiagnosticError) as caught:
        found_from(models / "m.onnx", "--profile", "p", "-o", "out")
    assert reason in str(caught.value)
    assert sorted(path.name for path in work.iterdir()) == ["outside", "secret.npz"]


def test_what_lies_beside_a_model_names_what_lies_there_too(folders: tuple[Path, Path]) -> None:
    (folders[1] / "qmlir.toml").write_text("[quantize]\ndata = 'samples.npz'\nshape = ['x=1x2']\n")
    found = found_from(folders[1] / "m.onnx", "-o", "out")
    assert (found.data, found.shape) == (str(folders[1] / "samples.npz"), ["x=1x2"])


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("../victim", "outside of the folder of a file in the working directory"),
        ("outside/victim", "outside of the folder of a file in the working directory"),
        ("secret.npz", "which is there and is not known to be of qmlir"),
        ("pipe", "which is there and is not known to be of qmlir"),
        ("report.html", ""),
        ("profile.json", ""),
        ("new", ""),
        (".", ""),  # the command knows which folders it wrote
    ],
)
def test_what_a_file_in_the_working_directory_lets_be_written(
    folders: tuple[Path, Path], output: str, reason: str
) -> None:
    work, models = folders
    os.mkfifo(work / "pipe")
    (work / "report.html").write_text(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta name="generator" content="qmlir'
    )
    (work / "profile.json").write_text('{\n  "format": "qmlir-profile",\n')
    (work / "qmlir.toml").write_text(f"[quantize]\ndata = '../x.npz'\noutput = '{output}'\n")
    if not reason:
        assert found_from(models / "m.onnx").output == output
        return
    with pytest.raises(DiagnosticError) as caught:
        found_from(models / "m.onnx")
    assert reason in str(caught.value)
    named = found_from(models / "m.onnx", "--config", "qmlir.toml")
    assert (named.data, named.output) == ("../x.npz", output)


def test_a_cluster_is_named_by_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets the model and its data, and what it answers is unpickled: no file that is found by chance names one."""
    monkeypatch.chdir(tmp_path)
    words = ("--data", "x", "-o", "out")
    for table in ("common", "quantize"):
        (tmp_path / "qmlir.toml").write_text(f"[{table}]\ncluster = 'tcp://10.0.0.1:8786'\n")
        with pytest.raises(DiagnosticError, match=rf"cluster in \[{table}\] sends the model and its data to"):
            found_from(tmp_path / "m.onnx", *words)
        found = found_from(tmp_path / "m.onnx", *words, "--config", "qmlir.toml")
        assert found.cluster == "tcp://10.0.0.1:8786"


def test_nothing_waits_for_a_pipe_in_its_place(folders: tuple[Path, Path]) -> None:
    os.mkfifo(folders[1] / "qmlir.toml")
    with pytest.raises(DiagnosticError, match="it is not a regular file"):
        found_from(folders[1] / "m.onnx", "--data", "x", "-o", "out")


def test_every_option_is_classified() -> None:
    """An option that takes a path is known to write, or to read."""
    reads = {"data", "profile", "calibration", "recipe", "reference", "labels", "input", "validation"}
    for row in ROWS:
        options = options_of(build_parser(row))
        paths = {key for key, action in options.items() if action.metavar in PATHS}
        assert {options[key].dest for key in paths - reads} <= set(WRITTEN), row.name
