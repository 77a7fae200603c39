"""Rewriting: replaces a match with new, verified operations that have provenance.

New operations are inserted before the root, or before the first root if there are several. Their result types are
inferred if the pattern does not state them. A new operation has the origins of all matched operations that the rewrite
removes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl import irdl
from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from qmlir.extensions.pdl.matching import Found, argument
from qmlir.extensions.pdl.natives import NativeFunction, TypeMismatchError
from qmlir.ir.control_flow import has_uses
from qmlir.ir.diagnostics import DiagnosticError, note, op_error
from qmlir.ir.interfaces import InferResultTypes
from qmlir.ir.provenance import describe, merged_origins, origins_of, set_origins, set_tensor_names, tensor_names
from qmlir.registry import in_package
from qmlir.registry.faults import one_line

_SEGMENTS = "operandSegmentSizes"


@dataclass
class Rewrite:
    """A single application of a pattern's rewrite."""

    ctx: Context
    rewriter: PatternRewriter
    point: InsertPoint
    found: Found
    natives: dict[pdl.ApplyNativeRewriteOp | pdl.RewriteOp, NativeFunction]
    matched: Sequence[Operation]
    created: list[Operation] = field(default_factory=list[Operation])
    replaced: list[tuple[Operation, tuple[Any, ...]]] = field(default_factory=list[tuple[Operation, tuple[Any, ...]]])

    def run(self, rewrite: pdl.RewriteOp) -> None:
        """Runs the body of `rewrite`, or its external function. Raises `DiagnosticError` if it cannot be applied."""
        if rewrite in self.natives:
            self._call(rewrite, self.natives[rewrite], list(rewrite.external_args))
        for op in list(rewrite.body.block.ops) if rewrite.body.blocks else []:
            self._step(op)
        self._hand_on()
        self._verify(rewrite)

    def _step(self, op: Operation) -> None:
        match op:
            case pdl.OperationOp():
                self.found[op.op] = self._create(op)
            case pdl.ApplyNativeRewriteOp():
                self.found |= dict(zip(op.res, self._call(op, self.natives[op], list(op.args)), strict=True))
            case pdl.ReplaceOp():
                self._replace(op)
            case pdl.EraseOp():
                self._erase(op)
            case pdl.RangeOp():
                self.found[op.result] = tuple(self._flat(op.arguments))
            case _:
                pass  # constants and results, which `argument` resolves when used

    def _argument(self, name: SSAValue) -> Any:
        return argument(name, self.found)

    def _flat(self, names: Sequence[SSAValue]) -> Iterator[Any]:
        for name in names:
            thing = self._argument(name)
            if isinstance(thing, tuple):
                yield from cast(tuple[Any, ...], thing)
            else:
                yield thing

    def _call(self, op: Operation, function: NativeFunction, names: list[SSAValue]) -> tuple[Any, ...]:
        given = [self._argument(name) for name in names]
        try:
            results = function(given, self.rewriter)
        except TypeMismatchError as error:
            raise op_error(
                op, f"'{function.name}' requires {error}, but got {', '.join(map(_shown, given))}"
            ) from error
        except DiagnosticError:
            raise
        except Exception as error:  # any error of a package's function names the pattern
            raise op_error(op, f"'{function.name}' failed: {one_line(error)}{in_package(error)}") from error
        if results is None or len(results) != len(function.results):
            raise op_error(op, f"'{function.name}' must return {len(function.results)} results, but returned {results}")
        return results

    def _create(self, name: pdl.OperationOp) -> Operation:
        assert name.opName is not None  # ensured by its verifier
        kind = self.ctx.get_optional_op(name.opName.data)
        if kind is None:
            raise op_error(name, f"creates '{name.opName.data}', which no dialect defines")
        operands = cast(list[SSAValue], list(self._flat(name.operand_values)))
        types = cast(list[Attribute], list(self._flat(name.type_values)))
        known = kind.get_irdl_definition().properties if issubclass(kind, IRDLOperation) else {}
        properties: dict[str, Attribute] = {}
        attributes: dict[str, Attribute] = {}
        for key, value in zip(name.attributeValueNames, name.attribute_values, strict=True):
            where = properties if key.data in known or key.data == _SEGMENTS else attributes
            where[key.data] = self._argument(value)
            check_property(name, self.ctx, key.data, where[key.data])
        if issubclass(kind, IRDLOperation) and _SEGMENTS not in properties:
            properties |= _segments(name, kind, len(operands))
        op = kind.create(operands=operands, result_types=types, properties=properties, attributes=attributes)
        if not types and isinstance(op, InferResultTypes):
            op = with_inferred_types(name, op)
        self.rewriter.insert(op, self.point)
        self.created.append(op)
        return op

    def _replace(self, op: pdl.ReplaceOp) -> None:
        old = cast(Operation, self._argument(op.op_value))
        if op.repl_operation is not None:
            values = tuple(cast(Operation, self._argument(op.repl_operation)).results)
        else:
            values = tuple(self._flat(op.repl_values))
        if len(values) != len(old.results):
            raise op_error(op, f"must replace {len(old.results)} results, but got {len(values)} values")
        # A new operation that reads an old result, as in `y -> f(y)`, would keep the old operation alive.
        users = [use for result in old.results for use in result.uses if use.operation in self.created]
        if users:
            raise op_error(op, "must not replace an operation by a value that uses its result")
        self.replaced.append((old, values))
        self.rewriter.replace(old, [], list(values))

    def _erase(self, op: pdl.EraseOp) -> None:
        old = cast(Operation, self._argument(op.op_value))
        if has_uses(old):
            raise op_error(
                op, "must not erase an operation whose results have uses", [note(old, "used after the match")]
            )
        self.replaced.append((old, ()))
        self.rewriter.erase(old)

    def _hand_on(self) -> None:
        """Copies provenance from removed to new operations, from constants to constants."""
        gone = self._gone()
        for op in self.created:
            if op.parent is None or origins_of(op):
                continue
            sources = [each for each in gone if _is_constant(each) == _is_constant(op)]
            set_origins(op, merged_origins(sources or gone))
        for old, values in self.replaced:
            owners = {value.owner for value in values if isinstance(value, SSAValue)}
            if len(owners) == 1 and (owner := owners.pop()) in self.created and isinstance(owner, Operation):
                names = tensor_names(old)
                if any(names) and values == tuple(owner.results):
                    set_tensor_names(owner, names)

    def _gone(self) -> list[Operation]:
        """Returns the operations of the match that were replaced, or are used only by such operations."""
        gone = {old for old, _ in self.replaced}
        found: list[Operation] = []
        for op in reversed(self.matched):
            if op in gone or all(use.operation in gone for result in op.results for use in result.uses):
                gone.add(op)
                found.insert(0, op)
        return found

    def _verify(self, rewrite: pdl.RewriteOp) -> None:
        """Verifies the new operations and their users."""
        touched = dict.fromkeys(op for op in self.created if op.parent is not None)
        for _, values in self.replaced:
            for value in values:
                touched |= dict.fromkeys(use.operation for use in value.uses)
        for op in touched:
            try:
                op.verify_()
            except DiagnosticError:
                raise
            except Exception as error:
                if not isinstance(error, VerifyException) and not in_package(error):
                    raise
                text = one_line(error) + in_package(error)
                if isinstance(error, VerifyException):
                    text = " ".join(str(error).split())
                if op in self.created:
                    raise op_error(rewrite, f"creates '{op.name}', which does not verify: {text}") from error
                message = f"gives '{op.name}' operands with which it does not verify: {text}"
                raise op_error(rewrite, message, [note(op, "here")]) from error


