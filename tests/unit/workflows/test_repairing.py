"""Repairs: what they gain on samples that they have not seen, and nothing kept where they lose."""

import math
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.contraction import MatMulOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.interpret import dequantize
from qmlir.dialects.quant.interpret import quantize as to_codes
from qmlir.environment import default_environment
from qmlir.interpreter.machine import RunsInStep
from qmlir.interpreter.run import interpret
from qmlir.interpreter.samples import Run
from qmlir.ir.diagnostics import DiagnosticError, diagnostic_handler
from qmlir.passes.quantized import quant_round
from qmlir.passes.quantized.repairs import LayerGain, RepairsWeights, mark_repaired, repairs_of
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import COMPILE, STORE
from qmlir.quantization.choice import REPAIRS
from qmlir.quantization.learned import float_constants
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.retyping import REPAIRED
from qmlir.quantization.rounded_weights import RoundedWeight, bias_beside, rounded_weights
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text
from qmlir.workflows import validating
from qmlir.workflows.comparison.compare import compare
from qmlir.workflows.comparison.subjects import ModuleSubject
from qmlir.workflows.profiling import profile
from qmlir.workflows.quantized import Quantized
from qmlir.workflows.quantizing import quantize, stages_of
from qmlir.workflows.repairing import (
    EFFORTS,
    EQUALIZE,
    EQUALIZES,
    MOST,
    JudgesBeside,
    Repair,
    Repairing,
    noise_ratios,
    runs_to_repair,
)
from qmlir.workflows.validating import HELD_OUT, References, Share

_EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
_W4: QuantizeSettings = {"weights": "i4"}


@pytest.fixture(scope="module")
def model() -> ModuleOp:
    return qmlir.load(_EXAMPLES / "digits_cnn.onnx")


@pytest.fixture(scope="module")
def data() -> Array:
    """Images, in a random order."""
    with np.load(_EXAMPLES / "digits_samples.npz") as archive:
        return np.random.default_rng(0).permutation(next(iter(archive.values())))


def _decided(model: ModuleOp, data: Array, settings: QuantizeSettings) -> ModuleOp:
    """With constants that are still floats."""
    run = stages_of(settings, model, repair=EFFORTS[2])
    module = model.clone()
    run(module, "target", "lower")
    run(module, "profile", "mask", "balance", taken=profile(module, {"input": data}))
    run(module, "decide", "propagate")
    return module


def _error(module: ModuleOp, model: ModuleOp, data: Array) -> float:
    off = [_of(module, row) - _of(model, row) for row in data]
    return float(np.square(off).sum())


def _of(module: ModuleOp, row: Array) -> Array:
    return next(iter(interpret(module, {"input": row[None]}).values()))


@pytest.mark.parametrize("effort", [1, 2])
def test_an_effort_gains_on_samples_that_it_has_not_seen(effort: int, model: ModuleOp, data: Array) -> None:
    made = quantize(model, {"input": data[:64]}, effort=effort, **_W4, validate=False)
    repair = made.repair
    assert repair is not None
    assert repair.is_kept
    assert repair.source == "held out of the calibration"
    assert repair.after_db > repair.before_db + 1
    assert made.profile.samples == 64 - repair.samples
    plain = qmlir.quantize(model, {"input": data[:64]}, **_W4).module
    assert _error(made.module, model, data[64:96]) < _error(plain, model, data[64:96])


def test_constants_that_are_floats_until_they_are_stored_make_no_difference(model: ModuleOp, data: Array) -> None:
    data = data[:16]
    plain = _decided(model, data, _W4)
    run_pipeline(plain, STORE)
    stages_of(_W4, model)(plain, "raise", "rescale", "store")
    assert module_text(plain) == module_text(qmlir.quantize(model, {"input": data}, **_W4).module)


