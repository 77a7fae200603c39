"""Output files and folders: which ones may be overwritten, and how they are replaced atomically.

A file that the user names is replaced, unless it is an input of the run (`qmlir.text.files`). A file whose name is
derived from the user's file is replaced only if qmlir wrote the user's file and that file refers to it. A folder
contains a list of the files that qmlir wrote there, with digests: only listed files whose digest still matches are
replaced or removed. An unrelated existing file stops the run before anything is written, unless `force` is set. New
files are written under a temporary name next to their destination, and then renamed. Links out of a folder are not
followed, and only folders that the same run has created are removed.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from qmlir.ir.messages import DiagnosticError, text_error
from qmlir.text.data import JsonValue, parse_data, read_data
from qmlir.text.files import INTERRUPTED, check_output, is_forced, is_input, read_regular, reason_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LIST = ".qmlir-files.json"
"""The name of the file that lists the files that qmlir wrote into a folder."""

_FORMAT, _VERSION = "qmlir-files", 1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_DESCRIPTOR = re.compile(r"/dev/(?P<name>stdin|stdout|stderr)|(?:/dev|/proc/self)/fd/(?P<number>\d+)")
_STANDARD = {"stdin": 0, "stdout": 1, "stderr": 2}
FILE_SUFFIXES = frozenset({".pt", ".pth", ".bin", ".h5", ".keras", ".tflite", ".xml", ".json", ".npz", ".safetensors"})
"""Suffixes of model and data files. A new folder with such a suffix is assumed to be a mistake."""

_PATIENCE = 60.0
"""The number of seconds that a run waits while another run replaces a result in the same folder."""

_NO_LOCKS = frozenset({errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
"""Errors of `flock` on file systems that don't support locks on folders; NFS requires a writable descriptor."""

_TO_REPLACE = "use --force (in Python: force=True) to replace it"


