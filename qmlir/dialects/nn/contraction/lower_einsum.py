"""Lowering of Einstein sums: labels of a single operand are summed first, then operands are contracted in pairs.

Every axis has a label, including those of `...`, whose sizes broadcast.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IntegerType, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, unchanged
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn.base import computing_type
from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.contraction.lower_products import Factor, MatrixProduct, finish_plain
from qmlir.dialects.nn.lowering import axes_map, exact_integers, identity, whole
from qmlir.ir.builtin_types import element_of, shape_of

Labels = tuple[str, ...]

LARGEST = (1 << 63) - 1
"""The limit on sums of quantized values."""


@dataclass(frozen=True)
class _Term:
    """A tensor with a distinct label for each of its axes, none of which is broadcast."""

    value: SSAValue
    labels: Labels


@dataclass(frozen=True)
class _Sums:
    """The insertion point, the sizes of the labels, and the signedness of integers."""

    at: Lowering
    sizes: dict[str, int]
    computing: Attribute
    """The element type of intermediate tensors."""
    unsigned: bool

    def _mapped(self, term: _Term, over: Labels) -> AffineMap:
        """Returns the map from iterators over the labels `over` to the axes of a term."""
        positions = [
            AffineExpr.dimension(over.index(label)) if size == self.sizes[label] else AffineExpr.constant(0)
            for label, size in zip(term.labels, shape_of(term.value), strict=True)
        ]
        return AffineMap(len(over), 0, tuple(positions))

    def full(self, term: _Term) -> Labels:
        """Returns the labels of a term along which it is not broadcast; the others need no iterator."""
        sizes = zip(term.labels, shape_of(term.value), strict=True)
        return tuple(label for label, size in sizes if size == self.sizes[label])

    def combined(self, terms: Sequence[_Term], kept: Labels, element: Attribute) -> SSAValue:
        """Returns the product of `terms`, summed over all labels except `kept`."""
        given = dict.fromkeys(label for term in terms for label in self.full(term))
        over = (*kept, *(label for label in given if label not in kept))
        inputs = [Input(term.value, self._mapped(term, over), self.unsigned) for term in terms]
        shape = [self.sizes[label] for label in kept]

        def multiplied(scalars: Sequence[Scalar], wide: Attribute) -> Scalar:
            product, *rest = (scalar.to(wide, self.unsigned) for scalar in scalars)
            for each in rest:
                product = product * each
            return product

        computing = self.computing
        if len(over) == len(kept):
            return self.at.compute(
                inputs, shape, element, lambda *scalars: multiplied(scalars, computing).to(element, self.unsigned)
            )
        wide = f64 if isinstance(computing, AnyFloat) else i64
        output = self.at.fill(shape, wide, 0), axes_map(len(over), range(len(kept)))

        def add(*scalars: Scalar) -> Scalar:
            *own, so_far = scalars
            return so_far + multiplied(own, wide)

        total = self.at.generic(inputs, [output], add)[0]
        if wide == element:
            return total

        def narrowed(sum_: Scalar) -> Scalar:
            return sum_.to(element, self.unsigned)

        return self.at.compute([Input(total, AffineMap.identity(len(shape)))], shape, element, narrowed)


def _alone(sums: _Sums, term: _Term, needed: Callable[[str], bool]) -> _Term:
    """Reduces a term to the labels that other terms need, without diagonals and broadcast sizes."""
    kept = tuple(dict.fromkeys(filter(needed, sums.full(term))))
    if kept == term.labels:
        return term
    return _Term(sums.combined([term], kept, sums.computing), kept)


def _as_one_type(sums: _Sums, terms: Sequence[_Term]) -> list[_Term]:
    """Returns two terms with equal element types, converted to the computing type if they differ."""
    if len({element_of(term.value) for term in terms}) == 1:
        return list(terms)
    return [
        term
        if element_of(term.value) == sums.computing
        else _Term(sums.combined([term], term.labels, sums.computing), term.labels)
        for term in terms
    ]


def _pair(sums: _Sums, terms: Sequence[_Term], kept: Labels) -> _Term:
    """Multiplies two terms and sums over labels that are not `kept`; by a matrix product if there are any."""
    left, right = _as_one_type(sums, terms)
    shared = [label for label in left.labels if label in right.labels]
    summed = [label for label in shared if label not in kept]
    batch = [label for label in shared if label in kept]
    rows = [label for label in left.labels if label not in shared]
    columns = [label for label in right.labels if label not in shared]
    labels = (*batch, *rows, *columns)
    if not summed:
        ordered = tuple(label for label in kept if label in labels)
        return _Term(sums.combined([left, right], ordered, sums.computing), ordered)
    product = MatrixProduct(*(
        Factor(_matrix(sums, each, (batch, own, summed)), None, sums.unsigned, np.zeros(1, np.int64))
        for each, own in ((left, rows), (right, columns))
    ))  # fmt: skip
    value = finish_plain(sums.at, product, sums.computing)
    return _Term(sums.at.reshape(value, [sums.sizes[label] for label in labels]), labels)


def _matrix(sums: _Sums, term: _Term, parts: tuple[Sequence[str], Sequence[str], Sequence[str]]) -> SSAValue:
    """Returns a term as `[batch, rows, terms]`."""
    order = [term.labels.index(label) for part in parts for label in part]
    shape = [prod(sums.sizes[label] for label in part) for part in parts]
    return sums.at.reshape(sums.at.transpose(term.value, order), shape)


def _rescaled(op: ops.EinsumOp, at: Lowering) -> Sequence[SSAValue]:
    """Lowers a sum of quantized values: the products of `q - z` are summed in 64 bits and requantized."""
    elements = [element for value in op.inputs if (element := quantized.uniform_element(at, value)) is not None]
    wide = IntegerType(16 if max(element.bits for element in elements) < 16 else 64)
    scales = [np.float32(element.scale) for element in elements]
    largest = prod((1 << element.bits) - 1 for element in elements) * prod(op.lettered()[1].values())
    if largest > LARGEST:
        raise at.error(f"cannot be compiled: sums up to {largest} overflow 64 bits; use types with fewer bits")
    total = _summed(op, at, [exact_integers(at, value, wide) for value in op.inputs], i64)
    scale = accumulator_scale(*scales) if len(scales) > 1 else scales[0]
    writing = quantized.requantizing(at, 0, scale, largest, identity(at))
    return (quantized.compute(at, [whole(at, total)], writing, unchanged),)


def _einsum(op: ops.EinsumOp, at: Lowering) -> Sequence[SSAValue]:
    if quantized.uniform_element(at, op.inputs[0]) is not None:
        return _rescaled(op, at)
    return (_summed(op, at, [at.value(value) for value in op.inputs], at.result_element()),)


def _summed(op: ops.EinsumOp, at: Lowering, values: Sequence[SSAValue], element: Attribute) -> SSAValue:
    """Lowers the sum of plain values, in elements of one type."""
    equation, sizes = op.lettered()
    operands, result = [tuple(term) for term in equation.operands], tuple(equation.result)
    is_unsigned = quantized.uniform_element(at, op.inputs[0]) is None and at.signedness(op.inputs[0])
    sums = _Sums(at, sizes, computing_type(element), is_unsigned)
    terms = [_Term(value, labels) for value, labels in zip(values, operands, strict=True)]

    def needed_behind(position: int, label: str) -> bool:
        return label in result or any(label in labels for labels in operands[position + 1 :])

    found = _alone(sums, terms[0], lambda label: needed_behind(0, label))
    for position, term in enumerate(terms[1:], 1):
        needed = {label for label in sizes if needed_behind(position, label)}
        own = _alone(sums, term, (needed | set(found.labels)).__contains__)
        both = dict.fromkeys((*result, *found.labels, *own.labels))
        found = _pair(sums, [found, own], tuple(label for label in both if label in needed))
    return sums.combined([found], result, element)


LOWERINGS: dict[type[Operation], Lower] = {ops.EinsumOp: _einsum}
