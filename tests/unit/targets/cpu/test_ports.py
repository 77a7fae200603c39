"""Arrays of the caller that memory holds in another form: integers of few bits without a sign, Booleans."""

import numpy as np

from qmlir.environment import default_environment
from qmlir.targets.cpu.compiler import compile_module
from qmlir.text.parsing import parse_module

TEXT = """
!a = !quant.uniform<u4:f32, 0.5:3>
!b = !quant.uniform<u4:f32, 0.25:0>
func.func @main(%x: tensor<16x!a> {nn.name = "x"}, %c: tensor<16xi1> {nn.name = "c"})
    -> (tensor<16x!b> {nn.name = "relu"}, tensor<16x!a> {nn.name = "same"}, tensor<32xi1> {nn.name = "twice"},
        tensor<18xi1> {nn.name = "padded"}) {
  %0 = nn.relu %x : (tensor<16x!a>) -> tensor<16x!b>
  %1 = nn.where %c, %x, %x : (tensor<16xi1>, tensor<16x!a>, tensor<16x!a>) -> tensor<16x!a>
  %2 = nn.concat %c, %c {axis = 0 : i64} : (tensor<16xi1>, tensor<16xi1>) -> tensor<32xi1>
  %3 = nn.pad %c {pads = array<i64: 2, 0>} : (tensor<16xi1>) -> tensor<18xi1>
  func.return %0, %1, %2, %3 : tensor<16x!b>, tensor<16x!a>, tensor<32xi1>, tensor<18xi1>
}"""


def test_integers_of_four_bits_and_booleans_come_and_go_as_the_caller_has_them() -> None:
    program = compile_module(parse_module(default_environment().new_context(), TEXT))
    x, condition = np.arange(16, dtype=np.uint8), np.arange(16) % 3 == 0
    given = np.full(16, 255, np.uint8)
    found = program({"x": x, "c": condition}, {"same": given})
    assert found["same"] is given
    assert {name: array.dtype for name, array in found.items()} == {
        "relu": np.uint8, "same": np.uint8, "twice": np.bool_, "padded": np.bool_
    }  # fmt: skip
    np.testing.assert_array_equal(found["same"], x)
    np.testing.assert_array_equal(
        found["relu"], np.clip(2 * (np.arange(16) - 3), 0, 15)
    )  # 0.5 (x - 3) in steps of 0.25
    np.testing.assert_array_equal(found["twice"], [*condition, *condition])
    np.testing.assert_array_equal(found["padded"], [False, False, *condition])
