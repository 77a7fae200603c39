"""The configuration file for `--config`: options of the subcommands, in TOML.

    [common]
    threads = 2

    [quantize]
    data = "samples.npz"
    weight-scheme = "symmetric"

A table has the name of a subcommand; its keys are the long names of options. The command line takes precedence over the
table of the command, which takes precedence over `[common]`, the options shared by several commands. Paths are relative
to the file that contains them.

Only the file named by `--config` is read; there are no default locations.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from qmlir.ir.messages import DiagnosticError, nearest_name, text_error, unknown
from qmlir.text.files import existing_path, note_input, note_samples, plan_output, read_given, reason_of
from qmlir.text.renames import renamed
from qmlir.text.toml import parse_toml, toml_value
from qmlir.text.writing import write_file
from qmlir.tools.stdio import ArgumentParser, UsageError

COMMON = "common"
SHARED = ("data", "isa", "json", "processes", "quiet", "shape", "threads", "verbose")
"""The keys that `[common]` may contain; each applies to all commands that have this option."""

DIR = "DIR"
PATHS = ("PATH", "FILE", DIR, "[NAME=]FILE")
"""The metavars of options that take a path."""

MODELS = ("MODEL", "REFERENCE", "CANDIDATE")
"""The metavars of models, which are paths, `-`, or `RUNTIME:PATH`."""

WRITTEN = ("output", "checkpoint", "resume")
"""The arguments whose values are paths of outputs."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_NOT_HERE = ("help", "config", "write_config", "load_plugin", "preprocess", "cluster", "passes", "limit", "force")
"""Options that only the command line may set: those that load code or trust the answers of other machines, passes,
which may name files to write, and those that lift a limit."""

Parse = Callable[[ArgumentParser], argparse.Namespace | int]
"""A function that parses the command line, and returns the arguments, or an exit code if there is nothing to run."""


def options_of(parser: ArgumentParser) -> dict[str, argparse.Action]:
    """Returns the options that a configuration file may set, by their long names."""
    found: dict[str, argparse.Action] = {}
    for action in parser.actions:
        long = [name for name in action.option_strings if name.startswith("--")]
        if long and action.dest not in _NOT_HERE:
            found[long[0].removeprefix("--")] = action
    return found


def _path_in(metavar: str, text: str) -> tuple[str, str, str]:
    """Splits `NAME=path` into `(name, "=", path)` if the metavar allows a name."""
    return text.rpartition("=") if metavar.startswith("[NAME=]") else ("", "", text)


@dataclass(frozen=True)
class SettingPlace:
    """The location of a setting in a configuration file, for messages and relative paths."""

    file: Path
    table: str
    key: str

    def wrong(self, message: str) -> DiagnosticError:
        """Returns an error about this setting."""
        return text_error(f"'{self.file}': {self.key} in [{self.table}] {message}")

    def check_key(self, accepted: Iterable[str]) -> None:
        """Raises `DiagnosticError` if the key of this setting is not in `accepted`."""
        if self.key not in accepted:
            now = renamed(self.key, set(accepted), self.table, lambda name: name.replace("_", "-"))
            near = f": {now}" if now else nearest_name(self.key, accepted)
            where = f"unknown key '{self.key}' in [{self.table}]{near}"
            raise text_error(f"'{self.file}': {where} (available: {', '.join(accepted)})")

    def path(self, action: argparse.Action, text: str) -> str:
        """Resolves the path `text` relative to the file that contains the setting. Raises `DiagnosticError`."""
        name, equals, path = _path_in(str(action.metavar), text)
        found = self.file.parent / path
        if found.is_fifo():  # opening it could block forever
            raise self.wrong(f"must name a file, but '{found}' is a pipe")
        return f"{name}{equals}{found}"


