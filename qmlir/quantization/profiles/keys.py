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
from qmlir.dialects.nn.elementwise.ops import IsNaNOp, NotOp, WhereOp
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.control_flow import reached
from qmlir.ir.provenance import Origin, origins_of, tensor_name
from qmlir.ir.signature import inputs_of
from qmlir.quantization.retyping import moves_values, trial_parts

# Values that may be NaN because the model selects, joins or moves a constant with NaN, such as the "no value" marker of
# a mask.
#
# Such values are not profiled, and stay in float. A NaN in any other value is an error in the model or its data, which
# profiling reports.


def has_nan(value: SSAValue) -> bool:
    """Returns True if `value` is a constant with a NaN."""
    array = constant_array(value)
    return array is not None and array.dtype.kind not in "iub" and bool(np.isnan(array).any())


def _replaces_nan(op: Operation, value: SSAValue) -> bool:
    """Returns True if `op` is `where(isnan(value), other, value)`, or the same with the condition negated."""
    if not isinstance(op, WhereOp):
        return False
    condition, kept = op.condition.owner, op.rhs
    if isinstance(condition, NotOp):
        condition, kept = condition.operands[0].owner, op.lhs
    return kept is value and isinstance(condition, IsNaNOp) and condition.input is value


def values_with_nan(module: ModuleOp) -> Set[SSAValue]:
    """Returns the values that a NaN from a constant may reach; a `where` that replaces NaN stops it."""
    starts: list[SSAValue] = [
        result for op in module.walk() if moves_values(op) and any(map(has_nan, op.operands)) for result in op.results
    ]

    def after(value: SSAValue) -> Iterator[SSAValue]:
        for use in value.uses:
            op = use.operation
            if _replaces_nan(op, value) or isinstance(op, CallOp | ReturnOp):
                continue
            outer = op.parent_op() if op.has_trait(IsTerminator, value_if_unregistered=False) else None
            for each in (op, outer) if outer is not None else (op,):
                yield from each.results
                yield from (argument for region in each.regions for block in region.blocks for argument in block.args)

    return set(reached(filter(is_float, starts), lambda value: filter(is_float, after(value))))


# The key of every float value: its name in profiles, rules and reports.
#
# Keys consist of provenance, never of names of SSA values: `lstm1/forget_gate/matmul` for a part of a node of the
# model, `relu1+relu2` for an operation that replaces several nodes, `split1#1` for a second result, and the name of the
# port for an argument. Operations of one kind with the same role, such as the time steps of an unrolled LSTM, share a
# key intentionally, because they share a range. If an importer creates several operations without a role from one node,
# such as the additions of a Sum, they are numbered: `sum1[0]`.

ENTRY = "main"
"""The function whose keys have no prefix. If a module has only one function, its keys have no prefix either."""


@dataclass(frozen=True)
class KeyedValue:
    """A float value and its key."""

    key: str
    value: SSAValue
    owner: Operation
    """The operation that produces the value; the function for an argument."""

    is_constant: bool = False
    may_be_nan: bool = False
    """True if a NaN from a constant may reach the value. Then it is not profiled, and stays in float."""


def is_float(value: SSAValue) -> bool:
    """Returns True if `value` is a ranked tensor of floats, profiled or not."""
    type_ = ranked_tensor(value.type)
    return type_ is not None and kind_of(type_.get_element_type()) is Kind.FLOAT


def is_constant(op: Operation) -> bool:
    """Returns True if `op` produces a weight or another value that is known at compile time."""
    return op.has_trait(ConstantLike, value_if_unregistered=False)


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """Returns the functions of `module` that have a body."""
    return [op for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration]


def unobserved(value: SSAValue) -> SSAValue:
    """Returns the input of the observers that produce `value`; `value` itself if no observer produces it."""
    while isinstance(value.owner, ObserveOp):
        value = value.owner.input
    return value


def uses_behind_observers(value: SSAValue) -> Iterator[Use]:
    """Yields the uses of `value`, and those of its observers' results."""
    for use in value.uses:
        if isinstance(use.operation, ObserveOp):
            yield from uses_behind_observers(use.operation.result)
        else:
            yield use


