"""Constants that a model stores in floats of at most 8 bits, and which of them are requantized."""

from collections import Counter
from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.lower import same_integers
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import UniformFloatType


def stored_float(op: Operation) -> UniformFloatType | None:
    """Returns the type of a constant in low-precision floats that `op` dequantizes; `None` for other operations."""
    if not isinstance(op, DequantizeCastOp) or not isinstance(op.input.owner, ConstantOp):
        return None
    found = element_type(op.input.type)
    return found if isinstance(found, UniformFloatType) else None


def quantized_anew(module: ModuleOp) -> Mapping[str, int]:
    """Returns the number of constants in each format that 8-bit integers cannot represent, by format name."""
    found = (stored_float(op) for op in module.walk())
    counts = Counter(str(each.storage) for each in found if each is not None and same_integers(each) is None)
    return dict(sorted(counts.items()))
