"""Padding: whatever lies in it, the valid part is what the function of open sizes computes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

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
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Dialect, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.universe import Universe

import qmlir
from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.symbolic_sizes import Extent, reshaped
from qmlir.dialects.nn.base import NnOp, build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, zero_of
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import InferResultTypes
from qmlir.ir.verification import verify
from qmlir.registry import Contribution, Package
from qmlir.specialization.padding import open_sizes, outline, pad_function
from qmlir.text.parsing import parse_module

CAPACITIES = {"n": 3, "s": 5}
WIDTH = 4


@dataclass
class Graph:
    """A function of `[n, s, 4]` that grows by random steps, each on the value of the step before."""

    rng: np.random.Generator
    block: Block

    def add(self, op: NnOp) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def numbers(self, *numbers: int) -> SSAValue:
        return self.add(ConstantOp.of(np.array(numbers), TensorType(i64, [len(numbers)])))

    def size(self, value: SSAValue, axis: int) -> SSAValue:
        """The size of an axis, a list of one number."""
        return self.add(build(shapes.ShapeOp, [value], {"start": axis, "end": axis + 1}))

    def quantized(self, value: SSAValue, zero_point: int = 3) -> SSAValue:
        element = UniformQuantizedType.per_tensor(i8, f32, 0.0625, zero_point)
        op = QuantizeCastOp(value, TensorType(element, shape_of(value)))
        self.block.add_op(op)
        return op.result

    def real(self, value: SSAValue) -> SSAValue:
        op = DequantizeCastOp(value, TensorType(f32, shape_of(value)))
        self.block.add_op(op)
        return op.result

    def number(self, value: float) -> SSAValue:
        return self.add(ConstantOp.of(np.array(value, np.float32), TensorType(f32, [])))


Step = Callable[[Graph, SSAValue], SSAValue]
"""From a value of three axes, in any order, to another one."""


def _elements(g: Graph, x: SSAValue) -> SSAValue:
    return g.add(elementwise.SinOp(x))


def _transpose(g: Graph, x: SSAValue) -> SSAValue:
    return g.add(movement.TransposeOp(x, g.rng.permutation(3).tolist()))


def _heads(g: Graph, x: SSAValue) -> SSAValue:
    """An axis of known size is split, moved to the front of the others, and joined again with the first one."""
    known = max((axis for axis, size in enumerate(shape_of(x)) if size == WIDTH), default=None)
    if known is None:
        return x
    x = g.add(movement.TransposeOp(x, [*(axis for axis in range(3) if axis != known), known]))
    sizes = g.add(movement.ConcatOp([g.size(x, 0), g.size(x, 1), g.numbers(2, WIDTH // 2)], 0))
    split = build(movement.ReshapeOp, [x, sizes], result_types=[TensorType(f32, [DYNAMIC_INDEX] * 4)])
    x = g.add(movement.TransposeOp(g.add(split), [0, 2, 1, 3]))
    joined = g.add(elementwise.MulOp(g.size(x, 0), g.size(x, 1)))
    sizes = g.add(movement.ConcatOp([joined, g.size(x, 2), g.size(x, 3)], 0))
    return g.add(build(movement.ReshapeOp, [x, sizes], result_types=[TensorType(f32, [DYNAMIC_INDEX] * 3)]))


def _softmax(g: Graph, x: SSAValue) -> SSAValue:
    return g.add(build(normalization.SoftmaxOp, [x, None], {"axis": int(g.rng.integers(3))}))


def _masked_softmax(g: Graph, x: SSAValue) -> SSAValue:
    """Rows without an element that takes part are among them."""
    keep = g.add(elementwise.GreaterOp(x, g.number(0.9)))
    rows = str(g.rng.choice(normalization.EMPTY_ROWS))
    scores = g.real(g.quantized(x)) if g.rng.integers(2) else x
    return g.add(build(normalization.SoftmaxOp, [scores, keep], {"axis": int(g.rng.integers(3)), "empty_rows": rows}))


def _log_softmax(g: Graph, x: SSAValue) -> SSAValue:
    return g.add(build(normalization.LogSoftmaxOp, [x], {"axis": int(g.rng.integers(3))}))


REDUCTIONS = (
    reduction.ReduceSumOp, reduction.ReduceMeanOp, reduction.ReduceMaxOp, reduction.ReduceMinOp, reduction.ReduceL2Op,
    reduction.ReduceProdOp, reduction.ReduceLogSumExpOp,
)  # fmt: skip


def _reduce(g: Graph, x: SSAValue) -> SSAValue:
    axes = sorted({int(axis) for axis in g.rng.integers(3, size=2)})
    kind = REDUCTIONS[int(g.rng.integers(len(REDUCTIONS) - 1))]
    return g.add(elementwise.SubOp(x, g.add(kind(x, axes))))


def _quantized_sum(g: Graph, x: SSAValue) -> SSAValue:
    element = UniformQuantizedType.per_tensor(i8, f32, 0.5, -7)
    op = reduction.ReduceSumOp(g.quantized(x), [int(g.rng.integers(3))])
    shape = shape_of(op.result)
    total = g.add(
        type(op).create(operands=op.operands[:1], result_types=[TensorType(element, shape)], properties=op.properties)
    )
    op.drop_all_references()
    return g.add(elementwise.MaxOp(x, g.real(total)))


def _extreme(g: Graph, x: SSAValue) -> SSAValue:
    kind = (reduction.ArgMaxOp, reduction.ArgMinOp)[int(g.rng.integers(2))]
    positions = g.add(build(kind, [g.add(elementwise.RoundOp(x))], {"axis": int(g.rng.integers(3))}))
    cast = elementwise.CastOp.build(operands=[positions], result_types=[TensorType(f32, shape_of(positions))])
    return g.add(elementwise.AddOp(x, g.add(cast)))


def _scan(g: Graph, x: SSAValue) -> SSAValue:
    """Only of an axis that is no product: the places of one are counted."""
    known = [axis for axis, size in enumerate(shape_of(x)) if size == WIDTH]
    return g.add(build(reduction.CumSumOp, [x, None], {"axis": known[0]})) if known else x


def _norm(g: Graph, x: SSAValue) -> SSAValue:
    return g.add(build(normalization.LpNormOp, [x], {"axis": int(g.rng.integers(3)), "epsilon": 0.5}))


def _attention(g: Graph, x: SSAValue) -> SSAValue:
    """Scores, a softmax, and a sum over what may be open, all of integers."""
    left = g.quantized(x)
    element = UniformQuantizedType.per_tensor(i8, f32, 0.125, 5)
    swapped = g.add(movement.TransposeOp(left, [0, 2, 1]))
    scores = g.add(MatMulOp(left, swapped, result_type=TensorType(element, _product_shape(left, swapped))))
    chosen = UniformQuantizedType.per_tensor(i8, f32, 1 / 256, -128)
    weights = scores
    if g.rng.integers(2):
        soft = build(normalization.SoftmaxOp, [scores, None])
        weights = g.add(
            normalization.SoftmaxOp.build(
                operands=[scores, []], result_types=[TensorType(chosen, shape_of(scores))], properties=soft.properties
            )
        )
        soft.drop_all_references()
    return g.real(g.add(MatMulOp(weights, left, result_type=TensorType(element, _product_shape(weights, left)))))


def _product_shape(lhs: SSAValue, rhs: SSAValue) -> list[int]:
    return [shape_of(lhs)[0], shape_of(lhs)[1], shape_of(rhs)[2]]


def _per_size(g: Graph, x: SSAValue) -> SSAValue:
    """A size as a number: everything over how many there are."""
    size = g.size(x, int(g.rng.integers(3)))
    cast = elementwise.CastOp.build(operands=[size], result_types=[TensorType(f32, [1])])
    return g.add(elementwise.DivOp(x, g.add(cast)))


STEPS: tuple[Step, ...] = (
    _elements, _transpose, _heads, _softmax, _masked_softmax, _log_softmax, _reduce, _quantized_sum, _extreme, _scan,
    _norm, _attention, _per_size,
)  # fmt: skip


def random_module(seed: int, steps: int) -> ModuleOp:
    rng = np.random.default_rng(seed)
    type_ = TensorType(f32, [DYNAMIC_INDEX, DYNAMIC_INDEX, WIDTH])
    block = Block(arg_types=[type_])
    graph, value = Graph(rng, block), block.args[0]
    for _ in range(steps):
        value = STEPS[int(rng.integers(len(STEPS)))](graph, value)
    block.add_op(ReturnOp(value))
    function = FuncOp("main", ([type_], [value.type]), Region(block))
    dims = ArrayAttr([StringAttr("n"), StringAttr("s"), StringAttr("")])
    function.arg_attrs = ArrayAttr([DictionaryAttr({"nn.name": StringAttr("x"), "nn.dims": dims})])
    module = ModuleOp([function])
    verify(module)
    return module


HOSTILE = (np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0)


def valid_part(padded: Array, axes: tuple[Extent, ...], sizes: dict[str, int]) -> Array:
    """The elements of a run, found by the digits of each place."""
    for axis, extent in enumerate(axes):
        keep = np.ones(padded.shape[axis], bool)
        for name, digits in extent.digits(CAPACITIES).items():
            keep &= digits < sizes[name]
        padded = padded.compress(keep, axis=axis)
    return padded


def assert_padding_is_harmless(module: ModuleOp, seed: int, shape: tuple[int, ...]) -> None:
    """Compare the valid part with the function at the size of each run; the input has `shape` after its open axes."""
    padded = module.clone()
    inputs = pad_function(padded, CAPACITIES)
    (axes,) = outline(module).outputs.values()
    verify(padded)
    rng = np.random.default_rng(seed)
    for n, s in product((1, 3), (1, 2, 5)):
        x = rng.normal(size=(n, s, *shape)).astype(np.float32)
        wide = rng.choice(HOSTILE, size=(*CAPACITIES.values(), *shape)).astype(np.float32)
        wide[:n, :s] = x
        sizes = {"n": n, "s": s}
        numbers = {port: np.array(sizes[name]) for name, port in inputs.items()}
        (wanted,) = qmlir.interpret(module, {"x": x}).values()
        (found,) = qmlir.interpret(padded, {"x": wide, **numbers}).values()
        np.testing.assert_array_equal(valid_part(found, axes, sizes), wanted, strict=True)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("nan_is_quantized")
def test_random_graphs(seed: int) -> None:
    assert_padding_is_harmless(random_module(seed, steps=1 + seed % 5), seed, (WIDTH,))


def test_exported_masks() -> None:
    """As exporters write masks: read as one list by computed places, expanded to a shape in which -1 could stand."""
    module = qmlir.load(Path(__file__).parent / "places.mlir")
    assert outline(module).mixed == {"s"}
    assert_padding_is_harmless(module, 0, ())


@pytest.mark.parametrize("name", ["encoder", "causal"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("nan_is_quantized")
def test_what_is_quantized_with_samples_of_several_lengths(name: str) -> None:
    rng = np.random.default_rng(0)
    samples = [{"x": rng.normal(size=(1, length, WIDTH)).astype(np.float32)} for length in (1, 2, 3, 4, 5, 3, 2, 5)]
    module = qmlir.quantize(qmlir.load(Path(__file__).parent / f"{name}.mlir"), samples).module
    assert {each.name for each in module.walk()} >= {"nn.softmax", "nn.matmul", "quant.qcast"}
    assert all(element_of(op.result) != f32 for op in module.walk() if isinstance(op, MatMulOp))
    assert_padding_is_harmless(module, 0, (WIDTH,))


def test_independent_sizes_are_those_that_nothing_mixes() -> None:
    module = qmlir.load(Path(__file__).parent / "rows.mlir")
    assert open_sizes(module) == ("n", "s")
    assert outline(module).mixed == {"s"}


Factors = tuple[tuple[int | str, ...], ...]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ((("n",), ("s",), (12,)), (-1, 4, 3), (("n", "s"), (4,), (3,))),
        ((("n",), (12,), ("s",)), (Extent.of(12, "n"), Extent.of("s")), (("n", 12), ("s",))),
        ((("n", 12), ("s",)), (Extent.of("n"), 3, -1, Extent.of("s")), (("n",), (3,), (4,), ("s",))),
        ((("s",), ("n",)), (Extent.of("n"), Extent.of("s")), None),
        ((("s",), (6,)), (4, -1), None),
        ((("s",),), (-1, -1), None),
    ],
)
def test_reshapes_keep_factors_apart(before: Factors, after: tuple[Extent | int, ...], found: Factors | None) -> None:
    result = reshaped([Extent.of(*factors) for factors in before], after)
    assert result == (None if found is None else tuple(Extent.of(*factors) for factors in found))


DIFFERENCES = """
func.func @main(%x: tensor<1x?x2xf32> {nn.name = "x", nn.dims = ["", "s", ""]}) -> (tensor<RESULT> {nn.name = "y"}) {
  %s = nn.shape %x {start = 1, end = 2} : (tensor<1x?x2xf32>) -> tensor<1xi64>
  %five = nn.constant dense<5> : tensor<1xi64>
  %list = nn.sub %s, %five : tensor<1xi64>
  %less = nn.squeeze %list {axes = [0]} : (tensor<1xi64>) -> tensor<i64>
  %zero = nn.constant dense<0> : tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  %row = nn.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<10xf32>
  %start = nn.constant dense<0> : tensor<1xi64>
  %single = nn.constant dense<3.0> : tensor<1xf32>
  %two = nn.constant dense<2> : tensor<1xi64>
  %many = nn.shape %row : (tensor<10xf32>) -> tensor<1xi64>
  %twice = nn.mul %list, %list : tensor<1xi64>
  %square = nn.squeeze %twice {axes = [0]} : (tensor<1xi64>) -> tensor<i64>
  LINES
  func.return %y : tensor<RESULT>
}
"""


@pytest.mark.parametrize(
    ("result", "lines", "least"),
    [
        ("?xi64", "%y = nn.range %zero, %less, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>", 5),
        ("?xf32", "%y = nn.expand %single, %list : (tensor<1xf32>, tensor<1xi64>) -> tensor<?xf32>", 5),
        ("?xf32", "%y = nn.tile %single, %list : (tensor<1xf32>, tensor<1xi64>) -> tensor<?xf32>", 5),
        (
            "?xf32",
            "%y = nn.slice %row, %start, %list : (tensor<10xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>",
            5,
        ),
        (
            "?x1xf32",
            "%v = nn.constant dense<[0.0, 1.0]> : tensor<2xf32>\n"
            "%y = nn.one_hot %start, %v, %list {axis = 0}"
            " : (tensor<1xi64>, tensor<2xf32>, tensor<1xi64>) -> tensor<?x1xf32>",
            6,
        ),
        (
            "1xi64",
            "%is = nn.equal %list, %start : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>\n"
            "%y = nn.where %is, %two, %list : (tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>",
            6,
        ),
    ],
)
def test_differences_of_sizes_are_not_negative(result: str, lines: str, least: int) -> None:
    """A size less 5: below it is refused, and not cut from the other end; what is left is what the interpreter has."""
    text = DIFFERENCES.replace("RESULT", result).replace("LINES", lines)
    module = parse_module(default_environment().new_context(), text)
    found = outline(module)
    assert [all(each.holds({"s": size}) for each in found.conditions) for size in range(1, 14)] == [
        size >= least for size in range(1, 14)
    ]
    inputs = pad_function(padded := module.clone(), {"s": 13})
    (axes,) = found.outputs.values()
    for size in range(least, 14):
        numbers = {port: np.array(size) for port in inputs.values()}
        (expected,) = qmlir.interpret(module, {"x": np.zeros((1, size, 2), np.float32)}).values()
        (valid,) = qmlir.interpret(padded, {"x": np.zeros((1, 13, 2), np.float32), **numbers}).values()
        np.testing.assert_array_equal(valid[: axes[0].at({"s": size})], expected, strict=True)


def test_products_that_do_not_grow_are_conditions() -> None:
    """`(s - 5)(s - 7)` is 24 for 1, and -1 for 6."""
    lines = """%seven = nn.constant dense<7> : tensor<1xi64>
  %other = nn.sub %s, %seven : tensor<1xi64>
  %product = nn.mul %list, %other : tensor<1xi64>
  %y = nn.expand %one, %product : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>"""
    text = DIFFERENCES.replace("RESULT", "?xi64").replace("LINES", lines)
    conditions = outline(parse_module(default_environment().new_context(), text)).conditions
    assert [size for size in range(1, 14) if not all(each.holds({"s": size}) for each in conditions)] == [6]


@irdl_op_definition
class RowSumsOp(IRDLOperation, InferResultTypes):
    """An operation of a package: the sums of the rows of a matrix."""

    name = "sums.rows"

    x = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(f32, shape_of(self.x)[:1])]


def _row_sums(op: RowSumsOp, at: PaddingSite) -> list[PaddedValue]:
    rows, columns = at.axes(op.x)
    at.mix(columns)
    at.select(op.x, [1], zero_of)
    return [PaddedValue((rows,))]


SUMS = Universe(all_dialects={"sums": lambda: Dialect("sums", [RowSumsOp])})
ROW_SUMS = {RowSumsOp: _row_sums}
ROW_SUMS_IN_NUMPY = {RowSumsOp: lambda op, x: (x.sum(axis=1, dtype=np.float64).astype(np.float32),)}


def test_a_package_gives_its_operation_a_rule() -> None:
    rows = Contribution(evaluators={"sums": f"{__name__}:ROW_SUMS_IN_NUMPY"}, paddings={"sums": f"{__name__}:ROW_SUMS"})
    text = """func.func @main(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["n", "s"]}) -> tensor<?xf32> {
        %0 = "sums.rows"(%x) : (tensor<?x?xf32>) -> tensor<?xf32>
        func.return %0 : tensor<?xf32>
    }"""
    with registry.plugged([Package("sums", "1.0", universes=(f"{__name__}:SUMS",), contributions=(rows,))]):
        module = parse_module(default_environment().new_context(), text)
        assert outline(module).mixed == {"s"}
        assert_padding_is_harmless(module, 0, ())
