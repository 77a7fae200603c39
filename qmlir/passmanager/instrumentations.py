"""What `qmlir-opt` can watch while passes run: IR, time, statistics, the verifier, a reproducer of a crash."""

import re
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error
from qmlir.ir.statistics import collected
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import Instrumentation
from qmlir.passmanager.pipeline import Nest, Pipeline
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.text.weights import write_atomically

REPRODUCER_PREFIX = "// qmlir-opt reproducer: -p "
"""How the first line of a crash reproducer begins; the rest of the line is the pipeline."""

ALL = frozenset({"*"})
"""Stands for every pass where passes are chosen by name."""


def _chosen(step: ModulePass, names: Collection[str]) -> bool:
    return names is ALL or step.name in names


def _root(op: Operation) -> Operation:
    root = op.get_toplevel_object()
    assert isinstance(root, Operation)
    return root


@dataclass
class PrintIR(Instrumentation):
    """Prints the operation that a pass runs on, before and after the chosen passes, or where one changed it."""

    stream: IO[str]
    options: PrintOptions
    before: Collection[str] = ()
    after: Collection[str] = ()
    only_on_change: bool = False
    on_failure: bool = False
    directory: Path | None = None
    _texts: list[str] = field(default_factory=list[str], init=False)
    _number: int = field(default=0, init=False)

    def before_pass(self, step: ModulePass, op: Operation) -> None:
        if _chosen(step, self.before):
            self._dump("before", step, module_text(op, self.options))
        if self.only_on_change:
            self._texts.append(module_text(op, self.options))

    def after_pass(self, step: ModulePass, op: Operation) -> None:
        if not _chosen(step, self.after) and not self.only_on_change:
            return
        text = module_text(op, self.options)
        if self.only_on_change and self._texts.pop() == text:
            return
        self._dump("after", step, text)

    def pass_failed(self, step: ModulePass, op: Operation) -> None:
        if self.only_on_change:
            self._texts.pop()
        if self.on_failure:
            self._dump("after failure of", step, module_text(op, self.options))

    def _dump(self, when: str, step: ModulePass, text: str) -> None:
        title = f"// -----// IR dump {when} {step} //----- //\n"
        if self.directory is None:
            self.stream.write(title + text + "\n")
            return
        name = re.sub(r"\W+", "_", f"{self._number:03d}_{when}_{step.name}")
        self._number += 1
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise text_error(f"cannot make the folder '{self.directory}': {error.strerror}") from error
        write_atomically(self.directory / f"{name}.mlir", title + text)


@dataclass
class _TimedNode:
    name: str
    seconds: float = 0.0
    children: dict[str, "_TimedNode"] = field(default_factory=dict[str, "_TimedNode"])


@dataclass
class Timing(Instrumentation):
    """Measures each pass; nests are summed over their operations."""

    root: _TimedNode = field(default_factory=lambda: _TimedNode("root"))
    _open: list[tuple[_TimedNode, float]] = field(default_factory=list[tuple[_TimedNode, float]], init=False)

    def _enter(self, name: str) -> None:
        parent = self._open[-1][0] if self._open else self.root
        self._open.append((parent.children.setdefault(name, _TimedNode(name)), time.perf_counter()))

    def _leave(self) -> None:
        node, start = self._open.pop()
        node.seconds += time.perf_counter() - start

    def before_pass(self, step: ModulePass, op: Operation) -> None:
        self._enter(step.name)

    def after_pass(self, step: ModulePass, op: Operation) -> None:
        self._leave()

    def pass_failed(self, step: ModulePass, op: Operation) -> None:
        self._leave()

    def before_nest(self, anchor: str) -> None:
        self._enter(f"'{anchor}' pipeline")

    def after_nest(self, anchor: str) -> None:
        self._leave()

    def report(self) -> str:
        """The tree of times in seconds, with each part's share of the whole."""
        total = sum(child.seconds for child in self.root.children.values())
        lines = ["===== execution time =====", f"  total: {total:.4f} s"]

        def add(node: _TimedNode, depth: int) -> None:
            for child in node.children.values():
                share = 100 * child.seconds / total if total else 0.0
                lines.append(f"  {child.seconds:9.4f} s {share:5.1f}%  {'  ' * depth}{child.name}")
                add(child, depth + 1)

        add(self.root, 0)
        return "\n".join(lines) + "\n"


class Statistics(Instrumentation):
    """Collects what each pass counts."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int]] = []
        self._stack = ExitStack()
        self._counters: list[dict[str, int]] = []

    def before_pass(self, step: ModulePass, op: Operation) -> None:
        self._counters.append(self._stack.enter_context(collected()))

    def _close(self, step: ModulePass) -> None:
        self._stack.close()
        counter = self._counters.pop()
        self.rows.extend((step.name, what, number) for what, number in sorted(counter.items()))

    def after_pass(self, step: ModulePass, op: Operation) -> None:
        self._close(step)

    def pass_failed(self, step: ModulePass, op: Operation) -> None:
        self._close(step)

    def report(self) -> str:
        """One line for each number, passes in the order in which they ran."""
        rows = [f"  {name}: {number} {what}" for name, what, number in self.rows]
        return "\n".join(["===== pass statistics =====", *rows]) + "\n"


class VerifyEach(Instrumentation):
    """Verifies the operation after each pass, and names the pass that broke it."""

    def after_pass(self, step: ModulePass, op: Operation) -> None:
        try:
            verify(op)
        except DiagnosticError as error:
            message = f"{error.diagnostic.message} (after pass '{step.name}')"
            raise DiagnosticError(replace(error.diagnostic, message=message)) from error


@dataclass
class VerifyRoundtrip(Instrumentation):
    """Prints and reparses the module after each pass and compares the two."""

    reparse: Callable[[str], ModuleOp]

    def after_pass(self, step: ModulePass, op: Operation) -> None:
        root = _root(op)
        again = self.reparse(module_text(root, PrintOptions(weights=Weights.INLINE)))
        if not root.is_structurally_equivalent(again):
            raise op_error(op, f"the text after pass '{step.name}' does not read back as the same module")


@dataclass
class CrashReproducer(Instrumentation):
    """Keeps the module as it was before the pass that runs, and writes it with the pipeline when the pass fails."""

    path: Path
    pipeline: Pipeline
    _anchors: list[str] = field(default_factory=list[str], init=False)
    _text: str = field(default="", init=False)

    def before_nest(self, anchor: str) -> None:
        self._anchors.append(anchor)

    def after_nest(self, anchor: str) -> None:
        self._anchors.pop()

    def before_pass(self, step: ModulePass, op: Operation) -> None:
        self._text = module_text(_root(op), PrintOptions(debuginfo=False, weights=Weights.INLINE))

    def pass_failed(self, step: ModulePass, op: Operation) -> None:
        nested: ModulePass | Nest = step
        for anchor in reversed(self._anchors):
            nested = Nest(anchor, (nested,))
        write_atomically(self.path, f"{REPRODUCER_PREFIX}{Pipeline((nested,))}\n{self._text}")
