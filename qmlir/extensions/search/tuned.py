"""Where tuned schedules are kept: beside the cache of programs, a file for each instruction set and machine.

The folder `tuned` in the cache's folder is the user's alone, as the cache is: what anybody else may write is not read.
Files are named by what decides how fast loops are: instruction set, threads, processor, versions of what makes code.
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
"""Is called with the reason why something is left out."""


def store_path(isa: str, threads: int) -> Path:
    """The file for this machine. Raises `DiagnosticError` where the user has no folder for it."""
    parts = [sorted(host_features()), version("qmlir"), llvmlite.__version__]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    try:
        return cache_directory() / TUNED / f"{isa}-{threads}-{processor_name()}-{digest}.json"
    except RuntimeError as error:  # the user has no home
        raise text_error(
            f"cannot determine the folder of tuned schedules: {error}; set {DIRECTORY_VARIABLE}"
        ) from error


def read_store(path: Path, on_trouble: OnTrouble) -> Tuning:
    """The store at `path`; empty, with a call of `on_trouble`, where it is not the user's own or damaged."""
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
    """Write what is kept at `path`, whole or not at all, for the user alone. Raises `DiagnosticError`."""
    try:
        check_directory(path.parent.parent)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not is_private(path.parent):
            raise text_error(f"cannot save tuned schedules in '{path.parent}': other users can read or write it")
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise text_error(f"cannot save tuned schedules in '{path}': it is a link, or not a regular file")
        if not path.exists():
            path.touch(mode=0o600)  # the mode of what is there is kept
        path.chmod(0o600)
    except OSError as error:
        raise text_error(f"cannot save tuned schedules in '{path.parent}': {error.strerror}") from error
    write_own(path, tuning_text(kernels))


def tuned_for(isa: str, threads: int, on_trouble: OnTrouble) -> Tuned:
    """The service `tuned_schedules`: what a search found here, nothing without one, or if no schedule is faster."""
    try:
        path = store_path(isa, threads)
    except DiagnosticError:  # the cache tells that there is no folder
        return UNTUNED
    digest = read_store(path, on_trouble).digest()
    return Tuned(str(path), digest) if digest else UNTUNED
