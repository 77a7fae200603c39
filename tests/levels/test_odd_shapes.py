"""Chains of operators on odd shapes: compiled code has the interpreter's bits, in float and quantized.

Shapes have axes of one element at every place, axes without elements, and 0 to 6 axes. What fuses, splits or tiles by
rows is found by chains of operators; a program computes several chains.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import diagnostic_handler
from tests.support.nets import Net
from tests.support.sampled import seeds

Shape = tuple[int, ...]

SHAPES: Sequence[Shape] = (
    (), (1,), (3,), (0,), (4, 1), (1, 20), (3, 0), (0, 4), (2, 1, 1), (1, 3, 5), (17, 1, 1), (1, 1, 32), (2, 0, 3),
    (2, 2, 18, 1), (2, 3, 1, 18), (1, 1, 18, 1), (1, 1, 1, 1), (2, 16, 1, 1), (2, 4, 16, 2), (1, 0, 2, 2), (2, 3, 0, 4),
    (2, 2, 4, 1, 4), (2, 2, 1, 1, 18), (1, 2, 1, 3, 1, 2), (2, 2, 2, 2, 2, 2),
)  # fmt: skip


@dataclass
class Chain:
    """A value of a net under construction."""

    net: Net
    random: np.random.Generator
    name: str
    shape: Shape
    has_products: bool = field(default=False)
    """Whether products of floats are added up, in an order of the program's own."""

    def node(self, op_type: str, *others: Array | float, **attributes: object) -> None:
        """An operator on the value and constants."""
        self.name = self.net.node(op_type, self.name, *map(self.net.constant, others), **attributes)

    def floats(self, *shape: int) -> Array:
        return self.random.uniform(0.5, 1.5, shape).astype(np.float32)


Step = Callable[[Chain], None]


def _same(op_type: str, **attributes: object) -> Step:
    return lambda at: at.node(op_type, **attributes)


def _weighted(op_type: str, weights: int, first: int = 1, **attributes: object) -> Step:
    """An operator with `weights` vectors along the axis `first`."""
    return lambda at: at.node(op_type, *(at.floats(at.shape[first]) for _ in range(weights)), **attributes)


def _global_pool(op_type: str) -> Step:
    def write(at: Chain) -> None:
        at.node(op_type)
        at.shape = (*at.shape[:2], *(1 for _ in at.shape[2:]))

    return write


def _pool(op_type: str) -> Step:
    def write(at: Chain) -> None:
        kernel = [min(2, size) for size in at.shape[2:]]
        at.node(op_type, kernel_shape=kernel)
        at.shape = (*at.shape[:2], *(size - taken + 1 for size, taken in zip(at.shape[2:], kernel, strict=True)))

    return write


def _reduced(op_type: str, axes: Callable[[int], list[int]], *, keeps: bool) -> Step:
    def write(at: Chain) -> None:
        taken = axes(len(at.shape))
        at.node(op_type, np.array(taken, np.int64), keepdims=int(keeps))
        sizes = [(1 if axis in taken else size, axis in taken) for axis, size in enumerate(at.shape)]
        at.shape = tuple(size for size, is_gone in sizes if keeps or not is_gone)

    return write


def _sliced(axes: Callable[[int], list[int]], backwards: Callable[[int], bool], first: int, last: int) -> Step:
    """A slice along `axes`: from the end where `backwards` says so, otherwise from `first` to before `last`."""

    def write(at: Chain) -> None:
        taken = axes(len(at.shape))
        turned = [backwards(axis) for axis in taken]
        starts = [-1 if each else first for each in turned]
        ends = [-(2**62) if each else last for each in turned]
        steps = [-1 if each else 1 for each in turned]
        at.node("Slice", *(np.array(each, np.int64) for each in (starts, ends, taken, steps)))
        shape = list(at.shape)
        for axis, each in zip(taken, turned, strict=True):
            shape[axis] = shape[axis] if each else len(range(shape[axis])[first:last])
        at.shape = tuple(shape)

    return write