def test_what_loses_is_left_out(model: ModuleOp, data: Array) -> None:
    """A pass that makes every bias larger is judged as any other one."""
    data = data[:32]
    decided = _decided(model, data, _W4)
    share = Share(4, enough=0)
    repairing = Repairing(["spoils"], decided, share)
    assert len(list(repairing.calibrating(Run(at, 1, (row[None],)) for at, row in enumerate(data)))) == 28
    finish = stages_of(_W4, model)

    def run(module: ModuleOp, *stages: str, **given: object) -> None:
        if stages == ("repair",):
            for weight in rounded_weights(function_of(module, "main")):
                bias = bias_beside(weight.readers[0][0])
                assert bias is not None
                bias.set(bias.array + 1)
            run_pipeline(module, STORE)
        else:
            finish(module, *stages)

    found, repair = repairing.apply(References(model), model, decided.clone(), lambda _: run)
    assert not repair.is_kept
    assert repair.after_db < repair.before_db
    assert repair.text().startswith("not repaired, which would lose (spoils): ")
    assert not repair.layers
    # Beside it stands a repair that gains, whose layers are told.
    repairing.candidates = (EFFORTS[1], "spoils")
    runs = {"spoils": run, EFFORTS[1]: stages_of(_W4, model, repair=EFFORTS[1])}
    better, repair = repairing.apply(References(model), model, decided.clone(), runs.__getitem__)
    assert repair.is_kept
    assert repair.passes == EFFORTS[1]
    assert [passes for passes, _ in repair.others] == ["spoils"]
    assert {each.repair for each in repair.layers} == {EFFORTS[1]}
    assert "/stem/stem.0/Conv" in {each.layer for each in repair.layers}
    assert "  /stem/stem.0/Conv: quant-correct-bias\n" in repair.text()
    run_pipeline(decided, STORE)
    finish(decided, "raise", "rescale")
    assert module_text(found) == module_text(decided) != module_text(better)


def test_every_fourth_sample_is_held_out() -> None:
    share = Share(3, enough=0)
    runs = [Run(at, 1, ()) for at in range(20)]
    left = [run.first for run in share.calibrating(runs)]
    assert [run.first for run in share.runs] == [HELD_OUT - 1, 2 * HELD_OUT - 1, 3 * HELD_OUT - 1]
    assert left == [at for at in range(20) if at not in (3, 7, 11)]


# A table of 128 MB of f64 is held once, what a run takes of it each time. Cast, it is still made of constants alone.
@pytest.mark.parametrize(("rows", "runs"), [(1, MOST), (1 << 15, 8)])
def test_a_large_constant_leaves_as_many_runs_to_a_repair(rows: int, runs: int) -> None:
    text = f"""
        func.func @main(%i: tensor<{rows}xi64> {{nn.name = "i"}}) -> tensor<{rows}x512xf32> {{
          %t = nn.constant dense<0.5> : tensor<32768x512xf16>
          %f = nn.cast %t : (tensor<32768x512xf16>) -> tensor<32768x512xf32>
          %r = nn.gather %f, %i {{axis = 0}} : (tensor<32768x512xf32>, tensor<{rows}xi64>) -> tensor<{rows}x512xf32>
          func.return %r : tensor<{rows}x512xf32>
        }}"""
    assert runs_to_repair(parse_module(default_environment().new_context(), text, "table")) == runs


def test_judges_beside_lie_evenly_among_every_fourth_sample_and_all_calibrate() -> None:
    judges = JudgesBeside(3)
    runs = [Run(at, 1, ()) for at in range(40)]
    left = [(run.first, judges.may_repair()) for run in judges.calibrating(runs)]
    assert [run.first for run in judges.runs] == [3, 19, 35]  # of 3, 7, ..., 39: every one, every second, every fourth
    assert left == [(at, at % HELD_OUT != HELD_OUT - 1) for at in range(40)]