def operations_of(function: FuncOp) -> Iterator[Operation]:
    """Yields the operations of a function that produce values, except for observers and calls.

    The results of a call belong to the callee.
    """
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
    # A node may have the name of another node's part: then the part has two slashes before its role.
    nodes = {each.name for op in operations for each in origins_of(op) if not each.role}
    for op in operations:
        if origins := origins_of(op):
            named[op] = "+".join(_written(each, nodes) for each in origins)
            last[named[op]] = op.name
        else:
            named[op] = f"{prefix}{op.name}[{numbers[op.name]}]"
            numbers[op.name] += 1
    # An importer may make several operations from one node; the last one produces the result of the node, and has its
    # name.
    keys = {op: base if last.get(base, op.name) == op.name else f"{base}:{op.name}" for op, base in named.items()}
    alike = Counter(key for op, key in keys.items() if _is_of_import(op))
    for op, key in keys.items():
        if _is_of_import(op) and alike[key] > 1:
            numbers[key] += 1
            if numbers[key] < alike[key]:
                keys[op] = f"{key}[{numbers[key] - 1}]"
    return keys


def _is_of_import(op: Operation) -> bool:
    """Returns True if an operation is a whole node, or one that an importer made from it; parts have roles."""
    origins = origins_of(op)
    return bool(origins) and not any(origin.role for origin in origins)


def _keyed(function: FuncOp, prefix: str, nans: Set[SSAValue]) -> Iterator[KeyedValue]:
    bases = _bases(function, prefix)
    taken = set(bases.values())
    # Output buffer arguments come after all inputs.
    for port, argument in zip(inputs_of(function), function.body.blocks[0].args, strict=False):
        if is_float(argument):
            name = f"{prefix}{port.name}"
            yield KeyedValue(f"input:{name}" if name in taken else name, argument, function)
    for op, base in bases.items():
        for position, result in enumerate(op.results):
            if is_float(result):
                key = f"{base}#{position}" if position else base
                yield KeyedValue(key, result, op, is_constant(op), result in nans)


def keyed_values(module: ModuleOp) -> list[KeyedValue]:
    """Returns every float value of the functions of `module` with its key, in order.

    In a function other than `@main`, the keys of arguments and of operations without provenance are prefixed with the
    function name: `@helper/x`. The key of an operation without provenance consists of its kind and its index among the
    operations of this kind, such as `nn.relu[0]`. An argument whose name equals the key of an operation has the key
    `input:x`.
    """
    functions, nans = functions_of(module), values_with_nan(module)
    found: list[KeyedValue] = []
    for function in functions:
        name = function.sym_name.data
        found += _keyed(function, "" if name == ENTRY or len(functions) == 1 else f"@{name}/", nans)
    return found


def _parts_decide(op: Operation) -> TypeGuard[NnOp]:
    """Returns True if `op` is a float composite that stays whole for its length and is quantized by its parts."""
    if not isinstance(op, NnOp) or op.components is None or not is_float(op.results[0]):
        return False
    with trial_parts(op) as parts:
        return parts is not None and parts.is_excerpt


def open_composites(module: ModuleOp) -> list[NnOp]:
    """Returns the float composites of `module` that are not decomposed because their lengths are dynamic or large."""
    return [op for op in module.walk() if _parts_decide(op)]


def keyed_parts(op: NnOp) -> dict[str, str]:
    """Returns the key of each part with a range, by role; `op` is one of the `open_composites`."""
    with trial_parts(op) as parts:
        pairs = () if parts is None else zip(parts.roles, parts.operations, strict=True)
        return {role: "+".join(map(str, origins_of(part))) for role, part in pairs if _has_range(part)}


def _has_range(part: Operation) -> bool:
    """Returns True if a part of a composite computes new floats: it is not constant, and does not only move values."""
    return not is_constant(part) and not moves_values(part) and len(part.results) == 1 and is_float(part.results[0])


def tensor_of(keyed: KeyedValue) -> str:
    """Returns the name of a value's tensor in the model, or the port of an argument; empty if it has no tensor."""
    owner, value = keyed.owner, keyed.value
    if isinstance(owner, FuncOp):
        return inputs_of(owner)[cast(BlockArgument, value).index].name
    return tensor_name(cast(OpResult, value))


# Values with quantization parameters from the model, which need no profile.
#
# A float value has parameters if it was dequantized, or if all its quantize casts have one type. In a partially
# quantized model, all other values belong to the parts of the model that are still in float.


def given_type(value: SSAValue) -> UniformQuantizedType | None:
    """Returns the one type from which a float value was dequantized, or to which it is quantized; otherwise `None`.

    The type must be per-tensor, except for weights that the model stores as integers, which may also be per-channel or
    block-wise.
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
    """Returns True if a float value needs no profile because it was dequantized, or is quantized to a known type."""
    return isinstance(value.owner, DequantizeCastOp) or given_type(value) is not None
