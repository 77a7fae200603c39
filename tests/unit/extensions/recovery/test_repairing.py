"""Repairs: what they gain on samples that they have not seen, and nothing kept where they lose."""

import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.environment import default_environment
from qmlir.extensions.recovery import quant_adaround
from qmlir.extensions.recovery.repairing import EFFORTS, MOST, Repair, noise_ratios, repaired, runs_to_repair
from qmlir.extensions.recovery.repairs import RepairsWeights
from qmlir.extensions.recovery.rounded_weights import bias_beside, rounded_weights
from qmlir.interpreter.interpreter import Lockstep
from qmlir.interpreter.run import interpret, interpret_all
from qmlir.interpreter.samples import Run
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import STORE
from qmlir.quantization.choice import REPAIRS
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text
from qmlir.workflows import validating
from qmlir.workflows.calibrated import Decided, stages_of
from qmlir.workflows.calibration_samples import HELD_OUT, HoldOut
from qmlir.workflows.profiling import profile
from qmlir.workflows.quantizing import quantize
from qmlir.workflows.validating import References
from tests.support.repairs import data_of, samples_of_four, two_layers

_EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"
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
    assert _error(made.module, model, data[64:192]) < _error(plain, model, data[64:192])


def test_constants_that_are_floats_until_they_are_stored_make_no_difference(model: ModuleOp, data: Array) -> None:
    data = data[:16]
    plain = _decided(model, data, _W4)
    run_pipeline(plain, STORE)
    stages_of(_W4, model)(plain, "raise", "rescale", "store")
    assert module_text(plain) == module_text(qmlir.quantize(model, {"input": data}, effort=0, **_W4).module)


def test_what_loses_is_left_out(model: ModuleOp, data: Array) -> None:
    """A pass that makes every bias larger is judged as any other one."""
    data = data[:32]
    decided = _decided(model, data, _W4)
    hold_out = HoldOut(4, 0, MOST)
    assert len(list(hold_out.calibrating(Run(at, 1, (row[None],)) for at, row in enumerate(data)))) == 28
    made = Decided(model, profile(model, {"input": data[:1]}), model, decided)
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

    found, _, repair = repaired(made, ["spoils"], References(model), hold_out, lambda _: run)
    assert not repair.is_kept
    assert repair.after_db < repair.before_db
    assert repair.text().startswith("not repaired, which would lose (spoils): ")
    assert not repair.layers
    # Beside it stands a repair that gains, whose layers are told.
    runs = {"spoils": run, EFFORTS[1]: stages_of(_W4, model, repair=EFFORTS[1])}
    better, _, repair = repaired(made, [EFFORTS[1], "spoils"], References(model), hold_out, runs.__getitem__)
    assert repair.is_kept
    assert repair.passes == EFFORTS[1]
    assert [passes for passes, _ in repair.others] == ["spoils"]
    assert {each.repair for each in repair.layers} == {EFFORTS[1]}
    assert "/stem/stem.0/Conv" in {each.layer for each in repair.layers}
    assert f"  {len({each.layer for each in repair.layers})} layers\n" in repair.text()
    run_pipeline(decided, STORE)
    finish(decided, "raise", "rescale")
    assert module_text(found) == module_text(decided) != module_text(better)


