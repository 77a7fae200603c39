"""Decomposition of composites: parts with roles and types, and operands that are rounded once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, BFloat16Type, DictionaryAttr, Float16Type, TensorType, f32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.accumulators import accumulator_type
from qmlir.dialects.nn.base import Kind, NnOp, build, kind_of, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ConvOp, ConvTransposeOp, FullyConnectedOp
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.infer import verify_quantized_tensor
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of, tensor
from qmlir.ir.decomposition import COMPONENTS, Parts
from qmlir.text.elements import dtype_of

# Building blocks of decompositions: scalar constants, per-channel parameters, casts, and a single rounding of results.

Results = Sequence[SSAValue] | None
Decompose = Callable[..., Results]


def scalar(parts: Parts, role: str, value: float, like: SSAValue) -> SSAValue:
    """Returns a rank-0 constant of the plain element type of `like`."""
    element = plain_type(element_of(like))
    return parts.add(role, ConstantOp.of(np.array(value, dtype_of(element)), TensorType(element, ()))).result


def per_channel(parts: Parts, role: str, value: SSAValue, rank: int) -> SSAValue:
    """Reshapes `[C]` to `[C, 1, …]`, which broadcasts along the axes that follow the channels."""
    if rank == 2:
        return value
    shape = (*shape_of(value), *(1,) * (rank - 2))
    return parts.add(f"{role}/reshape", ReshapeOp(value, shape)).result


def cast(parts: Parts, role: str, value: SSAValue, element: Attribute) -> SSAValue:
    """Casts `value` to the plain element type `element`, if necessary."""
    if plain_type(element_of(value)) == element:
        return value
    return parts.add(role, build(CastOp, [value], result_types=[TensorType(element, shape_of(value))])).result


def rounded_once(decomposition: Decompose) -> Decompose:
    """Wraps the decomposition of an operation that computes f16 and bf16 in f32 and rounds its results once.

    For these types, the only part is the operation itself on f32, between casts.
    """

    def decompose(op: Operation, parts: Parts) -> Results:
        if not any(_is_short(value) for value in op.results):
            return decomposition(op, parts)
        operands = [
            cast(parts, f"operand{position}", value, f32) if _is_short(value) else value
            for position, value in enumerate(op.operands)
        ]
        types = [TensorType(f32, shape_of(each)) if _is_short(each) else each.type for each in op.results]
        wide = type(op).create(operands=operands, result_types=types, properties=dict(op.properties))
        parts.add("f32", wide)
        return [
            cast(parts, f"rounded{position}" if position else "rounded", value, plain_type(element_of(result)))
            for position, (value, result) in enumerate(zip(wide.results, op.results, strict=True))
        ]

    return decompose


def _is_short(value: SSAValue) -> bool:
    return isinstance(plain_type(element_of(value)), Float16Type | BFloat16Type)


# The types of the parts of a composite, which are either given by its property `components` or implied.
#
# A part that defines a result of the composite has the type of that result. A part that only moves values has the type
# that follows from its operands. The sum of products before a bias is the accumulator: 32 bits, zero point 0, scale
# `f32(s_x * s_w)`, which is the default of a contraction with a bias. If 32 bits don't hold every sum, nothing is
# implied: without a given type such a composite stays whole. Every other part of a quantized composite has the type
# that `components` gives for its role; a constant has the integers that it is quantized to, or already holds. A key
# `softmax/max` refers to the part `max` of the part `softmax`.

IMPLIED = (FullyConnectedOp, ConvOp, ConvTransposeOp)
"""The composites whose quantized parts have types that follow from the operands, so that `components` is optional."""

Components = Mapping[str, Attribute]


def is_quantized(op: NnOp) -> bool:
    """Returns whether the data of an operation is quantized."""
    return any(kind_of(element_of(value)) is Kind.QUANTIZED for value in op.data_operands())


def implied_element(part: NnOp) -> Attribute | None:
    """Returns the element type that the operands of a part imply for its results; `None` if its parameters are free."""
    if isinstance(part, ConstantOp):
        element = element_of(part.result)
        return None if kind_of(element) in (Kind.FLOAT, Kind.QUANTIZED) else element
    inferred = part.infer_result_types()[0].get_element_type()
    if not is_quantized(part) or kind_of(inferred) is not Kind.FLOAT:
        return inferred
    return accumulator_type(part)


def set_element(part: NnOp, element: Attribute) -> None:
    """Sets the element type of a part's results. If the type is quantized, a float constant is quantized to it."""
    is_float = isinstance(part, ConstantOp) and kind_of(element_of(part.result)) is Kind.FLOAT
    if isinstance(part, ConstantOp) and is_float and isinstance(element, UniformQuantizedType):
        type_: AnyTensor = TensorType(element, shape_of(part.result))
        verify_quantized_tensor(type_)
        part.properties["value"] = ConstantOp.of(quantize(part.array, element), type_).value
    for result in part.results:
        wanted = TensorType(element, shape_of(result))
        if result.type != wanted:
            Rewriter.replace_value_with_new_type(result, wanted)


