"""The greedy rewrite driver: applies patterns and folds operations until nothing changes, within a budget."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType
from typing import Protocol, cast, runtime_checkable

from xdsl.context import Context
from xdsl.dialects.arith import SignlessIntegerBinaryOperation
from xdsl.dialects.builtin import UnknownLoc
from xdsl.folder import Folder
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import ConstantLike, HasFolder
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.worklist import Worklist

from qmlir.ir.decomposition import marks_on, set_marks
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.effects import is_dead
from qmlir.ir.limits import out_of_memory
from qmlir.ir.provenance import TENSOR, hand_on, merged_origins, origins_of, set_origins, set_tensor_names, tensor_names
from qmlir.registry import Hook, in_package, pattern_hooks
from qmlir.registry.faults import RAISED, one_line

# All operations inside an operation as a list: xDSL's own walk resumes a generator for each nesting level.


def operations_in(root: Operation) -> list[Operation]:
    """Returns `root` and its nested operations in the order of `root.walk()`: parents precede their regions."""
    found = [root]
    _add_nested(root, found)
    return found


def _add_nested(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        for block in region.blocks:
            each = block.first_op
            while each is not None:
                found.append(each)
                if each.regions:
                    _add_nested(each, found)
                each = each.next_op


# The greedy rewrite driver: patterns and folds to a fixpoint, with provenance, locations and a budget.
#
# xDSL's own walker drops provenance and locations, never gives up on patterns that undo each other, and prints the
# whole module into an exception. This driver propagates provenance and locations, stops with the pattern's name when
# the budget is used up, and names the operation and the pattern in an error.

DEFAULT_BUDGET = 64
"""The average number of rewrites per operation of the module after which the driver gives up."""

_MINIMUM_REWRITES = 4096

_FOLD = "folding"
_DCE = "dead code elimination"


@dataclass(frozen=True)
class RewriteStatistics:
    """The number of changes made by each pattern (by class name), by folding, and by dead code elimination."""

    counts: Counter[str]

    @property
    def changed(self) -> bool:
        return bool(self.counts)


@dataclass
class _MatchRecord:
    """The effect of one match: the operations that it created, and those that they replace."""

    created: dict[Operation, None] = field(default_factory=dict[Operation, None])
    replaced: dict[Operation, tuple[SSAValue | None, ...]] = field(
        default_factory=dict[Operation, tuple[SSAValue | None, ...]]
    )
    erased: dict[Operation, None] = field(default_factory=dict[Operation, None])


def _is_unknown(op: Operation) -> bool:
    return isinstance(op.location, UnknownLoc)


def _hand_on_from_match(root: Operation, record: _MatchRecord) -> None:
    """Propagates provenance and location from the removed operations of a match to the new ones.

    A new operation without provenance gets the origins of all replaced operations (of the matched one if the pattern
    replaced none). An existing operation that now defines a replaced result also gets the origins of the replaced
    operation.
    """
    sources = tuple(record.replaced) or (root,)
    origins = merged_origins(sources)
    location = next((source.location for source in sources if not _is_unknown(source)), None)
    for op in record.created:
        if op in record.erased:
            continue
        if origins and not origins_of(op):
            set_origins(op, origins)
        if location is not None and _is_unknown(op):
            op.location = location
    for source, results in record.replaced.items():
        _hand_on_marks(source, results, record)
        if not origins_of(source):
            continue
        _hand_on_names(source, results, record)
        owners = {result.op: None for result in results if isinstance(result, OpResult)}
        for owner in owners:
            if owner not in record.created and owner not in record.erased:
                hand_on((source,), owner)


def _hand_on_marks(source: Operation, results: Sequence[SSAValue | None], record: _MatchRecord) -> None:
    """Records on the new operation that it replaces a composite's last part, after its own records."""
    first = results[0] if results else None
    if (marks := marks_on(source)) and isinstance(first, OpResult) and first.op in record.created:
        set_marks(first.op, (*marks_on(first.op), *marks))


def _hand_on_names(source: Operation, results: Sequence[SSAValue | None], record: _MatchRecord) -> None:
    """Propagates the tensor names of `source` to the new operations whose results replace its own."""
    if TENSOR not in source.attributes:
        return
    for name, value in zip(tensor_names(source), results, strict=False):
        if not name or not isinstance(value, OpResult) or value.op not in record.created:
            continue
        names = list(tensor_names(value.op)) if TENSOR in value.op.attributes else [""] * len(value.op.results)
        names[value.index] = name  # the name of the replaced value, wherever its attributes were copied from
        set_tensor_names(value.op, names)


def _budget_error(op: Operation, limit: int, counts: Counter[str], hooks: Iterable[Hook]) -> DiagnosticError:
    owners = {pattern_name(hook.function): hook.at() for hook in hooks}
    busiest = ", ".join(f"'{name}' ({count} times){owners.get(name, '')}" for name, count in counts.most_common(3))
    return op_error(op, f"rewriting did not converge within {limit} rewrites; most frequent patterns: {busiest}")


