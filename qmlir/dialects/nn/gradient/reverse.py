"""Reverse-mode differentiation: from the gradients of some values back to those of others, by a rule an operation.

Rules come from the registry (`gradients`). A composite without a rule has the gradient of its parts, which are computed
once more from its operands.
"""

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from qmlir import registry
from qmlir.dialects.nn.gradient.backward import Backward, Gradients, Rule, is_differentiable
from qmlir.dialects.nn.ops.elementwise import AddOp
from qmlir.ir.decomposition import Parts, parts_given
from qmlir.ir.diagnostics import op_error

Insert = Callable[[Operation], object]


def depending_on(operations: Sequence[Operation], variables: Sequence[SSAValue]) -> set[SSAValue]:
    """`variables` and what `operations`, in order, compute of them."""
    dependent = set(variables)
    for op in operations:
        if not dependent.isdisjoint(op.operands):
            dependent.update(op.results)
    return dependent


def gradients(
    operations: Sequence[Operation], seeds: Mapping[SSAValue, SSAValue], variables: Sequence[SSAValue], insert: Insert
) -> Gradients:
    """The gradients with respect to `variables`, where `seeds` has those of some results of `operations`.

    `insert` adds operations, in order. `None` is a gradient that is 0 everywhere. Each of `variables` is taken to
    depend on nothing. Raises `DiagnosticError`, naming it, for an operation between them that has no rule.
    """
    inner = [op for op in operations if not any(result in variables for result in op.results)]
    dependent = depending_on(inner, variables)
    found = dict(seeds)
    for op in reversed(inner):
        given = [found.get(result) if result in dependent else None for result in op.results]
        if all(gradient is None for gradient in given):
            continue
        at = Backward(op, insert, dependent)
        parts = _rule_of(op)(at, op, *given)
        if len(parts) != len(op.operands):
            raise op_error(op, f"gradient rule must return {len(op.operands)} gradients, but returned {len(parts)}")
        for operand, part in zip(op.operands, parts, strict=True):
            if part is not None and operand in dependent and is_differentiable(operand):
                found[operand] = at.append(AddOp(found[operand], part)).result if operand in found else part
    return [found.get(variable) for variable in variables]


def _rule_of(op: Operation) -> Rule:
    rule: Rule | None = registry.gradients().get(type(op))
    if rule is not None:
        return rule
    if type(op) in registry.decompositions():
        return _by_parts
    raise op_error(op, "cannot be differentiated: it has no gradient rule")


def _by_parts(at: Backward, op: Operation, *given: SSAValue | None) -> Gradients:
    parts = Parts(op)
    results = parts_given(op, parts)
    if results is None or parts.is_excerpt:
        parts.discard()
        raise at.error(
            "it has no gradient rule, and its dynamic shapes prevent decomposition; fix the input shapes with --shape"
        )
    for part in parts.operations:
        at.insert(part)
    seeds: dict[SSAValue, SSAValue] = {}
    for result, gradient in zip(results, given, strict=True):
        if gradient is not None:  # two results may be one value of the parts
            seeds[result] = at.append(AddOp(seeds[result], gradient)).result if result in seeds else gradient
    operands = [operand for operand in dict.fromkeys(op.operands) if operand in at.wanted]
    found = dict(zip(operands, gradients(parts.operations, seeds, operands, at.insert), strict=True))
    # An operand that stands twice has one gradient, of both.
    return [found.pop(operand, None) for operand in op.operands]
