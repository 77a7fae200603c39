"""What watches a run of passes: the protocol. Each kind has its own file beside this one."""

from contextlib import AbstractContextManager, nullcontext

from xdsl.ir import Operation
from xdsl.passes import ModulePass


class Instrumentation:
    """Stands around each pass and each nest of passes as a context manager; by default it does nothing.

    What it does before its `yield` happens before the pass, what it does behind it, after. An error of the pass, or of
    an instrumentation further inside, arrives at the `yield` as a `DiagnosticError`; one that the instrumentation
    raises itself makes the pass fail for those further outside.
    """

    def around_pass(self, step: ModulePass, op: Operation) -> AbstractContextManager[None]:
        """`step` runs on `op` inside this context; where it fails, `op` is as the pass left it."""
        return nullcontext()

    def around_nest(self, op: Operation) -> AbstractContextManager[None]:
        """The passes of a nest run on `op`, one of the operations that the nest is for, inside this context."""
        return nullcontext()
