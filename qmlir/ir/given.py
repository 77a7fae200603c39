"""Values that a pass takes from its caller besides its options, and options that name files to write.

The text of a pipeline has options only: a profile is a file there. Within one process the caller has the value itself,
and what a pass decides is of use to the caller.
"""

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from xdsl.passes import ModulePass


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
