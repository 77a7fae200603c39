"""Any target: its pipeline, what it emits of a module or of parts, and how it is run."""

from collections.abc import Iterator

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment, plugins
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.passmanager.pipeline import step_text
from qmlir.pipelines import COMPILE
from qmlir.target import Target, find_target
from qmlir.targets.lowering import emit_for, emitted, execute_for, lower_for, lowering_passes
from qmlir.targets.parts import part_module, parts_of
from qmlir.text.parsing import parse_module

_PARTS = """
!x = !quant.uniform<i8:f32, 0.25>
func.func private @main_toy_0(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "y"})
    attributes {target.part = "toy"} {
  %unused = nn.constant dense<1> : tensor<2xi8>
  %0 = nn.relu %x : tensor<2x!x>
  func.return %0 : tensor<2x!x>
}
func.func private @main_bytes_0(%x: tensor<2x!x>) -> tensor<2x!x> attributes {target.part = "bytes"} {
  func.return %x : tensor<2x!x>
}
func.func @main(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "y"}) {
  %0 = func.call @main_toy_0(%x) : (tensor<2x!x>) -> tensor<2x!x>
  func.return %0 : tensor<2x!x>
}
"""


@pytest.fixture(autouse=True)
def _plugged() -> Iterator[None]:
    with plugins(["tests.support.targets:CONTRIBUTION"]):
        yield


def _module() -> ModuleOp:
    return parse_module(default_environment().new_context(), _PARTS, "parts.mlir")


def test_the_pipeline_of_a_target_is_a_named_one_or_text() -> None:
    values = {"isa": "avx2", "threads": "2", "tuned": "t.json"}
    assert lowering_passes(find_target("cpu"), **values) == COMPILE.passes(isa="avx2", threads=2, tuned="t.json")
    assert str(lowering_passes(find_target("toy"), isa="avx2")) == "builtin.module(canonicalize,dce)"


def test_a_value_of_a_targets_pipeline_is_one_value() -> None:
    target = Target("npu", lowering='apply-pdl{named="<set>"},cse{keep_places=<keep>}', defaults={"keep": "true"})
    steps = lowering_passes(target, set="a},strip-debuginfo{").steps
    assert list(map(step_text, steps)) == ['apply-pdl{named="a},strip-debuginfo{"}', "cse{keep_places}"]


def test_an_option_that_the_named_pipeline_does_not_have() -> None:
    message = "pipeline 'compile' has no option 'level'"
    with pytest.raises(DiagnosticError, match=message):
        lowering_passes(Target("npu", lowering="compile", defaults={"level": "3"}))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("silent", "target 'silent' has no pipeline that lowers a module for it"),
        ("nothing", "pass 'cse' has no option '<level>'"),
    ],
)
def test_what_no_pipeline_is(name: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        lower_for(find_target(name), _module())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("silent", "target 'silent' emits nothing"),
        (
            "nothing",
            "target 'nothing' must emit text or bytes, but 'tests.support.targets:emit_nothing' returned NoneType",
        ),
        ("broken", "target 'broken': cannot load 'tests.support.targets:no_such': "),
    ],
)
def test_what_is_not_emitted(name: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        emit_for(find_target(name), _module())


def test_a_row_that_names_no_function() -> None:
    with pytest.raises(DiagnosticError, match=r"target 'broken': 'tests\.support.targets:TOY' is not a function"):
        execute_for(find_target("broken"), _module())


def test_parts_are_emitted_one_by_one() -> None:
    module = _module()
    assert parts_of(module) == {"main_toy_0": "toy", "main_bytes_0": "bytes"}
    assert emitted(find_target("toy"), part_module(module, "main_toy_0")) == "main_toy_0: nn.relu func.return\n"
    assert emitted(find_target("bytes"), part_module(module, "main_bytes_0")) == b"main_bytes_0: func.return\n"
    assert emitted(find_target("toy"), part_module(module, "main_bytes_0")) == "main_bytes_0: func.return\n"
    with pytest.raises(DiagnosticError, match="unknown part 'main_toy_1'; did you mean 'main_toy_0'"):
        part_module(module, "main_toy_1")


@pytest.mark.parametrize("name", ["toy", "cpu"])
def test_the_interpreter_runs_what_no_device_does_and_the_cpu_what_it_compiles(name: str) -> None:
    stored = np.array([-3, 5], np.int8)
    run = execute_for(find_target(name), part_module(_module(), "main_toy_0"), "main_toy_0")
    for inputs in ({"x": stored}, [stored]):
        (found,) = run(inputs).values()
        assert found.tolist() == [0, 5]


def test_a_program_of_several_targets() -> None:
    with pytest.raises(
        DiagnosticError, match="part 'main_toy_0' of target 'toy', which is not one of the given targets"
    ):
        qmlir.compile(_module(), device="silent,cpu")