def _is_visible(value: SSAValue, op: Operation) -> bool:
    """Whether `op` may use `value`: it is defined earlier, in the same block or an enclosing one."""
    owner = value.owner
    block = owner.parent if isinstance(owner, Operation) else owner
    inside = op if block is None else block.find_ancestor_op_in_block(op)
    if block is None or inside is None:
        return False
    return not isinstance(owner, Operation) or (owner is not inside and owner.is_before_in_block(inside))


def _check_match(op: Operation, record: _MatchRecord, hook: Hook) -> None:
    """Raises `DiagnosticError` if a package's pattern has left operations that don't verify."""
    users = (use.operation for results in record.replaced.values() for each in results if each for use in each.uses)
    for touched in dict.fromkeys((*record.created, *users)):
        if touched in record.erased or touched.parent is None:
            continue
        hidden = next((value for value in touched.operands if not _is_visible(value, touched)), None)
        reason = "" if hidden is None else f"it uses a value of type {hidden.type} that is not defined before it"
        try:
            touched.verify(verify_nested_ops=False)
        except DiagnosticException as error:
            reason = reason or " ".join(str(error).split())
        if reason:
            name, which = pattern_name(hook.function), "makes" if touched in record.created else "changes an operand of"
            raise op_error(op, f"pattern '{name}' {which} '{touched.name}', which does not verify: {reason}{hook.at()}")


def pattern_name(pattern: RewritePattern) -> str:
    """Returns the name of a pattern for messages and statistics: its class name, or the name that a wrapper defines."""
    name = getattr(pattern, "pattern_name", None)
    return name if isinstance(name, str) else type(pattern).__name__


@runtime_checkable
class MatchesClasses(Protocol):
    """A pattern that declares the operation classes that it may match, so that it isn't tried on other operations."""

    def may_match(self, kind: type[Operation], /) -> bool:
        """Returns whether the pattern may match an operation of the class `kind`."""
        ...


@runtime_checkable
class AppliesOthers(Protocol):
    """A pattern that applies several other patterns."""

    tried: RewritePattern
    """The pattern that was tried most recently."""


def _may_match(pattern: RewritePattern, kind: type[Operation]) -> bool:
    """Whether `pattern` may match a class: it declares so, or `op_type_rewrite_pattern` restricts the type."""
    if issubclass(type(pattern), MatchesClasses):  # Python caches the result for classes, not for instances
        return cast(MatchesClasses, pattern).may_match(kind)
    function = getattr(pattern.match_and_rewrite, "__func__", None)
    if not isinstance(function, FunctionType) or function.__code__ is not _TYPED:
        return True
    # `getclosurevars` also looks up globals, which is slow for many patterns.
    captured = dict(zip(_TYPED.co_freevars, function.__closure__ or (), strict=True))
    return issubclass(kind, captured["expected_type"].cell_contents)