@contextmanager
def _told(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise text_error(f"cannot write '{path}': {reason_of(error)}") from error


@contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Holds the lock of `folder`, so that only one run at a time replaces a result there.

    It is a system lock on the folder itself, which ends with the process. If the system or the file system has no such
    locks, or the folder cannot be read, nothing is locked. Raises `DiagnosticError` if another run holds the lock for
    `_PATIENCE` seconds.
    """
    if fcntl is None or not os.access(folder, os.R_OK):
        yield
        return
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        until = time.monotonic() + _PATIENCE
        while not _has_lock(held):
            if time.monotonic() > until:
                raise text_error(f"cannot write into '{folder}': another run is writing there; run the command again")
            time.sleep(0.05)
        yield
    finally:
        os.close(held)


def _has_lock(descriptor: int) -> bool:
    """Locks an open folder, unless another process has locked it; returns True also if the file system has no locks."""
    assert fcntl is not None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


# Streams


def _descriptor(path: Path) -> int | None:
    """Returns the open descriptor that `path` names, such as `/dev/stdout`, through links."""
    text = os.path.abspath(path)
    for _ in range(40):
        if found := _DESCRIPTOR.fullmatch(text):
            return _STANDARD[found["name"]] if found["name"] else int(found["number"])
        if not os.path.islink(text):
            return None
        text = os.path.join(os.path.dirname(text), os.readlink(text))
    return None


def is_stream(path: Path) -> bool:
    """Returns True if `path` is a device, a pipe or an open descriptor.

    These are written directly, and have no files next to them.
    """
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_stream(path: Path, data: bytes) -> None:
    number = _descriptor(path)
    with open(path, "wb") if number is None else open(os.dup(number), "wb") as file:
        file.write(data)


# Checks before the work


def check_file(path: Path) -> None:
    """Raises `DiagnosticError` if no file can be written to `path`."""
    check_output(path)
    if path.is_dir():
        raise text_error(f"cannot write '{path}': it is a folder")
    if not path.parent.is_dir():
        raise text_error(f"cannot write '{path}': folder '{path.parent}' does not exist")
    if not is_stream(path):
        _check_parent(path)


def check_folder(path: Path, names: Iterable[str] = ()) -> None:
    """Raises `DiagnosticError` if no folder can be written to `path`, or if one of the files `names` already exists."""
    check_output(path)
    if path.is_dir():
        found = _Folder(path)
        for name in names:
            found.check_place(name)
        if not os.access(path, os.W_OK | os.X_OK):
            raise text_error(f"cannot write '{path}': no write permission")
        return
    if os.path.lexists(path):
        raise text_error(f"cannot write '{path}': it is not a folder; name another path")
    if path.suffix in FILE_SUFFIXES:
        raise text_error(
            f"cannot write '{path}': the command writes a folder, but '{path.suffix}' is a file suffix; pass a "
            "folder name"
        )
    _check_parent(path)


def _check_parent(path: Path) -> None:
    parent = next(each for each in path.absolute().parents if each.exists())
    if not parent.is_dir():
        raise text_error(f"cannot write '{path}': '{parent}' is not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise text_error(f"cannot write '{path}': no write permission for '{parent}'")


def _in_the_way(path: Path, why: str = "qmlir did not write it") -> DiagnosticError:
    return text_error(f"'{path}' already exists: {why}; move it, or {_TO_REPLACE}")


# Single files


def _staged(target: Path, *pieces: bytes) -> Path:
    """Writes `pieces` to a new file next to `target`, with the mode of the file that it will replace."""
    temporary = target.with_name(f".qmlir-{secrets.token_hex(8)}")
    # Not NamedTemporaryFile, whose files other users cannot read.
    with temporary.open("xb") as file:
        try:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    if _is_plain(target):
        shutil.copymode(target, temporary)
    return temporary


def _is_plain(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a regular file that is not reached through a link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _replace(target: Path, data: bytes) -> None:
    temporary = _staged(target, data)
    try:
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_file(path: Path, content: str | bytes) -> None:
    """Writes a file that a user named, atomically; a link at its path is replaced, not followed.

    Devices, pipes and descriptors are written directly. Raises `DiagnosticError` if the file is an input of the run or
    cannot be written.
    """
    check_output(path)
    data = content.encode() if isinstance(content, str) else content
    with _told(path):
        if is_stream(path):
            _write_stream(path, data)
        else:
            _replace(path, data)


def write_own(path: Path, content: str | bytes) -> None:
    """Writes a file that only qmlir uses, such as a checkpoint or a part of an interrupted run.

    Raises `DiagnosticError` if `path` is a link or anything else except a regular file.
    """
    check_own(path)
    with _told(path):
        _replace(path, content.encode() if isinstance(content, str) else content)


def check_own(path: Path) -> None:
    """Raises `DiagnosticError` if `path` exists and is not a regular file; a link is not one."""
    check_output(path)
    if os.path.lexists(path) and not _is_plain(path):
        raise text_error(f"cannot use '{path}': it is a symbolic link, or not a regular file; remove it")


def check_generated(path: Path, start: bytes) -> None:
    """Raises `DiagnosticError` if the file at `path`, which the user did not name, was not written by qmlir.

    qmlir's files begin with `start`.
    """
    check_output(path)
    if not os.path.lexists(path) or is_forced():
        return
    try:
        is_ours = read_regular(path, len(start), follow=False) == start
    except OSError:
        is_ours = False
    if not is_ours:
        raise _in_the_way(path)


def folder_within(folder: Path, *parts: str) -> Path:
    """Returns the folder `parts` inside `folder`, created if necessary. Raises `DiagnosticError` if one is a link."""
    path = made_folder(folder)
    for part in parts:
        path /= part
        if path.is_symlink():
            raise text_error(f"cannot write to '{path}': it is a symbolic link")
        made_folder(path)
    return path


def made_folder(path: Path) -> Path:
    """Returns the folder `path`, created with its parents if necessary. Raises `DiagnosticError` if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise text_error(f"cannot create folder '{path}': {error.strerror}") from error
    return path


@dataclass(frozen=True)
class Derived:
    """A file that a user-named file refers to, next to it: the weights of a module, or the data of an ONNX model."""

    path: Path
    is_of: Callable[[bytes], bool]
    """Returns True if the content of the user's file shows that qmlir wrote it, and `path` is unchanged since then."""

    def check(self, main: Path) -> None:
        """Raises `DiagnosticError` if the file cannot be written, or if an existing one does not belong to `main`."""
        check_output(self.path)
        if not os.path.lexists(self.path):
            return
        if self.path.is_dir():
            raise text_error(f"cannot write '{self.path}': it is a folder")
        if not is_forced() and not self._belongs_to(main):
            why = f"'{main.name}' does not name it as qmlir wrote it"
            raise _in_the_way(self.path, why)

    def _belongs_to(self, main: Path) -> bool:
        if not _is_plain(self.path) or not _is_plain(main):
            return False
        try:
            content = read_regular(main)
            if content.startswith(INTERRUPTED):
                known = parse_data(content[len(INTERRUPTED) :], f"'{main}'")[self.path.name]
                return _digest(self.path) in [each.text() for each in known]
        except (OSError, DiagnosticError):
            return False
        return self.is_of(content)


def write_with_derived(main: Path, content: bytes, derived: Derived, pieces: Sequence[bytes]) -> None:
    """Writes the user-named file `main`, and the `pieces` of a file derived from it; `main` is renamed last.

    If a run is killed between the renames, a placeholder that names the derived file remains at `main`, so that the
    next run recognizes both. Raises `DiagnosticError` if a file cannot be written.
    """
    check_file(main)
    with _told(main), _alone_in(main.absolute().parent):
        _write_with_derived(main, content, derived, pieces)


def _write_with_derived(main: Path, content: bytes, derived: Derived, pieces: Sequence[bytes]) -> None:
    derived.check(main)
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    new = digest.hexdigest()
    old = _digest(derived.path) if _is_plain(derived.path) else ""
    staged: list[tuple[Path, Path]] = []
    path = main
    try:
        if old != new:
            note = INTERRUPTED + json.dumps({derived.path.name: [new, *([old] if old else [])]}).encode() + b"\n"
            staged.append((_staged(main, note), main))
            path = derived.path
            staged.append((_staged(path, *pieces), path))
        path = main
        staged.append((_staged(main, content), main))
        while staged:
            temporary, path = staged[0]
            os.replace(temporary, path)
            staged.pop(0)
    except OSError as error:
        raise text_error(f"cannot write '{path}': {reason_of(error)}") from error
    finally:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)


