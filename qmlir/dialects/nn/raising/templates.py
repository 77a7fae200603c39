"""Templates: a composite on placeholder operands with types from the module, and the parts of this composite.

The operation and properties of a composite are known before its operands. Operand types are chosen from the types near
the group; unification then finds the value of each operand.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.irdl import OptionalDef, VariadicDef
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from qmlir import registry
from qmlir.dialects.nn.assembly import SEGMENT_SIZES
from qmlir.dialects.nn.base import UNKNOWN_TYPE, NnOp, plain_type, shapes_agree
from qmlir.dialects.nn.recurrent.decompose import ROUNDED, prefix_of
from qmlir.dialects.nn.recurrent.ops import DIRECTIONS, RecurrentOp
from qmlir.ir.builtin_types import AnyTensor, element_of, integer_list, ranked_tensor, shape_of
from qmlir.ir.decomposition import COMPONENTS, Parts
from qmlir.ir.provenance import Origin, origins_of, set_origins

NEIGHBOURS = 24
"""The number of operations near a group without provenance whose operand types are considered."""

ATTEMPTS = 8192
"""The number of combinations of operand types that are tried before a group is given up."""

Properties = Mapping[str, Attribute]


@dataclass(frozen=True)
class Template:
    """A composite on placeholders, its parts, and the values that the parts yield as its results."""

    composite: NnOp
    block: Block
    """The block whose arguments are the placeholder operands."""

    parts: Parts
    results: Sequence[SSAValue]

    def discard(self) -> None:
        """Erases the composite and its parts."""
        self.parts.discard()
        self.composite.erase(safe_erase=False)


def _is_of_group(op: Operation, names: set[str]) -> bool:
    origins = origins_of(op)
    return bool(origins) and all(origin.name in names and origin.role for origin in origins)


def _plain(value: SSAValue) -> AnyTensor | None:
    type_ = ranked_tensor(value.type)
    return None if type_ is None else TensorType(plain_type(type_.get_element_type()), type_.get_shape())


def types_around(root: Operation, nearest: int | None = None) -> list[AnyTensor]:
    """Returns the types, without quantization, of values that the group of `root` may read from outside, nearest first.

    If the operations belong to a node of the model, these are the types of the inputs of that node's parts. With
    `nearest`, they are the types of the inputs of that number of operations, regardless of their nodes. A constant may
    have been reshaped at compile time, so the type with all its elements in one row is also included.
    """
    names = {origin.name for origin in origins_of(root) if origin.role and nearest is None}
    limit = NEIGHBOURS if nearest is None else nearest
    found: dict[AnyTensor, None] = {}
    seen, queue = {root}, [root]
    if not names:
        for result in root.results:
            if (type_ := _plain(result)) is not None:
                found[type_] = None
    while queue:
        op = queue.pop(0)
        for value in op.operands:
            owner = value.op if isinstance(value, OpResult) else None
            is_constant = owner is not None and owner.has_trait(ConstantLike)
            inside = owner is not None and not is_constant and (not names or _is_of_group(owner, names))
            fits = bool(names) or len(seen) < limit
            if inside and fits and owner is not None and owner not in seen and owner.parent is root.parent:
                seen.add(owner)
                queue.append(owner)
            type_ = _plain(value)
            if type_ is None or (inside and names):
                continue
            found[type_] = None
            if is_constant and len(type_.get_shape()) > 1 and DYNAMIC_INDEX not in type_.get_shape():
                found[TensorType(type_.get_element_type(), [type_.element_count()])] = None
    return list(found)


def _recurrent_types(operation: type[RecurrentOp], properties: Properties, root: SSAValue, around: list[AnyTensor]):
    """Yields the types of all operands of a recurrent layer, for each type that the sequence may have."""
    direction, size = properties.get("direction"), properties["hidden_size"]
    assert isinstance(size, IntegerAttr)
    ways = len(DIRECTIONS[direction.data]) if isinstance(direction, StringAttr) else 1
    shape, hidden, element = shape_of(root), size.value.data, plain_type(element_of(root))
    if len(shape) not in (3, 4):
        return
    batch = shape[-2]
    rows = operation.GATES * hidden
    for data in around:
        sizes = data.get_shape()
        if len(sizes) != 3 or sizes[1] != batch or (len(shape) == 4 and sizes[0] != shape[0]):
            continue
        state: AnyTensor = TensorType(element, (ways, batch, hidden))
        yield {
            "data": data,
            "weight": TensorType(element, (ways, rows, sizes[2])),
            "recurrence": TensorType(element, (ways, rows, hidden)),
            "bias": TensorType(element, (ways, 2 * rows)),
            "lengths": TensorType(i32, (batch,)),
            "initial_hidden": state,
            "initial_cell": state,
            "peepholes": TensorType(element, (ways, 3 * hidden)),
        }


def _with_optional_parts(operation: type[NnOp], properties: Properties, root: OpResult) -> Properties:
    """Returns `properties`, for a recurrent layer with components for those parts that exist only with a type."""
    if not issubclass(operation, RecurrentOp) or root.op.parent is None:
        return properties
    names = {origin.name for origin in origins_of(root.op) if origin.role}
    origins = (origin for op in root.op.parent.ops for origin in origins_of(op))
    roles = {origin.role for origin in origins if origin.name in names and origin.role.endswith(ROUNDED)}
    backward = {role for role in roles if role.endswith(f"{prefix_of(1)}{ROUNDED}")}
    present = [f"{prefix_of(way)}{ROUNDED}" for way, own in enumerate((roles - backward, backward)) if own]
    element = plain_type(element_of(root))
    return {**properties, COMPONENTS: DictionaryAttr(dict.fromkeys(present, element))} if present else properties


def _presences(operation: type[NnOp], properties: Properties) -> Iterator[tuple[tuple[str, ...], Properties]]:
    """Yields the operands that may be present, with the properties: those that the property names, with and without the
    ones that constant folding removes; otherwise with and without the last optional ones."""
    operands = operation.get_irdl_definition().operands
    if any(
        isinstance(definition, VariadicDef) and not isinstance(definition, OptionalDef) for _, definition in operands
    ):
        return
    names = [name for name, _ in operands]
    segments = properties.get(SEGMENT_SIZES)
    if isinstance(segments, DenseArrayBase):
        sizes = integer_list(cast(DenseArrayBase[Any], segments))
        there = tuple(name for name, size in zip(names, sizes, strict=True) if size)
        yield there, properties
        left = tuple(name for name in there if name not in operation.FOLDED)
        if left != there:
            kept = {name: value for name, value in properties.items() if name not in operation.FOLDED}
            yield left, kept | {SEGMENT_SIZES: DenseArrayBase.from_list(i32, [name in left for name in names])}
        return
    optional = sum(1 for _, definition in operands if isinstance(definition, OptionalDef))
    for left_out in range(optional + 1):
        yield tuple(names[: len(names) - left_out]), properties


def _fits(operation: type[NnOp], name: str, shape: Sequence[int], result: Sequence[int]) -> bool:
    """Returns False if an operand of this shape can't belong to this result: few combinations are then inferred."""
    axes, result_axes = operation.COMMON_SIZES.get(name, (slice(0), slice(0)))
    return operation.RANKS.get(name, len(shape)) == len(shape) and shapes_agree(shape[axes], result[result_axes])


