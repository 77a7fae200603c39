"""The protocol of instrumentations, which observe a run of passes. Each kind has its own file in this folder."""

from contextlib import AbstractContextManager, nullcontext

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass


def symbol_of(op: Operation) -> str:
    """The name of a symbol, empty for what is none."""
    symbol = op.get_attr_or_prop("sym_name")
    return symbol.data if isinstance(symbol, StringAttr) else ""


def op_title(op: Operation) -> str:
    """The operation that a pass runs on, in upstream's words: `'func.func' operation: @main`."""
    symbol = symbol_of(op)
    return f"'{op.name}' operation: @{symbol}" if symbol else f"'{op.name}' operation"


class Instrumentation:
    """A context manager around each pass and each nest of passes; by default it does nothing.

    Code before its `yield` runs before the pass, code after it after the pass. An error of the pass, or of an inner
    instrumentation, arrives at the `yield` as a `DiagnosticError`; an error that the instrumentation raises makes the
    pass fail for outer ones.
    """

    def is_skipped(self, step: ModulePass, op: Operation) -> bool:
        """Whether `step` is left out on `op`; asked once, before any instrumentation is entered."""
        return False

    def around_pass(self, step: ModulePass, op: Operation) -> AbstractContextManager[None]:
        """`step` runs on `op` inside this context; if it fails, `op` is as the pass left it."""
        return nullcontext()

    def around_nest(self, op: Operation) -> AbstractContextManager[None]:
        """The passes of a nest run on `op`, one of the operations that the nest is for, inside this context."""
        return nullcontext()
