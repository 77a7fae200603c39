"""The disk cache of compiled programs: keys, one private folder for each entry, complete or absent, bounded in size."""

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
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

import llvmlite
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.ir.equivalence import fingerprint
from qmlir.targets.cpu.host import host_features
from qmlir.targets.cpu.runtime.processor import processor_name
from qmlir.text.data import read_data
from qmlir.text.files import is_file_name

# Numbers in variables of the environment: one that is none is an error, never a setting that is left out.


def number_in(variable: str, of: str, example: int) -> int | None:
    """The whole number in `variable`, `None` where nothing is said; `of` says what it counts.

    Raises `DiagnosticError` for what is not a number from 0 on.
    """
    text = os.environ.get(variable, "").strip()
    if text and not text.isdecimal():
        raise text_error(f"{variable} must be a number of {of} (example: {example}), but got '{text}'")
    return int(text) if text else None


# The key of a compiled program in the cache: all that decides what its code is.
#
# That is the module, the compiler's own source and the packages that take part, the processor, and versions.


def program_key(module: ModuleOp, isa: str, threads: int, tuned: str = "", emitter: str = "numba") -> str:
    """What the program of a static module is kept under; `tuned` is a digest of the schedules that a search found."""
    parts = {
        "module": fingerprint(module),
        "code": registry.code_digest(registry.packages()),
        "isa": isa,
        "emitter": emitter,
        "threads": threads,
        "tuned": tuned,
        **_surroundings(),
    }
    return _digest(parts)


def saved_key(card: str, source: str) -> str:
    """What the machine code is kept under that numba makes here of a saved program, by the digest of its card.

    `source` is that of its kernels, which may call functions of packages that are installed here.
    """
    imports = (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom) and not node.level)
    return _digest({"saved": card, "code": registry.sources_digest(map(_package, imports)), **_surroundings()})


def _package(node: ast.ImportFrom) -> str:
    return (node.module or "").partition(".")[0]


def _surroundings() -> dict[str, Any]:
    return {
        "processor": [processor_name(), sorted(host_features())],
        "versions": [platform.python_version(), version("numba"), llvmlite.__version__, np.__version__],
    }


