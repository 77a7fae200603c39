"""The ATen operators, each with its importer."""

from collections.abc import Mapping

from qmlir.extensions.pt2.node import Importer
from qmlir.extensions.pt2.operators import elementwise, layers, movement, quantization, reduction

_ATEN = {**elementwise.OPERATORS, **layers.OPERATORS, **movement.OPERATORS, **reduction.OPERATORS}

OPERATORS: Mapping[str, Importer] = {
    **{f"aten.{name}": importer for name, importer in _ATEN.items()},
    **quantization.OPERATORS,
}
"""The importer of each operator, by its name with or without overload; the name with overload comes first."""

SIZES = movement.SIZES
"""The importers of operators on integers."""

VIEWS = movement.VIEWS
"""The operators whose result shares the memory of their first argument."""

SKIPPED = frozenset(
    {
        "aten._assert_tensor_metadata.default", "aten._assert_scalar.default", "aten._assert_async.msg",
        "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default",
    }
)  # fmt: skip
"""Operators that check their arguments and have no result."""
