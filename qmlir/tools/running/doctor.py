"""Runs `qmlir doctor`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from qmlir import registry
from qmlir.environment import Environment, default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.pipelines import unknown_points
from qmlir.registry.faults import fault_listener, one_line
from qmlir.registry.package import WITHOUT_VARIABLE
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.host import host_features, host_isa
from qmlir.targets.cpu.runtime.batches import available_cores
from qmlir.targets.cpu.runtime.machine_code import processor_name
from qmlir.targets.runtimes.packages import TITLES, installed_version, is_installed
from qmlir.text.tables import bytes_text
from qmlir.tools.command_runner import Session
from qmlir.tools.listing import contents

_PACKAGES = ("xdsl", "numpy", "numba", "llvmlite", "onnx", "safetensors", "ml_dtypes", "rich")


class State(StrEnum):
    """The state of a checked item: good, notable, or broken, so that the compiler does not work."""

    GOOD = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True)
class Diagnosis:
    """A checked item, the finding, and a remedy."""

    topic: str
    name: str
    found: str
    state: State = State.GOOD
    remedy: str = ""


def _versions() -> Iterator[Diagnosis]:
    yield Diagnosis("versions", "qmlir", version("qmlir"))
    yield Diagnosis("versions", "python", f"{platform.python_version()} ({platform.platform()})")
    for package in _PACKAGES:
        try:
            import_module(package)
            yield Diagnosis("versions", package, version(package))
        except (ImportError, OSError, PackageNotFoundError) as error:
            remedy = f"install it again: pip install --force-reinstall {package}"
            yield Diagnosis("versions", package, f"{type(error).__name__}: {error}", State.BROKEN, remedy)


def _processor() -> Iterator[Diagnosis]:
    yield Diagnosis("processor", "CPU", f"{processor_name()} ({platform.machine()})")
    isa = host_isa()
    remedy = "programs run, but no instruction set with known speed was found" if isa == "generic" else ""
    yield Diagnosis("processor", "ISA", isa, State.NOTE if remedy else State.GOOD, remedy)
    features = sorted(each for each in host_features() if each.startswith(("avx", "amx", "neon", "sse4", "dotprod")))
    yield Diagnosis("processor", "features", " ".join(features) or "none of those that matter here")


def _doubled() -> int:
    """Returns the result of a function that numba compiles here: 0 + 2 + 4 + 6."""
    numba: Any = import_module("numba")
    numpy: Any = import_module("numpy")

    def double(values: Any) -> None:
        for position in range(values.size):
            values[position] *= 2

    values = numpy.arange(4)
    numba.njit(double)(values)
    return int(values.sum())


def _compiler() -> Iterator[Diagnosis]:
    cores = available_cores()
    yield Diagnosis("compiler", "cores", f"{cores} for this process, so many threads at most")
    remedy = "reinstall numba and llvmlite"
    try:
        total = _doubled()
    except Exception as error:  # any error of numba or LLVM is a finding
        text = " ".join(str(error).split())[:200]
        yield Diagnosis("compiler", "compiling", f"{type(error).__name__}: {text}", State.BROKEN, remedy)
        return
    if total != 12:
        yield Diagnosis("compiler", "compiling", f"numba's code computes {total} for 12", State.BROKEN, remedy)
        return
    yield Diagnosis("compiler", "compiling", "numba compiles and runs")


def _cache() -> Iterator[Diagnosis]:
    remedy = f"set {cache.DIRECTORY_VARIABLE} to a folder that you may write; until then each process compiles anew"
    try:
        directory = cache.cache_directory()
        used = cache.size_used()
    except (OSError, RuntimeError) as error:
        yield Diagnosis("cache", "folder", str(error), State.NOTE, remedy)
        return
    yield Diagnosis("cache", "folder", str(directory))
    yield Diagnosis("cache", "size", f"{bytes_text(used)} of at most {bytes_text(cache.size_limit())}")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
        yield Diagnosis("cache", "writable", "yes")
    except OSError as error:
        yield Diagnosis("cache", "writable", f"no: {error.strerror}", State.NOTE, remedy)


def _peers() -> Iterator[Diagnosis]:
    for package, title in TITLES.items():
        found = installed_version(package) if is_installed(package) else "not installed (optional)"
        yield Diagnosis("peers", title, found)


def _load_factories(package: registry.Package, environment: Environment) -> None:
    """Loads the dialects and passes of a package; failures are added to its faults."""
    for kind, factories in (("dialect", environment.dialects), ("pass", environment.passes)):
        for name, factory in factories.items():
            if environment.owners[what := f"{kind} '{name}'"] == package.title:
                try:
                    factory()
                except DiagnosticError as error:
                    package.warn(what, one_line(error.__cause__ or error))


def _plugins() -> Iterator[Diagnosis]:
    environment = default_environment()
    registry.look_up_all()
    for package in registry.outside():
        _load_factories(package, environment)
        for kind, names in contents(package, environment).items():
            yield Diagnosis("plug-ins", package.title, f"{kind}: {', '.join(names)}")
        unknown = (message for owner, _, message in unknown_points() if owner is package)
        remedy = f"update it, remove it, or leave it out with {WITHOUT_VARIABLE}={package.name}"
        for fault in (*package.faults.values(), *unknown):
            yield Diagnosis("plug-ins", package.title, fault, State.NOTE, remedy)
            remedy = ""
    if without := os.environ.get(WITHOUT_VARIABLE):
        yield Diagnosis("plug-ins", WITHOUT_VARIABLE, f"leaves out {without}", State.NOTE)


TOPICS: tuple[Callable[[], Iterator[Diagnosis]], ...] = (_versions, _processor, _compiler, _cache, _peers, _plugins)
"""The checks, in order."""


def findings() -> list[Diagnosis]:
    """Returns all findings about this installation."""
    with fault_listener(lambda _: None):  # faults of packages become findings
        return [finding for topic in TOPICS for finding in topic()]


def text_of(found: list[Diagnosis]) -> str:
    """Formats the findings by topic, then the remedies."""
    width = max(len(each.name) for each in found)
    lines: list[str] = []
    topic = ""
    for each in found:
        if each.topic != topic:
            topic = each.topic
            lines += [*([""] if lines else []), topic]
        mark = "" if each.state is State.GOOD else f"  [{each.state}]"
        lines.append(f"  {each.name:{width}}  {each.found}{mark}")
    todo = [each for each in found if each.remedy]
    if todo:
        lines += ["", "what to do", *(f"  {each.name}: {each.remedy}" for each in todo)]
    broken = sum(each.state is State.BROKEN for each in found)
    lines += ["", f"{broken} of what is needed does not work" if broken else "all that is needed works"]
    return "\n".join(lines)


def run_doctor(arguments: argparse.Namespace, session: Session) -> int:
    """Prints the findings; returns 1 if a required item is broken."""
    found = findings()
    is_broken = any(each.state is State.BROKEN for each in found)
    session.emit({"works": not is_broken, "findings": found}, lambda: text_of(found))
    return 1 if is_broken else 0
