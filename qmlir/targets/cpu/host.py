"""What this machine's processor can do, in the words of the schedule: the instruction set for kernels; its cores."""

import os
from functools import cache
from typing import cast

import llvmlite.binding as llvm


@cache
def host_features() -> frozenset[str]:
    """The features of the processor by LLVM's names."""
    found = cast(dict[str, bool], llvm.get_host_cpu_features())
    return frozenset(name for name, is_there in found.items() if is_there)


def host_name() -> str:
    """The processor by LLVM's name, such as `znver4`."""
    return str(llvm.get_host_cpu_name())


_NEEDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("avx512-vnni", frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni"})),
    ("avx2-vnni", frozenset({"avx2", "fma", "avxvnni"})),
    ("avx2", frozenset({"avx2", "fma"})),
    ("neon", frozenset({"neon"})),
)
"""Instruction sets, the best first, and the features that each needs."""


def host_isa() -> str:
    """The best instruction set that this processor has, `generic` where none is known."""
    return next((isa for isa, needed in _NEEDS if needed <= host_features()), "generic")


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_here(isa: str) -> bool:
    """Whether this processor has what kernels for `isa` use."""
    return all(needed <= host_features() for name, needed in _NEEDS if name == isa)
