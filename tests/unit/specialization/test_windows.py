"""Images of any size: whatever lies in the padding, the valid part is what the function of open sizes computes."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
    i8,
    i16,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import Rewriter

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.symbolic_sizes import Extent, joined, quotient
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp, build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.resizing import ops as resizing
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.specialization.padding import outline, pad_function
from qmlir.text.parsing import parse_module

CAPACITIES = {"n": 2, "h": 9, "w": 8}
CHANNELS = 4
HOSTILE = (np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0)


class Graph:
    """A function of `[n, 4, h, w]` that grows by random steps; all floats are whole numbers, whose sums are exact."""

    def __init__(self, seed: int, block: Block) -> None:
        self.rng = np.random.default_rng(seed)
        self.block = block

    def add(self, op: IRDLOperation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def pick(self, *choices: int) -> int:
        return int(self.rng.choice(choices))

    def constant(self, array: Array, element: UniformQuantizedType | None = None) -> SSAValue:
        return self.add(ConstantOp.of(array, TensorType(element or f32, array.shape)))

    def whole(self, value: SSAValue) -> SSAValue:
        """Small whole numbers."""
        rounded = self.add(elementwise.RoundOp(value))
        return self.add(elementwise.ClipOp.between(rounded, -9.0, 9.0))

    def weights(self, *shape: int) -> Array:
        return self.rng.integers(-2, 3, size=shape).astype(np.float32)

    def quantized(self, value: SSAValue, element: UniformQuantizedType) -> SSAValue:
        return self.add(QuantizeCastOp(value, TensorType(element, shape_of(value))))

    def real(self, value: SSAValue) -> SSAValue:
        return self.add(DequantizeCastOp(value, TensorType(f32, shape_of(value))))

    def typed(self, op: NnOp, element: UniformQuantizedType) -> SSAValue:
        """The result of `op` in a quantized type."""
        self.block.add_op(op)
        type_ = TensorType(element, shape_of(op.results[0]))
        return Rewriter.replace_value_with_new_type(op.results[0], type_)

    def window(self) -> dict[str, list[int]]:
        kernel = [self.pick(1, 2, 3) for _ in range(2)]
        dilations = [self.pick(1, 1, 2) for _ in range(2)]
        strides = [self.pick(1, 1, 2, 3) for _ in range(2)]
        pads = [self.pick(0, min(1, size - 1), size - 1) for size in (*kernel, *kernel)]
        return {"kernel": kernel, "strides": strides, "dilations": dilations, "pads": pads}


ACTIVATION = UniformQuantizedType.per_tensor(i8, f32, 0.25, -3)
WIDE = UniformQuantizedType.per_tensor(i16, f32, 0.125, 11)


def _conv(g: Graph, x: SSAValue) -> SSAValue:
    at = g.window()
    kernel, groups = at.pop("kernel"), g.pick(1, 2, CHANNELS)
    weight = g.constant(g.weights(CHANNELS, CHANNELS // groups, *kernel))
    bias = g.constant(g.weights(CHANNELS))
    made = g.add(build(contraction.ConvOp, [x, weight, bias], {**at, "groups": groups}))
    return g.whole(g.add(activations.ReluOp(made)) if g.pick(0, 1) else made)


def _quantized_conv(g: Graph, x: SSAValue) -> SSAValue:
    """Per channel, of 8 or 16 bits, with zero points."""
    at = g.window()
    kernel, groups = at.pop("kernel"), g.pick(1, CHANNELS)
    data, scales = (ACTIVATION, WIDE)[g.pick(0, 1)], np.array([0.5, 0.25, 0.125, 1.0], np.float32)
    of_weights = UniformQuantizedType.per_axis(i8, f32, 0, scales)
    integers = g.rng.integers(-20, 20, size=(CHANNELS, CHANNELS // groups, *kernel)).astype(np.int8)
    weight = g.constant(integers, of_weights)
    of_bias = UniformQuantizedType.per_axis(i32, f32, 0, np.float32(data.scale) * scales)
    bias = g.constant(g.rng.integers(-50, 50, size=CHANNELS).astype(np.int32), of_bias)
    op = build(contraction.ConvOp, [g.quantized(x, data), weight, bias], {**at, "groups": groups})
    return g.real(g.typed(op, UniformQuantizedType.per_tensor(i8, f32, 0.75, 5)))


def _transposed(g: Graph, x: SSAValue) -> SSAValue:
    at = g.window()
    kernel, strides = at.pop("kernel"), [g.pick(1, 2), g.pick(1, 2)]
    added = [g.pick(0, stride - 1) for stride in strides]
    pads = [g.pick(0, size - 1) for size in (*kernel, *kernel)]
    weight = g.constant(g.weights(CHANNELS, CHANNELS, *kernel))
    properties = {**at, "strides": strides, "pads": pads, "output_padding": added}
    return g.whole(g.add(build(contraction.ConvTransposeOp, [x, weight, None], properties)))


def _max_pool(g: Graph, x: SSAValue) -> SSAValue:
    at = {**g.window(), "ceil_mode": bool(g.pick(0, 1))}
    data = g.quantized(x, ACTIVATION) if g.pick(0, 1) else x
    made = g.add(build(pooling.MaxPoolOp, [data], at))
    return g.real(made) if data is not x else made


def _average_pool(g: Graph, x: SSAValue) -> SSAValue:
    at = {**g.window(), "count_include_pad": bool(g.pick(0, 1)), "ceil_mode": bool(g.pick(0, 1))}
    if g.pick(0, 1):
        return g.real(g.typed(build(pooling.AveragePoolOp, [g.quantized(x, ACTIVATION)], at), WIDE))
    return g.whole(g.add(build(pooling.AveragePoolOp, [x], at)))


def _lp_pool(g: Graph, x: SSAValue) -> SSAValue:
    return g.whole(g.add(build(pooling.LpPoolOp, [x], g.window())))


GLOBAL = (pooling.GlobalAveragePoolOp, pooling.GlobalMaxPoolOp, pooling.GlobalLpPoolOp)


def _global_pool(g: Graph, x: SSAValue) -> SSAValue:
    """As squeeze and excitation does."""
    pooled = g.add(build(GLOBAL[g.pick(0, 1, 2)], [x]))
    return g.whole(g.add(elementwise.AddOp(x, pooled)))


def _quantized_mean(g: Graph, x: SSAValue) -> SSAValue:
    data, result = ((ACTIVATION, WIDE) if g.pick(0, 1) else (WIDE, ACTIVATION))[:2]
    pooled = g.real(g.typed(build(pooling.GlobalAveragePoolOp, [g.quantized(x, data)]), result))
    return g.whole(g.add(elementwise.AddOp(x, pooled)))


def _resize(g: Graph, x: SSAValue) -> SSAValue:
    modes = ("half_pixel", "asymmetric")
    at = {
        "scales": [1.0, 1.0, float(g.pick(1, 2, 3)), float(g.rng.choice([0.5, 2.0, 1.5]))],
        "mode": str(g.rng.choice(["nearest", "linear", "cubic"])),
        "coordinate_transformation_mode": str(g.rng.choice(modes)),
        "nearest_mode": str(g.rng.choice(["floor", "ceil", "round_prefer_floor"])),
    }
    return g.whole(g.add(build(resizing.ResizeOp, [x, None, None, None], at)))


def _slice(g: Graph, x: SSAValue) -> SSAValue:
    axis, end = g.pick(2, 3), g.pick(-1, 4, 2**31 - 1)
    at = {"starts": [g.pick(0, 1)], "ends": [end], "axes": [axis], "steps": [g.pick(1, 2)]}
    return g.add(build(movement.SliceOp, [x, None, None, None, None], at))


def _concat(g: Graph, x: SSAValue) -> SSAValue:
    """Open and known sizes in any order."""
    axis = g.pick(2, 3)
    cut = build(movement.SliceOp, [x, None, None, None, None], {"starts": [1], "ends": [2**31 - 1], "axes": [axis]})
    parts = [x, g.add(cut), _slice_first(g, x, axis)]
    order = g.rng.permutation(len(parts))[: g.pick(2, 3)]
    return g.add(movement.ConcatOp([parts[each] for each in order], axis))


def _slice_first(g: Graph, x: SSAValue, axis: int) -> SSAValue:
    """One place of an axis."""
    return g.add(build(movement.SliceOp, [x, None, None, None, None], {"starts": [0], "ends": [1], "axes": [axis]}))


def _pad(g: Graph, x: SSAValue) -> SSAValue:
    pads = [0, 0, g.pick(0, 1), g.pick(0, 2), 0, 0, g.pick(0, 1), g.pick(0, 2)]
    value = g.add(ConstantOp.of(np.array(3, np.float32), TensorType(f32, []))) if g.pick(0, 1) else None
    return g.add(build(shapes.PadOp, [x, value, None, None], {"pads": pads}))


def _to_space(g: Graph, x: SSAValue) -> SSAValue:
    """Depth to space, and a convolution that gives the channels back."""
    spread = g.add(build(movement.DepthToSpaceOp, [x], {"block_size": 2}))
    weight = g.constant(g.weights(CHANNELS, 1, 2, 2))
    return g.whole(g.add(build(contraction.ConvOp, [spread, weight, None], {"pads": [0, 0, 1, 1]})))


def _residual(g: Graph, x: SSAValue) -> SSAValue:
    """Down, up, and the sum with what went in: of even sizes alone."""
    weight = g.constant(g.weights(CHANNELS, CHANNELS, 3, 3))
    down = g.add(build(contraction.ConvOp, [x, weight, None], {"strides": [2, 2], "pads": [1, 1, 1, 1]}))
    at = {"scales": [1.0, 1.0, 2.0, 2.0], "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    up = g.add(build(resizing.ResizeOp, [down, None, None, None], at))
    return g.whole(g.add(elementwise.AddOp(x, up)))


Step = Callable[[Graph, SSAValue], SSAValue]
STEPS: tuple[Step, ...] = (
    _conv, _quantized_conv, _transposed, _max_pool, _average_pool, _lp_pool, _global_pool, _quantized_mean, _resize,
    _slice, _concat, _pad, _to_space, _residual,
)  # fmt: skip


def module_of(seed: int, steps: tuple[Step, ...]) -> ModuleOp:
    type_ = TensorType(f32, [DYNAMIC_INDEX, CHANNELS, DYNAMIC_INDEX, DYNAMIC_INDEX])
    block = Block(arg_types=[type_])
    graph, value = Graph(seed, block), block.args[0]
    for step in steps:
        value = step(graph, value)
    block.add_op(ReturnOp(value))
    function = FuncOp("main", ([type_], [value.type]), Region(block))
    dims = ArrayAttr([StringAttr(name) for name in ("n", "", "h", "w")])
    function.arg_attrs = ArrayAttr([DictionaryAttr({"nn.name": StringAttr("x"), "nn.dims": dims})])
    module = ModuleOp([function])
    verify(module)
    return module


def valid_part(padded: Array, axes: tuple[Extent, ...], capacities: dict[str, int], sizes: dict[str, int]) -> Array:
    """The elements of a run, found by the digits of each place."""
    for axis, extent in enumerate(axes):
        keep = np.ones(padded.shape[axis], bool)
        for factor, digits in extent.digits(capacities).items():
            keep &= digits < Extent.of(factor).at(sizes)
        padded = padded.compress(keep, axis=axis)
    return padded


def compared(module: ModuleOp, seed: int, capacities: dict[str, int]) -> int:
    """How many runs of the padded function equal the function at their sizes: all that it takes."""
    found = outline(module)
    padded = module.clone()
    inputs = pad_function(padded, capacities)
    verify(padded)
    (axes,) = found.outputs.values()
    rng = np.random.default_rng(seed)
    count = 0
    heights, widths = {1, 2, 5, 6, 9, capacities["h"]}, {1, 3, 4, 8, capacities["w"]}
    for n, h, w in product((1, 2), sorted(heights), sorted(widths)):
        sizes = {"n": n, "h": h, "w": w}
        if any(sizes[name] > capacities[name] for name in sizes):
            continue
        x = rng.integers(-9, 10, size=(n, CHANNELS, h, w)).astype(np.float32)
        if not all(each.holds(sizes) for each in found.conditions):
            continue
        wide = rng.choice(HOSTILE, size=(capacities["n"], CHANNELS, capacities["h"], capacities["w"]))
        wide = wide.astype(np.float32)
        wide[:n, :, :h, :w] = x
        numbers = {port: np.array(sizes[name]) for name, port in inputs.items()}
        (wanted,) = qmlir.interpret(module, {"x": x}).values()
        (result,) = qmlir.interpret(padded, {"x": wide, **numbers}).values()
        np.testing.assert_array_equal(valid_part(result, axes, capacities, sizes), wanted, strict=True)
        count += 1
    return count


def capacities_of(module: ModuleOp) -> dict[str, int]:
    """The largest sizes up to those of the test that a function takes."""
    conditions = outline(module).conditions
    found = dict(CAPACITIES)
    for name in ("h", "w"):
        own = [each for each in conditions if each.names == (name,)]
        found[name] = next(size for size in range(found[name], 0, -1) if all(each.holds({name: size}) for each in own))
    return found


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("nan_is_quantized")
def test_each_step(step: Step, seed: int) -> None:
    module = module_of(seed, (step,))
    assert compared(module, seed, capacities_of(module)) > 0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("nan_is_quantized")
def test_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = tuple(STEPS[int(each)] for each in rng.integers(len(STEPS), size=2 + seed % 3))
    module = module_of(seed, steps)
    assert compared(module, seed, capacities_of(module)) > 0


@pytest.mark.parametrize("seed", range(50))
def test_quotients_of_quotients_are_what_their_formulas_give(seed: int) -> None:
    rng = np.random.default_rng(seed)
    extent, numbers = Extent.of("s"), np.arange(1, 40)
    for _ in range(4):
        scale, add, divisor, most = (int(rng.integers(low, high)) for low, high in ((1, 4), (-3, 9), (1, 5), (3, 60)))
        extent, numbers = extent * scale, numbers * scale
        if rng.integers(2):
            extent, numbers = quotient(extent, add, divisor, most), np.minimum((numbers + add) // divisor, most)
        else:
            extent, numbers = quotient(extent, add, divisor), (numbers + add) // divisor
        extent, numbers = joined([extent, Extent.of("s"), Extent.of(2)]), numbers + np.arange(1, 40) + 2
    assert [extent.at({"s": size}) for size in range(1, 40)] == numbers.tolist()


def test_sizes_of_one_meaning_are_equal() -> None:
    """Kernels of 3 and of 1 with a stride of 2, half of a half, the half of a double, and a join with itself."""
    size = Extent.of("s")
    halved = quotient(size, 1, 2)
    assert quotient(size, 1 + 1 - 3 + 2, 2) == quotient(size, -1 + 2, 2) == halved
    assert quotient(halved, 1, 2) == quotient(size, 3, 4)
    assert quotient(halved * 2, 1, 2) == halved
    assert joined([size, size]) == size * 2
    assert joined([size, Extent.of(3)]) == quotient(size, 3, 1)
    assert str(quotient(halved, 3, 1)) == "((s + 7) // 2)"


def _resized(shape: str, result: str, how: str) -> ModuleOp:
    return parse_module(
        default_environment().new_context(),
        f"""
        func.func @main(%x: tensor<1x1x{shape}xf32> {{nn.name = "x", nn.dims = ["", "", "h", "w"]}})
            -> (tensor<1x1x{result}xf32> {{nn.name = "y"}}) {{
          %0 = nn.resize %x {{{how}, coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"}}
            : (tensor<1x1x{shape}xf32>) -> tensor<1x1x{result}xf32> {{origin = "resize"}}
          func.return %0 : tensor<1x1x{result}xf32>
        }}""",
    )


def _by_scales(scale: float) -> ModuleOp:
    return _resized("?x?", "?x?", f"scales = array<f32: 1.0, 1.0, {scale:.9e}, 1.0>")


@pytest.mark.parametrize("seed", range(20))
def test_a_scale_gives_its_own_size_for_every_length(seed: int) -> None:
    """`floor(f32(size) * f32(scale))`, as ONNX Runtime has it: a fraction beside the scale is another one."""
    rng = np.random.default_rng(seed)
    nearby = rng.integers(1, 130) / rng.integers(1, 65)
    for scale in (float(np.float32(each)) for each in (nearby, nearby + 1e-3, rng.uniform(0.02, 4))):
        module = _by_scales(scale)
        try:
            inputs = pad_function(module, {"h": 128, "w": 1})
        except DiagnosticError as error:
            assert "which is not a simple fraction" in str(error)  # noqa: PT017
            continue
        (axes,) = outline(_by_scales(scale)).outputs.values()
        wanted = [int(np.floor(np.float32(size) * np.float32(scale))) for size in range(1, 129)]
        assert [axes[2].at({"h": size}) for size in range(1, 129)] == wanted
        x = np.arange(128, dtype=np.float32).reshape(1, 1, 128, 1)
        for size in [each for each in range(3, 129, 25) if wanted[each - 1]]:
            (found,) = qmlir.interpret(module, {"x": x, **{port: np.array(size) for port in inputs.values()}}).values()
            (expected,) = qmlir.interpret(_by_scales(scale), {"x": x[:, :, :size]}).values()
            np.testing.assert_array_equal(found[:, :, : wanted[size - 1]], expected, strict=True)


@pytest.mark.parametrize(("scale", "is_taken"), [(0.51, False), (0.6, True), (1 / 3, True), (41 / 64, True)])
def test_scales_that_are_fractions(scale: float, is_taken: bool) -> None:
    module = _by_scales(scale)
    if is_taken:
        assert outline(module).outputs["y"][2].at({"h": 60}) == int(np.floor(np.float32(60) * np.float32(scale)))
        return
    with pytest.raises(
        DiagnosticError, match=r"\(resize\) resizes a dimension of size h by 0.50999\d*, which is not a simple fraction"
    ):
        outline(module)


def test_known_sizes_beside_open_ones() -> None:
    """51 of 100 places by f32; 1 of 41 by the target, where `41 * f32(1 / 41)` is less than 1."""
    scaled = _resized("?x100", "?x51", "scales = array<f32: 1.0, 1.0, 2.0, 0.51>")
    assert outline(scaled).outputs["y"][3] == Extent.of(51)
    targeted = parse_module(
        default_environment().new_context(),
        """
        func.func @main(%x: tensor<1x1x?x41xf32> {nn.name = "x", nn.dims = ["", "", "h", ""]})
            -> (tensor<1x1x?x1xf32> {nn.name = "y"}) {
          %h = nn.shape %x {start = 2, end = 3} : (tensor<1x1x?x41xf32>) -> tensor<1xi64>
          %two = nn.constant dense<2> : tensor<1xi64>
          %double = nn.mul %h, %two : tensor<1xi64>
          %one = nn.constant dense<1> : tensor<1xi64>
          %sizes = nn.concat %double, %one {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
          %0 = nn.resize %x, _, _, %sizes {axes = [2, 3],
              coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"}
            : (tensor<1x1x?x41xf32>, tensor<2xi64>) -> tensor<1x1x?x1xf32>
          func.return %0 : tensor<1x1x?x1xf32>
        }""",
    )
    assert outline(targeted).outputs["y"] == (Extent.of(1), Extent.of(1), Extent.of("h", 2), Extent.of(1))
