"""Crash reproducers: the module as it was before the pass that failed, with the pipeline in the first line."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.passmanager.instrumentation import Instrumentation
from qmlir.passmanager.pipeline import NestedPipeline, Pipeline
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.text.writing import write_file

_PREFIX = "// qmlir-opt reproducer: -p "


@dataclass
class CrashReproducer(Instrumentation):
    """Writes a reproducer to `path` when a pass fails, or when another instrumentation refuses its result."""

    path: Path
    _anchors: list[str] = field(default_factory=list[str], init=False)

    @contextmanager
    def around_nest(self, op: Operation) -> Generator[None]:
        self._anchors.append(op.name)
        try:
            yield
        finally:
            self._anchors.pop()

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        root = op.get_toplevel_object()
        assert isinstance(root, Operation)
        original = root.clone()  # shares the weights' bytes; the text is only made where it is needed
        try:
            yield
        except DiagnosticError:
            nested: ModulePass | NestedPipeline = step
            for anchor in reversed(self._anchors):
                nested = NestedPipeline(anchor, (nested,))
            text = module_text(original, PrintOptions(weights=Weights.INLINE))
            write_file(self.path, f"{_PREFIX}{Pipeline((nested,))}\n{text}")
            raise


def pipeline_of_reproducer(source: str) -> str:
    """The text of the pipeline that the first line of a reproducer names."""
    first = source.partition("\n")[0]
    if not first.startswith(_PREFIX):
        raise text_error(f"the input is not a reproducer: its first line must start with '{_PREFIX}'")
    return first.removeprefix(_PREFIX)
