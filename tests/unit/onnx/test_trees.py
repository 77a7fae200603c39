"""Trees of ai.onnx.ml: what ONNX Runtime gives on one thread, interpreted and compiled; what is left to islands."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.nn.trees.ops import TreeEnsembleOp
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler
from qmlir.onnx.operators import machine_learning
from qmlir.targets.runtimes.onnx_runtime import OrtSession
from qmlir.text.parsing import parse_module

pytest.importorskip("onnxruntime")

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
INFINITE = float("inf")

X = np.float32(
    [
        [0, 0],
        [1, 0.5],
        [1, -1],
        [np.nan, 0.5],
        [0.5, np.nan],
        [np.inf, -np.inf],
        [-0.0, 1],
        [np.nextafter(np.float32(1), 0), 2],
    ]
)


def _model(op_type: str, data: np.ndarray, outputs: Sequence[str], version: int = 3, **attributes: Any) -> ModelProto:
    node = helper.make_node(op_type, ["x"], list(outputs), name="trees", domain="ai.onnx.ml", **attributes)
    info = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)
    graph = helper.make_graph([node], "ml", [info], [helper.make_empty_tensor_value_info(name) for name in outputs])
    versions = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def _nodes(modes: Sequence[str], values: Sequence[float], missing: Sequence[int] | None = None) -> dict[str, Any]:
    """Trees of three nodes: 0 leads to 1 and to the leaf 4, 1 to the leaves 2 and 3; two modes and values for each."""
    trees = len(modes) // 2
    found: dict[str, Any] = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values")}
    found |= {"truenodeids": [1, 2, 0, 0, 0] * trees, "falsenodeids": [4, 3, 0, 0, 0] * trees}
    for tree in range(trees):
        found["treeids"] += [tree] * 5
        found["nodeids"] += range(5)
        found["featureids"] += [0, 1, 0, 0, 0]
        found["modes"] += [*modes[2 * tree : 2 * tree + 2], "LEAF", "LEAF", "LEAF"]
        found["values"] += [*values[2 * tree : 2 * tree + 2], 0.0, 0.0, 0.0]
    if missing is not None:
        found["missing_value_tracks_true"] = [each for pair in missing for each in (pair, 1 - pair, 0, 0, 0)]
    return {f"nodes_{name}": each for name, each in found.items()}


def _leaves(kind: str, trees: int, scores: Sequence[int], scale: float = 1.0) -> dict[str, Any]:
    """Weights of the three leaves of each tree for `scores`, no two sums of which are equal."""
    rows = [(tree, leaf, score) for tree in range(trees) for leaf in (2, 3, 4) for score in scores]
    return {
        f"{kind}_treeids": [tree for tree, _, _ in rows],
        f"{kind}_nodeids": [leaf for _, leaf, _ in rows],
        f"{kind}_ids": [score for _, _, score in rows],
        f"{kind}_weights": [scale * (0.1 + tree + 0.37 * leaf * (1 + score) ** 2) for tree, leaf, score in rows],
    }


def _check(model: ModelProto, data: np.ndarray, exact: Sequence[bool] = (True, True)) -> None:
    """Interpreted and compiled values are those of ONNX Runtime: to the bit, but for exponentials after the trees."""
    module = qmlir.load(model, fallback=False)
    assert any(isinstance(op, TreeEnsembleOp) for op in module.walk())
    found, program = qmlir.interpret(module, {"x": data}), qmlir.compile(module, codegen="llvm")({"x": data})
    wanted = OrtSession(model.SerializeToString())({"x": data})
    for is_exact, (name, expected) in zip(exact, wanted.items(), strict=False):
        if is_exact:
            np.testing.assert_array_equal(found[name], expected, strict=True)
        else:
            np.testing.assert_allclose(found[name], expected, rtol=1e-6, atol=1e-7, strict=True)
        np.testing.assert_array_equal(program[name], found[name], strict=True)


@pytest.mark.parametrize("missing", [None, [1, 0]])
@pytest.mark.parametrize("mode", MODES)
def test_every_comparison_sends_rows_the_same_way(mode: str, missing: list[int] | None) -> None:
    """Thresholds that are met exactly, 0 with either sign, NaN and infinities in the data."""
    nodes = _nodes([mode, "BRANCH_LEQ", "BRANCH_GT", mode], [1.0, 0.5, 0.0, 0.0], missing)
    _check(_model("TreeEnsembleRegressor", X, ["y"], n_targets=2, **nodes, **_leaves("target", 2, [0, 1])), X)


@pytest.mark.parametrize("value", [INFINITE, -INFINITE, float("nan")])
def test_thresholds_without_a_neighbour(value: float) -> None:
    for mode in MODES:
        nodes = _nodes([mode, mode], [value, 0.0])
        _check(_model("TreeEnsembleRegressor", X, ["y"], n_targets=1, **nodes, **_leaves("target", 1, [0])), X)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_aggregates_in_the_type_of_the_data(aggregate: str, dtype: type) -> None:
    data = np.nan_to_num(X, posinf=3, neginf=-3).astype(dtype)
    nodes = _nodes(["BRANCH_LEQ"] * 6, [0.3, 0.5, 0.7, 0.1, 0.2, 1.0])
    leaves = _leaves("target", 3, [0, 1])
    attributes = {"n_targets": 2, "aggregate_function": aggregate, "base_values": [0.1, -7.0], **nodes, **leaves}
    _check(_model("TreeEnsembleRegressor", data, ["y"], **attributes), data)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize(("scale", "dtype"), [(1.0, np.float32), (-0.3, np.int64)])
def test_labels_and_scores_of_three_classes(transform: str, scale: float, dtype: type) -> None:
    data = np.nan_to_num(X, posinf=3, neginf=-3).astype(dtype)
    nodes = _nodes(["BRANCH_LEQ"] * 4, [0.3, 0.5, 0.7, 0.1])
    labels = {"classlabels_int64s": [5, 7, -1], "post_transform": transform}
    leaves = _leaves("class", 2, [0, 1, 2], scale)
    model = _model("TreeEnsembleClassifier", data, ["y", "z"], **labels, **nodes, **leaves)
    _check(model, data, [True, transform == "NONE"])


@pytest.mark.parametrize(
    ("transform", "scale", "base"),
    [
        ("NONE", 0.3, []),
        ("NONE", 0.3, [-2.0]),
        ("NONE", -0.3, [0.5]),
        ("LOGISTIC", -0.3, []),
        ("LOGISTIC", -0.3, [0.7]),
    ],
)
def test_two_classes_with_one_score(transform: str, scale: float, base: list[float]) -> None:
    """The threshold is a half where no weight is negative, and 0 otherwise."""
    nodes = _nodes(["BRANCH_LEQ"] * 4, [0.3, 0.5, 0.7, 0.1])
    attributes = {"classlabels_int64s": [4, 2], "post_transform": transform}
    attributes |= {"base_values": base} if base else {}
    attributes |= {**nodes, **_leaves("class", 2, [0], scale)}
    _check(_model("TreeEnsembleClassifier", X, ["y", "z"], **attributes), X, [True, transform == "NONE"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbered_trees(dtype: type) -> None:
    """TreeEnsemble of set 5: sets of members, leaves of their own, trees that begin anywhere."""
    data = X.astype(dtype)

    def tensor(numbers: Sequence[float], kind: Any = dtype) -> Any:
        return numpy_helper.from_array(np.array(numbers, kind))

    members = tensor([1, 0.5, np.nan, -1, np.nan])
    attributes = {
        "n_targets": 2, "aggregate_function": 1, "post_transform": 0, "tree_roots": [2, 0],
        "nodes_featureids": [1, 0, 0], "nodes_modes": tensor([6, 2, 6], np.uint8), "nodes_splits": tensor([0, 0.5, 0]),
        "nodes_truenodeids": [0, 1, 1], "nodes_trueleafs": [1, 1, 0], "nodes_falsenodeids": [1, 2, 3],
        "nodes_falseleafs": [0, 1, 1], "leaf_targetids": [0, 1, 1, 0], "leaf_weights": tensor([1.5, 0.1, -7, 3]),
        "membership_values": members,
    }  # fmt: skip
    _check(_model("TreeEnsemble", data, ["y"], 5, **attributes), data)


def _forest(trees: int, depth: int, columns: int) -> dict[str, Any]:
    """Complete trees with random columns and thresholds, each leaf with a weight for one of three scores."""
    random, size = np.random.default_rng(1), 2**depth
    inner, every = range(size - 1), range(2 * size - 1)
    rows = [(tree, number) for tree in range(trees) for number in every]
    leaves = [(tree, number) for tree, number in rows if number not in inner]
    return {
        "nodes_treeids": [tree for tree, _ in rows], "nodes_nodeids": [number for _, number in rows],
        "nodes_featureids": random.integers(0, columns, len(rows)).tolist(),
        "nodes_modes": ["BRANCH_LEQ" if number in inner else "LEAF" for _, number in rows],
        "nodes_values": random.standard_normal(len(rows)).astype(np.float32).tolist(),
        "nodes_truenodeids": [2 * number + 1 if number in inner else 0 for _, number in rows],
        "nodes_falsenodeids": [2 * number + 2 if number in inner else 0 for _, number in rows],
        "target_treeids": [tree for tree, _ in leaves], "target_nodeids": [number for _, number in leaves],
        "target_ids": [tree % 3 for tree, _ in leaves],
        "target_weights": random.standard_normal(len(leaves)).astype(np.float32).tolist(),
    }  # fmt: skip


def test_many_trees_are_added_in_their_order() -> None:
    """Sums in f32 of 100 trees, to the bit; written to ONNX and read again they stay."""
    data = np.random.default_rng(2).standard_normal((5, 7)).astype(np.float32)
    model = _model("TreeEnsembleRegressor", data, ["y"], n_targets=3, base_values=[0.1, 0.2, 0.3], **_forest(100, 5, 7))
    _check(model, data)
    module = qmlir.load(model)
    written = qmlir.export_onnx(module)
    for entry in list(written.metadata_props):  # as a model of anyone
        written.metadata_props.remove(entry)
    again = qmlir.load(written, fallback=False)
    expected = qmlir.interpret(module, {"x": data})["y"]
    np.testing.assert_array_equal(OrtSession(written.SerializeToString())({"x": data})["y"], expected)
    np.testing.assert_array_equal(qmlir.interpret(again, {"x": data})["y"], expected)


def test_rows_of_any_batch(tmp_path: Path) -> None:
    """One program, of few sizes, for every number of rows, and one of a known capacity: equal to the interpreter."""
    data = np.random.default_rng(3).standard_normal((40, 7)).astype(np.float32)
    model = _model("TreeEnsembleRegressor", data, ["y"], n_targets=3, base_values=[0.1, 0.2, 0.3], **_forest(20, 4, 7))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    module = qmlir.load(model, fallback=False)
    program = qmlir.compile(module, isa="generic", codegen="llvm")
    program.compile_for({"x": data[:1]})
    program.compile_for({"x": data})
    found = {count: program({"x": data[:count]})["y"] for count in (1, 2, 31, 40)}
    assert [dict(shapes)["x"] for shapes, _ in program._made] == [(1, 7), (20, 7)]  # two chunks of 20 need no padding
    program.save(tmp_path / "saved")
    again = qmlir.load_program(tmp_path / "saved")
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        padded = qmlir.compile(module, isa="generic", max_sizes={"N": 64}, codegen="llvm")
    assert not [each for each in said if each.severity is Severity.WARNING]
    for count, scores in found.items():
        expected = qmlir.interpret(module, {"x": data[:count]})["y"]
        for each in (scores, again({"x": data[:count]})["y"], padded({"x": data[:count]})["y"]):
            np.testing.assert_array_equal(each, expected, strict=True)


@pytest.mark.parametrize(
    ("op_type", "change", "reason"),
    [
        ("Regressor", {"post_transform": "LOGISTIC"}, "transforms its one score by LOGISTIC"),
        (
            "Regressor",
            {"n_targets": 2, "aggregate_function": "MIN"},
            "aggregate MIN requires a weight for every score in every leaf",
        ),
        ("Regressor", {"n_targets": 2, "base_values": [1.0]}, r"expected one base value per score \(2\), but"),
        (
            "Classifier",
            {"classlabels_strings": ["a", "b"]},
            "requires at least two integer labels; string labels are not supported",
        ),
        ("Classifier", {"classlabels_int64s": [1, 2, 3]}, "requires a score for every class"),
        (
            "Classifier",
            {"classlabels_int64s": [1, 2], "post_transform": "SOFTMAX"},
            "two classes that are chosen by the scores",
        ),
    ],
)
def test_forms_for_islands(op_type: str, change: dict[str, Any], reason: str) -> None:
    kind = "target" if op_type == "Regressor" else "class"
    attributes = {"n_targets": 1} if op_type == "Regressor" else {}
    attributes |= {**_nodes(["BRANCH_LEQ"] * 2, [0.3, 0.5]), **_leaves(kind, 1, [0]), **change}
    model = _model(f"TreeEnsemble{op_type}", X, ["y", "z"][: 1 + (op_type == "Classifier")], **attributes)
    with pytest.raises(DiagnosticError, match=reason):
        qmlir.load(model, fallback=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes_truenodeids": [9, 2, 0, 0, 0]}, "refers to node 9 of tree 0, which does not exist"),
        ({"nodes_nodeids": [0, 1, 1, 3, 4]}, "duplicate node 1 of tree 0"),
        ({"nodes_featureids": [0, 5, 0, 0, 0]}, "cannot compare column 5 of 2 with mode BRANCH_LEQ"),
        ({"nodes_values": [0.0]}, "attributes of the tree nodes must be non-empty and of equal length, but got"),
        ({"target_ids": [0, 0, 3]}, "weights refer to score 3, but there are only 1 scores"),
        ({"target_ids": [0]}, "attributes of the leaves must be non-empty and of equal length, but got"),
    ],
)
def test_models_that_are_wrong(change: dict[str, Any], message: str) -> None:
    attributes = {"n_targets": 1, **_nodes(["BRANCH_LEQ"] * 2, [0.3, 0.5]), **_leaves("target", 1, [0]), **change}
    with pytest.raises(DiagnosticError, match=message):
        qmlir.load(_model("TreeEnsembleRegressor", X, ["y"], **attributes), fallback=False)


def _written(module: ModuleOp) -> tuple[int, ModelProto]:
    """The number of nodes and leaves of the model that is written, and the model without what is kept beside it."""
    model = qmlir.export_onnx(module)
    for entry in list(model.metadata_props):
        model.metadata_props.remove(entry)
    (node,) = model.graph.node
    return next(len(each.ints) for each in node.attribute if each.name == "nodes_nodeids"), model


def _check_written(module: ModuleOp, data: np.ndarray, most: int) -> None:
    expected = qmlir.interpret(module, {"x": data})["y"]
    count, model = _written(module)
    assert count <= most
    np.testing.assert_array_equal(OrtSession(model.SerializeToString())({"x": data})["y"], expected)
    again = qmlir.load(model, fallback=False)
    np.testing.assert_array_equal(qmlir.interpret(again, {"x": data})["y"], expected)
    assert _written(again)[0] == count


CODES = np.float32([*range(-2, 45), 0.5, 1.5, 33.25, np.nan, np.inf, -np.inf, -0.0])[:, None]


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("mode", ["BRANCH_EQ", "BRANCH_NEQ"])
def test_chains_of_equal_numbers_are_written_as_they_are(mode: str, missing: int) -> None:
    """30 numbers, each with a leaf of its own: the same 61 nodes and leaves again."""
    count, ends = 30, list(range(30, 61))
    own, others = ends[:count], [*range(1, count), ends[-1]]
    ways = (own, others) if mode == "BRANCH_EQ" else (others, own)
    model = _model(
        "TreeEnsembleRegressor", CODES, ["y"], n_targets=1,
        nodes_treeids=[0] * 61, nodes_nodeids=list(range(61)), nodes_featureids=[0] * 61,
        nodes_modes=[mode] * count + ["LEAF"] * 31, nodes_values=[float(each) for each in range(61)],
        nodes_truenodeids=[*ways[0], *[0] * 31], nodes_falsenodeids=[*ways[1], *[0] * 31],
        nodes_missing_value_tracks_true=[missing] * count + [0] * 31,
        target_treeids=[0] * 31, target_nodeids=ends, target_ids=[0] * 31,
        target_weights=[0.5 + each for each in range(31)],
    )  # fmt: skip
    _check_written(qmlir.load(model, fallback=False), CODES, 61)


@pytest.mark.parametrize("missing", [0, 1])
def test_sets_are_written_as_chains_that_lead_to_one_node(missing: int) -> None:
    """Six sets of 40 members, in each of which lies the next: 240 comparisons and 7 leaves, the last for each set."""
    members = [number for start in range(6) for number in (*range(start, start + 40), np.nan)]
    model = _model(
        "TreeEnsemble", CODES, ["y"], 5, n_targets=1, aggregate_function=1, post_transform=0, tree_roots=[0],
        nodes_featureids=[0] * 6, nodes_modes=numpy_helper.from_array(np.full(6, 6, np.uint8)),
        nodes_splits=numpy_helper.from_array(np.zeros(6, np.float32)), nodes_missing_value_tracks_true=[missing] * 6,
        nodes_truenodeids=[1, 2, 3, 4, 5, 6], nodes_trueleafs=[0, 0, 0, 0, 0, 1],
        nodes_falsenodeids=list(range(6)), nodes_falseleafs=[1] * 6, leaf_targetids=[0] * 7,
        leaf_weights=numpy_helper.from_array(np.float32([0.5, 1, 2, 4, 8, 16, 32])),
        membership_values=numpy_helper.from_array(np.float32(members)),
    )  # fmt: skip
    _check_written(qmlir.load(model, fallback=False), CODES, 247)


def _table(children: Sequence[tuple[int, int]]) -> ModuleOp:
    """One tree of these nodes, and two leaves after them."""
    nodes = len(children)
    return parse_module(
        default_environment().new_context(),
        f"""
        func.func @main(%x: tensor<2x1xf32> {{nn.name = "x"}}) -> (tensor<2x1xf32> {{nn.name = "y"}}) {{
          %r = nn.constant dense<0> : tensor<1xi32>
          %f = nn.constant dense<0> : tensor<{nodes}xi32>
          %t = nn.constant dense<0.5> : tensor<{nodes}xf32>
          %c = nn.constant dense<{[list(each) for each in children]}> : tensor<{nodes}x2xi32>
          %w = nn.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
          %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {{count = 1}} : (tensor<2x1xf32>, tensor<1xi32>,
            tensor<{nodes}xi32>, tensor<{nodes}xf32>, tensor<{nodes}x2xi32>, tensor<2x1xf32>)
            -> tensor<2x1xf32> {{origin = "trees"}}
          func.return %0 : tensor<2x1xf32>
        }}""",
    )


def test_trees_that_are_too_large_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of a node lead to the next: 2^k leaves of a tree."""
    ways = [(each, each) for each in range(1, 9)]
    assert _written(_table([*ways, (9, 10)]))[0] == 2**10 - 1
    monkeypatch.setattr(machine_learning, "MOST_WRITTEN", 1000)
    with pytest.raises(DiagnosticError, match=r"'nn.tree_ensemble' op \(trees\).*has 9 nodes, and more than 1000 with"):
        qmlir.export_onnx(_table([*ways, (9, 10)]))
    with pytest.raises(DiagnosticError, match=r"\(trees\).*the nodes form a cycle"):
        qmlir.export_onnx(_table([(1, 2), (0, 3)]))


