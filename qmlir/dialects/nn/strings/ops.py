"""Operations on tensors of strings (ONNX StringNormalizer, StringConcat, StringSplit)."""

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, BoolAttr, IntegerAttr, StringAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, OneOperandOp
from qmlir.dialects.nn.elementwise.ops import BinaryOp
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of

CASES = ("NONE", "LOWER", "UPPER")


@irdl_op_definition
class StringNormalizerOp(OneOperandOp):
    """Removes stop words from a list or a single row of strings, and changes the case of strings by `case_change`.

    Stop words are matched case-insensitively unless `is_case_sensitive`. If no string remains, the result is one
    empty string. Case conversion is Unicode's, independent of the language.
    """

    name = "nn.string_normalizer"
    ACCEPTS: ClassVar[Kind] = Kind.STRING

    case_change = opt_prop_def(StringAttr, StringAttr("NONE"))
    is_case_sensitive = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))
    stopwords = opt_prop_def(ArrayAttr)

    @property
    def words(self) -> tuple[str, ...]:
        """The stop words as a tuple of strings."""
        words = cast(ArrayAttr[StringAttr] | None, self.stopwords)
        return () if words is None else tuple(word.data for word in words)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        if not (len(shape) == 1 or (len(shape) == 2 and shape[0] in (1, DYNAMIC_INDEX))):
            raise VerifyException(f"input must have shape [C] or [1, C], but got '{self.input.type}'")
        check_choice("case_change", self.case_change.data, CASES)
        if any(not isinstance(word, StringAttr) for word in self.stopwords or ()):
            raise VerifyException(f"stopwords must be strings, but got '{self.stopwords}'")
        count = DYNAMIC_INDEX if self.words else shape[-1] or 1
        return [TensorType(element_of(self.input), (*shape[:-1], count))]


@irdl_op_definition
class StringConcatOp(BinaryOp):
    """Concatenates strings elementwise: `a` followed by `b`."""

    name = "nn.string_concat"
    ACCEPTS: ClassVar[Kind] = Kind.STRING


@irdl_op_definition
class StringSplitOp(NnOp):
    """Splits each string at delimiters into a new last axis, padded with empty strings; also returns the part counts.

    Without `delimiter`, or if it is empty, strings are split at runs of white space into nonempty parts. After
    `max_split` delimiters, the rest of the string is one part.
    """

    name = "nn.string_split"
    ACCEPTS: ClassVar[Kind] = Kind.STRING

    input = operand_def(TensorType)
    parts = result_def(TensorType)
    counts = result_def(TensorType)

    delimiter = opt_prop_def(StringAttr, StringAttr(""))
    max_split = opt_prop_def(IntegerAttr)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        return [TensorType(element_of(self.input), (*shape, DYNAMIC_INDEX)), TensorType(i64, shape)]
