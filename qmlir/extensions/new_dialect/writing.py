"""Writes the package of a new dialect from templates. It is separate from the arguments, so that their help is fast."""

import argparse
import keyword
import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from jinja2 import Environment, StrictUndefined

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import text_error
from qmlir.registry import INTERFACE
from qmlir.text.writing import folder_result
from qmlir.tools.command_runner import Session

SUFFIX = ".j2"
"""The suffix of every template."""


def _files(folder: Traversable, above: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            if each.name != "__pycache__":
                yield from _files(each, above / each.name)
        else:
            yield above / each.name, each


def check_name(name: str) -> None:
    """Raises `DiagnosticError` if a new dialect cannot have this name."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise text_error(f"invalid dialect name '{name}': expected lower-case letters, digits and '_'")
    if name in default_environment().dialects:
        raise text_error(f"dialect '{name}' already exists")


def laid_out(name: str) -> dict[str, str]:
    """Returns the files of a package for the dialect `name`, from path to text. Raises `DiagnosticError`."""
    check_name(name)
    values = {
        "name": name,
        "Name": "".join(part.capitalize() for part in name.split("_")),
        "package": f"qmlir_{name}",
        "distribution": f"qmlir-{name.replace('_', '-')}",
        "pass_prefix": name.replace("_", "-"),
        "interface": INTERFACE,
    }
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    source = files("qmlir.extensions.new_dialect").joinpath("templates/dialect")
    return {
        environment.from_string(str(path).removesuffix(SUFFIX)).render(values): environment.from_string(
            template.read_text(encoding="utf-8")
        ).render(values)
        for path, template in _files(source, PurePosixPath())
    }


def write_package(name: str, folder: Path) -> list[str]:
    """Writes the package of a new dialect into `folder`, which must be empty or missing.

    Returns the paths of its files.

    Raises `DiagnosticError` if the name is taken or the folder cannot be written; then nothing is written.
    """
    package = laid_out(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise text_error(f"'{folder}' already exists")
    with folder_result(folder) as made:
        for path, text in package.items():
            target = made / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    return list(package)


def run_new_dialect(arguments: argparse.Namespace, session: Session) -> int:
    """Writes the package, and prints the next steps."""
    folder = Path(arguments.output or f"qmlir-{arguments.name.replace('_', '-')}")
    written = write_package(arguments.name, folder)
    session.emit(
        {"folder": str(folder), "files": written},
        lambda: f"{folder}: {len(written)} files. Next: cd {folder} && pip install -e '.[dev]' && pytest",
    )
    return 0
