"""Lowering of tree ensembles to loops, in which all rows descend one level in all trees, up to the maximum depth.

A leaf leads to itself, so trees of any depth take the same steps without branches, and the steps of a level are
independent of each other. The weights of the leaves are added afterwards, one tree at a time, in the same order as in
the evaluator.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IndexType, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, nest, unchanged
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar, extracted, inserted
from qmlir.dialects.nn.lowering import axes_map
from qmlir.dialects.nn.trees import ops
from qmlir.dialects.nn.trees.evaluate import BEGINNINGS, checked_trees
from qmlir.ir.builtin_types import element_of, shape_of


def _known(at: Lowering, name: str, value: SSAValue) -> Array:
    array = at.known(value)
    if array is None:
        raise at.error(f"cannot be compiled: '{name}' must be constant")
    return array


def _tree_ensemble(op: ops.TreeEnsembleOp, at: Lowering) -> Sequence[SSAValue]:
    value, (rows, count) = at.value(op.input), at.result_shape()
    element = element_of(value)
    roots, features, thresholds, children, weights = (
        _known(at, name, getattr(op, name)) for name in ("roots", "features", "thresholds", "children", "weights")
    )
    targets = None if op.targets is None else _known(at, "targets", op.targets)
    try:
        depth = checked_trees(shape_of(value)[1], count, roots, features, children, weights, targets)
    except InterpretationError as error:
        raise at.error(str(error)) from error
    nodes, leaves, trees = len(features), len(weights), len(roots)
    themselves = np.arange(nodes, nodes + leaves)
    feature_table = at.constant(np.pad(features, (0, leaves)).astype(np.int32), i32)
    threshold_table = at.constant(np.pad(thresholds, (0, leaves)), element)
    child_table = at.constant(np.concatenate([children, np.stack([themselves, themselves], 1)]).astype(np.int32), i32)
    missing_table = None
    if op.missing is not None:
        missing = _known(at, "missing", op.missing) != 0
        missing_table = at.constant(np.pad(missing, (0, leaves)).astype(np.int8), i8)
    begin = Input(at.constant(roots.astype(np.int32), i32), axes_map(2, [1]))
    first = at.compute([begin], [rows, trees], i32, unchanged)

    def step_down(builder: ArithBuilder, point: Sequence[Scalar], so_far: SSAValue) -> SSAValue:
        _, row, tree = point
        node = extracted(builder, so_far, [row, tree]).to(IndexType())
        column = extracted(builder, feature_table, [node]).to(IndexType())
        found = extracted(builder, value, [row, column])
        is_first = found.compare("le", extracted(builder, threshold_table, [node]))
        if missing_table is not None:
            is_kept = extracted(builder, missing_table, [node]).compare("ne", 0)
            is_first = is_first | (found.compare("ne", found) & is_kept)
        zero = row * 0
        position = is_first.select(zero, zero + 1)
        return inserted(builder, extracted(builder, child_table, [node, position]), so_far, [row, tree])

    reached = nest(at.builder, [depth, rows, trees], first, step_down) if depth else first
    weight_table = at.constant(weights, element)
    target_table = None if targets is None else at.constant(targets.astype(np.int32), i32)
    aggregate = op.aggregate.data

    def add(builder: ArithBuilder, point: Sequence[Scalar], so_far: SSAValue) -> SSAValue:
        row, tree, position = point
        leaf = extracted(builder, reached, [row, tree]).to(IndexType()) - nodes
        weight = extracted(builder, weight_table, [leaf, position])
        target = (
            position if target_table is None else extracted(builder, target_table, [leaf, position]).to(IndexType())
        )
        score = extracted(builder, so_far, [row, target])
        if aggregate == "sum":
            joined = score + weight
        else:
            joined = weight.compare("lt" if aggregate == "min" else "gt", score).select(weight, score)
        return inserted(builder, joined, so_far, [row, target])

    begins = at.fill([rows, count], element, BEGINNINGS[aggregate])
    return (nest(at.builder, [rows, trees, weights.shape[1]], begins, add),)


LOWERINGS: dict[type[Operation], Lower] = {ops.TreeEnsembleOp: _tree_ensemble}
