"""States that a caller keeps in place: the same array for an input and a result, and arrays that only overlap."""

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import qmlir

ROWS, COLUMNS = 8, 4
STATES = {"past": "present", "old": "new", "kept": "changed"}


def _model() -> ModelProto:
    """Three states of one type: rows written by their numbers, or where a mask is, and one that is read afterwards."""
    node, value = helper.make_node, helper.make_tensor_value_info
    state = [ROWS, COLUMNS]
    nodes = [
        node("ScatterND", ["past", "place", "row"], ["present"]),
        node("Where", ["mask", "row", "old"], ["new"]),
        node("ScatterND", ["kept", "place", "row"], ["changed"]),
        node("ReduceMax", ["kept"], ["most"], keepdims=0),
    ]
    inputs = [
        *(value(name, TensorProto.FLOAT, state) for name in STATES), value("row", TensorProto.FLOAT, [1, COLUMNS]),
        value("place", TensorProto.INT64, [1, 1]), value("mask", TensorProto.BOOL, [ROWS, 1]),
    ]  # fmt: skip
    outputs = [*(value(name, TensorProto.FLOAT, state) for name in STATES.values()), value("most", 1, [])]
    graph = helper.make_graph(nodes, "states", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def _inputs() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    found = {name: generator.standard_normal((ROWS, COLUMNS)).astype(np.float32) for name in STATES}
    row = generator.standard_normal((1, COLUMNS)).astype(np.float32)
    return {**found, "row": row, "place": np.array([[5]]), "mask": np.arange(ROWS).reshape(ROWS, 1) == 2}


def _expected(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By hand: row 5 or row 2 is new."""
    found = {after: inputs[before].copy() for before, after in STATES.items()}
    for name, position in (("present", 5), ("new", 2), ("changed", 5)):
        found[name][position] = inputs["row"][0]
    return {**found, "most": inputs["kept"].max()}


@pytest.fixture(scope="module", params=[1, 2])
def program(request: pytest.FixtureRequest) -> qmlir.Program:
    return qmlir.compile(qmlir.load(_model()), threads=request.param, codegen="llvm")


def test_states_in_place_and_apart(program: qmlir.Program) -> None:
    inputs = _inputs()
    expected = _expected(inputs)
    before = {name: array.copy() for name, array in inputs.items()}
    apart = {after: np.empty_like(inputs[name]) for name, after in STATES.items()}
    for outputs in (None, apart):
        for name, array in program(inputs, outputs).items():
            np.testing.assert_array_equal(array, expected[name], name)
    for name, array in before.items():
        np.testing.assert_array_equal(inputs[name], array, name)
    found = program(inputs, {after: inputs[name] for name, after in STATES.items()})
    for name, after in STATES.items():
        assert found[after] is inputs[name]
        np.testing.assert_array_equal(inputs[name], expected[after], name)
    np.testing.assert_array_equal(found["most"], expected["most"])


def test_only_the_new_rows_are_written(program: qmlir.Program) -> None:
    """A quiet NaN with a payload stays as it is, bit by bit, and so does the memory around."""
    inputs = _inputs()
    inputs["past"].view(np.uint32)[0, 0] = 0x7FA00001
    program(inputs, {"present": inputs["past"]})
    assert inputs["past"].view(np.uint32)[0, 0] == 0x7FA00001
    assert program._only.call._in_place == [[0], [0, 1], [0, 1], []]


def test_arrays_that_share_memory_otherwise(program: qmlir.Program) -> None:
    expected = _expected(_inputs())
    # Each result over the state of another one.
    inputs = _inputs()
    found = program(inputs, {"present": inputs["old"], "new": inputs["kept"], "changed": inputs["past"]})
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], name)
    # The same memory moved by a row, and upside down.
    for shift in (slice(1, ROWS + 1), slice(ROWS - 1, None, -1)):
        memory = np.zeros((ROWS + 1, COLUMNS), np.float32)
        memory[:ROWS] = _inputs()["past"]
        found = program({**_inputs(), "past": memory[:ROWS]}, {"present": memory[shift]})
        np.testing.assert_array_equal(found["present"], expected["present"])
    # One array for two states, and for the results of both.
    inputs = _inputs()
    inputs["old"] = inputs["past"]
    both = _expected(inputs)
    found = program(inputs, {"present": inputs["past"]})
    for name in ("present", "new"):
        np.testing.assert_array_equal(found[name], both[name], name)
    inputs = _inputs()
    inputs["old"] = inputs["past"]
    program(inputs, {"present": inputs["past"], "new": inputs["past"]})
    np.testing.assert_array_equal(inputs["past"], both["new"])
