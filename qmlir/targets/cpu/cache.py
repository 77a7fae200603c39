"""The disk cache of compiled programs: keys, and private, atomic entries of bounded total size.

A program depends on the tuned schedules of this machine, which are found here without importing the search.
"""

import ast
import atexit
import errno
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

import llvmlite
import numpy as np

from qmlir import registry
from qmlir.ir.messages import DiagnosticError, text_error
from qmlir.targets.cpu.runtime.machine_code import host_features, processor_name
from qmlir.text.data import read_data
from qmlir.text.files import is_file_name

# A malformed number in an environment variable is an error, and is never ignored.


def number_in(variable: str, of: str, example: int) -> int | None:
    """Returns the number in environment variable `variable`; `None` if it is unset. `of` names the unit for messages.

    Raises `DiagnosticError` if it is not a non-negative integer.
    """
    text = os.environ.get(variable, "").strip()
    if text and not text.isdecimal():
        raise text_error(f"{variable} must be a number of {of} (example: {example}), but got '{text}'")
    return int(text) if text else None


@dataclass(frozen=True)
class Tuned:
    """The path of a file of tuned schedules, and a digest of these schedules; both are empty if there is no file."""

    path: str = ""
    digest: str = ""


UNTUNED = Tuned()
"""No tuned schedules: programs are compiled with the tables of the instruction sets alone."""


def tuned_schedules(isa: str, threads: int, on_trouble: Callable[[str], None]) -> Tuned:
    """Returns the schedules that a search found on this machine; the service `tuned_schedules` provides them.

    Args:
        isa: The instruction set.
        threads: The number of threads.
        on_trouble: Called with the reason if any schedules are left out.
    """
    found: Callable[..., Tuned] | None = registry.service("tuned_schedules")
    return UNTUNED if found is None else found(isa, threads, on_trouble)


# The key of a cache entry covers everything that determines the code: the module, the source of the compiler and of
# the packages involved, the CPU, and versions of dependencies.


def saved_key(card: str, source: str) -> str:
    """Returns the cache key of the machine code that numba generates on this machine for a saved program.

    `card` is the digest of the program's card. `source` is the source of its kernels, which may call functions of
    installed packages.
    """
    imports = (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom) and not node.level)
    return digest({"saved": card, "code": registry.sources_digest(map(_package, imports)), **surroundings()})


def _package(node: ast.ImportFrom) -> str:
    return (node.module or "").partition(".")[0]


def surroundings() -> dict[str, Any]:
    """Returns the properties of the machine and of dependencies that the code of every program depends on."""
    return {
        "processor": [processor_name(), sorted(host_features())],
        "versions": [platform.python_version(), version("numba"), llvmlite.__version__, np.__version__],
    }


def digest(parts: Mapping[str, Any]) -> str:
    """Returns a cache key: the digest of JSON values."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


# The disk cache: one folder per entry, complete or absent, private to its owner, bounded in total size.
#
# Entries are executed. So an entry is only loaded if its folder belongs to the user and is not writable by others, and
# if its manifest has its key and the digest of every file; any other entry is rebuilt. The cache folder may contain
# other files, which are never touched: an entry is a folder owned by the user whose manifest has the folder's name as
# its key, and only files listed in the manifest are removed. If the cache is a link, not a folder, or writable by
# others, it is not used, and entries last as long as the process. An entry is built in a temporary folder and renamed,
# so that several processes may build the same one. Temporary folders of killed processes are removed after a day. The
# folder is `QMLIR_CACHE_DIR`, or `qmlir` in the user's cache folder; the size limit is `QMLIR_CACHE_SIZE` in MiB, by
# default 2048.

MANIFEST = "manifest.json"
DIRECTORY_VARIABLE = "QMLIR_CACHE_DIR"
SIZE_VARIABLE = "QMLIR_CACHE_SIZE"
DEFAULT_MEBIBYTES = 2048
TUNED = "tuned"
"""The subfolder of the cache with tuned schedules; it is small, and is never trimmed."""

_BUILDING = re.compile(r"building-\w+")
_BUILT, _MARK = "entry", "building.json"
"""The names of the entry in a temporary folder, and of the file that marks the folder as created by qmlir."""

_LEFT_BEHIND = 24 * 60 * 60.0
"""The age in seconds at which a temporary folder counts as abandoned."""

_MOST_PLACES = 8
"""The number of names (`KEY`, `KEY-1`, …) that are tried for an entry if other files occupy the first ones."""


def cache_directory() -> Path:
    """Returns the cache folder."""
    given = os.environ.get(DIRECTORY_VARIABLE)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "qmlir"


def size_limit() -> int:
    """Returns the maximum total size of entries, in bytes. Raises `DiagnosticError` if the variable is not a number."""
    given = number_in(SIZE_VARIABLE, "MiB", DEFAULT_MEBIBYTES)
    return (DEFAULT_MEBIBYTES if given is None else given) << 20


def size_used() -> int:
    """Returns the total size of all entries in bytes. Raises `OSError`, or `RuntimeError` for a user without a home."""
    directory = cache_directory()
    return sum(each.size for each in _entries(directory)) if directory.is_dir() else 0


def digest_of(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> dict[str, Path]:
    """Returns the regular files of a folder by their manifest names; links are not followed or listed."""
    found: dict[str, Path] = {}
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if stat.S_ISREG(path.lstat().st_mode) and path != folder / MANIFEST:
                found[path.relative_to(folder).as_posix()] = path
    return found


def _is_own(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def is_private(path: Path) -> bool:
    """Returns true if `path` belongs to the user, is not a link, and is inaccessible to others. Raises `OSError`."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (_is_own(found) and not found.st_mode & 0o077)


