"""Where figures were measured: the processor, its instruction set, and the versions of what computed."""

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.runtime.machine_code import processor_name
from qmlir.targets.runtimes.packages import TITLES, installed_version, is_installed

_PACKAGES = ("qmlir", "xdsl", "numpy", "numba", "llvmlite")
"""What our times depend on."""


def _processor() -> str:
    """What the system calls the processor."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def versions() -> dict[str, str]:
    """The versions of Python, of what we run on, and of the peers that are here."""
    found = {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
    return found | {name: installed_version(name) for name in TITLES if is_installed(name)}


def machine() -> Mapping[str, object]:
    """The machine, as the head of a table and of JSON."""
    return {
        "processor": f"{_processor()} ({processor_name()}, {platform.machine()})",
        "processors": os.cpu_count(),
        "isa": host_isa(),
        "system": f"{platform.system()} {platform.release()}",
        "versions": versions(),
    }