def _moved(write_node: Step, shape: Callable[[Shape], Shape]) -> Step:
    def write(at: Chain) -> None:
        write_node(at)
        at.shape = shape(at.shape)

    return write


def _product(op_type: str, weights: Callable[[Shape], Shape], shape: Callable[[Shape], Shape]) -> Step:
    def write(at: Chain) -> None:
        at.node(op_type, at.floats(*weights(at.shape)))
        at.shape, at.has_products = shape(at.shape), True

    return write


def _joined(at: Chain) -> None:
    at.name = at.net.node("Concat", at.name, at.net.node("Relu", at.name), axis=0)
    at.shape = (2 * at.shape[0], *at.shape[1:])


def _chosen(at: Chain) -> None:
    is_above = at.net.node("Greater", at.name, at.net.constant(np.float32(0)))
    at.name = at.net.node("Where", is_above, at.name, at.net.constant(np.float32(0.25)))


def _all(rank: int) -> list[int]:
    return list(range(rank))


@dataclass(frozen=True)
class Family:
    """Operators, the ranks that they take, and from which axis on there must be elements."""

    step: Step
    least: int = 0
    most: int = 6
    filled: int | None = None

    def takes(self, shape: Shape) -> bool:
        filled = () if self.filled is None else shape[self.filled :]
        return self.least <= len(shape) <= self.most and math.prod(filled) > 0


ELEMENTWISE = ("Relu", "Sigmoid", "Tanh", "Exp", "Neg", "Abs", "HardSwish", "Erf", "Gelu")