def with_inferred_types(name: pdl.OperationOp, op: InferResultTypes) -> Operation:
    """Returns `op` with inferred result types. Raises `DiagnosticError` for wrong operands or attributes."""
    try:
        if isinstance(op, IRDLOperation):
            _verify_inputs(op)
        types = op.infer_result_types()
    except VerifyException as error:
        raise op_error(name, f"cannot create '{op.name}': {' '.join(str(error).split())}") from error
    except Exception as error:
        # Operands and attributes are valid, so a result is missing or the operation's code is wrong.
        reason = f" ({one_line(error)}{where})" if (where := in_package(error)) else ""
        message = f"creates '{op.name}', whose result types cannot be inferred; write `-> (%type : !pdl.type)`"
        raise op_error(name, f"{message}{reason}") from error
    typed = type(op).create(
        operands=list(op.operands), result_types=types, properties=op.properties, attributes=op.attributes
    )
    op.drop_all_references()
    return typed


def check_property(name: pdl.OperationOp, ctx: Context, key: str, value: Attribute) -> None:
    """Raises `DiagnosticError` if `value` is not valid for the property `key` of a created operation."""
    assert name.opName is not None
    kind = ctx.get_optional_op(name.opName.data)
    if kind is None or not issubclass(kind, IRDLOperation):
        return
    definition = kind.get_irdl_definition().properties.get(key)
    if definition is None:
        return
    try:
        definition.constr.verify(value, irdl.VerificationContext())
    except VerifyException as error:
        text = " ".join(str(error).split())
        raise op_error(name, f"creates '{kind.name}' with the invalid property '{key}' = {value}: {text}") from error


def _verify_inputs(op: IRDLOperation) -> None:
    """Verifies operands and properties against their definitions, before the operation's own code reads them."""
    definition, context = op.get_irdl_definition(), irdl.VerificationContext()
    irdl.irdl_op_verify_arg_list(op, definition, irdl.VarIRConstruct.OPERAND, context)
    for name, each in definition.properties.items():
        if name not in op.properties and not isinstance(each, irdl.OptPropertyDef):
            raise VerifyException(f"requires property '{name}'")


def _shown(given: Any) -> str:
    """Formats an argument of a function for a message: an operation by its name, a value by its type."""
    match given:
        case Operation():
            return describe(given)
        case SSAValue():
            return str(cast(SSAValue, given).type)
        case _:
            return str(given)


def _is_constant(op: Operation) -> bool:
    return op.has_trait(ConstantLike, value_if_unregistered=False)


def _segments(name: pdl.OperationOp, kind: type[IRDLOperation], count: int) -> dict[str, Attribute]:
    """Divides `count` operands among the operand definitions of `kind`, filling optional ones in order."""
    definition = kind.get_irdl_definition()
    if not any(isinstance(option, irdl.AttrSizedOperandSegments) for option in definition.options):
        return {}
    sizes: list[int] = []
    left = count - sum(not isinstance(each, irdl.VariadicDef) for _, each in definition.operands)
    for _, each in definition.operands:
        taken = 1
        if isinstance(each, irdl.OptionalDef):
            taken = min(1, max(0, left))
        elif isinstance(each, irdl.VariadicDef):
            taken = max(0, left)
        left -= taken if isinstance(each, irdl.VariadicDef) else 0
        sizes.append(taken)
    if sum(sizes) != count:
        raise op_error(name, f"creates '{kind.name}' with {count} operands; assign them to groups with '{_SEGMENTS}'")
    return {_SEGMENTS: DenseArrayBase.from_list(i32, sizes)}
