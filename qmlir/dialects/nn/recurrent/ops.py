"""Recurrent layers (ONNX RNN, LSTM, GRU): composites whose gates are profiled and quantized separately.

Sequences are `[T, N, I]`, with the batch as the second axis. Directions are the first axis of weights: `W [D, G*H, I]`,
`R [D, G*H, H]`, and bias `[D, 2*G*H]` (first that of `W`, then that of `R`), with gates in ONNX's order (`i, o, f, c`
for the LSTM, `z, r, h` for the GRU). `lengths [N]` holds the length of each sequence; hidden states after its end are
0.
"""

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i32,
)
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

from qmlir.dialects.nn.base import ComponentwiseOp, Kind, kind_of, tensor_like
from qmlir.dialects.nn.result_shapes import check_choice, check_shape
from qmlir.dialects.quant.infer import broadcast_parameters, same_along
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, element_of, float_list, shape_of
from qmlir.ir.decomposition import UNROLLED
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds, QuantizationSlots, Slot, volume

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""For each ONNX name of `direction`, whether each direction of the layer runs backward."""


class Activation(NamedTuple):
    """An activation function and its parameters, which are `None` if the function does not have them."""

    name: str
    alpha: float | None = None
    beta: float | None = None


ACTIVATIONS: dict[str, Activation] = {
    each.name: each
    for each in (
        Activation("Relu"),
        Activation("Tanh"),
        Activation("Sigmoid"),
        Activation("Affine", 1.0, 0.0),
        Activation("LeakyRelu", 0.01),
        Activation("ThresholdedRelu", 1.0),
        Activation("ScaledTanh", 1.0, 1.0),
        Activation("HardSigmoid", 0.2, 0.5),
        Activation("Elu", 1.0),
        Activation("Softsign"),
        Activation("Softplus"),
    )
}
"""The activation functions of ONNX's recurrent layers by name, with their default parameters.

