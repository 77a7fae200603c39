"""Storage of tuned schedules: next to the program cache, one file for each instruction set and machine.

The folder `tuned` in the cache folder must be private to the user, as the cache is: a file that others can write is not
read. File names depend on everything that determines the speed of loops: instruction set, threads, CPU, and the
versions of the code generators.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import llvmlite

from qmlir.extensions.search.schedules import TunedKernel, Tuning, tuning_text
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.targets.cpu.cache import DIRECTORY_VARIABLE, TUNED, cache_directory, check_directory, is_private
from qmlir.targets.cpu.host import host_features
from qmlir.targets.cpu.runtime.processor import processor_name
from qmlir.targets.cpu.scheduled.tuned import UNTUNED, Tuned
from qmlir.text.writing import write_own

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
    """Reads the file at `path`; empty, with a call of `on_trouble`, if it is not private to the user or is damaged."""
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
    """Writes `kernels` to `path` atomically, readable by the user alone. Raises `DiagnosticError`."""
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