def test_the_float_model_runs_once_on_each_sample_that_judges(
    model: ModuleOp, data: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[ModuleOp] = []

    def counted(module: ModuleOp, *given: object, **named: object) -> object:
        ran.append(module)
        return interpret(module, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(validating, "interpret", counted)
    made = quantize(model, {"input": data[:16]}, effort=1, **_W4)
    assert made.repair is not None
    assert made.validation is not None
    assert made.repair.samples == made.validation.samples == 4
    assert (
        sum(each is model for each in ran) == 4
    )  # and the quantized ones 4 times each: two that are judged, the result
    assert len(ran) == 4 * 4


def test_runs_in_step_are_runs(model: ModuleOp, data: Array) -> None:
    data = data[:3]
    module = _decided(model, data, {})
    steps = RunsInStep(module, "main", [(row[None],) for row in data])
    returned = function_of(module, "main").body.block.last_op
    assert returned is not None
    weights = {weight.readers[0][0]: weight for weight in rounded_weights(function_of(module, "main"))}
    changed = 0
    for op in steps:
        # A constant that was computed and read already, and its cast, are computed anew.
        if op in weights and changed == 0:
            weights[op].set(weights[op].array * np.float32(0.5))
            steps.again(weights[op].op)
            changed += 1
    assert changed == 1
    found = [float(value.sum()) for value in steps.values(returned.operands[0])]
    assert found == [float(_of(module, row).sum()) for row in data]


def test_an_effort_takes_samples_and_is_one_of_those_there_are(model: ModuleOp, data: Array) -> None:
    given = {"input": data[:4]}
    with pytest.raises(DiagnosticError, match="the effort is one of 0, 1, 2, 3, found 4"):
        qmlir.quantize(model, given, effort=4)
    lowered = model.clone()
    stages_of({}, model)(lowered, "target", "lower")
    profiled: Profile = profile(lowered, given)
    with pytest.raises(DiagnosticError, match="effort 1 repairs by samples, and there are none"):
        qmlir.quantize(model, profiled=profiled, effort=1)


_TWO_COLUMNS = """
        !x = !quant.uniform<i8:f32, 0.25>
        !w = !quant.uniform<i4:f32, 0.5>
        !s = !quant.uniform<i32:f32, 0.125>
        func.func @main(%x: tensor<1x2xf32> {nn.name = "x"}) -> tensor<1x1xf32> {
          %0 = quant.qcast %x : tensor<1x2xf32> to tensor<1x2x!x>
          %w = nn.constant dense<[[0.75, 0.5]]> : tensor<1x2xf32> {nn.trainable}
          %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
          %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<1x2x!x>, tensor<1x2x!w>)
            -> tensor<1x1x!s> {origin = "fc"}
          %b = nn.constant dense<0.0> : tensor<1xf32> {nn.trainable}
          %3 = quant.qcast %b : tensor<1xf32> to tensor<1x!s>
          %4 = nn.add %2, %3 : (tensor<1x1x!s>, tensor<1x!s>) -> tensor<1x1x!s> {origin = "fc"}
          %5 = quant.dcast %4 : tensor<1x1x!s> to tensor<1x1xf32>
          func.return %5 : tensor<1x1xf32>
        }"""


def _floats(factor: float) -> ModuleOp:
    """The float program, in which the data of the product is `factor` times what it is in the quantized one."""
    text = f"""
        func.func @main(%x: tensor<1x2xf32> {{nn.name = "x"}}) -> tensor<1x1xf32> {{
          %f = nn.constant dense<{factor:e}> : tensor<f32>
          %0 = nn.mul %x, %f : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
          %w = nn.constant dense<[[0.75, 0.5]]> : tensor<1x2xf32>
          %1 = nn.matmul %0, %w {{transpose_b = true}} : (tensor<1x2xf32>, tensor<1x2xf32>)
            -> tensor<1x1xf32> {{origin = "fc"}}
          func.return %1 : tensor<1x1xf32>
        }}"""
    return parse_module(default_environment().new_context(), text, "floats")


# 0.75 is rounded to 1, and the data has the mean 0.5 in both columns: 1 * 0.5 + 0.5 * 0.5 is what the products of codes
# are on average. Where the float data has half of that, theirs are 0.75 * 0.25 + 0.5 * 0.25. A second time nothing is
# corrected any more.
@pytest.mark.parametrize(("factor", "expected"), [(None, -0.125), (0.5, -(0.75 - 0.3125))])
@pytest.mark.parametrize("times", [1, 2])
def test_a_bias_makes_up_for_a_shift_of_the_data_where_the_float_program_is_known(
    factor: float | None, expected: float, times: int
) -> None:
    module = parse_module(default_environment().new_context(), _TWO_COLUMNS, "net")
    product = next(op for op in module.walk() if isinstance(op, MatMulOp))
    floats = None if factor is None else _floats(factor)
    samples = {"x": np.array([[0.5, 0.25], [0.5, 0.75]], np.float32)}
    run_pipeline(module, ",".join([EFFORTS[1]] * times), samples=samples, floats=floats)
    bias = bias_beside(product)
    assert bias is not None
    assert bias.array.tolist() == [expected]


# The products with the quantized data come near those with the float data, which is 2/3 of it: 0.75 becomes 0.5.
def test_codes_make_up_for_a_change_of_the_data_where_the_float_program_is_known() -> None:
    samples = {"x": np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32)}
    for share, expected in (("0.0", [[1.0, 0.5]]), ("1.0", [[0.5, 0.5]])):
        module = parse_module(default_environment().new_context(), _TWO_COLUMNS, "net")
        text = f"quant-gptq{{damping=1e-9 floats_share={share}}}"
        run_pipeline(module, text, samples=samples, floats=_floats(2 / 3))
        (weight,) = rounded_weights(function_of(module, "main"))
        assert weight.rounded.tolist() == expected


def test_a_layer_that_would_take_too_long_is_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = {"x": np.array([[1.0, 1.0], [-1.0, -1.0]], np.float32)}
    for most, is_learned in ((quant_round._MULTIPLY_ADDS, True), (1.0, False)):
        monkeypatch.setattr(quant_round, "_MULTIPLY_ADDS", most)
        module = parse_module(default_environment().new_context(), _TWO_COLUMNS.replace("0.75, 0.5", "0.7, 0.6"), "net")
        run_pipeline(module, "quant-round", samples=samples)
        (weight,) = rounded_weights(function_of(module, "main"))
        assert weight.rounded.tolist() == ([[1.0, 0.5]] if is_learned else [[0.5, 0.5]])


# 4x4 windows of 16x16 places have 16 * 169 numbers for 256 of the data: 1.4 MB of all 64 runs.
def test_a_bias_is_corrected_by_many_runs_in_the_memory_of_one() -> None:
    weights = ", ".join(map(str, np.random.default_rng(0).normal(size=32)))
    model = qmlir.load(
        parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 2, 16, 16] x) => (float[1, 2, 13, 13] y)
        <float[2, 1, 4, 4] w = {{{weights}}}, float[2] b = {{0, 0}}> {{
            y = Conv <group = 2> (x, w, b)
        }}""")
    )
    samples = np.random.default_rng(0).normal(size=(64, 2, 16, 16)).astype(np.float32)
    run = stages_of({}, model, repair=EFFORTS[1])
    floats = model.clone()
    run(floats, "target", "lower")
    run(floats, "profile", "mask", "balance", taken=profile(floats, {"x": samples}))
    decided = floats.clone()
    run(decided, "decide", "propagate")
    run_pipeline(decided.clone(), EFFORTS[1], samples={"x": samples[:2]}, floats=floats)
    tracemalloc.start()
    run_pipeline(decided, EFFORTS[1], samples={"x": samples}, floats=floats)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    (weight,) = rounded_weights(function_of(decided, "main"))
    windows = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), (4, 4), axis=(2, 3))
    data = _data(samples, weight)
    given = np.lib.stride_tricks.sliding_window_view(data.astype(np.float64), (4, 4), axis=(2, 3))
    errors = (weight.rounded[:, 0] * given.mean((0, 2, 3)) - weight.unrounded[:, 0] * windows.mean((0, 2, 3))).sum(
        (1, 2)
    )
    assert weight.bias is not None
    np.testing.assert_allclose(weight.bias.array.reshape(-1), -errors, rtol=1e-3, atol=1e-7)
    assert peak < 64 * 2 * 169 * 16 * 4 / 2


def _data(samples: Array, weight: RoundedWeight) -> Array:
    """The data of a product as it is in the quantized program."""
    element = quantized_type(weight.rows.data)
    assert element is not None
    return dequantize(to_codes(samples, element), element)


_INF = math.inf


# The noise of 10 dB is .1 of the signal, that of 20 dB .01: .055 on average. Beside an exact output half of either.
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([10.0], [20.0], (10.0, 20.0)),
        ([10.0, _INF], [20.0, _INF], (10.0, 20.0)),
        ([10.0, -_INF], [20.0, -_INF], (10.0, 20.0)),
        ([10.0, 20.0], [20.0, 20.0], (-10 * math.log10(0.055), 20.0)),
        ([10.0, 20.0], [_INF, -_INF], (-10 * math.log10(0.055), -_INF)),
        ([10.0, 20.0], [10.0, _INF], (-10 * math.log10(0.055), -10 * math.log10(0.05))),
        ([_INF, _INF], [_INF, _INF], (_INF, _INF)),
        ([], [], (-_INF, -_INF)),
    ],
)
def test_an_exact_output_leaves_the_verdict_to_the_others(
    before: list[float], after: list[float], expected: tuple[float, float]
) -> None:
    found = noise_ratios(*({f"y{at}": value for at, value in enumerate(each)} for each in (before, after)))
    assert found == pytest.approx(expected)


def test_a_tie_is_no_gain() -> None:
    repair = Repair("spoils", 4, "held out", 20.0, 20.0)
    assert not repair.is_kept
    assert repair.text() == "not repaired, no gain (spoils): 20.0 dB without, 20.0 dB with, 4 samples held out\n"


def test_an_exact_output_does_not_undo_a_repair() -> None:
    random = np.random.default_rng(0)
    weights = ", ".join(f"{each:.4f}" for each in random.normal(size=32))
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 8] x) => (float[1, 4] y, float[1, 8] z)
        <float[8, 4] w = {{{weights}}}, float[4] b = {{0, 0, 0, 0}}> {{
            y = Gemm (x, w, b)
            z = Identity (x)
        }}""")
    samples = (random.normal(size=(64, 8)) + 1).astype(np.float32)
    repair = quantize(qmlir.load(model), {"x": samples}, effort=1, weights="i4", validate=False).repair
    assert repair is not None
    assert math.isfinite(repair.before_db)
    assert repair.is_kept


