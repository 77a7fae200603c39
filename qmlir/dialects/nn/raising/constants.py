"""Constants that decomposing, or folding after it, moved: put together again.

Where the parts would slice, squeeze or reshape an operand and a constant stands there instead, the operand was a
constant. Which of its elements stand where follows from running the same movement on the numbers of the elements.
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
from qmlir.dialects.nn.raising.unification import Held
from qmlir.dialects.quant.infer import verify_quantized_tensor
from qmlir.dialects.quant.types import AnyQuantizedType, Granularity, StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import evaluate


def constant_of(value: SSAValue) -> ConstantOp | None:
    """The constant whose numbers `value` has, where they are in memory."""
    op = value.op if isinstance(value, OpResult) else None
    if not isinstance(op, ConstantOp) or not isinstance(op.value, DenseIntOrFPElementsAttr):
        return None
    return op


def movement_chain(value: SSAValue) -> tuple[SSAValue, list[MovementOp]]:
    """The value whose elements `value` only moves, and the movements, the first one first."""
    chain: list[MovementOp] = []
    while isinstance(value, OpResult) and isinstance(value.op, MovementOp) and len(value.op.operands) == 1:
        chain.append(value.op)
        value = value.op.operands[0]
    return value, chain[::-1]


def _without_parameters(element: StoredType) -> AnyQuantizedType:
    low, high = IntAttr(element.storage_min), IntAttr(element.storage_max)
    return AnyQuantizedType(element.storage, low, high, element.expressed_type or NoneAttr())


def _elements(candidates: set[Attribute], shape: Sequence[int]) -> Iterator[Attribute]:
    """The element types that a constant of `shape` may have where its slices have those of `candidates`.

    Integers that are stored in one way, and whose parameters differ, are `!quant.any`: the slices have their types.
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
    """The element type of a constant of `shape` whose slices have these; `None` where they do not go together."""
    return next(_elements(candidates, shape), None)


def _numbers_behind(template: SSAValue, shape: Sequence[int]) -> Array:
    """For each element of a value that moves those of a placeholder of `shape`, the number of the one that it is."""
    numbers: Array = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    for op in movement_chain(template)[1]:
        (numbers,) = evaluate(op, [numbers]) or (numbers,)
    return numbers.reshape(-1)


def _filled(shape: Sequence[int], slices: Sequence[Held], dtype: np.dtype[Any]) -> Array | str:
    """The elements of a placeholder, from its slices; 0 where no part takes one, as of a gate that is not computed."""
    data = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype)
    known = np.zeros(data.shape, np.bool_)
    for template, value in slices:
        places = _numbers_behind(template, shape)
        constant = None if value is None else constant_of(value)
        stored = np.zeros(places.size, dtype) if constant is None else constant.array.reshape(-1)
        if places.size != stored.size or (known[places] & (data[places] != stored)).any():
            return "its constants have conflicting values"
        data[places], known[places] = stored, True
    return data.reshape(shape)


def put_together(held: Sequence[Held]) -> dict[SSAValue, ConstantOp] | str:
    """A constant for each placeholder whose elements the constants of `held` have, or why there is none."""
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
            return "its constants cannot be combined"
        data = _filled(shape, own, dtypes[0])
        if isinstance(data, str):
            return data
        found[placeholder] = ConstantOp.of(data, TensorType(element, shape))
    return found
