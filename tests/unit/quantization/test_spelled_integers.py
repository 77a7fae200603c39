"""Integer arithmetic that is spelled in operators, by a formula in NumPy: random multipliers and zero points."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import qmlir
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler
from tests.support.nets import Net

ROWS, STEP = 50, np.float32(0.0125)


def layer(seed: int) -> tuple[ModelProto, np.ndarray, np.ndarray]:
    """MatMulInteger, a bias and a requantization in operators; an input, and the result by the formula."""
    random = np.random.default_rng(seed)
    terms, channels = int(random.integers(1, 40)), int(random.integers(1, 9))
    dtype: Any = (np.uint8, np.int8)[random.integers(2)]
    limits = np.iinfo(dtype)
    x = random.integers(limits.min, limits.max + 1, (ROWS, terms)).astype(dtype)
    w = random.integers(-128, 128, (terms, channels)).astype(np.int8)
    b = random.integers(-5000, 5000, channels).astype(np.int32)
    shape = ((), (channels,))[random.integers(2)]
    powers = random.integers(-9, -2, shape) * np.log10(2)  # products that are ties
    m = np.asarray(10.0 ** (powers if random.integers(2) else random.uniform(-5, 0, shape)), np.float32)
    low, high = (limits.min + random.integers(0, 9), limits.max - random.integers(0, 9))
    z, x_zero, w_zero = (random.integers(*ends) for ends in ((low, high + 1), (limits.min, limits.max + 1), (-3, 4)))
    tensors = {
        "w": w, "b": b, "m": m, "xz": dtype(x_zero), "wz": np.int8(w_zero), "z": np.float32(z), "low": np.float32(low),
        "high": np.float32(high), "step": STEP, "yz": dtype(z),
    }  # fmt: skip
    stored = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        helper.make_node("MatMulInteger", ["x", "w", "xz", "wz"], ["sums"]),
        helper.make_node("Add", ["sums", "b"], ["total"]),
        helper.make_node("Cast", ["total"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["float", "m"], ["scaled"]),
        helper.make_node("Round", ["scaled"], ["rounded"]),
        helper.make_node("Add", ["rounded", "z"], ["shifted"]),
        helper.make_node("Clip", ["shifted", "low", "high"], ["clipped"]),
        helper.make_node("Cast", ["clipped"], ["stored"], to=stored),
        helper.make_node("DequantizeLinear", ["stored", "step", "yz"], ["y"]),
    ]
    ports = [("x", stored, [ROWS, terms]), ("y", TensorProto.FLOAT, [ROWS, channels])]
    infos = [helper.make_tensor_value_info(*port) for port in ports]
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in tensors.items()]
    graph = helper.make_graph(nodes, "net", infos[:1], infos[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    total = (x.astype(np.int64) - x_zero) @ (w.astype(np.int64) - w_zero) + b
    integers = np.clip(np.rint(total.astype(np.float32) * m).astype(np.int64) + z, low, high)
    return model, x, STEP * (integers - z).astype(np.float32)


@pytest.mark.parametrize("seed", range(24))
def test_a_layer_of_operators_is_one_operation(seed: int) -> None:
    model, x, expected = layer(seed)
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        module = qmlir.load(model)
    assert not said
    assert {op.name for op in module.walk()} <= {
        "builtin.module", "func.func", "func.return", "nn.constant", "nn.fully_connected", "nn.cast", "quant.scast",
        "quant.dcast",
    }  # fmt: skip
    np.testing.assert_array_equal(qmlir.interpret(module, {"x": x})["y"], expected)


def test_a_raised_layer_is_compiled() -> None:
    model, x, expected = layer(1)
    np.testing.assert_array_equal(qmlir.compile(qmlir.load(model))({"x": x})["y"], expected)


class Spelling:
    """Integer arithmetic of quantized data in ONNX operators, and what NumPy computes in their place."""

    def __init__(self, array: np.ndarray, zero: int = 0) -> None:
        self.net = Net()
        self.name, self.array = self.stored(array, zero)

    def stored(self, array: np.ndarray, zero: int) -> tuple[str, np.ndarray]:
        """These integers, quantized from floats."""
        x = self.net.input((array.astype(np.int64) - zero).astype(np.float32))
        points = np.float32(1), array.dtype.type(zero)
        return self.net.node("QuantizeLinear", x, *map(self.net.constant, points)), array

    def node(self, op_type: str, array: Any, *inputs: str, **attributes: Any) -> None:
        self.name, self.array = self.net.node(op_type, self.name, *inputs, **attributes), array

    def combine(self, op_type: str, number: Any, name: str | None = None) -> None:
        """An operator on the value and a constant, or a tensor of another name."""
        array = np.asarray(number, self.array.dtype)
        compute = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}[op_type]
        self.node(op_type, compute(self.array, array), name or self.net.constant(array))

    def cast(self, kind: str) -> None:
        self.node("Cast", self.array.astype(kind), to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def rounded(self, multiplier: Any) -> None:
        self.cast("f")
        self.combine("Mul", multiplier)
        self.node("Round", np.rint(self.array))

    def limited(self, kind: str) -> None:
        limits = np.iinfo(kind)
        self.combine("Max", limits.min)
        self.combine("Min", limits.max)
        self.cast(kind)

    def transposed(self) -> None:
        order = list(range(self.array.ndim))[::-1]
        self.node("Transpose", self.array.transpose(order), perm=order)

    def check(self) -> int:
        """Compares the imported model with NumPy; returns the number of requantizations that remain in operators."""
        module = qmlir.load(self.net.model(self.name))
        (found,) = qmlir.interpret(module, self.net.feeds).values()
        np.testing.assert_array_equal(found, self.array, strict=True)
        operations = list(module.walk())
        assert all(use.operation in operations for op in operations for each in op.results for use in each.uses)
        return sum(op.name == "nn.round" for op in operations)


Step = tuple[Any, ...]


@pytest.mark.parametrize(
    ("kind", "numbers", "steps"),
    [
        pytest.param("b", [[1, 2]], [("cast", "f"), ("transposed",)], id="moved-floats-are-an-output"),
        pytest.param("b", [-128], [("combine", "Sub", 3), ("rounded", 0.25), ("limited", "b")], id="i8-wraps"),
        pytest.param("h", [32767], [("combine", "Add", 10), ("limited", "b")], id="i16-zero-point-wraps"),
        pytest.param(
            "b", [100], [("cast", "i"), ("combine", "Sub", -2147483600), ("rounded", 1e-8), ("limited", "b")],
            id="i32-difference-wraps",
        ),
        pytest.param(
            "b", [[1, 2]], [("rounded", 0.25), ("combine", "Add", [[7], [7]]), ("limited", "b")],
            id="zero-point-broadcasts",
        ),
        pytest.param("b", [1, 2], [("rounded", [[0.25]]), ("limited", "b")], id="multiplier-broadcasts"),
        pytest.param(
            "b", [1, 2], [("cast", "i"), ("combine", "Sub", [[3]]), ("rounded", 0.25), ("limited", "b")],
            id="difference-broadcasts",
        ),
        pytest.param("b", [-1], [("cast", "I"), ("rounded", 0.001), ("limited", "b")], id="cast-to-unsigned"),
        pytest.param(
            "b", [0],
            [("cast", "i"), ("combine", "Add", 17741773), ("cast", "f"), ("cast", "i"), ("combine", "Sub", 17741700),
             ("rounded", 1.0), ("limited", "b")],
            id="f32-rounds-sums",
        ),
        pytest.param(
            "b", [0], [("cast", "l"), ("combine", "Add", (1 << 32) + 3), ("rounded", 1e-9), ("limited", "b")],
            id="i64-constant",
        ),
    ],
)  # fmt: skip
def test_arithmetic_that_is_not_exact_is_not_raised(kind: str, numbers: Any, steps: list[Step]) -> None:
    spelling = Spelling(np.asarray(numbers, kind))
    for name, *arguments in steps:
        getattr(spelling, name)(*arguments)
    spelling.check()


def test_a_mean_leaves_no_detached_operation() -> None:
    spelling = Spelling(np.asarray([[[[1, 2], [3, 5]]]], np.int8))
    spelling.cast("i")
    total = spelling.array.sum((2, 3), np.int32, keepdims=True)
    spelling.node("ReduceSum", total, spelling.net.constant(np.asarray([2, 3])))
    spelling.rounded(0.25)
    spelling.limited("b")
    assert spelling.check() == 0


class RandomSpelling(Spelling):
    """Random arithmetic, much of which wraps, rounds or broadcasts."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        super().__init__(self.integers(), self.one(0, 0, 3))
        for _ in range(self.random.integers(5)):
            getattr(self, self.one("add", "add", "widen", "widen", "both", "relu", "move", "product", "requantize"))()
        self.requantize()

    def one(self, *choices: Any) -> Any:
        return choices[self.random.integers(len(choices))]

    def integers(self) -> np.ndarray:
        """Integers of the whole range of a type."""
        limits = np.iinfo(self.one("b", "B", "h"))
        shape: tuple[int, ...] = self.one((1, 3), (3,), (2, 3), (1, 1))
        array = self.random.integers(limits.min, limits.max, shape).astype(limits.dtype)
        array.flat[0] = self.one(limits.min, limits.max)
        return array

    def constant(self, number: Any) -> np.ndarray:
        """An array of equal elements, of any shape to which the value or the array can be broadcast."""
        shape = self.one(*[()] * 12, (1,), (1, 1), (2, 1), (3,), (1, 1, 1))
        return np.full(() if shape == (3,) and self.array.shape[-1] == 2 else shape, number)

    def add(self) -> None:
        """A zero point, or a larger number; it may wrap."""
        limits = (0, 250) if self.array.dtype.kind == "u" else (-120, 120)
        large = {4: [70000, 17741773], 8: [17741773, (1 << 32) + 3]}.get(self.array.dtype.itemsize, [])
        self.combine(self.one("Add", "Sub"), self.constant(self.one(3, 3, 10, *limits, *large)))

    def both(self) -> None:
        """Arithmetic with other stored integers of equal type and shape, or with the value itself."""
        other = self.integers()
        is_alike = other.dtype == self.array.dtype and other.shape == self.array.shape
        name, array = self.stored(other, 0) if is_alike else (self.name, self.array)
        self.combine(self.one("Add", "Sub", "Mul"), array, name)

    def product(self) -> None:
        if self.array.dtype.itemsize == 1 and self.array.ndim == 2:
            weights = self.random.integers(-128, 127, (self.array.shape[1], 3)).astype(np.int8)
            point = self.array.dtype.type(self.one(0, 5))
            names = [self.net.constant(each) for each in (weights, point)]
            self.node("MatMulInteger", (self.array.astype(np.int32) - point) @ weights.astype(np.int32), *names)

    def relu(self) -> None:
        self.combine("Max", self.constant(0))

    def move(self) -> None:
        shape = self.one(None, None, (1, -1), (-1,), (-1, 1))
        if shape is None:
            self.transposed()
        else:
            self.node("Reshape", self.array.reshape(shape), self.net.constant(np.int64(shape)))

    def widen(self) -> None:
        """A cast that may also lose bits or round; none from floats to integers that do not hold them."""
        kind = self.one(*"bBhiiIlf")
        if self.array.dtype.kind == "f" and kind != "f":
            limits, array = np.iinfo(kind), self.array.astype(float)
            kind = kind if (limits.min <= array).all() and (array <= limits.max).all() else "f"
        self.cast(kind)

    def requantize(self) -> None:
        if self.random.integers(3):
            self.rounded(self.constant(self.one(0.25, 0.1, 1.0, 0.001, 1e-6)))
        if zero := self.one(0, 0, 7):
            self.combine("Add", self.constant(zero))
        if self.array.dtype not in (np.int32, np.float32):
            self.cast("i")
        self.limited(self.one("b", "B"))


@pytest.mark.parametrize("first", range(0, 48, 8))
def test_random_arithmetic_computes_the_integers_of_numpy(first: int) -> None:
    assert 0 in [RandomSpelling(seed).check() for seed in range(first, first + 8)]
