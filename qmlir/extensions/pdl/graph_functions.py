"""Native functions of PDL patterns for operations, values, provenance, constants and attributes."""

from fnmatch import fnmatchcase
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, TypeAttribute

from qmlir.dialects.nn.constant.ops import ConstantOp, storage_element
from qmlir.extensions.pdl.matching import attribute_of
from qmlir.ir.builtin_types import as_dense, dense, tensor
from qmlir.ir.evaluation import evaluate
from qmlir.ir.provenance import assign_role, merged_origins, origins_of, set_origins
from qmlir.text.elements import dense_array


def _constant(value: SSAValue) -> ConstantOp | None:
    return value.op if isinstance(value, OpResult) and isinstance(value.op, ConstantOp) else None


def used_once(*values: SSAValue) -> bool:
    """Holds if each value has exactly one use, so that the rewrite does not duplicate its computation."""
    return all(value.has_one_use() for value in values)


def is_constant(*values: SSAValue) -> bool:
    """Holds if each value is the result of an `nn.constant`."""
    return all(_constant(value) is not None for value in values)


def is_splat(value: SSAValue, number: float) -> bool:
    """Holds if the value is an unquantized `nn.constant` with all elements equal to this number."""
    constant = _constant(value)
    if constant is None or as_dense(constant.value) is None or constant.value_type != constant.result.type:
        return False
    return constant.array.size > 0 and bool((constant.array == np.asarray(number, constant.array.dtype)).all())


def is_argument(*values: SSAValue) -> bool:
    """Holds if each value is an argument of the function."""
    return not any(isinstance(value, OpResult) for value in values)


def is_named(op: Operation, names: tuple[str, ...]) -> bool:
    """Holds if the operation has one of these names."""
    return op.name in names


def is_different(first: Operation, second: Operation) -> bool:
    """Holds if the two operations are distinct."""
    return first is not second


def has_attribute(op: Operation, name: str) -> bool:
    """Holds if the operation has this attribute or property, explicitly or by default."""
    return attribute_of(op, name) is not None


def same_attribute(first: Operation, second: Operation, name: str) -> bool:
    """Holds if both operations have this attribute with the same value, or neither has it."""
    return attribute_of(first, name) == attribute_of(second, name)


def has_number(op: Operation, name: str, low: float, high: float) -> bool:
    """Holds if each number `x` of this attribute satisfies `low <= x <= high`."""
    attribute = attribute_of(op, name)
    value = getattr(attribute, "value", None)
    numbers = [value.data] if value is not None else list(getattr(attribute, "get_values", tuple)())
    return bool(numbers) and all(low <= float(number) <= high for number in numbers)


def type_of(value: SSAValue) -> TypeAttribute:
    """Returns the type of the value."""
    return cast(TypeAttribute, value.type)


def attribute(op: Operation, name: str) -> Attribute:
    """Returns an attribute or property of the operation, or its default."""
    found = attribute_of(op, name)
    if found is None:
        raise ValueError(f"'{op.name}' has no attribute '{name}'")
    return found


def elements(value: SSAValue) -> Attribute:
    """Returns the elements of an `nn.constant`, as they are stored."""
    constant = _constant(value)
    if constant is None:
        raise ValueError("the value is not an nn.constant; apply the constraint 'is_constant' first")
    return constant.value


def folded(op: Operation) -> Attribute:
    """Folds an operation on constants; returns elements for an `nn.constant` of the first result's type."""
    constants = [_constant(operand) for operand in op.operands]
    results = None if None in constants else evaluate(op, [each.array for each in constants if each is not None])
    if results is None:
        raise ValueError(f"'{op.name}' must have constant operands and an evaluator")
    result = tensor(op.results[0].type)
    type_ = TensorType(storage_element(result.element_type), result.get_shape())
    return dense(np.ascontiguousarray(results[0]).tobytes(), type_)


def reordered(elements: Attribute, permutation: tuple[int, ...]) -> Attribute:
    """Returns the elements of a constant with permuted axes."""
    given = as_dense(elements)
    if given is None:
        raise ValueError("expected the elements of a constant")
    array = np.ascontiguousarray(dense_array(given).transpose(permutation))
    return dense(array.tobytes(), TensorType(given.get_element_type(), array.shape))


def set_attribute(op: Operation, name: str, value: Attribute) -> None:
    """Sets an attribute of a new operation, or its property of that name."""
    from_definition = getattr(type(op), "get_irdl_definition", None)
    is_property = from_definition is not None and name in from_definition().properties
    (op.properties if is_property else op.attributes)[name] = value


def copy_attributes(source: Operation, target: Operation, names: tuple[str, ...]) -> None:
    """Copies the named attributes and properties from an operation to a new one; absent ones are skipped."""
    for name in names:
        if (value := source.get_attr_or_prop(name)) is not None:
            set_attribute(target, name, value)


# Constraints on provenance, and functions that set it explicitly.
#
# By default a new operation has the origins of the operations that it replaces (`qmlir.extensions.pdl.rewriting`).


def has_origin(op: Operation, names: tuple[str, ...]) -> bool:
    """Holds if the operation implements a node whose name matches one of these patterns, such as `layer1/*`."""
    return any(fnmatchcase(origin.name, name) for origin in origins_of(op) for name in names)


def has_op_type(op: Operation, op_types: tuple[str, ...]) -> bool:
    """Holds if the operation implements a node whose operator matches one of these patterns, such as `Conv`."""
    return any(fnmatchcase(origin.op_type, op_type) for origin in origins_of(op) for op_type in op_types)


def has_role(op: Operation, roles: tuple[str, ...]) -> bool:
    """Holds if the operation's role matches one of these patterns, such as `*/matmul`.

    The role names the part of the node that the operation implements; it is empty for the whole node.
    """
    return any(fnmatchcase(origin.role, role) for origin in origins_of(op) for role in roles)


def same_origin(*ops: Operation) -> bool:
    """Holds if the operations implement the same nodes, for example as parts of one node."""
    return len({tuple(origin.name for origin in origins_of(op)) for op in ops}) == 1


def copy_provenance(target: Operation, *sources: Operation) -> None:
    """Gives a new operation the origins of the source operations, and no others."""
    set_origins(target, merged_origins(sources))


def set_role(target: Operation, role: str, *sources: Operation) -> None:
    """Gives a new operation the origins of the source operations, as the part `role` of their nodes."""
    assign_role(target, merged_origins(sources), role)


CONSTRAINTS = {
    each.__name__: each
    for each in (
        used_once, is_constant, is_splat, is_argument, is_named, is_different, has_attribute, same_attribute,
        has_number, has_origin, has_op_type, has_role, same_origin,
    )
}  # fmt: skip

REWRITES = {
    each.__name__: each
    for each in (
        type_of, attribute, elements, folded, reordered, set_attribute, copy_attributes, copy_provenance, set_role,
    )
}  # fmt: skip
