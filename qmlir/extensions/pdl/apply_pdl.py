"""`apply-pdl`: applies rewrite patterns written as PDL text, which are loaded and checked here.

Every error contains the name of the pattern: its symbol, or its location in the file if it has none. Errors in a
pattern, such as an unknown function or wrong argument types, are reported at its line before any module is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import cast

from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from qmlir import registry
from qmlir.extensions.pdl.matching import COMMUTATIVE, Found, Matcher, roots_among
from qmlir.extensions.pdl.natives import NativeFunction, Role, TypeMismatchError, native_functions
from qmlir.extensions.pdl.rewriting import Rewrite, check_property
from qmlir.ir.diagnostics import DiagnosticError, nearest_name, note, op_error, source_location, text_error, unknown
from qmlir.ir.passes import EVERY_BIT, MEANING, ROUNDED, Preservation, count
from qmlir.ir.rewriting import DEFAULT_BUDGET, apply_patterns_greedily
from qmlir.ir.verification import verify
from qmlir.text.parsing import load_module

# --- Loading ----------------------------------------------------------------------------------------------------------

_RewriteFunctions = dict[pdl.ApplyNativeRewriteOp | pdl.RewriteOp, NativeFunction]


def _pattern_name(pattern: pdl.PatternOp) -> str:
    if pattern.sym_name is not None:
        return f"@{pattern.sym_name.data}"
    return str(source_location(pattern.location) or "pdl.pattern")


@dataclass(frozen=True, eq=False)
class PdlPattern(RewritePattern):
    """One `pdl.pattern` as a rewrite pattern."""

    pattern_name: str
    """The name of the pattern in messages and statistics."""

    pattern: pdl.PatternOp
    rewrite: pdl.RewriteOp
    matcher: Matcher
    natives: _RewriteFunctions
    root_name: str | None
    ctx: Context
    package: str = ""
    """A text such as ` (in package 'fancy 1.0')` if a package provides the file, otherwise empty."""

    @property
    def benefit(self) -> int:
        """The benefit of the pattern; patterns with a larger benefit are tried first."""
        return self.pattern.benefit.value.data

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if self.root_name is not None and op.name != self.root_name:
            return
        try:
            for found in self.matcher.matches(op):
                matched = self._matched(found)
                position = _position(op, matched, found)
                if position is not None:
                    Rewrite(self.ctx, rewriter, position, found, self.natives, matched).run(self.rewrite)
                    return
        except DiagnosticError as error:
            diagnostic = error.diagnostic
            notes = [note(op, "while applying the pattern"), *diagnostic.notes]
            raise text_error(
                f"pattern '{self.pattern_name}'{self.package}: {diagnostic.message}", diagnostic.location, notes
            ) from error

    def _matched(self, found: Found) -> list[Operation]:
        """Returns the operations of the match, in block order."""
        ops = [cast(Operation, found[each.op]) for each in self.matcher.operations]
        blocks = {op.parent for op in ops}
        if len(blocks) == 1 and (block := blocks.pop()) is not None:
            return sorted(dict.fromkeys(ops), key=block.get_operation_index)
        return list(dict.fromkeys(ops))


def _position(root: Operation, matched: Sequence[Operation], found: Found) -> InsertPoint | None:
    """Returns the point before the first root; `None` if an operand of the pattern is not defined there yet."""
    roots = roots_among(matched)
    if len(roots) < 2:
        return InsertPoint.before(root)
    block = root.parent
    if block is None or any(op.parent is not block for op in roots):
        return None
    first = min(roots, key=block.get_operation_index)
    for thing in found.values():
        if isinstance(thing, SSAValue) and not _is_known_before(cast(SSAValue, thing), first, block, roots):
            return None
    return InsertPoint.before(first)


def _is_known_before(value: SSAValue, first: Operation, block: Block, roots: Sequence[Operation]) -> bool:
    owner = value.owner
    if isinstance(owner, Block) or owner in roots or owner.parent is not block:
        return True
    return owner is not first and owner.is_before_in_block(first)


def _function(op: Operation, name: str, arguments: Sequence[SSAValue], role: Role) -> NativeFunction:
    """Returns the function that `op` calls. Raises `DiagnosticError` if it is unknown or takes other arguments."""
    there = native_functions(role)
    function = there.get(name)
    if function is None:
        known: list[str] = sorted({*there, *([COMMUTATIVE] if role is Role.CONSTRAINT else [])})
        raise op_error(op, f"uses an {unknown(str(role), name, known)}")
    types = [value.type.name for value in arguments]
    if not function.accepts(types):
        raise op_error(op, f"cannot call {function} with ({', '.join(types)})")
    for position, value in enumerate(arguments):
        if isinstance(value.owner, pdl.AttributeOp) and value.owner.value is not None:
            parameter = function.parameter(position)
            try:
                parameter.kind.convert(value.owner.value)
            except TypeMismatchError as error:
                raise op_error(
                    op, f"calls {function}: '{parameter.name}' must be {error}, but got {value.owner.value}"
                ) from error
    return function


def _check_results(op: Operation, function: NativeFunction) -> None:
    if tuple(result.type.name for result in op.results) != function.results:
        found = ", ".join(result.type.name for result in op.results) or "none"
        raise op_error(op, f"must match the result types of {function}, but got {found}")


def _read(ctx: Context, op: pdl.PatternOp, package: str) -> PdlPattern:
    """Converts a `pdl.pattern` to a rewrite pattern."""
    body = list(op.body.block.ops)
    rewrite = cast(pdl.RewriteOp, op.body.block.last_op)  # ensured by its verifier
    operations = [each for each in body if isinstance(each, pdl.OperationOp)]
    constraints: list[tuple[pdl.ApplyNativeConstraintOp, NativeFunction]] = []
    commutative: set[SSAValue] = set()
    for each in body:
        if not isinstance(each, pdl.ApplyNativeConstraintOp):
            continue
        if each.constraint_name.data == COMMUTATIVE:
            if each.res or each.is_negated.value.data or any(not _is_operation(value) for value in each.args):
                raise op_error(each, f"'{COMMUTATIVE}' must be applied to an operation of the pattern")
            commutative.update(each.args)
            continue
        function = _function(each, each.constraint_name.data, each.args, Role.CONSTRAINT)
        if not each.is_negated.value.data:
            _check_results(each, function)
        constraints.append((each, function))
    root = rewrite.root if rewrite.root is not None else operations[-1].op
    owner = root.owner
    if not isinstance(owner, pdl.OperationOp):
        raise op_error(rewrite, "must rewrite a pdl.operation of its pattern")
    matcher = Matcher(root, operations, constraints, frozenset(commutative))
    root_name = None if owner.opName is None else owner.opName.data
    natives = dict(_natives(ctx, rewrite))
    return PdlPattern(_pattern_name(op), op, rewrite, matcher, natives, root_name, ctx, package)


def _is_operation(value: SSAValue) -> bool:
    return isinstance(value.owner, pdl.OperationOp)


def _natives(
    ctx: Context, rewrite: pdl.RewriteOp
) -> Iterator[tuple[pdl.ApplyNativeRewriteOp | pdl.RewriteOp, NativeFunction]]:
    """Yields the functions that a rewrite calls, and checks that its operations exist."""
    if rewrite.name_ is not None:
        yield rewrite, _function(rewrite, rewrite.name_.data, rewrite.external_args, Role.REWRITE)
    elif not rewrite.body.blocks or not rewrite.body.block.ops:
        raise op_error(rewrite, "must have a body or a function")
    for op in rewrite.walk():
        match op:
            case pdl.ApplyNativeRewriteOp():
                function = _function(op, op.constraint_name.data, op.args, Role.REWRITE)
                _check_results(op, function)
                yield op, function
            case pdl.OperationOp(opName=StringAttr(data=name)) if ctx.get_optional_op(name) is None:
                raise op_error(op, f"creates '{name}', which no dialect defines")
            case pdl.OperationOp():
                for key, value in zip(op.attributeValueNames, op.attribute_values, strict=True):
                    if isinstance(value.owner, pdl.AttributeOp) and value.owner.value is not None:
                        check_property(op, ctx, key.data, value.owner.value)
            case _:
                pass


def patterns_in(ctx: Context, module: ModuleOp, package: str = "") -> list[PdlPattern]:
    """Returns the patterns of a verified module, in their order.

    `package`, such as ` (in package 'fancy 1.0')`, is appended to errors.
    """
    found: list[PdlPattern] = []
    for op in module.walk():
        if not isinstance(op, pdl.PatternOp):
            continue
        try:
            found.append(_read(ctx, op, package))
        except DiagnosticError as error:
            said = error.diagnostic
            message = f"pattern '{_pattern_name(op)}'{package}: {said.message}"
            raise text_error(message, said.location, said.notes) from error
    return found


def load_patterns(ctx: Context, path: Path, package: str = "") -> list[PdlPattern]:
    """Returns the patterns of a file. Raises `DiagnosticError` if a pattern is invalid or the file has none."""
    module = load_module(ctx, path)
    verify(module)
    patterns = patterns_in(ctx, module, package)
    if not patterns:
        raise text_error(f"'{path}' contains no pdl.pattern")
    return patterns


# --- The pass ---------------------------------------------------------------------------------------------------------

_KEEPS = {"bits": EVERY_BIT, "rounded": ROUNDED, "meaning": MEANING}


@dataclass(frozen=True)
class ApplyPdl(ModulePass):
    """Applies the patterns of PDL files until none matches.

    `file` lists PDL files, and `named` lists patterns of installed packages by name (`qmlir doctor` shows them). If
    both are empty, the pass applies the patterns that the module itself contains, and removes them from it.
    [The reference](pdl.md) lists the functions that patterns can call. `keeps` states which guarantee
    `--verify-each=exec` checks: equality of every bit (the default), `rounded` floats, or only the `meaning`. The pass
    statistics count the matches of each pattern.

    Before:

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.sigmoid %x : tensor<4xf32>
      %1 = nn.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }
    pdl.pattern @swish : benefit(1) {
      %type = pdl.type
      %x = pdl.operand
      %sigmoid = pdl.operation "nn.sigmoid" (%x : !pdl.value) -> (%type : !pdl.type)
      %y = pdl.result 0 of %sigmoid
      %mul = pdl.operation "nn.mul" (%x, %y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
      pdl.apply_native_constraint "commutative"(%mul : !pdl.operation)
      pdl.apply_native_constraint "used_once"(%y : !pdl.value)
      pdl.rewrite %mul {
        %swish = pdl.operation "nn.swish" (%x : !pdl.value)
        pdl.replace %mul with %swish
      }
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.swish %x : tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    ```
    """

    name = "apply-pdl"

    file: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    keeps: str = "bits"
    budget: int = DEFAULT_BUDGET

    @property
    def preserves(self) -> Preservation:
        """The guarantee that the option `keeps` selects."""
        return _KEEPS.get(self.keeps, EVERY_BIT)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.keeps not in _KEEPS:
            raise text_error(f"{self.name}: keeps must be one of {', '.join(_KEEPS)}, but got '{self.keeps}'")
        paths = [*((Path(each), "") for each in self.file), *map(_file_named, self.named)]
        patterns = [each for path, package in paths for each in load_patterns(ctx, path, package)]
        if not self.file and not self.named:
            patterns = _taken_out(ctx, op)
        patterns.sort(key=lambda pattern: -pattern.benefit)
        statistics = apply_patterns_greedily(op, patterns, ctx, budget=self.budget)
        for pattern in patterns:
            count(f"matches of {pattern.pattern_name}", statistics.counts[pattern.pattern_name])


def _file_named(name: str) -> tuple[Path, str]:
    """Returns the pattern file of that name in a package, and a description of the package for messages."""
    there = registry.named("pdl")
    if name not in there:
        every = ", ".join(sorted(there)) or "none; no installed package provides patterns"
        raise text_error(f"no patterns named '{name}'{nearest_name(name, there)} (available: {every})")
    row = there[name]
    package, _, path = row.row.partition(":")
    try:
        return Path(str(files(package))) / path, f" (in package '{row.package.title}')"
    except ImportError as error:
        raise text_error(f"cannot load patterns '{name}' of package '{row.package.title}': {error}") from error


def _taken_out(ctx: Context, module: ModuleOp) -> list[PdlPattern]:
    """Returns the patterns in the module, and removes them from it."""
    found = patterns_in(ctx, module)
    if not found:
        raise text_error("apply-pdl: pass `file` or `named`, or put patterns into the module")
    for pattern in found:
        pattern.pattern.detach()
    return found