def _choices(
    operation: type[NnOp], properties: Properties, root: SSAValue, around: list[AnyTensor], names: tuple[str, ...]
) -> Iterator[tuple[AnyTensor, ...]]:
    if issubclass(operation, RecurrentOp):
        for types in _recurrent_types(operation, properties, root, around):
            yield tuple(types[name] for name in names)
        return
    own = _plain(root)
    assert own is not None
    kinds = [own, *(type_ for type_ in around if type_ != own)]
    fitting = ([kind for kind in kinds if _fits(operation, name, kind.get_shape(), own.get_shape())] for name in names)
    yield from islice(product(*fitting), ATTEMPTS)


@lru_cache(4096)
def _inferred(
    operation: type[NnOp], properties: tuple[tuple[str, Attribute], ...], types: tuple[AnyTensor, ...]
) -> Sequence[AnyTensor] | None:
    """Returns the result types; `None` if the operation rejects these operand types. The same ones are tried often."""
    block = Block(arg_types=types)
    count = len(operation.get_irdl_definition().results)
    composite = operation.create(operands=block.args, result_types=[UNKNOWN_TYPE] * count, properties=dict(properties))
    try:
        return tuple(composite.infer_result_types())
    except VerifyException:
        return None
    finally:
        composite.erase(safe_erase=False)


def _template(
    operation: type[NnOp],
    properties: Properties,
    root: SSAValue,
    number: int,
    types: Sequence[AnyTensor],
    *,
    is_excerpt: bool,
) -> Template | None:
    inferred, own = _inferred(operation, tuple(properties.items()), tuple(types)), _plain(root)
    if inferred is None or own is None or not shapes_agree(inferred[number].get_shape(), own.get_shape()):
        return None
    block = Block(arg_types=types)
    composite = operation.create(operands=block.args, result_types=inferred, properties=dict(properties))
    # The template has a separate name, so that the parts know their roles.
    set_origins(composite, [Origin("template")])
    parts = Parts(composite, may_be_excerpt=is_excerpt)
    results = None
    with suppress(VerifyException):
        results = registry.decompositions()[operation](composite, parts)
    if results is None:
        parts.discard()
        composite.erase(safe_erase=False)
        return None
    return Template(composite, block, parts, results)


def templates(
    operation: type[NnOp],
    properties: Properties,
    root: SSAValue,
    number: int = 0,
    nearest: int | None = None,
    *,
    is_excerpt: bool = False,
) -> Iterator[Template]:
    """Yields each template of a composite whose result `number` may be `root`. The caller must discard the template.

    With `nearest`, operand types come from that number of operations, from `root` upward. With `is_excerpt`, the parts
    of a long sequence may be an excerpt.
    """
    assert isinstance(root, OpResult)
    nearby = types_around(root.op, nearest)
    properties = _with_optional_parts(operation, properties, root)
    for names, own in _presences(operation, properties):
        for types in _choices(operation, own, root, nearby, names):
            found = _template(operation, own, root, number, types, is_excerpt=is_excerpt)
            if found is not None:
                yield found
