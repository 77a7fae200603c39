"""Islands: what ONNX Runtime gives for the whole model, interpreted, quantized, compiled, saved and exported."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.targets.heterogeneous import HybridProgram
from qmlir.targets.runtimes import islands, packages
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.text.parsing import parse_module
from qmlir.workflows.quantizing import quantize

RNG = np.random.default_rng(0)

DETECTOR = """
    <ir_version: 10, opset_import: ["" : 21]>
    detector (float[1, 3, 8, 8] x) => (float[k, 4] y, int64[k, 3] chosen)
    <int64[1] most = {10}, float[1] overlap = {0.5}, float[1] score = {0.2}, int64[3] rows = {1, 64, 4},
     int64[3] row = {1, 1, 64}, int64[1] channels = {1}, int64[1] batch = {0}, int64 box = {2}>
    {
      a = Conv (x, w)
      r = Sigmoid (a)
      t = Transpose <perm = [0, 2, 3, 1]> (r)
      b = Reshape (t, rows)
      boxes = MatMul (b, ends)
      c = ReduceMax (r, channels)
      scores = Reshape (c, row)
      ["nms"] chosen = NonMaxSuppression (boxes, scores, most, overlap, score)
      places = Gather <axis = 1> (chosen, box)
      flat = Squeeze (boxes, batch)
      picked = Gather (flat, places)
      y = MatMul (picked, ends)
    }
    """
"""Convolution, boxes, the choice among them, whose number depends on the data, and a product of those."""


def _detector() -> ModelProto:
    model = parser.parse_model(DETECTOR)
    rng = np.random.default_rng(1)
    ends = np.eye(4) + np.eye(4, k=2)  # corner and size to two corners
    for name, array in (("w", rng.standard_normal((4, 3, 1, 1))), ("ends", ends)):
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return model


def _loaded(model: ModelProto, **settings: Any) -> tuple[ModuleOp, list[Diagnostic]]:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        return qmlir.load(model, **settings), said


def _islands(module: ModuleOp) -> list[OnnxIslandOp]:
    return [op for op in module.walk() if isinstance(op, OnnxIslandOp)]


def _nodes(island: OnnxIslandOp) -> list[str]:
    return [node.op_type for node in ModelProto.FromString(island.model_bytes).graph.node]


@pytest.fixture(scope="module")
def detector() -> ModuleOp:
    return _loaded(_detector())[0]


@pytest.fixture(scope="module")
def quantized(detector: ModuleOp) -> ModuleOp:
    return qmlir.quantize(detector, {"x": RNG.standard_normal((16, 3, 8, 8)).astype(np.float32)}).module


@pytest.fixture(scope="module")
def program(quantized: ModuleOp) -> HybridProgram:
    made = qmlir.compile(quantized, codegen="llvm")
    assert isinstance(made, HybridProgram)
    return made


def _images() -> dict[str, np.ndarray]:
    return {"x": RNG.standard_normal((1, 3, 8, 8)).astype(np.float32)}


def test_a_detector_gives_the_boxes_of_onnx_runtime(detector: ModuleOp) -> None:
    session = OrtSession(_detector().SerializeToString(), OrtOptions(optimization="none"))
    for _ in range(3):
        x = _images()
        found, expected = qmlir.interpret(detector, x), session(x)
        np.testing.assert_array_equal(found["chosen"], expected["chosen"])
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-5)


def test_what_is_around_an_island_is_quantized(quantized: ModuleOp) -> None:
    (island,) = _islands(quantized)
    types = {op.name: str(op.results[0].type) for op in quantized.walk() if op.name in ("nn.conv", "nn.matmul")}
    assert all("!quant.uniform<i8" in type_ for type_ in types.values())
    assert "quant" not in str(island.operand_types)


def test_compiled_it_computes_what_is_interpreted(quantized: ModuleOp, program: HybridProgram, tmp_path: Path) -> None:
    targets = {step.target for step in program.steps}
    assert targets == {"cpu", "interpreter"}
    program.save(tmp_path / "program")
    again = qmlir.load_program(tmp_path / "program")
    sizes = set()
    for _ in range(3):
        x = _images()
        expected = qmlir.interpret(quantized, x)
        sizes.add(len(expected["chosen"]))
        for made in (program(x), again(x)):
            for name, array in expected.items():
                np.testing.assert_array_equal(made[name], array)
    assert sizes


@pytest.mark.parametrize("which", ["float", "quantized"])
def test_exported_it_is_the_same_module_again(which: str, detector: ModuleOp, quantized: ModuleOp) -> None:
    module = {"float": detector, "quantized": quantized}[which]
    model = qmlir.export_onnx(module)
    (node,) = (each for each in model.graph.node if each.op_type == "NonMaxSuppression")
    assert (node.name, node.output[0], len(node.input)) == ("nms", "chosen", 5)
    assert str(_loaded(model)[0]) == str(module)
    x = _images()
    found = OrtSession(model.SerializeToString(), OrtOptions(optimization="none"))(x)
    np.testing.assert_array_equal(found["chosen"], qmlir.interpret(module, x)["chosen"])


def test_the_summary_says_why(detector: ModuleOp) -> None:
    made = quantize(detector, {"x": RNG.standard_normal((4, 3, 8, 8)).astype(np.float32)}, validate=False)
    text = repr(made)
    assert "not quantized: nms, nn.onnx_island" in text
    assert "qmlir has no operation for NonMaxSuppression: it runs as an ONNX island" in text


def test_it_is_said_at_once_and_refused_on_demand() -> None:
    _, said = _loaded(_detector())
    assert [each.message for each in said] == [
        "detector has 1 subgraph that will run in ONNX Runtime or ONNX's reference implementation: "
        "unsupported operators "
        "NonMaxSuppression (1: 'nms')"
    ]
    with pytest.raises(DiagnosticError, match=r"uses 1 unsupported operator: NonMaxSuppression \(1: 'nms'\)"):
        qmlir.load(_detector(), fallback=False)


def test_shapes_that_are_fixed_reach_the_island() -> None:
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[n, 2, 8, 8] x, float[n, p, 5, 2] grid) => (float[n, 2, p, 5] y)
        { g = GridSample (x, grid) y = Neg (g) }
        """)
    module, _ = _loaded(model)
    assert str(_islands(module)[0].outputs[0].type) == "tensor<?x2x?x5xf32>"
    module, _ = _loaded(model, shapes={"x": (3, 2, 8, 8), "grid": (3, 4, 5, 2)})
    assert str(_islands(module)[0].outputs[0].type) == "tensor<3x2x4x5xf32>"
    program = qmlir.compile(_loaded(model)[0], codegen="llvm")
    for n in (1, 2):
        x = {"x": RNG.standard_normal((n, 2, 8, 8)).astype(np.float32),
             "grid": RNG.uniform(-1, 1, (n, 3, 5, 2)).astype(np.float32)}  # fmt: skip
        (expected,) = ReferenceEvaluator(model).run(None, x)
        np.testing.assert_allclose(program(x)["y"], expected, rtol=1e-4, atol=1e-5)