def _read(path: Path, commands: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
    """Returns the tables of the file. Raises `DiagnosticError`."""
    try:
        text = read_given(path).decode()
    except OSError as error:
        raise text_error(f"cannot read '{path}': {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise text_error(f"'{path}' is not TOML: byte {error.start} is not UTF-8 text") from error
    content = parse_toml(text, f"'{path}'")
    known = [COMMON, *commands]
    for name, table in content.items():
        if name not in known:
            raise text_error(f"'{path}': {unknown('table', name, known)}")
        if not isinstance(table, dict):
            raise text_error(f"'{path}': '{name}' must be a table [{name}], but got {table!r}")
    return content


def _single(action: argparse.Action, value: Any, position: SettingPlace) -> Any:
    """Converts one value as the command line would."""
    wanted: Any = action.type
    if wanted in (int, float):
        if not isinstance(value, int if wanted is int else int | float) or isinstance(value, bool):
            raise position.wrong(f"must be {'an integer' if wanted is int else 'a number'}, but got {value!r}")
        return wanted(value)
    if not isinstance(value, str):
        raise position.wrong(f"must be a string, but got {value!r}")
    if _CONTROL.search(value):
        raise position.wrong(f"must be a single line of text, but got {value!r}")
    if action.metavar in PATHS and value:
        value = position.path(action, value)
    if wanted is not None:
        try:
            value = wanted(value)
        except (ValueError, TypeError, argparse.ArgumentTypeError) as error:
            raise position.wrong(f"is invalid: {error}") from error
    if action.choices is not None and value not in action.choices:
        raise position.wrong(f"must be one of {', '.join(map(str, action.choices))}, but got {value!r}")
    return value


def _takes_list(action: argparse.Action) -> bool:
    is_append = isinstance(action.default, list) or type(action).__name__ == "_AppendAction"
    return is_append or action.nargs in ("*", "+") or (isinstance(action.nargs, int) and action.nargs > 1)


def _value(action: argparse.Action, value: Any, position: SettingPlace) -> Any:
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        if not isinstance(value, bool):
            raise position.wrong(f"must be true or false, but got {value!r}")
        return value
    if not _takes_list(action):
        return _single(action, value, position)
    if not isinstance(value, list):
        raise position.wrong(f"must be a list, but got {value!r}")
    return [_single(action, each, position) for each in cast(list[Any], value)]


def _settings(
    tables: Mapping[str, Mapping[str, Any]], path: Path, command: str, parser: ArgumentParser
) -> dict[str, Any]:
    """Returns the settings of the file for a command, by argument names. Raises `DiagnosticError`."""
    options = options_of(parser)
    found: dict[str, Any] = {}
    for table, accepted in ((COMMON, SHARED), (command, tuple(options))):
        for key, value in tables.get(table, {}).items():
            position = SettingPlace(path, table, key)
            position.check_key(accepted)
            if key in options:
                action = options[key]
                found[action.dest] = _value(action, value, position)
    return found


def _relax(parser: ArgumentParser, *, forget_defaults: bool) -> None:
    """Makes all options optional, and with `forget_defaults` omits options that are not given."""
    for action in parser.actions:
        if action.option_strings:
            action.required = False
        if forget_defaults and action.dest != "help":
            action.default = argparse.SUPPRESS
    for group, _ in parser.exclusive:
        group.required = False


def _apply(parser: ArgumentParser, settings: Mapping[str, Any], given: Iterable[str], path: Path) -> None:
    """Makes `settings` the defaults of a parser, except those that the command line sets or excludes."""
    left = {name: value for name, value in settings.items() if name not in set(given)}
    for group, actions in parser.exclusive:
        names = [action.dest for action in actions]
        if set(names) & set(given):
            left = {name: value for name, value in left.items() if name not in names}
        both = [name.replace("_", "-") for name in names if name in left]
        if len(both) > 1:
            raise text_error(f"'{path}': {' and '.join(both)} cannot be combined")
        if both:
            group.required = False
    for action in parser.actions:
        if action.dest in left:
            action.required = False
            action.default = left[action.dest]


def _check_output(settings: Mapping[str, Any], given: Mapping[str, Any], path: Path) -> None:
    """Raises `DiagnosticError` if the file at `path` names an output that would replace another file."""
    output = settings.get("output")
    if output is None or "output" in given or given.get("force") or not os.path.lexists(output):
        return
    if os.path.islink(output) or not os.path.isdir(output):
        raise text_error(
            f"'{path}' names the output '{output}', which exists; pass -o {output} or --force to replace it"
        )


def _named_paths(parser: ArgumentParser, arguments: argparse.Namespace) -> Iterator[tuple[argparse.Action, str]]:
    """Yields the paths that a command line names, and other words without an option, each with its argument."""
    for action in parser.actions:
        value: Any = getattr(arguments, action.dest, None)
        for text in cast(list[Any], value if isinstance(value, list) else [value]):
            if isinstance(text, str) and text and (not action.option_strings or action.metavar in PATHS):
                yield action, _path_in(str(action.metavar), text)[2]


def note_paths(parser: ArgumentParser, arguments: argparse.Namespace) -> None:
    """Records the files that a command line names, either as outputs or as inputs.

    Raises `DiagnosticError` if an output is also an input, or is in a folder of samples, and if a model is missing. So
    a wrong path is reported before the compiler is imported, which takes a while.
    """
    outputs: list[str] = []
    models: list[str] = []
    for action, path in _named_paths(parser, arguments):
        if action.dest in WRITTEN:
            outputs.append(path)
        elif action.metavar == "PATH" and os.path.isdir(path):
            note_samples(path)
        elif os.path.isfile(path):
            note_input(path)
        elif action.metavar in MODELS and path != "-" and ":" not in path:
            models.append(path)
    for path in outputs:
        plan_output(path)
    for path in models:
        existing_path(path)


def configured(
    build: Callable[[], ArgumentParser],
    command: str,
    commands: Iterable[str],
    parse: Parse,
    tell: Callable[[str], object] = str,
) -> argparse.Namespace | int:
    """Returns the arguments of a command from the command line and the configuration file, or an exit code.

    `build` creates the parser of the command, and `commands` are the names of all commands. `tell` is called with a
    line that names the file, unless the session is quiet. Raises `DiagnosticError` for unknown keys and values in the
    file, and `UsageError` for `--write-config` without `--config`.
    """
    first = build()
    _relax(first, forget_defaults=True)
    found = parse(first)
    if isinstance(found, int):
        return found
    given = vars(found)
    is_written = bool(given.get("write_config"))
    if given.get("config") is None:
        if is_written:
            raise UsageError(f"{first.prog}: error: --write-config requires --config FILE\n")
        return parse(build())
    path, parser = Path(given["config"]), build()
    is_new = is_written and not os.path.lexists(path)
    settings = {} if is_new else _settings(_read(path, commands), path, command, parser)
    _apply(parser, settings, given, path)
    if not is_written:
        _check_output(settings, given, path)
    else:
        _relax(parser, forget_defaults=False)
    arguments = parse(parser)
    if not is_written and not isinstance(arguments, int) and not getattr(arguments, "quiet", False):
        tell(f"using options from '{path}'")
    return arguments


def _relative(action: argparse.Action, text: str, folder: Path) -> str:
    """Returns a path as written into a file in `folder`; other values are unchanged."""
    if action.metavar not in PATHS:
        return text
    name, equals, path = _path_in(action.metavar, text)
    return text if os.path.isabs(path) else f"{name}{equals}{os.path.relpath(path, folder)}"


def _lines(parser: ArgumentParser, arguments: argparse.Namespace, folder: Path) -> Iterator[str]:
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


def write_configuration(parser: ArgumentParser, command: str, arguments: argparse.Namespace) -> Path:
    """Writes all options, with comments, to the file named by `--config`, and returns its path.

    Raises `UsageError` if the file exists.
    """
    path = Path(arguments.config)
    if os.path.lexists(path):
        raise UsageError(
            f"qmlir {command}: error: '{path}' already exists; name another file with --config, or remove it\n"
        )
    head = f"# Options that qmlir {version('qmlir')} reads with --config; the command line takes precedence."
    lines = [head, "", f"[{command}]"]
    lines += _lines(parser, arguments, path.parent)
    write_file(path, "\n".join(lines) + "\n")
    return path
