"""The types of the `nn` dialect that tensors of numbers have no word for: strings, and sequences of tensors."""

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import AnyUnrankedTensorType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.utils.exceptions import VerifyException

from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import Container


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """The element type of tensors of text: `tensor<4x!nn.string>`."""

    name = "nn.string"


@irdl_attr_definition
class SequenceType(ParametrizedAttribute, Container):
    """Any number of tensors in their order: `!nn.sequence<tensor<?x3xf32>>`.

    All have the element type of `element_type`, and as much of the shape as it knows: nothing of `tensor<*xf32>`.
    """

    name = "nn.sequence"

    element_type: Attribute = param_def()

    def verify(self) -> None:
        if not isinstance(self.element_type, TensorType | UnrankedTensorType):
            raise VerifyException(f"sequences must contain tensors, but got '{self.element_type}'")

    @property
    def tensors(self) -> AnyTensor | AnyUnrankedTensorType:
        """What is known of every tensor."""
        return cast(AnyTensor | AnyUnrankedTensorType, self.element_type)

    def part(self, place: int) -> TypeAttribute:
        return self.tensors

    def with_parts(self, converted: Callable[[TypeAttribute], TypeAttribute]) -> TypeAttribute:
        return SequenceType(converted(self.tensors))
