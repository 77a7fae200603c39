"""Decided types against formulas written out here, and the same for a composite and for its parts."""

import itertools
import math

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, TensorType, f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.recurrent import ops as recurrent
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.provenance import origins_of
from qmlir.text.printing import module_text
from tests.support.sampled import seeds
from tests.unit.quantization.random_graphs import (
    Graph,
    Seen,
    calibrate,
    function_of,
    network,
    outputs_of,
    run_passes,
    watch,
)

STORAGES = {
    "u1": (0, 1),
    "i2<-1:1>": (-1, 1),
    "i2": (-2, 1),
    "i4": (-8, 7),
    "u4": (0, 15),
    "i8": (-128, 127),
    "i8<-127:127>": (-127, 127),
    "u8": (0, 255),
    "i16": (-(2**15), 2**15 - 1),
    "u16": (0, 2**16 - 1),
    "i32": (-(2**31), 2**31 - 1),
}
RANGES = [(-1.0, 3.0), (0.0, 6.0), (-8.0, -2.0), (-0.3, 0.3), (1e-3, 2e-3)]


def expected(low: float, high: float, scheme: str, limits: tuple[int, int]) -> tuple[float, int]:
    """Scale, as f32, and zero point, in Python's floats."""
    low, high = min(low, 0.0), max(high, 0.0)
    qmin, qmax = limits
    if scheme.startswith("asymmetric"):
        scale = (high - low) / (qmax - qmin)
        if scheme.endswith("pow2"):
            scale = 2.0 ** math.ceil(math.log2(scale))
        return float(np.float32(scale)), min(max(round(qmin - low / scale), qmin), qmax)
    middle = 0 if qmin < 0 else round((qmin + qmax) / 2)
    spread = 2 * max(-low, high) / (qmax - qmin)
    if not scheme.endswith("pow2"):
        if abs((middle - qmin) - (qmax - middle)) > 1:
            raise NotImplementedError
        return float(np.float32(spread)), middle
    sides = [(-low, middle - qmin), (high, qmax - middle)]
    covering = spread if any(reach and not steps for reach, steps in sides) else max(r / s for r, s in sides if r)
    return 2.0 ** math.ceil(math.log2(covering)), middle


def type_of(value: SSAValue) -> UniformQuantizedType:
    element = element_type(value.type)
    assert isinstance(element, UniformQuantizedType)
    return element


def operations(module: ModuleOp, kind: type[Operation]) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, kind)]


@pytest.mark.parametrize(
    ("storage", "scheme"),
    list(itertools.product(STORAGES, ["asymmetric", "symmetric", "asymmetric_pow2", "symmetric_pow2"])),
)
def test_parameters_of_ranges(storage: str, scheme: str) -> None:
    for low, high in RANGES:
        graph = Graph(0)
        x = graph.input(np.array([low, high], np.float32))
        y = graph.add(elementwise.AbsOp, x)
        module = graph.module(y)
        calibrate(module, watch(module, graph.inputs))
        run_passes(module, f"quant-assign-types{{activations={storage} scheme={scheme} calibrator=min_max}}")
        (absolute,) = operations(module, elementwise.AbsOp)
        found = type_of(absolute.operands[0])
        assert (found.storage_min, found.storage_max) == STORAGES[storage]
        ends = (float(np.float32(low)), float(np.float32(high)))
        assert (found.scale, found.zero_point) == expected(*ends, scheme, STORAGES[storage]), (low, high)


@pytest.mark.parametrize("scheme", ["asymmetric", "symmetric", "asymmetric_pow2", "symmetric_pow2"])
@pytest.mark.parametrize("granularity", ["tensor", "channel"])
@pytest.mark.parametrize("storage", ["i4", "i8<-127:127>", "u8"])
def test_parameters_of_weights(scheme: str, granularity: str, storage: str) -> None:
    graph = Graph(3)
    weights = graph.array(5, 7)
    y = graph.add(contraction.FullyConnectedOp, graph.input(graph.array(2, 7)), graph.constant(weights))
    module = graph.module(y)
    calibrate(module, watch(module, graph.inputs))
    run_passes(module, f"quant-assign-types{{weights={storage} weight_scheme={scheme} granularity={granularity}}}")
    (layer,) = operations(module, contraction.FullyConnectedOp)
    found = type_of(layer.operands[1])
    rows = weights if granularity == "channel" else weights.reshape(1, -1)
    wanted = [expected(float(row.min()), float(row.max()), scheme, STORAGES[storage]) for row in rows]
    assert found.scales.reshape(-1).tolist() == [scale for scale, _ in wanted]
    assert found.zero_points.reshape(-1).tolist() == [zero_point for _, zero_point in wanted]


