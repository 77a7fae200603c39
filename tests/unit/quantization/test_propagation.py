"""Moving casts changes no bit of any result; fusing changes one step at most, and only where integers are exact."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, TensorType, f32
from xdsl.ir import SSAValue

from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.quant.canonicalize import RESCALES
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType, storage_limits
from qmlir.dialects.target.description import Accepted
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.ir.verification import verify
from qmlir.quantization.casts import FuseCasts
from qmlir.quantization.propagation import PATTERNS, QuantizeFloatBias, same_numbers
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text
from tests.unit.quantization.random_graphs import ENVIRONMENT, Graph, outputs_of, run_passes

MOVES = [pattern for pattern in PATTERNS if not isinstance(pattern, FuseCasts | QuantizeFloatBias)]
STORAGES = [
    (8, True, None),
    (8, False, None),
    (8, True, (-127, 127)),
    (4, True, None),
    (16, True, None),
    (8, True, (0, 100)),
]


def random_type(graph: Graph, scales: tuple[float, ...] = (0.25, 0.5)) -> UniformQuantizedType:
    """Of few scales, so that types meet again; or of any."""
    bits, is_signed, limits = STORAGES[int(graph.random.integers(len(STORAGES)))]
    storage = IntegerType(bits, Signedness.SIGNLESS if is_signed else Signedness.UNSIGNED)
    scale = float(np.float32(graph.random.choice([*scales, graph.random.uniform(0.01, 0.5)])))
    low, high = limits or ((-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1))
    zero_point = int(graph.random.choice([min(max(0, low), high), graph.random.integers(low, high + 1)]))
    return UniformQuantizedType.per_tensor(storage, f32, scale, zero_point, limits)


def quantized(graph: Graph, x: SSAValue, type_: UniformQuantizedType) -> SSAValue:
    return graph.cast(QuantizeCastOp(x, TensorType(type_, shape_of(x))))


def dequantized(graph: Graph, x: SSAValue) -> SSAValue:
    return graph.cast(DequantizeCastOp(x, TensorType(f32, shape_of(x))))


def _limited(graph: Graph, x: SSAValue) -> SSAValue:
    """A value that is quantized, limited, and quantized to some of the numbers that it had, or a few more."""
    scale, (low, high) = float(np.float32(graph.random.uniform(0.02, 0.1))), sorted(graph.random.integers(-60, 61, 2))
    zero_point = int(graph.random.integers(-20, 21))
    wide = UniformQuantizedType.per_tensor(IntegerType(8), f32, scale, zero_point)
    limits = (int(low) - 1, int(high) + 1)
    inside = min(max(zero_point + int(graph.random.integers(-70, 71)), limits[0]), limits[1])
    narrow = UniformQuantizedType.per_tensor(IntegerType(8), f32, scale, inside, limits)
    y = dequantized(graph, quantized(graph, graph.add(elementwise.SinOp, x), wide))
    if graph.random.random() < 0.5:
        limited = graph.add(activations.ReluOp, y)
    else:
        ends = sorted(float(np.float32(end)) for end in graph.random.uniform(-2, 2, 2))
        limited = graph.add(elementwise.ClipOp, y, minimum=ends[0], maximum=ends[1])
    return dequantized(graph, quantized(graph, limited, narrow))


def _random_operation(graph: Graph, values: list[SSAValue], types: list[UniformQuantizedType]) -> list[SSAValue]:
    x = values[int(graph.random.integers(len(values)))]
    shape = shape_of(x)
    axis = int(graph.random.integers(len(shape)))
    match int(graph.random.integers(18)):
        case 0:
            return [
                graph.add(movement.TransposeOp, x, permutation=[int(i) for i in graph.random.permutation(len(shape))])
            ]
        case 1:
            return [graph.reshape(x, [int(np.prod(shape))])]
        case 2:
            return [graph.add(movement.SliceOp, x, starts=[0], ends=[max(shape[axis] - 1, 1)], axes=[axis])]
        case 3:
            return [graph.add(shapes.PadOp, x, pads=[1, 1], axes=[axis])]
        case 4:
            return list(graph.add(movement.SplitOp, x, results=2, axis=axis)) if shape[axis] > 1 else []
        case 5:
            same = [value for value in values if shape_of(value) == shape]
            return [graph.add(movement.ConcatOp, [x, same[-1], x], axis=axis)]
        case 6:
            grid = np.array([0.0, 0.5, -1.0, graph.random.standard_normal()], np.float32)
            constant = graph.constant(graph.random.choice(grid, shape).astype(np.float32))
            return [graph.add(movement.ConcatOp, [x, constant], axis=axis)]
        case 7 if len(shape) == 4 and min(shape[2:]) > 1:
            return [graph.add(pooling.MaxPoolOp, x, kernel=[2, 2], pads=[1, 0, 0, 1])]
        case 8:
            return [graph.add(activations.ReluOp, x)]
        case 9:
            return [graph.add(elementwise.ClipOp, x, minimum=-0.5, maximum=1.25)]
        case 10:
            return [graph.add(elementwise.SinOp, x)]
        case 11 if len(shape) == 4:
            w = graph.constant(graph.array(2, shape[1], 1, 1))
            type_ = UniformQuantizedType.per_axis(IntegerType(8), f32, 0, [0.02, 0.04])
            return [graph.add(contraction.ConvOp, x, dequantized(graph, quantized(graph, w, type_)), None)]
        case 12:
            return [graph.add(reduction.ReduceMaxOp, x, axes=[axis])]
        case 13:
            best, indices = graph.add(indexing.TopKOp, x, k=1, axis=axis)
            graph.outputs.append(indices)
            return [best]
        case 14:
            stored = graph.random.integers(0, 8, shape).astype(np.int8)
            constant = graph.cast(ConstantOp.of(stored, TensorType(_byte(0.25, 3), shape)))
            return [dequantized(graph, constant)]
        case 15:
            return [_limited(graph, x)]
        case _:
            return [dequantized(graph, quantized(graph, x, types[int(graph.random.integers(len(types)))]))]


class CastGraph(Graph):
    """A graph with casts, some of whose values are given out."""

    outputs: list[SSAValue]


def cast_graph(seed: int) -> tuple[ModuleOp, list[np.ndarray]]:
    """Movement, pools, limits, convolutions and float operations, with casts to few types at random places."""
    graph = CastGraph(seed)
    graph.outputs = []
    types = [random_type(graph) for _ in range(2)]
    values = [graph.input(graph.array(1, 2, 4, 4, scale=4.0)) for _ in range(2)]
    by_channel = UniformQuantizedType.per_axis(IntegerType(8), f32, 1, [0.25, 0.07], [3, -5])
    kinds = (types[0], types[0], by_channel)
    values = [
        dequantized(graph, quantized(graph, x, type_)) for x, type_ in zip([*values, values[0]], kinds, strict=True)
    ]
    values.append(graph.block.args[0])
    for _ in range(int(graph.random.integers(4, 14))):
        values += _random_operation(graph, values, types)
    for value in values[-4:]:
        graph.outputs.append(quantized(graph, value, types[0]) if graph.random.random() < 0.5 else value)
    return graph.module(*graph.outputs), graph.inputs


def assert_same(before: list[np.ndarray], after: list[np.ndarray]) -> None:
    for left, right in zip(before, after, strict=True):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("is_fused", [False, True])
def test_moving_casts_changes_no_bit(is_fused: bool) -> None:
    """In graphs of casts and floats, and in those whose operations compute on quantized values."""
    counts: Counter[str] = Counter()
    for seed in range(150):
        module, inputs = cast_graph(seed)
        if is_fused:
            run_passes(module, "quant-fuse-casts")
        before = outputs_of(module, inputs)
        counts += apply_patterns_greedily(module, MOVES, ENVIRONMENT.new_context()).counts
        verify(module)
        assert_same(before, outputs_of(module, inputs))
    elsewhere = {"QuantizeConstant"} if is_fused else {"NarrowLimited"}
    # A rescale that is kept nearly always folds by itself, and these graphs have no loops.
    elsewhere |= {"FoldRescaleChain", "QuantizeForwarding"}
    assert {type(pattern).__name__ for pattern in MOVES} - elsewhere <= set(counts), counts


def test_propagation_is_idempotent() -> None:
    for seed in range(100):
        module, _ = cast_graph(seed)
        once = module_text(run_passes(module, "quant-propagate-types"))
        assert module_text(run_passes(module, "quant-propagate-types")) == once


def _byte(scale: float, zero_point: int = 0) -> UniformQuantizedType:
    return UniformQuantizedType.per_tensor(IntegerType(8), f32, float(np.float32(scale)), zero_point)


def _fused_and_not(
    graph: Graph, kind: Any, operands: list[Any], out: UniformQuantizedType, **properties: Any
) -> list[Any]:
    module = graph.module(quantized(graph, graph.add(kind, *operands, **properties), out))
    (before,) = outputs_of(module, graph.inputs)
    run_passes(module, "quant-fuse-casts")
    assert not any(isinstance(op, DequantizeCastOp) for op in module.walk())
    (after,) = outputs_of(module, graph.inputs)
    return [before.astype(np.int64), after.astype(np.int64)]


def _operand(graph: Graph, type_: UniformQuantizedType, *shape: int) -> SSAValue:
    return dequantized(graph, graph.input(graph.random.integers(-128, 128, shape).astype(np.int8), type_))


SINGLE: list[tuple[Any, list[tuple[int, ...]], dict[str, Any]]] = [
    (contraction.MatMulOp, [(4, 9), (9, 5)], {}),
    (contraction.FullyConnectedOp, [(4, 9), (5, 9)], {}),
    (contraction.ConvOp, [(1, 4, 5, 5), (6, 2, 3, 3)], {"groups": 2}),
    (elementwise.AddOp, [(4, 9), (9,)], {}),
    (elementwise.SubOp, [(4, 9), (9,)], {}),
    (elementwise.MulOp, [(4, 9), (9,)], {}),
    (elementwise.MinOp, [(4, 9), (9,)], {}),
    (activations.ReluOp, [(4, 9)], {}),
    (elementwise.ClipOp, [(4, 9)], {"minimum": -0.7, "maximum": 1.1}),
    (elementwise.AbsOp, [(4, 9)], {}),
    (pooling.AveragePoolOp, [(1, 4, 5, 5)], {"kernel": [3, 3]}),
    (reduction.ReduceMeanOp, [(4, 9)], {"axes": [1]}),
    (reduction.ReduceSumOp, [(4, 9)], {"axes": [1]}),
]


@pytest.mark.parametrize(("kind", "shapes", "properties"), SINGLE, ids=[kind.name for kind, _, _ in SINGLE])
@pytest.mark.parametrize("is_one_scale", [False, True])
def test_fusing_changes_one_step_at_most(
    kind: Any, shapes: list[Any], properties: dict[str, Any], is_one_scale: bool
) -> None:
    """Exact integers, rounded once, in place of float sums, rounded at each step: half-way cases may fall elsewhere."""
    for seed in range(40):
        graph = Graph(seed)
        scales = [float(graph.random.uniform(0.01, 0.1)) for _ in shapes]
        types = [_byte(scales[0] if is_one_scale else s, int(graph.random.integers(-128, 128))) for s in scales]
        operands = [_operand(graph, type_, *shape) for type_, shape in zip(types, shapes, strict=True)]
        out = _byte(float(graph.random.uniform(0.01, 0.2)), int(graph.random.integers(-128, 128)))
        before, after = _fused_and_not(graph, kind, operands, out, **properties)
        assert np.abs(before - after).max() <= 1


@pytest.mark.parametrize(
    "kind", [elementwise.SinOp, activations.SigmoidOp, activations.TanhOp, activations.LeakyReluOp]
)
def test_fusing_changes_nothing_without_an_integer_arithmetic(kind: Any) -> None:
    for seed in range(20):
        graph = Graph(seed)
        type_ = _byte(float(graph.random.uniform(0.01, 0.1)), int(graph.random.integers(-128, 128)))
        before, after = _fused_and_not(graph, kind, [_operand(graph, type_, 4, 9)], _byte(1 / 128))
        assert before.tolist() == after.tolist()


def _type(random: np.random.Generator) -> UniformQuantizedType:
    bits = int(random.choice([4, 8, 8, 8]))
    storage = IntegerType(bits, Signedness.UNSIGNED) if random.random() < 0.5 else IntegerType(bits)
    low, high = storage_limits(storage)
    scale = float(random.choice([0.5, 0.25, 0.125, 0.1, 0.05, 0.3])) * 2.0 ** (8 - bits)
    return UniformQuantizedType.per_tensor(storage, f32, scale, int(random.integers(low, high, endpoint=True)))


def test_a_rescale_folds_only_where_every_integer_stays() -> None:
    """Every value of the storage, before and after, for chains of three types; some fold, most do not."""
    random, folded = np.random.default_rng(0), 0
    for _ in range(120):
        first, *rest = (_type(random) for _ in range(3))
        if random.random() < 0.3:
            rest[1] = first
        if random.random() < 0.5:  # one in between that may hold all values of the first
            scale = first.scale * float(random.choice([1, 0.5, 0.3]))
            rest[0] = UniformQuantizedType.per_tensor(IntegerType(16), f32, scale, int(random.integers(-9, 9)))
        graph = [f"%x: tensor<{1 << first.bits}x{first}>"]
        shape = f"tensor<{1 << first.bits}x"
        lines = [f"%r0 = quant.dcast %x : {shape}{first}> to {shape}f32>"]
        for position, type_ in enumerate(rest, 1):
            lines.append(f"%q{position} = quant.qcast %r{position - 1} : {shape}f32> to {shape}{type_}>")
            lines.append(f"%r{position} = quant.dcast %q{position} : {shape}{type_}> to {shape}f32>")
        text = "\n".join([
            f"func.func @main({graph[0]}) -> ({shape}f32>, {shape}{rest[1]}>) {{", *lines,
            f"func.return %r1, %q2 : {shape}f32>, {shape}{rest[1]}>", "}",
        ])  # fmt: skip
        module = parse_module(ENVIRONMENT.new_context(), text)
        low, high = storage_limits(first.storage)
        inputs = [np.arange(low, high + 1).astype(storage_dtype(first))]
        before = outputs_of(module, inputs)
        counts = apply_patterns_greedily(module, RESCALES, ENVIRONMENT.new_context()).counts
        folded += counts["FoldExactRescale"] + counts["FoldRescaleChain"] > 0
        assert_same(before, outputs_of(module, inputs))
    assert 20 < folded < 100


def test_what_is_computed_once_is_one_step_off_at_most() -> None:
    text = """
    !a = !quant.uniform<i8:f32, 0.5:3>
    !b = !quant.uniform<u8:f32, 0.7:100>
    !fine = !quant.uniform<i16:f32, 0.17>
    func.func @main(%x: tensor<256x1x!a>, %y: tensor<256x!a>) -> (tensor<256x256x!b>, tensor<256x256x!fine>) {
      %0 = quant.dcast %x : tensor<256x1x!a> to tensor<256x1xf32>
      %1 = quant.dcast %y : tensor<256x!a> to tensor<256xf32>
      %2 = nn.add %0, %1 : (tensor<256x1xf32>, tensor<256xf32>) -> tensor<256x256xf32>
      %3 = quant.qcast %2 : tensor<256x256xf32> to tensor<256x256x!b>
      %4 = quant.qcast %2 : tensor<256x256xf32> to tensor<256x256x!fine>
      func.return %3, %4 : tensor<256x256x!b>, tensor<256x256x!fine>
    }"""
    module = parse_module(ENVIRONMENT.new_context(), text)
    every = np.arange(-128, 128).astype(np.int8)
    inputs = [every.reshape(256, 1), every]
    before = outputs_of(module, inputs)
    after = outputs_of(run_passes(module, "quant-propagate-types{exact=false}"), inputs)
    assert "nn.add" in module_text(module)
    assert "tensor<256x1xf32>" not in module_text(module)
    steps = [np.abs(a.astype(np.int64) - b) for a, b in zip(before, after, strict=True)]
    assert all(each.max() <= 1 for each in steps)
    assert 0 < steps[0].mean() < 0.05


def test_types_that_a_target_takes_hold_the_same_numbers() -> None:
    """A model of u8 for a target of i8: with the target and without, every result is the same number."""
    target = '#target.spec<"t", supports = [{op = "nn.*", input = {storages = [i8]}, output = {storages = [i8]}}]>'
    text = """
    !x = !quant.uniform<u8:f32, 0.05:128>
    !y = !quant.uniform<u8:f32, 0.07:90>
    !z = !quant.uniform<u8<0:200>:f32, 0.11>
    builtin.module TARGETS {
      func.func @main(%a: tensor<256x1x!x>, %b: tensor<256x!y>) -> tensor<256x256x!z> {
        %0 = quant.dcast %a : tensor<256x1x!x> to tensor<256x1xf32>
        %1 = quant.dcast %b : tensor<256x!y> to tensor<256xf32>
        %2 = nn.mul %0, %1 : (tensor<256x1xf32>, tensor<256xf32>) -> tensor<256x256xf32>
        %3 = quant.qcast %2 : tensor<256x256xf32> to tensor<256x256x!y>
        %4 = quant.dcast %3 : tensor<256x256x!y> to tensor<256x256xf32>
        %5 = nn.sub %4, %1 : (tensor<256x256xf32>, tensor<256xf32>) -> tensor<256x256xf32>
        %6 = quant.qcast %5 : tensor<256x256xf32> to tensor<256x256x!z>
        func.return %6 : tensor<256x256x!z>
      }
    }"""
    every = np.arange(256).astype(np.uint8)
    found: list[list[np.ndarray]] = []
    for attributes in ("", f"attributes {{target.specs = [{target}]}}"):
        module = parse_module(ENVIRONMENT.new_context(), text.replace("TARGETS", attributes))
        run_passes(module, "quant-propagate-types,cse")
        found.append(outputs_of(module, [every.reshape(256, 1), every]))
        assert all(" f32" not in line for line in module_text(module).splitlines() if "nn.mul" in line)
        # Each value that comes in or leaves is rescaled once, and none in between.
        assert module_text(module).count("quant.qcast") == (3 if attributes else 0)
    assert_same(*found)


def test_types_of_channels_that_a_target_takes_hold_the_same_numbers() -> None:
    """u8 less 128 is i8, zero points and limits with it."""
    scales, zero_points = np.array([0.5, 2.0]), np.array([128, 90])
    unsigned = IntegerType(8, Signedness.UNSIGNED)
    type_ = UniformQuantizedType.per_axis(unsigned, f32, 1, scales, zero_points, (0, 200))
    found = same_numbers(type_, Accepted(storages=("i8",)))
    assert found == UniformQuantizedType.per_axis(IntegerType(8), f32, 1, scales, zero_points - 128, (-128, 72))
