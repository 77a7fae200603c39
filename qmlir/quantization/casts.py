"""Writing decisions into a function: each value between a `quant.qcast` and a `quant.dcast`, constants quantized.

The operations themselves stay on floats: the function simulates what the fused one computes, and every dialect's
operations can take part. `fusion` then lets an operation compute on the quantized values.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.interpret import quantize
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import CalibratedQuantizedType, UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, ranked_tensor, shape_of
from qmlir.ir.provenance import Origin, origins_of, set_origins
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.attached import PARTS, STATS
from qmlir.quantization.profiles.given import given_type
from qmlir.quantization.retyping import REPAIR, TRAINABLE, mark_kept_in_float
from qmlir.quantization.signed_weights import signed_constant, without_zero


def _plain(value: SSAValue) -> AnyTensor:
    """The tensor type of a value before anything was known of it."""
    return TensorType(plain_type(element_type(value.type)), shape_of(value))


def _origins(value: SSAValue) -> Sequence[Origin]:
    return origins_of(value.owner) if isinstance(value.owner, Operation) else ()


def quantized_constant(constant: SSAValue, type_: UniformQuantizedType, *, is_signed: bool = False) -> ConstantOp:
    """`constant` with the integers that `quant.qcast` would give, computed now; its provenance stays.

    With `is_signed` none of them is 0.
    """
    array = constant_array(constant)
    assert array is not None
    held = without_zero(array, type_) if is_signed else array
    stored = ConstantOp.of(quantize(held, type_), TensorType(type_, shape_of(constant)))
    set_origins(stored, _origins(constant))
    stored.result.name_hint = constant.name_hint
    return stored


def _point_behind(value: SSAValue) -> InsertPoint:
    owner = value.owner
    return InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)


def _is_between_casts(value: SSAValue, type_: UniformQuantizedType) -> bool:
    """Whether `value` was dequantized from `type_`, or is only quantized to it: the model came with the pair."""
    if given_type(value) != type_:
        return False
    return isinstance(value.owner, DequantizeCastOp) or all(
        isinstance(use.operation, QuantizeCastOp) for use in value.uses
    )


def _insert_pair(value: SSAValue, type_: UniformQuantizedType, users: Sequence[tuple[Operation, int]]) -> None:
    """Let `users` take `value` quantized to `type_` and dequantized again."""
    if _is_between_casts(value, type_):
        return
    quantized = QuantizeCastOp(value, TensorType(type_, shape_of(value)))
    dequantized = DequantizeCastOp(quantized.result, _plain(value))
    for cast in (quantized, dequantized):
        set_origins(cast, _origins(value))
    Rewriter.insert_op([quantized, dequantized], _point_behind(value))
    for user, place in users:
        user.operands[place] = dequantized.result


def _stored_constant(constant: ConstantOp, type_: UniformQuantizedType, *, is_signed: bool) -> Sequence[Operation]:
    """`constant` quantized now, or where it is trained by a cast."""
    if TRAINABLE not in constant.attributes:
        return [quantized_constant(constant.result, type_, is_signed=is_signed)]
    if is_signed:
        return signed_constant(constant, type_)
    cast = QuantizeCastOp(constant.result, TensorType(type_, shape_of(constant.result)))
    set_origins(cast, origins_of(constant))
    return [cast]


def insert_casts(decisions: Decisions, *, float_constants: bool = False) -> None:
    """Put the pairs of casts that `decisions` ask for, and take profiled types away: they have been used.

    A value that a quantized operation gives is seen by all its users as it was quantized; one that comes from elsewhere
    is given on unchanged to those that compute in float. With `float_constants` a constant is marked as one that is
    trained, and gets casts as any value.
    """
    quantized = set(decisions.quantized)
    for value, type_ in reversed(decisions.values.items()):  # each pair right after its value: they come out in order
        is_computed = isinstance(value.owner, Operation) and value.owner in quantized
        users = [(use.operation, use.index) for use in value.uses if is_computed or use.operation in quantized]
        _insert_pair(value, type_, users)
    made: dict[tuple[Operation, UniformQuantizedType, bool], SSAValue] = {}
    repairs: dict[Operation, list[str]] = {}
    for (user, place), type_ in decisions.constants.items():
        constant = user.operands[place].owner
        assert isinstance(constant, ConstantOp)
        is_signed = (user, place) in decisions.signed
        key = (constant, type_, is_signed)
        if float_constants and (repair := decisions.repairs.get((user, place))) is not None:
            repairs.setdefault(constant, []).append(repair)
        if key not in made:
            if float_constants:
                constant.attributes[TRAINABLE] = UnitAttr()
            stored = _stored_constant(constant, type_, is_signed=is_signed)
            dequantized = DequantizeCastOp(stored[-1].results[0], _plain(constant.result))
            set_origins(dequantized, origins_of(constant))
            Rewriter.insert_op([*stored, dequantized], InsertPoint.after(constant))
            made[key] = dequantized.result
        user.operands[place] = made[key]
    for repaired, said in repairs.items():
        repaired.attributes[REPAIR] = StringAttr(";".join(dict.fromkeys(said)))
    taken: dict[tuple[SSAValue, UniformQuantizedType], list[tuple[Operation, int]]] = {}
    for (user, place), type_ in decisions.operands.items():
        taken.setdefault((user.operands[place], type_), []).append((user, place))
    for (value, type_), users in taken.items():
        _insert_pair(value, type_, users)
    for op in decisions.kept_in_float:
        mark_kept_in_float(op)


def drop_calibration(function: FuncOp) -> None:
    """Give every calibrated value its expressed type back, and take the statistics beside it away: they were used."""
    for op in function.walk():
        for name in (STATS, PARTS):
            op.attributes.pop(name, None)
        arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
        for value in (*op.results, *arguments):
            type_ = ranked_tensor(value.type)
            element = None if type_ is None else type_.get_element_type()
            if type_ is not None and isinstance(element, CalibratedQuantizedType):
                Rewriter.replace_value_with_new_type(value, TensorType(element.expressed_type, type_.get_shape()))
    if function.arg_attrs is not None:
        entries = ({key: each for key, each in entry.data.items() if key != STATS} for entry in function.arg_attrs)
        function.arg_attrs = ArrayAttr(DictionaryAttr(entry) for entry in entries)
    function.update_function_type()
