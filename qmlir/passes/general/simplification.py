"""`canonicalize`, `cse`, `inline`, `dce` and `symbol-dce`: simplify, merge, inline, and erase unused operations."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnregisteredOp,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, RewritePattern
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike, HasCanonicalizationPatternsTrait, IsolatedFromAbove, SymbolOpInterface

from qmlir import registry
from qmlir.ir.builtin_types import element_or_self
from qmlir.ir.control_flow import reached
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.effects import erase_dead, has_no_effect, is_terminator
from qmlir.ir.interfaces import RegisteredCanonicalization
from qmlir.ir.limits import budget, over
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import PROVENANCE_ATTRIBUTES, Origin, hand_on, origins_of
from qmlir.ir.rewriting import DEFAULT_BUDGET, apply_patterns_greedily, operations_in, pattern_name

# `canonicalize`: the patterns and folds of every operation, until nothing changes.


class OwnPatterns(RewritePattern):
    """Applies the patterns from an operation's traits, and those registered for its dialect."""

    def __init__(self) -> None:
        self._patterns: dict[type[Operation], tuple[RewritePattern, ...]] = {}
        self.tried: RewritePattern = self
        """The pattern that was tried last."""

    def may_match(self, kind: type[Operation], /) -> bool:
        """Returns True if operations of the class `kind` have patterns."""
        return bool(self._patterns_of(kind))

    @property
    def pattern_name(self) -> str:
        """The name of the pattern that was tried last, for messages."""
        return type(self).__name__ if self.tried is self else pattern_name(self.tried)

    def _patterns_of(self, kind: type[Operation]) -> tuple[RewritePattern, ...]:
        if kind not in self._patterns:
            traits = kind.get_traits_of_type(HasCanonicalizationPatternsTrait)
            own = [pattern for trait in traits for pattern in trait.get_patterns(kind)]
            if not any(isinstance(trait, RegisteredCanonicalization) for trait in traits):
                own += registry.patterns(f"{kind.dialect_name()}.canonicalize")
            self._patterns[kind] = tuple(own)
        return self._patterns[kind]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for pattern in self._patterns_of(type(op)):
            self.tried = pattern
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """Canonicalizes a module: folds and simplifies operations, and erases unused ones.

    Each operation provides its own patterns, including operations defined by other packages. Patterns never change a
    result. If there are more than `budget` rewrites per operation, the pass fails with an error that names the pattern.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = nn.transpose %x {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %1 = nn.transpose %0 {permutation = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
      func.return %1 : tensor<2x3xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      func.return %x : tensor<2x3xf32>
    }
    ```
    """

    name = "canonicalize"
    preserves: ClassVar[Preservation] = ROUNDED

    budget: int = DEFAULT_BUDGET

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = apply_patterns_greedily(op, [OwnPatterns()], ctx, folding=True, budget=self.budget)
        erase_dead(op.body)
        count("rewrites", sum(statistics.counts.values()))


# `cse`: equal operations become one, which gets the provenance of all of them.


def _attributes(op: Operation) -> dict[str, Attribute]:
    """Returns the discardable attributes other than provenance."""
    return {key: value for key, value in op.attributes.items() if key not in PROVENANCE_ATTRIBUTES}


def _positions(op: Operation) -> frozenset[Origin] | None:
    """Returns the places in the model of a float constant; `None` for other operations."""
    is_constant = op.has_trait(ConstantLike, value_if_unregistered=False)
    is_float = is_constant and any(isinstance(element_or_self(each), AnyFloat) for each in op.result_types)
    return frozenset(origins_of(op)) if is_float else None


Known = dict[Hashable, list[Operation]]

Merged = dict[Operation, list[Operation]]
"""The operations that were merged into each operation, in order."""


def _key(op: Operation, *, keeps_places: bool) -> Hashable:
    """Returns a key that equal operations share, without regions and provenance; for operations with operands a coarser
    one.

    Hashing attributes takes time. Few operations have the same operands, but constants, which have none, are numerous.
    With `keeps_places`, the key of float constants includes their places in the model.
    """
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    if op.operands:
        return name, tuple(op.operands)
    positions = _positions(op) if keeps_places else None
    return name, tuple(op.result_types), frozenset(op.properties.items()), frozenset(_attributes(op).items()), positions


_FEW = 8
"""If at least this number of operations have the same operands, further ones are looked up by their attributes."""


def _whole_key(op: Operation) -> Hashable:
    """Returns a key of all parts of an operation except regions and provenance, for values with many slices."""
    properties, attributes = frozenset(op.properties.items()), frozenset(_attributes(op).items())
    return op.name, tuple(op.operands), tuple(op.result_types), properties, attributes