def test_a_recipe_says_which_passes_repair_a_layer() -> None:
    random = np.random.default_rng(0)
    weights = [", ".join(f"{each:.4f}" for each in random.normal(size=32)) for _ in range(2)]
    model = qmlir.load(
        parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 8] x) => (float[1, 8] y)
        <float[8, 4] w = {{{weights[0]}}}, float[4, 8] v = {{{weights[1]}}}, float[4] b = {{0, 0, 0, 0}},
         float[8] c = {{0, 0, 0, 0, 0, 0, 0, 0}}> {{
            [first] h = Gemm (x, w, b)
            [last] y = Gemm (h, v, c)
        }}""")
    )
    samples = (random.normal(size=(64, 8)) + 1).astype(np.float32)

    def repaired(*tables: dict[str, str]) -> set[tuple[str, str]]:
        made = quantize(model, {"x": samples}, effort=2, weights="i3", validate=False, recipe={"rule": tables})
        assert made.repair is not None
        return {(each.layer, each.repair) for each in made.repair.layers}

    assert {layer for layer, _ in repaired()} == {"first", "last"}
    only = {"node": "first", "slot": "weight", "repair": "quant-gptq"}
    assert repaired(only, {"node": "last", "slot": "weight", "repair": "none"}) == {("first", "quant-gptq")}
    assert repaired({"slot": "weight", "repair": "*-bias"}) == {
        (name, "quant-correct-bias") for name in ("first", "last")
    }
    for text, message in (
        ("quant-gtpq", "'quant-gtpq' is not a repair, did you mean 'quant-gptq'"),
        ("i4", "'i4' is not a"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            repaired({"slot": "weight", "repair": text})
    with pytest.raises(DiagnosticError, match="repair is for weights, slot 'output' has none"):
        repaired({"slot": "output", "repair": "none"})


def test_the_repairs_that_recipes_know_are_those_there_are() -> None:
    passes = {name: registry.load(target) for name, target in registry.PASSES.items() if name.startswith("quant-")}
    known = {name for name, made in passes.items() if issubclass(made, RepairsWeights)}
    assert known == {*REPAIRS, "quant-shorten-sums"}


def _two_layers(bias: str = "b", last: str = "v") -> ModuleOp:
    """Two layers of four; the second one may add the bias of the first, or read its weights."""
    random = np.random.default_rng(5)
    weights = [", ".join(f"{each:.4f}" for each in random.normal(size=16)) for _ in range(2)]
    return qmlir.load(
        parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 4] x) => (float[1, 4] y)
        <float[4, 4] w = {{{weights[0]}}}, float[4, 4] v = {{{weights[1]}}}, float[4] b = {{0.1, 0.2, -0.3, 0.4}},
         float[4] c = {{0.3, -0.2, 0.1, 0.5}}> {{
            [first] h = Gemm (x, w, b)
            [last] y = Gemm (h, {last}, {bias})
        }}""")
    )