def test_bias_and_accumulator_have_the_scale_of_products() -> None:
    graph = Graph(4)
    weights, bias = graph.array(5, 7), graph.array(5)
    x = graph.input(graph.array(2, 7))
    module = graph.module(graph.add(contraction.FullyConnectedOp, x, graph.constant(weights), graph.constant(bias)))
    run_passes(module, "nn-decompose")
    calibrate(module, watch(module, graph.inputs))
    run_passes(module, "quant-assign-types{granularity=channel}")
    (product,), (added,) = operations(module, contraction.MatMulOp), operations(module, elementwise.AddOp)
    low, high = float(graph.inputs[0].min()), float(graph.inputs[0].max())
    data_scale, _ = expected(low, high, "asymmetric", (-128, 127))
    scales = np.float32(data_scale) * np.float32(np.abs(weights.astype(np.float64)).max(axis=1) / 127)
    for value in (product.results[0], added.operands[1]):
        assert type_of(value).scales.astype(np.float32).tolist() == scales.tolist()
        assert type_of(value).bits == 32
        assert not type_of(value).zero_points.any()
    constant = added.operands[1].owner
    assert isinstance(constant, ConstantOp)
    assert constant.array.tolist() == [round(float(b / s)) for b, s in zip(bias, scales, strict=True)]


@pytest.mark.parametrize(("storage", "taken"), [("i8", 8), ("i16", 16), ("i32", 16), ("u32", 16)])
@pytest.mark.parametrize("granularity", ["tensor", "channel"])
def test_wide_data_makes_no_weights_coarser(storage: str, taken: int, granularity: str) -> None:
    """Where the bias would not fit the scale of the sum, the product reads its data in 16 bits."""
    graph = Graph(4)
    weights, bias = graph.array(5, 7), 8 * graph.array(5)
    x = graph.input(graph.array(2, 7))
    layer = graph.add(contraction.FullyConnectedOp, x, graph.constant(weights), graph.constant(bias))
    module = graph.module(graph.add(elementwise.AbsOp, layer))
    run_passes(module, "nn-decompose")
    calibrate(module, watch(module, graph.inputs))
    run_passes(
        module, f"quant-assign-types{{assert_all_quantized=true activations={storage} granularity={granularity}}}"
    )
    (product,) = operations(module, contraction.MatMulOp)
    rows = weights if granularity == "channel" else weights.reshape(1, -1)
    wanted = [expected(float(row.min()), float(row.max()), "symmetric", (-127, 127))[0] for row in rows]
    assert type_of(product.operands[1]).scales.reshape(-1).tolist() == wanted
    assert type_of(product.operands[0]).bits == taken


@pytest.mark.parametrize("largest", [1.0, 1e5])
def test_groups_of_a_transposed_convolution_share_the_scales_of_their_channels(largest: float) -> None:
    """A bias of one group that would not fit 32 bits raises the scale that its channel has in both groups."""
    graph = Graph(4)
    data = graph.array(1, 4, 5)
    weights, bias = graph.array(4, 3, 2), np.array([0.5, -1, 2, 1, largest, -0.25], np.float32)
    weights[:, 1] *= 1e-4
    operands = (graph.input(data), graph.constant(weights), graph.constant(bias))
    op = build(contraction.ConvTransposeOp, operands, {"groups": 2, "strides": [2]})
    graph.block.add_op(op)
    module = graph.module(op.results[0])
    calibrate(module, watch(module, graph.inputs))
    run_passes(module, "quant-assign-types{granularity=channel assert_all_quantized=true}")
    (layer,) = operations(module, contraction.ConvTransposeOp)
    data_scale, _ = expected(float(data.min()), float(data.max()), "asymmetric", (-128, 127))
    scales = np.abs(weights.astype(np.float64)).max(axis=(0, 2)) / 127
    found, constant = type_of(layer.operands[1]), layer.operands[2].owner
    assert isinstance(constant, ConstantOp)
    assert found.axis == 1
    if largest > 1:
        assert abs(float(bias[4])) / (data_scale * scales[1]) > 2**31
        assert found.scales[1] >= largest / data_scale / 2**31
    else:
        assert found.scales.astype(np.float32).tolist() == np.float32(scales).tolist()
    products = np.tile(np.float32(data_scale) * found.scales.astype(np.float32), 2)
    assert type_of(layer.operands[2]).scales.astype(np.float32).tolist() == products.tolist()
    assert constant.array.tolist() == [round(float(b / s)) for b, s in zip(bias, products, strict=True)]


def _by_name(seen: Seen) -> dict[str, Statistics]:
    """What was seen of the result of each node: of its last part."""
    return {origins_of(v.owner)[0].name: s for v, s in seen.items() if isinstance(v.owner, Operation)}