def _is_equal(op: Operation, other: Operation, *, keeps_places: bool) -> bool:
    """Returns True if two operations with the same key are equal except for location and provenance.

    With `keeps_places`, float constants must also have the same places in the model.
    """
    return (
        op.result_types == other.result_types
        and op.properties == other.properties
        and _attributes(op) == _attributes(other)
        and (not keeps_places or _positions(op) == _positions(other))
        and len(op.regions) == len(other.regions)
        and all(mine.is_structurally_equivalent(its) for mine, its in zip(op.regions, other.regions, strict=True))
    )


@dataclass
class _Merger:
    """Merges the equal operations of a module."""

    keeps_places: bool
    merged: Merged = field(default_factory=Merged)
    _pure: dict[Operation, bool] = field(default_factory=dict[Operation, bool])
    """Caches whether operations with regions are free of side effects, since enclosing operations ask again."""

    _keys: dict[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])
    """The `_region_key` of operations with regions."""

    def merge_in_region(self, region: Region, known: Known) -> None:
        """Merges the operations of a region with each other and with the operations in `known`, which is left
        unchanged.
        """
        blocks = list(region.blocks)
        for block in blocks:
            # With several blocks, only operations of the same block are known to dominate.
            self._merge_in_block(block, known if len(blocks) == 1 else {})

    def _merge_in_block(self, block: Block, known: Known) -> None:
        added: list[list[Operation]] = []
        for op in list(block.ops):
            if op.regions:
                # An operation isolated from above cannot reference outer values.
                isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
                for region in op.regions:
                    self.merge_in_region(region, {} if isolated else known)
                self._keys[op] = self._region_key(op)
            if not op.results or is_terminator(type(op)) or not has_no_effect(op, self._pure):
                continue
            candidates = known.setdefault(self._key(op), [])
            alike = candidates
            if len(candidates) >= _FEW:
                candidates = known.setdefault((_whole_key(op), self._keys.get(op)), [])
                alike = (*alike[:_FEW], *candidates)
            positions = self.keeps_places
            existing = next((each for each in alike if _is_equal(op, each, keeps_places=positions)), None)
            if existing is None:
                candidates.append(op)
                added.append(candidates)
                continue
            for old, new in zip(op.results, existing.results, strict=True):
                old.replace_all_uses_with(new)
            self.merged.setdefault(existing, []).append(op)
            Rewriter.erase_op(op)
            count("operations merged")
        for candidates in added:
            candidates.pop()

    def _key(self, op: Operation) -> Hashable:
        key = _key(op, keeps_places=self.keeps_places)
        return (key, self._keys[op]) if op.regions else key

    def _region_key(self, op: Operation) -> tuple[int, int]:
        """Returns hashes that equal operations with regions share: of the names inside, in order, and of the outer
        values.

        The hash of the outer values is the sum over all uses inside, minus the uses of values defined inside, so each
        operation is visited once at any nesting depth.
        """
        names: list[Hashable] = []
        outer = 0
        for block in (block for region in op.regions for block in region.blocks):
            names.append(len(block.args))
            outer -= sum(map(_used, block.args))
            for each in block.ops:
                inside, used = self._keys.get(each, (0, 0))
                names.append((each.name, inside))
                outer += used + sum(hash((operand,)) for operand in each.operands) - sum(map(_used, each.results))
        return hash(tuple(names)), outer


def _used(value: SSAValue) -> int:
    return hash((value,)) * len(list(value.uses))


@dataclass(frozen=True)
class Cse(ModulePass):
    """Merges operations that compute the same result from the same operands, and joins their provenance.

    With `keep_places`, equal float constants are merged only if they have the same provenance, because trainable
    constants may be equal initially and diverge during training.

    Before:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
      %1 = nn.relu %x : tensor<2xf32> {origin = "relu2"}
      %2 = nn.add %0, %1 : tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = ["relu1", "relu2"]}
      %2 = nn.add %0, %0 : tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```
    """

    name = "cse"

    keep_places: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        merger = _Merger(self.keep_places)
        merger.merge_in_region(op.body, {})
        for existing, others in merger.merged.items():  # all at once: one by one, each would copy all names so far
            hand_on(others, existing)


# `inline`: calls become the bodies of the called functions.

_INLINE_BUDGET = "inlined-operations"


def _callees(function: FuncOp) -> set[str]:
    return {op.callee.root_reference.data for op in operations_in(function) if isinstance(op, CallOp)}


def _recursive(functions: dict[str, FuncOp]) -> set[str]:
    """Returns the functions that can reach themselves through calls: components in both directions (Sharir, 1981)."""
    callees = {name: _callees(function) & functions.keys() for name, function in functions.items()}
    callers: dict[str, set[str]] = {name: set() for name in callees}
    for name, called in callees.items():
        for callee in called:
            callers[callee].add(name)
    entered: set[str] = set()
    finished: dict[str, None] = {}
    waiting = list(callees)
    while waiting:
        if (name := waiting[-1]) in entered:
            finished.setdefault(waiting.pop())
        else:
            entered.add(name)
            waiting += callees[name] - entered
    done: set[str] = set()
    found: set[str] = set()
    for name in reversed(finished):
        if name not in done:
            component = set(reached([name], lambda each: callers[each] - done))
            done.update(component)
            found |= component if len(component) > 1 or name in callees[name] else set()
    return found


