"""Which values have parameters already, because the model came with them: what no profile has to see.

A float value has them where it was dequantized, or where all that quantize it do so to one type. In a model that is
quantized in part, the others belong to the parts that are still in float.
"""

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.quantization.profiles.keys import unobserved, uses_behind_observers


def given_type(value: SSAValue) -> UniformQuantizedType | None:
    """The type with one scale that a float value is quantized from or to; `None` where there is none, or several.

    Weights that the model stores as integers may have a scale for each channel or block.
    """
    source = unobserved(value).owner
    is_stored = isinstance(source, DequantizeCastOp) and isinstance(source.input.owner, ConstantOp)
    if isinstance(source, DequantizeCastOp):
        types = {element_type(source.input.type)}
    else:
        users = [use.operation for use in uses_behind_observers(value)]
        types = {element_type(user.result.type) for user in users if isinstance(user, QuantizeCastOp)}
    type_ = types.pop() if len(types) == 1 else None
    if not isinstance(type_, UniformQuantizedType) or not (is_stored or type_.granularity is Granularity.TENSOR):
        return None
    return type_


def has_parameters(value: SSAValue) -> bool:
    """Whether no profile needs to see a float value: it was dequantized, or has a type that it is quantized to."""
    return isinstance(value.owner, DequantizeCastOp) or given_type(value) is not None
