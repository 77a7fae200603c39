"""Dead operations: the same as xDSL's own analysis, which asks each operation, finds."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import is_side_effect_free
from xdsl.transforms.dead_code_elimination import is_trivially_dead, region_dce, would_be_trivially_dead

import qmlir
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.environment import default_environment
from qmlir.ir.effects import dead_if_unused, erase_dead, has_no_effect, is_dead
from qmlir.ir.rewriting import apply_patterns_greedily, operations_in
from qmlir.targets.cpu.lowering import lowered
from qmlir.text.parsing import parse_module

CONTEXT = default_environment().new_context()
LAYER = """func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %w = nn.constant dense<0.5> : tensor<8x8xf32>
  %0 = nn.matmul %x, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %1 = nn.softmax %0 {axis = 1} : tensor<2x8xf32>
  func.return %1 : tensor<2x8xf32>
}
"""
MEMORY = """func.func @main(%m: memref<8xf32>, %n: index) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.0 : f32
  %unused = memref.load %m[%zero] : memref<8xf32>
  scf.for %i = %zero to %n step %one {
    %own = memref.alloc() : memref<4xf32>
    %read = memref.load %m[%i] : memref<8xf32>
    scf.yield
  }
  scf.for %i = %zero to %n step %one {
    scf.for %j = %zero to %n step %one {
      memref.store %start, %m[%j] : memref<8xf32>
      scf.yield
    }
    scf.yield
  }
  scf.for %i = %zero to %n step %one {
    "somebody.does"() : () -> ()
    scf.yield
  }
  %sum = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> (f32) {
    %read = memref.load %m[%i] : memref<8xf32>
    %next = arith.addf %a, %read : f32
    %beside = arith.mulf %next, %read : f32
    scf.yield %next : f32
  }
  %allocated = memref.alloc() : memref<4xf32>
  func.return %sum : f32
}
"""


def _modules() -> list[ModuleOp]:
    layer = parse_module(CONTEXT, LAYER)
    quantized = qmlir.quantize(layer, {"input0": np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)}).module
    memory = parse_module(default_environment().new_context(allow_unregistered=True), MEMORY)
    return [layer, quantized, lowered(quantized, "generic"), memory]


@pytest.mark.parametrize("position", range(4))
def test_answers_are_those_of_the_analysis_that_asks_each_operation(position: int) -> None:
    module = _modules()[position]
    answers = [(dead_if_unused(op), is_dead(op)) for op in module.walk()]
    assert answers == [(would_be_trivially_dead(op), is_trivially_dead(op)) for op in module.walk()]
    assert len(set(answers)) > 1
    other = module.clone()
    region_dce(other.body)
    erase_dead(module.body)
    assert str(module) == str(other)


@pytest.mark.parametrize("position", range(4))
def test_operations_without_effects_are_those_that_xdsl_finds(position: int) -> None:
    operations = operations_in(_modules()[position])
    known: dict[Operation, bool] = {}
    assert [has_no_effect(op, known) for op in operations] == [is_side_effect_free(op) for op in operations]


@pytest.mark.parametrize("position", range(4))
def test_operations_come_in_the_order_of_a_walk(position: int) -> None:
    module = _modules()[position]
    operations = operations_in(module)
    assert operations == list(module.walk())
    assert operations[::-1] == list(module.walk(reverse=True, region_first=True))


class _Counted(RewritePattern):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def may_match(self, kind: type, /) -> bool:
        return kind is ReluOp

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, ReluOp)
        self.asked += 1


class _OfAType(RewritePattern):
    """Says by its type what it matches."""

    def __init__(self) -> None:
        self.asked = 0

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /) -> None:
        self.asked += 1


class _OnAnInstance(RewritePattern):
    """Its method is an attribute: what it matches is not known before it is called."""

    def __init__(self) -> None:
        self.asked = 0
        self.match_and_rewrite = self.count

    def count(self, op: Operation, rewriter: PatternRewriter) -> None:
        self.asked += 1

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        raise NotImplementedError


def test_patterns_are_tried_on_the_classes_that_they_match() -> None:
    module = parse_module(CONTEXT, LAYER.replace("nn.softmax %0 {axis = 1}", "nn.relu %0"))
    counted, of_a_type, on_an_instance = _Counted(), _OfAType(), _OnAnInstance()
    apply_patterns_greedily(module, [counted, of_a_type, on_an_instance], CONTEXT)
    assert counted.asked == of_a_type.asked == 1
    assert on_an_instance.asked == sum(1 for _ in module.walk()) - 1
