"""Dominance: every value is defined on every path before it is used. xDSL does not check it.

Graph regions (a module's body) allow any order, as upstream. In other regions a use is fine in the block of its
definition behind it, in a block that the definition's block dominates, or in a region nested there.
"""

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qmlir.ir.diagnostics import DiagnosticError, note, op_error


def _is_graph_region(region: Region) -> bool:
    # xDSL has no trait for the kind of a region; of the dialects that we read, a module's body is one.
    return isinstance(region.parent, ModuleOp)


def _dominators(region: Region) -> dict[Block, set[Block]]:
    """The blocks that dominate each reachable block, itself among them (Allen and Cocke's iteration)."""
    blocks = list(region.blocks)
    predecessors: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        last = block.last_op
        for successor in last.successors if last else ():
            predecessors[successor].append(block)
    everything = set(blocks)
    dominators = {block: set(everything) for block in blocks}
    dominators[blocks[0]] = {blocks[0]}
    changed = True
    while changed:
        changed = False
        for block in blocks[1:]:
            incoming = [dominators[predecessor] for predecessor in predecessors[block]]
            inherited = everything.intersection(*incoming)
            new = {block, *inherited}
            if new != dominators[block]:
                dominators[block], changed = new, True
    return dominators


@dataclass
class _Scope:
    """The values that are visible at the point that the walk has reached."""

    visible: set[SSAValue] = field(default_factory=set[SSAValue])


def _undominated(op: Operation, index: int) -> DiagnosticError:
    definition = op.operands[index].owner
    notes = [note(definition, "defines the operand")] if isinstance(definition, Operation) else []
    return op_error(op, f"operand #{index} does not dominate this use", notes)


def _check_op(op: Operation, scope: _Scope) -> None:
    for index, operand in enumerate(op.operands):
        if operand not in scope.visible:
            raise _undominated(op, index)
    for region in op.regions:
        _check_region(region, scope)


def _check_block(block: Block, scope: _Scope, is_graph: bool) -> list[SSAValue]:
    """Check a block; its values are visible afterwards, and returned."""
    defined: list[SSAValue] = list(block.args)
    if is_graph:
        defined.extend(result for op in block.ops for result in op.results)
    scope.visible.update(defined)
    for op in block.ops:
        _check_op(op, scope)
        if not is_graph:
            scope.visible.update(op.results)
            defined.extend(op.results)
    return defined


def _check_region(region: Region, scope: _Scope) -> None:
    if not region.blocks:
        return
    is_graph = _is_graph_region(region)
    first = region.blocks[0]
    if first.next_block is None:
        defined = _check_block(first, scope, is_graph)
        scope.visible.difference_update(defined)
        return
    dominators = _dominators(region)
    values = {block: [*block.args, *(result for op in block.ops for result in op.results)] for block in region.blocks}
    for block in region.blocks:
        inherited = [value for other in dominators[block] if other is not block for value in values[other]]
        scope.visible.update(inherited)
        defined = _check_block(block, scope, is_graph)
        scope.visible.difference_update(inherited, defined)


def verify_dominance(root: Operation) -> None:
    """Check everything nested in `root`. Raises `DiagnosticError` at the first use that its value does not reach."""
    scope = _Scope()
    for region in root.regions:
        _check_region(region, scope)
