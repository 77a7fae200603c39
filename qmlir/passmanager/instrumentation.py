"""The protocol of instrumentations, which observe a run of passes. Each kind has its own file in this folder."""

from contextlib import AbstractContextManager, nullcontext

from xdsl.ir import Operation
from xdsl.passes import ModulePass


class Instrumentation:
    """A context manager around each pass and each nest of passes; by default it does nothing.

    Code before its `yield` runs before the pass, code after it after the pass. An error of the pass, or of an inner
    instrumentation, arrives at the `yield` as a `DiagnosticError`; an error that the instrumentation raises makes the
    pass fail for outer ones.
    """

    def around_pass(self, step: ModulePass, op: Operation) -> AbstractContextManager[None]:
        """`step` runs on `op` inside this context; if it fails, `op` is as the pass left it."""
        return nullcontext()

    def around_nest(self, op: Operation) -> AbstractContextManager[None]:
        """The passes of a nest run on `op`, one of the operations that the nest is for, inside this context."""
        return nullcontext()
