"""Patterns and functions that a package brings, and packages that do it wrong."""

import io
import re
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir import registry
from qmlir.environment import default_environment
from qmlir.text.parsing import parse_module
from qmlir.tools import qmlir_opt

_PACKAGE = """
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.dialects.builtin import StringAttr
from xdsl.pattern_rewriter import PatternRewriter
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.extensions.pdl.natives import Typed
from qmlir.registry import Contribution

def has_even_size(of: Typed) -> bool:
    return of.get_shape()[0] % 2 == 0

def name_of(op: Operation) -> Attribute | None:
    origin = op.attributes.get("origin")
    return origin

def by_hand(rewriter: PatternRewriter, op: Operation, x: SSAValue) -> None:
    rewriter.replace(op, ReluOp.build(operands=[x], result_types=[x.type]))

def raises(of: Typed) -> bool:
    raise RuntimeError("out of order")

def strange(of: list) -> bool:
    return True

CONSTRAINTS = {"has_even_size": has_even_size, "name_of": name_of, "raises": raises, "strange": strange}
TAKEN = {"has_bits": has_even_size}
REWRITES = {"by_hand": by_hand}
CONTRIBUTION = Contribution(
    tables={"pdl.constraints": ("brought:CONSTRAINTS", "brought:TAKEN"), "pdl.rewrites": ("brought:REWRITES",)},
    stages={"quantize.lower.before": "apply-pdl{named=brought keeps=meaning}"},
    pdl={"brought": "brought:patterns/abs.mlir", "raising": "brought:raising.mlir", "lost": "brought:lost.mlir"},
)
"""

_ABS = """
pdl.pattern @abs : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %abs = pdl.operation "nn.abs" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.apply_native_constraint "has_even_size"(%type : !pdl.type)
  %name = pdl.apply_native_constraint "name_of"(%abs : !pdl.operation) : !pdl.attribute
  %wanted = pdl.attribute = "a*"
  pdl.apply_native_constraint "has_origin"(%abs, %wanted : !pdl.operation, !pdl.attribute)
  pdl.rewrite %abs with "by_hand"(%abs, %x : !pdl.operation, !pdl.value)
}
"""

_RAISING = """pdl.pattern @careless : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %abs = pdl.operation "nn.abs" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.apply_native_constraint "raises"(%type : !pdl.type)
  pdl.rewrite %abs {
    pdl.replace %abs with (%x : !pdl.value)
  }
}
"""

_MODULE = """
func.func @main(%x: tensor<2xf32> {nn.name = "x"}, %y: tensor<3xf32> {nn.name = "y"})
    -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) {
  %0 = nn.abs %x : tensor<2xf32> {origin = "a1", op_type = "Abs"}
  %1 = nn.abs %y : tensor<3xf32> {origin = "a2"}
  %2 = nn.abs %x : tensor<2xf32>
  func.return %0, %1, %2 : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>
}
"""


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brought" / "patterns").mkdir(parents=True)
    (tmp_path / "brought" / "__init__.py").write_text(_PACKAGE)
    (tmp_path / "brought" / "patterns" / "abs.mlir").write_text(_ABS)
    (tmp_path / "brought" / "raising.mlir").write_text(_RAISING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "brought", raising=False)


def _run(pipeline: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    arguments = ["-p", pipeline, "--load-plugin", "brought"]
    code = qmlir_opt.main(arguments, stdin=io.StringIO(_MODULE), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def test_a_package_brings_patterns_constraints_and_rewrites() -> None:
    code, text, said = _run("apply-pdl{named=brought}")
    assert code == 0, said
    assert text.count("nn.relu") == 1
    assert 'nn.relu %x : tensor<2xf32> {origin = "a1", op_type = "Abs"}' in text
    assert text.count("nn.abs") == 2


def test_patterns_run_inside_a_pipeline() -> None:
    with registry.plugged([registry.plugin("brought")]):
        module = parse_module(default_environment().new_context(), _MODULE)
        samples = [{"x": np.array([-1, 1], np.float32), "y": np.ones(3, np.float32)}]
        quantized = qmlir.quantize(module, samples).module
    assert [op.name for op in quantized.walk()].count("nn.relu") == 1


def test_what_a_package_does_wrong_is_a_warning_and_the_rest_works() -> None:
    _, _, said = _run("apply-pdl{named=brought}")
    assert re.search("package 'brought': .*'has_bits' of 'brought:TAKEN'.*: package 'qmlir' has it", said)
    assert re.search(
        "package 'brought': .*the constraint 'strange' of patterns.*: parameter 'of' must be annotated", said
    )


def test_a_pattern_that_raises_is_named_with_its_file_and_line() -> None:
    code, _, said = _run("apply-pdl{named=raising}")
    assert code == 1
    position = "raising.mlir:5:3: error: pattern '@careless' (in package 'brought'): "
    assert f"{position}'pdl.apply_native_constraint' op" in said
    assert "'raises' failed: RuntimeError: out of order" in said


def test_names_and_files_that_are_not_there() -> None:
    assert (
        "no patterns named 'brough'; did you mean 'brought'? (available: brought, lost, raising)"
        in (_run("apply-pdl{named=brough}")[2])
    )
    code, _, said = _run("apply-pdl{named=lost}")
    assert code == 1
    assert "lost.mlir': No such file or directory" in said
