"""`qmlir.toml`: what the options of the subcommands say, in a file.

    [common]
    threads = 2

    [quantize]
    data = "samples.npz"
    weight-scheme = "symmetric"

A table has the name of a subcommand, its keys are the long names of options. What stands on the command line goes
before the table of the command, and that before `[common]`, which holds options that several commands share. A path is
relative to the file that it stands in.

One file is read: the one that `--config` names, otherwise that in the working directory, otherwise that beside the
model. The last two may come from somebody else. So what the one in the working directory lets a command write lies
inside of that folder, and replaces no file that another program wrote; and it names no cluster. The one beside a model
says how to quantize (`BESIDE`), and names nothing outside of its folder.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error
from qmlir.text.files import read_regular
from qmlir.text.toml import parse_toml, toml_value
from qmlir.text.weights import write_atomically
from qmlir.tools.streams import ArgumentParser, UsageError, actions_of

FILE = "qmlir.toml"
COMMON = "common"
SHARED = ("cluster", "data", "isa", "json", "processes", "quiet", "shape", "threads", "verbose")
"""What `[common]` may hold: it counts in each command that has such an option."""

DIR = "DIR"
PATHS = ("PATH", "FILE", DIR, "[NAME=]FILE")
"""The metavars of options that take a path."""

BESIDE = (
    "accumulator", "activations", "assert-all-quantized", "calibration", "calibrator", "data", "exclude", "granularity",
    "inputs", "keep", "keep-casts", "min-agreement", "min-sqnr", "no-fallback", "outputs", "profile", "recipe",
    "scheme", "shape", "state", "strip-training", "validation", "weight-scheme", "weights",
)  # fmt: skip
"""What a file beside a model may hold: how to quantize it, by what data, and what it must keep of its answers."""

WRITTEN = ("output", "checkpoint", "resume")
"""The arguments of commands that say where they write."""

_NOT_FOUND_BY_CHANCE: Mapping[str, str] = {
    "cluster": "sends the model and its data to other machines, and runs what comes back",
    "passes": "may name files to write",
}
"""What a file must be named for, and why."""

_WRITTEN_BY_US = re.compile(
    rb"""\{\s*"format":\ "qmlir-
    | <!doctype\ html>\s*<html\ lang="en">\s*<head>\s*<meta\ name="generator"\ content="qmlir
    | \x08.\x12\x05qmlir""",
    re.VERBOSE | re.DOTALL,
)
"""How profiles and summaries, reports and ONNX models begin."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_NOT_HERE = ("help", "config", "write_config", "load_plugin", "preprocess", "passes", "budget")
"""What only the command line may say: what loads code, and passes, which may name files to write."""

Parse = Callable[[argparse.ArgumentParser], argparse.Namespace | int]
"""Reads the command line with a parser: the arguments, or the exit code where that is all."""


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The options that a configuration may set, by their long names."""
    found: dict[str, argparse.Action] = {}
    for action in actions_of(parser):
        long = [name for name in action.option_strings if name.startswith("--")]
        if long and action.dest not in _NOT_HERE:
            found[long[0].removeprefix("--")] = action
    return found


def _exclusive_groups(parser: argparse.ArgumentParser) -> list[Any]:
    return parser._mutually_exclusive_groups  # pyright: ignore[reportPrivateUsage]


def _path_in(metavar: str, text: str) -> tuple[str, str, str]:
    """The prefix `NAME=` of a path, where the metavar allows one, and the path: `(name, "=", path)`."""
    return text.rpartition("=") if metavar.startswith("[NAME=]") else ("", "", text)


class Trust(Enum):
    """Who chose a file."""

    NAMED = "--config"
    WORKING_DIRECTORY = "in the working directory"
    BESIDE_MODEL = "beside the model"


@dataclass(frozen=True)
class Source:
    """The file that holds the configuration."""

    path: Path
    trust: Trust

    def holds(self, path: Path) -> bool:
        """Whether `path` lies in the folder of the file, links followed."""
        return path.resolve().is_relative_to(self.path.parent.resolve())


@dataclass(frozen=True)
class SettingPlace:
    """Where a setting stands, for messages and for paths."""

    source: Source
    table: str
    key: str

    def wrong(self, message: str) -> DiagnosticError:
        """The error about this setting."""
        return text_error(f"'{self.source.path}': {self.key} in [{self.table}] {message}")

    def check_key(self, accepted: Iterable[str]) -> None:
        """Raise `DiagnosticError` where the file may not hold this setting."""
        if self.key not in accepted:
            near = nearest_name(self.key, accepted)
            where = f"unknown key '{self.key}' in [{self.table}]{near}"
            raise text_error(f"'{self.source.path}': {where} (accepted: {_listed(accepted)})")
        trust = self.source.trust
        if trust is Trust.BESIDE_MODEL and self.key not in BESIDE:
            raise self.wrong(
                f"is not for a file {trust.value}, which says how to quantize ({_listed(BESIDE)}): name the file with "
                "--config if you trust it"
            )
        if trust is not Trust.NAMED and self.key in _NOT_FOUND_BY_CHANCE:
            why = _NOT_FOUND_BY_CHANCE[self.key]
            raise self.wrong(f"{why}: name the file with --config if you trust it")

    def path(self, action: argparse.Action, text: str) -> str:
        """The path that `text` stands for, seen from where the tool runs. Raises `DiagnosticError`."""
        name, equals, path = _path_in(str(action.metavar), text)
        found, trust = self.source.path.parent / path, self.source.trust
        try:
            self._check(found, trust, writes=action.dest in WRITTEN)
        except (OSError, ValueError, RuntimeError) as error:
            raise self.wrong(f"names {path!r}: {error}") from error
        return f"{name}{equals}{found}"

    def _check(self, path: Path, trust: Trust, *, writes: bool) -> None:
        if trust is Trust.NAMED or (trust is Trust.WORKING_DIRECTORY and not writes):
            return
        if not self.source.holds(path):
            raise self.wrong(
                f"names '{path}', outside of the folder of a file {trust.value}: say it on the command line, or name "
                "the file with --config"
            )
        if trust is Trust.BESIDE_MODEL and not path.is_file() and not path.is_dir():
            raise self.wrong(f"names '{path}', which is not a file and no folder")
        if writes and path.exists() and not path.is_dir() and not _is_ours(path):
            raise self.wrong(
                f"names '{path}', which is there and is not known to be of qmlir: say it on the command line, or "
                "remove it"
            )


def _is_ours(path: Path) -> bool:
    """Whether a file begins as those begin that commands write, and say so."""
    return path.is_file() and _WRITTEN_BY_US.match(read_regular(path, 512)) is not None


def configuration_source(arguments: argparse.Namespace) -> Source:
    """The file that holds the configuration, which may not be there."""
    if arguments.config is not None:
        return Source(Path(arguments.config), Trust.NAMED)
    own = Source(Path(FILE), Trust.WORKING_DIRECTORY)
    model = getattr(arguments, getattr(arguments, "model_argument", "model"), None)
    if os.path.lexists(own.path) or not isinstance(model, str) or model == "-":
        return own
    beside = Path(model).parent / FILE
    return own if beside.parent.resolve() == Path.cwd() else Source(beside, Trust.BESIDE_MODEL)


def _read(source: Source, commands: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
    """The tables of a file; none where the file is missing and was not named. Raises `DiagnosticError`."""
    path, is_named = source.path, source.trust is Trust.NAMED
    try:
        text = (path.read_bytes() if is_named else read_regular(path)).decode()
    except (FileNotFoundError, NotADirectoryError) as error:
        if is_named:
            raise text_error(f"cannot read '{path}': {error.strerror}") from error
        return {}
    except OSError as error:
        raise text_error(f"cannot read '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise text_error(f"'{path}' is not TOML: byte {error.start} is not UTF-8 text") from error
    content = parse_toml(text, f"'{path}'")
    known = [COMMON, *commands]
    for name, table in content.items():
        if name not in known:
            near = nearest_name(name, known)
            raise text_error(f"'{path}': unknown table '{name}'{near} (accepted: {_listed(known)})")
        if not isinstance(table, dict):
            raise text_error(f"'{path}': '{name}' is a table, [{name}], found {table!r}")
    return content


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _single(action: argparse.Action, value: Any, place: SettingPlace) -> Any:
    """One value as the command line would give it."""
    wanted: Any = action.type
    if wanted in (int, float):
        number = isinstance(value, int if wanted is int else int | float) and not isinstance(value, bool)
        if not number:
            raise place.wrong(f"is {'a whole number' if wanted is int else 'a number'}, found {value!r}")
        return wanted(value)
    if not isinstance(value, str):
        raise place.wrong(f"is a string, found {value!r}")
    if _CONTROL.search(value):
        raise place.wrong(f"is one line of text, found {value!r}")
    if action.metavar in PATHS and value:
        value = place.path(action, value)
    if wanted is not None:
        try:
            value = wanted(value)
        except (ValueError, TypeError, argparse.ArgumentTypeError) as error:
            raise place.wrong(f"cannot be {value!r}: {error}") from error
    if action.choices is not None and value not in action.choices:
        raise place.wrong(f"is one of {_listed(map(str, action.choices))}, found {value!r}")
    return value


def _takes_list(action: argparse.Action) -> bool:
    is_append = isinstance(action.default, list) or type(action).__name__ == "_AppendAction"
    return is_append or action.nargs in ("*", "+") or (isinstance(action.nargs, int) and action.nargs > 1)


def _value(action: argparse.Action, value: Any, place: SettingPlace) -> Any:
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        if not isinstance(value, bool):
            raise place.wrong(f"is true or false, found {value!r}")
        return value
    if not _takes_list(action):
        return _single(action, value, place)
    if not isinstance(value, list):
        raise place.wrong(f"is a list, found {value!r}")
    return [_single(action, each, place) for each in cast(list[Any], value)]


def _settings(
    tables: Mapping[str, Mapping[str, Any]], source: Source, command: str, parser: argparse.ArgumentParser
) -> dict[str, Any]:
    """What the file sets for a command, by the names of arguments. Raises `DiagnosticError`."""
    options = options_of(parser)
    found: dict[str, Any] = {}
    for table, accepted in ((COMMON, SHARED), (command, tuple(options))):
        for key, value in tables.get(table, {}).items():
            place = SettingPlace(source, table, key)
            place.check_key(accepted)
            if key in options:
                action = options[key]
                found[action.dest] = _value(action, value, place)
    return found


def _relax(parser: argparse.ArgumentParser, *, forget_defaults: bool) -> None:
    """Let the command line leave out what it must hold, and leave out what it does not hold."""
    for action in actions_of(parser):
        if action.option_strings:
            action.required = False
        if forget_defaults and action.dest != "help":
            action.default = argparse.SUPPRESS
    for group in _exclusive_groups(parser):
        group.required = False


def _apply(parser: argparse.ArgumentParser, settings: Mapping[str, Any], given: Iterable[str], path: Path) -> None:
    """Make `settings` the defaults of a parser, but for what the command line gives itself or excludes."""
    left = {name: value for name, value in settings.items() if name not in set(given)}
    for group in _exclusive_groups(parser):
        names = [action.dest for action in group._group_actions]
        if set(names) & set(given):
            left = {name: value for name, value in left.items() if name not in names}
        both = [name.replace("_", "-") for name in names if name in left]
        if len(both) > 1:
            raise text_error(f"'{path}': {' and '.join(both)} exclude each other")
        if both:
            group.required = False
    for action in actions_of(parser):
        if action.dest in left:
            action.required = False
            action.default = left[action.dest]


def configured(
    build: Callable[[], ArgumentParser],
    command: str,
    commands: Iterable[str],
    parse: Parse,
    tell: Callable[[str], object] = str,
) -> argparse.Namespace | int:
    """The arguments of a command, from the command line and from the configuration, or an exit code.

    `build` makes the parser of the command, `commands` are the names of all. `tell` is called with the file that gives
    options, unless they ask for quiet. Raises `DiagnosticError` where the configuration has unknown keys or values.
    """
    first = build()
    _relax(first, forget_defaults=True)
    found = parse(first)
    if isinstance(found, int):
        return found
    given = vars(found)
    parser = build()
    source = configuration_source(argparse.Namespace(**{"config": None, **given}))
    is_written = bool(given.get("write_config"))
    is_new = is_written and not source.path.exists()
    settings = {} if is_new else _settings(_read(source, commands), source, command, parser)
    _apply(parser, settings, given, source.path)
    if is_written:
        _relax(parser, forget_defaults=False)
    arguments = parse(parser)
    if settings and not isinstance(arguments, int) and not getattr(arguments, "quiet", False):
        where = "" if source.trust is Trust.NAMED else f", {source.trust.value}"
        tell(f"options of '{source.path}'{where}")
    return arguments


def _relative(action: argparse.Action, text: str, folder: Path) -> str:
    """A path as it has to be written into a file in `folder`; what is not a path stays as it is."""
    if action.metavar not in PATHS:
        return text
    name, equals, path = _path_in(action.metavar, text)
    return text if os.path.isabs(path) else f"{name}{equals}{os.path.relpath(path, folder)}"


def _lines(parser: argparse.ArgumentParser, arguments: argparse.Namespace, folder: Path) -> Iterator[str]:
    for key, action in options_of(parser).items():
        value = getattr(arguments, action.dest)
        told = " ".join(((action.help or "") % {**vars(action), "prog": parser.prog}).split())
        choices = f" ({', '.join(map(str, action.choices))})" if action.choices is not None else ""
        yield ""
        yield f"# {told}{choices}"
        if value in (None, "", []):
            empty = "[]" if _takes_list(action) else "0" if action.type in (int, float) else '""'
            yield f"# {key} = {empty}"
            continue
        if isinstance(value, str):
            value = _relative(action, value, folder)
        elif isinstance(value, list):
            value = [_relative(action, str(each), folder) for each in cast(list[Any], value)]
        yield f"{key} = {toml_value(value)}"


def write_configuration(parser: argparse.ArgumentParser, command: str, arguments: argparse.Namespace) -> Path:
    """Write what `arguments` say, complete and with comments, into the file that they name or the user's own; the path.

    Raises `UsageError` where the file exists: it is not replaced.
    """
    path = Path(FILE if arguments.config is None else arguments.config)
    if path.exists():
        raise UsageError(f"qmlir {command}: error: '{path}' exists: name another file with --config, or remove it\n")
    head = f"# What qmlir {version('qmlir')} reads in this folder; the command line goes before it."
    lines = [head, "", f"[{command}]"]
    lines += _lines(parser, arguments, path.parent)
    write_atomically(path, "\n".join(lines) + "\n")
    return path
