"""Where operations are defined, and types that hold nothing else: by evaluation, by enumeration, in a whole model."""

from collections.abc import Iterator

import numpy as np
import onnx.parser
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, f32
from xdsl.ir import Block

import qmlir
from qmlir.dialects.nn.base import Kind, NnOp
from qmlir.dialects.nn.dialect import Nn
from qmlir.dialects.nn.elementwise.ops import BinaryOp, PowOp, UnaryOp
from qmlir.dialects.quant.types import UniformQuantizedType, storage_limits
from qmlir.environment import default_environment
from qmlir.ir.evaluation import evaluate
from qmlir.ir.interfaces import Domain
from qmlir.quantization.operand_domains import narrowed
from qmlir.quantization.report import coverage
from qmlir.text.parsing import parse_module

POINTS = np.array([-20, -2, -1.25, -1, -0.5, -0.0, 0, 1e-6, 0.5, 1, 1.25, 2, 20], np.float32)


def _elementwise() -> Iterator[type[NnOp]]:
    """Every operation that computes quantized values one by one, or by pairs; but powers, which also overflow."""
    for kind in Nn.operations:
        if issubclass(kind, UnaryOp | BinaryOp) and Kind.QUANTIZED in kind.ACCEPTS and kind is not PowOp:
            yield kind


def _evaluated(kind: type[NnOp], *arrays: NDArray[np.float32]) -> tuple[NnOp, NDArray[np.float32]]:
    """An operation, and what it gives."""
    block = Block(arg_types=[TensorType(f32, array.shape) for array in arrays])
    op = kind(*block.args)
    with np.errstate(all="ignore"):
        results = evaluate(op, arrays)
    assert results is not None
    return op, results[0]


@pytest.mark.parametrize("kind", tuple(_elementwise()), ids=lambda kind: kind.name)
def test_results_are_finite_where_an_operation_says_so_and_nowhere_else(kind: type[NnOp]) -> None:
    arrays = [POINTS] if issubclass(kind, UnaryOp) else [each.ravel() for each in np.meshgrid(POINTS, POINTS)]
    op, results = _evaluated(kind, *arrays)
    said = np.ones(arrays[0].shape, bool)
    for array, domain in zip(arrays, op.domains(), strict=True):
        said &= True if domain is None else domain.holds(array)
    assert np.array_equal(np.isfinite(results), said)


DOMAINS = (
    Domain(holes=(0.0,)),
    Domain(minimum=0.0),
    Domain(minimum=0.0, holes=(0.0,)),
    Domain(-1.0, 1.0),
    Domain(-1.0, 1.0, holes=(-1.0, 1.0)),
    Domain(minimum=1.0),
)


def test_narrowed_types_by_enumeration() -> None:
    random = np.random.default_rng(0)
    outcomes = set()
    for _ in range(4000):
        bits, signedness = int(random.integers(2, 9)), random.choice([Signedness.SIGNLESS, Signedness.UNSIGNED])
        storage = IntegerType(bits, signedness)
        first, last = storage_limits(storage)
        zero = int(random.choice([first, last, 0, random.integers(first, last + 1)]))
        scale = float(np.float32(random.choice([0.1, 0.25, 1 / 127, 2.0 / (last - first)]) * random.uniform(0.5, 1.5)))
        type_ = UniformQuantizedType.per_tensor(storage, f32, scale, zero)
        integers = np.arange(first, last + 1)
        numbers = np.float32(scale) * (integers - zero).astype(np.float32)
        low, high = np.sort(random.choice(numbers, 2).astype(np.float64) + random.uniform(-scale, scale, 2))
        domain = DOMAINS[random.integers(len(DOMAINS))]
        found = narrowed(type_, domain, low, high)
        crossed = any(low <= hole <= high for hole in domain.holes)
        inside = low >= domain.minimum and high <= domain.maximum and not crossed
        # What may be stored: the numbers of the domain on the side of its holes where the values are.
        kept = domain.holds(numbers)
        for hole in domain.holes:
            kept &= (numbers > hole) == (low > hole)
        outcomes.add((found is None, inside))
        if found is None:
            ends = numbers[kept][[0, -1]] if kept.sum() > 1 else None
            # The first and the last number are more than half a step away, or there are none.
            assert not inside or ends is None or ends[0] - low > scale * 0.499 or high - ends[1] > scale * 0.499
            continue
        assert inside
        stored = (integers >= found.storage_min) & (integers <= found.storage_max)
        assert np.array_equal(stored, kept)
        assert (found.scale, found.zero_point) == (type_.scale, type_.zero_point)
    assert outcomes == {(True, True), (True, False), (False, True)}


FUNCTIONS = {
    "sqrt": (0.0, 4.0),
    "log": (0.5, 9.0),
    "reciprocal": (-3.0, -0.25),
    "acosh": (1.0, 7.0),
    "atanh": (-0.9, 0.8),
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
}


