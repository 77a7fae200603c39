"""Random float networks with what a run saw of each value: the material of the property tests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import Kind, NnOp, build, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.quant.infer import element_type
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Listener
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.quantization.profiles.statistics import attach, calibrated_type

ENVIRONMENT = default_environment()
Array = np.ndarray
Seen = dict[SSAValue, Statistics]


def run_passes(module: ModuleOp, pipeline: str) -> ModuleOp:
    """`module`, after the passes."""
    context = ENVIRONMENT.new_context()
    PassManager(context, parse_pipeline(pipeline, ENVIRONMENT.passes)).run(module)
    verify(module)
    return module


class Graph:
    """A function under construction, and the data of its inputs."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.block = Block()
        self.inputs: list[Array] = []
        self.count = 0

    def array(self, *shape: int, scale: float = 1.0) -> Array:
        """Numbers around a mean of their own."""
        return (self.random.standard_normal(shape) * scale + self.random.uniform(-0.5, 0.5)).astype(np.float32)

    def input(self, array: Array, element: Any = f32) -> SSAValue:
        self.inputs.append(array)
        return self.block.insert_arg(TensorType(element, array.shape), len(self.block.args))

    def constant(self, array: Array) -> SSAValue:
        op = ConstantOp.of(array, TensorType(f32, array.shape))
        self.block.add_op(op)
        return op.result

    def cast(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def add(self, kind: type[NnOp], *operands: Any, results: int = 1, **properties: Any) -> Any:
        """A node with a name of its own; its result, or results."""
        op = self._named(build(kind, list(operands), properties, results=results))
        return op.results[0] if len(op.results) == 1 else tuple(op.results)

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        return self._named(movement.ReshapeOp(x, shape)).results[0]

    def _named(self, op: Operation) -> Operation:
        op.attributes["origin"] = StringAttr(f"{op.name.partition('.')[2]}{self.count}")
        self.count += 1
        self.block.add_op(op)
        return op

    def module(self, *outputs: SSAValue) -> ModuleOp:
        self.block.add_op(ReturnOp(*outputs))
        types = FunctionType.from_lists([arg.type for arg in self.block.args], [value.type for value in outputs])
        module = ModuleOp([FuncOp("main", types, Region(self.block))])
        verify(module)
        return module


def function_of(module: ModuleOp) -> FuncOp:
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return function


class _Watcher(Listener):
    def __init__(self) -> None:
        self.seen: Seen = {}

    def on_arguments(self, function: FuncOp, values: Sequence[Any]) -> None:
        self.seen.update((arg, Statistics.of(value)) for arg, value in zip(function.args, values, strict=True))

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        if not isinstance(op, ConstantOp):
            found = zip(op.results, results, strict=True)
            self.seen.update((r, Statistics.of(v)) for r, v in found if kind_of(element_type(r.type)) is Kind.FLOAT)


def watch(module: ModuleOp, inputs: Sequence[Array]) -> Seen:
    """What a run sees of each float value."""
    watcher = _Watcher()
    interpret(module, list(inputs), listeners=[watcher])
    return watcher.seen


def calibrate(module: ModuleOp, seen: Mapping[SSAValue, Statistics]) -> ModuleOp:
    """`module` with the ranges and statistics in it."""
    for value, statistics in list(seen.items()):
        type_ = calibrated_type(statistics.minimum, statistics.maximum, f32)
        attach(Rewriter.replace_value_with_new_type(value, TensorType(type_, shape_of(value))), statistics)
    function_of(module).update_function_type()
    verify(module)
    return module


def outputs_of(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    return list(interpret(module, list(inputs)).values())


def _bias(graph: Graph, channels: int) -> SSAValue | None:
    """One for each channel, or none; now and then too large for the scale of its channel, and 0 for the first one."""
    if graph.random.random() < 0.2:
        return None
    bias = graph.array(channels)
    if graph.random.random() < 0.2:
        bias *= np.float32(1e7)
        bias[0] = 0
    return graph.constant(bias)


def _conv(graph: Graph, x: SSAValue, out: int = 0) -> SSAValue:
    channels = shape_of(x)[1]
    groups = 1 if out else int(graph.random.choice([1, channels]))
    out = out or (channels if groups > 1 else int(graph.random.integers(1, 5)))
    w = graph.constant(graph.array(out, channels // groups, 3, 3, scale=float(graph.random.uniform(0.1, 2))))
    return graph.add(contraction.ConvOp, x, w, _bias(graph, out), pads=[1, 1, 1, 1], groups=groups)


def _concat(graph: Graph, x: SSAValue) -> SSAValue:
    return graph.add(movement.ConcatOp, [x, graph.add(activations.TanhOp, x)], axis=1)


def _residual(graph: Graph, x: SSAValue) -> SSAValue:
    return graph.add(elementwise.AddOp, x, graph.add(activations.SigmoidOp, x))


def _branches(graph: Graph, x: SSAValue) -> SSAValue:
    """Two layers that are added up before they are rounded."""
    return graph.add(elementwise.AddOp, _conv(graph, x, 3), _conv(graph, x, 3))


_IMAGE: tuple[Callable[[Graph, SSAValue], SSAValue], ...] = (
    _conv,
    _conv,
    lambda graph, x: graph.add(activations.ReluOp, x),
    lambda graph, x: graph.add(pooling.MaxPoolOp, x, kernel=[2, 2]) if min(shape_of(x)[2:]) > 2 else x,
    lambda graph, x: graph.add(pooling.AveragePoolOp, x, kernel=[2, 2]) if min(shape_of(x)[2:]) > 2 else x,
    _concat,
    _residual,
    _branches,
    lambda graph, x: graph.add(activations.SigmoidOp, x),
)


def _fully_connected(graph: Graph, x: SSAValue) -> SSAValue:
    rows = int(graph.random.integers(1, 6))
    w = graph.constant(graph.array(rows, shape_of(x)[1]))
    return graph.add(contraction.FullyConnectedOp, x, w, _bias(graph, rows))


_ROWS: tuple[Callable[[Graph, SSAValue], SSAValue], ...] = (
    _fully_connected,
    lambda graph, x: graph.add(activations.ReluOp, x),
    _residual,
    _concat,
    lambda graph, x: graph.add(elementwise.ClipOp, x, minimum=-1.0, maximum=1.0),
)


def network(seed: int) -> tuple[ModuleOp, list[Array]]:
    """Convolutions, pools, activations and joins, then fully connected layers; with its inputs."""
    graph = Graph(seed)
    x = graph.input(graph.array(2, int(graph.random.integers(1, 4)), 6, 6))
    for _ in range(int(graph.random.integers(1, 5))):
        x = graph.random.choice(np.array(_IMAGE, object))(graph, x)
    x = graph.reshape(x, [2, int(np.prod(shape_of(x)[1:]))])
    for _ in range(int(graph.random.integers(1, 5))):
        x = graph.random.choice(np.array(_ROWS, object))(graph, x)
    return graph.module(_fully_connected(graph, x)), graph.inputs