def _samples(count: int = 64) -> Array:
    return (np.random.default_rng(6).normal(size=(count, 4)) + 1).astype(np.float32)


def _codes(module: ModuleOp) -> list[Array]:
    """The stored weights."""
    constants = (op for op in module.walk() if isinstance(op, ConstantOp) and quantized_type(op.result) is not None)
    return [each.array for each in constants if each.array.ndim == 2]


@pytest.mark.parametrize("settings", [{"effort": 2}, {"effort": 3}, {"effort": 1, "short_sums": 1}, {"short_sums": 4}])
def test_binary_weights_stay_binary(settings: dict[str, Any]) -> None:
    made = quantize(_two_layers("c"), {"x": _samples()}, validate=False, weights="binary", **settings)
    codes = _codes(made.module)
    assert len(codes) == 2
    assert all(np.isin(each, (-1, 1)).all() for each in codes)


def test_restored_weights_are_those_that_were_rounded() -> None:
    """Of every layer, and binary ones stay so."""
    for weights in ("binary", "i3"):
        settings: QuantizeSettings = {"weights": weights}
        module = _two_layers("c")
        run = stages_of(settings, module, repair="quant-gptq,quant-restore-weights")
        plain = stages_of(settings, module, repair="quant-restore-weights")
        found: list[ModuleOp] = []
        for each in (run, plain):
            lowered = module.clone()
            each(lowered, "target", "lower")
            each(lowered, "profile", "mask", "balance", taken=profile(lowered, {"x": _samples()}))
            each(lowered, "decide", "propagate")
            each(lowered, "repair", samples={"x": _samples()})
            found.append(lowered)
        for one, other in zip(*map(_codes, found), strict=True):
            assert np.array_equal(one, other)


