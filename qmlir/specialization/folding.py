"""Constant folding by evaluators: an operation on constants becomes the constants that its evaluator computes.

Constants may grow on the way, but not without bound: see `MAX_GROWTH`. What only changes the shape of a constant
shares its bytes.
"""

import math
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.constant import ConstantOp, storage_element
from qmlir.ir.builtin_types import AnyTensor, as_dense, dense, ranked_tensor
from qmlir.ir.evaluation import evaluate, not_computed
from qmlir.specialization.flow import reads_shapes_only
from qmlir.specialization.retyping import is_static, retype, shaped
from qmlir.specialization.stored_weights import stays_stored
from qmlir.text.elements import dense_dtype
from qmlir.text.weights import ExternalWeightsAttr

MAX_GROWTH = 16
"""How many times the bytes of the constants that it comes from a folded constant may have..."""

FREE_BYTES = 1 << 16
"""...and how many more in any case."""


def is_constant(value: SSAValue) -> bool:
    """Whether `value` is a constant that is in memory."""
    return isinstance(value.owner, ConstantOp) and not isinstance(value.owner.value, ExternalWeightsAttr)


def _bytes(types: Iterable[AnyTensor]) -> int:
    """The bytes that constants of static `types` take."""
    return sum(
        math.prod(type_.get_shape()) * dtype.itemsize
        for type_ in types
        if (dtype := dense_dtype(storage_element(type_.get_element_type()))) is not None
    )


def _constant_types(op: Operation) -> list[AnyTensor] | None:
    """The result types, `None` where one is not a tensor of numbers."""
    types = [type_ for each in op.result_types if (type_ := ranked_tensor(each)) is not None]
    is_held = all(dense_dtype(storage_element(type_.get_element_type())) is not None for type_ in types)
    return types if is_held and len(types) == len(op.results) else None


def _arguments(op: Operation) -> list[Array]:
    """The values of the operands, as far as the meaning of `op` looks at them."""
    if reads_shapes_only(op):
        types = [ranked_tensor(value.type) for value in op.operands]
        # One element stands for all, whatever their number: it is not read.
        return [np.broadcast_to(np.int8(0), type_.get_shape()) for type_ in types if type_ is not None]
    arrays = [constant_array(value) for value in op.operands]
    return [array for array in arrays if array is not None]


def _is_known(op: Operation) -> bool:
    """Whether all that the meaning of `op` looks at is known."""
    if not op.operands or op.regions or not op.has_trait(Pure, value_if_unregistered=False):
        return False
    if reads_shapes_only(op):
        return all(is_static(value.type) for value in op.operands)
    return all(map(is_constant, op.operands))


class Folder:
    """Folds operations in the order of their block; knows how much of the model each constant comes from."""

    def __init__(self) -> None:
        self._sources: dict[SSAValue, int] = {}

    def fold(self, op: Operation, *, always: bool) -> list[ConstantOp] | None:
        """The constants that the results of `op` are, `None` where they are not known, or would be too large.

        `always` is for what must be known, however large it is, and then an operation that cannot be computed is an
        error. Where the size of a result is known only when it is computed, it is computed; the type of the result is
        refined, also where it is too large for a constant.
        """
        types = _constant_types(op)
        if types is None or not _is_known(op) or (not always and stays_stored(op)):
            return None
        source = sum(self._source(value) for value in op.operands if is_constant(value))
        limit = MAX_GROWTH * source + FREE_BYTES
        is_open = not all(map(is_static, types))
        if not always and not is_open and _bytes(types) > limit:
            return None
        values = self._evaluated(op, must=always or is_open)
        if values is None:
            return None
        if is_open:
            for result, value in zip(tuple(op.results), values, strict=True):
                retype(result, shaped(result.type, value.shape))
            types = _constant_types(op) or types
            if not always and _bytes(types) > limit:
                return None
        constants = [self._constant(op, value, type_) for value, type_ in zip(values, types, strict=True)]
        for constant in constants:
            self._sources[constant.result] = source
        return constants

    def _source(self, value: SSAValue) -> int:
        """The bytes of the model's own constants that the constant `value` comes from."""
        type_ = ranked_tensor(value.type)
        own = 0 if type_ is None else _bytes([type_])
        return self._sources.get(value, own)

    @staticmethod
    def _evaluated(op: Operation, *, must: bool) -> Sequence[Array] | None:
        try:
            # What IEEE gives for a division by 0 or an overflow is the answer.
            with np.errstate(all="ignore"):
                return evaluate(op, _arguments(op))
        except Exception as error:  # a meaning may be anybody's code
            if not must:  # running the operation reports it
                return None
            raise not_computed(op, error) from error

    @staticmethod
    def _constant(op: Operation, value: Array, type_: AnyTensor) -> ConstantOp:
        """The constant of `value`, over the bytes of an operand where it is the same elements in the same order."""
        for operand in op.operands:
            array = constant_array(operand)
            if array is None or array.nbytes != value.nbytes or array.dtype != value.dtype:
                continue
            if value.flags.c_contiguous and np.may_share_memory(array, value):
                held = as_dense(cast(ConstantOp, operand.owner).value)
                if held is not None and len(held.data.data) == value.nbytes:
                    element = storage_element(type_.get_element_type())
                    return ConstantOp(dense(held.data.data, TensorType(element, value.shape)), type_)
        return ConstantOp.of(np.ascontiguousarray(value), type_)
