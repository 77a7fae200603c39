"""The inputs and outputs of a run, which is one command or one call of the API: no output may be an input.

Readers report each file that they open with `note_input`. Writers call `check_output` before the work starts and again
before they write. Files are compared by device and inode, so links of both kinds lead to the same file.
"""

import os
import stat
import weakref
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from qmlir.ir.diagnostics import DiagnosticError, text_error


@dataclass(eq=False)
class FileAccess:
    """The files that a run has read, and those that it is going to write."""

    force: bool = False
    """Replace files that are in the way, unless they are inputs."""

    outer: "FileAccess | None" = None
    """The run that this one is a part of."""

    inputs: dict[Path, None] = field(default_factory=dict[Path, None])
    """Real paths of files."""

    folders: dict[Path, None] = field(default_factory=dict[Path, None])
    """Real paths of folders of samples: every file in them is an input."""

    outputs: list[Path] = field(default_factory=list[Path])
    """Paths that are written when the work is done."""

    def chain(self) -> Generator["FileAccess"]:
        """This run and those that it is a part of."""
        each: FileAccess | None = self
        while each is not None:
            yield each
            each = each.outer


_CURRENT: ContextVar[FileAccess | None] = ContextVar("access", default=None)

_SOURCES: dict[int, FileAccess] = {}
"""By the `id` of an object that is alive, the inputs that it was made of."""


def _runs() -> Iterable[FileAccess]:
    current = _CURRENT.get()
    return () if current is None else current.chain()


@contextmanager
def access(*, force: bool = False) -> Generator[FileAccess]:
    """A run: inside the `with` block the inputs that are read are noted, and outputs are compared with them."""
    run = FileAccess(force, _CURRENT.get())
    token = _CURRENT.set(run)
    try:
        yield run
    finally:
        _CURRENT.reset(token)


def is_forced() -> bool:
    """Return True if the caller allows to replace files that are in the way."""
    return any(run.force for run in _runs())


def _identity(path: str | PathLike[str]) -> tuple[int, int] | None:
    """Device and inode of a regular file, links followed."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _real(path: str | PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def note_input(path: str | PathLike[str]) -> None:
    """Note a file that the run reads. Raises `DiagnosticError` if the run is going to write it."""
    real = _real(path)
    for run in _runs():
        run.inputs[real] = None
        for output in run.outputs:
            _compare(output, [real])


def note_samples(folder: str | PathLike[str]) -> None:
    """Note a folder of samples. Raises `DiagnosticError` if the run is going to write into it."""
    real = _real(folder)
    for run in _runs():
        run.folders[real] = None
        for output in run.outputs:
            _check_outside(output, [real])


def plan_output(path: str | PathLike[str]) -> None:
    """Note a file or a folder that the run is going to write. Raises `DiagnosticError` as `check_output` does, and if
    the run already has an output there."""
    check_output(path)
    current = _CURRENT.get()
    if current is not None:
        real = _real(path)
        for other in current.outputs:
            if _real(other) == real:
                raise text_error(f"cannot write '{path}': the run writes '{other}' there; name another path")
        current.outputs.append(Path(path))


def check_output(path: str | PathLike[str]) -> None:
    """Raise `DiagnosticError` if `path` is an input of the run, by whatever link, or lies in a folder of samples."""
    runs = [*_runs()]
    _compare(path, {each: None for run in runs for each in run.inputs})
    _check_outside(path, {each: None for run in runs for each in run.folders})


def is_input(path: str | PathLike[str]) -> bool:
    """Return True if `path` is an input of the run."""
    try:
        check_output(path)
    except DiagnosticError:
        return True
    return False


def _compare(output: str | PathLike[str], inputs: Iterable[Path]) -> None:
    identity = _identity(output)
    if identity is None:
        return
    for each in inputs:
        if identity == _identity(each):
            raise text_error(f"cannot write '{output}': it is an input of this run ('{each}'); name another path")


def _check_outside(output: str | PathLike[str], folders: Iterable[Path]) -> None:
    text = os.fspath(output)
    places = (_real(text), _real(os.path.dirname(os.path.abspath(text))) / os.path.basename(text))
    for folder in folders:
        if any(place == folder or folder in place.parents for place in places):
            raise text_error(f"cannot write '{output}': it is in the folder of samples '{folder}'; name another path")


def note_sources(value: Any) -> None:
    """Note the inputs that `value` was made of as inputs of the run."""
    found = _SOURCES.get(id(value))
    if found is None:
        return
    for run in _runs():
        run.inputs.update(found.inputs)
        run.folders.update(found.folders)


def keep_sources(value: Any, run: FileAccess) -> None:
    """Remember as long as `value` lives that it was made of the inputs of `run`."""
    if not run.inputs and not run.folders:
        return
    key = id(value)
    if not type(value).__weakrefoffset__:  # a dict or a tuple, which nothing saves
        return
    if key not in _SOURCES:
        weakref.finalize(value, _SOURCES.pop, key, None).atexit = False
    _SOURCES[key] = FileAccess(inputs=run.inputs, folders=run.folders)