def test_one_of_each_four_samples_is_held_out_for_a_repair() -> None:
    hold_out = HoldOut(3, 0, 64)
    left = [run.first for run in hold_out.calibrating([Run(at, 1, ()) for at in range(20)])]
    held = [run.first for run in hold_out.judging[0]]
    assert [at // HELD_OUT for at in held] == [0, 1, 2]
    assert held[0] == HELD_OUT - 1  # of fewer samples all calibrate
    assert hold_out.judging == hold_out.compared
    assert left == [run.first for run in hold_out.repairing] == [at for at in range(20) if at not in held]


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


def test_judges_lie_evenly_among_the_samples_that_a_correction_does_not_use_and_all_calibrate() -> None:
    hold_out = HoldOut(3, most_repair=64)
    assert [run.first for run in hold_out.calibrating([Run(at, 1, ()) for at in range(40)])] == list(range(40))
    judges = [run.first for run in hold_out.judging[0]]
    assert [at // 16 for at in judges] == [0, 1, 2]  # one of each four, and of these one of each four
    used = [run.first for run in hold_out.repairing]
    assert [at // HELD_OUT for at in used] == [at for at in range(10) for _ in range(HELD_OUT - 1)]
    assert not set(judges) & set(used)
    assert all(at % HELD_OUT == HELD_OUT - 1 for at in judges)


def test_the_float_model_runs_once_on_each_sample_that_judges(
    model: ModuleOp, data: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[ModuleOp] = []

    def counted(module: ModuleOp, inputs: "list[Any]", **named: Any) -> Any:
        ran.extend([module] * len(inputs))
        return interpret_all(module, inputs, **named)

    monkeypatch.setattr(validating, "interpret_all", counted)
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
    steps = Lockstep(module, "main", [(row[None],) for row in data])
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
    with pytest.raises(DiagnosticError, match="effort must be one of 0, 1, 2, 3 or auto, but got 4"):
        qmlir.quantize(model, given, effort=4)
    lowered = model.clone()
    stages_of({}, model)(lowered, "target", "lower")
    profiled: Profile = profile(lowered, given)
    with pytest.raises(DiagnosticError, match="effort 1 requires samples"):
        qmlir.quantize(model, profile=profiled, effort=1)


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
    for most, is_learned in ((quant_adaround._MULTIPLY_ADDS, True), (1.0, False)):
        monkeypatch.setattr(quant_adaround, "_MULTIPLY_ADDS", most)
        module = parse_module(default_environment().new_context(), _TWO_COLUMNS.replace("0.75, 0.5", "0.7, 0.6"), "net")
        run_pipeline(module, "quant-adaround", samples=samples)
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
    data = data_of(samples, weight)
    given = np.lib.stride_tricks.sliding_window_view(data.astype(np.float64), (4, 4), axis=(2, 3))
    errors = (weight.rounded[:, 0] * given.mean((0, 2, 3)) - weight.unrounded[:, 0] * windows.mean((0, 2, 3))).sum(
        (1, 2)
    )
    assert weight.bias is not None
    np.testing.assert_allclose(weight.bias.array.reshape(-1), -errors, rtol=1e-3, atol=1e-7)
    assert peak < 64 * 2 * 169 * 16 * 4 / 2


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
    samples = (random.normal(size=(256, 8)) + 1).astype(np.float32)
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
        ("quant-gtpq", "unknown repair 'quant-gtpq'; did you mean 'quant-gptq'"),
        ("i4", "unknown repair 'i4'"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            repaired({"slot": "weight", "repair": text})
    with pytest.raises(DiagnosticError, match="repair is only for weights, but the rule is for slot 'output'"):
        repaired({"slot": "output", "repair": "none"})


def test_the_repairs_that_recipes_know_are_those_there_are() -> None:
    passes = {name: registry.load(target) for name, target in registry.PASSES.items() if name.startswith("quant-")}
    known = {name for name, made in passes.items() if issubclass(made, RepairsWeights)}
    assert known == {*REPAIRS, "quant-fit-accumulators", "quant-fit-i16-accumulators"}


def test_a_profile_of_samples_some_of_which_are_held_out_reads_back() -> None:
    """The samples that rule a range have their numbers among all."""
    samples = samples_of_four(32) * np.linspace(1, 2, 32, dtype=np.float32)[:, None]
    samples[30] *= 2
    made = quantize(two_layers("c"), {"x": samples}, effort=1, validate=False)
    assert made.profile.samples == 24
    assert 30 in made.profile.extreme_samples["x"]
    assert Profile.from_text(made.profile.to_text()) == made.profile
