"""The disk cache of compiled programs: one folder an entry, complete or absent, its owner's alone, bounded in size.

It holds code. So an entry runs only where its folder belongs to the user, no other user may write it, and its manifest
says that it was built for this key and has the digest of every file; anything else is built anew. A cache in a place
that is not a folder, or that others may write, is not used: entries then last as long as the process. Entries are built
aside and moved into place in one step, so that several processes may build the same one, and what a process left that
was killed is removed after a day. Folder: `QMLIR_CACHE_DIR`, or `qmlir` in the user's cache folder; size:
`QMLIR_CACHE_SIZE` in MiB, 2048 where nothing is said.
"""

import atexit
import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from qmlir.ir.diagnostics import text_error
from qmlir.targets.cpu.variables import number_in
from qmlir.text.files import read_regular

MANIFEST = "manifest.json"
DIRECTORY_VARIABLE = "QMLIR_CACHE_DIR"
SIZE_VARIABLE = "QMLIR_CACHE_SIZE"
DEFAULT_MEBIBYTES = 2048
TUNED = "tuned"
"""The folder in the cache's own that holds tuned schedules, and no program: it is small, and stays."""

_BUILDING = "building-"
_LEFT_BEHIND = 24 * 60 * 60.0
"""Seconds after which a folder that is being built counts as abandoned."""


def cache_directory() -> Path:
    """Where entries are kept."""
    given = os.environ.get(DIRECTORY_VARIABLE)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "qmlir"


def size_limit() -> int:
    """The bytes that entries may take together. Raises `DiagnosticError` where the variable is not a number."""
    given = number_in(SIZE_VARIABLE, "MiB", DEFAULT_MEBIBYTES)
    return (DEFAULT_MEBIBYTES if given is None else given) << 20


def size_used() -> int:
    """The bytes that lie in the cache. Raises `OSError` where it cannot be read, `RuntimeError` without a home."""
    directory = cache_directory()
    return sum(path.stat().st_size for path in _files(directory)) if directory.is_dir() else 0


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST)


def is_private(path: Path) -> bool:
    """Whether `path` is the user's own, no link, and not readable or writable by others. Raises `OSError`."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def write_manifest(folder: Path, key: str) -> None:
    """Write down the key of an entry, and the digest of every file."""
    digests = {path.relative_to(folder).as_posix(): digest_of(path) for path in _files(folder)}
    (folder / MANIFEST).write_text(json.dumps({"key": key, "files": digests}, indent=1), encoding="utf-8")


def is_intact(folder: Path) -> bool:
    """Whether every file of an entry is there, is what was built for its key, and belongs to the user."""
    try:
        if not is_private(folder) or not folder.is_dir():
            return False
        manifest = json.loads(read_regular(folder / MANIFEST))
        digests, found = manifest["files"], {path.relative_to(folder).as_posix(): path for path in _files(folder)}
        if manifest["key"] != folder.name or digests.keys() != found.keys():
            return False
        return all(digest_of(found[name]) == digests[name] for name in digests)
    except (OSError, ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return False  # missing, unreadable or no manifest at all


@dataclass(frozen=True)
class Entry:
    """A folder with a compiled program, and whether it was built just now."""

    folder: Path
    is_new: bool
    is_kept: bool = True
    """Whether it lies in the cache; otherwise it lasts as long as the process."""


def _remove(folder: Path) -> None:
    """Remove what lies there as far as that can be done; of a link, the link."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
    else:
        with suppress(OSError):
            folder.unlink()


@cache
def _bytes_of(folder: Path, _inode: int) -> int:
    """The bytes of an entry, which never change: who makes many programs counts those of each one once."""
    return sum(path.stat().st_size for path in _files(folder))


def _trim(directory: Path, kept: Path, limit: int) -> None:
    """Remove the entries that were used longest ago until the rest has at most `limit` bytes; `kept` stays."""
    entries: list[tuple[float, int, Path]] = []
    for folder in (each for each in directory.iterdir() if each.name != TUNED):
        with suppress(FileNotFoundError):  # another process removes, too
            found = folder.stat()
            if not folder.name.startswith(_BUILDING):
                entries.append((found.st_mtime, _bytes_of(folder, found.st_ino), folder))
            elif found.st_mtime < time.time() - _LEFT_BEHIND:
                _remove(folder)
    total = sum(size for _, size, _ in entries)
    for _, size, folder in sorted(entries):
        if total <= limit:
            return
        if folder != kept:
            _remove(folder)
            total -= size


@contextmanager
def _building(directory: Path) -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=directory))  # mode 0700
    try:
        yield folder
    finally:
        _remove(folder)


def _check_directory(directory: Path) -> None:
    """Make the cache's folder where it is missing. Raises `OSError` where it can't be, or is not the user's alone.

    Who may write into it could exchange an entry between the check of it and its run.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.stat()
    if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
        raise PermissionError(errno.EPERM, "it belongs to another user, or others may write into it")


def _clear(target: Path) -> None:
    """Take away what stands in the place of an entry and is none. Raises `OSError` where that fails."""
    if os.path.lexists(target) and not is_intact(target):
        _remove(target)
        if os.path.lexists(target) and not is_intact(target):
            raise PermissionError(errno.EPERM, f"what lies there as {target.name} cannot be removed")


def _built_in(directory: Path, key: str, build: Callable[[Path], None], limit: int) -> Entry:
    target = directory / key
    with _building(directory) as folder:
        build(folder)
        write_manifest(folder, key)
        _clear(target)  # another process may have been here
        try:
            folder.rename(target)
        except OSError:
            if not is_intact(target):  # another process was faster, or nothing can be moved
                raise
    _trim(directory, target, limit)
    return Entry(target, is_new=True)


def _built_aside(build: Callable[[Path], None]) -> Entry:
    """An entry that is removed when the process ends."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="qmlir-"))
        atexit.register(_remove, folder)
        build(folder)
    except OSError as error:
        raise text_error(f"no folder can be written for the compiled program: {error}") from error
    return Entry(folder, is_new=True, is_kept=False)


def entry(key: str, build: Callable[[Path], None], on_trouble: Callable[[str], None]) -> Entry:
    """The entry of `key`, built by `build(folder)` where it is missing, damaged or not the user's own.

    Where the cache cannot be written, `on_trouble` gets the reason, and the entry lasts as long as the process. Raises
    `DiagnosticError` where nothing can be written anywhere, and for a size of the cache that is not a number.
    """
    limit = size_limit()  # before anything is built
    try:
        directory = cache_directory()
    except RuntimeError as error:  # the user has no home
        on_trouble(f"there is no folder for the cache: {error}; set {DIRECTORY_VARIABLE}")
        return _built_aside(build)
    target = directory / key
    try:
        _check_directory(directory)
        if is_intact(target):
            with suppress(OSError):  # a cache may be read-only: then it is not trimmed, either
                os.utime(target)
            return Entry(target, is_new=False)
        _clear(target)  # before anything is built
        return _built_in(directory, key, build, limit)
    except OSError as error:
        on_trouble(f"the cache {directory} cannot be written: {error.strerror}; the program is kept for this process")
    return _built_aside(build)