OPTIONS = (
    "",
    "granularity=channel",
    "activations=u8 granularity=channel",
    "scheme=symmetric_pow2 weight_scheme=symmetric_pow2",
    "weights=i4 weight_scheme=asymmetric granularity=channel",
    "calibrator=percentile activations=i16",
)


@pytest.mark.parametrize("seed", seeds(100, 200))
def test_composites_and_their_parts_have_the_same_parameters(seed: int) -> None:
    """Of inputs, weights, biases and outputs, exactly, from the same statistics."""
    whole, inputs = network(seed)
    run_passes(whole, "canonicalize")
    parts = run_passes(whole.clone(), "nn-decompose,canonicalize,dce")
    seen, seen_parts = watch(whole, inputs), watch(parts, inputs)
    names = _by_name(seen)
    last = {origins_of(v.owner)[0].name: v for v in seen_parts if isinstance(v.owner, Operation)}
    seen_parts |= {value: names[name] for name, value in last.items()}
    calibrate(whole, seen)
    calibrate(parts, seen_parts)
    options = OPTIONS[seed % len(OPTIONS)]
    for module in (whole, parts):
        run_passes(module, f"quant-assign-types{{{options}}}")
    groups: dict[str, list[Operation]] = {}
    for op in parts.walk():
        if len(op.results) and origins_of(op) and not op.name.startswith("quant.") and not isinstance(op, ConstantOp):
            groups.setdefault(origins_of(op)[0].name, []).append(op)
    for op in whole.walk():
        if not isinstance(op, contraction.BiasedContractionOp):
            continue
        if all(isinstance(use.operation, ReturnOp | DequantizeCastOp) for use in op.result.uses):
            continue  # next to an output the bias may stay in float, which a composite has no part for
        group = groups[origins_of(op)[0].name]
        data, weights = map(type_of, group[0].operands[:2])
        if weights.bits == 16 or (data.bits == 16 and "i16" not in options):
            continue  # a scaler is folded into weights that read the same data, which is looked for in products only
        assert [type_of(value) for value in op.operands[:2]] == [type_of(value) for value in group[0].operands[:2]]
        assert type_of(op.result) == type_of(group[-1].results[0])
        if len(op.operands) == 3:
            own, other = op.operands[2], group[-1].operands[1]
            assert type_of(own).scales.tolist() == type_of(other).scales.tolist()
            assert not type_of(own).zero_points.any()
            assert not type_of(other).zero_points.any()
            assert isinstance(own.owner, ConstantOp)
            assert isinstance(other.owner, ConstantOp)
            assert own.owner.array.reshape(-1).tolist() == other.owner.array.reshape(-1).tolist()


@pytest.mark.parametrize("seed", range(0, 200, 5))
def test_one_type_for_each_value(seed: int) -> None:
    """Between casts nothing changes a type, and no value is quantized in two ways."""
    module, inputs = network(seed)
    calibrate(module, watch(module, inputs))
    run_passes(module, f"quant-insert-casts{{{OPTIONS[seed % len(OPTIONS)]}}}")
    casts = [op for op in module.walk() if op.name == "quant.qcast"]
    assert len({op.operands[0] for op in casts}) == len(casts)
    assert all(element_type(value.type) == f32 for value in function_of(module).args)


@pytest.mark.parametrize("seed", range(100))
def test_accumulators_of_32_bits_are_closer_than_those_of_8(seed: int) -> None:
    graph = Graph(seed)
    width, rows = (int(graph.random.integers(8, 65)) for _ in range(2))
    x, w, b = (
        graph.input(graph.array(16, width)),
        graph.constant(graph.array(rows, width)),
        graph.constant(graph.array(rows)),
    )
    module = run_passes(graph.module(graph.add(contraction.FullyConnectedOp, x, w, b)), "nn-decompose")
    (exact,) = outputs_of(module, graph.inputs)
    calibrate(module, watch(module, graph.inputs))
    errors = []
    for accumulator in ("i32", "i8"):
        quantized = run_passes(module.clone(), f"quant-assign-types{{accumulator={accumulator}}}")
        (found,) = outputs_of(quantized, graph.inputs)
        errors.append(float(np.square(found.astype(np.float64) - exact).mean()))
    assert errors[0] < errors[1]


def test_wide_sums_count_in_steps_that_32_bits_hold() -> None:
    """16 by 16 bits: the accumulator is coarser by a power of two, and no sum overflows."""
    graph = Graph(0)
    x, w = graph.input(graph.array(4, 100)), graph.constant(graph.array(8, 100))
    bias = graph.constant(graph.array(8))
    module = run_passes(graph.module(graph.add(contraction.FullyConnectedOp, x, w, bias)), "nn-decompose")
    (exact,) = outputs_of(module, graph.inputs)
    calibrate(module, watch(module, graph.inputs))
    run_passes(module, "quant-assign-types{activations=i16 weights=i16 weight_scheme=symmetric}")
    (product,) = operations(module, contraction.MatMulOp)
    ratio = type_of(product.results[0]).scale / (
        type_of(product.operands[0]).scale * type_of(product.operands[1]).scale
    )
    assert math.log2(ratio) == pytest.approx(round(math.log2(ratio)), abs=1e-6)
    assert ratio > 1.5
    (found,) = outputs_of(module, [graph.inputs[0]])
    assert np.abs(found - exact).max() < 3e-3


