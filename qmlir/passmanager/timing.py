"""How long each pass takes, as a tree: nests hold their passes, and the tool adds what it does besides."""

import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.passmanager.instrumentation import Instrumentation


@dataclass
class _Node:
    seconds: float = 0.0
    children: dict[str, "_Node"] = field(default_factory=dict[str, "_Node"])

    def rows(self, whole: float, depth: int = 0) -> Iterator[str]:
        for name, child in self.children.items():
            share = 100 * child.seconds / whole if whole else 0.0
            yield f"  {child.seconds:9.4f} s {share:5.1f}%  {'  ' * depth}{name}"
            yield from child.rows(whole, depth + 1)


class Timing(Instrumentation):
    """Measures passes; one pass on many operations of a nest is one row."""

    def __init__(self) -> None:
        self._root = _Node()
        self._open = [self._root]

    @contextmanager
    def measure(self, name: str) -> Generator[None]:
        """Add the time of the `with` block to the row `name` of what is measured around it."""
        node = self._open[-1].children.setdefault(name, _Node())
        self._open.append(node)
        start = time.perf_counter()
        try:
            yield
        finally:
            node.seconds += time.perf_counter() - start
            self._open.pop()

    def around_pass(self, step: ModulePass, op: Operation) -> AbstractContextManager[None]:
        return self.measure(step.name)

    def around_nest(self, op: Operation) -> AbstractContextManager[None]:
        return self.measure(f"'{op.name}' pipeline")

    def report(self) -> str:
        """The tree of times in seconds, with the percentage of the whole."""
        total = sum(child.seconds for child in self._root.children.values())
        return "\n".join(["===== execution time =====", f"  total: {total:.4f} s", *self._root.rows(total)]) + "\n"
