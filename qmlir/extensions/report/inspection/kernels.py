"""The kernels that run a node: the functions outlined from it, each with its schedule.

The module is at the scheduled level. Nothing is compiled: kernels have names before they are loops.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.extensions.report.inspection.naming import NamedNode
from qmlir.ir.provenance import origins_of
from qmlir.quantization.profiles.keys import functions_of


@dataclass(frozen=True)
class NodeKernel:
    """A function that computes a node or a part of it."""

    name: str
    """The name in emitted code and timings, such as `conv3x3s1_56x56x64_i8`."""

    operations: tuple[str, ...]
    """Its operations, such as `kernel.packed_conv` or `linalg.generic`."""

    schedule: Mapping[str, str | int | bool] | None
    """The schedule of a contraction: `variant`, `rows`, `vectors`, `lanes`, `k_unroll`, `threads`, `packed`."""

    calls: int
    """Number of calls for this node."""

    nodes: tuple[str, ...]
    """The nodes that these calls implement: one kernel computes all that was fused."""


def _schedule(op: EpilogueOp) -> dict[str, str | int | bool] | None:
    is_packed = isinstance(op, PackedOp)
    attribute = op.loops if is_packed else op.schedule
    if attribute is None:
        return None
    found = {name: getattr(attribute, name) for name in ("variant", "rows", "vectors", "lanes", "k_unroll")}
    return {**found, "threads": bool(attribute.threads), "packed": is_packed}


def _inside(function: FuncOp) -> Iterator[Operation]:
    """Yields the operations of a kernel, without constants and the terminator."""
    return (op for op in function.body.blocks[0].ops if op.regions or isinstance(op, EpilogueOp))


def kernels_of(module: ModuleOp, node: NamedNode) -> tuple[NodeKernel, ...]:
    """Returns the kernels that `module` calls for `node`, in the order of their first calls."""
    functions = {function.sym_name.data: function for function in functions_of(module)}
    calls: dict[str, list[CallOp]] = {}
    for op in module.walk():
        if isinstance(op, CallOp) and node.is_of(op) and op.callee.root_reference.data in functions:
            calls.setdefault(op.callee.root_reference.data, []).append(op)
    found: list[NodeKernel] = []
    for name, sites in calls.items():
        inside = list(_inside(functions[name]))
        schedules = (_schedule(op) for op in inside if isinstance(op, EpilogueOp))
        nodes = dict.fromkeys(str(origin) for site in sites for origin in origins_of(site))
        found.append(
            NodeKernel(
                name,
                tuple(dict.fromkeys(op.name for op in inside)),
                next(filter(None, schedules), None),
                len(sites),
                tuple(nodes),
            )
        )
    return tuple(found)
