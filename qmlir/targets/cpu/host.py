"""The capabilities of the CPU that code is compiled for: its features and its instruction set."""

from collections.abc import Collection
from functools import cache

import llvmlite.binding as llvm

from qmlir.dialects.kernel.attributes import isa_names
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.targets.cpu.emitters.llvm.processor import Processor
from qmlir.targets.cpu.isa import instruction_set, instruction_sets
from qmlir.targets.cpu.runtime.machine_code import FEATURES, processor_features, processor_name


@cache
def host_features() -> frozenset[str]:
    """Returns the features of this CPU, by LLVM's names."""
    return frozenset(name for name, is_there in processor_features().items() if is_there)


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