def _set_nested(part: NnOp, role: str, components: Components) -> None:
    """Sets the types of the parts of a part that is itself a composite."""
    nested = {key.removeprefix(f"{role}/"): type_ for key, type_ in components.items() if key.startswith(f"{role}/")}
    if nested and COMPONENTS in type(part).get_irdl_definition().properties:
        part.properties[COMPONENTS] = DictionaryAttr(nested)


def result_indices(op: Operation, results: Sequence[SSAValue]) -> dict[Operation, int]:
    """Returns the parts that define results of `op`, each with the index of the first result that it defines."""
    found: dict[Operation, int] = {}
    for index, value in enumerate(results):
        if isinstance(value, OpResult):
            found.setdefault(value.op, index)
    return found


def assign_elements(op: NnOp, parts: Parts, giving: Mapping[Operation, Attribute]) -> bool:
    """Sets the types of all parts of `op`; returns `False` if a type is unknown.

    The parts in `giving` get the types given there.
    """
    components = components_of(op)
    exact = is_quantized(op)
    roles = set(parts.roles)
    for role, part in zip(parts.roles, parts.operations, strict=True):
        if not isinstance(part, NnOp) or (len({result.type for result in part.results}) > 1 and part not in giving):
            continue  # such a part keeps its own types
        element: Attribute | None
        if part in giving:
            element = giving[part]
        elif role in components:
            element = components[role]
        elif isinstance(part, ConstantOp) and kind_of(element_of(part.result)) is Kind.QUANTIZED:
            element = element_of(part.result)
        else:
            element = implied_element(part) if exact else element_of(part.results[0])
        if element is None:
            parts.untyped = role
            return False
        set_element(part, element)
        _set_nested(part, role, {key: type_ for key, type_ in components.items() if key not in roles})
    return True


def _assign(op: NnOp, parts: Parts, results: Sequence[SSAValue]) -> Results:
    """Sets the types of all parts and returns the typed results; `None` if a type is unknown."""
    giving = {part: element_of(op.results[index]) for part, index in result_indices(op, results).items()}
    if not assign_elements(op, parts, giving):
        return None
    return [_typed(value, op.results[index].type) for index, value in enumerate(results)]


def current(value: SSAValue) -> SSAValue:
    """Returns the current result for `value`, since a new type creates a new result."""
    return value.op.results[value.index] if isinstance(value, OpResult) else value


def _typed(value: SSAValue, type_: Attribute) -> SSAValue:
    """Returns the current result for `value`, with the composite's shape information."""
    found = current(value)
    if not isinstance(found, OpResult) or DYNAMIC_INDEX not in shape_of(found):
        return found
    is_other = found.type != type_ and element_of(found) == tensor(type_).get_element_type()
    return Rewriter.replace_value_with_new_type(found, type_) if is_other else found


def components_of(op: Operation) -> Components:
    """Returns the types that an operation specifies for its parts, by role."""
    attribute = op.properties.get(COMPONENTS)
    return attribute.data if isinstance(attribute, DictionaryAttr) else {}


def with_types(decomposition: Decompose) -> Callable[..., Results]:
    """Wraps a decomposition to set the types of its parts; the wrapper returns `None` if some types are unknown."""

    def decompose(op: NnOp, parts: Parts) -> Results:
        kinds = {kind_of(element_of(value)) for value in op.data_operands()}
        has_types = kinds == {Kind.FLOAT} or COMPONENTS in op.properties or isinstance(op, IMPLIED)
        if not has_types or not kinds <= {Kind.FLOAT, Kind.QUANTIZED}:
            return None
        try:
            results = decomposition(op, parts)
            typed = None if results is None else _assign(op, parts, results)
            if typed is not None:
                return typed
        except VerifyException:  # quantized values whose parameters follow an axis that a part would cut
            pass
        parts.discard()
        return None

    return decompose
