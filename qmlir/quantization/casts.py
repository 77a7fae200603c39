"""Casts: rounds states, inserts the decided types as casts, and fuses dequantize, operation and quantize into one."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.types import StatsAttr
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import ClipOp
from qmlir.dialects.nn.recurrent.decompose import RECURRENCE, ROUNDED
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import CalibratedQuantizedType, Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, element_of, ranked_tensor, shape_of
from qmlir.ir.control_flow import ForwardedValue, reached, together
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.passes import count
from qmlir.ir.provenance import Origin, origins_of, set_origins, with_origins_of
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.keys import given_type, is_constant
from qmlir.quantization.profiles.statistics import PARTS, STATS, Observed, attach, observed, with_range
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.retyping import (
    DYNAMIC_DATA,
    REPAIR,
    TRAINABLE,
    is_f32,
    is_float,
    mark_kept_in_float,
    may_be_fused,
    moves_values,
    refusal,
    slots_of,
)
from qmlir.quantization.stored_constants import signed_constant, without_zero
from qmlir.quantization.supports import retyped

# Insertion of the decided types: each value gets a `quant.qcast` followed by a `quant.dcast`; constants are quantized.
#
# The operations still compute on floats, so the function simulates the fused operations, and operations of any dialect
# can take part. Fusion then makes the operations compute on the quantized values.


def plain_tensor(value: SSAValue) -> AnyTensor:
    """Returns the tensor type of a value without quantization or calibration."""
    return TensorType(plain_type(element_type(value.type)), shape_of(value))


def _origins(value: SSAValue) -> Sequence[Origin]:
    return origins_of(value.owner) if isinstance(value.owner, Operation) else ()


def quantized_constant(constant: SSAValue, type_: UniformQuantizedType, *, is_signed: bool = False) -> ConstantOp:
    """Returns a constant with the integers that `quant.qcast` would compute, and the provenance of `constant`.

    With `is_signed`, none of the integers is 0.
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
    """Returns True if the model already has the casts: `value` was dequantized from `type_`, or is only quantized to
    it."""
    if given_type(value) != type_:
        return False
    is_only_quantized = all(isinstance(use.operation, QuantizeCastOp) for use in value.uses)
    return is_only_quantized or isinstance(value.owner, DequantizeCastOp)


def _insert_pair(value: SSAValue, type_: UniformQuantizedType, users: Sequence[tuple[Operation, int]]) -> None:
    """Makes `users` read `value` quantized to `type_` and dequantized again."""
    if _is_between_casts(value, type_):
        return
    quantized = QuantizeCastOp(value, TensorType(type_, shape_of(value)))
    dequantized = DequantizeCastOp(quantized.result, plain_tensor(value))
    for cast in (quantized, dequantized):
        set_origins(cast, _origins(value))
    Rewriter.insert_op([quantized, dequantized], _point_behind(value))
    for user, position in users:
        user.operands[position] = dequantized.result


def _stored_constant(constant: ConstantOp, type_: UniformQuantizedType, *, is_signed: bool) -> Sequence[Operation]:
    """Returns the operations that quantize `constant`: a stored constant, or a cast if the constant is trained."""
    if TRAINABLE not in constant.attributes:
        return [quantized_constant(constant.result, type_, is_signed=is_signed)]
    if is_signed:
        return signed_constant(constant, type_)
    return [with_origins_of(constant, QuantizeCastOp(constant.result, TensorType(type_, shape_of(constant.result))))]


