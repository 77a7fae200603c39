"""Fingerprints are those of the text: equal for what was read from one text, different for two that differ."""

import re

import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.ir.equivalence import fingerprint
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text
from tests.levels.generator import graph_of

ENVIRONMENT = default_environment()
INLINE = PrintOptions(weights=Weights.INLINE)

TEXT = """
%x = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> {origin = "x"}
%y = nn.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
%q = quant.qcast %y : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25:3}>>
%z = nn.sub %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
"""


def _parsed(text: str) -> ModuleOp:
    return parse_module(ENVIRONMENT.new_context(allow_unregistered=True), text)


@pytest.mark.parametrize("seed", range(12))
def test_one_text_gives_one_fingerprint(seed: int) -> None:
    module = graph_of(seed).module()
    assert fingerprint(module.clone()) == fingerprint(module)
    text = module_text(module, INLINE)
    assert fingerprint(_parsed(text)) == fingerprint(_parsed(text))


def test_different_modules_differ() -> None:
    modules = [graph_of(seed).module() for seed in range(12)]
    assert len({fingerprint(each) for each in modules}) == len({module_text(each, INLINE) for each in modules}) == 12


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[1.0, 2.0]", "[1.0, 2.0000002]"),  # weights
        ("0.25:3", "0.25:4"),  # a parameter of a type
        ("0.25:3", "0.25000000001:3"),
        ("nn.add", "nn.mul"),  # an operation
        ("%x, %y :", "%y, %x :"),  # wiring
        (r"%z\b", "%w"),  # a name
        ('origin = "x"', 'origin = "x2"'),  # an attribute
        ('origin = "x"', ""),
        ("%z = .*", ""),
        ("f32:0, {", "f64:0, {"),
    ],
)
def test_a_change_is_seen(old: str, new: str) -> None:
    changed = re.sub(old if "%z" in old else re.escape(old), new, TEXT).replace("{}", "")
    assert changed != TEXT
    assert fingerprint(_parsed(changed)) != fingerprint(_parsed(TEXT))


def test_graphs_and_branches() -> None:
    graph = '%0 = "a.op"(%1) : (i32) -> i32\n%1 = "a.op"({}) : (i32) -> i32'
    assert fingerprint(_parsed(graph.format("%0"))) != fingerprint(_parsed(graph.format("%1")))
    loop = "func.func @f(%c: i1) {{\n  cf.br ^a\n^a:\n  cf.cond_br %c, ^{}, ^b\n^b:\n  func.return\n}}"
    assert fingerprint(_parsed(loop.format("a"))) != fingerprint(_parsed(loop.format("b")))