def write_manifest(folder: Path, key: str) -> None:
    """Writes the manifest of an entry: its key, and the digest of every file."""
    digests = {name: digest_of(path) for name, path in sorted(_files(folder).items())}
    (folder / MANIFEST).write_text(json.dumps({"key": key, "files": digests}, indent=1), encoding="utf-8")


def _listed(folder: Path) -> dict[str, str] | None:
    """Returns the digests in an entry's manifest, by file; `None` if `folder` is not an entry owned by the user.

    The name of the folder must match the key in the manifest, and the files must be inside the folder.
    """
    try:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or not _is_own(found):
            return None
        manifest = read_data(folder / MANIFEST)
        key, digests = manifest["key"].text(), {name: each.text() for name, each in manifest["files"].entries().items()}
    except (OSError, DiagnosticError):
        return None
    is_inside = all(is_file_name(part) for name in digests for part in name.split("/"))
    return digests if is_inside and folder.name in _names(key) else None


def _names(key: str) -> list[str]:
    return [key, *(f"{key}-{number}" for number in range(1, _MOST_PLACES))]


def is_intact(folder: Path) -> bool:
    """Returns true if an entry is private and contains exactly the files of its manifest, unmodified."""
    try:
        digests = _listed(folder) if is_private(folder) else None
        if digests is None:
            return False
        found = _files(folder)
        return digests.keys() == found.keys() and all(digest_of(found[name]) == digests[name] for name in digests)
    except OSError:
        return False


@dataclass(frozen=True)
class Entry:
    """A folder with a compiled program, and whether the current call built it."""

    folder: Path
    is_new: bool
    is_kept: bool = True
    """True if it is in the cache; otherwise it lasts as long as the process."""


def _remove_tree(folder: Path) -> None:
    """Removes a folder that this process created; ignores errors."""
    shutil.rmtree(folder, ignore_errors=True)


def _remove_entry(folder: Path) -> None:
    """Removes the files listed in an entry's manifest, and folders left empty; other files stay."""
    names = _listed(folder)
    if names is not None:
        _remove_files(folder, [*names, MANIFEST])
        _bytes_of.cache_clear()  # other files may keep the folder, which then is no entry


def _remove_files(folder: Path, names: Iterable[str]) -> None:
    parents = {folder}
    for name in names:
        inner = [folder.joinpath(*parent.parts) for parent in PurePosixPath(name).parents]
        if any(parent.is_symlink() for parent in inner):
            continue
        parents.update(inner)
        with suppress(OSError):
            (folder / name).unlink()
    for parent in sorted(parents, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):
            parent.rmdir()


@cache
def _bytes_of(folder: Path, _inode: int) -> int | None:
    """Returns the size of an entry in bytes; `None` if it is not one. Entries never change, so the size is cached."""
    digests = _listed(folder)
    return None if digests is None else sum(path.lstat().st_size for path in _files(folder).values())


@dataclass(frozen=True, order=True)
class _Kept:
    """An entry in the cache: time of last use, size in bytes, folder."""

    used: float
    size: int
    folder: Path


def _entries(directory: Path) -> list[_Kept]:
    found: list[_Kept] = []
    for folder in directory.iterdir():
        with suppress(FileNotFoundError):  # another process removes, too
            about = folder.lstat()
            size = _bytes_of(folder, about.st_ino) if stat.S_ISDIR(about.st_mode) else None
            if size is not None:
                found.append(_Kept(about.st_mtime, size, folder))
    return found


