"""The CPUs that code is compiled for: this machine's, with its instruction set, and those that users name."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from qmlir.dialects.kernel.attributes import isa_names
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.targets.cpu.isa import instruction_set, instruction_sets
from qmlir.targets.cpu.runtime.machine_code import FEATURES, host_features, processor_features, processor_name

HOST = "host"
"""The CPU name that stands for this machine's CPU."""


@dataclass(frozen=True)
class AheadMachine:
    """The machine for ahead-of-time compilation: an LLVM triple, a CPU, and features such as `+dotprod,-fullfp16`.

    An empty triple stands for this machine's, and an empty CPU for `generic`; the CPU `host` is this machine's.
    Features with `+` are added to those of the CPU, features with `-` are removed.
    """

    triple: str = ""
    cpu: str = ""
    features: str = ""


@dataclass(frozen=True)
class Processor:
    """The properties of the CPU, other than its instruction set, that affect the emitted code."""

    triple: str
    features: frozenset[str] = frozenset()
    """CPU features, by LLVM's names."""

    @property
    def is_x86(self) -> bool:
        """True for 32-bit and 64-bit x86."""
        return self.triple.startswith(("x86_64", "i686", "i386"))

    @property
    def is_arm64(self) -> bool:
        """True for 64-bit ARM."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def is_wasm(self) -> bool:
        """True for WebAssembly, which has no fused multiply-add and no C library."""
        return self.triple.startswith("wasm")

    @property
    def has_extremes(self) -> bool:
        """True if LLVM has instructions for the minimum and maximum of two floats.

        On other CPUs it may call functions of C23, which few C libraries provide.
        """
        return self.triple.startswith("x86_64") or self.is_arm64 or self.is_wasm


@cache
def host_processor() -> Processor:
    """Returns the properties of this CPU that the LLVM IR emitter queries."""
    return Processor(llvm.get_process_triple(), host_features())


def host_text() -> str:
    """Returns LLVM's triple and CPU name of this machine, for display."""
    return f"{llvm.get_process_triple()} {processor_name()}"


def best_isa(features: Collection[str]) -> str:
    """Returns the best instruction set that these CPU features support.

    That is the one whose instructions compute the most products. Ties are broken by the number of required features,
    then by the order of the registry.
    """
    found = [(name, isa) for name, isa in instruction_sets() if isa.needs.issubset(features)]
    return max(found, key=lambda each: (each[1].products, len(each[1].needs)))[0]


def host_isa() -> str:
    """Returns the best instruction set of this CPU, or `generic` if it supports no other one."""
    return best_isa(host_features())


def runs_here(isa: str) -> bool:
    """Returns true if the CPU has the features that `isa` requires."""
    return instruction_set(isa).needs <= host_features()


def resolved_isa(name: str) -> str:
    """Returns the instruction set `name`, with `host` resolved to this CPU's. Raises `DiagnosticError` if unknown."""
    isa, known = host_isa() if name == "host" else name, isa_names()
    if isa not in known:
        raise text_error(unknown("instruction set", isa, ("host", *known)))
    return isa


def limits_to(isa: str) -> dict[str, str]:
    """Returns environment variables that make numba compile as if `isa` were the best instruction set of this CPU."""
    most = instruction_set(isa).products
    beyond = tuple(prefix for _, each in instruction_sets() if each.products > most for prefix in each.feature_prefixes)
    features = processor_features().items()
    lines = (f"{'+' if is_there and not name.startswith(beyond) else '-'}{name}" for name, is_there in features)
    return {FEATURES: ",".join(lines)}