def insert_casts(decisions: Decisions, *, float_constants: bool = False) -> None:
    """Inserts the pairs of casts that `decisions` require.

    All users of a quantized operation's result, and of a value that callers pass as integers, read the cast value. For
    any other value, only quantized users read the cast value; users in float read the original one. With
    `float_constants`, constants stay in float, are marked as trainable, and get casts like any other value.
    """
    quantized = set(decisions.quantized)
    for value, type_ in reversed(decisions.values.items()):  # each pair is inserted right after its value
        is_for_all = value in decisions.stored or (isinstance(value.owner, Operation) and value.owner in quantized)
        users = [(use.operation, use.index) for use in value.uses if is_for_all or use.operation in quantized]
        _insert_pair(value, type_, users)
    made: dict[tuple[Operation, UniformQuantizedType, bool], SSAValue] = {}
    repairs: dict[Operation, list[str]] = {}
    for (user, position), type_ in decisions.constants.items():
        constant = user.operands[position].owner
        assert isinstance(constant, ConstantOp)
        is_signed = (user, position) in decisions.signed
        key = (constant, type_, is_signed)
        if float_constants and (repair := decisions.repairs.get((user, position))) is not None:
            repairs.setdefault(constant, []).append(repair)
        if key not in made:
            if float_constants:
                constant.attributes[TRAINABLE] = UnitAttr()
            stored = _stored_constant(constant, type_, is_signed=is_signed)
            dequantized = with_origins_of(
                constant, DequantizeCastOp(stored[-1].results[0], plain_tensor(constant.result))
            )
            Rewriter.insert_op([*stored, dequantized], InsertPoint.after(constant))
            made[key] = dequantized.result
        user.operands[position] = made[key]
    for repaired, said in repairs.items():
        repaired.attributes[REPAIR] = StringAttr(";".join(dict.fromkeys(said)))
    taken: dict[tuple[SSAValue, UniformQuantizedType], list[tuple[Operation, int]]] = {}
    for (user, position), type_ in decisions.operands.items():
        taken.setdefault((user.operands[position], type_), []).append((user, position))
    for (value, type_), users in taken.items():
        _insert_pair(value, type_, users)
    for op in decisions.kept_in_float:
        mark_kept_in_float(op)
    for op, said in decisions.dynamic.items():
        op.attributes[DYNAMIC_DATA] = ArrayAttr(map(StringAttr, said))


def drop_calibration(function: FuncOp) -> None:
    """Replaces each calibrated type in `function` with its expressed type, and removes the attached statistics."""
    for op in function.walk():
        for name in (STATS, PARTS):
            op.attributes.pop(name, None)
        arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
        for value in (*op.results, *arguments):
            type_ = ranked_tensor(value.type)
            if type_ is not None and isinstance(element := type_.get_element_type(), CalibratedQuantizedType):
                Rewriter.replace_value_with_new_type(value, TensorType(element.expressed_type, type_.get_shape()))
    if function.arg_attrs is not None:
        entries = ({key: each for key, each in entry.data.items() if key != STATS} for entry in function.arg_attrs)
        function.arg_attrs = ArrayAttr(DictionaryAttr(entry) for entry in entries)
    function.update_function_type()


# Fusion of dequantize, operation and quantize: afterwards the operation computes on the quantized values directly.
#
# These are ordinary patterns, so they also apply to a graph that was imported with casts.


def dequantized_from(value: SSAValue) -> SSAValue | None:
    """Returns the quantized value from which `value` was dequantized; `None` if `value` is not a dequantized value."""
    return value.owner.input if isinstance(value.owner, DequantizeCastOp) else None


def requested_type(result: SSAValue) -> UniformQuantizedType | None:
    """Returns the one type to which all users quantize `result`; `None` if types differ, or a user reads the float."""
    users = (use.operation for use in result.uses)
    types = {element_type(user.result.type) if isinstance(user, QuantizeCastOp) else None for user in users}
    type_ = types.pop() if len(types) == 1 else None
    return type_ if isinstance(type_, UniformQuantizedType) else None


def data_places(op: Operation) -> list[int]:
    """Returns the indices of the float operands of `op` that have a quantization slot."""
    if not isinstance(op, Quantizable):
        return []
    return [position for position, (value, slot) in enumerate(op.operands_with_slots()) if slot and is_float(value)]


def dequantized_operands(op: Operation) -> list[SSAValue] | None:
    """Returns the operands of `op`, with each dequantized one replaced by its quantized source.

    Returns `None` if a float operand with a quantization slot was not dequantized.
    """
    operands = list(op.operands)
    for position in data_places(op):
        source = dequantized_from(operands[position])
        if source is None:
            return None
        operands[position] = source
    return operands


def fusion_refusal(op: Operation) -> str | None:
    """Returns why `op` cannot be fused with the casts around it; `None` if it can be, or if there are no casts."""
    operands = dequantized_operands(op) if may_be_fused(op) else None
    if operands is None:
        return None
    requests = [requested_type(result) if is_float(result) else None for result in op.results]
    return None if None in requests else refusal(op, [element_of(value) for value in operands], requests)


