"""Evaluation of ensembles of decision trees."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.trees import ops
from qmlir.ir.evaluation import Evaluator

BEGINNINGS: dict[str, float] = {"sum": 0.0, "min": np.inf, "max": -np.inf}
"""For each kind of aggregation, the initial score before the first tree."""


_JOINED: dict[str, Callable[[Array, Array], Array]] = {
    "sum": np.add,
    "min": lambda score, weight: np.where(weight < score, weight, score),
    "max": lambda score, weight: np.where(weight > score, weight, score),
}


def checked_trees(
    columns: int, count: int, roots: Array, features: Array, children: Array, weights: Array, targets: Array | None
) -> int:
    """Verifies the tables of an ensemble and returns the maximum depth. Raises `InterpretationError` if they are
    invalid.

    All indices must be in bounds, and the nodes must not form cycles.
    """
    nodes, leaves = len(features), len(weights)
    named = [
        ("roots", roots, nodes + leaves), ("features", features, columns), ("children", children, nodes + leaves),
        ("targets", np.empty(0, np.int32) if targets is None else targets, count),
    ]  # fmt: skip
    for name, numbers, end in named:
        if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < end:
            found = f"{int(numbers.min())} to {int(numbers.max())}"
            raise InterpretationError(f"'{name}' must be in [0, {end - 1}], but ranges from {found}")
    depth, level = 0, np.unique(roots[roots < nodes])
    while level.size:
        depth += 1
        if depth > nodes:
            raise InterpretationError("the nodes form a cycle: every path must end in a leaf")
        level = np.unique(children[level])
        level = level[level < nodes]
    return depth


def reached_leaves(
    rows: Array, depth: int, roots: Array, features: Array, thresholds: Array, children: Array, missing: Array | None
) -> npt.NDArray[np.int64]:
    """Returns the leaf that each row reaches in each tree, as an index counted from the first leaf."""
    nodes = len(features)
    at = np.broadcast_to(roots.astype(np.int64), (len(rows), len(roots))).copy()
    for _ in range(depth):
        row, tree = np.nonzero(at < nodes)
        node = at[row, tree]
        value = rows[row, features[node]]
        is_first = value <= thresholds[node]
        if missing is not None:
            is_first |= np.isnan(value) & (missing[node] != 0)
        at[row, tree] = children[node, np.where(is_first, 0, 1)]
    return at - nodes


def _tree_ensemble(
    op: ops.TreeEnsembleOp, x: Array, roots: Array, features: Array, thresholds: Array, children: Array,
    weights: Array, targets: Array | None, missing: Array | None,
) -> tuple[Array]:  # fmt: skip
    count, aggregate = op.count.value.data, op.aggregate.data
    depth = checked_trees(x.shape[1], count, roots, features, children, weights, targets)
    leaves = reached_leaves(x, depth, roots, features, thresholds, children, missing)
    scores: Array = np.full((len(x), count), BEGINNINGS[aggregate], x.dtype)
    rows = np.arange(len(x))
    joined = _JOINED[aggregate]
    for tree in range(len(roots)):
        given = weights[leaves[:, tree]]
        if targets is None:
            scores = joined(scores, given)
            continue
        named = targets[leaves[:, tree]]
        for position in range(given.shape[1]):  # a leaf may have several weights of one score
            scores[rows, named[:, position]] += given[:, position]
    return (scores,)


EVALUATORS: dict[type[Operation], Evaluator] = {ops.TreeEnsembleOp: _tree_ensemble}