@pytest.mark.parametrize("scheme", ["asymmetric", "symmetric"])
def test_samples_go_through_interpreter_and_program_alike(scheme: str) -> None:
    # A sum in front, so that rounding it may leave the domain; 0 / 0 where a divisor were rounded to 0.
    lines, inputs, arrays = [], [], {}
    random = np.random.default_rng(1)
    for name, (low, high) in FUNCTIONS.items():
        inputs.append(f'%{name}: tensor<1x64xf32> {{nn.name = "{name}"}}')
        values = random.uniform(low, high, (32, 64))
        values[0, :2] = low, high
        arrays[name] = values.astype(np.float32)
        lines += [
            f'%{name}_n = nn.neg %{name} : tensor<1x64xf32> {{origin = "{name}_n"}}',
            f'%{name}_p = nn.neg %{name}_n : tensor<1x64xf32> {{origin = "{name}_p"}}',
            f'%{name}_y = nn.{name} %{name}_p : tensor<1x64xf32> {{origin = "{name}_y"}}',
        ]
    lines += [
        '%zero = nn.sub %log, %log : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32> {origin = "zero"}',
        '%div_y = nn.div %zero, %log_p : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32> {origin = "div_y"}',
    ]
    names = [*FUNCTIONS, "div"]
    results = ", ".join(f'tensor<1x64xf32> {{nn.name = "{name}"}}' for name in names)
    body = "\n".join(lines)
    text = (
        f"func.func @main({', '.join(inputs)}) -> ({results}) {{\n{body}\n"
        f"func.return {', '.join(f'%{name}_y' for name in names)} : {', '.join(['tensor<1x64xf32>'] * len(names))}\n}}"
    )
    module = parse_module(default_environment().new_context(), text, "functions")
    quantized = qmlir.quantize(module, arrays, scheme=scheme).module
    assert not coverage(quantized).left_in_float
    program = qmlir.compile(quantized, codegen="llvm")
    for sample in range(0, 32, 8):
        batch = {name: array[sample : sample + 1] for name, array in arrays.items()}
        expected, computed = qmlir.interpret(quantized, batch), program(batch)
        for name in names:
            assert np.array_equal(expected[name], computed[name]), name


# What vision and language encoders make of a mask and of positions: how far along something is, and angles.
def test_what_is_flat_is_0_in_8_bits() -> None:
    """By evaluation: half a step over the range of the results from there on is larger than any of them below."""
    flat = [kind for kind in Nn.operations if issubclass(kind, UnaryOp) and np.isfinite(kind.SLOTS.flat_below)]
    assert [kind.name for kind in flat] == ["nn.gelu"]
    for kind in flat:
        edge = kind.SLOTS.flat_below
        below, above = (
            _evaluated(kind, np.linspace(*ends, 4096, dtype=np.float32))[1] for ends in ((-1e4, edge), (edge, 0))
        )
        assert np.abs(below).max() < np.ptp(above) / 255 / 2


POSITIONS = """
<ir_version: 8, opset_import: ["" : 17]>
positions (float[N, 6] x, int64[N, 6] mask, int64[N, 4] ids) => (float[N, 6] y, float[N, 4, 2] cosine)
<int64 axis = {1}, int64[1] one = {1}, int64[1] last = {-1}, int64[1] end = {100}, float above = {1e-6},
 float turn = {6.2831855}, float[1, 2] frequencies = {1.0, 0.1}, int64[1] back = {-1}> {
    kept = Cast<to = 1> (mask)
    count = CumSum (kept, axis)
    all = Slice (count, last, end, one)
    total = Add (all, above)
    share = Div (count, total)
    angle = Mul (share, turn)
    sine = Sin (angle)
    y = Add (x, sine)
    floats = Cast<to = 1> (ids)
    rows = Unsqueeze (floats, back)
    angles = MatMul (rows, frequencies)
    cosine = Cos (angles)
}
"""


def test_positions_of_a_mask_and_angles_of_many_turns_keep_their_numbers() -> None:
    random = np.random.default_rng(2)
    mask = np.arange(6) < random.integers(0, 7, (32, 1))
    mask[0] = False  # 0 / 1e-6, which is 0 / 0 once 1e-6 is rounded
    arrays = {
        "x": random.uniform(-1, 1, (32, 6)).astype(np.float32),
        "mask": mask.astype(np.int64),
        "ids": random.integers(0, 2000, (32, 4)),
    }
    shapes = {name: (1, *array.shape[1:]) for name, array in arrays.items()}
    model = qmlir.load(onnx.parser.parse_model(POSITIONS), shapes=shapes)
    quantized = qmlir.quantize(model, arrays).module
    program = qmlir.compile(quantized, codegen="llvm")
    for sample in range(32):
        one = {name: array[sample : sample + 1] for name, array in arrays.items()}
        found, computed = qmlir.interpret(quantized, one), program(one)
        assert all(np.array_equal(array, computed[name]) for name, array in found.items())
        cosine = np.cos(one["ids"][..., None].astype(np.float32) * np.array([1.0, 0.1], np.float32))
        shares = np.cumsum(one["mask"], 1) / (one["mask"].sum() + 1e-6)
        assert np.abs(found["cosine"] - cosine).max() <= 1 / 128  # the largest number of its type is 127 / 128
        assert np.abs(found["y"] - one["x"] - np.sin(2 * np.pi * shares)).max() <= 6 / 128
