"""What a pass keeps of the numbers that a module computes: it declares it, and `--verify-each=exec` holds it to it.

A pass of any package says `preserves = …` as a class variable; one that says nothing keeps every bit.
"""

from dataclasses import dataclass

from xdsl.passes import ModulePass

PRESERVES = "preserves"
"""The name of the class variable."""


@dataclass(frozen=True)
class Preservation:
    """How far outputs of a module may differ from those before the pass. Integers never differ if they are compared."""

    is_held: bool = True
    """Whether outputs are compared at all."""

    relative: float = 0.0
    """How far floats may be apart, as a part of the largest finite number of the same tensor; 0: not in one bit."""

    def __str__(self) -> str:
        if not self.is_held:
            return "the semantics only"
        return f"integers, and floats to {self.relative:g}" if self.relative else "every bit"


EVERY_BIT = Preservation()
"""The outputs are the same arrays."""

ROUNDED = Preservation(relative=1e-5)
"""Integers are the same; floats are computed in another order or form, and differ by the rounding of f32 only."""

MEANING = Preservation(is_held=False)
"""Numbers change on purpose, as in a pass that decides types."""


def preservation_of(step: ModulePass | type[ModulePass]) -> Preservation:
    """What `step` declares that it preserves; every bit by default, or if its options decide."""
    declared = getattr(step, PRESERVES, EVERY_BIT)
    return declared if isinstance(declared, Preservation) else EVERY_BIT
