"""Attentions whose products go by rows: any shape, equal to the interpreter in every bit, for any number of threads."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.memref import AllocOp

import qmlir
from qmlir.dialects.kernel.packed_ops import PackedMatMulOp
from qmlir.dialects.kernel.rows import RowFusionOp
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE

Sizes = tuple[int, int, int, int, int, int]
"""Batch, heads of queries, heads of keys, queries, keys, and the size of a head."""


def _shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    batch, heads, shared, queries, keys, size = sizes
    return {
        "q": (batch, heads, queries, size),
        "k": (batch, shared, keys, size),
        "v": (batch, shared, keys, size),
        "mask": (queries, keys),
    }


def _inputs(sizes: Sizes, seed: int) -> dict[str, npt.NDArray[Any]]:
    """Random numbers; a part of the keys is masked, and for the last query all of them."""
    rng = np.random.default_rng(seed)
    arrays = {name: rng.normal(0, 2, shape).astype(np.float32) for name, shape in _shapes(sizes).items()}
    mask = rng.random((sizes[3], sizes[4])) < 0.8
    mask[-1] = False
    return {**arrays, "mask": mask}


@cache
def _quantized(sizes: Sizes) -> ModuleOp:
    """ONNX's Attention with a Boolean mask, in 8 bits."""
    types = {name: TensorProto.BOOL if name == "mask" else TensorProto.FLOAT for name in _shapes(sizes)}
    ports = [helper.make_tensor_value_info(name, types[name], shape) for name, shape in _shapes(sizes).items()]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, (*sizes[:2], sizes[3], sizes[5]))
    node = helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"], name="attention")
    graph = helper.make_graph([node], "attention", ports, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    return qmlir.quantize(qmlir.load(model), [_inputs(sizes, seed) for seed in range(3)]).module


def _scheduled(sizes: Sizes, isa: str, threads: int) -> ModuleOp:
    module = _quantized(sizes).clone()
    return run_pipeline(module, COMPILE.text("lower", "fuse", "schedule", isa=isa, threads=threads))


def _joined(module: ModuleOp) -> int:
    return sum(isinstance(op, PackedMatMulOp) and isinstance(op.parent_op(), RowFusionOp) for op in module.walk())


@pytest.mark.parametrize(
    ("sizes", "isa", "products"),
    [
        ((1, 3, 3, 16, 32, 8), "generic", 2),
        ((1, 1, 1, 64, 320, 4), "avx512-vnni", 2),  # one head, of which not all rows are near at once
        ((2, 2, 2, 24, 40, 12), "avx512-vnni", 2),  # batches and heads
        ((2, 3, 3, 9, 20, 8), "avx2", 2),  # nine rows of a head at a time
        ((2, 6, 2, 16, 24, 8), "avx2", 2),  # three heads share keys
        ((1, 8, 8, 1, 64, 8), "avx512-vnni", 0),  # one query, as in a step of a decoder
        ((1, 2, 2, 16, 19, 8), "avx512-vnni", 0),  # pairs would be read past the end of 19
        ((1, 2, 2, 61, 512, 8), "avx2", 2),  # no divisor of 61: the last rows are repeated
    ],
)
def test_scheduled_attentions_equal_the_quantized_ones(sizes: Sizes, isa: str, products: int) -> None:
    module, inputs = _scheduled(sizes, isa, 2), _inputs(sizes, 9)
    assert _joined(module) == products
    wanted = qmlir.interpret(_quantized(sizes), inputs)["y"]
    assert np.array_equal(qmlir.interpret(module, inputs)["y"], wanted)
    run_pipeline(module, COMPILE.text("bufferize"))
    assert np.array_equal(qmlir.interpret(module, inputs)["y"], wanted)


def _drawn(seed: int) -> Sizes:
    """An attention of any sizes that are small."""
    rng = np.random.default_rng(seed)
    batch, shared, groups, queries, keys, size = (int(rng.integers(1, most)) for most in (3, 4, 3, 40, 70, 20))
    return batch, shared * groups, shared, queries, keys, size


@pytest.mark.parametrize("seed", range(4))
def test_attentions_of_any_sizes(seed: int) -> None:
    sizes = _drawn(seed)
    inputs = _inputs(sizes, 9)
    module = run_pipeline(_scheduled(sizes, "avx2-vnni", 3), COMPILE.text("bufferize"))
    wanted = qmlir.interpret(_quantized(sizes), inputs)["y"]
    assert np.array_equal(qmlir.interpret(module, inputs)["y"], wanted)


@pytest.mark.parametrize("threads", [1, 2])
def test_loops_compute_the_same(threads: int) -> None:
    sizes = (1, 2, 2, 8, 16, 4)
    module, inputs = _scheduled(sizes, "avx512-vnni", threads), _inputs(sizes, 9)
    assert _joined(module) == 2
    run_pipeline(module, COMPILE.text("bufferize", "loops"))
    assert np.array_equal(qmlir.interpret(module, inputs)["y"], qmlir.interpret(_quantized(sizes), inputs)["y"])


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads_computes_the_same(threads: int) -> None:
    sizes = (2, 4, 2, 24, 40, 12)
    program, inputs = qmlir.compile(_quantized(sizes), threads=threads), _inputs(sizes, 9)
    wanted = qmlir.interpret(_quantized(sizes), inputs)["y"]
    assert all(np.array_equal(program(inputs)["y"], wanted) for _ in range(20))


@pytest.mark.parametrize("length", [127, 128])
def test_scores_are_no_buffer_of_the_arena(length: int) -> None:
    sizes = (1, 4, 4, length, 128, 8)
    module = run_pipeline(_scheduled(sizes, "avx2", 1), COMPILE.text("bufferize"))
    (arena,) = (op for op in module.walk() if isinstance(op, AllocOp))
    assert arena.memref.type.get_shape()[0] < sizes[1] * sizes[3] * sizes[4]
