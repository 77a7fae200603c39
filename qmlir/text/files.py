"""File access of a run: caller-supplied paths, and a guard against overwriting inputs."""

import copyreg
import errno
import json
import mmap
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

from qmlir.ir.messages import DiagnosticError, nearest_name, text_error

# Paths from the caller, and files that a tool looks up itself, which may come from an untrusted source.
#
# Of the latter, only regular files are read, so that no read blocks on a pipe or device, and only names without a
# directory are accepted.

LONGEST_NAME = 230
"""The length limit of a file name that is derived from a model; file systems allow 255 bytes."""


_COMPARED = 1000
"""The maximum number of names in a folder that a misspelled name is compared with."""

_SHOWN = 60
"""The number of characters shown of a path that is too long."""


def path_of(given: Any) -> Path:
    """Returns the caller's path, which need not exist. Raises `DiagnosticError` if it cannot name a file.

    This is the case for a value that is not a path, an empty string, a string with a NUL, and a path that the system
    cannot look up: its name is too long (such as file content passed by mistake), symbolic links form a cycle, or a
    folder is not accessible.
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
    """Returns a path in quotes, truncated if it is long."""
    return f"'{text}'" if len(text) <= LONGEST_NAME else f"'{text[:_SHOWN]}…' of {len(text)} characters"


def read_regular(path: str | PathLike[str], limit: int = -1, *, follow: bool = True) -> bytes:
    """Reads a regular file, at most `limit` bytes unless `limit` is negative; follows symbolic links only if `follow`.

    Raises `OSError` for anything except a regular file.
    """
    how = getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | how)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        return file.read(limit)


def read_given(path: str | PathLike[str]) -> bytes:
    """Reads a file that a caller or a configuration names; it may be a pipe or a terminal.

    Raises `OSError` for other devices, such as `/dev/zero`, which may be endless.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        is_device = stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not file.isatty())
        if is_device and not os.path.samefile(path, os.devnull):
            raise OSError(errno.EINVAL, "it is a device", os.fspath(path))
        return file.read()


MAPPED = 1 << 20
"""The number of bytes from which on weights are mapped into memory instead of being read."""

_PAGES: weakref.WeakValueDictionary[tuple[int, ...], mmap.mmap] = weakref.WeakValueDictionary()
"""The mapped files in use, by device, inode, size and time: one descriptor for all weights of a file."""


def _copied(view: memoryview) -> Any:
    return bytes, (view.tobytes(),)


copyreg.pickle(memoryview, _copied)  # so that modules with mapped weights can be pickled and copied


def read_weights(path: str | PathLike[str], offset: int, count: int) -> bytes | memoryview:
    """Returns `count` bytes of a regular file: if they are many, as a view of the mapped file, which must not change.

    qmlir itself replaces files by renaming others, so that a mapped file keeps its content. Raises `OSError` for
    anything except a regular file, and for a file that ends earlier.
    """
    how = getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | how)) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        if offset + count > about.st_size:
            raise OSError(errno.EINVAL, f"it has only {about.st_size} bytes", os.fspath(path))
        if count < MAPPED:
            file.seek(offset)
            return file.read(count)
        key = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns
        pages = _PAGES.get(key)
        if pages is None:
            pages = _PAGES[key] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return memoryview(pages)[offset : offset + count]


def read_json(path: str | PathLike[str]) -> Any:
    """Reads a JSON file written by qmlir; returns `None` if it is missing, unreadable or invalid."""
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return None


