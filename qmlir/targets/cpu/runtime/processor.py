"""The CPU that machine code is compiled for: this machine's, or the one that the environment names.

`NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` (such as `+avx2,-avx512f`) are numba's variables, read as numba reads them, so
that emitted code, cache keys and saved machine code are consistent with it.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
from collections.abc import Mapping

import llvmlite.binding as llvm

NAME, FEATURES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"


def processor_name() -> str:
    """Returns LLVM's name of the CPU, such as `znver4`."""
    return os.environ.get(NAME) or str(llvm.get_host_cpu_name())


def feature_text() -> str:
    """Returns the CPU features in LLVM's syntax; empty for numba's CPU `generic`, unless the environment names some."""
    nothing = "" if processor_name().lower() == "generic" else None
    given = os.environ.get(FEATURES, nothing)
    return str(llvm.get_host_cpu_features().flatten()) if given is None else given


def processor_features() -> Mapping[str, bool]:
    """Returns CPU features by LLVM's names: True if the CPU has the feature, False if it lacks it."""
    return {each[1:]: each[0] == "+" for each in feature_text().split(",") if each[:1] in ("+", "-")}
