"""Recurrent layers along an open length: steps beyond it change no state, and a reversed walk begins at its end."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i8

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.recurrent.ops import GruOp
from qmlir.dialects.nn.shapes.ops import ExpandOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.padding import outline, pad_function

CAPACITIES = {"T": 5, "N": 3}
WIDTH, HIDDEN = 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
OUTPUTS = ("Y", "Y_h", "Y_c")


def layer(folder: Path, kind: str, direction: str, *, has_lengths: bool = False, has_state: bool = False) -> ModuleOp:
    """A layer of ONNX of open length and batch, with all of its outputs."""
    rng, ways, gates = np.random.default_rng(0), 1 + (direction == "bidirectional"), GATES[kind]
    shapes = {"W": (ways, gates * HIDDEN, WIDTH), "R": (ways, gates * HIDDEN, HIDDEN), "B": (ways, 2 * gates * HIDDEN)}
    weights = [numpy_helper.from_array(rng.normal(size=each).astype(np.float32), name) for name, each in shapes.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "N", WIDTH])]
    names = ["x", "W", "R", "B", "", ""]
    if has_lengths:
        inputs.append(helper.make_tensor_value_info("ends", TensorProto.INT32, ["N"]))
        names[4] = "ends"
    if has_state:
        inputs.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [ways, "N", HIDDEN]))
        names[5] = "h"
    results = OUTPUTS if kind == "LSTM" else OUTPUTS[:2]
    node = helper.make_node(kind, names, list(results), hidden_size=HIDDEN, direction=direction)
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    graph = helper.make_graph([node], "layer", inputs, outputs, weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "layer.onnx")
    return qmlir.load(folder / "layer.onnx")


def feeds(module: ModuleOp, rng: np.random.Generator, steps: int, count: int) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, axes in outline(module).inputs.items():
        shape = [axis.at({"T": steps, "N": count}) for axis in axes]
        is_end = name == "ends"
        found[name] = (
            rng.integers(0, steps + 1, size=count, dtype=np.int32)
            if is_end
            else rng.normal(size=shape).astype(np.float32)
        )
    return found


def assert_padding_is_harmless(
    module: ModuleOp,
    *,
    tolerance: float,
    capacities: Mapping[str, int] = CAPACITIES,
    counts: tuple[int, ...] = (1, 3),
) -> None:
    padded, found = module.clone(), outline(module)
    inputs = pad_function(padded, capacities)
    rng = np.random.default_rng(1)
    for steps, count in product(range(1, CAPACITIES["T"] + 1), counts):
        sizes = {"T": steps, "N": count}
        given = feeds(module, rng, steps, count)
        wide: Mapping[str, Array] = {
            name: _widened(array, [axis.at(CAPACITIES) for axis in found.inputs[name]]) for name, array in given.items()
        }
        numbers = {port: np.array(sizes[name]) for name, port in inputs.items()}
        results = qmlir.interpret(padded, {**wide, **numbers})
        for name, wanted in qmlir.interpret(module, given).items():
            valid = results[name][tuple(slice(size) for size in wanted.shape)]
            np.testing.assert_allclose(valid, wanted, rtol=0, atol=tolerance)


def _widened(array: Array, shape: list[int]) -> Array:
    wide = np.full(shape, 7 if array.dtype == np.float32 else 0, array.dtype)
    wide[tuple(slice(size) for size in array.shape)] = array
    return wide


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("has_lengths", [False, True])
def test_float_layers(tmp_path: Path, kind: str, direction: str, has_lengths: bool) -> None:
    """The interpreter's products go through BLAS, whose sums depend on how many rows there are."""
    module = layer(tmp_path, kind, direction, has_lengths=has_lengths, has_state=has_lengths)
    assert outline(module).mixed == {"T"}
    assert_padding_is_harmless(module, tolerance=5e-6)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_quantized_layers(tmp_path: Path, kind: str, direction: str) -> None:
    module, rng = layer(tmp_path, kind, direction), np.random.default_rng(2)
    samples = [feeds(module, rng, steps, 2) for steps in (2, 5, 3, 4)]
    quantized = qmlir.quantize(module, samples, validate=False).module
    assert any("nn." in each.name and "components" in each.properties for each in quantized.walk())
    assert_padding_is_harmless(quantized, tolerance=0)


@pytest.mark.parametrize("number", [0, 1])
def test_a_quantized_layer_begins_with_a_state_of_its_type(tmp_path: Path, number: int) -> None:
    """A state of another type, as zeros have that an exporter expands, is 0 in any type. Another one is declined."""
    module, rng = layer(tmp_path, "GRU", "reverse", has_state=True), np.random.default_rng(3)
    samples = [feeds(module, rng, steps, 1) for steps in (2, 5, 3, 4)]
    quantized = qmlir.quantize(module, samples, validate=False).module
    found = next(op for op in quantized.walk() if isinstance(op, GruOp))
    block, state = found.parent_block(), found.initial_hidden
    assert block is not None
    assert state is not None
    type_ = TensorType(UniformQuantizedType.per_tensor(i8, f32, 1.0), (1, 1, HIDDEN))
    zero = ConstantOp.of(np.full((1, 1, HIDDEN), number, np.int8), type_)
    block.insert_op_before(zero, found)
    wide = build(ExpandOp, [zero.result, None], {"shape": [1, 1, HIDDEN]})
    block.insert_op_before(wide, found)
    found.operands[list(found.operands).index(state)] = wide.result
    if number:
        with pytest.raises(
            DiagnosticError, match=r"must keep one state type, but starts with .* and continues with .*"
        ):
            outline(quantized)
    else:
        assert_padding_is_harmless(quantized, tolerance=0, capacities={"T": 5, "N": 1}, counts=(1,))
