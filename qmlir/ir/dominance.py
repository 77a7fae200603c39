"""Dominance: every value is defined on every path before it is used. xDSL does not check it.

The rules are upstream MLIR's. A use is valid after its definition in the same block, in a block that the definition's
block dominates, or in a region nested there. Graph regions (a module's body, and the regions of unregistered
operations) allow any order within a block. Unreachable blocks may use any value of the region. A region that is
isolated from above sees only its own values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from qmlir.ir.diagnostics import note, op_error


def is_isolated(op: Operation) -> bool:
    """Whether the regions of `op` see no values from around it."""
    return op.has_trait(IsolatedFromAbove, value_if_unregistered=False)


def _successors(block: Block) -> Sequence[Block]:
    last = block.last_op
    return () if last is None else last.successors


def _reverse_postorder(entry: Block) -> list[Block]:
    """The blocks that a path from `entry` reaches, each before its successors but for those that loop back."""
    postorder: list[Block] = []
    seen = {entry}
    stack: list[tuple[Block, Iterator[Block]]] = [(entry, iter(_successors(entry)))]
    while stack:
        block, successors = stack[-1]
        new = next((each for each in successors if each not in seen), None)
        if new is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(new)
            stack.append((new, iter(_successors(new))))
    return postorder[::-1]


def _immediate_dominators(order: Sequence[Block]) -> list[int]:
    """The index in `order`, a reverse postorder, of the block that immediately dominates each; the entry's is its own.

    The iteration is that of Cooper, Harvey and Kennedy (A Simple, Fast Dominance Algorithm).
    """
    index = {block: number for number, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for number, block in enumerate(order):
        for successor in _successors(block):
            predecessors[index[successor]].append(number)
    undefined = len(order)
    dominators = [0, *[undefined] * (len(order) - 1)]
    changed = True
    while changed:
        changed = False
        for number in range(1, len(order)):
            found = undefined
            for other in predecessors[number]:
                if dominators[other] == undefined:
                    continue
                # Climb from both to the nearest block that dominates both; it never comes after either.
                while found not in (undefined, other):
                    if found > other:
                        found = dominators[found]
                    else:
                        other = dominators[other]
                found = other
            if dominators[number] != found:
                dominators[number], changed = found, True
    return dominators


def _values_of(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for op in block.ops for result in op.results)]


@dataclass
class _Scope:
    """The values that are visible at the point that the walk has reached, and the operation that shuts others out."""

    root: Operation
    isolated: Operation | None
    visible: set[SSAValue] = field(default_factory=set[SSAValue])

    def check_operands(self, op: Operation) -> None:
        for index, operand in enumerate(op.operands):
            if operand not in self.visible:
                self._refuse(op, index, operand.owner)

    def _refuse(self, op: Operation, index: int, definition: Operation | Block) -> None:
        if not self.root.is_ancestor(definition) or definition is self.root:
            if self.isolated is None:
                return  # the caller verifies a part, and the value comes from around it
            notes = [note(self.isolated, "required by region isolation constraints")]
            raise op_error(op, "using value defined outside the region", notes)
        notes = [note(definition, "defines the operand")] if isinstance(definition, Operation) else []
        raise op_error(op, f"operand #{index} does not dominate this use", notes)


def _check_block(block: Block, scope: _Scope, *, is_graph: bool, is_reached: bool = True) -> list[SSAValue]:
    """Check a block; its values are visible afterwards, and returned."""
    defined = _values_of(block)
    scope.visible.update(defined if is_graph else block.args)
    for op in block.ops:
        if is_reached:
            scope.check_operands(op)
        if not is_isolated(op):
            for region in op.regions:
                _check_region(region, scope)
        scope.visible.update(op.results)
    return defined


def _check_region(region: Region, scope: _Scope) -> None:
    entry = region.first_block
    if entry is None:
        return
    is_graph = isinstance(region.parent, ModuleOp | UnregisteredOp)
    if entry.next_block is None:
        scope.visible.difference_update(_check_block(entry, scope, is_graph=is_graph))
        return
    order = _reverse_postorder(entry)
    children: list[list[int]] = [[] for _ in order]
    for number, dominator in enumerate(_immediate_dominators(order)):
        if number:
            children[dominator].append(number)
    # Down the tree of dominators: the values of a block are visible until the walk leaves the tree below it.
    stack: list[int | list[SSAValue]] = [0]
    while stack:
        step = stack.pop()
        if isinstance(step, list):
            scope.visible.difference_update(step)
            continue
        stack.append(_check_block(order[step], scope, is_graph=is_graph))
        stack.extend(reversed(children[step]))
    _check_unreached(region, set(order), scope, is_graph)


def _check_unreached(region: Region, reached: set[Block], scope: _Scope, is_graph: bool) -> None:
    """Check what is nested in the blocks that no path reaches: there, every value of the region is visible."""
    unreached = [block for block in region.blocks if block not in reached]
    if not unreached:
        return
    values = [value for block in region.blocks for value in _values_of(block)]
    scope.visible.update(values)
    for block in unreached:
        scope.visible.difference_update(_values_of(block))
        _check_block(block, scope, is_graph=is_graph, is_reached=False)
    scope.visible.difference_update(values)


def verify_dominance(root: Operation) -> None:
    """Check what is nested in `root`, but for what is nested there in operations that are isolated from above.

    Those are checked each by itself. Raises `DiagnosticError` at a use that its value does not reach.
    Successors must be blocks of the same region. The time is linear in the number of operations, and in that of blocks
    except for unusual graphs of blocks.
    """
    scope = _Scope(root, root if is_isolated(root) else None)
    for region in root.regions:
        _check_region(region, scope)
