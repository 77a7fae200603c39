"""Declarations of passes in addition to their options: values from the caller, preserved results, statistics."""

import copy
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from xdsl.passes import ModulePass

# Values that a pass takes from its caller in addition to its options, and options that name files to write.
#
# A textual pipeline has only options, so it names a profile by its file. Within one process, the caller passes the
# value itself, and receives the decisions of the pass.


class TakesValues(ModulePass):
    """A pass that takes values from its caller. `VALUES` names the class variables for them; `None` means no value."""

    VALUES: ClassVar[tuple[str, ...]] = ()

    def given(self, values: Mapping[str, Any]) -> Self:
        """Returns a copy of this pass with those of `values` that it takes."""
        made = copy.copy(self)
        vars(made).update({name: value for name, value in values.items() if name in self.VALUES})  # a pass is frozen
        return made


class WritesFiles(ModulePass):
    """A pass with options that name output files; `WRITES` lists these options.

    Only the command line may name output files, never a pipeline read from a file (`Pipeline.check_writes_nothing`).
    """

    WRITES: ClassVar[tuple[str, ...]] = ()


# Preservation of a module's results: each pass declares how exactly it preserves them, and `--verify-each=exec` checks
# it.
#
# A pass of any package declares `preserves = …` as a class variable; the default is bit-identical results.

PRESERVES = "preserves"
"""The name of the class variable."""


@dataclass(frozen=True)
class Preservation:
    """The tolerance for a module's outputs after a pass. If outputs are compared, integers must be equal."""

    is_held: bool = True
    """Whether outputs are compared at all."""

    relative: float = 0.0
    """The tolerance for floats, relative to the largest finite element of the tensor; 0 requires bit-identical floats.
    """

    def __str__(self) -> str:
        if not self.is_held:
            return "the semantics only"
        return f"integers, and floats to {self.relative:g}" if self.relative else "every bit"


EVERY_BIT = Preservation()
"""All outputs are bit-identical."""

ROUNDED = Preservation(relative=1e-5)
"""Integers are equal. Floats may be computed in another order or form, so they may differ by f32 rounding."""

MEANING = Preservation(is_held=False)
"""Outputs are not compared, because the pass changes results on purpose (by choosing types, for example)."""


def preservation_of(step: ModulePass | type[ModulePass]) -> Preservation:
    """Returns the preservation that `step` declares, by default `EVERY_BIT`.

    Returns the default also for a pass class whose preservation depends on the options of its instances.
    """
    declared = getattr(step, PRESERVES, EVERY_BIT)
    return declared if isinstance(declared, Preservation) else EVERY_BIT


# Statistics of a pass run: a pass calls `count("operations erased", 3)`, the pass manager collects the numbers.

_current: ContextVar[Counter[str] | None] = ContextVar("qmlir_pass_statistics", default=None)


def count(what: str, number: int = 1) -> None:
    """Adds `number` to the statistic `what` of the running pass; has no effect outside a pass manager."""
    counter = _current.get()
    if counter is not None and number:
        counter[what] += number


@contextmanager
def collected() -> Generator[Counter[str]]:
    """Yields a counter that collects the statistics counted inside the `with` block."""
    counter: Counter[str] = Counter()
    token = _current.set(counter)
    try:
        yield counter
    finally:
        _current.reset(token)