# Folders


def _digest(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """Flushes a file to the disk, so that it survives a power failure if its new name does."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _is_safe(name: str) -> bool:
    """Whether `name` is the relative path of a file inside its folder."""
    return name != LIST and "\0" not in name and "\\" not in name and not {"", ".", ".."} & set(name.split("/"))


def _above(folder: Path, name: str) -> Iterable[Path]:
    """Returns the folders inside `folder` that lead to the file `name`, the outermost first."""
    return [folder / name[: found.start()] for found in re.finditer("/", name)]


def _digests(data: JsonValue) -> Mapping[str, str]:
    """Returns digests by the paths of files in the folder. Raises `DiagnosticError` for invalid entries."""
    found = {name: each.text() for name, each in data.entries().items()}
    if not all(map(_is_safe, found)) or not all(map(_DIGEST.fullmatch, found.values())):
        data.wrong("digests by the paths of files in the folder")
    return found


@dataclass(frozen=True)
class _List:
    """The files that qmlir wrote into a folder, by their paths in it, with digests."""

    files: Mapping[str, str]
    replaced: Mapping[str, str] | None = None
    """The files of the previous result, while they are being replaced."""

    def to_bytes(self) -> bytes:
        """Returns the content of the list file."""
        content = {"format": _FORMAT, "version": _VERSION, "files": dict(self.files)}
        if self.replaced is not None:
            content["replaced"] = dict(self.replaced)
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"

    @staticmethod
    def read(folder: Path) -> "_List | None":
        """Returns the list in `folder`; `None` if it is missing or invalid."""
        path = folder / LIST
        if not _is_plain(path):
            return None
        try:
            content = read_data(path)
            content["format"].text([_FORMAT])
            content["version"].integer(_VERSION, _VERSION)
            replaced = content.get("replaced")
            return _List(_digests(content["files"]), None if replaced is None else _digests(replaced))
        except DiagnosticError:
            return None


def _matches(folder: Path, name: str, digest: str) -> bool:
    """Whether the file `name` in `folder`, reached without a link, has this digest."""
    path = folder / name
    try:
        is_direct = not any(each.is_symlink() for each in _above(folder, name))
        return is_direct and _is_plain(path) and _digest(path) == digest
    except OSError:
        return False


def check_whole(folder: Path) -> None:
    """Raises `DiagnosticError` if a run was interrupted while it replaced the result in `folder`.

    The folder then contains neither the complete old result nor the complete new one.
    """
    found = _List.read(folder)
    if found is None or found.replaced is None:
        return
    for files in (found.files, found.replaced):
        if files and all(_matches(folder, name, digest) for name, digest in files.items()):
            return
    raise text_error(f"'{folder}' is incomplete: the command that wrote it was interrupted; run it again")


class _Folder:
    """An existing folder, and the result that will be put there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found = _List.read(path)
        if found is None and os.path.lexists(path / LIST) and not is_forced():
            raise _in_the_way(path / LIST, "it is not a file list of qmlir")
        self.list = _List({}) if found is None else found

    def check_place(self, name: str) -> None:
        """Raises `DiagnosticError` if the file `name` cannot be written."""
        path = self.path / name
        for each in _above(self.path, name):
            if each.is_symlink() or (each.exists() and not each.is_dir()):
                raise text_error(f"cannot write '{path}': '{each}' is not a folder; move it")
        check_output(path)
        if not os.path.lexists(path):
            return
        if path.is_dir() and not path.is_symlink():
            raise text_error(f"cannot write '{path}': it is a folder")
        if is_forced():
            return
        known = {*filter(None, (each.get(name) for each in (self.list.files, self.list.replaced or {})))}
        if not known:
            raise _in_the_way(path)
        if not _is_plain(path) or _digest(path) not in known:
            raise _in_the_way(path, "it was modified after qmlir wrote it")

    def _present(self) -> dict[str, str]:
        """Returns the listed files with their actual digests, or the expected ones if they are missing or changed."""
        known = {**self.list.files, **(self.list.replaced or {})}
        older: Mapping[str, str] = {} if self.list.replaced is None else self.list.files
        return {
            name: older[name] if name in older and _matches(self.path, name, older[name]) else digest
            for name, digest in known.items()
        }

    def install(self, made: Path, first: Collection[str], *, removes: bool) -> None:
        """Replaces the previous result with the files in `made`.

        The folder never contains files of both results: all files of the previous result are removed first. Without the
        files in `first`, no other file is read, so they are removed before all others, and their new versions are added
        last.
        """
        paths = sorted((path for path in made.rglob("*") if not path.is_dir()), key=lambda path: path.name in first)
        new = {path.relative_to(made).as_posix(): _digest(path) for path in paths}
        for name in new:
            self.check_place(name)
        before = self._present()
        replaced = dict(before)
        replaced |= {name: _digest(self.path / name) for name in new if _is_plain(self.path / name)}  # some by force
        gone = [name for name, digest in before.items() if name not in new and _matches(self.path, name, digest)]
        kept = {name: before[name] for name in gone if not removes or is_input(self.path / name)}
        final = _staged(made.parent / LIST, _List({**new, **kept}).to_bytes())
        _replace(self.path / LIST, _List({**new, **kept}, replaced).to_bytes())
        for name in new:
            _flush(made / name)
        same = {name for name, digest in new.items() if _matches(self.path, name, digest)}
        old = [*gone, *(name for name in new if name not in same)]
        for name in sorted(old, key=lambda name: name.rpartition("/")[2] not in first):
            path = self.path / name
            if name not in kept and os.path.lexists(path):
                path.unlink()
        for name in new:
            if name not in same:
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(made / name, self.path / name)
        os.replace(final, self.path / LIST)


def _placed(made: Path, path: Path, target: Path) -> bool:
    """Renames the folder `made` to `target`, which must not exist; returns False if another run has just created it."""
    check_folder(path)
    files = {each.relative_to(made).as_posix(): _digest(each) for each in made.rglob("*") if each.is_file()}
    _replace(made / LIST, _List(files).to_bytes())
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        made.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        (made / LIST).unlink()
        return False
    return True


@contextmanager
def folder_result(path: Path, first: Collection[str] = (), *, removes: bool = True) -> Generator[Path]:
    """Yields the path of a new folder; when the block ends, its files replace the previous result at `path`.

    `first` names the files without which no other file of a result is read. `removes` is False if the folder may
    contain several results; existing files that the new result lacks are then kept. If the block raises, nothing is
    changed. Raises `DiagnosticError` if an unrelated file exists, or if the folder cannot be written.
    """
    check_folder(path)
    with _told(path):
        target = path.resolve()
        base = target if target.is_dir() else next(each for each in target.parents if each.is_dir())
        aside = base / f".qmlir-{secrets.token_hex(8)}"
        aside.mkdir(mode=0o700)
        try:
            made = aside / "result"
            yield made
            if target.is_dir() or not _placed(made, path, target):
                with _alone_in(target):
                    _Folder(path).install(made, first, removes=removes)
        finally:
            with suppress(OSError):
                shutil.rmtree(aside)
