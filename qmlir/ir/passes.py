"""What a pass declares and takes besides its options: values of the caller, what it preserves, what it counts."""

import copy
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from xdsl.passes import ModulePass

# Values that a pass takes from its caller besides its options, and options that name files to write.
#
# The text of a pipeline has options only: a profile is a file there. Within one process the caller has the value
# itself, and what a pass decides is of use to the caller.


class TakesValues(ModulePass):
    """A pass that its caller may give values, by the names in `VALUES`: class variables, `None` where none is given."""

    VALUES: ClassVar[tuple[str, ...]] = ()

    def given(self, values: Mapping[str, Any]) -> Self:
        """This pass with those of `values` that it takes."""
        made = copy.copy(self)
        vars(made).update({name: value for name, value in values.items() if name in self.VALUES})  # a pass is frozen
        return made


class WritesFiles(ModulePass):
    """A pass with options that name files to write, by their names in `WRITES`.

    Only a command line names such a file: no text from a file may (`Pipeline.check_writes_nothing`).
    """

    WRITES: ClassVar[tuple[str, ...]] = ()


# What a pass keeps of the numbers that a module computes: it declares it, and `--verify-each=exec` holds it to it.
#
# A pass of any package says `preserves = …` as a class variable; one that says nothing keeps every bit.

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


# Numbers that a pass tells of its run: `count("operations erased", 3)` inside a pass, collected by the manager.

_current: ContextVar[Counter[str] | None] = ContextVar("qmlir_pass_statistics", default=None)


def count(what: str, number: int = 1) -> None:
    """Add `number` to the statistic `what` of the pass that runs now; nothing happens outside a pass manager."""
    counter = _current.get()
    if counter is not None and number:
        counter[what] += number


@contextmanager
def collected() -> Generator[Counter[str]]:
    """Collect what is counted inside the `with` block."""
    counter: Counter[str] = Counter()
    token = _current.set(counter)
    try:
        yield counter
    finally:
        _current.reset(token)