def test_without_onnx_runtime_the_reference_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    islands.open_island.cache_clear()
    x = _images()
    module, _ = _loaded(_detector())
    expected = ReferenceEvaluator(_detector()).run(None, x)
    found = qmlir.interpret(module, x)
    np.testing.assert_array_equal(found["chosen"], expected[1])
    islands.open_island.cache_clear()


def test_what_an_importer_refuses_runs_too() -> None:
    """A Squeeze of axes that only a run tells, and what takes its result: compiled around it, at any size."""
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[5, 4] x, int64[n, 1] column) => (float[n, 4] y) <float[n, 4] r>
        { places = Squeeze (column) r = Gather (x, places) y = Neg (r) }
        """)
    module, said = _loaded(model)
    assert [len(_nodes(each)) for each in _islands(module)] == [2]
    assert "Squeeze axes must be given, because 'tensor<?x1xi64>' has dynamic dimensions" in said[0].message
    program = qmlir.compile(module, codegen="llvm")
    for rows in ([0, 3], [4, 2, 1]):
        x = {"x": RNG.standard_normal((5, 4)).astype(np.float32), "column": np.int64(rows)[:, None]}
        (expected,) = ReferenceEvaluator(model).run(None, x)
        np.testing.assert_array_equal(program(x)["y"], expected)
    again, _ = _loaded(qmlir.export_onnx(module))
    assert str(again) == str(module)
    with pytest.raises(DiagnosticError, match="has nodes that would run in ONNX Runtime: Squeeze axes must be given"):
        qmlir.load(qmlir.export_onnx(module), fallback=False)


@pytest.mark.parametrize("before", ["t = Identity (s)", "t = Unsqueeze (s, last)"])
def test_a_rank_declared_for_a_size_of_1_is_corrected(before: str) -> None:
    """Converters declare the shape of one row for a Squeeze without axes; samples of several rows are profiled, too."""
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[n, 6] x) => (float[m] y)
        {{ h = MatMul (x, w) s = Sigmoid (h) {before} y = Squeeze (t) }}
        """)
    weights = RNG.standard_normal((6, 4)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    model.graph.initializer.append(numpy_helper.from_array(np.int64([2]), "last"))
    module, said = _loaded(model)
    assert "declares 'y' as tensor<?xf32>, the node gives tensor<?x?xf32>" in "\n".join(map(str, said))
    samples = {"x": RNG.standard_normal((16, 5, 6)).astype(np.float32)}
    with diagnostic_handler(lambda _: None):
        quantized = quantize(module, samples)
        program = qmlir.compile(quantized.module, codegen="llvm")
    for x in samples["x"][:2]:
        (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
        found = qmlir.interpret(quantized, {"x": x})["y"]
        np.testing.assert_allclose(found, expected, atol=0.03)
        np.testing.assert_array_equal(program({"x": x})["y"], found)


def test_values_that_modules_have_not_stay_inside() -> None:
    """Maps and optional values go from node to node of one island; at its border they are refused by name."""
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
        net (float[2] x) => (float[2] y)
        { o = Optional (x) p = Identity (o) g = OptionalGetElement (p) y = Neg (g) }
        """)
    module, _ = _loaded(model)
    assert [len(each.inputs) for each in _islands(module)] == [1]
    x = {"x": np.float32([1, -2])}
    np.testing.assert_array_equal(qmlir.interpret(module, x)["y"], [-1, 2])
    border = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]> net (float[2] x) => (optional(seq(float[2])) y)
        { q = SequenceConstruct (x) y = Optional (q) }
        """)
    with pytest.raises(
        DiagnosticError, match=r"is unsupported, and its output 'y' is a .*, which a " r"module cannot represent"
    ):
        qmlir.load(border)
    assert not _islands(qmlir.load(border, cut_outputs=["q"]))


def test_sequences_go_in_and_out() -> None:
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        net (seq(float[n]) s, float[2] x) => (seq(float[n]) t, int64 count)
        { o = Optional (s) g = OptionalGetElement (o) t = SequenceInsert (g, x) count = SequenceLength (t) }
        """)
    module, _ = _loaded(model)
    assert len(_islands(module)) == 1
    given = {"s": [np.float32([1, 2])], "x": np.float32([3, 4])}
    found = qmlir.interpret(module, given)
    assert found["count"] == 2
    np.testing.assert_array_equal(found["t"], [[1, 2], [3, 4]])


def test_a_branch_that_sizes_never_take_stops_nothing() -> None:
    """ONNX Runtime infers both branches: with four columns it refuses the product of three, which is not computed."""
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        net (bool c, float[1, 4] x) => (float[1, 2] y) <float[3, 2] three = {1, 1, 1, 1, 1, 1},
          float[4, 2] four = {1, 2, 1, 2, 1, 2, 1, 2}>
        {
          y = If (c) <then_branch = t () => (float[1, 2] a) { a = MatMul (x, three) },
                      else_branch = e () => (float[1, 2] b) { b = MatMul (x, four) }>
        }
        """)
    island = islands.open_island(model.SerializeToString())
    assert island.runtime == "ONNX Runtime"
    (found,) = island.run([np.array(False), np.ones((1, 4), np.float32)])
    np.testing.assert_array_equal(found, [[4, 8]])
    exported = OrtSession(qmlir.export_onnx(_loaded(model)[0]).SerializeToString())
    np.testing.assert_array_equal(exported({"c": np.array(False), "x": np.ones((1, 4), np.float32)})["y"], [[4, 8]])