def test_a_node_that_leads_back_to_itself() -> None:
    attributes = {"n_targets": 1, **_nodes(["BRANCH_LEQ"] * 2, [0.3, 0.5]), **_leaves("target", 1, [0])}
    module = qmlir.load(
        _model("TreeEnsembleRegressor", X, ["y"], **attributes | {"nodes_truenodeids": [1, 0, 0, 0, 0]})
    )
    for run in (lambda: qmlir.interpret(module, {"x": X}), lambda: qmlir.compile(module)):
        with pytest.raises(DiagnosticError, match="the nodes form a cycle"):
            run()


def test_trees_of_scikit_learn_keep_their_labels_when_the_rest_is_quantized() -> None:
    """What prepares the data of trees stays in float: so every label is that of the float model."""
    convert = pytest.importorskip("skl2onnx").to_onnx
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris  # noqa: PLC0415
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    data, labels = load_iris(return_X_y=True)
    data = data.astype(np.float32)
    learned = make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0)).fit(data, labels)
    model = convert(learned, data[:1], options={"zipmap": False})
    module = qmlir.load(model, fallback=False)
    quantized = qmlir.quantize(module, [{"X": data[position : position + 10]} for position in range(0, 150, 10)]).module
    found = qmlir.interpret(quantized, {"X": data})
    expected = OrtSession(model.SerializeToString())({"X": data})
    np.testing.assert_array_equal(found["label"], expected["label"])
    np.testing.assert_array_equal(found["probabilities"], expected["probabilities"])


