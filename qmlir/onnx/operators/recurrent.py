"""Importers of recurrent layers; `layout = 1` (batch first) becomes transposes around a layer."""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, StringAttr, f32
from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import recurrent as ops
from qmlir.dialects.nn.ops.movement import TransposeOp
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.node import Importer, Node

_BATCH_SECOND = (1, 0, 2)
"""From `[batch, time, …]` to `[time, batch, …]`, and back; for states: of batch and directions."""

_BATCH_FIRST_OF_ALL = (2, 0, 1, 3)
"""All hidden states, `[time, directions, batch, hidden]`, with the batch in front."""

_BY_LOWER_CASE = {name.lower(): name for name in ops.ACTIVATIONS}


def _transposed(node: Node, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
    return node.add(TransposeOp, value, permutation=permutation).result


def _parameters(defaults: Sequence[float | None], given: Sequence[float]) -> list[float]:
    """A number for each function: the next of `given` where it has such a parameter, while there is one."""
    rest = iter(given)
    return [0.0 if default is None else next(rest, default) for default in defaults]


def _activations(node: Node, operation: type[ops.RecurrentOp], directions: int) -> dict[str, Any]:
    """The properties of activation functions that are not the layer's own."""
    given: list[str] = node.attribute("activations", None) or []
    names = [_BY_LOWER_CASE.get(name.lower(), name) for name in given]
    own = list(operation.FUNCTIONS) * directions
    # The schema of RNN has a default of two functions, of which one direction takes the first.
    if not names or names[: len(own)] == own:
        return {}
    unknown = [name for name in names if name not in ops.ACTIVATIONS]
    if unknown:
        raise node.error(f"has the activation function '{unknown[0]}', known are {list(ops.ACTIVATIONS)}")
    functions = [ops.ACTIVATIONS[name] for name in names]
    properties: dict[str, Any] = {"activations": ArrayAttr([StringAttr(name) for name in names])}
    for name, defaults in (
        ("activation_alpha", [each.alpha for each in functions]),
        ("activation_beta", [each.beta for each in functions]),
    ):
        numbers = node.attribute(name, None)
        if numbers:
            properties[name] = DenseArrayBase.from_list(f32, _parameters(defaults, numbers))
    return properties


def recurrent(
    operation: type[ops.RecurrentOp],
    states: Sequence[int],
    flag: str = "",
    peepholes: int = 0,
    weights: Callable[[Node, int], SSAValue] = Node.input,
) -> Importer:
    """The importer of a layer whose initial states are inputs `states`, with its own `flag` and input `peepholes`.

    `weights` gives input 1, those of the data, and input 2, those of the states.
    """

    def importer(node: Node) -> list[SSAValue]:
        is_batch_first = bool(node.attribute("layout", 0))
        data = node.input()
        hidden_size = node.attribute("hidden_size") or shape_of(node.input(2))[-1]
        if hidden_size == DYNAMIC_INDEX:
            raise node.error(f"needs hidden_size, which {node.input(2).type} does not tell")
        direction = node.attribute("direction") or "forward"
        if direction not in ops.DIRECTIONS:
            raise node.error(f"direction is '{direction}', known are {list(ops.DIRECTIONS)}")
        initial = [node.optional(place) for place in states]
        if is_batch_first:
            data = _transposed(node, data, _BATCH_SECOND)
            initial = [None if each is None else _transposed(node, each, _BATCH_SECOND) for each in initial]
        properties = _activations(node, operation, len(ops.DIRECTIONS[direction]))
        if flag:
            properties[flag] = bool(node.attribute(flag))
        operands = [data, weights(node, 1), weights(node, 2), node.optional(3), node.optional(4), *initial]
        if peepholes:
            operands.append(node.optional(peepholes))
        op = node.add(
            operation,
            *operands,
            hidden_size=hidden_size,
            direction=direction,
            clip=node.attribute("clip"),
            **properties,
        )
        hidden, *last = op.results
        if not is_batch_first:
            return [hidden, *last]
        return [
            _transposed(node, hidden, _BATCH_FIRST_OF_ALL),
            *(_transposed(node, each, _BATCH_SECOND) for each in last),
        ]

    return importer


IMPORTERS: dict[str, Importer] = {
    "RNN": recurrent(ops.RnnOp, (5,)),
    "LSTM": recurrent(ops.LstmOp, (5, 6), "input_forget", peepholes=7),
    "GRU": recurrent(ops.GruOp, (5,), "linear_before_reset"),
}