def reason_of(error: OSError) -> str:
    """Returns a short reason why a file cannot be read or written, or why the first of several files cannot be copied.

    If the file is missing, the reason names a similar file in its folder, or the folder if that is missing.
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


def existing_path(given: str | PathLike[str]) -> Path:
    """Returns the path of a file or folder. Raises `DiagnosticError` if there is none."""
    path = path_of(given)
    if not path.exists():
        missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        raise text_error(f"cannot read '{given}': {reason_of(missing)}")
    return path


def is_file_name(name: str) -> bool:
    """Returns True if `name`, read from a file, can name another file in its folder: no directory, and not too long."""
    is_plain = not {"/", "\\", "\0"} & set(name)
    return is_plain and not name.startswith(".") and 0 < len(name.encode()) <= LONGEST_NAME


INTERRUPTED = b"qmlir was interrupted while it wrote this file: "
"""The beginning of a placeholder, which a file contains while it and the files that it refers to are replaced."""

_OTHERS = (
    (0, INTERRUPTED, "the note of a run that was interrupted while it wrote the file: run that command again"),
    (0, b"version https://git-lfs", "a pointer of Git LFS, in place of the file: 'git lfs pull' fetches it"),
    (0, b"<!DOCTYPE", "a page of HTML, perhaps the error of a download"),
    (0, b"<html", "a page of HTML, perhaps the error of a download"),
    (0, b"PK\x03\x04", "a zip archive, as torch saves models: torch.onnx.export(model, arguments, 'model.onnx')"),
    (0, b"\x89HDF", "a model of Keras in HDF5: tf2onnx makes an ONNX model of it"),
    (4, b"TFL3", "a LiteRT model: name it .tflite"),
)
"""File formats that users mistake for models: an offset, the bytes at this offset, and a description."""


def mistaken_for(content: bytes) -> str:
    """Describes a file that begins with `content` if its format is known but not supported; empty otherwise."""
    found = (what for first, start, what in _OTHERS if content[first : first + len(start)].lower() == start.lower())
    return next(found, "")


# The inputs and outputs of a run, which is one command or one call of the API: no output may be an input.
#
# Readers report each file that they open with `note_input`. Writers call `check_output` before the work starts and
# again before they write. Files are compared by device and inode, so both kinds of links are resolved.


@dataclass(eq=False)
class FileAccess:
    """The files that a run has read, and the files that it will write."""

    force: bool = False
    """Whether to overwrite existing files, except for inputs."""

    outer: "FileAccess | None" = None
    """The enclosing run; `None` for an outermost one."""

    inputs: dict[Path, None] = field(default_factory=dict[Path, None])
    """The resolved paths of input files."""

    folders: dict[Path, None] = field(default_factory=dict[Path, None])
    """The resolved paths of folders of samples; every file in them is an input."""

    outputs: list[Path] = field(default_factory=list[Path])
    """The paths that will be written at the end of the run."""

    def chain(self) -> Generator["FileAccess"]:
        """Yields this run and its enclosing runs."""
        each: FileAccess | None = self
        while each is not None:
            yield each
            each = each.outer


_CURRENT: ContextVar[FileAccess | None] = ContextVar("access", default=None)

_SOURCES: dict[int, FileAccess] = {}
"""The inputs that live objects were created from, by the `id` of the object."""


def _runs() -> Iterable[FileAccess]:
    current = _CURRENT.get()
    return () if current is None else current.chain()


@contextmanager
def access(*, force: bool = False) -> Generator[FileAccess]:
    """Opens a run: inside the `with` block, inputs are noted, and outputs are compared with them."""
    run = FileAccess(force, _CURRENT.get())
    token = _CURRENT.set(run)
    try:
        yield run
    finally:
        _CURRENT.reset(token)


def is_forced() -> bool:
    """Returns True if the caller allows existing files to be overwritten."""
    return any(run.force for run in _runs())


def _identity(path: str | PathLike[str]) -> tuple[int, int] | None:
    """Returns device and inode of a regular file after following links; `None` for anything else."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _real(path: str | PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def note_input(path: str | PathLike[str]) -> None:
    """Notes a file that the run reads. Raises `DiagnosticError` if the run will write it."""
    real = _real(path)
    for run in _runs():
        run.inputs[real] = None
        for output in run.outputs:
            _compare(output, [real])


def note_samples(folder: str | PathLike[str]) -> None:
    """Notes a folder of samples. Raises `DiagnosticError` if the run will write into it."""
    real = _real(folder)
    for run in _runs():
        run.folders[real] = None
        for output in run.outputs:
            _check_outside(output, [real])


def plan_output(path: str | PathLike[str]) -> None:
    """Notes a file or folder that the run will write.

    Raises `DiagnosticError` as `check_output` does, and if the run already has an output at this path.
    """
    check_output(path)
    current = _CURRENT.get()
    if current is not None:
        real = _real(path)
        for other in current.outputs:
            if _real(other) == real:
                raise text_error(f"cannot write '{path}': the run writes '{other}' there; name another path")
        current.outputs.append(Path(path))


def check_output(path: str | PathLike[str]) -> None:
    """Raises `DiagnosticError` if `path`, with links resolved, is an input of the run or is in a folder of samples."""
    runs = [*_runs()]
    _compare(path, {each: None for run in runs for each in run.inputs})
    _check_outside(path, {each: None for run in runs for each in run.folders})


def is_input(path: str | PathLike[str]) -> bool:
    """Returns True if `path` is an input of the run."""
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
    paths = (_real(text), _real(os.path.dirname(os.path.abspath(text))) / os.path.basename(text))
    for folder in folders:
        if any(path == folder or folder in path.parents for path in paths):
            raise text_error(f"cannot write '{output}': it is in the folder of samples '{folder}'; name another path")


def note_sources(value: Any) -> None:
    """Notes the inputs that `value` was created from as inputs of the run."""
    found = _SOURCES.get(id(value))
    if found is None:
        return
    for run in _runs():
        run.inputs.update(found.inputs)
        run.folders.update(found.folders)


def keep_sources(value: Any, run: FileAccess) -> None:
    """Records, for the lifetime of `value`, that it was created from the inputs of `run`."""
    if not run.inputs and not run.folders:
        return
    key = id(value)
    if not type(value).__weakrefoffset__:  # a dict or a tuple, which is never saved
        return
    if key not in _SOURCES:
        weakref.finalize(value, _SOURCES.pop, key, None).atexit = False
    _SOURCES[key] = FileAccess(inputs=run.inputs, folders=run.folders)
