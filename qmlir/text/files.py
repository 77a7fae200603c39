"""Files that a run reads and writes: paths that the caller gave, and which of them may not be the same."""

import errno
import json
import os
import shutil
import stat
import weakref
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, cast

from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error

# Paths that a caller gave, and files that a tool looks for by itself, which may come from an untrusted source.
#
# Of the latter only regular files are read, so that no read waits for a pipe or a device, and only names without a
# path are accepted.

LONGEST_NAME = 230
"""Characters of the name of a file that is named by something in a model: file systems take 255 bytes."""


_COMPARED = 1000
"""Names in a folder that a misspelled one is compared with."""

_SHOWN = 60
"""Characters of a path that are shown where it is too long to be one."""


def path_of(given: Any) -> Path:
    """The path that a caller gave, there or not. Raises `DiagnosticError` for what cannot name a file.

    That is what is no path at all, an empty text, one with a NUL, and what the system refuses to look for: a name that
    is too long, such as a text in place of its path, a circle of links, or a folder that may not be entered.
    """
    try:
        text = cast(object, os.fspath(given))
    except TypeError as error:
        raise text_error(f"a path must be a str or an os.PathLike, but got {type(given).__name__}") from error
    if not isinstance(text, str):
        raise text_error(f"a path must be a str or an os.PathLike, but got an os.PathLike of {type(text).__name__}")
    if not text:
        raise text_error("a path must not be empty")
    if "\0" in text:
        raise text_error(f"invalid path {shown_path(text)}: it contains a NUL character")
    try:
        os.stat(text)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise text_error(f"cannot use {shown_path(text)}: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise text_error(f"invalid path {shown_path(text)}: the file system cannot encode it") from error
    return Path(text)


def shown_path(text: str) -> str:
    """A path in quotes, of a long one its beginning."""
    return f"'{text}'" if len(text) <= LONGEST_NAME else f"'{text[:_SHOWN]}…' of {len(text)} characters"


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _unlinked(path: str, flags: int) -> int:
    return _at_once(path, flags | getattr(os, "O_NOFOLLOW", 0))


def read_regular(path: str | PathLike[str], limit: int = -1, *, follow: bool = True) -> bytes:
    """The bytes of a regular file, at most `limit` if that is not negative; of a link only if `follow` is set.

    Raises `OSError` for anything else.
    """
    with open(path, "rb", opener=_at_once if follow else _unlinked) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        return file.read(limit)


def read_given(path: str | PathLike[str]) -> bytes:
    """The bytes of a file that a caller or a configuration names, which may be a pipe or a terminal.

    Raises `OSError` for other devices, such as `/dev/zero`: they may have no end.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        is_device = stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not file.isatty())
        if is_device and not os.path.samefile(path, os.devnull):
            raise OSError(errno.EINVAL, "it is a device", os.fspath(path))
        return file.read()


def read_json(path: str | PathLike[str]) -> Any:
    """What a JSON file of ours holds; `None` where it is not there, cannot be read or is none."""
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return None


def reason_of(error: OSError) -> str:
    """Why a file cannot be read or written, in a few words; of many that were copied, why the first one could not.

    Of a missing file it names a similar one in the same folder, or the folder if that is missing, too.
    """
    if isinstance(error, shutil.Error):
        failed: list[tuple[str, str, str]] = error.args[0]
        return failed[0][2]
    reason = error.strerror or str(error)
    missing = cast("str | PathLike[str] | None", error.filename)
    if not isinstance(error, FileNotFoundError) or missing is None:
        return reason
    path = Path(missing)
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _COMPARED)]
    except OSError:
        return f"{reason}; folder '{path.parent}' does not exist"
    return reason + nearest_name(path.name, names)


def missing_file(path: Path) -> FileNotFoundError:
    """The error about a file that is not there, as the system would raise it."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def is_file_name(name: str) -> bool:
    """Whether a name out of a file may name another one beside it: it has no path in it, and is not too long."""
    is_plain = not {"/", "\\", "\0"} & set(name)
    return is_plain and not name.startswith(".") and 0 < len(name.encode()) <= LONGEST_NAME


INTERRUPTED = b"qmlir was interrupted while it wrote this file: "
"""The beginning of the note that stands in the place of a file while it and the files that it names are replaced."""

_OTHERS = (
    (0, INTERRUPTED, "the note of a run that was interrupted while it wrote the file: run that command again"),
    (0, b"version https://git-lfs", "a pointer of Git LFS, in place of the file: 'git lfs pull' fetches it"),
    (0, b"<!DOCTYPE", "a page of HTML, perhaps the error of a download"),
    (0, b"<html", "a page of HTML, perhaps the error of a download"),
    (0, b"PK\x03\x04", "a zip archive, as torch saves models: torch.onnx.export(model, arguments, 'model.onnx')"),
    (0, b"\x89HDF", "a model of Keras in HDF5: tf2onnx makes an ONNX model of it"),
    (4, b"TFL3", "a model of TFLite: tf2onnx makes an ONNX model of it"),
)
"""How files begin, from a byte on, that people take for something else, and what they are."""


def mistaken_for(content: bytes) -> str:
    """What a file is that begins with `content`, where it is known and nothing that we read; empty otherwise."""
    found = (what for first, start, what in _OTHERS if content[first : first + len(start)].lower() == start.lower())
    return next(found, "")


# The inputs and outputs of a run, which is one command or one call of the API: no output may be an input.
#
# Readers report each file that they open with `note_input`. Writers call `check_output` before the work starts and
# again before they write. Files are compared by device and inode, so links of both kinds lead to the same file.


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
