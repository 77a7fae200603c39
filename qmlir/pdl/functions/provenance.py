"""Constraints on provenance, and explicit provenance.

By default a new operation has the origins of the operations that it replaces (`qmlir.pdl.rewriting`).
"""

from fnmatch import fnmatchcase

from xdsl.ir import Operation

from qmlir.ir.provenance import assign_role, merged_origins, origins_of, set_origins


def has_origin(op: Operation, names: tuple[str, ...]) -> bool:
    """The operation stands for a node of one of these names, with `*` and `?`: `layer1/*`."""
    return any(fnmatchcase(origin.name, name) for origin in origins_of(op) for name in names)


def has_op_type(op: Operation, op_types: tuple[str, ...]) -> bool:
    """The operation stands for a node of one of these operators of the model, with `*` and `?`: `Conv`."""
    return any(fnmatchcase(origin.op_type, op_type) for origin in origins_of(op) for op_type in op_types)


def has_role(op: Operation, roles: tuple[str, ...]) -> bool:
    """The operation is this part of a node, with `*` and `?`: `*/matmul`, or an empty text for the whole node."""
    return any(fnmatchcase(origin.role, role) for origin in origins_of(op) for role in roles)


def same_origin(*ops: Operation) -> bool:
    """The operations stand for the same nodes, as parts of one node do."""
    return len({tuple(origin.name for origin in origins_of(op)) for op in ops}) == 1


CONSTRAINTS = {each.__name__: each for each in (has_origin, has_op_type, has_role, same_origin)}


def copy_provenance(target: Operation, *sources: Operation) -> None:
    """Let a new operation stand for the nodes of these operations, and for no other."""
    set_origins(target, merged_origins(sources))


def set_role(target: Operation, role: str, *sources: Operation) -> None:
    """Let a new operation be the part `role` of the nodes of these operations."""
    assign_role(target, merged_origins(sources), role)


REWRITES = {each.__name__: each for each in (copy_provenance, set_role)}