def test_a_bias_of_several_layers_is_left_alone() -> None:
    """What makes up for the error of one layer would be an error of the other."""
    module, shared = _two_layers("c"), _two_layers("b")
    for each, is_corrected in ((module, True), (shared, False)):
        function = function_of(_decided_by(each), "main")
        assert [weight.bias is not None for weight in rounded_weights(function)] == [is_corrected] * 2


def _decided_by(model: ModuleOp, recipe: Sequence[Mapping[str, str]] = ()) -> ModuleOp:
    settings: QuantizeSettings = {"weights": "i3", "recipe": {"rule": list(recipe)}} if recipe else {"weights": "i3"}
    run = stages_of(settings, model, repair=EFFORTS[2])
    module = model.clone()
    run(module, "target", "lower")
    run(module, "profile", "mask", "balance", taken=profile(module, {"x": _samples()}))
    run(module, "decide", "propagate")
    return module


@pytest.mark.parametrize("node", ["first", "last"])
def test_weights_of_two_layers_are_repaired_where_both_allow_it(node: str) -> None:
    rule = {"node": node, "slot": "weight", "repair": "none"}
    (weight,) = rounded_weights(function_of(_decided_by(_two_layers("c", "w"), [rule]), "main"))
    assert not weight.may_be_repaired("quant-gptq")
    (weight,) = rounded_weights(function_of(_decided_by(_two_layers("c", "w")), "main"))
    assert weight.may_be_repaired("quant-gptq")


def test_short_sums_are_no_repair_that_a_recipe_takes_away() -> None:
    rule = {"slot": "weight", "repair": "none"}
    for effort in (None, 0, 1, 2):
        made = quantize(
            _two_layers("c"), {"x": _samples()}, validate=False, effort=effort, short_sums=4, recipe={"rule": [rule]}
        )
        for codes in _codes(made.module):  # sums of two terms, of four here: those of one channel are a row or a column
            pairs = [each.astype(np.int64).reshape(4, 2, 2) for each in (codes, codes.T)]
            reach = [max(np.maximum(sign * each, 0).sum(2).max() for sign in (1, -1)) for each in pairs]
            assert min(reach) <= 128


def test_binary_weights_take_no_calibrator() -> None:
    recipe = {"rule": [{"slot": "weight", "calibrator": "percentile"}]}
    with pytest.raises(DiagnosticError, match="no calibrator 'percentile'"):
        quantize(_two_layers("c"), {"x": _samples()}, weights="binary", recipe=recipe)


def test_short_sums_that_stay_without_their_repair_are_named() -> None:
    passes = "quant-shorten-sums,quant-correct-bias"
    left = Repair(passes, 4, "held out", 20.0, 19.0, required="quant-shorten-sums")
    what = f"{passes} by samples; quant-shorten-sums by the weights alone is kept"
    assert left.text().startswith(f"not repaired, which would lose ({what}): 20.0 dB")
    kept = Repair(passes, 4, "held out", 20.0, 21.0, required="quant-shorten-sums")
    assert kept.text() == f"repaired ({passes}): 20.0 dB without, 21.0 dB with, 4 samples held out\n"


