"""Conversion with legality: patterns run until no illegal operation is left; the first that stays is an error.

A lowering declares the legality of its result as data, so a pattern need not know when to stop. An operation that no
pattern converts is an error that names the operation, its node in the model, and what would be accepted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from qmlir.ir.diagnostics import op_error
from qmlir.ir.rewriting import RewriteStatistics, apply_patterns_greedily
from qmlir.ir.type_conversion import TypeConversion, casts_in, look_through_casts
from qmlir.ir.walking import operations_in


def dialect_of(op: Operation) -> str:
    """The dialect in the name of `op`, also if it is unregistered."""
    return op.op_name.data.partition(".")[0] if isinstance(op, UnregisteredOp) else op.dialect_name()


@dataclass(frozen=True)
class Legality:
    """The legality of the result of a conversion.

    An operation is illegal where its dialect is in `illegal_dialects`, or not in `legal_dialects` where these are
    given, where its class is in `illegal_operations`, or where it has a type that goes by `types`; unless `is_kept`
    says that this one may stay.
    """

    illegal_dialects: frozenset[str] = frozenset()
    illegal_operations: tuple[type[Operation], ...] = ()
    is_kept: Callable[[Operation], bool] | None = None
    accepted: str = ""
    """The accepted operations, for an error message."""
    legal_dialects: frozenset[str] | None = None
    types: TypeConversion | None = None
    _known: dict[type[Operation], str | None] = field(
        default_factory=dict[type[Operation], str | None], init=False, repr=False, compare=False
    )
    """The faults of classes: a lowering asks often, and `illegal_operations` may be hundreds."""

    def forbids(self, op: Operation) -> bool:
        """Whether `op` is illegal."""
        return self._fault(op) is not None

    def _fault(self, op: Operation) -> str | None:
        """The fault of `op`, for an error message."""
        fault = self._fault_of_class(op)
        if fault is None and self.types is not None and (type_ := self.types.illegal_type(op)) is not None:
            fault = f"has the type {type_}, which is not legal here"
        return None if fault is not None and self.is_kept is not None and self.is_kept(op) else fault

    def _fault_of_class(self, op: Operation) -> str | None:
        """The fault of every operation of the class of `op`; for unregistered operations, of its name."""
        class_ = type(op)
        if class_ in self._known:
            return self._known[class_]
        fault, dialect = None, dialect_of(op)
        if dialect in self.illegal_dialects or isinstance(op, self.illegal_operations):
            fault = "is not legal here"
        elif self.legal_dialects is not None and dialect not in self.legal_dialects:
            fault = f"is not legal here (legal dialects: {', '.join(sorted(self.legal_dialects))})"
        if not isinstance(op, UnregisteredOp):
            self._known[class_] = fault
        return fault

    def check(self, root: Operation) -> None:
        """Raise `DiagnosticError` for the first illegal operation nested in `root`."""
        accepted = f"; expected {self.accepted}" if self.accepted else ""
        for op in operations_in(root):
            if op is not root and (fault := self._fault(op)) is not None:
                raise op_error(op, f"{fault}, and no pattern converts it{accepted}")


def convert_partially(
    root: Operation, patterns: Iterable[RewritePattern], legality: Legality, ctx: Context
) -> RewriteStatistics:
    """Apply `patterns` to the illegal operations nested in `root`; those that no pattern takes stay."""
    return apply_patterns_greedily(root, patterns, ctx, only=legality.forbids)


def convert(root: Operation, patterns: Sequence[RewritePattern], legality: Legality, ctx: Context) -> RewriteStatistics:
    """Apply `patterns` until every operation nested in `root` is legal.

    Where types change (`legality.types`), no cast between an old and a new type is left either. Raises
    `DiagnosticError` with the first operation that stands in the way.
    """
    own_casts = casts_in(root) if legality.types is not None else []
    statistics = convert_partially(root, patterns, legality, ctx)
    legality.check(root)
    if legality.types is not None:
        look_through_casts(root, legality.types, own_casts)
    return statistics
