"""Partition of modules: random graphs compute the same, and parts and reports are what they say."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp

from qmlir.dialects.target.attributes import PART
from qmlir.dialects.target.description import Description, Support
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.ir.verification import verify
from qmlir.passes.general.simplification import Inline, SymbolDce
from qmlir.targets.partitioning.preferences import Preferences
from qmlir.targets.partitioning.quant_partition import outline_host, partition, target_of
from qmlir.targets.partitioning.report import BorderTransfer, PartitionReport
from qmlir.text.parsing import parse_module
from qmlir.workflows.partitioning import partition as partition_workflow
from tests.levels.generator import case_of


def _targets(module: ModuleOp, seed: int) -> list[Description]:
    kinds = sorted({op.name for op in module.walk() if op.name.startswith(("nn.", "quant."))})
    random = np.random.default_rng(seed)
    chosen = [[kind for kind in kinds if random.random() < share] for share in (0.5, 0.3)]
    return [
        Description(name, supports=tuple(Support(kind) for kind in each))
        for name, each in zip(("a", "b"), chosen, strict=True)
    ]


def _computing(module: ModuleOp) -> Counter[str]:
    """The operations of a module without constants, with what they stand for."""
    return Counter(
        f"{op.name} {op.attributes}" for op in module.walk() if op.name.startswith(("nn.", "quant.")) and op.operands
    )


def _check_parts(module: ModuleOp, report: PartitionReport) -> None:
    """Each part is called once, behind what it needs, and the report says what its signature says."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    calls = [op.callee.root_reference.data for op in functions["main"].walk() if isinstance(op, CallOp)]
    assert sorted(calls) == sorted(part.name for part in report.parts)
    for part in report.parts:
        function = functions[part.name]
        assert function.attributes[PART] == StringAttr(part.target)
        assert function.sym_visibility == StringAttr("private")
        assert part.arguments == tuple(map(BorderTransfer.of, inputs_of(function)))
        assert part.results == tuple(map(BorderTransfer.of, outputs_of(function)))
        names = [port.name for port in (*inputs_of(function),)]
        assert len(set(names)) == len(names)
    assert report.crossings == sum(len(part.crossings) for part in report.parts)


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_compute_the_same(seed: int) -> None:
    case = case_of(seed)
    expected = interpret(case.module, case.inputs)
    preferences = Preferences(
        transfer_bytes=(0, 64, 4096)[seed % 3], intensity=(0.0, 0.5, 20.0)[seed // 3 % 3], min_ops=1 + seed % 2
    )
    divided = case.module.clone()
    (report,) = partition(divided, _targets(case.module, seed), preferences)
    verify(divided)
    _check_parts(divided, report)
    assert all(part.operations >= preferences.min_ops for part in report.parts)
    found = interpret(divided, case.inputs)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    # Taken back, nothing is lost and nothing is there twice.
    whole = divided.clone()
    for step in (Inline(), SymbolDce()):
        step.apply(default_environment().new_context(), whole)
    assert _computing(whole) == _computing(case.module)
    # What is left to the host as parts, too: nothing but calls and constants stays.
    main = next(op for op in divided.ops if isinstance(op, FuncOp) and target_of(op) is None)
    outline_host(divided, main)
    verify(divided)
    assert {op.name for op in main.body.block.ops} <= {"func.call", "nn.constant", "func.return"}
    found = interpret(divided, case.inputs)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


_TEXT = """
!x = !quant.uniform<i4:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.fully_connected"}]>]} {
  func.func @main(%x: tensor<?x3x!x> {nn.name = "x"}) -> (tensor<?x2x!x> {nn.name = "y"}) {
    %w = nn.constant dense<1> : tensor<2x3xi4> -> tensor<2x3x!x>
    %0 = nn.fully_connected %x, %w : (tensor<?x3x!x>, tensor<2x3x!x>) -> tensor<?x2x!x> {origin = "fc", tensor = "t"}
    %1 = nn.sigmoid %0 : (tensor<?x2x!x>) -> tensor<?x2x!x> {origin = "end"}
    func.return %1 : tensor<?x2x!x>
  }
}
"""


def _module() -> ModuleOp:
    return parse_module(default_environment().new_context(), _TEXT, "test.mlir")


def test_a_report() -> None:
    """Elements of four bits are packed; an open size counts as 1."""
    (report,) = partition_workflow(_module()).reports
    (part,) = report.parts
    assert (part.arguments, part.results) == ((BorderTransfer("x", "?x3xi4", 2),), (BorderTransfer("t", "?x2xi4", 1),))
    assert (part.operations, part.multiply_adds, report.multiply_adds) == (1, 6, 6)
    assert (report.crossings, report.bytes, report.targets) == (2, 3, ("dsp",))
    assert report.text().splitlines() == [
        "@main: 1 part, 100.0% of the multiply-adds, 2 crossings of 3 bytes",
        "",
        "part        target  operations  macs  takes     gives       bytes",
        "main_dsp_0  dsp              1     6  x ?x3xi4  t ?x2xi4  3 bytes",
        "",
        "on the host  operation   because",
        "end          nn.sigmoid  target 'dsp' does not support it",
    ]


_TIE = """
!x = !quant.uniform<i8:f32, 0.25>
func.func @main(%x: tensor<4x!x>) -> tensor<4x!x> {
  %0 = nn.tanh %x : tensor<4x!x>
  %1 = nn.sigmoid %0 : tensor<4x!x>
  func.return %1 : tensor<4x!x>
}
"""


def test_of_places_of_equal_cost_the_preferred_one_is_chosen() -> None:
    """Only `b` computes the sigmoid. With the tanh on `a`, two more transfers of 4 bytes cross the border; on `b`, half
    the tanh's 4 / 0.25 is lost."""
    module = parse_module(default_environment().new_context(), _TIE, "test.mlir")
    targets = [Description("a", supports=(Support("nn.tanh"),)), Description("b", supports=(Support("nn.*"),))]
    (report,) = partition(module, targets, Preferences(transfer_bytes=0, intensity=0.25))
    assert [part.target for part in report.parts] == ["a", "b"]
    assert report.bytes == 16


def test_nothing_for_a_device() -> None:
    module = _module()
    (report,) = partition(module, [Description("other")], Preferences())
    assert report.text().startswith("@main: no part for any of other\n")
    assert len(report.stays) == 2


def test_names_that_are_taken(tmp_path: Path) -> None:
    module = _module()
    module.body.block.add_op(FuncOp.external("main_dsp_0", [], []))
    (report,) = partition(module, [Description("dsp", supports=(Support("nn.sigmoid"),))], Preferences())
    assert [part.name for part in report.parts] == ["main_dsp_1"]


def test_the_workflow_needs_a_target() -> None:
    module = _module()
    del module.attributes["target.specs"]
    with pytest.raises(
        DiagnosticError, match=r"no target: the module has no target\.specs; pass --device npu,cpu \(device='npu,cpu'\)"
    ):
        partition_workflow(module)
    assert partition_workflow(module, "cpu").reports[0].parts == ()