def replace_with_quantized(op: Operation, quantized: Operation, rewriter: PatternRewriter) -> None:
    """Replaces `op` and the quantize casts of its results with `quantized`.

    All users of each float result of `op` must be quantize casts to the type of the corresponding new result.
    """
    rewriter.insert(quantized)
    for old, new in zip(op.results, quantized.results, strict=True):
        if not is_float(old):
            old.replace_all_uses_with(new)
            continue
        for use in tuple(old.uses):
            rewriter.replace(use.operation, [], [new])
    rewriter.erase(op)


class FuseCasts(RewritePattern):
    """`qcast(f(dcast(x), …)) -> f(x, …)`: the operation on quantized values, with a single rounding.

    If the operation defines integer arithmetic, this replaces the float arithmetic. Otherwise, the semantics of the
    fused operation are defined as dequantize, compute, quantize, so the results do not change. An operation that only
    moves values must have the same type for its operands and results.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        operands = dequantized_operands(op) if may_be_fused(op) and data_places(op) else None
        requests = {result: requested_type(result) for result in op.results if is_float(result)}
        if operands is None or any(each is None and result.first_use is not None for result, each in requests.items()):
            return
        fused = retyped(op, operands, [requests.get(result) for result in op.results])
        if fused is not None:
            replace_with_quantized(op, fused, rewriter)


class QuantizeConstant(RewritePattern):
    """`qcast(constant) -> constant` of integers: quantizes constants at compile time, except for trainable ones."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        type_ = element_type(op.result.type)
        constant = op.input.owner
        if not isinstance(constant, ConstantOp) or TRAINABLE in constant.attributes:
            return
        if constant_array(op.input) is not None and isinstance(type_, UniformQuantizedType):
            rewriter.replace(op, quantized_constant(op.input, type_))


