"""Instruction sets, one per file, as descriptions for the CPU target. The registry's rows `isas` name them.

A package adds one by `Contribution.isas`; `docs/extending/instruction-set.md` shows how.
"""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.dialects.kernel.attributes import TARGET, TargetAttr
from qmlir.targets.cpu.isa.base import InstructionSet


def instruction_set(name: str) -> InstructionSet:
    """The instruction set of this name, one of those of the registry."""
    return registry.named("isas")[name].load(InstructionSet)


def isa_of(module: ModuleOp) -> InstructionSet:
    """The instruction set that the loops of a module may assume; `generic` where it does not say."""
    target = module.attributes.get(TARGET)
    return instruction_set(target.isa if isinstance(target, TargetAttr) else "generic")


def instruction_sets() -> Iterator[tuple[str, InstructionSet]]:
    """Every instruction set by its name; one of a package that does not load is left out with a warning."""
    for name, row in registry.named("isas").items():
        found = row.package.load(row.row, InstructionSet)
        if found is not None:
            yield name, found


def isas_of_processors() -> dict[str, str]:
    """Returns the instruction set of each CPU whose C code uses specific instructions."""
    return {processor: name for name, isa in instruction_sets() for processor in isa.processors}
