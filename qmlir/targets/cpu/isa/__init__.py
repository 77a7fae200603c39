"""Instruction sets: descriptions that the CPU target reads. The registry lists them under `isas`.

A package adds one with `Contribution.isas`; `docs/extending/instruction-set.md` shows how.
"""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.dialects.kernel.attributes import TARGET, TargetAttr
from qmlir.targets.cpu.isa.base import InstructionSet


def instruction_set(name: str) -> InstructionSet:
    """Returns the instruction set that the registry lists under `name`."""
    return registry.named("isas")[name].load(InstructionSet)


def isa_of(module: ModuleOp) -> InstructionSet:
    """Returns the instruction set that the loops of a module may use; `generic` if the module has no target."""
    target = module.attributes.get(TARGET)
    return instruction_set(target.isa if isinstance(target, TargetAttr) else "generic")


def instruction_sets() -> Iterator[tuple[str, InstructionSet]]:
    """Yields each instruction set with its name; skips those of packages that fail to load, with a warning."""
    for name, row in registry.named("isas").items():
        found = row.package.load(row.row, InstructionSet)
        if found is not None:
            yield name, found


def isas_of_processors() -> dict[str, str]:
    """Returns the name of the instruction set for each CPU that an instruction set lists under `processors`."""
    return {processor: name for name, isa in instruction_sets() for processor in isa.processors}
