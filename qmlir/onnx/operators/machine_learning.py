"""Import and export of ai.onnx.ml operators: linear models, data preprocessing, and decision tree ensembles.

Linear models accept any numeric type and compute in f32. Nodes with strings or unsupported attributes fall back to
islands.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.trees import ops as trees
from qmlir.dialects.nn.trees.evaluate import checked_trees
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control_flow import reached
from qmlir.onnx.export.emission import Exporter, NodeEmitter
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.movement import flattened

SMALLEST_NORM = 1e-30
"""The smallest norm that rows are divided by, as in `onnx.reference`, so that a row of zeros remains zero."""


def _table(node: Node) -> tuple[SSAValue, int]:
    """Returns the input, with a row for each sample, and its number of columns."""
    value, shape = node.input(), node.shape()
    if len(shape) != 2 or shape[1] == DYNAMIC_INDEX:
        raise node.unsupported(f"requires rows of static size, but got {value.type}")
    return value, shape[1]


def _element(node: Node) -> Attribute:
    """Returns the element type to compute in: f64 for f64 data, otherwise f32."""
    return f64 if element_of(node.input()) == f64 else f32


def _numbers(node: Node, name: str, dtype: type[np.generic]) -> Array:
    """The numbers of an attribute; none where it is left out."""
    return np.asarray(node.attribute(name) or (), dtype)


def _row(node: Node, name: str, columns: int, dtype: type[np.generic]) -> Array:
    """The numbers of an attribute, one or one for each column."""
    numbers = _numbers(node, name, dtype)
    if numbers.size not in (1, columns):
        raise node.error(f"{name} must have 1 or {columns} elements, but got {numbers.tolist()}")
    return numbers


def _array_feature_extractor(node: Node) -> SSAValue:
    """The elements at some places of the last axis; those of a list are a matrix of one row."""
    data, positions = node.quantized(), flattened(node, node.input(1))
    if not node.shape():
        raise node.error(f"requires a tensor of rank >= 1, but got {data.type}")
    found = node.add(indexing.GatherOp, data, positions, axis=-1).result
    return found if len(node.shape()) > 1 else node.reshaped(found, [1, *shape_of(found)])


def _scaler(node: Node) -> SSAValue:
    """`(x - offset) * scale`, in f64 where the data is."""
    value, columns = _table(node)
    element = _element(node)
    value = node.cast(value, element)
    dtype = node.graph.dtype_of(element)
    offset, scale = (
        node.add_constant(_row(node, name, columns, np.float32).astype(dtype), element) for name in ("offset", "scale")
    )
    moved = node.add(elementwise.SubOp, value, offset).result
    return node.cast(node.add(elementwise.MulOp, moved, scale).result, f32)


def _normalizer(node: Node) -> SSAValue:
    """Each row over its norm."""
    kind = node.attribute("norm")
    norms = {"L1": reduction.ReduceL1Op, "L2": reduction.ReduceL2Op}
    if kind not in norms:  # ONNX takes the largest magnitude as MAX, ONNX Runtime the largest element
        raise node.unsupported(f"norm must be one of {', '.join(norms)}, but got {kind}")
    value = node.cast(_table(node)[0], f32)
    norm = node.add(norms[kind], value, axes=[1], keep_dims=True).result
    norm = node.add(elementwise.MaxOp, norm, node.scalar(SMALLEST_NORM, norm)).result
    return node.add(elementwise.DivOp, value, norm).result


def _binarizer(node: Node) -> SSAValue:
    """1 above the threshold, otherwise 0."""
    value = node.input()
    data = node.cast(value, _element(node))
    above = node.add(elementwise.GreaterOp, data, node.scalar(node.attribute("threshold"), data)).result
    return node.cast(above, element_of(value))


def _imputer(node: Node) -> SSAValue:
    """Numbers of each column in the place of those that are missing: NaN, or a number that stands for it."""
    value, columns = _table(node)
    if element_of(value) not in (f32, i64):
        raise node.unsupported(f"requires f32 or i64, but got {value.type}")
    kind = "float" if element_of(value) == f32 else "int64"
    name = f"imputed_value_{kind}s"
    row = node.add_constant(_row(node, name, columns, np.float32 if kind == "float" else np.int64), element_of(value))
    missing = node.attribute(f"replaced_value_{kind}")
    if math.isnan(missing):
        where = node.add(elementwise.IsNaNOp, value).result
    else:
        where = node.add(elementwise.EqualOp, value, node.scalar(missing, value)).result
    return node.add(elementwise.WhereOp, where, row, value).result


def _linear(node: Node, outputs: int) -> SSAValue:
    """`[samples, outputs]`: the fully connected layer of a linear model."""
    value, columns = _table(node)
    coefficients, intercepts = (_numbers(node, name, np.float32) for name in ("coefficients", "intercepts"))
    if coefficients.size != outputs * columns:
        raise node.error(f"expected {columns} x {outputs} coefficients, but got {coefficients.size}")
    if intercepts.size not in (0, outputs):
        raise node.error(f"expected {outputs} intercepts, but got {intercepts.size}")
    weight = node.add_constant(coefficients.reshape(outputs, columns), f32)
    bias = node.add_constant(intercepts, f32) if intercepts.size else None
    return node.add(contraction.FullyConnectedOp, node.cast(value, f32), weight, bias).result


def _transformed(node: Node, scores: SSAValue, kind: str) -> SSAValue:
    """Applies the post-transformation `kind` of ai.onnx.ml to scores."""
    match kind:
        case "NONE":
            return scores
        case "SOFTMAX":
            return node.add(normalization.SoftmaxOp, scores, axis=1).result
        case "LOGISTIC":
            return node.add(activations.SigmoidOp, scores).result
        case _:
            raise node.unsupported(f"post_transform must be NONE, SOFTMAX or LOGISTIC, but got {kind}")


def _linear_regressor(node: Node) -> SSAValue:
    return _transformed(node, _linear(node, node.attribute("targets")), node.attribute("post_transform"))


def _linear_classifier(node: Node) -> list[SSAValue]:
    """The label of the largest score, and all scores."""
    labels = _numbers(node, "classlabels_ints", np.int64)
    if node.attribute("classlabels_strings") or labels.size < 2 or _numbers(node, "intercepts", np.float32).size == 1:
        raise node.unsupported("string labels and a single logit for two classes are not supported")
    scores = _linear(node, labels.size)
    return [_best_label(node, labels, scores), _transformed(node, scores, node.attribute("post_transform"))]


def _label(node: Node, labels: Array, position: SSAValue) -> SSAValue:
    return node.add(indexing.GatherOp, node.add_constant(labels, i64), position, axis=0).result


def _best_label(node: Node, labels: Array, scores: SSAValue) -> SSAValue:
    """Returns the label of the largest score of each sample."""
    return _label(node, labels, node.add(reduction.ArgMaxOp, scores, axis=1, keep_dims=False).result)


# Ensembles of decision trees: one `nn.tree_ensemble`, operations on its scores, and labels
#
# The operation has one comparison, `x <= threshold`, which can express all others: a strict comparison uses the next
# smaller threshold, a reversed comparison swaps its children, and a set becomes one test for each member. Scores match
# ONNX Runtime: they are summed in f32 (f64 for f64 data), tree by tree in the order of the model, and base values are
# added after all trees. Cases that ONNX doesn't define, or in which ONNX Runtime violates the standard, fall back to
# islands.

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
"""The comparison modes, indexed by their numbers in TreeEnsemble."""

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

_DOMAIN = "ai.onnx.ml"


@dataclass(frozen=True)
class _Branch:
    """An inner node of a tree: the nodes for rows that pass its comparison and for the others. A leaf is `~number`."""

    feature: int
    mode: str
    values: Sequence[Any]
    """The right-hand side of the comparison: one number, or the members of a set."""

    takes_missing: bool
    first: int
    second: int


_Row = tuple[int, Any, bool, int, int]
"""A node of the operation: feature, threshold, whether missing values pass, and the two child nodes."""


def _rows(branches: Sequence[_Branch], dtype: np.dtype[Any]) -> list[_Row]:
    """Returns the nodes of the operation for branches, which keep their numbers; additional nodes follow them."""
    rows: list[_Row] = [(0, 0, False, 0, 0)] * len(branches)

    def added() -> int:
        rows.append((0, 0, False, 0, 0))
        return len(rows) - 1

    for number, branch in enumerate(branches):
        feature, missing, first, second = branch.feature, branch.takes_missing, branch.first, branch.second
        value = dtype.type(branch.values[0])
        below = _before(value)
        match branch.mode:
            case "BRANCH_GT" | "BRANCH_GTE" if np.isnan(value):  # no number passes
                rows[number] = feature, value, missing, first, second
            case "BRANCH_LEQ":
                rows[number] = feature, value, missing, first, second
            case "BRANCH_LT":
                rows[number] = feature, below, missing, first, second
            case "BRANCH_GT":
                rows[number] = feature, value, not missing, second, first
            case "BRANCH_GTE":
                rows[number] = feature, below, not missing, second, first
            case "BRANCH_NEQ":  # NaN is not equal to any number
                other = added()
                rows[number] = feature, value, False, other, first
                rows[other] = feature, below, False, first, second
            case _:  # equal to a member: a chain of tests
                for position, member in enumerate(map(dtype.type, branch.values)):
                    following = second if position == len(branch.values) - 1 else added()
                    other = added()
                    rows[number] = feature, member, missing, other, following
                    rows[other] = feature, _before(member), False, following, first
                    number = following
    return rows


def _before(value: Any) -> Any:
    """Returns the next smaller float, so that `x < value` is `x <= _before(value)`; NaN for `-inf`."""
    smallest = value == -np.inf
    return value.dtype.type(np.nan) if smallest else np.nextafter(value, value.dtype.type(-np.inf))


def _from(reference: int, nodes: int) -> int:
    return reference if reference >= 0 else nodes + ~reference


@dataclass(frozen=True)
class _Model:
    """The trees of a model node: branches, roots, and the scores with their weights in each leaf."""

    branches: Sequence[_Branch]
    roots: Sequence[int]
    leaves: Sequence[Sequence[tuple[int, Any]]]

    @property
    def scores(self) -> set[int]:
        """Returns the indices of the scores for which any leaf has a weight."""
        return {score for leaf in self.leaves for score, _ in leaf}

    def always(self, count: int) -> bool:
        """Returns True if every input row gets a weight for each of the `count` scores."""

        def below(reference: int) -> tuple[int, ...]:
            return () if reference < 0 else (self.branches[reference].first, self.branches[reference].second)

        given = set[int]()
        for root in self.roots:
            leaves = [self.leaves[~each] for each in reached([root], below) if each < 0]
            given |= set(range(count)).intersection(*({score for score, _ in leaf} for leaf in leaves))
        return len(given) == count


def _check_lengths(node: Node, what: str, lists: Mapping[str, Sized]) -> None:
    lengths = {name: len(each) for name, each in lists.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise node.error(f"attributes of the {what} must be non-empty and of equal length, but got {lengths}")


def _classic(node: Node, kind: str) -> _Model:
    """The trees of TreeEnsembleClassifier and TreeEnsembleRegressor, whose nodes are named by tree and number."""
    lists = {
        name: list(node.attribute(f"nodes_{name}", None) or ())
        for name in ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
    }
    values = _floats(node, "nodes_values")
    _check_lengths(node, "tree nodes", {**lists, "values": values})
    missing = list(node.attribute("nodes_missing_value_tracks_true", None) or ())
    names = list(zip(lists["treeids"], lists["nodeids"], strict=True))
    numbers: dict[tuple[int, int], int] = {}
    branches = leaves = 0
    for name, mode in zip(names, lists["modes"], strict=True):
        if name in numbers:
            raise node.error(f"duplicate node {name[1]} of tree {name[0]}")
        numbers[name] = ~leaves if mode == "LEAF" else branches
        branches, leaves = (branches, leaves + 1) if mode == "LEAF" else (branches + 1, leaves)

    def child(tree: int, number: int) -> int:
        if (tree, number) not in numbers:
            raise node.error(f"refers to node {number} of tree {tree}, which does not exist")
        return numbers[tree, number]

    made = [
        _Branch(
            lists["featureids"][position], mode, [values[position]], position < len(missing) and missing[position] == 1,
            child(name[0], lists["truenodeids"][position]), child(name[0], lists["falsenodeids"][position]),
        )
        for position, (name, mode) in enumerate(zip(names, lists["modes"], strict=True))
        if mode != "LEAF"
    ]  # fmt: skip
    roots = [numbers[name] for position, name in enumerate(names) if not position or names[position - 1][0] != name[0]]
    given: list[list[tuple[int, Any]]] = [[] for _ in range(leaves)]
    entries = {name: node.attribute(f"{kind}_{name}", None) or () for name in ("treeids", "nodeids", "ids")}
    entries["weights"] = _floats(node, f"{kind}_weights")
    _check_lengths(node, "leaves", entries)
    for tree, number, score, weight in zip(*entries.values(), strict=True):
        if (reference := child(tree, number)) < 0:
            given[~reference].append((score, weight))
    return _Model(made, roots, given)


def _floats(node: Node, name: str) -> Array:
    """Numbers that are a list of floats, or a tensor of the type of the data."""
    as_tensor = node.attribute(f"{name}_as_tensor", None)
    return _numbers(node, name, np.float32) if as_tensor is None else as_tensor.reshape(-1)


def _modern(node: Node) -> _Model:
    """The trees of TreeEnsemble, whose nodes and leaves are numbered."""

    def flat(name: str) -> Array:
        given: Array | None = node.attribute(name, None)
        return np.zeros(0) if given is None else given.reshape(-1)

    def references(way: str) -> list[int]:
        numbers, is_leaf = (np.array(node.attribute(f"nodes_{way}{kind}"), np.int64) for kind in ("nodeids", "leafs"))
        return np.where(is_leaf, ~numbers, numbers).tolist()

    members = flat("membership_values")  # sets, separated by NaN
    sets = iter(np.split(members, np.flatnonzero(np.isnan(members))))
    features, modes = node.attribute("nodes_featureids"), [_MODES[int(mode)] for mode in flat("nodes_modes")]
    missing: Sequence[int] = node.attribute("nodes_missing_value_tracks_true", None) or [0] * len(modes)
    branches: list[_Branch] = []
    fields = {
        "featureids": features, "modes": modes, "splits": flat("nodes_splits"), "missing_value_tracks_true": missing,
        "true": references("true"), "false": references("false"),
    }  # fmt: skip
    _check_lengths(node, "tree nodes", fields)
    for feature, mode, split, tracks_missing, first, second in zip(*fields.values(), strict=True):
        values = [each for each in next(sets, ()) if not np.isnan(each)] if mode == "BRANCH_MEMBER" else [split]
        if not values:
            raise node.unsupported("has a tree node without members")
        branches.append(_Branch(feature, mode, values, tracks_missing == 1, first, second))
    entries = {"targetids": node.attribute("leaf_targetids"), "weights": flat("leaf_weights")}
    _check_lengths(node, "leaves", entries)
    leaves = [[(score, weight)] for score, weight in zip(*entries.values(), strict=True)]
    return _Model(branches, list(node.attribute("tree_roots")), leaves)


def _scores(node: Node, model: _Model, count: int, aggregate: str) -> SSAValue:
    """Returns the summed scores of all trees, `[samples, count]`, in f64 for f64 data."""
    value, columns = _table(node)
    element = _element(node)
    dtype = np.dtype(node.graph.dtype_of(element))
    for branch in model.branches:
        if branch.mode not in _MODES or not 0 <= branch.feature < columns:
            raise node.error(f"cannot compare column {branch.feature} of {columns} with mode {branch.mode}")
    if any(not 0 <= score < count for score in model.scores):
        raise node.error(f"weights refer to score {max(model.scores)}, but there are only {count} scores")
    if any(len({score for score, _ in leaf}) < len(leaf) for leaf in model.leaves):
        raise node.unsupported("a leaf has several weights for one score, which ONNX Runtime may ignore")
    rows = _rows(model.branches, dtype)
    roots = [_from(root, len(rows)) for root in model.roots]
    children = [(_from(first, len(rows)), _from(second, len(rows))) for *_, first, second in rows]
    features, thresholds, missing = ([row[position] for row in rows] for position in range(3))
    width = max((len(leaf) for leaf in model.leaves), default=0) or 1
    whole = list(range(count))
    is_dense = all(sorted(score for score, _ in leaf) == whole for leaf in model.leaves)
    if aggregate in ("MIN", "MAX") and not is_dense:
        raise node.unsupported(f"aggregate {aggregate} requires a weight for every score in every leaf")
    weights = np.zeros((len(model.leaves), width), dtype)
    targets = np.zeros((len(model.leaves), width), np.int32)
    for position, leaf in enumerate(model.leaves):
        for at, (score, weight) in enumerate(sorted(leaf, key=lambda each: each[0]) if is_dense else leaf):
            weights[position, at], targets[position, at] = weight, score
    return node.add(
        trees.TreeEnsembleOp,
        node.cast(value, element),
        node.add_constant(np.array(roots, np.int32), i32),
        node.add_constant(np.array(features, np.int32), i32),
        node.add_constant(np.array(thresholds, dtype), element),
        node.add_constant(np.array(children, np.int32).reshape(-1, 2), i32),
        node.add_constant(weights, element),
        None if is_dense else node.add_constant(targets, i32),
        node.add_constant(np.array(missing, np.int8), i1) if any(missing) else None,
        count=count,
        aggregate=aggregate.lower().replace("average", "sum"),
    ).result


def _base(node: Node, scores: SSAValue) -> SSAValue:
    """Adds the base values to the scores, if there are any."""
    values = _floats(node, "base_values")
    if not len(values):
        return scores
    count = shape_of(scores)[1]
    if len(values) != count:
        raise node.unsupported(f"expected one base value per score ({count}), but got {len(values)}")
    element = element_of(scores)
    base = node.add_constant(values.astype(node.graph.dtype_of(element)), element)
    return node.add(elementwise.AddOp, scores, base).result


def _targets(node: Node, model: _Model, kind: str, aggregate: str) -> SSAValue:
    """Returns the targets of a regression before the post-transformation `kind`."""
    count: int = node.attribute("n_targets", None) or 1
    if kind != "NONE" and count == 1:  # ONNX Runtime takes NONE for it
        raise node.unsupported(f"transforms its one score by {kind}")
    scores = _scores(node, model, count, aggregate)
    if aggregate == "AVERAGE":
        scores = node.add(elementwise.DivOp, scores, node.scalar(len(model.roots), scores)).result
    return _base(node, scores)


def _regressor(node: Node) -> SSAValue:
    kind, aggregate = node.attribute("post_transform"), node.attribute("aggregate_function")
    targets = _targets(node, _classic(node, "target"), kind, aggregate)
    return _transformed(node, node.cast(targets, f32), kind)


def _ensemble(node: Node) -> SSAValue:
    kind = _TRANSFORMS[int(node.attribute("post_transform"))]
    aggregate = _AGGREGATES[int(node.attribute("aggregate_function"))]
    return _transformed(node, _targets(node, _modern(node), kind, aggregate), kind)


def _classifier(node: Node) -> list[SSAValue]:
    """The label of the largest score, and all scores; of two classes with one score, that of its sign or of a half."""
    labels = _numbers(node, "classlabels_int64s", np.int64)
    if node.attribute("classlabels_strings", None) or labels.size < 2:
        raise node.unsupported("requires at least two integer labels; string labels are not supported")
    model, kind = _classic(node, "class"), node.attribute("post_transform")
    if labels.size == 2:
        return _one_of_two(node, model, labels, kind)
    scores = _scores(node, model, labels.size, "SUM")
    if not len(_floats(node, "base_values")) and not model.always(labels.size):
        raise node.unsupported("requires a score for every class")
    scores = _base(node, scores)
    return [_best_label(node, labels, scores), _transformed(node, node.cast(scores, f32), kind)]


def _one_of_two(node: Node, model: _Model, labels: Array, kind: str) -> list[SSAValue]:
    """Returns the label and the scores of a two-class model whose weights all belong to class 0, with the score `s`.

    If no weight is negative, the scores are `1 - s` and `s`, and the threshold is 1 / 2; otherwise, the scores are `-s`
    and `s`, and the threshold is 0. If `s` is above the threshold, the second label is returned.
    """
    is_probability = all(weight >= 0 for leaf in model.leaves for _, weight in leaf)
    if model.scores - {0} or kind not in (("NONE",) if is_probability else ("NONE", "LOGISTIC")):
        raise node.unsupported(
            f"two classes that are chosen by the scores {sorted(model.scores)} with post_transform {kind} are not "
            "supported"
        )
    score = _base(node, _scores(node, model, 1, "SUM"))
    above = node.add(elementwise.GreaterOp, score, node.scalar(0.5 if is_probability else 0.0, score)).result
    position = node.cast(node.reshaped(above, [shape_of(above)[0]]), i64)
    if is_probability:
        other = node.add(elementwise.SubOp, node.scalar(1.0, score), score).result
    else:
        other = node.add(elementwise.NegOp, score).result
    both = node.cast(node.add(movement.ConcatOp, [other, score], axis=1).result, f32)
    return [_label(node, labels, position), _transformed(node, both, kind)]


# --- Exporting --------------------------------------------------------------------------------------------------------


def _known(out: NodeEmitter, name: str, value: SSAValue) -> Array:
    array = constant_array(value)
    if array is None:
        raise out.error(f"'{name}' must be constant: ONNX stores trees as attributes")
    return array


MOST_WRITTEN = 1 << 20
"""The maximum number of nodes and leaves in an exported ensemble."""


@dataclass(frozen=True)
class _Trees:
    """The tables of an operation for export."""

    roots: Array
    features: Array
    thresholds: Array
    children: Array
    missing: Array

    def branch(self, node: int) -> _Branch:
        """Returns a node in ONNX's format; two comparisons with adjacent thresholds become one test for equality."""
        feature, value, missing = int(self.features[node]), self.thresholds[node], bool(self.missing[node])
        first, second = map(int, self.children[node])
        if first < len(self.features) and self.features[first] == feature and second == self.children[first, 0]:
            below, before = self.thresholds[first], _before(value)
            if below == before or (np.isnan(below) and np.isnan(before)):
                missing = missing and not self.missing[first]
                return _Branch(feature, "BRANCH_EQ", [value], missing, int(self.children[first, 1]), second)
        return _Branch(feature, "BRANCH_LEQ", [value], missing, first, second)

    def written(self) -> Iterator[tuple[int, int, int, _Branch | None, tuple[int, int]]]:
        """Yields each node to write: its tree, its number there, its index here, its branch (if any), its children.

        The branch of a leaf is `None`. The children are a pair of numbers in the tree. If several tests for equality
        (with the members of a set, say) pass to the same node, that node is written once per tree, as in models of
        LightGBM. ONNX Runtime supports this only for the branch that is taken if the comparison holds. In all other
        cases, each parent gets its own copy of the node.
        """
        for tree, root in enumerate(self.roots):
            waiting, made = deque([(0, int(root))]), 1
            shared: dict[int, int] = {}
            while waiting:
                number, reference = waiting.popleft()
                if reference >= len(self.features):
                    yield tree, number, reference, None, (0, 0)
                    continue
                branch = self.branch(reference)
                ways: list[int] = []
                for way, is_shared in ((branch.first, branch.mode == "BRANCH_EQ"), (branch.second, False)):
                    known = shared.get(way) if is_shared else None
                    if known is None:
                        known, made = made, made + 1
                        waiting.append((known, way))
                    if is_shared:
                        shared[way] = known
                    ways.append(known)
                yield tree, number, reference, branch, (ways[0], ways[1])


