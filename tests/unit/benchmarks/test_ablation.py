"""Leaving out a pass: an unknown name is an error, and a pass without effect has the figure 1."""

from pathlib import Path

import pytest

from benchmarks.ablation import OPTIONAL, executed, measure, without
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.pipelines import COMPILE
from qmlir.text.parsing import parse_module

MODULE = """
!x = !quant.uniform<i8:f32, 0.5:1>
func.func @main(%x: tensor<64x!x> {nn.name = "x"}) -> (tensor<64x!x> {nn.name = "y"}) {
  %0 = nn.leaky_relu %x {alpha = 0.25 : f32} : tensor<64x!x>
  %1 = nn.add %0, %x : tensor<64x!x>
  func.return %1 : tensor<64x!x>
}
"""


@pytest.mark.parametrize("name", OPTIONAL)
def test_one_pass_is_left_out(name: str) -> None:
    whole = COMPILE.passes(isa="generic")
    left = without(whole, name).steps
    assert len(left) == len(whole.steps) - 1
    assert [step for step in whole.steps if step in left] == list(left)


def test_a_pass_that_is_not_there() -> None:
    with pytest.raises(DiagnosticError, match="the pipeline has no pass 'kernel-narow'"):
        without(COMPILE.passes(), "kernel-narow")


def test_a_pass_with_an_effect_and_one_without(tmp_path: Path) -> None:
    """Without fusion, there are two loops."""
    (tmp_path / "m.mlir").write_text(MODULE)
    names = ("kernel-fuse", "kernel-tile-producers")
    timed, idle = measure(tmp_path / "m.mlir", "generic", names, 0.1, {})
    assert (timed.what, idle.what) == ("kernel-fuse", "kernel-tile-producers, no effect")
    assert timed.low is not None
    assert timed.low > 0
    assert idle.figure == 1
    counted, _ = measure(tmp_path / "m.mlir", "armv7e-m", names, 0.1, {})
    assert counted.what == "kernel-fuse, operations"
    assert counted.figure > 1


def test_operations_of_loops_count_as_often_as_they_run() -> None:
    module = parse_module(
        default_environment().new_context(),
        """
        %a = arith.constant 2 : index
        %b = arith.constant 9 : index
        %c = arith.constant 3 : index
        scf.for %i = %a to %b step %c {
          scf.for %j = %b to %a step %c {
            %0 = arith.addi %i, %j : index
          }
          scf.for %j = %a to %b step %i {
            %0 = arith.addi %i, %j : index
          }
        }
        """,
    )
    # three constants and a loop; in each of three rounds two loops and their ends, one that runs not, one unknown
    inside = 2 + (1 + 1)
    assert executed(module.body.block) == 4 + 3 * (inside + 1)
