"""Shapes that exporters compute at run time: what is known of them is known after import.

Each model has a batch "N" of unknown size. Its module computes no shape, and gives what ONNX's reference gives.
"""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, parser
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp

import qmlir
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.ir.builtin_types import tensor
from qmlir.ir.diagnostics import DiagnosticError

N = DYNAMIC_INDEX


def model(text: str, opset: int = 21) -> ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')


def result_shape(module: ModuleOp) -> tuple[int, ...]:
    (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
    return tensor(function.function_type.outputs.data[0]).get_shape()


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("nn.")]


def check_run(proto: ModelProto, module: ModuleOp, *shape: int) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    results = qmlir.interpret(module, [x])
    evaluator: Any = ReferenceEvaluator(proto)
    np.testing.assert_array_equal(next(iter(results.values())), evaluator.run(None, {"x": x})[0])


# What a list of sizes is made of; each ends in a Reshape of x to `sizes`, and says the shape that it gives.
CHAINS = {
    "the view of a batch": (
        """
        int64 zero = {0}, int64[1] front = {0}, int64[1] rest = {-1}
        >{
        shape = Shape (x)
        size = Gather (shape, zero)
        batch = Unsqueeze (size, front)
        sizes = Concat <axis = 0> (batch, rest)
        """,
        (N, 60),
    ),
    "a part of the shape": (
        """
        int64[1] rest = {-1}
        >{
        batch = Shape <end = 2> (x)
        sizes = Concat <axis = 0> (batch, rest)
        """,
        (N, 3, 20),
    ),
    "a slice of the shape": (
        """
        int64[1] first = {0}, int64[1] last = {-2}, int64[1] rest = {-1}
        >{
        shape = Shape (x)
        front = Slice (shape, first, last)
        sizes = Concat <axis = 0> (front, rest)
        """,
        (N, 3, 20),
    ),
    "a product of sizes": (
        """
        int64[1] rest = {-1}
        >{
        inner = Shape <start = 1> (x)
        count = ReduceProd (inner)
        sizes = Concat <axis = 0> (rest, count)
        """,
        (N, 60),
    ),
    "arithmetic": (
        """
        int64 last = {3}, int64 two = {2}, int64[1] front = {0}, int64[1] rest = {-1}, int64[1] copied = {0}
        >{
        shape = Shape (x)
        size = Gather (shape, last)
        more = Add (size, two)
        half = Div (more, two)
        heads = Sub (half, two)
        head = Unsqueeze (heads, front)
        sizes = Concat <axis = 0> (copied, rest, head)
        """,
        (N, 60, 1),
    ),
    "a mask over the shape": (
        """
        int64[4] want = {0, -1, 4, 5}, int64[1] none = {-1}
        >{
        shape = Shape (x)
        is_open = Equal (want, none)
        sizes = Where (is_open, shape, want)
        """,
        (N, 3, 4, 5),
    ),
    "a split shape": (
        """
        int64[1] rest = {-1}
        >{
        shape = Shape (x)
        a, b = Split <num_outputs = 2> (shape)
        product = ReduceProd (b)
        sizes = Concat <axis = 0> (rest, product)
        """,
        (N, 20),
    ),
    "the number of known elements": (
        """
        int64[1] front = {0}, int64[1] rest = {-1},
        float[3, 4] weights = {1., 2., 3., 4., 5., 6., 7., 8., 9., 1., 2., 3.}
        >{
        count = Size (weights)
        last = Unsqueeze (count, front)
        sizes = Concat <axis = 0> (rest, last)
        """,
        (N, 12),
    ),
    "sizes that pass through floats": (
        """
        int64 last = {3}, float half = {0.5}, int64[1] front = {0}, int64[1] rest = {-1}
        >{
        shape = Shape (x)
        size = Gather (shape, last)
        real = Cast <to = 1> (size)
        scaled = Mul (real, half)
        floor = Floor (scaled)
        whole = Cast <to = 7> (floor)
        head = Unsqueeze (whole, front)
        sizes = Concat <axis = 0> (rest, head)
        """,
        (N, 2),
    ),
    "a range of numbers": (
        """
        int64 zero = {0}, int64 last = {3}, int64 one = {1}, int64[1] rest = {-1},
        int64[1] front = {1}, int64[1] end = {3}
        >{
        shape = Shape (x)
        size = Gather (shape, last)
        numbers = Range (zero, size, one)
        middle = Slice (numbers, front, end)
        sizes = Concat <axis = 0> (rest, middle)
        """,
        (N, 1, 2),
    ),
    "ones": (
        """
        int64[1] rest = {-1}, int64 rank = {2}, int64[1] front = {0}
        >{
        count = Unsqueeze (rank, front)
        ones = ConstantOfShape <value = int64[1] {1}> (count)
        sizes = Concat <axis = 0> (rest, ones)
        """,
        (N, 1, 1),
    ),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_reshape(chain: str) -> None:
    body, expected = CHAINS[chain]
    proto = model(f"net (float[N, 3, 4, 5] x) => (y) <{body} y = Reshape (x, sizes) }}")
    module = qmlir.load(proto)
    assert names(module) == ["nn.reshape"]
    assert result_shape(module) == expected
    check_run(proto, module, 2, 3, 4, 5)


def test_the_size_of_what_the_data_came_from() -> None:
    """The batch is read off the input of the network; the layers between leave it as it is."""
    proto = model("""
        net (float[N, 3, 4, 4] x) => (y)
        <float[2, 3, 1, 1] w = {1., 2., 3., 4., 5., 6.}, int64 zero = {0}, int64[1] front = {0}, int64[1] rest = {-1}>
        {
          a = Conv (x, w)
          b = Relu (a)
          c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
          d = Transpose <perm = [1, 0, 2, 3]> (c)
          shape = Shape (x)
          size = Gather (shape, zero)
          batch = Unsqueeze (size, front)
          sizes = Concat <axis = 0> (rest, batch)
          y = Reshape (d, sizes)
        }""")
    module = qmlir.load(proto)
    assert "nn.shape" not in names(module)
    assert result_shape(module) == (2 * 2 * 2, N)
    check_run(proto, module, 3, 3, 4, 4)


def test_another_unknown_size_is_not_taken_for_the_batch() -> None:
    """M may differ from N: then -1 cannot be told before the model runs."""
    proto = model("""
        net (float[N, 6] x, float[M] other) => (y) <int64[1] rest = {-1}>
        {
          size = Shape (other)
          sizes = Concat <axis = 0> (size, rest)
          y = Reshape (x, sizes)
        }""")
    module = qmlir.load(proto)
    assert result_shape(module) == (N, N)
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    results = qmlir.interpret(module, [x, np.zeros(4, np.float32)])
    np.testing.assert_array_equal(results["y"], x.reshape(4, 3))


def test_expand_keeps_what_is_known() -> None:
    """PyTorch's `expand(N, -1, 5)`: a mask makes 1 of -1. The batch is not known, the rest is."""
    proto = model("""
        net (float[N, 3, 1] x) => (y)
        <int64 zero = {0}, int64[1] front = {0}, int64[2] others = {-1, 5}, int64[1] none = {-1}, int64[1] rank = {3}>
        {
          shape = Shape (x)
          size = Gather (shape, zero)
          batch = Unsqueeze (size, front)
          want = Concat <axis = 0> (batch, others)
          ones = ConstantOfShape <value = int64[1] {1}> (rank)
          is_open = Equal (want, none)
          sizes = Where (is_open, ones, want)
          y = Expand (x, sizes)
        }""")
    module = qmlir.load(proto)
    assert result_shape(module) == (N, 3, 5)
    check_run(proto, module, 2, 3, 1)


def test_flatten_between_two_unknown_sizes() -> None:
    proto = model("net (float[N, 3, L] x) => (y) { y = Flatten <axis = 2> (x) }")
    module = qmlir.load(proto)
    assert result_shape(module) == (N, N)
    check_run(proto, module, 2, 3, 4)
    assert qmlir.interpret(module, [np.zeros((0, 3, 4), np.float32)])["y"].shape == (0, 4)


def test_a_large_constant_of_a_shape_is_not_made() -> None:
    """One element, expanded: no gigabyte in the module."""
    module = qmlir.load(
        model("""
        net (float[N] x) => (y) <int64[2] shape = {32768, 32768}>
        {
          large = ConstantOfShape <value = float[1] {2.0}> (shape)
          total = ReduceMax (large)
          y = Add (x, total)
        }""")
    )
    constants = [op for op in module.walk() if isinstance(op, ConstantOp)]
    assert "nn.expand" in names(module)
    assert all(tensor(op.result.type).get_num_dims() == 0 for op in constants)


def test_a_small_constant_of_a_shape_is_a_constant() -> None:
    module = qmlir.load(
        model("""
        net (float[N, 2] x) => (y) <int64[1] shape = {2}>
        {
          small = ConstantOfShape <value = float[1] {2.0}> (shape)
          y = Add (x, small)
        }""")
    )
    assert names(module) == ["nn.constant", "nn.add"]


def test_a_reshape_of_known_sizes_has_no_operand() -> None:
    """-1 beside an unknown batch that is copied."""
    module = qmlir.load(model("net (float[N, 4, 5] x) => (y) <int64[2] sizes = {0, -1}> { y = Reshape (x, sizes) }"))
    (reshape,) = [op for op in module.walk() if isinstance(op, ReshapeOp)]
    assert reshape.shape is None
    assert result_shape(module) == (N, 20)


def test_a_chain_that_cannot_be_computed_says_so_when_it_runs() -> None:
    """An index out of range is the model's mistake: the import does not hide it, and does not stumble over it."""
    module = qmlir.load(
        model("""
        net (float[N, 4] x) => (y) <int64 five = {5}>
        {
          shape = Shape (x)
          y = Gather (shape, five)
        }""")
    )
    with pytest.raises(DiagnosticError, match="index 5 is out of range for 2 elements"):
        qmlir.interpret(module, [np.zeros((2, 4), np.float32)])