FAMILIES: dict[str, Family] = {
    **{name: Family(_same(name)) for name in ELEMENTWISE},
    "Softmax": Family(lambda at: at.node("Softmax", axis=len(at.shape) // 2), 1),
    "LogSoftmax": Family(_same("LogSoftmax", axis=-1), 1),
    "LayerNormalization": Family(_weighted("LayerNormalization", 1, -1), 1, filled=-1),
    "LayerNormalization of images": Family(
        lambda at: at.node("LayerNormalization", at.floats(*at.shape[2:]), axis=2), 3, filled=2
    ),
    "InstanceNormalization": Family(_weighted("InstanceNormalization", 2), 3, filled=2),
    "BatchNormalization": Family(_weighted("BatchNormalization", 4), 2),
    "GroupNormalization": Family(_weighted("GroupNormalization", 2, num_groups=1), 3, filled=1),
    "GlobalAveragePool": Family(_global_pool("GlobalAveragePool"), 3, 5, 2),
    "GlobalMaxPool": Family(_global_pool("GlobalMaxPool"), 3, 5, 2),
    "AveragePool": Family(_pool("AveragePool"), 3, 5, 2),
    "MaxPool": Family(_pool("MaxPool"), 3, 5, 2),
    **{
        f"{name} {which}": Family(_reduced(name, axes, keeps=which != "middle"), 1, filled=0)
        for name in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp", "ReduceProd")
        for which, axes in {
            "last": lambda rank: [rank - 1],
            "first": lambda rank: [0],
            "all": _all,
            "middle": lambda rank: list(range(1, rank))[:2] or [0],
        }.items()
    },
    "turned": Family(_sliced(_all, lambda axis: True, 0, 0), 1),
    "turned along one axis": Family(_sliced(_all, lambda axis: axis % 2 == 1, 1, 99), 2),
    "first": Family(_sliced(lambda rank: [0], lambda axis: False, 0, 1), 1),
    "none": Family(_sliced(lambda rank: [rank - 1], lambda axis: False, 0, 0), 1),
    "Transpose": Family(
        _moved(lambda at: at.node("Transpose", perm=_all(len(at.shape))[::-1]), lambda shape: shape[::-1]), 1
    ),
    "Flatten": Family(_moved(_same("Flatten"), lambda shape: (shape[0], math.prod(shape[1:]))), 1),
    "Squeeze": Family(_moved(_same("Squeeze"), lambda shape: tuple(size for size in shape if size != 1))),
    "Tile": Family(
        _moved(
            lambda at: at.node("Tile", np.full(len(at.shape), 2)), lambda shape: tuple(2 * size for size in shape)
        ), 1, 4,
    ),
    "Pad": Family(
        _moved(
            lambda at: at.node("Pad", np.repeat([1, 0], len(at.shape))), lambda shape: tuple(1 + size for size in shape)
        ), 1,
    ),
    "Gather": Family(
        _moved(lambda at: at.node("Gather", np.array([0, -1]), axis=-1), lambda shape: (*shape[:-1], 2)), 1, filled=-1
    ),
    "CumSum": Family(lambda at: at.node("CumSum", np.int64(len(at.shape) - 1)), 1),
    "Concat": Family(_joined, 1),
    "Where": Family(_chosen),
    "Add": Family(lambda at: at.node("Add", at.floats(*at.shape[-1:]))),
    "Mul": Family(lambda at: at.node("Mul", at.floats(*at.shape))),
    "MatMul": Family(_product("MatMul", lambda shape: (shape[-1], 3), lambda shape: (*shape[:-1], 3)), 1),
    "Conv": Family(
        _product(
            "Conv", lambda shape: (3, shape[1], *(1 for _ in shape[2:])), lambda shape: (shape[0], 3, *shape[2:])
        ), 3, 5, 1,
    ),
}  # fmt: skip


def _chain(net: Net, random: Random, numbers: np.random.Generator) -> Chain:
    shape = random.choice(SHAPES)
    chain = Chain(net, numbers, net.input(numbers.uniform(-1, 1, shape).astype(np.float32)), shape)
    for _ in range(random.randint(1, 3)):
        name = random.choice([name for name, family in FAMILIES.items() if family.takes(chain.shape)])
        FAMILIES[name].step(chain)
    return chain


CHAINS = 6


@pytest.mark.parametrize("seed", seeds(2, 120))
def test_odd_shapes(seed: int) -> None:
    random, numbers, net = Random(seed), np.random.default_rng(seed), Net()
    chains = [_chain(net, random, numbers) for _ in range(CHAINS)]
    with diagnostic_handler(lambda diagnostic: None):
        module = qmlir.load(net.model(*(chain.name for chain in chains)))
        samples = [
            {name: numbers.uniform(-1, 1, array.shape).astype(np.float32) for name, array in net.feeds.items()}
            for _ in range(3)
        ]
        quantized = qmlir.quantize(module, samples, validate=False).module
    emitter = random.choice(["llvm", "llvm", "numba"])
    for made in (module, quantized):
        expected, found = qmlir.interpret(made, net.feeds), qmlir.compile(made, codegen=emitter)(net.feeds)
        for chain in chains:
            assert expected[chain.name].shape == chain.shape
            if chain.has_products and made is module:
                np.testing.assert_allclose(found[chain.name], expected[chain.name], rtol=1e-5, atol=1e-5)
            else:
                np.testing.assert_array_equal(found[chain.name], expected[chain.name], chain.name)


@pytest.mark.parametrize("shape", [(2, 2, 18, 1), (2, 2, 1, 1, 18)])
@pytest.mark.parametrize("norm", ["Softmax", "LayerNormalization of images", "InstanceNormalization"])
def test_a_pool_reads_the_rows_of_a_norm(norm: str, shape: Shape) -> None:
    numbers, net = np.random.default_rng(0), Net()
    chain = Chain(net, numbers, net.input(numbers.uniform(-1, 1, shape).astype(np.float32)), shape)
    for name in (norm, "GlobalAveragePool"):
        FAMILIES[name].step(chain)
    module = qmlir.load(net.model(chain.name))
    np.testing.assert_array_equal(
        qmlir.compile(module, codegen="llvm")(net.feeds)[chain.name], qmlir.interpret(module, net.feeds)[chain.name]
    )
