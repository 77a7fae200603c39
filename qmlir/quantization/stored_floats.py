"""Constants that a model stores in floats of 8 bits and fewer: which of them quantization has to round again."""

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
    """What a constant is stored as that `op` dequantizes, where that is small floats; `None` for anything else."""
    if not isinstance(op, DequantizeCastOp) or not isinstance(op.input.owner, ConstantOp):
        return None
    found = element_type(op.input.type)
    return found if isinstance(found, UniformFloatType) else None


def quantized_anew(module: ModuleOp) -> Mapping[str, int]:
    """How many constants are stored in each format whose numbers no integers of 8 bits are, by its name."""
    found = (stored_float(op) for op in module.walk())
    counts = Counter(str(each.storage) for each in found if each is not None and same_integers(each) is None)
    return dict(sorted(counts.items()))
