"""Constants: weights and small tensors, stored as the bytes of elements of the storage type."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, kind_of, plain_type, shapes_agree
from qmlir.dialects.quant.infer import as_stored
from qmlir.dialects.quant.types import StoredType, UniformFloatType
from qmlir.ir.builtin_types import AnyDense, AnyTensor, as_dense, dense, ranked_tensor, reshaped_like, tensor
from qmlir.ir.interfaces import HeldElement
from qmlir.text.elements import dense_array, narrowed
from qmlir.text.weights import ExternalWeightsAttr


def storage_element(element: Attribute) -> Attribute:
    """Returns the plain type in which `element` is stored: i8 for i8 storage, f32 for a profiled f32."""
    if isinstance(element, StoredType):
        return IntegerType(element.bits, element.storage.signedness)
    if isinstance(element, UniformFloatType):
        return element.storage
    return element.held_as if isinstance(element, HeldElement) else plain_type(element)


@irdl_op_definition
class ConstantOp(NnOp):
    """A tensor known at compile time: `nn.constant dense<…> : tensor<2xi8> -> tensor<2x!q0>`.

    A single type is printed if the stored type and the result type are equal.
    """

    name = "nn.constant"

    value = prop_def(DenseIntOrFPElementsAttr | ExternalWeightsAttr)
    result = result_def(TensorType)

    traits = traits_def(ConstantLike())

    def __init__(self, value: AnyDense, result_type: AnyTensor | None = None):
        super().__init__(result_types=[result_type or value.type], properties={"value": value})

    @staticmethod
    def of(array: Array, result_type: AnyTensor) -> "ConstantOp":
        """Returns a constant of `result_type` with the stored values `array`, whose shape and NumPy type must fit the
        type."""
        element = storage_element(result_type.get_element_type())
        held = narrowed(array, element) if element == i1 else array  # a stored one-bit -1 is represented as 1
        return ConstantOp(dense(held.tobytes(), TensorType(element, result_type.get_shape())), result_type)

    @property
    def value_type(self) -> Attribute:
        """The type of the stored values."""
        return self.value.get_type()

    @property
    def array(self) -> Array:
        """The stored values as a read-only view; for a signed 1-bit type, a copy with values 0 and -1."""
        if isinstance(self.value, ExternalWeightsAttr):
            raise InterpretationError(
                "the weights are stored in a separate file; load the module together with its weights file"
            )
        held, element = dense_array(self.value), tensor(self.result.type).get_element_type()
        if not isinstance(element, StoredType) or (stored := as_stored(held, element)) is held:
            return held
        stored.flags.writeable = False
        return stored

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [tensor(reshaped_like(tensor(self.result.type), self.value_type))]

    def verify_(self) -> None:
        stored, result = ranked_tensor(self.value_type), tensor(self.result.type)
        if stored is None:
            raise VerifyException(f"expected a tensor value, but got '{self.value_type}'")
        element = result.get_element_type()
        if kind_of(element) is None:
            raise VerifyException(f"does not support elements of type '{element}'")
        expected = storage_element(element)
        if stored.get_element_type() != expected or not shapes_agree(stored.get_shape(), result.get_shape()):
            raise VerifyException(
                f"expected a value of type '{TensorType(expected, result.get_shape())}' for result '{result}', "
                f"but got '{stored}'"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if self.value_type != self.result.type:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> "ConstantOp":
        position = parser.pos
        attribute = parser.parse_attribute()
        value = attribute if isinstance(attribute, ExternalWeightsAttr) else as_dense(attribute)
        if value is None:
            parser.raise_error("expected dense elements or weights", position)
        type_: Attribute = value.get_type()
        if parser.parse_optional_punctuation("->") is not None:
            type_ = parser.parse_type()
        attributes = parser.parse_optional_attr_dict()
        return cls.create(result_types=[type_], properties={"value": attribute}, attributes=attributes)
