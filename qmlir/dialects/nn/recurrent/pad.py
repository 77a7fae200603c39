"""Padding rules of recurrent layers along a dynamic length: steps beyond the actual length do not change states."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, TensorType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.symbolic_sizes import Extent, extents
from qmlir.dialects.nn.assembly import SEGMENT_SIZES
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.decomposition import components_of
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.dialects.nn.movement.ops import ReshapeOp, TransposeOp, UnsqueezeOp
from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, Rule, zero_of
from qmlir.dialects.nn.recurrent import ops
from qmlir.dialects.nn.recurrent.decompose import CELLS, prefix_of
from qmlir.dialects.nn.shapes.ops import ExpandOp
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import COMPONENTS


def _recurrent(op: ops.Layer, at: PaddingSite) -> Sequence[PaddedValue] | None:
    """The padding rule for recurrent layers: steps past a dynamic length leave the states unchanged.

    The length is the same for all sequences, unless the layer has `lengths`.
    """
    steps, sequences, width = at.axes(op.data)
    states = [state for name in _STATES if (state := getattr(op, name, None)) is not None]
    given = [at.axes(state)[1] for state in states]
    given += [] if op.lengths is None else at.axes(op.lengths)
    if width.names or at.broadcast((sequences,), *((each,) for each in given)) != (sequences,):
        return None
    per_sequence = [op.data, op.lengths, *states]
    others = [at.axes(value) for value in op.operands if value not in per_sequence]
    others += [(axes[0], axes[2]) for axes in map(at.axes, states)]
    if any(axis.names for axes in others for axis in axes):
        at.decline("has weights or states with dynamic dimensions")
    if steps.names and at.is_sized:
        at.mix(steps)
        at.decline("iterates over the batch axis")
    results = [shape_of(result) for result in op.results]
    found = [PaddedValue((*extents(shape[:-2]), sequences, *extents(shape[-1:]))) for shape in results]
    if steps.names:
        at.count(steps)
        found[0] = PaddedValue((steps, *found[0].axes[1:]), frozenset([0]))
        if op.lengths is None:
            _end_after(op, at, steps, sequences, found)
    return found


def _end_after(op: ops.Layer, at: PaddingSite, steps: Extent, sequences: Extent, found: Sequence[PaddedValue]) -> None:
    """Passes the runtime size to a layer as the length of each sequence."""
    lengths = (at.constant(np.zeros(sequences.at(at.capacities))) + at.size(steps)).value
    short = at.start.add(CastOp, lengths, result_types=[TensorType(i32, shape_of(lengths))]).result
    operands: dict[str, SSAValue | None] = {name: getattr(op, name) for name, _ in op.get_irdl_definition().operands}
    operands["lengths"] = short
    components = _keep_one_type(op, at, operands)
    properties = {name: each for name, each in op.properties.items() if name != SEGMENT_SIZES}
    made: ops.Layer = type(op).build(
        operands=[[] if each is None else each for each in operands.values()],
        result_types=[result.type for result in op.results],
        properties={**properties, **components},
        attributes=op.attributes,
    )
    at.here.append(made)
    for old, new, facts in zip(op.results, made.results, found, strict=True):
        at.replace(old, new, facts)


def _keep_one_type(op: ops.Layer, at: PaddingSite, operands: dict[str, SSAValue | None]) -> Mapping[str, Attribute]:
    """Returns the component types of a quantized layer with sequence lengths, in which each state keeps one type.

    States are copied unchanged after the end of a sequence, so their type can't change. An initial state of 0 is
    dropped, because 0 is 0 in any type.
    """
    components = components_of(op)
    found = dict(components)
    for way, name in product(range(op.directions if components else 0), [each for each in _STATES if each in operands]):
        prefix = prefix_of(way)
        element = element_of(op.hidden_states) if name == HIDDEN else components[f"{prefix}{CELLS[0]}"]
        role, given = f"{prefix}{_STATES[name]}/initial", getattr(op, name)
        before = components.get(role, element) if given is None else element_of(given)
        if before != element:
            if op.requantize is not None or not (given is None or _is_zero(given)):
                at.decline(f"must keep one state type, but starts with {before} and continues with {element}")
            operands[name] = None
        if operands[name] is None:
            found[role] = element
        found[f"{prefix}hidden/zero"] = element_of(op.hidden_states)
    return {COMPONENTS: DictionaryAttr(found)} if components else {}


HIDDEN = "initial_hidden"
_STATES = {HIDDEN: "hidden", "initial_cell": "cell"}
"""The operand of each initial state, and the prefix of the roles of its components."""

_COPIES = (ExpandOp, ReshapeOp, UnsqueezeOp, TransposeOp)
"""Operations that only move the elements of their first operand."""


def _is_zero(value: SSAValue) -> bool:
    """Returns True if all elements are known to be 0."""
    while isinstance(value.owner, _COPIES):
        value = value.owner.operands[0]
    if isinstance(value.owner, QuantizeCastOp):
        return _is_zero(value.owner.input)
    array, zero = constant_array(value), zero_of(value)
    return array is not None and zero is not None and bool((array == zero).all())


RULES: Mapping[type[Operation], Rule] = {ops.RnnOp: _recurrent, ops.GruOp: _recurrent, ops.LstmOp: _recurrent}
