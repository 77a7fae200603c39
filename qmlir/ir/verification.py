"""The verifier: structure, dominance, and each operation's own rules.

xDSL's `Operation.verify` prints the whole module into its exception, which takes seconds and hundreds of megabytes on
a real model; this one walks the module, asks each operation, and names the one at fault.
"""

from collections import Counter

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, ErasedSSAValue, Operation
from xdsl.traits import IsTerminator, NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from qmlir.ir.diagnostics import DiagnosticError, note, op_error
from qmlir.ir.dominance import verify_dominance
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
                raise op_error(op, "branches to a block of another region")
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
    for region in table.regions:
        for op in (each for block in region.blocks for each in block.ops):
            name = op.get_attr_or_prop("sym_name")
            if not isinstance(name, StringAttr):
                continue
            first = defined.setdefault(name.data, op)
            if first is not op:
                notes = [note(first, "see existing symbol definition here")]
                raise op_error(op, f"redefinition of symbol named '{name.data}'", notes)


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
                raise op_error(op, "has an empty block, where at least a terminator is expected")
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
            raise op_error(function, f"has attributes for {len(entries)} of its {len(types)} {kind}")
    for kind, ports in (("inputs", inputs_of(function)), ("outputs", outputs_of(function))):
        for name, count in Counter(port.name for port in ports).items():
            if count > 1:
                raise op_error(function, f"has {count} {kind} named '{name}': their names must differ")


def _verify_own_rules(op: Operation) -> None:
    if twice := sorted(op.attributes.keys() & op.properties.keys()):
        raise op_error(op, f"has '{twice[0]}' as a property and as an attribute: text has one place for both")
    try:
        with faults_from_outside(lambda reason: op_error(op, f"cannot be verified: {reason}")):
            op.verify_()
    except DiagnosticError:
        raise
    except VerifyException as error:
        raise op_error(op, " ".join(str(error).split())) from error


def verify(root: Operation) -> None:
    """Verify `root` and all that is nested in it. Raises `DiagnosticError` at the first fault.

    Each step stands on those before it: dominance follows the edges between blocks, and an operation's own verifier may
    follow its operands to their definitions.
    """
    for op in root.walk():
        _verify_structure(op)
    verify_dominance(root)
    for op in root.walk():
        _verify_own_rules(op)
        if isinstance(op, FuncOp):
            _verify_ports(op)
