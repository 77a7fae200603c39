"""The levels of the compiler, as data: the dialects and element types that a module may contain at each level.

A pass that completes a level checks the module here, and `verify-level` does so on request. The documentation prints
the table of levels. A dialect of another package declares the levels that allow it with `LevelMembership`.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import Flag, auto

from xdsl.context import Context
from xdsl.dialect_interfaces import DialectInterface
from xdsl.dialects import builtin
from xdsl.ir import Attribute, Dialect, Operation

from qmlir import registry
from qmlir.dialects.quant.types import AnyQuantizedType, CalibratedQuantizedType, UniformType
from qmlir.ir.builtin_types import element_or_self
from qmlir.ir.decomposition import COMPONENTS, Parts, parts_given
from qmlir.ir.diagnostics import op_error, text_error, unknown

_TENSORS = (builtin.TensorType, builtin.UnrankedTensorType)
_BUFFERS = (builtin.MemRefType, builtin.UnrankedMemRefType)
_CONTAINERS = (*_TENSORS, *_BUFFERS, builtin.VectorType)


class Element(Flag):
    """Kinds of element types that a level allows."""

    PLAIN = auto()
    CALIBRATED = auto()
    QUANTIZED = auto()


@dataclass(frozen=True)
class Level:
    """The invariants of a module at one level."""

    name: str
    dialects: frozenset[str]
    elements: Element
    made_by: str
    summary: str
    composites: bool = True
    containers: tuple[type[Attribute], ...] = _TENSORS
    operations: frozenset[str] = frozenset()
    """The allowed operations of dialects that are not in `dialects`."""


_EVERYWHERE = frozenset({"builtin", "func", "check"})
_STRUCTURED = frozenset({"kernel", "linalg", "arith", "math"})

_CONTROL = frozenset(
    {
        "scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition", "arith.constant", "arith.index_cast",
        "tensor.extract",
    }
)  # fmt: skip
"""Control flow around operations on whole tensors, and the operations that compute bounds and conditions."""

LEVELS: dict[str, Level] = {
    level.name: level
    for level in (
        Level(
            "graph", _EVERYWHERE | {"nn"}, Element.PLAIN, "ONNX import",
            "one operation for each ONNX node, whose name is its provenance", operations=_CONTROL,
        ),
        Level(
            "primitive", _EVERYWHERE | {"nn"}, Element.PLAIN, "nn-decompose",
            "primitives, and composites that the target keeps", composites=False, operations=_CONTROL,
        ),
        Level(
            "profiled", _EVERYWHERE | {"nn", "calib"}, Element.PLAIN | Element.CALIBRATED, "calib-apply-profile",
            "every float value has a recorded range", operations=_CONTROL,
        ),
        Level(
            "quantized", _EVERYWHERE | {"nn", "quant"}, Element.PLAIN | Element.CALIBRATED | Element.QUANTIZED,
            "quant-assign-types, quant-propagate-types", "the same operations on quantized types", operations=_CONTROL,
        ),
        Level(
            "integer", _EVERYWHERE | _STRUCTURED | {"scf", "tensor"}, Element.PLAIN, "convert-nn-to-kernel",
            "no quantized types; zero points, multipliers and clamps are explicit",
        ),
        Level(
            "scheduled", _EVERYWHERE | _STRUCTURED | {"memref", "scf"}, Element.PLAIN,
            "kernel-bufferize, kernel-mark-in-place, kernel-outline, kernel-merge-functions, kernel-plan-memory",
            "fused epilogues, packed weights, buffers in one arena; schedules are attributes", containers=_BUFFERS,
        ),
        Level(
            "loops", _EVERYWHERE | {"scf", "memref", "arith", "math", "simd", "team", "vector"}, Element.PLAIN,
            "convert-kernel-to-loops, kernel-follow-lengths, simd-legalize, team-divide",
            "loops over register tiles, divided among threads",
            containers=(*_BUFFERS, builtin.VectorType), operations=frozenset({"kernel.custom"}),
        ),
    )
}  # fmt: skip
"""The levels by name, in the order of lowering."""


@dataclass(frozen=True)
class LevelMembership(DialectInterface):
    """The interface with which a dialect of another package declares the levels that allow its operations."""

    levels: frozenset[str]


def _kind(element: Attribute) -> Element | None:
    match element:
        case CalibratedQuantizedType():
            return Element.CALIBRATED
        case UniformType() | AnyQuantizedType():
            return Element.QUANTIZED
        case _:
            is_plain = isinstance(element, builtin.AnyFloat | builtin.IntegerType | builtin.IndexType)
            return Element.PLAIN if is_plain else None


def _types_in(type_: Attribute) -> Iterator[tuple[Attribute, Attribute]]:
    """Yields each element type in `type_`, with the type that contains it."""
    match type_:
        case builtin.FunctionType():
            for inner in (*type_.inputs.data, *type_.outputs.data):
                yield from _types_in(inner)
        case _:
            yield element_or_self(type_), type_


def _value_types(op: Operation) -> Iterator[Attribute]:
    yield from op.result_types
    for region in op.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.args)


def _is_member(dialect: Dialect | None, level: Level) -> bool:
    if dialect is None:
        return False
    membership = dialect.get_interface(LevelMembership)
    return membership is not None and level.name in membership.levels


def _check_types(op: Operation, level: Level) -> None:
    for type_ in _value_types(op):
        for element, holder in _types_in(type_):
            kind = _kind(element)
            if kind is not None and kind not in level.elements:
                accepted = ", ".join((each.name or "").lower() for each in Element if each in level.elements)
                raise op_error(
                    op, f"level '{level.name}' allows only {accepted} elements, but got a value of type {holder}"
                )
            if isinstance(holder, _CONTAINERS) and not isinstance(holder, level.containers):
                names = ", ".join(container.name for container in level.containers)
                raise op_error(op, f"level '{level.name}' allows only values of type {names}, but got {holder}")


def check_level(ctx: Context, module: builtin.ModuleOp, name: str, keep: Container[Operation] | None = None) -> None:
    """Checks that `module` is at the level `name`. Raises `DiagnosticError` at the first operation that is not allowed.

    `keep` contains the composites that need not be decomposed at levels that otherwise allow only primitives.
    """
    if name not in LEVELS:
        raise text_error(unknown("level", name, LEVELS))
    level = LEVELS[name]
    composites = () if level.composites else tuple(registry.decompositions())
    for op in module.walk():
        dialect = op.dialect_name()
        is_one = dialect in level.dialects or op.name in level.operations
        if not is_one and not _is_member(ctx.get_optional_dialect(dialect), level):
            raise op_error(op, f"is not allowed at level '{name}' (dialects: {', '.join(sorted(level.dialects))})")
        if isinstance(op, composites) and (keep is None or op not in keep) and _has_parts(op):
            raise op_error(op, f"is a composite, but level '{name}' allows only primitives; run nn-decompose")
        _check_types(op, level)


def _has_parts(op: Operation) -> bool:
    """Returns true if the registered decomposition applies to `op`: a convolution without bias is primitive."""
    parts = Parts(op, may_be_excerpt=COMPONENTS in op.properties)
    applies = parts_given(op, parts) is not None and not parts.is_excerpt
    parts.discard()
    return applies
