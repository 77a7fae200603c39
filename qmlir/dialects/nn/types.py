"""Types of the `nn` dialect other than tensors of numbers: strings, and sequences of tensors."""

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
    """The element type of string tensors: `tensor<4x!nn.string>`."""

    name = "nn.string"


@irdl_attr_definition
class SequenceType(ParametrizedAttribute, Container):
    """A sequence of any number of tensors: `!nn.sequence<tensor<?x3xf32>>`.

    All tensors match `element_type`: they have its element type, and its shape as far as that is static. An unranked
    type such as `tensor<*xf32>` permits any shape.
    """

    name = "nn.sequence"

    element_type: Attribute = param_def()

    def verify(self) -> None:
        if not isinstance(self.element_type, TensorType | UnrankedTensorType):
            raise VerifyException(f"sequences must contain tensors, but got '{self.element_type}'")

    @property
    def tensors(self) -> AnyTensor | AnyUnrankedTensorType:
        """The common type of the tensors."""
        return cast(AnyTensor | AnyUnrankedTensorType, self.element_type)

    def part(self, position: int) -> TypeAttribute:
        return self.tensors

    def with_parts(self, converted: Callable[[TypeAttribute], TypeAttribute]) -> TypeAttribute:
        return SequenceType(converted(self.tensors))
