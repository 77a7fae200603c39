"""Modules divided among targets before they are compiled: those that are named, or the interpreter."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import IfOp
from xdsl.ir import Operation

from qmlir.dialects.nn.ops.island import OnnxIslandOp
from qmlir.ir.diagnostics import text_error, without_remarks
from qmlir.passmanager.running import run_pipeline
from qmlir.quantization.supports import why_not
from qmlir.specialization.flow import depends_on_data
from qmlir.target import HOST, INTERPRETER, TARGETS, find_target, find_targets, set_targets
from qmlir.targets.partitioning.partition import outline_branches, target_of
from qmlir.targets.parts import parts_of

PARTITION = "quant-partition"
"""The pass that gives each operation to a target."""


def partitioned(module: ModuleOp, target: str | Sequence[str]) -> ModuleOp:
    """A clone of a quantized module in which `target` have parts of their own; the CPU computes what is left.

    A module that is partitioned already stays as it is. Raises `DiagnosticError` for what is not a target, and where
    the module was partitioned for others.
    """
    targets = find_targets(target)
    clone = with_islands_apart(module).clone()
    given = {name: owner for name, owner in parts_of(clone).items() if owner not in (INTERPRETER, HOST)}
    if given:
        known = {each.name for each in targets}
        for name, owner in given.items():
            if owner not in known:
                raise text_error(
                    f"the module has part '{name}' of target '{owner}', which is not one of the given targets"
                )
        return clone
    set_targets(clone, (each.description for each in targets))
    return run_pipeline(clone, PARTITION)


def with_islands_apart(module: ModuleOp) -> ModuleOp:
    """`module`, or a clone in which what has no compiled form is parts of the interpreter.

    Other targets may have parts in it already, or get them afterwards. Where a branch of a choice has such an
    operation, both branches are parts.
    """
    target = find_target(INTERPRETER)

    def functions(module: ModuleOp) -> list[FuncOp]:
        return [op for op in module.ops if isinstance(op, FuncOp) and target_of(op) is None]

    def is_apart(function: FuncOp, op: Operation) -> bool:
        # Results whose sizes follow from shapes are known when a program is made for these.
        return why_not(target, op) is None and (isinstance(op, OnnxIslandOp) or depends_on_data(function, op))

    if not any(is_apart(function, op) for function in functions(module) for op in function.walk()):
        return module
    clone = module.clone()
    for function in functions(clone):
        for choice in [op for op in function.body.block.ops if isinstance(op, IfOp)]:
            apart = [any(is_apart(function, op) for op in region.walk()) for region in choice.regions]
            if any(apart):
                outline_branches(clone, function, choice, [INTERPRETER if each else HOST for each in apart])
    before = clone.attributes.pop(TARGETS, None)
    set_targets(clone, (target.description, find_target(HOST).description))
    with without_remarks():  # why the rest is elsewhere is no question
        run_pipeline(clone, PARTITION)
    del clone.attributes[TARGETS]
    clone.attributes |= {} if before is None else {TARGETS: before}
    return clone