def _digest(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


# The disk cache of compiled programs: one folder an entry, complete or absent, its owner's alone, bounded in size.
#
# It holds code. So an entry runs only if its folder belongs to the user, no other user may write it, and its
# manifest has its key and the digest of every file; anything else is built again. The folder of the cache may hold
# other files. They are never touched: an entry is a folder of the user's own whose manifest has the folder's name as
# its key, and only the files that the manifest lists are removed. A cache in a link, in a place that is no folder,
# or in a folder that others may write is not used: entries then last as long as the process. Entries are built aside
# and moved into place in one step, so that several processes may build the same one. What a killed process left
# behind is removed after a day. Folder: `QMLIR_CACHE_DIR`, or `qmlir` in the user's cache folder; size:
# `QMLIR_CACHE_SIZE` in MiB, by default 2048.

MANIFEST = "manifest.json"
DIRECTORY_VARIABLE = "QMLIR_CACHE_DIR"
SIZE_VARIABLE = "QMLIR_CACHE_SIZE"
DEFAULT_MEBIBYTES = 2048
TUNED = "tuned"
"""The folder in the cache's own that holds tuned schedules, and no program: it is small, and stays."""

_BUILDING = re.compile(r"building-\w+")
_BUILT, _MARK = "entry", "building.json"
"""In a folder in which an entry is built: the entry, and the file that tells such a folder from any other."""

_LEFT_BEHIND = 24 * 60 * 60.0
"""Seconds after which a folder that is being built counts as abandoned."""

_MOST_PLACES = 8
"""The names that are tried for an entry, `KEY`, `KEY-1`, …, if something else has the first ones."""


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
    """The bytes of all entries. Raises `OSError` if it can't be read, `RuntimeError` for a user without a home."""
    directory = cache_directory()
    return sum(each.size for each in _entries(directory)) if directory.is_dir() else 0


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> dict[str, Path]:
    """The regular files below a folder by their names in a manifest; links are not followed, and no files."""
    found: dict[str, Path] = {}
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if stat.S_ISREG(path.lstat().st_mode) and path != folder / MANIFEST:
                found[path.relative_to(folder).as_posix()] = path
    return found


def _is_own(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def is_private(path: Path) -> bool:
    """Whether `path` is the user's own, no link, and not readable or writable by others. Raises `OSError`."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (_is_own(found) and not found.st_mode & 0o077)


def write_manifest(folder: Path, key: str) -> None:
    """Write down the key of an entry, and the digest of every file."""
    digests = {name: digest_of(path) for name, path in sorted(_files(folder).items())}
    (folder / MANIFEST).write_text(json.dumps({"key": key, "files": digests}, indent=1), encoding="utf-8")


def _listed(folder: Path) -> dict[str, str] | None:
    """The digests in the manifest of an entry by file; `None` if `folder` is not an entry of the user's own.

    The name of the folder and the key of its manifest must agree, and the files must lie inside the folder.
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
    """Whether every file of an entry is there, is what was built for its key, and belongs to the user."""
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
    """A folder with a compiled program, and whether it was built just now."""

    folder: Path
    is_new: bool
    is_kept: bool = True
    """Whether it lies in the cache; otherwise it lasts as long as the process."""


def _remove_tree(folder: Path) -> None:
    """Remove a folder that this process has made, as far as that can be done."""
    shutil.rmtree(folder, ignore_errors=True)


def _remove_entry(folder: Path) -> None:
    """Remove the files that the manifest of an entry lists, and the folders that are empty then; other files stay."""
    names = _listed(folder)
    if names is not None:
        _remove_files(folder, [*names, MANIFEST])
        _bytes_of.cache_clear()  # other files may keep the folder there, which is no entry then


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
    """The bytes of an entry, `None` if it is none. They never change, so a process counts them once."""
    digests = _listed(folder)
    return None if digests is None else sum(path.lstat().st_size for path in _files(folder).values())


@dataclass(frozen=True, order=True)
class _Kept:
    """An entry in the cache: when it was used last, its bytes, its folder."""

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


def _trim(directory: Path, kept: Path, limit: int) -> None:
    """Remove the entries that were used longest ago until the rest has at most `limit` bytes; `kept` stays."""
    for folder in directory.glob("building-*"):
        with suppress(FileNotFoundError):
            if folder.lstat().st_mtime < time.time() - _LEFT_BEHIND:
                _remove_abandoned(folder)
    entries = sorted(_entries(directory))
    total = sum(each.size for each in entries)
    for each in entries:
        if total <= limit:
            return
        if each.folder != kept:
            _remove_entry(each.folder)
            total -= each.size


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder in which an entry was built, if it is one: private, and with the mark."""
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
    """Make the cache's folder if it is missing. Raises `OSError` if it can't be made, or is not the user's alone.

    Whoever may write into it could exchange an entry between its check and its run. A link may lead to a folder that
    somebody else has chosen.
    """
    with suppress(FileNotFoundError):
        if stat.S_ISLNK(directory.lstat().st_mode):
            raise PermissionError(errno.EPERM, "it is a link")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if hasattr(os, "geteuid") and (not _is_own(found) or found.st_mode & 0o022):
        raise PermissionError(errno.EPERM, "it belongs to another user or is writable by others")


def _free_place(directory: Path, key: str) -> Path:
    """The place for a new entry: damaged entries are removed, other files stay. Raises `OSError` if there is none."""
    for name in _names(key):
        place = directory / name
        if not is_intact(place):  # another process may have been here
            _remove_entry(place)
        if not os.path.lexists(place):
            return place
    raise FileExistsError(errno.EEXIST, f"files {key} to {key}-{_MOST_PLACES - 1} already exist with other contents")


def _intact(directory: Path, key: str) -> Path | None:
    return next((directory / name for name in _names(key) if is_intact(directory / name)), None)


def _built_in(directory: Path, key: str, build: Callable[[Path], None], limit: int) -> Entry:
    with _building(directory) as folder:
        build(folder)
        write_manifest(folder, key)
        target = _intact(directory, key)  # another process may have been here
        if target is None:
            target = _free_place(directory, key)
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
        atexit.register(_remove_tree, folder)
        build(folder)
    except OSError as error:
        raise text_error(f"cannot write a folder for the compiled program: {error}") from error
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
    try:
        check_directory(directory)
        target = _intact(directory, key)
        if target is not None:
            with suppress(OSError):  # a cache may be read-only: then it is not trimmed, either
                os.utime(target)
            return Entry(target, is_new=False)
        _free_place(directory, key)  # before anything is built
        return _built_in(directory, key, build, limit)
    except OSError as error:
        on_trouble(f"the cache {directory} cannot be written: {error.strerror}; the program is kept for this process")
    return _built_aside(build)
