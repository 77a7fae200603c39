"""Keys of float values in profiles, rules and reports; values that need no profile, and values that may be NaN."""

from collections import Counter
from collections.abc import Container, Iterator, Set
from dataclasses import dataclass
from typing import TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.traits import ConstantLike, IsTerminator

from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import WhereOp
from qmlir.dialects.nn.logic.ops import IsNaNOp, NotOp
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.decomposition import Parts
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.provenance import Origin, origins_of, tensor_name
from qmlir.ir.signature import inputs_of

# Values that may be NaN because the model chooses, joins or moves a constant with NaN: "no value" of a mask.
#
# Such values are not profiled, and stay in float. NaN that appears in any other value is an error of the model or
# its data, and profiling reports it.


def _has_nan(value: SSAValue) -> bool:
    array = constant_array(value)
    return array is not None and array.dtype.kind not in "iub" and bool(np.isnan(array).any())


def _moves(op: Operation) -> bool:
    return isinstance(op, Quantizable) and op.quantization_slots().shares_parameters


def _replaces_nan(op: Operation, value: SSAValue) -> bool:
    """Return `True` if `op` is `where(isnan(value), other, value)`, or the same with the condition negated."""
    if not isinstance(op, WhereOp):
        return False
    condition, kept = op.condition.owner, op.rhs
    if isinstance(condition, NotOp):
        condition, kept = condition.operands[0].owner, op.lhs
    return kept is value and isinstance(condition, IsNaNOp) and condition.input is value


def values_with_nan(module: ModuleOp) -> Set[SSAValue]:
    """The values that a constant with NaN may reach, but not through a choice that replaces NaN."""
    waiting: list[SSAValue] = [
        result
        for op in module.walk()
        if _moves(op) and any(_has_nan(operand) for operand in op.operands)
        for result in op.results
    ]
    found: set[SSAValue] = set()
    while waiting:
        value = waiting.pop()
        type_ = ranked_tensor(value.type)
        if value in found or type_ is None or kind_of(type_.get_element_type()) is not Kind.FLOAT:
            continue
        found.add(value)
        for use in value.uses:
            op = use.operation
            if _replaces_nan(op, value) or isinstance(op, CallOp | ReturnOp):
                continue
            outer = op.parent_op() if op.has_trait(IsTerminator, value_if_unregistered=False) else None
            for each in (op, outer) if outer is not None else (op,):
                waiting.extend(each.results)
                waiting.extend(
                    argument for region in each.regions for block in region.blocks for argument in block.args
                )
    return found


# The key of every float value: what a profile, a rule or a report calls it.
#
# A module comes in; out go its float values, each with a key made of provenance, never of names of SSA values:
# `lstm1/forget_gate/matmul` for a part of a node of the model, `relu1+relu2` for an operation that stands for
# several nodes, `split1#1` for the second result, the port's name for an argument. Operations of one kind in one
# role, as the time steps of an unrolled LSTM, share a key on purpose: they have one range. Those that an import
# makes of one node, as the additions of a Sum, have no role, and are numbered: `sum1[0]`.

ENTRY = "main"
"""The function whose keys have no prefix; neither has the only function of a module."""


@dataclass(frozen=True)
class KeyedValue:
    """A float value and its key."""

    key: str
    value: SSAValue
    owner: Operation
    """The operation that gives the value; the function for an argument."""

    is_constant: bool = False
    may_be_nan: bool = False
    """A constant with NaN may reach it: it is not profiled, and stays in float."""


def is_float(value: SSAValue) -> bool:
    """Whether `value` is a ranked tensor of floats, profiled or not."""
    type_ = ranked_tensor(value.type)
    return type_ is not None and kind_of(type_.get_element_type()) is Kind.FLOAT