class _Typed(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None: ...


_TYPED = _Typed.match_and_rewrite.__code__
"""The code object that all methods created by `op_type_rewrite_pattern` share."""


class _GreedyDriver:
    """One run of the driver over everything nested in `root`."""

    def __init__(
        self,
        root: Operation,
        patterns: Sequence[RewritePattern],
        ctx: Context,
        folding: bool,
        budget: int,
        only: Callable[[Operation], bool] | None,
    ) -> None:
        self.root = root
        self.patterns = patterns
        self.of_class: dict[type[Operation], tuple[RewritePattern, ...]] = {}
        """The patterns that may match operations of a class."""

        self.only = only
        self.folder = Folder(ctx) if folding else None
        self.worklist = Worklist()
        self.record = _MatchRecord()
        self.counts: Counter[str] = Counter()
        self.hooks = pattern_hooks()
        self.budget = budget
        self.limit = _MINIMUM_REWRITES
        self.rewrites = 0
        self.listener = PatternRewriterListener(
            operation_insertion_handler=[self._inserted],
            operation_removal_handler=[self._removed],
            operation_modification_handler=[self.worklist.push],
            operation_replacement_handler=[self._replaced],
        )

    def _inserted(self, op: Operation) -> None:
        for nested in operations_in(op):
            self.record.created[nested] = None
        self.worklist.push(op)

    def _removed(self, op: Operation) -> None:
        for nested in operations_in(op):
            self.record.erased[nested] = None
            self.worklist.remove(nested)
        for operand in op.operands:
            if isinstance(operand, OpResult):
                self.worklist.push(operand.op)

    def _replaced(self, op: Operation, results: Sequence[SSAValue | None]) -> None:
        self.record.replaced[op] = tuple(results)
        for result in op.results:
            for use in result.uses:
                self.worklist.push(use.operation)

    def run(self) -> RewriteStatistics:
        operations = operations_in(self.root)
        self.limit = max(_MINIMUM_REWRITES, self.budget * len(operations))
        while operations:
            before = self.rewrites
            for op in reversed(operations):
                if op is not self.root and self._may_change(op):
                    self.worklist.push(op)
            while self.worklist:
                self._visit(self.worklist.pop())
            operations = operations_in(self.root) if self.rewrites != before else []
        return RewriteStatistics(self.counts)

    def _may_change(self, op: Operation) -> bool:
        """Whether a visit may change anything: for most operations, no pattern matches the class."""
        kind = type(op)
        return bool(self._of_class(kind)) or (self.folder is not None and _is_folded(kind)) or is_dead(op)

    def _visit(self, op: Operation) -> None:
        if op.parent is None:  # erased by another rewrite
            return
        is_unused = is_dead(op)
        patterns = () if is_unused else self._patterns_for(op)
        folder = self.folder if not is_unused and _may_fold(op) else None
        if not (is_unused or patterns or folder):
            return
        rewriter = PatternRewriter(op)
        rewriter.extend_from_listener(self.listener)
        if is_unused:
            rewriter.erase(op)
            applied = _DCE
        elif folder is not None and folder.replace_with_fold(op, rewriter) is not None:
            applied = _FOLD
        else:
            pattern = _apply_first(patterns, op, rewriter)
            applied = None if pattern is None else pattern_name(pattern)
            if pattern is not None and (hook := self.hooks.get(id(pattern))) is not None:
                _check_match(op, self.record, hook)
        if applied is None:
            return
        _hand_on_from_match(op, self.record)
        self.record = _MatchRecord()
        self.counts[applied] += 1
        self.rewrites += 1
        if self.rewrites > self.limit:
            raise _budget_error(self.root, self.limit, self.counts, self.hooks.values())

    def _patterns_for(self, op: Operation) -> tuple[RewritePattern, ...]:
        patterns = self._of_class(type(op))
        return patterns if self.only is None or not patterns or self.only(op) else ()

    def _of_class(self, kind: type[Operation]) -> tuple[RewritePattern, ...]:
        if kind not in self.of_class:
            self.of_class[kind] = tuple(each for each in self.patterns if _may_match(each, kind))
        return self.of_class[kind]


@cache
def _is_folded(kind: type[Operation]) -> bool:
    """Whether a class has a folder. A constant, which folds to itself, would be recreated forever."""
    return kind.has_trait(HasFolder, value_if_unregistered=False) and not _is_constant(kind)


@cache
def _is_constant(kind: type[Operation]) -> bool:
    return kind.has_trait(ConstantLike, value_if_unregistered=False)


@cache
def _folds_constants_only(kind: type[Operation]) -> bool:
    """Whether a class folds only constants, like xDSL's integer arithmetic, which dominates kernels."""
    arithmetic = SignlessIntegerBinaryOperation
    return issubclass(kind, arithmetic) and kind.fold is arithmetic.fold


def _may_fold(op: Operation) -> bool:
    kind = type(op)
    if not _is_folded(kind) or not _folds_constants_only(kind):
        return _is_folded(kind)
    return any(isinstance(operand, OpResult) and _is_constant(type(operand.op)) for operand in op.operands)


def _apply_first(patterns: Iterable[RewritePattern], op: Operation, rewriter: PatternRewriter) -> RewritePattern | None:
    """Applies the first pattern that changes something, and returns it."""
    for pattern in patterns:
        try:
            pattern.match_and_rewrite(op, rewriter)
        except DiagnosticError:
            raise
        except DiagnosticException as error:
            raise op_error(op, f"pattern '{pattern_name(pattern)}' failed: {error}{in_package(error)}") from error
        except MemoryError as error:
            text = f"pattern '{pattern_name(pattern)}' failed: {out_of_memory(error)}"
            raise op_error(op, f"{text}{in_package(error)}") from error
        except RAISED as error:
            if not (where := in_package(error)):
                raise
            raise op_error(op, f"pattern '{pattern_name(pattern)}' failed: {one_line(error)}{where}") from error
        if rewriter.has_done_action:
            return pattern.tried if isinstance(pattern, AppliesOthers) else pattern
    return None


def apply_patterns_greedily(
    root: Operation,
    patterns: Iterable[RewritePattern],
    ctx: Context,
    *,
    folding: bool = False,
    budget: int = DEFAULT_BUDGET,
    only: Callable[[Operation], bool] | None = None,
) -> RewriteStatistics:
    """Applies `patterns` to the operations nested in `root` until nothing changes.

    Trivially dead operations are erased. With `folding`, each operation's folder runs before the patterns. If `only` is
    given, patterns apply only to the operations that it accepts. `budget` is the maximum number of rewrites per
    operation of the module, on average (at least 4096 in total). If it is exceeded, raises `DiagnosticError` with the
    names of the patterns that were applied most often. An error inside a pattern names the operation and the pattern.
    """
    return _GreedyDriver(root, tuple(patterns), ctx, folding, budget, only).run()
