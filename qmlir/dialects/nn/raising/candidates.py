"""Idiom recognition: the composites whose last part may be a given operation without provenance.

Finding a candidate is cheap, and the candidate may be wrong; unification with the group proves it. A candidate suggests
the properties of the composite, which it reads from constants if these determine them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.activations.ops import (
    GeluOp,
    HardSigmoidOp,
    HardSwishOp,
    MishOp,
    SigmoidOp,
    SoftplusOp,
    SwishOp,
    TanhOp,
)
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ConvOp, ConvTransposeOp, FullyConnectedOp, MatMulOp, WindowedContractionOp
from qmlir.dialects.nn.elementwise.ops import AddOp, ClipOp, DivOp, ErfOp, ExpOp, LogOp, MulOp, SqrtOp, SubOp
from qmlir.dialects.nn.movement.ops import TransposeOp
from qmlir.dialects.nn.normalization.ops import LayerNormOp, LogSoftmaxOp, RmsNormOp, SoftmaxOp
from qmlir.dialects.nn.raising.spellings import above, defining_op
from qmlir.dialects.nn.raising.unification import constant_of
from qmlir.dialects.nn.reduction.ops import ReduceMeanOp, ReduceSumOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import COMPONENTS

DEPTH = 12
"""The number of producers of the last part that are searched; no recognized composite has more parts."""

Suggestion = dict[str, Attribute]


Suggest = Callable[[Operation], Iterator[Suggestion]]


def _scalars(ops: list[Operation]) -> Iterator[float]:
    """Yields the values of scalar float constants."""
    for op in ops:
        if not isinstance(op, ConstantOp) or shape_of(op.result) or constant_of(op.result) is None:
            continue
        if kind_of(op.result.type.get_element_type()) is Kind.FLOAT:
            yield float(op.array)


def _number(value: float) -> FloatAttr:
    return FloatAttr(float(np.float32(value)), f32)


def _near(kind: type[Operation], most: int, properties: Suggestion | None = None) -> Suggest:
    """Suggests `properties`, by default none, if an operation of this kind is among `most` that compute the root."""

    def suggest(root: Operation) -> Iterator[Suggestion]:
        if any(isinstance(op, kind) for op in above(root, most)):
            yield properties or {}

    return suggest


def _is_of_layer(product: MatMulOp) -> bool:
    """Whether a product multiplies rows by one matrix."""
    return len(shape_of(product.lhs)) >= 2 and len(shape_of(product.rhs)) == 2


def _fully_connected(root: Operation) -> Iterator[Suggestion]:
    for product in map(defining_op, root.operands):
        if isinstance(product, MatMulOp) and product.is_rhs_transposed and _is_of_layer(product):
            yield {}


def layer_fault(root: Operation) -> str | None:
    """Returns why a product and the bias that `root` adds are not a fully connected layer; `None` if they are."""
    for value, bias in (root.operands, root.operands[::-1]):
        product = defining_op(value)
        if not isinstance(product, MatMulOp) or not _is_of_layer(product):
            continue
        columns = shape_of(value)[-1:]
        *outer, last = shape_of(bias) or (1,)
        if (last,) != columns or any(size != 1 for size in outer):
            continue
        if not product.result.has_one_use():
            return "its matmul has other users"
        if not product.is_rhs_transposed and constant_of(product.rhs) is None:
            return f"its weights must be constant to be transposed to [N, K], but got '{product.rhs.type}'"
        return f"its bias must have one axis, but got '{bias.type}'" if outer else None
    return None


@dataclass(frozen=True)
class TransposedMatMul:
    """A matrix product with constant weights `[K, N]`, and its equivalent with the weights of a layer, `[N, K]`."""

    product: MatMulOp
    turned: MatMulOp
    weight: ConstantOp

    @staticmethod
    def of(root: Operation) -> "TransposedMatMul | None":
        """Replaces the product to which `root` adds a bias with its transposed form; `None` if there is none."""
        product = next((op for op in map(defining_op, root.operands) if isinstance(op, MatMulOp)), None)
        if product is None or product.is_rhs_transposed or not product.result.has_one_use():
            return None
        weight = constant_of(product.rhs)
        if weight is None or not _is_of_layer(product):
            return None
        transposed = TransposeOp(product.rhs, (1, 0))
        made = ConstantOp.of(np.ascontiguousarray(weight.array.T), transposed.result.type)
        transposed.erase()
        made.attributes.update(weight.attributes)
        made.result.name_hint = weight.result.name_hint
        turned = product.clone({product.rhs: made.result})
        turned.transpose_b = BoolAttr.from_bool(True)
        found = TransposedMatMul(product, turned, made)
        found._exchange(product, [made, turned])
        return found

    def settle(self, *, is_raised: bool) -> None:
        """Keeps the transposed product if it was raised to a layer; otherwise restores the original product."""
        if is_raised:
            weight = self.product.rhs.owner
            self.product.erase()
            if isinstance(weight, ConstantOp) and weight.result.first_use is None:
                Rewriter.erase_op(weight)
            return
        self._exchange(self.turned, [self.product])
        self.turned.erase()
        Rewriter.erase_op(self.weight)

    @staticmethod
    def _exchange(old: MatMulOp, new: Sequence[Operation]) -> None:
        assert old.parent is not None
        old.parent.insert_ops_before(new, old)
        old.result.replace_all_uses_with(new[-1].results[0])
        old.detach()


def _with_bias(product: type[WindowedContractionOp]) -> Suggest:
    def suggest(root: Operation) -> Iterator[Suggestion]:
        for op in map(defining_op, root.operands):
            if isinstance(op, product):
                yield {name: given for name, given in op.properties.items() if name != COMPONENTS}

    return suggest


def _swish(root: Operation) -> Iterator[Suggestion]:
    for gate in map(defining_op, root.operands):
        if isinstance(gate, SigmoidOp):
            yield {}
            for number in _scalars(above(gate, 2)):
                yield {"alpha": _number(number)}


def _hard_sigmoid(root: Operation) -> Iterator[Suggestion]:
    numbers = list(dict.fromkeys(_scalars(above(root, 6))))
    for alpha in numbers:
        for beta in numbers:
            yield {"alpha": _number(alpha), "beta": _number(beta)}


def _axis(axis: int, rank: int) -> Suggestion:
    """Returns the property for `axis`, which is omitted for the last axis."""
    return {} if axis == rank - 1 else {"axis": IntegerAttr(axis, i64)}


def _sums(position: int, kind: type[Operation]) -> Suggest:
    """Suggests the axes of sums over one axis, if the operand of the root at `position` is the result of `kind`."""

    def suggest(root: Operation) -> Iterator[Suggestion]:
        for op in above(root, 4) if isinstance(defining_op(root.operands[position]), kind) else ():
            if isinstance(op, ReduceSumOp) and len(axes := op.integers("axes") or ()) == 1:
                rank = len(shape_of(op.input))
                yield _axis(axes[0] % rank, rank)

    return suggest


def _normalization(root: Operation) -> Iterator[Suggestion]:
    nearby = above(root, DEPTH + 1)
    if not any(isinstance(op, SqrtOp) for op in nearby) or not any(isinstance(op, DivOp) for op in nearby):
        return
    for op in nearby:
        if isinstance(op, ReduceMeanOp) and (axes := op.integers("axes")):
            rank = len(shape_of(op.input))
            for number in dict.fromkeys(_scalars(nearby)):
                epsilon = _number(number)
                default = LayerNormOp.get_irdl_definition().properties["epsilon"].default_value
                yield {
                    **_axis(min(axis % rank for axis in axes), rank),
                    **({} if epsilon == default else {"epsilon": epsilon}),
                }
            return


@dataclass(frozen=True)
class RaisingCandidate:
    """A rule: the classes that the last part may have, the composite, and the properties that it suggests."""

    last: tuple[type[Operation], ...]
    composite: type[NnOp]
    suggest: Suggest
    nearest: int
    """The distance from the last part within which all operands are read; it limits the search for their types."""


CANDIDATES = (
    RaisingCandidate((AddOp,), FullyConnectedOp, _fully_connected, 3),
    *(RaisingCandidate((AddOp,), product, _with_bias(product), 4) for product in (ConvOp, ConvTransposeOp)),
    RaisingCandidate((AddOp, MulOp), LayerNormOp, _normalization, DEPTH),
    RaisingCandidate((MulOp, DivOp), RmsNormOp, _normalization, DEPTH),
    RaisingCandidate((MulOp,), SwishOp, _swish, 1),
    RaisingCandidate((MulOp,), MishOp, _near(SoftplusOp, 4), 1),
    RaisingCandidate((MulOp,), HardSwishOp, _near(ClipOp, 3), 1),
    RaisingCandidate((MulOp,), GeluOp, _near(ErfOp, DEPTH + 1), 1),
    RaisingCandidate((MulOp,), GeluOp, _near(TanhOp, DEPTH + 1, {"tanh_approximation": BoolAttr.from_bool(True)}), 1),
    RaisingCandidate((ClipOp,), HardSigmoidOp, _hard_sigmoid, 1),
    RaisingCandidate((DivOp,), SoftmaxOp, _sums(0, ExpOp), 1),
    RaisingCandidate((SubOp,), LogSoftmaxOp, _sums(1, LogOp), 1),
)
"""The rules. Larger composites come first, because a hard sigmoid may be the gate of a hard swish."""


def candidates(root: Operation) -> Iterator[tuple[RaisingCandidate, Suggestion]]:
    """Yields the composites whose last part may be `root`, with their suggested properties."""
    for candidate in CANDIDATES:
        if isinstance(root, candidate.last):
            for suggestion in candidate.suggest(root):
                yield candidate, suggestion
