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
from qmlir.passmanager.choices import EVERY_PASS
from qmlir.passmanager.pipeline import NestedPipeline, Pipeline
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.text.writing import check_generated, folder_within, write_file

# The protocol of instrumentations, which observe a run of passes.


def symbol_of(op: Operation) -> str:
    """Returns the symbol name of `op`, or an empty string if it has none."""
    symbol = op.get_attr_or_prop("sym_name")
    return symbol.data if isinstance(symbol, StringAttr) else ""


def op_title(op: Operation) -> str:
    """Describes the operation that a pass runs on in MLIR's style, such as `'func.func' operation: @main`."""
    symbol = symbol_of(op)
    return f"'{op.name}' operation: @{symbol}" if symbol else f"'{op.name}' operation"


class Instrumentation:
    """Provides a context manager around each pass and each nest of passes; by default it does nothing.

    Code before the `yield` runs before the pass, and code after it runs after the pass. An error in the pass or in an
    inner instrumentation is raised at the `yield` as a `DiagnosticError`. To outer instrumentations, an error raised by
    this one looks like a failure of the pass.
    """

    def is_skipped(self, step: ModulePass, op: Operation) -> bool:
        """Returns True to skip `step` on `op`; called once, before any instrumentation is entered."""
        return False

    def around_pass(self, step: ModulePass, op: Operation) -> AbstractContextManager[None]:
        """Returns the context in which `step` runs on `op`. If the pass fails, `op` stays as the pass left it."""
        return nullcontext()

    def around_nest(self, op: Operation) -> AbstractContextManager[None]:
        """Returns the context in which the passes of a nest run on `op`, one of the operations of the nest."""
        return nullcontext()


# Timing of each pass as a tree: nests contain their passes, and the tool adds rows for its other work.


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
    """Measures the time of passes. A pass that runs on several operations of a nest has a single row."""

    def __init__(self) -> None:
        self._root = _Node()
        self._open = [self._root]

    @contextmanager
    def measure(self, name: str) -> Generator[None]:
        """Adds the time of the `with` block to the row `name` inside the enclosing row."""
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
        """Returns the tree of times in seconds, each with its percentage of the total."""
        total = sum(child.seconds for child in self._root.children.values())
        return "\n".join(["===== execution time =====", f"  total: {total:.4f} s", *self._root.rows(total)]) + "\n"


# Pass statistics (see `qmlir.ir.passes`), summed per pass.


class PassStatistics(Instrumentation):
    """Sums each statistic of each pass over the run."""

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
        """Returns one line for each statistic, with passes in the order in which they first ran."""
        rows = [
            f"  {name}: {number} {what}" for name, sums in self._sums.items() for what, number in sorted(sums.items())
        ]
        return "\n".join(["===== pass statistics =====", *rows]) + "\n"


# IR dumps: the operation that a pass runs on, before or after it, printed to a stream or to files in a directory tree.

_START = "// -----// IR dump"


@dataclass
class PrintIR(Instrumentation):
    """Prints the operation that a pass runs on, `before` and `after` the passes with these names, and `on_failure`.

    `only_changes` omits dumps after passes that changed nothing. With a `directory`, each dump is a file, numbered in
    execution order; nested operations become subdirectories.
    """

    stream: IO[str]
    options: PrintOptions
    before: Collection[str] = ()
    after: Collection[str] = ()
    only_changes: bool = False
    on_failure: bool = False
    module_scope: bool = False
    """Whether to print the whole module and the name of the operation even if a pass runs on a nested operation."""

    directory: Path | None = None
    _written: int = field(default=0, init=False)

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        if _chosen(step, self.before):
            self._dump("before", step, op)
        prints_after = _chosen(step, self.after)
        # The clone shares the bytes of weights. Comparing texts would not do, because they can omit weights.
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
        assert isinstance(shown, Operation)  # a pass runs on an operation inside a module
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
    """Yields a directory name such as `func_func_main` for `op` and each ancestor except the module."""
    while (parent := op.parent_op()) is not None:
        symbol = symbol_of(op)
        yield re.sub(r"\W", "_", f"{op.name}_{symbol}" if symbol else op.name)
        op = parent


# Changes of the operations that implement a node of the model, by pass.
#
# Before and after each pass, the name, types, attributes and regions of every operation with provenance are recorded.
# A difference becomes a `PassChange` of the node by the pass. The module is only read.


@dataclass(frozen=True)
class PassChange:
    """A change that one pass made to the operations of one node."""

    pass_name: str
    before: tuple[str, ...]
    """The operations that implemented the node, in order; a kernel that was outlined into a function is `@name`."""

    after: tuple[str, ...]

    differs: tuple[str, ...] = ()
    """The differences (`types`, `attributes`, `body`) if the operations have the same names."""

    @property
    def text(self) -> str:
        """Returns `nn.fully_connected -> nn.matmul, nn.add`, or the differences if the operations are the same."""
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
    """Everything in an operation that a pass can change, except its operands.

    Comparing attributes doesn't read weights: unchanged attributes are the same objects.
    """

    name: str
    types: list[Attribute]
    attributes: list[dict[str, Attribute]]
    body: list["_Look"]

    @staticmethod
    def of(op: Operation) -> "_Look":
        types = [value.type for value in (*op.operands, *op.results)]
        body = [_Look.of(each) for region in op.regions for block in region.blocks for each in block.ops]
        name = f"@{op.sym_name.data}" if isinstance(op, FuncOp) else op.name
        return _Look(name, types, [dict(op.properties), dict(op.attributes)], body)


def _keys(op: Operation) -> set[str]:
    return {text for origin in origins_of(op) for text in (str(origin), origin.name)}


def _keys_around(op: Operation) -> set[str]:
    """Returns the keys of the ancestors of `op`, whose records include `op`."""
    parent = op.parent_op()
    return set() if parent is None else _keys(parent) | _keys_around(parent)


def _looks(root: Operation) -> Mapping[str, list[_Look]]:
    """Returns the operations of each node, by the key of each origin and by the name of the node.

    Operations without operands (constants, empty tensors) count only for nodes that have no other operations, such as
    weights.
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
    for name in ("types", "attributes", "body"):
        if any(getattr(before, name) != getattr(after, name) for before, after in zip(old, new, strict=True)):
            yield name


class ProvenanceChanges(Instrumentation):
    """Records the changes that passes make to every node, by provenance key (`fc1`, `fc1/matmul`)."""

    def __init__(self) -> None:
        self._changes: dict[str, list[PassChange]] = defaultdict(list)

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
                self._changes[key].append(PassChange(step.name, names[0], names[1], differs))

    def of(self, key: str) -> tuple[PassChange, ...]:
        """Returns the changes of the node or component `key`, in the order of the passes."""
        return tuple(self._changes.get(key, ()))


# Crash reproducers: the module before the failing pass, with the pipeline in the first line.

_PREFIX = "// qmlir-opt reproducer: -p "


@dataclass
class CrashReproducer(Instrumentation):
    """Writes a reproducer to `path` when a pass fails or an inner instrumentation rejects its result."""

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
        original = root.clone()  # shares the bytes of weights; it is printed only on failure
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
    """Returns the pipeline text that the first line of a reproducer contains."""
    first = source.partition("\n")[0]
    if not first.startswith(_PREFIX):
        raise text_error(f"the input is not a reproducer: its first line must start with '{_PREFIX}'")
    return first.removeprefix(_PREFIX)