def is_constant(op: Operation) -> bool:
    """Whether `op` is a weight or another value known at compile time."""
    return op.has_trait(ConstantLike, value_if_unregistered=False)


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions of `module` that have a body."""
    return [op for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration]


def unobserved(value: SSAValue) -> SSAValue:
    """`value` from before its observers."""
    while isinstance(value.owner, ObserveOp):
        value = value.owner.input
    return value


def uses_behind_observers(value: SSAValue) -> Iterator[Use]:
    """The uses of `value`, and of what only observes it."""
    for use in value.uses:
        if isinstance(use.operation, ObserveOp):
            yield from uses_behind_observers(use.operation.result)
        else:
            yield use


def operations_of(function: FuncOp) -> Iterator[Operation]:
    """The operations of a function that give values of their own: no observer, no call (its callee has its values)."""
    return (op for op in function.body.walk() if not isinstance(op, ObserveOp | CallOp))


def _written(origin: Origin, nodes: Container[str]) -> str:
    text = str(origin)
    return f"{origin.name}//{origin.role}" if origin.role and text in nodes else text


def _bases(function: FuncOp, prefix: str) -> dict[Operation, str]:
    """The key of each operation, before the number of the result."""
    numbers: Counter[str] = Counter()
    named: dict[Operation, str] = {}
    last: dict[str, str] = {}
    operations = [op for op in operations_of(function) if op.results]
    # A node may be called as the part of another one is: then the part has two slashes before its role.
    nodes = {each.name for op in operations for each in origins_of(op) if not each.role}
    for op in operations:
        if origins := origins_of(op):
            named[op] = "+".join(_written(each, nodes) for each in origins)
            last[named[op]] = op.name
        else:
            named[op] = f"{prefix}{op.name}[{numbers[op.name]}]"
            numbers[op.name] += 1
    # An import may make several operations of one node; the last one gives what the node gives, and has its name.
    keys = {op: base if last.get(base, op.name) == op.name else f"{base}:{op.name}" for op, base in named.items()}
    alike = Counter(key for op, key in keys.items() if _is_of_import(op))
    for op, key in keys.items():
        if _is_of_import(op) and alike[key] > 1:
            numbers[key] += 1
            if numbers[key] < alike[key]:
                keys[op] = f"{key}[{numbers[key] - 1}]"
    return keys


def _is_of_import(op: Operation) -> bool:
    """Whether an operation is a whole node, or one of those that an import made of it: parts have roles."""
    origins = origins_of(op)
    return bool(origins) and not any(origin.role for origin in origins)


def _keyed(function: FuncOp, prefix: str, nans: Set[SSAValue]) -> Iterator[KeyedValue]:
    bases = _bases(function, prefix)
    taken = set(bases.values())
    # Arguments that are memory for results come after all inputs.
    for port, argument in zip(inputs_of(function), function.body.blocks[0].args, strict=False):
        if is_float(argument):
            name = f"{prefix}{port.name}"
            yield KeyedValue(f"input:{name}" if name in taken else name, argument, function)
    for op, base in bases.items():
        for place, result in enumerate(op.results):
            if is_float(result):
                yield KeyedValue(f"{base}#{place}" if place else base, result, op, is_constant(op), result in nans)


def keyed_values(module: ModuleOp) -> list[KeyedValue]:
    """Every float value of the functions of `module` with its key, in order.

    Arguments and operations without provenance of a function beside `@main` have its name in front: `@helper/x`. An
    operation without provenance is called by its kind and its number among its like, `nn.relu[0]`; an argument whose
    name an operation has taken `input:x`.
    """
    functions, nans = functions_of(module), values_with_nan(module)
    found: list[KeyedValue] = []
    for function in functions:
        name = function.sym_name.data
        found += _keyed(function, "" if name == ENTRY or len(functions) == 1 else f"@{name}/", nans)
    return found


def _parts_decide(op: Operation) -> TypeGuard[NnOp]:
    """Whether `op` is a float composite of open or large length, which stays whole and is quantized as its parts."""
    if not isinstance(op, NnOp) or op.components is None or not is_float(op.results[0]):
        return False
    parts = Parts(op, may_be_excerpt=True)
    try:
        return decompose(op, parts) is not None and parts.is_excerpt
    finally:
        parts.discard()


def open_composites(module: ModuleOp) -> list[NnOp]:
    """The float composites of `module` that stay whole, as their lengths are open or large, and whose parts decide."""
    return [op for op in module.walk() if _parts_decide(op)]


def keyed_parts(op: NnOp) -> dict[str, str]:
    """The key of each part of one of `open_composites` that has a range of its own, by its role."""
    parts = Parts(op, may_be_excerpt=True)
    try:
        decompose(op, parts)
        return {
            role: "+".join(map(str, origins_of(part)))
            for role, part in zip(parts.roles, parts.operations, strict=True)
            if has_range(part)
        }
    finally:
        parts.discard()


def has_range(part: Operation) -> bool:
    """Whether a part of a composite computes floats: it is no constant, and does not only move them."""
    is_moved = isinstance(part, Quantizable) and part.quantization_slots().shares_parameters
    return not is_constant(part) and not is_moved and len(part.results) == 1 and is_float(part.results[0])


def tensor_of(keyed: KeyedValue) -> str:
    """What the model calls a value, the port for an argument; empty for a part that no tensor of the model is."""
    owner, value = keyed.owner, keyed.value
    if isinstance(owner, FuncOp):
        return inputs_of(owner)[cast(BlockArgument, value).index].name
    return tensor_name(cast(OpResult, value))


# Which values have parameters already, because the model came with them: what no profile has to see.
#
# A float value has them where it was dequantized, or where all that quantize it do so to one type. In a model that
# is quantized in part, the others belong to the parts that are still in float.


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
