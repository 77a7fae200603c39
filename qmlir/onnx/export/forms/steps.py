"""Exports quantized recurrent layers of dynamic length as a Loop over their time steps.

The components of such a layer are those of two time steps, with the roles and types of all others: one reads the
initial states, the other the states of a step. The first is exported directly; the second is the body of a Loop, which
gathers its data from the sequence. Both compute the integers that the layer has at a static length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from onnx import GraphProto, helper
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.movement.ops import ConcatOp, SplitOp
from qmlir.dialects.nn.recurrent.decompose import prefix_of
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp, Layer
from qmlir.ir.builtin_types import element_of
from qmlir.ir.decomposition import Parts
from qmlir.onnx.export.emission import Outgoing, value_info

_SEQUENCE, _RESHAPE, _BACKWARD = "hidden/sequence", "hidden/reshape", prefix_of(1)

WritePart = Callable[[Outgoing, int, dict[SSAValue, str]], None]
"""Exports the component of an index, given the names of earlier values, and adds the names of its results."""


@dataclass
class _Direction:
    """The components of one direction, by their indices."""

    is_reversed: bool
    splits: list[SplitOp] = field(default_factory=list[SplitOp])
    first: list[int] = field(default_factory=list[int])
    second: list[int] = field(default_factory=list[int])

    @property
    def places(self) -> tuple[int, int]:
        """The indices of the results of the splits that the first and the second step read."""
        return (1, 0) if self.is_reversed else (0, 1)


def has_steps(op: Operation) -> bool:
    """Returns True if a layer of dynamic length can be exported as a Loop."""
    return isinstance(op, Layer) and not isinstance(op, DynamicLstmOp) and op.lengths is None


def _directions(op: Layer, parts: Parts) -> list[_Direction]:
    """Returns the steps of each direction. Both steps have the same roles, each with as many components."""
    found = [_Direction(is_reversed) for is_reversed in op.walks]
    by_role: dict[str, list[int]] = {}
    for number, role in enumerate(parts.roles):
        by_role.setdefault(role, []).append(number)
    for role, numbers in by_role.items():
        direction = found[1 if role.startswith(_BACKWARD) else 0]
        direction.splits += [part for number in numbers if isinstance(part := parts.operations[number], SplitOp)]
        if len(numbers) > 1:
            direction.first += numbers[: len(numbers) // 2]
            direction.second += numbers[len(numbers) // 2 :]
    for direction in found:
        direction.first.sort()
        direction.second.sort()
    return found


def write_steps(out: Outgoing, op: Layer, parts: Parts, write: WritePart) -> dict[SSAValue, str]:
    """Exports the components of a layer of dynamic length; returns the names of their results."""
    if out.settings.functions:
        raise out.error("is exported as a Loop, which cannot use local functions (functions=False)")
    names = dict(out.names)
    directions = _directions(op, parts)
    inside = {number for each in directions for number in each.second}
    splits = {split: each for each in directions for split in each.splits}
    for number, (role, part) in enumerate(zip(parts.roles, parts.operations, strict=True)):
        direction = directions[1 if role.startswith(_BACKWARD) else 0]
        if isinstance(part, SplitOp) and part in splits:
            place = out.constant([-1 if direction.is_reversed else 0])
            (sequence,) = part.operands
            first = part.results[direction.places[0]]
            names[first] = out.node("Gather", [names[sequence], place], axis=0)
        elif role.endswith(_SEQUENCE):
            assert isinstance(part, ConcatOp)
            names[part.result] = _write_loop(out, op, parts, direction, part, names, write)
        elif role.endswith(_RESHAPE):
            names[part.results[0]] = names[part.operands[0]]
        elif number not in inside:
            write(out, number, names)
    return names


def _write_loop(
    out: Outgoing,
    op: Layer,
    parts: Parts,
    direction: _Direction,
    joined: ConcatOp,
    names: dict[SSAValue, str],
    write: WritePart,
) -> str:
    """Exports the steps after the first one; returns the name of the hidden states, `[T, 1, N, H]`."""
    before = _results(parts, direction.first)
    after = dict(zip(before, _results(parts, direction.second), strict=True))
    read = {operand for number in direction.second for operand in parts.operations[number].operands}
    carried = [value for value in before if value in read]
    given = [joined.operands[place] for place in direction.places]
    if after.get(given[0]) is not given[1] or any(
        element_of(value) != element_of(after[value]) for value in (*carried, given[0])
    ):
        raise out.error("has iterations of different types, which ONNX Loop does not support")
    prefix = names[given[0]]
    body = replace(out, nodes=[], prefix=f"{prefix}/body", _known={})
    counter, holds = f"{prefix}/step", f"{prefix}/holds"
    inner = names | {value: f"{prefix}/state{place}" for place, value in enumerate(carried)}
    # Steps are counted from the second one. In the backward direction, it reads the last but one element.
    operator, start = ("Sub", -2) if direction.is_reversed else ("Add", 1)
    place = body.node(operator, [body.constant([start]), counter])
    for split in direction.splits:
        (sequence,) = split.operands
        inner[split.results[direction.places[1]]] = body.node("Gather", [names[sequence], place], axis=0)
    for number in direction.second:
        write(body, number, inner)
    graph = GraphProto(name=f"{prefix}/steps")
    graph.input.append(value_info(counter, TensorType(i64, [])))
    graph.input.append(value_info(holds, TensorType(i1, [])))
    graph.input.extend(value_info(inner[value], value.type) for value in carried)
    gives = [*(after[value] for value in carried), given[1]]
    outputs = [body.node("Identity", [holds]), *(body.node("Identity", [inner[value]]) for value in gives)]
    graph.output.append(value_info(outputs[0], TensorType(i1, [])))
    graph.output.extend(value_info(name, value.type) for name, value in zip(outputs[1:], gives, strict=True))
    graph.node.extend(body.nodes)
    length = out.node("Shape", [out.name(op.data)], start=0, end=1)
    count = out.node("Squeeze", [out.node("Sub", [length, out.constant([1])])])
    loop = helper.make_node(
        "Loop",
        [count, "", *(names[value] for value in carried)],
        [*(f"{prefix}/last{place}" for place in range(len(carried))), f"{prefix}/rest"],
        body=graph,
    )
    out.nodes.append(loop)
    *last, rest = loop.output
    names.update(zip((after[value] for value in carried), last, strict=True))
    first = out.node("Unsqueeze", [names[given[0]], out.constant([0])])
    if not direction.is_reversed:
        return out.node("Concat", [first, rest], axis=0)
    # ONNX Runtime replaces a Gather by a Range down to -1 by a Slice that ends at the last element.
    upwards = out.node("Range", [out.constant(0), count, out.constant(1)])
    downwards = out.node("Sub", [out.node("Sub", [count, out.constant(1)]), upwards])
    turned = out.node("Gather", [rest, downwards], axis=0)
    return out.node("Concat", [turned, first], axis=0)


def _results(parts: Parts, numbers: Sequence[int]) -> list[SSAValue]:
    return list(chain.from_iterable(parts.operations[number].results for number in numbers))