@pytest.fixture(scope="module")
def repaired() -> Quantized:
    """A model with codes that GPTQ has chosen."""
    return quantize(_two_layers("c"), {"x": _samples()}, validate=False, effort=2, weights="i3")


def _marked(module: ModuleOp) -> dict[str, tuple[LayerGain, ...]]:
    return {name: told for op in module.walk() if (told := repairs_of(op)) for name in told[0].nodes}


def test_a_saved_module_says_what_repairs_did(repaired: Quantized, tmp_path: Path) -> None:
    assert repaired.repair is not None
    assert repaired.repair.is_kept
    path = tmp_path / "repaired.mlir"
    repaired.save(path)
    found = _marked(qmlir.load(path))
    assert set(found) == {"first", "last"}
    for name, told in found.items():
        wanted = [each for each in repaired.repair.layers if each.layer == name]
        assert [each.repair for each in told] == [each.repair for each in wanted]
        for one, other in zip(told, wanted, strict=True):
            assert (one.before_db, one.after_db) == pytest.approx((other.before_db, other.after_db), abs=0.005)
        assert told[0].gain_db is not None
        assert told[0].gain_db > 0


# The error of the sums without their mean, which the bias makes up for, by the rows that the layer read.
def test_decibels_of_a_layer_are_those_of_its_sums() -> None:
    model = _two_layers("c")
    decided = _decided_by(model)
    weight = next(rounded_weights(function_of(decided, "main")))
    data = _data(_samples(), weight)
    before = weight.rows.of_weights(weight.rounded)[0]
    told: list[LayerGain] = []
    run_pipeline(decided, "quant-gptq{floats_share=0}", samples={"x": _samples()}, gained=told.append)
    after = weight.rows.of_weights(weight.rounded)[0]
    exact = weight.rows.of_weights(weight.unrounded)[0]
    (signal, *noises) = (np.var(data @ each.T, axis=0).sum() for each in (exact, before - exact, after - exact))
    expected = [10 * np.log10(signal / noise) for noise in noises]
    assert [told[0].before_db, told[0].after_db] == pytest.approx(expected, rel=1e-3)


def test_an_error_of_which_nothing_is_left_reads_back() -> None:
    module = _decided_by(_two_layers("c"))
    mark_repaired(function_of(module, "main"), [LayerGain("quant-gptq", ("last",), 12.5, math.inf)])
    again = parse_module(default_environment().new_context(), module_text(module), "again")
    assert _marked(again) == {"last": (LayerGain("quant-gptq", ("last",), 12.5, math.inf),)}


def test_what_repairs_did_is_no_part_of_the_program(repaired: Quantized) -> None:
    bare = repaired.module.clone()
    for op in bare.walk():
        op.attributes.pop(REPAIRED, None)
    assert "quant.repaired" in module_text(repaired.module)
    programs: list[str] = []
    for each in (repaired.module, bare):
        lowered = each.clone()
        run_pipeline(lowered, COMPILE.text(isa="generic", threads="1"))
        programs.append(module_text(lowered))
    assert "quant.repaired" not in programs[0]
    assert programs[0] == programs[1]


def test_what_repairs_did_is_not_said_of_codes_that_are_floats_again(repaired: Quantized) -> None:
    module = repaired.module.clone()
    float_constants(function_of(module, "main"))
    assert not _marked(module)


