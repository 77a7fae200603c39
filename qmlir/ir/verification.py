"""The verifier: checks structure, dominance, and the rules of each operation."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, ErasedSSAValue, Operation, Region, SSAValue
from xdsl.irdl import traits_def
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from qmlir.ir.diagnostics import DiagnosticError, note, op_error, together
from qmlir.ir.exception_boundary import faults_from_outside
from qmlir.ir.signature import inputs_of, outputs_of

# Dominance: every value is defined on every path before it is used. xDSL does not check it.
#
# The rules are upstream MLIR's. A use is valid after its definition in the same block, in a block that the
# definition's block dominates, or in a region nested there. Graph regions (a module's body, and the regions of
# unregistered operations) allow any order within a block. Unreachable blocks may use any value of the region. A
# region that is isolated from above sees only its own values.


def is_isolated(op: Operation) -> bool:
    """Returns whether the regions of `op` are isolated from above."""
    return op.has_trait(IsolatedFromAbove, value_if_unregistered=False)


def _successors(block: Block) -> Sequence[Block]:
    last = block.last_op
    return () if last is None else last.successors


def _reverse_postorder(entry: Block) -> list[Block]:
    """Returns the blocks reachable from `entry` in reverse postorder."""
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
    """Returns the index in `order`, a reverse postorder, of each block's immediate dominator; the entry's is its own.

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
    """The visible values at the current point of the walk, and the enclosing operation that is isolated from above."""

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
                return  # only a part is being verified, and the value is from outside
            notes = [note(self.isolated, "required by region isolation constraints")]
            raise op_error(op, "using value defined outside the region", notes)
        notes = [note(definition, "defines the operand")] if isinstance(definition, Operation) else []
        raise op_error(op, f"operand #{index} does not dominate this use", notes)


def _check_block(block: Block, scope: _Scope, *, is_graph: bool, is_reached: bool = True) -> list[SSAValue]:
    """Checks a block; its values are visible afterwards, and returned."""
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
    # Walk down the dominator tree: the values of a block are visible until the walk leaves its subtree.
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
    """Checks the contents of unreachable blocks, in which every value of the region is visible."""
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
    """Checks dominance in `root`, except inside nested operations that are isolated from above.

    Isolated operations are checked separately. Raises `DiagnosticError` for a use that its definition doesn't dominate,
    and for a successor in another region. The time is linear in the number of operations and, except for unusual
    control flow graphs, in the number of blocks.
    """
    scope = _Scope(root, root if is_isolated(root) else None)
    for region in root.regions:
        _check_region(region, scope)


# The verifier: structure, dominance, and each operation's own rules.
#
# xDSL's `Operation.verify` prints the whole module into its exception, which takes seconds and hundreds of megabytes
# on a real model; this one walks the module, verifies each operation, and names the faulty one.


def _may_lack_terminator(block: Block) -> bool:
    region = block.parent
    if region is None:
        return True
    if region.first_block is not block or block.next_block is not None:
        return False
    return region.parent is None or region.parent.has_trait(NoTerminator)


def _verify_place(op: Operation, block: Block) -> None:
    is_last = block.last_op is op
    if op.successors:
        if not is_last:
            raise op_error(op, "has successors and must be the last operation of its block")
        region = block.parent
        for successor in op.successors:
            if region is None or successor.parent is not region:
                raise op_error(op, "must not branch to a block of another region")
            if successor is region.first_block:
                raise op_error(op, "branches to the entry block of its region, which may not have predecessors")
    if is_last:
        if not op.has_trait(IsTerminator) and not _may_lack_terminator(block):
            raise op_error(op, "is the last operation of its block and must be a terminator")
    elif op.has_trait(IsTerminator, value_if_unregistered=False):
        raise op_error(op, "must be the last operation of its block")


def _verify_symbols(table: Operation) -> None:
    """xDSL's trait finds the same fault, but names only the table."""
    defined: dict[str, Operation] = {}
    faults: list[DiagnosticError] = []
    for name, op in _symbols(table):
        first = defined.setdefault(name, op)
        if first is not op:
            notes = [note(first, "see existing symbol definition here")]
            faults.append(op_error(op, f"redefinition of symbol named '{name}'", notes))
    if faults:
        raise together(faults)


def _symbols(table: Operation) -> Iterator[tuple[str, Operation]]:
    """Yields the symbols that `table` defines, each with its operation."""
    for region in table.regions:
        for op in (each for block in region.blocks for each in block.ops):
            name = op.get_attr_or_prop("sym_name")
            if isinstance(name, StringAttr):
                yield name.data, op


def _verify_structure(op: Operation) -> None:
    """Verifies the structural rules that apply to every operation, independent of its dialect."""
    if any(isinstance(operand, ErasedSSAValue) for operand in op.operands):
        raise op_error(op, "uses a value that was erased")
    if op.parent is not None:
        _verify_place(op, op.parent)
    if not op.regions:
        return
    for region in op.regions:
        for block in region.blocks:
            if block.last_op is None and not _may_lack_terminator(block):
                raise op_error(op, "must not have an empty block: expected at least a terminator")
    if op.has_trait(SymbolTable, value_if_unregistered=False):
        _verify_symbols(op)


