"""Tuned schedules: the file format, and the files next to the program cache, one per instruction set and machine.

A file is JSON, with one entry for each kernel under the digest of its identity. Each entry has its own digest: an entry
that was changed by hand or by accident is ignored. The schedule in an entry is validated when it is used.

The folder `tuned` in the cache folder must be private to the user, as the cache is: a file that others can write is not
read. File names depend on everything that determines the speed of loops: instruction set, threads, CPU, and the
versions of the code generators. A warm start reads a file, so this module does not import the code that generates
schedules.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite

from qmlir.ir.messages import DiagnosticError, text_error
from qmlir.targets.cpu.cache import (
    DIRECTORY_VARIABLE,
    TUNED,
    UNTUNED,
    Tuned,
    cache_directory,
    check_directory,
    is_private,
)
from qmlir.targets.cpu.runtime.machine_code import host_features, processor_name
from qmlir.text.data import JsonValue, parse_data
from qmlir.text.files import read_regular
from qmlir.text.writing import write_own

FORMAT = "qmlir-tuning"
VERSION = 1
_KERNELS, _DIGEST = "kernels", "digest"
_SHORTEST = 1e-12
"""A lower bound on times in seconds. No loop is faster, and it prevents a division by zero when times are compared."""


@dataclass(frozen=True)
class TunedKernel:
    """The result of tuning one kernel."""

    kernel: str
    """The kernel's identity (`kernel_identity`)."""

    schedule: str | None
    """The schedule that is faster than the built-in one; `None` if there is no such schedule."""

    default: str
    """The built-in schedule, from the tables."""

    seconds: float
    """The shortest time of the fastest schedule."""

    default_seconds: float
    """The shortest time of the built-in schedule."""

    tried: int
    """Number of schedules that were timed."""

    @staticmethod
    def of(data: JsonValue) -> "TunedKernel":
        """Parses an entry. Raises `DiagnosticError` if it is malformed."""
        schedule = data["schedule"]
        chosen = None if schedule.value is None else schedule.text()
        kernel, default = data["kernel"].text(), data["default"].text()
        seconds, default_seconds = data["seconds"].number(_SHORTEST), data["default_seconds"].number(_SHORTEST)
        return TunedKernel(kernel, chosen, default, seconds, default_seconds, data["tried"].integer(0))

    @property
    def key(self) -> str:
        """The key of the entry in the file."""
        return key_of(self.kernel)

    @property
    def gain(self) -> float:
        """The fraction of the built-in schedule's time that the tuned schedule saves."""
        return 0.0 if self.schedule is None else 1 - self.seconds / self.default_seconds


def key_of(identity: str) -> str:
    """Returns the key under which a kernel is stored."""
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _digest(entry: Mapping[str, Any]) -> str:
    content = {name: value for name, value in entry.items() if name != _DIGEST}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def tuning_text(kernels: Mapping[str, TunedKernel]) -> str:
    """Formats `kernels`, entries by key, as the text of a file."""
    entries = {key: asdict(kernels[key]) for key in sorted(kernels)}
    content = {key: {**entry, _DIGEST: _digest(entry)} for key, entry in entries.items()}
    return json.dumps({"format": FORMAT, "version": VERSION, _KERNELS: content}, indent=1) + "\n"


def _entry(key: str, found: JsonValue) -> TunedKernel | None:
    """Parses an entry; returns `None` if it is malformed or its digest doesn't match."""
    try:
        made = TunedKernel.of(found)
        is_whole = found.value == {**asdict(made), _DIGEST: _digest(asdict(made))} and made.key == key
    except DiagnosticError:
        return None
    return made if is_whole else None


