"""Reassembly of constant operands that were sliced or moved by decomposition, or by folding after it.

If the parts of a composite would slice, squeeze or reshape an operand but the module holds a constant instead, the
operand itself was a constant. The original index of each element follows from applying the same movement to element
indices.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, IntAttr, NoneAttr, TensorType
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.movement.ops import MovementOp
from qmlir.dialects.nn.raising.unification import CompositeMismatchError, Held
from qmlir.dialects.quant.infer import verify_quantized_tensor
from qmlir.dialects.quant.types import AnyQuantizedType, Granularity, StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import evaluate


def constant_of(value: SSAValue) -> ConstantOp | None:
    """Returns the constant that defines `value`, if its elements are available in memory."""
    op = value.op if isinstance(value, OpResult) else None
    if not isinstance(op, ConstantOp) or not isinstance(op.value, DenseIntOrFPElementsAttr):
        return None
    return op


def movement_chain(value: SSAValue) -> tuple[SSAValue, list[MovementOp]]:
    """Returns the origin of the elements that `value` only moves, and the movements in execution order."""
    chain: list[MovementOp] = []
    while isinstance(value, OpResult) and isinstance(value.op, MovementOp) and len(value.op.operands) == 1:
        chain.append(value.op)
        value = value.op.operands[0]
    return value, chain[::-1]


def _without_parameters(element: StoredType) -> AnyQuantizedType:
    low, high = IntAttr(element.storage_min), IntAttr(element.storage_max)
    return AnyQuantizedType(element.storage, low, high, element.expressed_type or NoneAttr())


def _elements(candidates: set[Attribute], shape: Sequence[int]) -> Iterator[Attribute]:
    """Yields the possible element types of a constant of `shape` whose slices have the types `candidates`.

    Integers with equal storage but different parameters become `!quant.any`; the slices have their types.
    """
    if len(candidates) != 1:
        stored = {_without_parameters(each) for each in candidates if isinstance(each, StoredType)}
        if len(stored) == 1 and all(isinstance(each, StoredType) for each in candidates):
            yield from stored
        return
    (element,) = candidates
    if not isinstance(element, UniformQuantizedType) or element.granularity is Granularity.TENSOR:
        yield element
    elif element.granularity is Granularity.AXIS:
        for axis in range(len(shape)):
            moved = element.along(axis)
            try:
                verify_quantized_tensor(TensorType(moved, shape))
            except VerifyException:
                continue
            yield moved
        yield _without_parameters(element)


def element_of_whole(candidates: set[Attribute], shape: Sequence[int]) -> Attribute | None:
    """Returns the element type of a constant of `shape` with slices of these types; `None` if incompatible."""
    return next(_elements(candidates, shape), None)


def _numbers_behind(template: SSAValue, shape: Sequence[int]) -> Array:
    """Returns, for each element of a moved placeholder of `shape`, the index of the original element."""
    numbers: Array = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    for op in movement_chain(template)[1]:
        (numbers,) = evaluate(op, [numbers]) or (numbers,)
    return numbers.reshape(-1)


def _filled(shape: Sequence[int], slices: Sequence[Held], dtype: np.dtype[Any]) -> Array:
    """Returns the elements of a placeholder from its slices; 0 for unused ones, such as those of an uncomputed gate."""
    data = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype)
    known = np.zeros(data.shape, np.bool_)
    for template, value in slices:
        positions = _numbers_behind(template, shape)
        constant = None if value is None else constant_of(value)
        stored = np.zeros(positions.size, dtype) if constant is None else constant.array.reshape(-1)
        if positions.size != stored.size or (known[positions] & (data[positions] != stored)).any():
            raise CompositeMismatchError("its constants have conflicting values")
        data[positions], known[positions] = stored, True
    return data.reshape(shape)


def put_together(held: Sequence[Held]) -> dict[SSAValue, ConstantOp]:
    """Returns a constant for each placeholder, assembled from the constants of `held`.

    Raises `CompositeMismatchError` if a placeholder cannot be assembled.
    """
    slices: dict[SSAValue, list[Held]] = defaultdict(list)
    for template, value in held:
        slices[movement_chain(template)[0]].append((template, value))
    found: dict[SSAValue, ConstantOp] = {}
    for placeholder, own in slices.items():
        shape = shape_of(placeholder)
        constants = [constant_of(value) for _, value in own if value is not None]
        dtypes = [constant.array.dtype for constant in constants if constant is not None]
        element = element_of_whole({element_of(value) for _, value in own if value is not None}, shape)
        if DYNAMIC_INDEX in shape or element is None or not dtypes:
            raise CompositeMismatchError("its constants cannot be combined")
        found[placeholder] = ConstantOp.of(_filled(shape, own, dtypes[0]), TensorType(element, shape))
    return found
