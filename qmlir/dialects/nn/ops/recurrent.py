"""Recurrent layers (ONNX LSTM and GRU), composites whose gates are profiled and quantized one by one when decomposed.

Sequences are `[T, N, I]` (batch second); weights hold the directions first: `W [D, G*H, I]`, `R [D, G*H, H]`, bias
`[D, 2*G*H]`, with gates in ONNX's order (`i, o, f, c` for the LSTM, `z, r, h` for the GRU).
"""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import NnOp, shape_of, shapes_agree, tensor_like
from qmlir.dialects.nn.elements import Kind
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import QuantizationSlots, Slot

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
"""ONNX's names of the ways through a sequence, and how many results each has."""


class RecurrentOp(NnOp, ABC):
    """A layer that walks a sequence with a hidden state of `hidden_size` elements.

    xDSL orders the operands of a subclass before those that it inherits, so each layer defines its own.
    """

    GATES: ClassVar[int]
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(
        {
            "data": Slot.INPUT,
            "weight": Slot.WEIGHT,
            "recurrence": Slot.WEIGHT,
            "bias": Slot.BIAS,
            "lengths": None,
        }
    )

    hidden_size = prop_def(IntegerAttr)
    direction = opt_prop_def(StringAttr, StringAttr("forward"))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def directions(self) -> int:
        """1, or 2 for a bidirectional layer."""
        name = self.direction.data
        if name not in DIRECTIONS:
            raise VerifyException(f"direction must be one of {list(DIRECTIONS)}, found '{name}'")
        return DIRECTIONS[name]


@irdl_op_definition
class LstmOp(RecurrentOp):
    """Long short-term memory: all hidden states, the last one, and the last cell state."""

    name = "nn.lstm"
    GATES: ClassVar[int] = 4

    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    recurrence = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    initial_hidden = opt_operand_def(TensorType)
    initial_cell = opt_operand_def(TensorType)
    peepholes = opt_operand_def(TensorType)
    hidden_states = result_def(TensorType)
    last_hidden = result_def(TensorType)
    last_cell = result_def(TensorType)

    input_forget = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        _check_operands(self)
        _check_shape("the initial cell state", self.initial_cell, state_shape(self))
        _check_shape("the peepholes", self.peepholes, (self.directions, 3 * self.hidden_size.value.data))
        return [_sequence_type(self), _state_type(self), _state_type(self)]


@irdl_op_definition
class GruOp(RecurrentOp):
    """Gated recurrent unit: all hidden states, and the last one."""

    name = "nn.gru"
    GATES: ClassVar[int] = 3

    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    recurrence = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    initial_hidden = opt_operand_def(TensorType)
    hidden_states = result_def(TensorType)
    last_hidden = result_def(TensorType)

    linear_before_reset = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        _check_operands(self)
        return [_sequence_type(self), _state_type(self)]


def state_shape(op: LstmOp | GruOp) -> tuple[int, int, int]:
    """The shape of a state, `[D, N, H]`."""
    return op.directions, shape_of(op.data)[1], op.hidden_size.value.data


def _check_shape(what: str, value: SSAValue | None, shape: Sequence[int]) -> None:
    if value is not None and not shapes_agree(shape_of(value), shape):
        raise VerifyException(f"{what} has shape {list(shape)}, found {value.type}")


def _check_operands(op: LstmOp | GruOp) -> None:
    """Check the operands that both layers have."""
    data = shape_of(op.data)
    if len(data) != 3:
        raise VerifyException(f"a sequence is [time, batch, input], found {op.data.type}")
    count, _, hidden = state_shape(op)
    rows = op.GATES * hidden
    _check_shape("the weight", op.weight, (count, rows, data[2]))
    _check_shape("the recurrence", op.recurrence, (count, rows, hidden))
    _check_shape("the bias", op.bias, (count, 2 * rows))
    _check_shape("the lengths", op.lengths, (data[1],))
    _check_shape("the initial hidden state", op.initial_hidden, state_shape(op))


def _sequence_type(op: LstmOp | GruOp) -> AnyTensor:
    """The type of all hidden states, `[T, D, N, H]`."""
    return tensor_like(op.data, (shape_of(op.data)[0], *state_shape(op)))


def _state_type(op: LstmOp | GruOp) -> AnyTensor:
    """The type of the last state, `[D, N, H]`."""
    return tensor_like(op.data, state_shape(op))


OPERATIONS = (LstmOp, GruOp)
