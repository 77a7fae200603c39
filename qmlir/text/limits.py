"""Limits on the textual format: sizes and integers beyond upstream MLIR's types, nesting depth, and alias expansion.

Each check raises `ValueError` with the reason; the parser adds the location. Limits that users can raise are in
`qmlir.ir.limits`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects import builtin
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from qmlir.ir.limits import budget, over

MAX_INT64 = (1 << 63) - 1
_WIDEST_INTEGER = (1 << 24) - 1
_DEEPEST = 64
"""The maximum nesting depth of types and attributes, including through aliases.

They are hashed, compared and printed recursively.
"""


_DIVISIONS = (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv, AffineBinaryOpKind.Mod)


def _check_int64(number: int, what: str) -> None:
    if not -MAX_INT64 - 1 <= number <= MAX_INT64:
        raise ValueError(f"{what} out of range: {number} does not fit into 64 bits")


def check_attribute(attribute: Attribute) -> None:
    """Raises `ValueError` for a type or attribute that upstream's parser rejects although xDSL's accepts it."""
    match attribute:
        case builtin.IntegerType() if attribute.width.data > _WIDEST_INTEGER:
            raise ValueError(f"integer bitwidth is limited to {_WIDEST_INTEGER} bits")
        case builtin.VectorType() if any(size < 1 for size in attribute.get_shape()):
            raise ValueError(f"vector types must have positive constant sizes but got {list(attribute.get_shape())}")
        case builtin.IntegerAttr(type=builtin.IndexType()):
            _check_int64(attribute.value.data, "integer constant")
        case builtin.StridedLayoutAttr():
            for each in (*attribute.strides.data, attribute.offset):
                if not isinstance(each, builtin.NoneAttr):
                    _check_int64(each.data, "stride or offset")
        case _:
            pass


def check_depth(depth: int) -> None:
    """Raises `ValueError` if types and attributes nested `depth` deep exceed the limit."""
    if depth > _DEEPEST:
        raise ValueError(f"the text is nested too deeply: types and attributes are limited to {_DEEPEST} levels")


def check_affine(expressions: Iterable[AffineExpr]) -> None:
    """Raises `ValueError` for affine expressions that are nested too deeply, or contain numbers beyond 64 bits."""
    pending = [(each, 1) for each in expressions]
    while pending:
        expression, depth = pending.pop()
        match expression:
            case AffineBinaryOpExpr():
                if depth > budget("affine-depth"):
                    raise ValueError(f"an affine expression is nested too deeply: {over('affine-depth', depth)}")
                divisor = expression.rhs
                if expression.kind in _DIVISIONS and isinstance(divisor, AffineConstantExpr) and divisor.value < 1:
                    raise ValueError(f"an affine expression must divide by 1 or more, but got {divisor.value}")
                pending += [(expression.lhs, depth + 1), (expression.rhs, depth + 1)]
            case AffineConstantExpr():
                _check_int64(expression.value, "constant of an affine expression")
            case _:
                pass


def _children(attribute: Attribute) -> Iterable[Attribute]:
    match attribute:
        case ParametrizedAttribute():
            return attribute.parameters
        case builtin.ArrayAttr():
            return attribute.data
        case builtin.DictionaryAttr():
            return attribute.data.values()
        case _:
            return ()


@dataclass
class ExpansionGuard:
    """Tracks how much a text expands through aliases and splat constants, and limits it."""

    _sizes: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """The number of components and the depth of each component of an alias, by `id`; aliases keep components alive."""

    _aliases: set[int] = field(default_factory=set[int])
    _parts: int = 0
    _bytes: int = 0

    def define(self, attribute: Attribute) -> None:
        """Registers the definition of an alias for `attribute`."""
        parts, depth = self._size(attribute)
        check_depth(depth)
        if parts > budget("alias-parts"):
            raise ValueError(f"the expanded size of an alias is {over('alias-parts', parts)}")
        self._aliases.add(id(attribute))

    def use(self, attribute: Attribute, depth: int) -> None:
        """Registers a use of `attribute`, which may be an alias, at nesting depth `depth`."""
        if id(attribute) in self._aliases:
            parts, deepest = self._sizes[id(attribute)]
            check_depth(depth + deepest)
            self._parts += parts
            if self._parts > budget("text-parts"):
                raise ValueError(f"the expanded size of all aliases is {over('text-parts')}")

    def splat(self, count: int) -> None:
        """Registers a splat constant of `count` bytes."""
        self._bytes += count
        if self._bytes > budget("splat-bytes"):
            raise ValueError(f"the size of splat constants in bytes is {over('splat-bytes', self._bytes)}")

    def _size(self, attribute: Attribute) -> tuple[int, int]:
        known = self._sizes.get(id(attribute))
        if known is None:
            inner = [self._size(child) for child in _children(attribute)]
            known = 1 + sum(parts for parts, _ in inner), 1 + max((depth for _, depth in inner), default=0)
            self._sizes[id(attribute)] = known
        return known
