"""IR dumps: the operation that a pass runs on, before and after it, to a stream or as files in a tree of folders."""

import re
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.equivalence import equivalent
from qmlir.passmanager.instrumentation import Instrumentation, op_title, symbol_of
from qmlir.text.printing import PrintOptions, module_text
from qmlir.text.writing import check_generated, folder_within, write_file

_START = "// -----// IR dump"

EVERY_PASS = "*"
"""Matches every pass where passes are chosen by name."""


@dataclass
class PrintIR(Instrumentation):
    """Prints the operation that a pass runs on: `before` and `after` the passes of these names, and `on_failure`.

    With `only_changes`, dumps after passes that changed nothing are omitted. With a `directory` each dump is a file,
    numbered in the order of the run; the operations of nested passes give the folders.
    """

    stream: IO[str]
    options: PrintOptions
    before: Collection[str] = ()
    after: Collection[str] = ()
    only_changes: bool = False
    on_failure: bool = False
    module_scope: bool = False
    """Whether the whole module is printed, with the name of the operation, where a pass runs on a part of it."""

    directory: Path | None = None
    _written: int = field(default=0, init=False)

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        if _chosen(step, self.before):
            self._dump("before", step, op)
        prints_after = _chosen(step, self.after)
        # The clone shares the weights' bytes; texts would not do, they can leave weights out.
        original = op.clone() if prints_after and self.only_changes else None
        try:
            yield
        except DiagnosticError:
            if self.on_failure:
                self._dump("after failure of", step, op)
            raise
        if prints_after and (original is None or not equivalent(original, op)):
            self._dump("after", step, op)

    def _dump(self, when: str, step: ModulePass, op: Operation) -> None:
        shown, where = (op.get_toplevel_object(), f" ({op_title(op)})") if self.module_scope else (op, "")
        assert isinstance(shown, Operation)  # a pass runs on what is in a module
        text = f"{_START} {when} {step}{where} //----- //\n{module_text(shown, self.options)}"
        if self.directory is None:
            self.stream.write(f"{text}\n")
            return
        folder = folder_within(self.directory, *reversed(list(_folders(op))))
        path = folder / f"{self._written:03d}_{when.replace(' ', '_')}_{step.name}.mlir"
        check_generated(path, _START.encode())
        write_file(path, text)
        self._written += 1


def _chosen(step: ModulePass, names: Collection[str]) -> bool:
    return step.name in names or EVERY_PASS in names


def _folders(op: Operation) -> Iterator[str]:
    """`func_func_main` for each operation from `op` outwards, up to the module, which has none."""
    while (parent := op.parent_op()) is not None:
        symbol = symbol_of(op)
        yield re.sub(r"\W", "_", f"{op.name}_{symbol}" if symbol else op.name)
        op = parent