The defaults are those of the ONNX operators with the same name. `Affine` and `ScaledTanh`, for which there are no
operators, default to `x` and `tanh(x)`.
"""


class RecurrentOp(ComponentwiseOp, MultipliesAndAdds, ABC):
    """A recurrent layer with a hidden state of `hidden_size` elements.

    A quantized layer computes its parts, whose types are in `components`. If the gates of a weight have separate types,
    these are also in `components`, and the weight has type `!quant.any`.

    `activations` names the functions of all directions, one direction at a time; the default depends on the layer. If
    it is given, `activation_alpha` and `activation_beta` hold one number for each function, which functions without
    this parameter ignore. The input of a gate's activation function is clipped to `[-clip, clip]`.

    xDSL orders the operands of a subclass before inherited ones, so layers with other operands redefine all of them.
    """

    GATES: ClassVar[int]
    FUNCTIONS: ClassVar[tuple[str, ...]]
    """The default activation functions of one direction."""

    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(
        {"weight": Slot.WEIGHT, "recurrence": Slot.WEIGHT, "bias": Slot.BIAS, "lengths": None}
    )

    hidden_size = prop_def(IntegerAttr)
    direction = opt_prop_def(StringAttr, StringAttr("forward"))
    activations = opt_prop_def(ArrayAttr[StringAttr])
    activation_alpha = opt_prop_def(DenseArrayBase[AnyFloat])
    activation_beta = opt_prop_def(DenseArrayBase[AnyFloat])
    clip = opt_prop_def(FloatAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def accepts_quantized_values(self) -> bool:
        is_float = kind_of(element_of(self.operands[0])) is Kind.FLOAT
        return super().accepts_quantized_values() and not (is_float and (self.is_open or self.is_long))

    def float_reason(self) -> str:
        if not self.is_open:
            return super().float_reason()
        return FloatCause.DYNAMIC_LENGTH.reason()

    def multiply_adds(self) -> int:
        """Returns the number of multiply-adds in `W x + R h` over all gates, steps and directions."""
        weight = self.operands[1]  # each layer defines its operands, in this order
        steps, batch, width = shape_of(self.operands[0])
        hidden = self.hidden_size.value.data
        width = width if width != DYNAMIC_INDEX else shape_of(weight)[2]
        return volume((self.directions, steps, batch, self.computed_gates * hidden, volume((width,)) + hidden))

    @property
    def computed_gates(self) -> int:
        """The number of gates with separate products."""
        return self.GATES

    @property
    def is_open(self) -> bool:
        """Whether the sequence length is dynamic."""
        return shape_of(self.operands[0])[0] == DYNAMIC_INDEX

    @property
    def is_long(self) -> bool:
        """Whether the sequence has a static length of more than `UNROLLED` steps."""
        return shape_of(self.operands[0])[0] > UNROLLED

    @property
    def walks(self) -> tuple[bool, ...]:
        """For each direction, whether it processes the sequence backward."""
        name = self.direction.data
        check_choice("direction", name, DIRECTIONS)
        return DIRECTIONS[name]

    @property
    def directions(self) -> int:
        """The number of directions: 1, or 2 for a bidirectional layer."""
        return len(self.walks)

    def activation_functions(self) -> tuple[Activation, ...]:
        """Returns the activation functions of all directions with their parameters, one direction at a time."""
        given = None if self.activations is None else [each.data for each in self.activations]
        names = list(self.FUNCTIONS) * self.directions if given is None else given
        if len(names) != self.directions * len(self.FUNCTIONS):
            wanted = f"{len(self.FUNCTIONS)} activation functions for each of {self.directions} directions"
            raise VerifyException(f"expected {wanted}, but got {names}")
        for name in names:
            check_choice("activation function", name, ACTIVATIONS)
        known = [ACTIVATIONS[name] for name in names]
        alphas = self._numbers("activation_alpha", [each.alpha for each in known])
        betas = self._numbers("activation_beta", [each.beta for each in known])
        return tuple(map(Activation, names, alphas, betas))

    def _numbers(self, name: str, defaults: list[float | None]) -> list[float | None]:
        """Returns the property `name` distributed to the functions that have such a parameter."""
        attribute: DenseArrayBase[Any] | None = getattr(self, name)
        if attribute is None:
            return defaults
        numbers = float_list(attribute)
        if self.activations is None or len(numbers) != len(defaults):
            raise VerifyException(f"'{name}' must have one value per activation function, but got {list(numbers)}")
        return [None if default is None else number for default, number in zip(defaults, numbers, strict=True)]


class HiddenStateOp(RecurrentOp, ABC):
    """A layer whose only state is the hidden state; it returns all hidden states, and the last one."""

    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    recurrence = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    initial_hidden = opt_operand_def(TensorType)
    hidden_states = result_def(TensorType)
    last_hidden = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        _check_operands(self)
        return [_sequence_type(self), _state_type(self)]


@irdl_op_definition
class RnnOp(HiddenStateOp):
    """Simple recurrent layer `h = f(W x + R h + b)`: all hidden states, and the last one."""

    name = "nn.rnn"
    GATES: ClassVar[int] = 1
    FUNCTIONS: ClassVar[tuple[str, ...]] = ("Tanh",)


class LstmLayer(RecurrentOp, ABC):
    """Common base of the LSTM layers, regardless of how their products are computed."""

    GATES: ClassVar[int] = 4
    FUNCTIONS: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh", "Tanh")

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

    @property
    def computed_gates(self) -> int:
        return self.GATES - bool(self.input_forget.value.data)  # a forget gate that is `1 - i` needs no product

    def infer_result_types(self) -> Sequence[AnyTensor]:
        _check_operands(self)
        check_shape("initial cell state", self.initial_cell, state_shape(self))
        check_shape("peepholes", self.peepholes, (self.directions, 3 * self.hidden_size.value.data))
        return [_sequence_type(self), _state_type(self), _state_type(self)]


@irdl_op_definition
class LstmOp(LstmLayer):
    """Long short-term memory: all hidden states, the last one, and the last cell state.

    A step computes `i = f(… + p_i c)`, `f = f(… + p_f c)` (`1 - i` with `input_forget`), `c = f c + i g(…)`,
    `o = f(… + p_o c)` and `h = o h(c)`. Here, `…` is the gate's part of `W x + R h + b`, and `p [D, 3*H]` are the
    peephole weights in the order `i, o, f`. The input of the function `h` is the cell state rather than a gate, so it
    is not clipped, as in ONNX Runtime.
    """

    name = "nn.lstm"


@irdl_op_definition
class GruOp(HiddenStateOp):
    """Gated recurrent unit: all hidden states, and the last one.

    `h = (1 - z) g(W_h x + R_h (r h) + b_h) + z h`; with `linear_before_reset`, `g(W_h x + b_wh + r (R_h h + b_rh))`.
    """

    name = "nn.gru"
    GATES: ClassVar[int] = 3
    FUNCTIONS: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh")

    linear_before_reset = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))


@irdl_op_definition
class DynamicLstmOp(LstmLayer):
    """An `nn.lstm` with integer matrix products, whose data is quantized at run time by its range.

    The weights are 8-bit constants whose types hold one scale for each direction or for each row. `W x` quantizes the
    whole sequence at once, and `R h` quantizes the state of all sequences at each step, both like
    `nn.dynamic_quantize`. The exact sums are multiplied by `f32(s_x * s_w)` (ONNX Runtime DynamicQuantizeLSTM).
    """

    name = "nn.dynamic_lstm"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(
        {"weight": None, "recurrence": None, "bias": Slot.BIAS, "lengths": None}
    )

    def infer_result_types(self) -> Sequence[AnyTensor]:
        results = super().infer_result_types()
        for weight in (self.weight, self.recurrence):
            element = element_of(weight)
            if not isinstance(element, UniformQuantizedType) or element.bits != 8:
                raise VerifyException(f"weights must be quantized to 8 bits, but got '{weight.type}'")
            scales, points = element.scales, element.zero_points
            if element.granularity is Granularity.AXIS:
                scales, points = broadcast_parameters(element, shape_of(weight))
            if same_along(scales, (2,)) is None:
                raise VerifyException(f"weights must have one scale per direction or one per row, but got '{element}'")
            if same_along(points, (1, 2)) is None:
                raise VerifyException(f"all rows of one direction must have the same zero point, but got '{element}'")
        return results


Layer = HiddenStateOp | LstmLayer


def state_shape(op: Layer) -> tuple[int, int, int]:
    """Returns the shape of a state, `[D, N, H]`."""
    return op.directions, shape_of(op.data)[1], op.hidden_size.value.data


def _check_operands(op: Layer) -> None:
    """Verifies the operands that all layers have, and the activation functions."""
    data = shape_of(op.data)
    if len(data) != 3:
        raise VerifyException(f"data must have shape [time, batch, input], but got '{op.data.type}'")
    count, _, hidden = state_shape(op)
    rows = op.GATES * hidden
    check_shape("weights", op.weight, (count, rows, data[2]))
    check_shape("recurrence", op.recurrence, (count, rows, hidden))
    check_shape("bias", op.bias, (count, 2 * rows))
    check_shape("lengths", op.lengths, (data[1],))
    if op.lengths is not None and element_of(op.lengths) != i32:
        raise VerifyException(f"lengths must have elements of type i32, but got '{op.lengths.type}'")
    check_shape("initial hidden state", op.initial_hidden, state_shape(op))
    op.activation_functions()


def _sequence_type(op: Layer) -> AnyTensor:
    """Returns the type of all hidden states, `[T, D, N, H]`."""
    return tensor_like(op.data, (shape_of(op.data)[0], *state_shape(op)))


def _state_type(op: Layer) -> AnyTensor:
    """Returns the type of the last state, `[D, N, H]`."""
    return tensor_like(op.data, state_shape(op))