def _apart(activation: str = "Relu") -> ModuleOp:
    """Two layers whose first one has channels of very different sizes, which the second one makes up for."""
    random = np.random.default_rng(7)
    sizes = 4.0 ** -np.arange(8)
    first, last = random.normal(size=(4, 8)) * sizes, random.normal(size=(8, 4)) / sizes[:, None]
    texts = [", ".join(f"{each:.6f}" for each in weights.reshape(-1)) for weights in (first, last)]
    return qmlir.load(
        parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 4] x) => (float[1, 4] y)
        <float[4, 8] w = {{{texts[0]}}}, float[8, 4] v = {{{texts[1]}}}> {{
            [first] m = MatMul (x, w)
            [act] h = {activation} (m)
            [last] y = MatMul (h, v)
        }}""")
    )


# Channels of one scale differ 16,384 times in size: all but a few of them are lost without the factors.
def test_an_effort_tries_the_equalized_model() -> None:
    model = _apart()
    made = quantize(model, {"x": _samples()}, effort=EQUALIZES, granularity="tensor")
    repair = made.repair
    assert repair is not None
    assert repair.is_equalized
    assert repair.passes == f"{EQUALIZE},{EFFORTS[EQUALIZES]}"
    assert EFFORTS[EQUALIZES] in dict(repair.others)
    assert repair.after_db > max(dict(repair.others).values()) + 10
    assert repair.text().startswith(f"repaired ({repair.passes}): ")
    # What it was made of is the equalized model, which computes the same: names, types and values fit together.
    off = [_of_x(made.source, row) - _of_x(model, row) for row in _samples(8)]
    assert np.abs(off).max() < 1e-4
    subjects = ModuleSubject(made.source), ModuleSubject(made.module)
    values = [each for each in compare(*subjects, {"x": _samples(8)}).values if not each.is_limited]
    assert len(values) > 2
    assert min(each.sqnr_db or 0 for each in values) > 20
    again = stages_of(made.settings, made.source)
    lowered = made.source.clone()
    again(lowered, "target", "lower")
    again(lowered, "profile", "mask", "balance", taken=made.profile)
    assert module_text(lowered) == module_text(made.profiled)


def test_a_profile_of_samples_some_of_which_are_held_out_reads_back() -> None:
    """The samples that rule a range have their numbers among all."""
    samples = _samples(32) * np.linspace(1, 2, 32, dtype=np.float32)[:, None]
    samples[30] *= 2
    made = quantize(_two_layers("c"), {"x": samples}, effort=1, validate=False)
    assert made.profile.samples == 24
    assert 30 in made.profile.extreme_samples["x"]
    assert Profile.from_text(made.profile.to_text()) == made.profile


def test_what_is_said_of_a_model_is_said_once() -> None:
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(str(each))):
        made = quantize(_apart(), {"x": _samples()}, effort=EQUALIZES, granularity="tensor", validate=False)
    assert made.repair is not None
    assert made.repair.is_equalized
    assert not any("is equalized with" in each for each in said)
    assert len(set(said)) == len(said)


def test_a_recipe_for_what_only_the_given_model_has_is_no_fault() -> None:
    """One channel is far larger than all others, whose rounding a depthwise convolution amplifies till equalized."""
    random = np.random.default_rng(8)
    sizes = np.array([1000.0, 1.0, 1.0, 1.0])[:, None]
    first, middle = random.uniform(0.5, 1, size=(4, 2)) * sizes, random.uniform(0.5, 1, size=(4, 9)) / sizes
    last = random.normal(size=(2, 4))
    texts = [", ".join(f"{each:.6f}" for each in weights.reshape(-1)) for weights in (first, middle, last)]
    model = qmlir.load(
        parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 2, 6, 6] x) => (float[1, 2, 4, 4] y)
        <float[4, 2, 1, 1] w = {{{texts[0]}}}, float[4, 1, 3, 3] d = {{{texts[1]}}},
         float[2, 4, 1, 1] v = {{{texts[2]}}}> {{
            [first] a = Conv (x, w)
            [relu] b = Relu (a)
            [deep] c = Conv <group = 4> (b, d)
            [last] y = Conv (c, v)
        }}""")
    )
    samples = random.uniform(size=(32, 2, 6, 6)).astype(np.float32)
    rule = {"amplified": True, "slot": "output", "storage": "i16"}
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(each.message)):
        made = quantize(model, {"x": samples}, effort=EQUALIZES, recipe={"rule": [rule]}, validate=False)
    assert made.repair is not None
    assert not made.repair.is_equalized
    assert (
        sum("the equalized model is not tried: the recipe has rules that decide nothing" in each for each in said) == 1
    )


@pytest.mark.parametrize(("effort", "activation"), [(EQUALIZES - 1, "Relu"), (EQUALIZES, "Sigmoid")])
def test_nothing_is_equalized_with_less_effort_or_where_nothing_can_be(effort: int, activation: str) -> None:
    made = quantize(_apart(activation), {"x": _samples()}, effort=effort, granularity="tensor", validate=False)
    assert made.repair is not None
    tried = [made.repair.passes, *dict(made.repair.others)]
    assert len(tried) == effort
    assert not any(EQUALIZE in each for each in tried)


def _of_x(module: ModuleOp, row: Array) -> Array:
    return next(iter(interpret(module, {"x": row[None]}).values()))
