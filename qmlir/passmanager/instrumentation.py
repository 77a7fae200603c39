"""Instrumentations observe a run of passes: timing, statistics, IR dumps, provenance changes, crash reproducers."""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.ir.equivalence import equivalent
from qmlir.ir.passes import collected
from qmlir.ir.provenance import origins_of
from qmlir.passmanager.pipeline import NestedPipeline, Pipeline
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.text.writing import check_generated, folder_within, write_file

# The protocol of instrumentations, which observe a run of passes. Each kind has its own file in this folder.


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


# How long each pass takes, as a tree: nests hold their passes, and the tool adds what it does besides.


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


# What passes count of their work (see `qmlir.ir.passes`), summed by pass.


class PassStatistics(Instrumentation):
    """Sums each number of each pass over the run."""

    def __init__(self) -> None:
        self._sums: dict[str, Counter[str]] = {}

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        with collected() as counter:
            try:
                yield
            finally:
                self._sums.setdefault(step.name, Counter()).update(counter)

    def report(self) -> str:
        """One line for each number, passes in the order in which they first ran."""
        rows = [
            f"  {name}: {number} {what}" for name, sums in self._sums.items() for what, number in sorted(sums.items())
        ]
        return "\n".join(["===== pass statistics =====", *rows]) + "\n"


# IR dumps: the operation that a pass runs on, before and after it, to a stream or as files in a tree of folders.

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


# Which passes changed the operations that stand for a node of the model.
#
# Before and after each pass every operation with provenance is looked at: its name, its types, its attributes and
# what is in its regions. What differs for a node is a `Change` of that node by that pass. The module is only read.


@dataclass(frozen=True)
class Change:
    """The change of the operations of one node by one pass."""

    pass_name: str
    before: tuple[str, ...]
    """The operations that stood for the node, in order; a kernel that was made a function as `@name`."""

    after: tuple[str, ...]

    differs: tuple[str, ...] = ()
    """What differs if the operations are the same: `types`, `attributes`, `body`."""

    @property
    def text(self) -> str:
        """`nn.fully_connected -> nn.matmul, nn.add`, or what differs if the operations are the same."""
        if self.before == self.after:
            return f"{_listed(self.after)}: other {', '.join(self.differs)}"
        return f"{_listed(self.before)} -> {_listed(self.after)}"


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return "nothing"
    counted = {name: names.count(name) for name in names}
    return ", ".join(name if number == 1 else f"{number} x {name}" for name, number in counted.items())


@dataclass
class _Look:
    """Everything of an operation that a pass can change, except its operands.

    Attributes are compared as they are: those that were not touched are the same objects, so weights are not read.
    """

    name: str
    types: list[Attribute]
    attributes: list[dict[str, Attribute]]
    inside: list["_Look"]

    @staticmethod
    def of(op: Operation) -> "_Look":
        types = [value.type for value in (*op.operands, *op.results)]
        inside = [_Look.of(each) for region in op.regions for block in region.blocks for each in block.ops]
        name = f"@{op.sym_name.data}" if isinstance(op, FuncOp) else op.name
        return _Look(name, types, [dict(op.properties), dict(op.attributes)], inside)


def _keys(op: Operation) -> set[str]:
    return {text for origin in origins_of(op) for text in (str(origin), origin.name)}


def _keys_around(op: Operation) -> set[str]:
    """What the operations around `op` stand for: `op` is a part of their look."""
    parent = op.parent_op()
    return set() if parent is None else _keys(parent) | _keys_around(parent)


def _looks(root: Operation) -> Mapping[str, list[_Look]]:
    """The operations of each node, by the key of every origin and by the node's name.

    Operations without operands (constants, empty tensors) count only for nodes that have no others: weights.
    """
    found: dict[str, list[_Look]] = defaultdict(list)
    given: dict[str, list[_Look]] = defaultdict(list)
    for op in root.walk():
        keys = _keys(op)
        if keys := keys - _keys_around(op) if keys else keys:
            look = _Look.of(op)
            for key in keys:
                (found if op.operands or op.regions else given)[key].append(look)
    return {**given, **found}


def _differences(old: list[_Look], new: list[_Look]) -> Iterator[str]:
    pairs = list(zip(old, new, strict=True))
    if any(before.types != after.types for before, after in pairs):
        yield "types"
    if any(before.attributes != after.attributes for before, after in pairs):
        yield "attributes"
    if any(before.inside != after.inside for before, after in pairs):
        yield "body"


class ProvenanceChanges(Instrumentation):
    """Records the changes of every node by provenance key (`fc1`, `fc1/matmul`) and pass."""

    def __init__(self) -> None:
        self._changes: dict[str, list[Change]] = defaultdict(list)

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        before = _looks(op)
        yield
        after = _looks(op)
        for key in dict.fromkeys((*before, *after)):
            old, new = before.get(key, []), after.get(key, [])
            if old != new:
                names = [tuple(look.name for look in looks) for looks in (old, new)]
                differs = tuple(_differences(old, new)) if names[0] == names[1] else ()
                self._changes[key].append(Change(step.name, names[0], names[1], differs))

    def of(self, key: str) -> tuple[Change, ...]:
        """The changes of the node or part `key`, in the order in which the passes ran."""
        return tuple(self._changes.get(key, ()))


# Crash reproducers: the module as it was before the pass that failed, with the pipeline in the first line.

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
