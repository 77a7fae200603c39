"""The verifier: structure, dominance, and each operation's own rules.

xDSL's `Operation.verify` prints the whole module into its exception, which takes seconds and hundreds of megabytes on
a real model; this one walks the module, asks each operation, and names the one at fault.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, ErasedSSAValue, Operation
from xdsl.irdl import traits_def
from xdsl.traits import IsTerminator, NoTerminator, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from qmlir.ir.diagnostics import DiagnosticError, note, op_error, together
from qmlir.ir.dominance import is_isolated, verify_dominance
from qmlir.ir.foreign import faults_from_outside
from qmlir.ir.signature import inputs_of, outputs_of


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
    """The symbols that `table` defines, each with its operation."""
    for region in table.regions:
        for op in (each for block in region.blocks for each in block.ops):
            name = op.get_attr_or_prop("sym_name")
            if isinstance(name, StringAttr):
                yield name.data, op


def _verify_structure(op: Operation) -> None:
    """What holds for every operation, whatever its dialect."""
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
    """Inputs and outputs are given and found by name: two of one name would be one."""
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
    """The functions of each symbol table. xDSL's verifier of a call goes over its table until it meets the callee."""

    functions: dict[Operation, dict[str, Operation]] = field(default_factory=dict[Operation, dict[str, Operation]])

    def verify(self, call: CallOp) -> None:
        """What xDSL verifies of a call."""
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


def _verify_own_rules(op: Operation, callees: _Callees) -> None:
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


def _verify_rules(op: Operation, callees: _Callees) -> None:
    _verify_own_rules(op, callees)
    if isinstance(op, FuncOp):
        _verify_ports(op)


def _enter(op: Operation, around: Operation, parts: dict[Operation, list[Operation]]) -> None:
    """Add the operations nested in `op` to the part that they belong to, that of `around` or of one within."""
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
    """The faults of each part of what is verified: of the operations around which nothing is seen."""

    parts: Mapping[Operation, Sequence[Operation]]
    found: dict[Operation, list[DiagnosticError]] = field(default_factory=dict[Operation, list[DiagnosticError]])
    faulty: set[Operation] = field(default_factory=set[Operation])

    def check(self, part: Operation, check: Callable[[Operation], None], op: Operation) -> None:
        """`op` of `part` is checked, and its faults are noted down."""
        try:
            check(op)
        except DiagnosticError as error:
            self.found.setdefault(part, []).append(error)
            self.faulty.update(each.op for each in error.diagnostics if each.op is not None)

    def follow(self, op: Operation, part: Operation) -> bool:
        """Whether faults of `op` may follow from those of its operands, or of what it is nested in."""
        if any(operand.owner in self.faulty for operand in op.operands):
            return True
        above = op
        while above is not part and (above := above.parent_op()) is not None:
            if above in self.faulty:
                return True
        return False


def verify(root: Operation) -> None:
    """Verify `root` and all that is nested in it. Raises `DiagnosticError` with all faults that follow from no other.

    Each step stands on those before it: dominance follows the edges between blocks, and an operation's own verifier may
    follow its operands to their definitions. A function whose structure is at fault goes no further; the others do.
    """
    parts: dict[Operation, list[Operation]] = {root: [root]}
    _enter(root, root, parts)
    faults = _Faults(parts)
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
