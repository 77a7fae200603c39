"""What is checked after each pass: that the IR verifies, and that its text reads back as the same module."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.equivalence import equivalent
from qmlir.ir.verification import verify
from qmlir.passmanager.instrumentation import Instrumentation
from qmlir.text.printing import PrintOptions, Weights, module_text

Reparse = Callable[[str], ModuleOp]
"""Reads a text as the tool reads its input."""


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
    """Raise `DiagnosticError` unless the short and the generic text of `module` read back as the same module."""
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
    """The line of `text` that `error` points at."""
    place = error.diagnostic.location
    return text.splitlines()[place.line - 1].strip()[:160] if place else ""


@contextmanager
def naming(step: ModulePass, when: str, declared: str = "") -> Generator[None]:
    """Name the pass in an error, as `(after pass 'cse')`; `declared` says more of the pass."""
    try:
        yield
    except DiagnosticError as error:
        named = f" ({when} pass '{step.name}'{declared})"
        raise DiagnosticError(*(replace(each, message=each.message + named) for each in error.diagnostics)) from error
