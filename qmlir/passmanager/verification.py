"""Checks after each pass (IR verification, textual round trip, execution), and bisection over passes."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.equivalence import equivalent
from qmlir.ir.passes import Preservation, preservation_of
from qmlir.ir.verification import verify
from qmlir.passmanager.instrumentation import Instrumentation, op_title
from qmlir.passmanager.pipeline import step_text
from qmlir.text.printing import PrintOptions, Weights, module_text

# Bisection runs only the first passes, so that a search over their number finds the faulty one. Like LLVM's
# `-opt-bisect-limit`, it counts each pass on each operation.


@dataclass
class Bisection(Instrumentation):
    """Skips all passes after the first `limit` (-1: none), and logs to `stream` which passes run and which don't."""

    stream: IO[str]
    limit: int
    _count: int = field(default=0, init=False)

    def is_skipped(self, step: ModulePass, op: Operation) -> bool:
        self._count += 1
        is_skipped = 0 <= self.limit < self._count
        what = "NOT running" if is_skipped else "running"
        self.stream.write(f"BISECT: {what} pass ({self._count}) {step_text(step)} on {op_title(op)}\n")
        return is_skipped


# Verification of the IR and of the round trip through text.

Reparse = Callable[[str], ModuleOp]
"""Parses text in the same way as the tool parses its input."""


class VerifyEach(Instrumentation):
    """Verifies the operation after each pass, and names the pass that broke it."""

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        yield
        with naming(step, "after"):
            verify(op)


@dataclass(frozen=True)
class VerifyRoundtrip(Instrumentation):
    """Prints and reparses the whole module after each pass and compares the two."""

    reparse: Reparse

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        yield
        root = op.get_toplevel_object()
        assert isinstance(root, ModuleOp)  # the pass manager runs on modules
        with naming(step, "after"):
            verify_roundtrip(root, self.reparse)


def verify_roundtrip(module: ModuleOp, reparse: Reparse) -> None:
    """Raises `DiagnosticError` unless the custom and the generic text of `module` both parse to an equal module."""
    for form, generic in (("", False), ("generic ", True)):
        text = module_text(module, PrintOptions(generic=generic, weights=Weights.INLINE))
        try:
            again = reparse(text)
        except DiagnosticError as error:
            complaint = f"{error.diagnostic.message}: {_line(text, error)}"
            raise op_error(module, f"the {form}text that it prints does not parse: {complaint}") from error
        if not equivalent(module, again):
            raise op_error(
                module, f"the {form}text that it prints does not round-trip: parsing it returns another module"
            )


def _line(text: str, error: DiagnosticError) -> str:
    """Returns the line of `text` that `error` points at."""
    location = error.diagnostic.location
    return text.splitlines()[location.line - 1].strip()[:160] if location else ""


@contextmanager
def naming(step: ModulePass, when: str, declared: str = "") -> Generator[None]:
    """Adds the name of the pass to errors in the `with` block, as in `(after pass 'cse')`, followed by `declared`."""
    try:
        yield
    except DiagnosticError as error:
        raise error.ending(f" ({when} pass '{step.name}'{declared})") from error


# Verification by execution: the module runs before and after each pass, and the results must agree as closely as the
# pass declares. The caller provides the executor.


class Executor(Protocol):
    """Runs modules and caches the outputs of the last one."""

    def prepare(self, module: ModuleOp) -> None:
        """Runs `module` unless its outputs are cached. Raises `DiagnosticError` if it fails to run."""

    def forget(self) -> None:
        """Drops the cached outputs, because the module's outputs have changed."""

    def check(self, before: ModuleOp, after: ModuleOp, preservation: Preservation) -> None:
        """Raises `DiagnosticError` if results of `before` and `after` differ more than `preservation` allows."""


@dataclass(frozen=True)
class VerifyExecution(Instrumentation):
    """Runs the whole module before and after each pass, and names the first pass that changes a result.

    Each pass declares how closely it preserves results (`qmlir.ir.passes`). Nothing is compared after a pass that
    declares `MEANING`.
    """

    executor: Executor

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        preservation = preservation_of(step)
        if not preservation.is_held:
            yield
            self.executor.forget()
            return
        root = op.get_toplevel_object()
        assert isinstance(root, ModuleOp)  # the pass manager runs on modules
        with naming(step, "before"):
            self.executor.prepare(root)
        original = root.clone()  # shares the bytes of weights
        yield
        with naming(step, "after", f", which keeps {preservation}"):
            self.executor.check(original, root, preservation)