def _trim(directory: Path, kept: Sequence[Path], limit: int) -> None:
    """Removes the least recently used entries until at most `limit` bytes remain; keeps `kept`."""
    for folder in directory.glob("building-*"):
        with suppress(FileNotFoundError):
            if folder.lstat().st_mtime < time.time() - _LEFT_BEHIND:
                _remove_abandoned(folder)
    entries = sorted(_entries(directory))
    total = sum(each.size for each in entries)
    for each in entries:
        if total <= limit:
            return
        if each.folder not in kept:
            _remove_entry(each.folder)
            total -= each.size


def _remove_abandoned(folder: Path) -> None:
    """Removes an abandoned temporary folder if it is private and has the mark."""
    if _BUILDING.fullmatch(folder.name) and is_private(folder) and stat.S_ISREG((folder / _MARK).lstat().st_mode):
        if not (folder / _BUILT).is_symlink():
            _remove_tree(folder / _BUILT)
        _remove_files(folder, [_MARK])


@contextmanager
def _building(directory: Path) -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="building-", dir=directory))  # mode 0700
    try:
        (folder / _MARK).write_text("{}\n", encoding="utf-8")
        (folder / _BUILT).mkdir(mode=0o700)
        yield folder / _BUILT
    finally:
        _remove_tree(folder)


def check_directory(directory: Path) -> None:
    """Creates the cache folder if it is missing. Raises `OSError` if that fails or if the folder is not private.

    A user who can write to it could replace an entry between check and execution. A link could lead to a folder that
    another user has chosen.
    """
    with suppress(FileNotFoundError):
        if stat.S_ISLNK(directory.lstat().st_mode):
            raise PermissionError(errno.EPERM, "it is a link")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if hasattr(os, "geteuid") and (not _is_own(found) or found.st_mode & 0o022):
        raise PermissionError(errno.EPERM, "it belongs to another user or is writable by others")


def _free_place(directory: Path, key: str) -> Path:
    """Returns a free path for a new entry; removes damaged entries. Raises `OSError` if all names are taken."""
    for name in _names(key):
        path = directory / name
        if not is_intact(path):  # another process may have built it
            _remove_entry(path)
        if not os.path.lexists(path):
            return path
    raise FileExistsError(errno.EEXIST, f"files {key} to {key}-{_MOST_PLACES - 1} already exist with other contents")


def _intact(directory: Path, key: str) -> Path | None:
    return next((directory / name for name in _names(key) if is_intact(directory / name)), None)


def _built_in(directory: Path, key: str, build: Callable[[Path], None], limit: int, needs: Sequence[Path]) -> Entry:
    with _building(directory) as folder:
        build(folder)
        write_manifest(folder, key)
        target = _intact(directory, key)  # another process may have built it
        if target is None:
            target = _free_place(directory, key)
            try:
                folder.rename(target)
            except OSError:
                if not is_intact(target):  # neither built by another process nor movable
                    raise
    _trim(directory, [target, *needs], limit)
    return Entry(target, is_new=True)


def _built_aside(build: Callable[[Path], None]) -> Entry:
    """Builds an entry that is removed when the process ends."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="qmlir-"))
        atexit.register(_remove_tree, folder)
        build(folder)
    except OSError as error:
        raise text_error(f"cannot write a folder for the compiled program: {error}") from error
    return Entry(folder, is_new=True, is_kept=False)


def find(key: str) -> Path | None:
    """Returns the folder of an intact entry, marked as used just now; `None` if there is none.

    Raises `OSError` if the cache is not private, `RuntimeError` for a user without a home, and `DiagnosticError` if the
    size limit is not a number.
    """
    size_limit()
    directory = cache_directory()
    check_directory(directory)
    folder = _intact(directory, key)
    if folder is not None:
        with suppress(OSError):  # a cache may be read-only: then it is not trimmed, either
            os.utime(folder)
    return folder


def entry(
    key: str, build: Callable[[Path], None], on_trouble: Callable[[str], None], needs: Sequence[Path] = ()
) -> Entry:
    """Returns the entry of `key`; calls `build(folder)` if it is missing, damaged or not owned by the user.

    No entry in `needs` is removed to make room. If the cache can't be written, `on_trouble` receives the reason, and
    the entry lasts as long as the process. Raises `DiagnosticError` if no folder can be written, or if the size limit
    is not a number.
    """
    limit = size_limit()  # before anything is built
    try:
        directory = cache_directory()
    except RuntimeError as error:  # the user has no home
        on_trouble(f"there is no folder for the cache: {error}; set {DIRECTORY_VARIABLE}")
        return _built_aside(build)
    try:
        target = find(key)
        if target is not None:
            return Entry(target, is_new=False)
        _free_place(directory, key)  # before anything is built
        return _built_in(directory, key, build, limit, needs)
    except OSError as error:
        on_trouble(f"the cache {directory} cannot be written: {error.strerror}; the program is kept for this process")
    return _built_aside(build)