def test_trees_that_are_computed_have_no_loops() -> None:
    """They are interpreted; a number that names nothing is an error."""
    module = parse_module(
        default_environment().new_context(),
        """
        func.func @main(%x: tensor<2x2xf32> {nn.name = "x"}, %r: tensor<1xi32> {nn.name = "r"})
            -> (tensor<2x1xf32> {nn.name = "y"}) {
          %f = nn.constant dense<1> : tensor<1xi32>
          %t = nn.constant dense<0.5> : tensor<1xf32>
          %c = nn.constant dense<[[1, 2]]> : tensor<1x2xi32>
          %w = nn.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
          %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 1} : (tensor<2x2xf32>, tensor<1xi32>,
            tensor<1xi32>, tensor<1xf32>, tensor<1x2xi32>, tensor<2x1xf32>) -> tensor<2x1xf32> {origin = "trees"}
          func.return %0 : tensor<2x1xf32>
        }""",
    )
    data = np.float32([[0, 0], [0, 1]])
    np.testing.assert_array_equal(qmlir.interpret(module, {"x": data, "r": np.int32([0])})["y"], [[3], [4]])
    with pytest.raises(DiagnosticError, match=r"'roots' must be in \[0, 2\], but ranges from 3 to 3"):
        qmlir.interpret(module, {"x": data, "r": np.int32([3])})
    with pytest.raises(DiagnosticError, match=r"\(trees\) cannot be compiled: 'roots' must be constant"):
        qmlir.compile(module)
