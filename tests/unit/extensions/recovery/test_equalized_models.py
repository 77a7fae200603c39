"""The equalized model, which an effort tries beside the given one."""

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.recovery.repairing import EFFORTS, EQUALIZE, EQUALIZES
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import diagnostic_handler
from qmlir.text.printing import module_text
from qmlir.workflows.calibrated import stages_of
from qmlir.workflows.comparison.compare import compare
from qmlir.workflows.comparison.subjects import ModuleSubject
from qmlir.workflows.quantizing import quantize
from tests.support.repairs import samples_of_four


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
    made = quantize(model, {"x": samples_of_four()}, effort=EQUALIZES, granularity="tensor")
    repair = made.repair
    assert repair is not None
    assert repair.is_equalized
    assert repair.passes == f"{EQUALIZE},{EFFORTS[EQUALIZES]}"
    assert EFFORTS[EQUALIZES] in dict(repair.others)
    assert repair.after_db > max(dict(repair.others).values()) + 10
    assert repair.text().startswith(f"repaired ({repair.passes}): ")
    # What it was made of is the equalized model, which computes the same: names, types and values fit together.
    off = [_of_x(made.source, row) - _of_x(model, row) for row in samples_of_four(8)]
    assert np.abs(off).max() < 1e-4
    subjects = ModuleSubject(made.source), ModuleSubject(made.module)
    values = [each for each in compare(*subjects, {"x": samples_of_four(8)}).values if not each.is_limited]
    assert len(values) > 2
    assert min(each.sqnr_db or 0 for each in values) > 20
    again = stages_of(made.settings, made.source)
    lowered = made.source.clone()
    again(lowered, "target", "lower")
    again(lowered, "profile", "mask", "balance", taken=made.profile)
    assert module_text(lowered) == module_text(made.profiled)


def test_what_is_said_of_a_model_is_said_once() -> None:
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(str(each))):
        made = quantize(_apart(), {"x": samples_of_four()}, effort=EQUALIZES, granularity="tensor", validate=False)
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
    rule = {"low_sqnr_depthwise": True, "slot": "output", "storage": "i16"}
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(each.message)):
        made = quantize(model, {"x": samples}, effort=EQUALIZES, recipe={"rule": [rule]}, validate=False)
    assert made.repair is not None
    assert not made.repair.is_equalized
    assert (
        sum("the equalized model is not tried: these rules of the recipe have no effect" in each for each in said) == 1
    )


@pytest.mark.parametrize(("effort", "activation"), [(EQUALIZES - 1, "Relu"), (EQUALIZES, "Sigmoid")])
def test_nothing_is_equalized_with_less_effort_or_where_nothing_can_be(effort: int, activation: str) -> None:
    made = quantize(_apart(activation), {"x": samples_of_four()}, effort=effort, granularity="tensor", validate=False)
    assert made.repair is not None
    tried = [made.repair.passes, *dict(made.repair.others)]
    assert len(tried) == effort
    assert not any(EQUALIZE in each for each in tried)


def _of_x(module: ModuleOp, row: Array) -> Array:
    return next(iter(interpret(module, {"x": row[None]}).values()))