# Security


def _external(location: str) -> ModelProto:
    """A Det of a tensor in another file, as an attribute of a node inside a branch."""
    tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    branch = helper.make_graph(
        [helper.make_node("Constant", [], ["k"], value=tensor)], "b", [],
        [helper.make_tensor_value_info("k", TensorProto.FLOAT, [2])],
    )  # fmt: skip
    return helper.make_model(
        helper.make_graph(
            [helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=branch)], "g",
            [helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        ),
        opset_imports=[helper.make_opsetid("", 21)], ir_version=10,
    )  # fmt: skip


def test_files_inside_of_subgraphs_are_read_from_the_folder_of_the_model_only(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for position in (tmp_path, folder):
        (position / "data.bin").write_bytes(np.float32([3, 4]).tobytes())
    onnx.save(_external("data.bin"), folder / "good.onnx")
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        module = qmlir.load(folder / "good.onnx")
    np.testing.assert_array_equal(qmlir.interpret(module, {"c": np.array(True)})["y"], [3, 4])
    (folder / "bad.onnx").write_bytes(_external("../data.bin").SerializeToString())
    with pytest.raises(DiagnosticError, match=r"outside the folder of the model|not a valid ONNX model"):
        qmlir.load(folder / "bad.onnx")


def test_the_text_of_a_module_names_no_files() -> None:
    """An island that somebody wrote into a module: its bytes are a model that takes a tensor from a file."""
    data = np.frombuffer(_external("data.bin").SerializeToString(), np.int8)
    text = f"""
        func.func @main(%c: tensor<i1> {{nn.name = "c"}}) -> (tensor<2xf32> {{nn.name = "y"}}) {{
          %0 = nn.onnx_island %c {{model = dense<{data.tolist()}> : tensor<{data.size}xi8>, reason = ""}}
              : (tensor<i1>) -> tensor<2xf32>
          func.return %0 : tensor<2xf32>
        }}"""
    module = _parsed(text)
    with pytest.raises(
        DiagnosticError, match="tensor 't' of the fallback subgraph is stored in a file, which is not allowed"
    ):
        qmlir.interpret(module, {"c": np.array(True)})


def _parsed(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [([8, 10], "contains no nodes"), ([-1, -1, -1], "contains no ONNX model"), ([], "contains no nodes")],
)
def test_bytes_that_are_no_model(data: list[int], reason: str) -> None:
    held = f"dense<{data}> : tensor<{len(data)}xi8>"
    module = _parsed(f"""
        func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
          %0 = nn.onnx_island %x {{model = {held}, reason = ""}} : tensor<2xf32>
          func.return %0 : tensor<2xf32>
        }}""")
    with pytest.raises(DiagnosticError, match=reason):
        qmlir.interpret(module, [np.zeros(2, np.float32)])


STACKED = """
    net (float[N, 3] x) => (float[N, 3] y) <int64 three = {3}, bool yes = {1}, int64[1] first = {0}> {
      last, all = Loop (three, yes, x) <
        body = step (int64 i, bool go, float[N, 3] s) => (bool goes, float[N, 3] next, float[N, 3] out) {
          goes = Identity (go)
          next = Tanh (s)
          out = Identity (next)
        }>
      mean = ReduceMean <keepdims = 0> (all, first)
      y = Add (last, mean)
    }"""

SCANNED = """
    net (float[N, 5, 3] x) => (float[N, 5, 3] y) <int64[1] time = {1}> {
      start = ReduceSum <keepdims = 0> (x, time)
      last, sums = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
        body = step (float[N, 3] s, float[N, 3] one) => (float[N, 3] next, float[N, 3] out) {
          next = Add (s, one)
          out = Identity (next)
        }> (start, x)
      y = Relu (sums)
    }"""


@pytest.mark.parametrize(("text", "sizes"), [(STACKED, (3,)), (SCANNED, (5, 3))], ids=["Loop", "Scan"])
def test_a_dynamic_batch_through_an_island_of_control_flow(text: str, sizes: tuple[int, ...]) -> None:
    """One program computes every batch; one of no samples is an error or empty, and never ends the process."""
    pytest.importorskip("onnxruntime")
    module = qmlir.load(parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> {text}'))
    random = np.random.default_rng(0)
    samples = [{"x": random.standard_normal((2, *sizes), np.float32)} for _ in range(4)]
    quantized = qmlir.quantize(module, samples, validate=False).module
    program = qmlir.compile(quantized, codegen="llvm")
    for count in (1, 2, 5):
        given = {"x": random.standard_normal((count, *sizes), np.float32)}
        expected = qmlir.interpret(quantized, given)["y"]
        np.testing.assert_array_equal(program(given)["y"], expected)
    empty = {"x": np.zeros((0, *sizes), np.float32)}
    for run in (partial(qmlir.interpret, module), program):
        if text == STACKED:
            assert run(empty)["y"].shape == (0, *sizes)
        else:  # ONNX Runtime divides by zero
            with pytest.raises(DiagnosticError, match="crashes on inputs without elements: 'start'") as raised:
                run(empty)
            assert "\n" not in str(raised.value)
