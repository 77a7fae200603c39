"""`nn-raise`: replaces the parts of a composite with the composite, which takes over their parameters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.contraction.ops import FullyConnectedOp
from qmlir.dialects.nn.elementwise.ops import AddOp, MulOp
from qmlir.dialects.nn.raising.candidates import TransposedMatMul, candidates, layer_fault
from qmlir.dialects.nn.raising.cells import LstmCell, looks_like_gru
from qmlir.dialects.nn.raising.groups import Raised, Refusal, raise_group
from qmlir.dialects.nn.raising.templates import Template, templates
from qmlir.dialects.nn.raising.unification import CompositeMismatchError
from qmlir.dialects.nn.recurrent.ops import GruOp, LstmOp
from qmlir.dialects.target.attributes import targets_of
from qmlir.dialects.target.description import Description
from qmlir.ir.conversion import Legality, convert_partially
from qmlir.ir.decomposition import Keep, marks_on, set_marks
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import origins_of
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.passes.primitive.composites import Decompose
from qmlir.quantization.assignment import is_wanted_whole, raising_fault


def _composed(root: SSAValue, candidates: Iterable[Template], number: int = 0) -> Raised | Refusal:
    """Returns the composite whose result `number` is `root`, or the refusal that came closest to it."""
    refusal = Refusal("no combination of its surrounding types is supported", is_computed=False)
    for template in candidates:
        try:
            found = raise_group(template, root, number)
        finally:
            template.discard()
        if isinstance(found, Raised):
            return found
        if found.is_computed or not refusal.is_computed:
            refusal = found
    return refusal


def _composites() -> dict[str, type[NnOp]]:
    return {each.name: each for each in registry.decompositions() if issubclass(each, NnOp)}


def _replace(found: Raised) -> None:
    found.replace()
    count("composites raised")


def raise_excerpt(root: Operation) -> NnOp | Refusal:
    """Raises the parts of an excerpt to the innermost composite whose mark `root` carries.

    Returns the composite, or the reason if it cannot be raised.
    """
    mark, *outer = marks_on(root)
    value = root.results[0]
    candidates = templates(_composites()[mark.name], mark.properties, value, mark.result, is_excerpt=True)
    found = _composed(value, candidates, mark.result)
    if isinstance(found, Refusal):
        return found
    set_marks(found.composite, outer)
    _replace(found)
    return found.composite


@dataclass
class _Raising:
    """One run of the pass: its options and intermediate results."""

    kinds: tuple[str, ...]
    targets: Sequence[Description]
    borrowed: dict[Operation, None] = field(default_factory=dict[Operation, None])
    """Composites that are raised only because they are parts of other composites."""

    remarks: dict[Operation, str] = field(default_factory=dict[Operation, str])

    def _wants(self, operation: type[NnOp], last: Operation) -> bool:
        """Returns True if composites of this kind are wanted for parts that end with `last`."""
        origins = origins_of(last)
        if self.kinds:
            return Keep(self.kinds).names_one(operation.name, origins)
        return is_wanted_whole(self.targets, operation.name, origins, last)

    def _composed(self, root: SSAValue, candidates: Iterable[Template], number: int = 0) -> Raised | Refusal:
        found = _composed(root, candidates, number)
        if self.kinds or isinstance(found, Refusal):
            return found
        if (fault := raising_fault(self.targets, found.composite, found.parts)) is None:
            return found
        found.discard()
        return Refusal(fault, is_computed=True)

    def raise_marked(self, roots: Iterable[Operation]) -> None:
        """Raises operations that are marked with their former composite; inner composites come before outer ones."""
        operations = _composites()
        for root in roots:
            op: Operation | None = root
            while op is not None and op.parent is not None and (marks := marks_on(op)):
                operation = operations.get(marks[0].name)
                op = None if operation is None else self._raise_one(op, operation)

    def _raise_one(self, root: Operation, operation: type[NnOp]) -> Operation | None:
        """Raises the innermost composite that `root` is the last part of, and returns it; `None` if it is not
        raised."""
        marks = marks_on(root)
        is_wanted = self._wants(operation, root)
        if not is_wanted and len(marks) == 1 and not marks[0].role:  # nor can it be a part of a wanted composite
            return None
        value, mark = root.results[0], marks[0]
        candidates = templates(operation, mark.properties, value, mark.result)
        found = (self._composed if is_wanted else _composed)(value, candidates, mark.result)
        if isinstance(found, Refusal):
            if is_wanted:
                self.remarks[root] = f"is not raised to {operation.name}: {found.reason}"
            return None
        set_marks(found.composite, marks[1:])
        if not is_wanted:
            self.borrowed[found.composite] = None
        _replace(found)
        return found.composite

    def raise_candidates(self, roots: Iterable[Operation]) -> None:
        """Raises operations that carry no mark but together compute a composite."""
        for root in roots:
            if root.parent is None or self._raise_cell(root):
                continue
            is_layer = isinstance(root, AddOp) and self._wants(FullyConnectedOp, root)
            turned = TransposedMatMul.of(root) if is_layer else None
            is_raised = self._raise_candidate(root)
            if turned is not None:
                turned.settle(is_raised=is_raised)
            if is_layer and not is_raised and (fault := layer_fault(root)) is not None:
                self.remarks.setdefault(root, f"looks like {FullyConnectedOp.name}, but is not raised: {fault}")

    def _raise_cell(self, root: Operation) -> bool:
        """Raises the quantized cell of a recurrent layer that ends with `root`, and returns True if there is one."""
        if not isinstance(root, AddOp | MulOp) or any(origin.role for origin in origins_of(root)):
            return False
        kind = GruOp if looks_like_gru(root) else LstmOp
        try:
            if kind is GruOp:
                raise CompositeMismatchError("only nn.lstm cells can be raised")
            cell = LstmCell.of(root)
            if cell is None or not self._wants(kind, root):
                return False
            found = cell.raised()
            if not self.kinds and (fault := raising_fault(self.targets, found.composite, found.parts)) is not None:
                found.discard()
                raise CompositeMismatchError(fault)
        except CompositeMismatchError as error:
            if self._wants(kind, root):
                self.remarks.setdefault(root, f"looks like a cell of {kind.name}, but is not raised: {error}")
            return False
        _replace(found)
        return True

    def _raise_candidate(self, root: Operation) -> bool:
        """Raises the first composite that ends with `root`, and returns True if there is one."""
        for candidate, properties in candidates(root):
            operation, value = candidate.composite, root.results[0]
            if not self._wants(operation, root):
                continue
            found = self._composed(value, templates(operation, properties, value, nearest=candidate.nearest))
            if isinstance(found, Raised):
                set_marks(found.composite, marks_on(root))
                _replace(found)
                return True
            if found.is_computed:
                self.remarks.setdefault(root, f"looks like {operation.name}, but is not raised: {found.reason}")
        return False


def _apply_patterns(module: ModuleOp, targets: Iterable[Description], ctx: Context) -> None:
    """Applies the pattern sets of the targets, which build target-specific blocks."""
    for target in targets:
        for name in target.patterns:
            patterns = registry.patterns(name)
            if not patterns:
                raise op_error(module, f"target '{target.name}' requires patterns '{name}', which no package provides")
            for pattern, number in apply_patterns_greedily(module, patterns, ctx).counts.items():
                count(pattern, number)


@dataclass(frozen=True)
class NnRaise(ModulePass):
    """Replaces the parts of a composite with the composite, for a target that computes it as a whole.

    Parts that came from one composite are identified by the mark that `nn-decompose` puts on the last part. With
    `structural`, unmarked operations that together compute a composite are also raised: a matrix product with constant
    weights followed by a bias, `x * sigmoid(x)`, a softmax written as separate operations, or the quantized cell of an
    LSTM. The weights `[K, N]` of such a matrix product are transposed, and the axis of their scales moves with them.

    `kinds` selects composites by kind, by the name of a node in the model, or by globs of either. Without `kinds`, the
    pass raises a composite if a target wants it raised (`quant-set-target`) and computes it, and every composite if the
    module names no targets. Then the pattern sets of the targets raise target-specific blocks. If a target computes the
    parts, they are not raised unless that target, or one that precedes it, wants the composite.

    The types of quantized parts are kept in the property `components` of the composite, which then computes exactly
    those parts. Types that follow from others, such as that of the accumulator before a bias, are omitted. Parts are
    not raised if the composite cannot represent all of their parameters, or if an intermediate value has users outside
    the group; a remark gives the reason.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
      %0 = nn.matmul %x, %w {transpose_b = true}
          : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc", role = "matmul"}
      %1 = nn.add %0, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
          {origin = "fc", role = "bias_add", composite = {op = "nn.fully_connected"}}
      func.return %1 : tensor<1x2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
      %0 = nn.fully_connected %x, %w, %b
          : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc"}
      func.return %0 : tensor<1x2xf32>
    }
    ```
    """

    name = "nn-raise"
    preserves: ClassVar[Preservation] = ROUNDED

    kinds: tuple[str, ...] = ()
    structural: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raising = _Raising(self.kinds, targets := targets_of(op))
        raising.raise_marked(list(op.walk()))
        borrowed = tuple(raising.borrowed)
        if borrowed:
            composites = Legality(illegal_operations=(NnOp,), is_kept=lambda each: each not in borrowed)
            convert_partially(op, [Decompose()], composites, ctx)
        if self.structural:
            raising.raise_candidates(list(op.walk())[::-1])
        if not self.kinds:
            _apply_patterns(op, targets, ctx)
        for root, remark in raising.remarks.items():
            if root.parent is not None:
                emit_remark(root, remark)
