"""Dialect conversion: patterns that run until all operations are legal, and type conversion with temporary casts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, UnrealizedConversionCastOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.ir.diagnostics import op_error
from qmlir.ir.rewriting import RewriteStatistics, apply_patterns_greedily, operations_in

# Type conversion, with temporary casts while some operations still have the old types.
#
# A pattern queries its operands in their new types (`TypeConversion.operands`) and produces results of new types
# (`TypeConversion.replace`). If only the producer or only the user of a value has been converted, a
# `builtin.unrealized_conversion_cast` connects them. It is removed once both are converted. One pattern,
# `ConvertForwarding`, converts operations that only forward values (functions, calls, returns, branches).


@dataclass(frozen=True)
class TypeConversion:
    """A type conversion: `convert` returns the new type, or `None` if the type is already legal."""

    convert: Callable[[Attribute], Attribute | None]
    _known: dict[Attribute, Attribute] = field(
        default_factory=dict[Attribute, Attribute], init=False, repr=False, compare=False
    )

    def converted(self, type_: Attribute) -> Attribute:
        """Returns the new type for `type_`; in a function type, converts the argument and result types."""
        found = self._known.get(type_)
        if found is None:
            found = self._known[type_] = self._convert(type_)
        return found

    def _convert(self, type_: Attribute) -> Attribute:
        if isinstance(type_, FunctionType):
            inputs, outputs = (list(map(self.converted, types)) for types in (type_.inputs, type_.outputs))
            return FunctionType.from_lists(inputs, outputs)
        return self.convert(type_) or type_

    def is_legal(self, type_: Attribute) -> bool:
        """Returns whether `type_` is legal after the conversion."""
        return self.converted(type_) == type_

    def illegal_type(self, op: Operation) -> Attribute | None:
        """Returns the first illegal type in the operands, results, block arguments or properties of `op`, if any."""
        if isinstance(op, UnrealizedConversionCastOp):
            return None  # checked at the end, after temporary casts are removed
        return next((type_ for type_ in _types_of(op) if not self.is_legal(type_)), None)

    def operand(self, rewriter: PatternRewriter, value: SSAValue) -> SSAValue:
        """Returns `value` in its new type, cast before the matched operation."""
        type_ = self.converted(value.type)
        source = _cast_source(value)
        if value.type != type_ and source is not None and source.type == type_:
            return source
        return self.restored(rewriter, value, type_)

    def operands(self, rewriter: PatternRewriter, values: Iterable[SSAValue]) -> list[SSAValue]:
        """Returns `values` in their new types, cast before the matched operation."""
        return [self.operand(rewriter, value) for value in values]

    def restored(self, rewriter: PatternRewriter, value: SSAValue, type_: Attribute) -> SSAValue:
        """Returns `value` with type `type_`, such as the old one that its users still expect; casts it if necessary."""
        if value.type == type_:
            return value
        cast = _cast(value, type_)
        rewriter.insert(cast)
        return cast.outputs[0]

    def replace(
        self, rewriter: PatternRewriter, op: Operation, new_op: Operation, new_results: Sequence[SSAValue] | None = None
    ) -> None:
        """Replaces `op` with `new_op`, whose results (or `new_results`) may have the new types."""
        casts: list[UnrealizedConversionCastOp] = []
        results: list[SSAValue] = []
        for old, new in zip(op.results, new_op.results if new_results is None else new_results, strict=True):
            if new.type != old.type:
                casts.append(_cast(new, old.type))
                new = casts[-1].outputs[0]
            results.append(new)
        rewriter.replace(op, [new_op, *casts], results)


def _types_of(op: Operation) -> Iterable[Attribute]:
    yield from op.operand_types
    yield from op.result_types
    for region in op.regions:
        for block in region.blocks:
            yield from block.arg_types
    yield from (attribute for attribute in op.properties.values() if isinstance(attribute, TypeAttribute))


def _cast(value: SSAValue, type_: Attribute) -> UnrealizedConversionCastOp:
    return UnrealizedConversionCastOp.get([value], [type_])


def _cast_source(value: SSAValue) -> SSAValue | None:
    """Returns the source of the one-to-one cast that defines `value`."""
    if not isinstance(value, OpResult) or not isinstance(value.op, UnrealizedConversionCastOp):
        return None
    return value.op.inputs[0] if len(value.op.inputs) == len(value.op.outputs) == 1 else None


@dataclass(frozen=True)
class ConvertForwarding(RewritePattern):
    """Converts the operands, results, block arguments and properties of operations that only forward values, in place.

    By default, it converts functions, calls and returns; a conversion that includes control flow adds its operations.
    """

    types: TypeConversion
    operations: tuple[type[Operation], ...] = (FuncOp, CallOp, ReturnOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, self.operations) or self.types.illegal_type(op) is None:
            return
        for index, operand in enumerate(self.types.operands(rewriter, op.operands)):
            op.operands[index] = operand
        for result in op.results:
            self._retype(result, InsertPoint.after(op), rewriter)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    self._retype(argument, InsertPoint.at_start(block), rewriter)
        for name, attribute in op.properties.items():
            if isinstance(attribute, TypeAttribute):
                op.properties[name] = self.types.converted(attribute)
        rewriter.notify_op_modified(op)

    def _retype(self, value: OpResult | BlockArgument, point: InsertPoint, rewriter: PatternRewriter) -> None:
        old = value.type
        if self.types.is_legal(old):
            return
        new = rewriter.replace_value_with_new_type(value, self.types.converted(old))
        cast = _cast(new, old)
        rewriter.insert(cast, insertion_point=point)
        rewriter.replace_uses_with_if(new, cast.outputs[0], lambda use: use.operation is not cast)


def casts_in(root: Operation) -> list[UnrealizedConversionCastOp]:
    """Returns the casts nested in `root`."""
    return [op for op in root.walk() if isinstance(op, UnrealizedConversionCastOp)]


def look_through_casts(root: Operation, types: TypeConversion, own: Iterable[Operation]) -> None:
    """Removes the casts that a finished conversion has inserted; keeps `own`, the casts that existed before it.

    If a cast can't be removed, raises `DiagnosticError` with the operation that still uses the old type.
    """
    kept = set(own)
    casts = [cast for cast in casts_in(root) if cast not in kept]
    for cast in casts:
        source = _cast_source(cast.inputs[0])
        if source is not None and source.type == cast.outputs[0].type:
            cast.outputs[0].replace_all_uses_with(source)
    for cast in reversed(casts):
        if cast.outputs[0].first_use is None:
            Rewriter.erase_op(cast)
    for cast in casts:
        if cast.parent is not None:
            _refuse(cast, types)


def _refuse(cast: UnrealizedConversionCastOp, types: TypeConversion) -> None:
    source, result = cast.inputs[0], cast.outputs[0]
    if types.is_legal(source.type):
        (*_, user) = (use.operation for use in result.uses)
        raise op_error(user, f"uses a value of type {result.type}, which was converted to {source.type}")
    defining_op = source.owner if isinstance(source.owner, Operation) else source.owner.parent_op()
    raise op_error(defining_op or cast, f"returns a value of type {source.type}, but its users need {result.type}")


# Conversion with legality: patterns run until no illegal operation is left; a remaining illegal operation is an error.
#
# A lowering declares the legality of its result as data, so a pattern need not know when to stop. An operation that
# no pattern converts is an error that names the operation, its node in the model, and the accepted operations.


def dialect_of(op: Operation) -> str:
    """Returns the dialect name of `op`, even if the operation is unregistered."""
    return op.op_name.data.partition(".")[0] if isinstance(op, UnregisteredOp) else op.dialect_name()


@dataclass(frozen=True)
class Legality:
    """The operations and types that are legal after a conversion.

    An operation is illegal if its dialect is in `illegal_dialects` or, if `legal_dialects` is given, isn't in
    `legal_dialects`. It is also illegal if its class is in `illegal_operations`, or if it has a type that `types`
    converts. Operations that `is_kept` accepts are always legal.
    """

    illegal_dialects: frozenset[str] = frozenset()
    illegal_operations: tuple[type[Operation], ...] = ()
    is_kept: Callable[[Operation], bool] | None = None
    accepted: str = ""
    """A description of the legal operations, for error messages."""
    legal_dialects: frozenset[str] | None = None
    types: TypeConversion | None = None
    _known: dict[type[Operation], str | None] = field(
        default_factory=dict[type[Operation], str | None], init=False, repr=False, compare=False
    )
    """The cached faults of each class: lowerings query them often, and `illegal_operations` may be long."""

    def forbids(self, op: Operation) -> bool:
        """Returns whether `op` is illegal."""
        return self._fault(op) is not None

    def _fault(self, op: Operation) -> str | None:
        """Returns the fault of `op`, for an error message."""
        fault = self._fault_of_class(op)
        if fault is None and self.types is not None and (type_ := self.types.illegal_type(op)) is not None:
            fault = f"has the type {type_}, which is not legal here"
        return None if fault is not None and self.is_kept is not None and self.is_kept(op) else fault

    def _fault_of_class(self, op: Operation) -> str | None:
        """Returns the fault of all operations of the class of `op`; for unregistered operations, of its name."""
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
        """Raises `DiagnosticError` for the first illegal operation nested in `root`."""
        accepted = f"; expected {self.accepted}" if self.accepted else ""
        for op in operations_in(root):
            if op is not root and (fault := self._fault(op)) is not None:
                raise op_error(op, f"{fault}, and no pattern converts it{accepted}")


def convert_partially(
    root: Operation, patterns: Iterable[RewritePattern], legality: Legality, ctx: Context
) -> RewriteStatistics:
    """Applies `patterns` to the illegal operations nested in `root`; operations that no pattern converts remain."""
    return apply_patterns_greedily(root, patterns, ctx, only=legality.forbids)


def convert(root: Operation, patterns: Sequence[RewritePattern], legality: Legality, ctx: Context) -> RewriteStatistics:
    """Applies `patterns` until every operation nested in `root` is legal.

    If the conversion changes types (`legality.types`), it also removes all casts between old and new types. Raises
    `DiagnosticError` for the first operation that can't be converted, or whose cast can't be removed.
    """
    own_casts = casts_in(root) if legality.types is not None else []
    statistics = convert_partially(root, patterns, legality, ctx)
    legality.check(root)
    if legality.types is not None:
        look_through_casts(root, legality.types, own_casts)
    return statistics