_NODE_FIELDS = (
    "treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true",
)  # fmt: skip
_LEAF_FIELDS = ("treeids", "nodeids", "ids", "weights")


def _export(out: NodeEmitter, op: trees.TreeEnsembleOp) -> None:
    """A TreeEnsembleRegressor, in which two comparisons that tell what equals a number are one."""
    if element_of(op.input) != f32:
        raise out.error(f"requires f32 in older operator sets of ONNX, but got {element_of(op.input)}")
    names = ("roots", "features", "thresholds", "children", "weights")
    roots, features, thresholds, children, weights = (_known(out, name, getattr(op, name)) for name in names)
    count, width = op.count.value.data, weights.shape[1]
    targets = None if op.targets is None else _known(out, "targets", op.targets)
    missing = np.zeros(len(features), np.int8) if op.missing is None else _known(out, "missing", op.missing)
    try:
        checked_trees(shape_of(op.input)[1], count, roots, features, children, weights, targets)
    except InterpretationError as error:
        raise out.error(str(error)) from error
    nodes: list[tuple[Any, ...]] = []
    entries: list[tuple[Any, ...]] = []
    forest = _Trees(roots, features, thresholds, children, missing)
    for tree, number, reference, branch, ways in forest.written():
        if len(nodes) == MOST_WRITTEN:
            raise out.error(
                f"has {len(features)} nodes, and more than {MOST_WRITTEN} with the leaves where each is written for all"
                " that lead to it: one does in a tree of ONNX"
            )
        if branch is None:
            nodes.append((tree, number, 0, "LEAF", 0.0, *ways, 0))
        else:
            comparison = branch.feature, branch.mode, float(branch.values[0])
            nodes.append((tree, number, *comparison, *ways, int(branch.takes_missing)))
        for position in range(width if branch is None else 0):
            leaf = reference - len(features)
            target = position if targets is None else int(targets[leaf, position])
            if targets is not None and position and not weights[leaf, position]:
                continue  # it may be there for the sake of other leaves, and changes no sum
            entries.append((tree, number, target, float(weights[leaf, position])))
    attributes = {f"nodes_{name}": [row[position] for row in nodes] for position, name in enumerate(_NODE_FIELDS)}
    attributes |= {f"target_{name}": [row[position] for row in entries] for position, name in enumerate(_LEAF_FIELDS)}
    if not any(attributes[f"nodes_{_NODE_FIELDS[-1]}"]):
        del attributes[f"nodes_{_NODE_FIELDS[-1]}"]
    kinds = {"aggregate_function": op.aggregate.data.upper(), "post_transform": "NONE"}
    inputs = [out.name(op.input)]
    out.node("TreeEnsembleRegressor", inputs, out.output, domain=_DOMAIN, n_targets=count, **kinds, **attributes)


EXPORTERS: dict[type[Operation], Exporter] = {trees.TreeEnsembleOp: _export}


IMPORTERS: dict[str, Importer] = {
    f"{_DOMAIN}::{name}": importer
    for name, importer in {
        "ArrayFeatureExtractor": _array_feature_extractor,
        "Binarizer": _binarizer,
        "Imputer": _imputer,
        "LinearClassifier": _linear_classifier,
        "LinearRegressor": _linear_regressor,
        "Normalizer": _normalizer,
        "Scaler": _scaler,
        "TreeEnsemble": _ensemble,
        "TreeEnsembleClassifier": _classifier,
        "TreeEnsembleRegressor": _regressor,
    }.items()
}
