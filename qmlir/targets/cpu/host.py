"""What the processor that code is made for can do, in the words of the schedule: the instruction set; its cores."""

import os
from collections.abc import Mapping
from functools import cache

from qmlir.targets.cpu.emitters.numba.runtime.processor import FEATURES, processor_features


@cache
def host_features() -> frozenset[str]:
    """The features of the processor by LLVM's names."""
    return frozenset(name for name, is_there in processor_features().items() if is_there)


_NEEDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("avx512-vnni", frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni"})),
    ("avx2-vnni", frozenset({"avx2", "fma", "avxvnni"})),
    ("avx2", frozenset({"avx2", "fma"})),
    ("neon", frozenset({"neon"})),
)
"""Instruction sets, the best first, and the features that each needs."""


def host_isa() -> str:
    """The best instruction set that it has, `generic` where none is known."""
    return next((isa for isa, needed in _NEEDS if needed <= host_features()), "generic")


_BEYOND: Mapping[str, tuple[str, ...]] = {"avx2": ("avx512", "avxvnni"), "avx2-vnni": ("avx512",)}
"""How the names of features begin that a processor which has nothing better than a set lacks."""


def limits_to(isa: str) -> dict[str, str]:
    """The environment in which numba compiles as if this processor had nothing better than `isa`."""
    beyond = _BEYOND[isa]
    features = processor_features().items()
    lines = (f"{'+' if is_there and not name.startswith(beyond) else '-'}{name}" for name, is_there in features)
    return {FEATURES: ",".join(lines)}


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_here(isa: str) -> bool:
    """Whether it has what kernels for `isa` use."""
    return all(needed <= host_features() for name, needed in _NEEDS if name == isa)