def _inline_call(call: CallOp, function: FuncOp) -> list[Operation]:
    """Replaces `call` by the body of `function`, and returns the operations that this created."""
    block = call.parent
    if block is None:
        raise op_error(call, "must be in a block")
    arguments = function.body.block.args
    if tuple(argument.type for argument in arguments) != tuple(call.operand_types):
        raise op_error(call, f"operand types must match function '@{function.sym_name.data}'")
    values: dict[SSAValue, SSAValue] = dict(zip(arguments, call.operands, strict=True))
    returned: list[SSAValue] = []
    made: list[Operation] = []
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            returned = [values.get(operand, operand) for operand in op.operands]
            continue
        clone: Operation = op.clone(values)
        made += operations_in(clone)
        block.insert_op_before(clone, call)
    for op in made:  # the node of the call follows the node inside the function: both identify the operation
        hand_on((call,), op)
    for old, new in zip(call.results, returned, strict=True):
        old.replace_all_uses_with(new)
    Rewriter.erase_op(call)
    return made


@dataclass(frozen=True)
class Inline(ModulePass):
    """Replaces each call of a single-block function with the function's body; the functions stay (see `symbol-dce`).

    The provenance of the call is added to that of the inlined operations. Calls of recursive functions, of functions
    without a body and of functions with several blocks are kept and reported in a remark.

    Before:

    ```mlir
    func.func private @act(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu"}
      func.return %0 : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @act(%x) {origin = "block1"} : (tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func private @act(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu"}
      func.return %0 : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = ["relu", "block1"]}
      func.return %0 : tensor<2xf32>
    }
    ```
    """

    name = "inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {child.sym_name.data: child for child in op.body.block.ops if isinstance(child, FuncOp)}
        recursive = _recursive(functions)
        pending = [nested for nested in operations_in(op) if isinstance(nested, CallOp)]
        made = 0
        while pending:
            call = pending.pop()
            name = call.callee.root_reference.data
            function = functions.get(name)
            if function is None or function.is_declaration:
                emit_remark(call, f"is not inlined: function '@{name}' has no body")
            elif name in recursive:
                emit_remark(call, f"is not inlined: function '@{name}' is recursive")
            elif len(function.body.blocks) != 1:
                emit_remark(call, f"is not inlined: function '@{name}' has more than one block")
            else:
                created = _inline_call(call, function)
                made += len(created)
                if made > budget(_INLINE_BUDGET):
                    # A chain of functions that each call the next one twice grows exponentially.
                    reason = f"the number of new operations is {over(_INLINE_BUDGET)}"
                    raise op_error(function, f"cannot be inlined again: {reason}")
                pending += [each for each in created if isinstance(each, CallOp)]
                count("calls inlined")


# `dce` and `symbol-dce`: dead operations, and private functions that are never called.


@dataclass(frozen=True)
class Dce(ModulePass):
    """Erases operations without side effects whose results do not reach an operation with side effects or a terminator.

    Before:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32>
      func.return %x : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    ```
    """

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_dead(op.body, PatternRewriterListener(operation_removal_handler=[lambda _: count("operations erased")]))


def _symbols_in(attribute: Attribute) -> Iterator[str]:
    match attribute:
        case SymbolRefAttr():
            yield attribute.root_reference.data
        case ArrayAttr():
            for element in attribute.data:
                yield from _symbols_in(element)
        case DictionaryAttr():
            for element in attribute.data.values():
                yield from _symbols_in(element)
        case ParametrizedAttribute():
            for parameter in attribute.parameters:
                yield from _symbols_in(parameter)
        case _:
            return


def _named_in(op: Operation) -> set[str]:
    return {
        name
        for nested in op.walk()
        for attribute in (*nested.properties.values(), *nested.attributes.values())
        for name in _symbols_in(attribute)
    }


def _is_private(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility", op.attributes.get("sym_visibility"))
    return isinstance(visibility, StringAttr) and visibility.data == "private"


@dataclass(frozen=True)
class SymbolDce(ModulePass):
    """Erases private functions (and other private symbols) that no live operation references.

    Before:

    ```mlir
    func.func private @unused(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    ```
    """

    name = "symbol-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols: dict[str, Operation] = {}
        pending: list[Operation] = []
        for child in op.body.block.ops:
            trait = child.get_trait(SymbolOpInterface)
            symbol = trait.get_sym_attr_name(child) if trait else None
            if symbol is None or not _is_private(child):
                pending.append(child)
            else:
                symbols[symbol.data] = child
        while pending:
            for name in _named_in(pending.pop()):
                if (found := symbols.pop(name, None)) is not None:
                    pending.append(found)
        for dead in symbols.values():
            Rewriter.erase_op(dead)
        count("symbols erased", len(symbols))
