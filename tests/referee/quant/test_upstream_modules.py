"""Whole modules in upstream MLIR: `mlir-opt` accepts them, and we read what it prints."""

import re
import subprocess
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

import qmlir
from benchmarks.accuracy import MODELS, Digits
from docs.walkthrough.descending import descend
from qmlir.dialects.target.attributes import targets_of
from qmlir.environment import default_environment
from qmlir.levels import LEVELS
from qmlir.pipelines import quantize_pipeline
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text
from tests.levels.generator import case_of
from tests.support.sampled import sampled
from tests.support.upstream import MLIR_OPT, needs_mlir_opt

pytestmark = [pytest.mark.referee, needs_mlir_opt]

GRAPHS = 40
FORMS = {
    "pretty": PrintOptions(upstream=True, weights=Weights.INLINE),
    "generic": PrintOptions(generic=True, weights=Weights.INLINE),
}


def accepted(text: str, tmp_path: Path) -> str:
    """What upstream prints of a module."""
    assert MLIR_OPT is not None
    path = tmp_path / "module.mlir"
    path.write_text(text)
    done = subprocess.run([MLIR_OPT, "--allow-unregistered-dialect", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:500]
    return done.stdout


def in_order(attribute: Attribute) -> Attribute:
    """The attribute with the keys of dictionaries in alphabetical order, as upstream prints them."""
    if isinstance(attribute, DictionaryAttr):
        return DictionaryAttr({key: in_order(value) for key, value in sorted(attribute.data.items())})
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr([in_order(each) for each in cast(ArrayAttr[Attribute], attribute)])
    return attribute


def is_list_of_none(key: str, attribute: Attribute) -> bool:
    """Whether an attribute says of the arguments or the results of a function that they have none."""
    listed = cast(ArrayAttr[Attribute], attribute).data if isinstance(attribute, ArrayAttr) else ()
    return key in ("arg_attrs", "res_attrs") and all(each == DictionaryAttr({}) for each in listed)


def plain_text(module: ModuleOp) -> str:
    """The text of a module without what upstream drops, names of values and lists of no attributes; keys in order."""
    copy = module.clone()
    for op in copy.walk():
        for value in (*op.results, *(argument for region in op.regions for b in region.blocks for argument in b.args)):
            value.name_hint = None
        for entries in (op.attributes, op.properties):
            given = {key: in_order(value) for key, value in sorted(entries.items()) if not is_list_of_none(key, value)}
            entries.clear()
            entries.update(given)
    return module_text(copy, PrintOptions(generic=True, aliases=False, weights=Weights.INLINE))


def check(module: ModuleOp, form: str, tmp_path: Path) -> None:
    printed = accepted(module_text(module, FORMS[form]), tmp_path)
    back = parse_module(default_environment().new_context(), printed, "upstream")
    assert plain_text(back) == plain_text(module)


BLOCKS_OF_BITS = re.compile(r"uniform<[iu]1(<[^>]*>)?:f\d+:\{")
"""Upstream drops their zero points when it prints them (`docs/reference/text-format.md`)."""


@pytest.mark.parametrize("form", FORMS)
def test_random_graphs(form: str, tmp_path: Path) -> None:
    modules = [case_of(seed).module for seed in range(GRAPHS)]
    taken = [module for module in modules if not BLOCKS_OF_BITS.search(module_text(module))]
    assert len(taken) > 0.9 * GRAPHS
    for module in taken:
        check(module, form, tmp_path)


@pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")
@pytest.mark.parametrize(
    ("name", "granularity", "form"),
    sampled(["digits_mlp", "digits_cnn", "digits_lstm", "digits_gru"], ["tensor", "channel"], FORMS),
)
def test_digits(name: str, granularity: str, form: str, tmp_path: Path) -> None:
    check(Digits.of(name).quantized(granularity=granularity, calibrator="min_max"), form, tmp_path)


FLOAT_MODEL = """
func.func @main(%x: tensor<1x2x6x6xf32>) -> (tensor<1x4x1x1xf32>) {
  %k = nn.constant dense<0.25> : tensor<4x2x3x3xf32>
  %b = nn.constant dense<[0.5, -0.5, 0.25, 0.0]> : tensor<4xf32>
  %0 = nn.conv %x, %k, %b : (tensor<1x2x6x6xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  %1 = nn.relu %0 : tensor<1x4x4x4xf32>
  %2 = nn.global_average_pool %1 : (tensor<1x4x4x4xf32>) -> tensor<1x4x1x1xf32>
  %3 = nn.softmax %2 {axis = 1} : tensor<1x4x1x1xf32>
  func.return %3 : tensor<1x4x1x1xf32>
}
"""


def test_every_level(tmp_path: Path) -> None:
    """Upstream takes the generic form of every level; above integers it takes ours too, and we read what it prints."""
    module = parse_module(default_environment().new_context(), FLOAT_MODEL)
    data = np.random.default_rng(5).normal(size=(1, 2, 6, 6)).astype(np.float32)
    pipeline = quantize_pipeline({"device": "cpu"}, module)
    profile = qmlir.profile(module, [data], passes=pipeline.text("target", "lower"))
    made = {step.level: step.module for step in descend(module, profile, isa="avx2", threads=2, device="cpu")}
    assert made.keys() == LEVELS.keys()
    assert [each.name for each in targets_of(made["quantized"])] == ["cpu"]
    for level, each in made.items():
        accepted(module_text(each, FORMS["generic"]), tmp_path)
        if level in ("graph", "primitive", "profiled", "quantized"):
            check(each, "pretty", tmp_path)


def test_elided_weights_and_locations(tmp_path: Path) -> None:
    """What has its weights left out, and what says its places, is accepted too."""
    module = case_of(4).module
    for options in (PrintOptions(upstream=True), PrintOptions(upstream=True, debuginfo=True)):
        accepted(module_text(module, options), tmp_path)