def _verify_ports(function: FuncOp) -> None:
    """Verifies that names of inputs and outputs are unique, since they are identified by name."""
    type_ = function.function_type
    for kind, types, entries in (
        ("arguments", type_.inputs, function.arg_attrs),
        ("results", type_.outputs, function.res_attrs),
    ):
        if entries is not None and len(entries) != len(types):
            raise op_error(function, f"must have attributes for all its {len(types)} {kind}, but got {len(entries)}")
    for kind, ports in (("inputs", inputs_of(function)), ("outputs", outputs_of(function))):
        for name, count in Counter(port.name for port in ports).items():
            if count > 1:
                raise op_error(function, f"must have unique {kind[:-1]} names, but {count} are named '{name}'")


_CALL = CallOp.get_irdl_definition()
_CALL_WITHOUT_CALLEE = replace(
    _CALL, traits=traits_def(*(each for each in _CALL.traits if not isinstance(each, SymbolUserOpInterface)))
)


@dataclass
class _Callees:
    """The functions of each symbol table; xDSL's call verifier would search the table linearly for each call."""

    functions: dict[Operation, dict[str, Operation]] = field(default_factory=dict[Operation, dict[str, Operation]])

    def verify(self, call: CallOp) -> None:
        """Verifies a call as xDSL does, but looks up the callee in the table of functions."""
        _CALL_WITHOUT_CALLEE.verify(call)
        callee = self._callee(call)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"'{call.callee}' does not reference a valid function")
        type_ = callee.function_type
        for kind, expected, found in (
            ("operand", type_.inputs.data, call.operand_types),
            ("result", type_.outputs.data, call.result_types),
        ):
            if len(expected) != len(found):
                count = f"{len(expected)} {kind}s, as callee {call.callee} has"
                raise VerifyException(f"must have {count}, but got {len(found)}")
            for number, (own, other) in enumerate(zip(expected, found, strict=True)):
                if own != other:
                    raise VerifyException(f"must have {kind} number {number} of type {own}, but got {other}")

    def _callee(self, call: CallOp) -> Operation | None:
        table = call.parent_op()
        while table is not None and not table.has_trait(SymbolTable, value_if_unregistered=False):
            table = table.parent_op()
        if table is None:
            return None
        if table not in self.functions:
            self.functions[table] = dict(_symbols(table))
        return self.functions[table].get(call.callee.root_reference.data)


def _verify_rules(op: Operation, callees: _Callees) -> None:
    if twice := sorted(op.attributes.keys() & op.properties.keys()):
        raise op_error(
            op, f"has '{twice[0]}' both as a property and as an attribute, which the text cannot distinguish"
        )
    try:
        with faults_from_outside(lambda reason: op_error(op, f"cannot be verified: {reason}")):
            if isinstance(op, CallOp):
                callees.verify(op)
            else:
                op.verify_()
    except DiagnosticError:
        raise
    except VerifyException as error:
        raise op_error(op, " ".join(str(error).split())) from error
    if isinstance(op, FuncOp):
        _verify_ports(op)


def _enter(op: Operation, around: Operation, parts: dict[Operation, list[Operation]]) -> None:
    """Adds the operations nested in `op` to their part: that of `around`, or of a nested isolated operation."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                parts[around].append(inner)
                if inner.regions:
                    part = inner if is_isolated(inner) else around
                    parts.setdefault(part, [])
                    _enter(inner, part, parts)


@dataclass
class _Faults:
    """The faults of each part, which is the content of an operation that is isolated from above."""

    found: dict[Operation, list[DiagnosticError]] = field(default_factory=dict[Operation, list[DiagnosticError]])
    faulty: set[Operation] = field(default_factory=set[Operation])

    def check(self, part: Operation, check: Callable[[Operation], None], op: Operation) -> None:
        """Runs `check` on `op`, which is in `part`, and records its faults."""
        try:
            check(op)
        except DiagnosticError as error:
            self.found.setdefault(part, []).append(error)
            self.faulty.update(each.op for each in error.diagnostics if each.op is not None)

    def follow(self, op: Operation, part: Operation) -> bool:
        """Returns whether faults of `op` may be consequences of faults of its operands or parent operations."""
        if any(operand.owner in self.faulty for operand in op.operands):
            return True
        above = op
        while above is not part and (above := above.parent_op()) is not None:
            if above in self.faulty:
                return True
        return False


def verify(root: Operation) -> None:
    """Verifies `root` and everything nested in it. Raises `DiagnosticError` with all independent faults.

    Verification has several steps, each of which relies on the previous ones: the dominance check follows the edges
    between blocks, and an operation's verifier may follow operands to their definitions. If the structure of a function
    is invalid, its later steps are skipped, but other functions are still verified completely.
    """
    parts: dict[Operation, list[Operation]] = {root: [root]}
    _enter(root, root, parts)
    faults = _Faults()
    for part, ops in parts.items():
        for op in ops:
            faults.check(part, _verify_structure, op)
        if part not in faults.found:
            faults.check(part, verify_dominance, part)
    unsound = set(faults.found)
    verify_rules = partial(_verify_rules, callees=_Callees())
    for part, ops in parts.items():
        if part not in unsound and not (faults.faulty and faults.follow(part, root)):
            for op in ops:
                if op not in unsound and not (faults.faulty and faults.follow(op, part)):
                    faults.check(part, verify_rules, op)
    if faults.found:
        raise together([error for part in parts for error in faults.found.get(part, ())])