class QuantizeForwarding(RewritePattern):
    """Passes values through a branch or a loop in quantized form, if all of them are dequantized from the same type.

    Exact: the values are dequantized to the same floats after the branch or loop.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for given, taken in together(op):
            sources = {each: dequantized_from(each.given) for each in given if each.given not in taken}
            types = {None if source is None else element_type(source.type) for source in sources.values()}
            type_ = types.pop() if len(types) == 1 else None
            if not isinstance(type_, UniformQuantizedType) or type_.granularity is not Granularity.TENSOR:
                continue
            for each, source in sources.items():
                assert source is not None
                each.user.operands[each.position] = source
                rewriter.notify_op_modified(each.user)
            for value in taken:
                self._store(value, type_, given, rewriter)
            rewriter.notify_op_modified(op)

    @staticmethod
    def _store(
        value: SSAValue, type_: UniformQuantizedType, given: Sequence[ForwardedValue], rewriter: PatternRewriter
    ) -> None:
        """Changes the type of `value` to `type_`, and dequantizes `value` for all uses that are not in `given`."""
        plain = value.type
        stored = rewriter.replace_value_with_new_type(value, TensorType(type_, shape_of(value)))
        hands_on = {(each.user, each.position) for each in given}
        if all((use.operation, use.index) in hands_on for use in stored.uses):
            return
        cast = DequantizeCastOp(stored, plain)
        set_origins(cast, _origins(stored))
        rewriter.insert(cast, insertion_point=_point_behind(stored))
        readers = {(use.operation, use.index) for use in stored.uses} - {*hands_on, (cast, 0)}
        rewriter.replace_uses_with_if(stored, cast.result, lambda use: (use.operation, use.index) in readers)


FUSION_PATTERNS: tuple[RewritePattern, ...] = (QuantizeConstant(), FuseCasts(), QuantizeForwarding())


def rewrite(module: ModuleOp, patterns: Sequence[RewritePattern], ctx: Context) -> None:
    """Applies `patterns` until none matches, and adds the number of rewrites by each pattern to the pass statistics."""
    for name, number in apply_patterns_greedily(module, patterns, ctx).counts.items():
        count(name, number)


# Rounded states: a part of a recurrent layer that rounds the hidden state for its contractions, if a rule sets a type.
#
# With this part, a state can have 16 bits and be rounded to 8 bits before it is multiplied by 8-bit weights. Without a
# rule that sets the type of the part, contractions read the state directly. In float, the part is the identity, so its
# range is that of the states, and a profile without the part suffices.

_RESET = "reset_mul"
"""The part of a GRU that multiplies the state before a contraction, which then does not read the state itself."""


def _is_part(op: object, name: str) -> bool:
    return isinstance(op, Operation) and any(origin.role.endswith(f"/{name}") for origin in origins_of(op))


def _rounding(product: Operation) -> tuple[Origin, ...]:
    """Returns the origins of the part that rounds the state for `product`, such as `backward/hidden/rounded`."""
    outer = ((each, each.role.split("/")[:-2]) for each in origins_of(product))
    return tuple(replace(each, role="/".join((*prefix, ROUNDED))) for each, prefix in outer)


def _products_of_states(function: FuncOp) -> Iterator[MatMulOp]:
    products = (op for op in function.walk() if isinstance(op, MatMulOp) and _is_part(op, RECURRENCE))
    return (op for op in products if is_f32(op.lhs) and not _is_part(op.lhs.owner, _RESET))


def round_states(function: FuncOp, recipe: Recipe) -> None:
    """Inserts the part between each state and its contractions, if a rule sets another type for the part."""
    roundings: dict[tuple[Origin, ...], dict[SSAValue, list[MatMulOp]]] = {}
    for product in _products_of_states(function):
        roundings.setdefault(_rounding(product), {}).setdefault(product.lhs, []).append(product)
    for origins, readers in roundings.items():
        if not _is_asked_for(origins, readers, recipe):
            continue
        parts: list[ClipOp] = []
        for state, products in readers.items():
            made = ClipOp.unbounded(state)
            set_origins(made, origins)
            Rewriter.insert_op(made, InsertPoint.before(products[0]))
            for product in products:
                product.operands[0] = made.result
            parts.append(made)
        _give_range(parts)


def _is_asked_for(origins: tuple[Origin, ...], states: Iterable[SSAValue], recipe: Recipe) -> bool:
    """Returns True if a rule names the part of these origins, with another type than that of the states."""
    owners = (source.owner for source in _sources(states))
    givers = [op for op in owners if isinstance(op, Operation) and not is_constant(op)]
    part = ClipOp.unbounded(next(iter(states)))
    set_origins(part, origins)
    try:
        choice = recipe.choice(part, Slot.OUTPUT) if recipe.names_part(part, Slot.OUTPUT) else None
        return choice is not None and any(recipe.wish(defining_op, Slot.OUTPUT) != choice for defining_op in givers)
    finally:
        part.erase()


def _sources(states: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """Yields the values that the states come from, through operations that only move or select values."""
    return (value for value in reached(states, lambda value: _moved(value) or ()) if _moved(value) is None)


def _moved(value: SSAValue) -> list[SSAValue] | None:
    """Returns the values that the operation behind `value` moves or selects; `None` if it does anything else."""
    op = value.owner
    return [op.operands[position] for position in slots_of(op)] if moves_values(op) and not is_constant(op) else None


def _give_range(parts: Sequence[ClipOp]) -> None:
    """Gives the parts of all steps the joint range of their operands."""
    sources = {source: constant_array(source) for source in _sources(part.input for part in parts)}
    found = (observed(each) if array is None else Observed.of_constant(array) for each, array in sources.items())
    seen = [each for each in found if each is not None and (each.minimum or each.maximum)]  # zeros are in every range
    if not seen:
        return
    low, high = min(each.minimum for each in seen), max(each.maximum for each in seen)
    known = dict.fromkeys(StatsAttr.of_statistics(each.statistics) for each in seen if each.statistics is not None)
    for part in parts:
        result = with_range(part.result, low, high)
        if all(each.statistics is not None for each in seen):
            attach(result, _together(known))


def _together(known: Collection[StatsAttr]) -> StatsAttr | Statistics:
    """Returns the merged statistics; those of several values have no batch averages."""
    if len(known) == 1:
        return next(iter(known))
    none = Statistics().axis_minima
    every = (replace(s.statistics, axis=None, axis_minima=none, axis_maxima=none, batches=None) for s in known)
    return reduce(Statistics.merged, every)
