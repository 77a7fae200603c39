"""What a target computes: an operation against descriptions, value by value."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir.dialects.target.description import Accepted, Description, Plain, Support, property_value
from qmlir.environment import default_environment
from qmlir.quantization.supports import first_target, why_not
from qmlir.text.parsing import parse_module

_TEXT = """
!x = !quant.uniform<i8:f32, 0.25>
!z = !quant.uniform<i8:f32, 0.25:3>
!n = !quant.uniform<i8<-127:127>:f32, 0.3>
!w = !quant.uniform<i4:f32:0, {0.5, 0.25}>
!k = !quant.uniform<i4:f32:{0:1, 1:2}, {{0.5, 0.25}, {0.5, 0.5}}>
!a = !quant.uniform<i32:f32:1, {0.125, 0.0625}>
!s = !quant.uniform<i16:f32, 0.125>
func.func @main(%x: tensor<2x4x!x>, %z: tensor<2x4x!z>, %n: tensor<2x4x!n>, %w: tensor<2x4x!w>, %k: tensor<2x4x!k>,
                %f: tensor<2x4xf32>, %b: tensor<2x!s>) {
  %relu = nn.relu %x {requantize = #kernel.requantize<shift, even>} : (tensor<2x4x!x>) -> tensor<2x4x!z>
  %offset = nn.relu %z : (tensor<2x4x!z>) -> tensor<2x4x!n>
  %float = nn.relu %f : tensor<2x4xf32>
  %sum = nn.matmul %x, %w {transpose_b = true} : (tensor<2x4x!x>, tensor<2x4x!w>) -> tensor<2x2x!a>
  %blocks = nn.matmul %x, %k {transpose_b = true} : (tensor<2x4x!x>, tensor<2x4x!k>) -> tensor<2x2x!x>
  %biased = nn.add %sum, %b : (tensor<2x2x!a>, tensor<2x!s>) -> tensor<2x2x!x> {role = "bias_add", origin = "fc"}
  %k8 = nn.constant dense<3> : tensor<2xi8> -> tensor<2x!x>
  %offset8 = nn.add %blocks, %k8 : (tensor<2x2x!x>, tensor<2x!x>) -> tensor<2x2x!x>
  %scaled = nn.mul %blocks, %k8 : (tensor<2x2x!x>, tensor<2x!x>) -> tensor<2x2x!x>
  %moved = nn.transpose %x {permutation = [1, 0]} : (tensor<2x4x!x>) -> tensor<4x2x!x>
  func.return
}
"""


@pytest.fixture(scope="module")
def operations() -> dict[str, Operation]:
    module: ModuleOp = parse_module(default_environment().new_context(), _TEXT, "ops.mlir")
    return {op.results[0].name_hint or "": op for op in module.walk() if op.results}


def _target(*supports: Support, requantize: tuple[str, ...] = ()) -> Description:
    return Description("dsp", supports=supports, requantize=requantize)


_SYMMETRIC = Accepted(schemes=("symmetric",))
_POW2 = Accepted(schemes=("asymmetric_pow2",))


@pytest.mark.parametrize(
    ("name", "support", "reason"),
    [
        ("relu", Support("nn.*"), None),
        ("relu", Support("nn.add"), "target 'dsp' does not support it"),
        ("relu", Support("nn.relu", input=_SYMMETRIC, output=_POW2), None),
        ("relu", Support("nn.relu", output=_SYMMETRIC),
         "target 'dsp' does not support it: output with scheme asymmetric_pow2 (supported: symmetric)"),
        ("offset", Support("nn.relu", input=Accepted(("i8",))), None),
        ("offset", Support("nn.relu", output=_POW2),
         "target 'dsp' does not support it: output with scheme symmetric (supported: asymmetric_pow2)"),
        ("offset", Support("nn.relu", output=Accepted(("i8<-127:127>",))), None),
        ("offset", Support("nn.relu", input=Accepted(("i8<-127:127>",))),
         "target 'dsp' does not support it: input in i8 (supported: i8<-127:127>)"),
        ("float", Support("nn.relu"), None),
        ("float", Support("nn.relu", input=Accepted(("f32", "i8"))), None),
        ("float", Support("nn.relu", input=Accepted(("i8",))),
         "target 'dsp' does not support it: input in f32 (supported: i8)"),
        ("float", Support("nn.relu", input=_SYMMETRIC), None),
        ("sum", Support("nn.matmul", weight=Accepted(("i4",), (), ("channel",)), output=Accepted(("i8",))), None),
        ("sum", Support("nn.matmul", accumulator=Accepted(("i24",)), output=Accepted(("i8",))),
         "target 'dsp' does not support it: output in i32 (supported: i8)"),
        ("sum", Support("nn.matmul", weight=Accepted((), (), ("tensor",))),
         "target 'dsp' does not support it: weight with granularity channel (supported: tensor)"),
        ("blocks", Support("nn.matmul", weight=Accepted((), (), ("block:2",))), None),
        ("blocks", Support("nn.matmul", weight=Accepted((), (), ("block",))), None),
        ("blocks", Support("nn.matmul", weight=Accepted((), (), ("block:32",))),
         "target 'dsp' does not support it: weight with granularity block:2 (supported: block:32)"),
        ("biased", Support("nn.add", role="bias_add", input=Accepted(("i8",)), bias=Accepted(("i16",)),
                           accumulator=Accepted(("i32",))), None),
        ("biased", Support("nn.add", input=Accepted(("i8",)), accumulator=Accepted(("i32",))),
         "target 'dsp' does not support it: input in i16 (supported: i8)"),
        ("biased", Support("nn.add", role="*gate/*"), "target 'dsp' does not support it"),
        ("offset8", Support("nn.*", bias=Accepted(("i32",))),
         "target 'dsp' does not support it: bias in i8 (supported: i32)"),
        ("scaled", Support("nn.*", bias=Accepted(("i32",))), None),
        ("moved", Support("nn.transpose", properties={"permutation": ((1, 0), (0, 1))}), None),
        ("moved", Support("nn.transpose", properties={"permutation": ((0, 1),)}),
         "target 'dsp' does not support it: permutation = [1, 0] (supported: [0, 1])"),
        ("sum", Support("nn.matmul", properties={"transpose_b": (True,), "components": (None,)}), None),
        ("sum", Support("nn.matmul", properties={"transpose": (True,)}),
         "target 'dsp' does not support it: property 'transpose', which nn.matmul does not have; "
         "did you mean 'transpose_b'?"),
        ("sum", Support("nn.matmul", properties={"transpose_b": (False,)}),
         "target 'dsp' does not support it: transpose_b = true (supported: false)"),
    ],
)  # fmt: skip
def test_values(name: str, support: Support, reason: str | None, operations: dict[str, Operation]) -> None:
    assert why_not(_target(support), operations[name]) == reason


@pytest.mark.parametrize(
    ("name", "modes", "own", "reason"),
    [
        ("relu", ("shift:even",), (), None),
        ("relu", ("shift:up",), (), "requantization mode shift:even (supported: shift:up)"),
        ("relu", ("shift:up",), ("f32", "shift:even"), None),
        ("offset", ("f32",), (), None),
        ("offset", ("shift:even",), (), "requantization mode f32 (supported: shift:even)"),
        ("float", ("shift:even",), (), None),
        ("moved", ("shift:even",), (), None),
    ],
)
def test_modes(
    name: str, modes: tuple[str, ...], own: tuple[str, ...], reason: str | None, operations: dict[str, Operation]
) -> None:
    target = _target(Support("*", requantize=own), requantize=modes)
    expected = None if reason is None else f"target 'dsp' does not support it: {reason}"
    assert why_not(target, operations[name]) == expected
    assert why_not(target, operations[name], with_mode=False) is None


def test_one_of_several_ways_is_enough_and_the_first_target_has_it(operations: dict[str, Operation]) -> None:
    narrow, wide = Support("nn.relu", input=Accepted(("i4",))), Support("nn.relu", input=Accepted(("i8",)))
    targets = [Description("a", supports=(narrow,)), Description("b", supports=(narrow, wide)), Description("c")]
    found = first_target(targets, operations["relu"])
    assert found is not None
    assert found.name == "b"
    assert first_target(targets, operations["moved"]) is None


@pytest.mark.parametrize(
    ("name", "property_", "value"),
    [("moved", "permutation", (1, 0)), ("blocks", "transpose_b", True), ("sum", "components", None)],
)
def test_values_of_properties(name: str, property_: str, value: Plain, operations: dict[str, Operation]) -> None:
    assert property_value(operations[name], property_) == value
