"""Paths that a caller gave, and files that a tool looks for by itself, which may come from an untrusted source.

Of the latter only regular files are read, so that no read waits for a pipe or a device, and only names without a path
are accepted.
"""

import errno
import json
import os
import shutil
import stat
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, cast

from qmlir.ir.diagnostics import nearest_name, text_error

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