@dataclass(frozen=True)
class Tuning:
    """The entries of a file by key, and the number of damaged ones."""

    kernels: Mapping[str, TunedKernel]
    damaged: int = 0

    @staticmethod
    def from_text(text: str | bytes) -> "Tuning":
        """Parses text written by `tuning_text`. Raises `DiagnosticError` for any other text."""
        data = parse_data(text, "it")
        data["format"].text([FORMAT])
        data["version"].integer(VERSION, VERSION)
        found = {key: _entry(key, entry) for key, entry in data[_KERNELS].entries().items()}
        whole = {key: entry for key, entry in found.items() if entry is not None}
        return Tuning(whole, len(found) - len(whole))

    @staticmethod
    def read(path: Path) -> "Tuning":
        """Reads the file at `path`. Raises a one-line `DiagnosticError` if it cannot be read or has another format."""
        try:
            text = read_regular(path)
        except OSError as error:
            raise text_error(f"cannot read the tuned schedules '{path}': {error.strerror}") from error
        try:
            return Tuning.from_text(text)
        except DiagnosticError as error:
            raise text_error(f"'{path}' does not contain tuned schedules: {error.diagnostic.message}") from error

    def digest(self) -> str:
        """Returns a digest of the schedules that differ from the built-in ones; empty if there are none."""
        chosen = {key: each.schedule for key, each in self.kernels.items() if each.schedule is not None}
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest() if chosen else ""


OnTrouble = Callable[[str], None]
"""Called with the reason why a stored result is ignored."""


def store_path(isa: str, threads: int) -> Path:
    """Returns the path of the file for this machine. Raises `DiagnosticError` if the user has no cache folder."""
    parts = [sorted(host_features()), version("qmlir"), llvmlite.__version__]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    try:
        return cache_directory() / TUNED / f"{isa}-{threads}-{processor_name()}-{digest}.json"
    except RuntimeError as error:  # the user has no home
        raise text_error(
            f"cannot determine the folder of tuned schedules: {error}; set {DIRECTORY_VARIABLE}"
        ) from error


def read_store(path: Path, on_trouble: OnTrouble) -> Tuning:
    """Reads the file at `path`; if it is not private or is damaged, calls `on_trouble` and returns no entries."""
    nothing = Tuning({})
    try:
        if path.parent.parent.is_symlink():
            on_trouble(f"'{path.parent.parent}' is a link: its schedules are left out")
            return nothing
        for each in (path.parent, path):
            if not is_private(each):
                on_trouble(f"'{each}' can be read or written by others, or belongs to them: its schedules are left out")
                return nothing
        found = Tuning.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return nothing
    except OSError as error:
        on_trouble(f"cannot read '{path}': {error.strerror}; its schedules are left out")
        return nothing
    except DiagnosticError as error:
        on_trouble(f"{error.diagnostic.message}; it is left out")
        return nothing
    if found.damaged:
        on_trouble(f"'{path}': {found.damaged} damaged {'entries are' if found.damaged > 1 else 'entry is'} left out")
    return found


def write_store(path: Path, kernels: Mapping[str, TunedKernel]) -> None:
    """Writes `kernels` to `path` atomically, readable only by the user. Raises `DiagnosticError` if writing fails."""
    try:
        check_directory(path.parent.parent)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not is_private(path.parent):
            raise text_error(f"cannot save tuned schedules in '{path.parent}': other users can read or write it")
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise text_error(f"cannot save tuned schedules in '{path}': it is a link, or not a regular file")
        if not path.exists():
            path.touch(mode=0o600)  # the mode of an existing file is kept
        path.chmod(0o600)
    except OSError as error:
        raise text_error(f"cannot save tuned schedules in '{path.parent}': {error.strerror}") from error
    write_own(path, tuning_text(kernels))


def tuned_for(isa: str, threads: int, on_trouble: OnTrouble) -> Tuned:
    """Implements the service `tuned_schedules`: the stored results, or `UNTUNED` if no schedule is faster."""
    try:
        path = store_path(isa, threads)
    except DiagnosticError:  # the cache reports the missing folder
        return UNTUNED
    digest = read_store(path, on_trouble).digest()
    return Tuned(str(path), digest) if digest else UNTUNED