@pytest.mark.parametrize("channels", [1, 4])
def test_bias_of_one_element(channels: int) -> None:
    graph = Graph(channels)
    x, w = graph.input(graph.array(3, 6)), graph.constant(graph.array(6, channels))
    y = graph.add(elementwise.AddOp, graph.add(contraction.MatMulOp, x, w), graph.constant(graph.array(1)))
    module = graph.module(y)
    (exact,) = outputs_of(module, graph.inputs)
    calibrate(module, watch(module, graph.inputs))
    run_passes(module, "quant-assign-types{granularity=channel assert_all_quantized=true}")
    (found,) = outputs_of(module, graph.inputs)
    assert np.abs(found - exact).max() < 0.2


def test_unsigned_storage_is_unsigned() -> None:
    module = run_passes(_net(), "quant-assign-types{activations=u8}")
    (layer,) = operations(module, contraction.FullyConnectedOp)
    assert type_of(layer.operands[0]).storage == IntegerType(8, Signedness.UNSIGNED)
    assert layer.results[0].type == TensorType(type_of(layer.results[0]), [2, 3])


def _net() -> ModuleOp:
    graph = Graph(1)
    x, w = graph.input(graph.array(2, 4)), graph.constant(graph.array(3, 4))
    module = graph.module(graph.add(contraction.FullyConnectedOp, x, w))
    return calibrate(module, watch(module, graph.inputs))


def test_an_addend_of_higher_rank_follows_the_channels() -> None:
    """[2, 2] + [2, 1, 2]: what is one axis of the sum is another one of the accumulator."""
    graph = Graph(2)
    x, w = graph.input(graph.array(2, 3)), graph.constant(graph.array(3, 2))
    y = graph.add(elementwise.AddOp, graph.add(contraction.MatMulOp, x, w), graph.constant(graph.array(2, 1, 2)))
    module = graph.module(y)
    (exact,) = outputs_of(module, graph.inputs)
    calibrate(module, watch(module, graph.inputs))
    run_passes(module, "quant-assign-types{granularity=channel assert_all_quantized=true}")
    (added,) = operations(module, elementwise.AddOp)
    product, addend = (type_of(value) for value in added.operands)
    assert product.scales.tolist() == addend.scales.tolist()
    assert (product.axis, addend.axis) == (1, 2)
    (found,) = outputs_of(module, graph.inputs)
    assert np.abs(found - exact).max() < 0.1


def test_a_recurrent_layer_is_left_whole() -> None:
    graph = Graph(2)
    x = graph.input(graph.array(3, 1, 2))
    w, r = graph.constant(graph.array(1, 8, 2)), graph.constant(graph.array(1, 8, 2))
    operands = [x, w, r, *[None] * 5]
    op = build(recurrent.LstmOp, operands, {"hidden_size": 2})
    graph.block.add_op(op)
    module = graph.module(op.results[0])
    calibrate(module, watch(module, graph.inputs))
    with pytest.raises(DiagnosticError, match="1 operation that is not quantized") as error:
        run_passes(module.clone(), "quant-assign-types{assert_all_quantized=true}")
    assert [note.message for note in error.value.diagnostic.notes] == [
        "'nn.lstm' op not quantized: it is kept as a composite, which has no integer kernel; "
        "help: remove it from --keep-composites (keep_composites=) to quantize its parts"
    ]
    text = module_text(run_passes(module, "quant-assign-types"))
    assert "quant.qcast" not in text


def test_the_cells_of_both_directions_have_one_type() -> None:
    """They are one result of the layer, also where nothing uses it."""
    graph = Graph(2)
    x, w, r = graph.input(graph.array(3, 1, 2)), graph.array(2, 8, 2), graph.array(2, 8, 2)
    w[1] *= 5
    operands = [x, graph.constant(w), graph.constant(r), *[None] * 5]
    results = graph.add(recurrent.LstmOp, *operands, results=3, hidden_size=2, direction="bidirectional")
    module = run_passes(graph.module(results[0]), "nn-decompose,canonicalize,dce")
    calibrate(module, watch(module, graph.inputs))
    run_passes(module, "quant-assign-types")
    cells = [op for op in operations(module, elementwise.AddOp) if origins_of(op)[0].role.endswith("cell/sum")]
    assert len(cells) == 6
    assert len({type_of(op.results[0]) for op in cells}) == 1
