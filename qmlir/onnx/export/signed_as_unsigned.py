"""Exports signed 8-bit integers as unsigned integers: adds 128 to the integers and to their zero points.

ONNX Runtime's contractions of signed data don't work in every session. With `session.x64quantprecision`, ONNX Runtime
converts weights above 64 to unsigned, fails if several nodes share such a weight (`AddInitializer` rejects the second
`…_s8_2_u8` in core/optimizer/qdq_transformer/avx2_weight_s8_to_u8.cc), and supports signed data in QGemm, QLinearMatMul
and QLinearConv only with signed weights. Without this option, products of signed data saturate at 16 bits on x86 CPUs
without VNNI (MlasGemmU8S8KernelAvx2 in core/mlas/lib/platform.cpp); products of two unsigned operands never do. In Q/DQ
models, ONNX Runtime also converts values to unsigned itself (qdq_s8_to_u8.cc), and then no longer fuses operations
between signed and unsigned values.

Operations compute with `q - z`, so they compute the same results on shifted integers: an operation is exported as its
twin, the same operation on the shifted types. Inputs and outputs of the model keep their types. With `exact=False`,
constant right operands of a single contraction also keep their types: every session loads them, other tools expect
them, and CPUs with VNNI multiply them faster.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntAttr, IntegerType, Signedness, TensorType, i8, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ContractionOp
from qmlir.dialects.nn.evaluation import requantization_of
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp
from qmlir.dialects.quant.ops import CastOperation, StorageCastOp
from qmlir.dialects.quant.types import AnyQuantizedType, StoredType, UniformQuantizedType, zero_point_bytes
from qmlir.ir.builtin_types import element_of, ranked_tensor, tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.onnx.export.emission import NodeEmitter, Settings, container
from qmlir.text.weights import ExternalWeightsAttr

UNSIGNED = IntegerType(8, Signedness.UNSIGNED)
"""The storage type of shifted integers."""

RIGHT: Mapping[type[Operation], tuple[int, ...]] = {ContractionOp: (1,), DynamicLstmOp: (1, 2)}
"""The indices of the right operands (weights) of each contraction class."""


def _right_factors(op: Operation) -> tuple[int, ...]:
    return next((positions for kind, positions in RIGHT.items() if isinstance(op, kind)), ())


def has_twin(element: Attribute) -> bool:
    """Returns True if values of this element type are signed 8-bit integers that can be shifted to unsigned ones."""
    return isinstance(element, AnyQuantizedType | UniformQuantizedType) and container(element) == i8


def offset(element: StoredType) -> int:
    """Returns the number that is added to signed integers to get those of the twin."""
    return 1 << (element.bits - 1)


def twin_element(element: Attribute) -> Attribute:
    """Returns the unsigned type with the same real values, or `element` itself if it has no twin."""
    if not has_twin(element):
        return element
    assert isinstance(element, AnyQuantizedType | UniformQuantizedType)
    shift, storage = offset(element), IntegerType(element.bits, Signedness.UNSIGNED)
    limits = IntAttr(element.storage_min + shift), IntAttr(element.storage_max + shift)
    others = list(element.parameters[3:])
    if isinstance(element, UniformQuantizedType):
        others[-1] = zero_point_bytes(element.zero_points + shift)
    return element.new([storage, *limits, *others])


def _twin_type(type_: Attribute) -> Attribute:
    ranked = ranked_tensor(type_)
    if ranked is None or not has_twin(element := ranked.get_element_type()):
        return type_
    return TensorType(cast(Any, twin_element(element)), ranked.get_shape())


def _has_twin(value: SSAValue) -> bool:
    return ranked_tensor(value.type) is not None and has_twin(element_of(value))


# Selection of the values to shift.
def _is_kept_factor(value: SSAValue) -> bool:
    """Returns True if a value is a constant whose only use is as the right operand of a contraction."""
    use = value.get_unique_use()
    return isinstance(value.owner, ConstantOp) and use is not None and use.index in _right_factors(use.operation)


def _wants_unsigned(op: Operation, packed: Mapping[SSAValue, int], settings: Settings) -> bool:
    """Returns True for contractions of signed data, which ONNX Runtime fully supports only on unsigned integers.

    Packed operands are ignored, because they are dequantized.
    """
    if not isinstance(op, NnOp):
        return False
    if op.components is not None:
        return any(map(has_twin, op.components.data.values())) or any(map(_has_twin, op.data_operands()))
    if not (right := _right_factors(op)):
        return False
    factors = op.operands[: max(right) + 1]
    if any(value in packed for value in factors):
        return False
    return any(map(_has_twin, op.results)) or any(
        _has_twin(value) and not (settings.exact is False and _is_kept_factor(value)) for value in factors
    )


def unsigned_values(function: FuncOp, settings: Settings, packed: Mapping[SSAValue, int]) -> set[SSAValue]:
    """Returns the values to export as unsigned: all values with a twin, if the function contracts signed integers.

    Arguments and results of the function and packed constants are excluded. With `exact=False`, constant right operands
    are also excluded, since every session accepts them as signed.
    """
    ops = list(function.body.block.ops)
    if settings.signed or not any(_wants_unsigned(op, packed, settings) for op in ops):
        return set()
    returned = set(ops[-1].operands)
    return {
        result
        for op in ops
        for result in op.results
        if _has_twin(result)
        and result not in returned
        and result not in packed
        and not (settings.exact is False and _is_kept_factor(result))
    }


# Export of twins.
def shifted_constant(op: ConstantOp) -> ConstantOp:
    """Returns the twin of a constant: its integers are shifted, and its type is unsigned."""
    type_ = tensor(op.result.type)
    element = type_.get_element_type()
    assert isinstance(element, StoredType)
    stored = (op.array.astype(np.int16) + offset(element)).astype(np.uint8)
    return ConstantOp.of(stored, tensor(_twin_type(type_)))


def means_its_storage(op: Operation) -> bool:
    """Returns True if an operation depends on the stored integers themselves, or adds zero points before rounding."""
    return isinstance(op, StorageCastOp) or (isinstance(op, NnOp) and requantization_of(op)[0] is Mode.QLINEAR)


def shifted(out: NodeEmitter, name: str, element: Attribute, *, up: bool, output: str | None = None) -> str:
    """Converts signed integers to shifted unsigned ones (`up`) or back; returns the name of the output."""
    assert isinstance(element, StoredType)
    number = offset(element) if up else -offset(element)
    higher = out.node("Add", [out.cast(name, i32), out.constant(number, i32)])
    return out.cast(higher, UNSIGNED if up else i8, output)


def write_as_held(
    out: NodeEmitter, op: Operation, unsigned: AbstractSet[SSAValue], write: Callable[[NodeEmitter, Operation], None]
) -> None:
    """Exports an operation with `write`; `unsigned` contains the values that are exported as unsigned.

    If operands or results are exported as unsigned, the twin of the operation is exported instead, with the necessary
    conversions before and after it. An operation that depends on the stored integers themselves is exported unchanged.
    """
    is_held = any(value in unsigned for value in (*op.operands, *op.results) if _has_twin(value))
    is_unsigned = isinstance(op, NnOp | CastOperation) and not means_its_storage(op)
    wants_unsigned = is_unsigned and not out.settings.signed and _wants_unsigned(op, out.packed, out.settings)
    if not is_held and not wants_unsigned:
        write(out, op)
        return
    stands: dict[SSAValue, SSAValue] = {}
    names: dict[SSAValue, str] = {} if is_unsigned else dict(out.names)
    for position, value in enumerate(op.operands):
        if value in stands:
            continue
        is_kept = value in out.packed or (
            value not in unsigned and position in _right_factors(op) and isinstance(value.owner, ConstantOp)
        )
        is_raised = is_unsigned and _has_twin(value) and not is_kept
        stands[value] = _stand_in(value) if is_raised else value
        names[stands[value]] = out.names[value]
        if is_raised != (value in unsigned):
            names[stands[value]] = shifted(out, out.names[value], element_of(value), up=is_raised)
    twin = _with_twin_types(op, [stands[value] for value in op.operands]) if is_unsigned else op
    changed = [each for each in op.results if _has_twin(each) and (each in unsigned) != is_unsigned]
    inner = [
        f"{out.outputs[0]}/held_{result.index}" if result in changed else name
        for result, name in zip(op.results, out.outputs, strict=True)
    ]
    try:
        write(replace(out, op=twin, names=names, outputs=inner, prefix=out.prefix or out.outputs[0]), twin)
    except DiagnosticError:
        # Report the error about the original operation.
        write(replace(out, nodes=[], initializers=[], _known={}), op)
        raise
    finally:
        if twin is not op:
            twin.drop_all_references()
    for result in changed:
        up, output = not is_unsigned, out.outputs[result.index]
        shifted(out, inner[result.index], element_of(result), up=up, output=output)


def _stand_in(value: SSAValue) -> SSAValue:
    """Returns a value of the twin's type; for a constant, the shifted constant, so that exporters see its elements."""
    if isinstance(value.owner, ConstantOp) and not isinstance(value.owner.value, ExternalWeightsAttr):
        return shifted_constant(value.owner).result
    return Block(arg_types=[_twin_type(value.type)]).args[0]


def _with_twin_types(op: Operation, operands: list[SSAValue]) -> Operation:
    properties = dict(op.properties)
    if isinstance(op, NnOp) and op.components is not None:
        found = {role: twin_element(type_) for role, type_ in op.components.data.items()}
        properties["components"] = DictionaryAttr(found)
    return type(op).create(
        operands=operands,
        result_types=[_twin_type(result.type) for result in op.results],
        properties=properties,
        attributes=dict(op.attributes),
    )
