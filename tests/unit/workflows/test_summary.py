"""Sizes of weights: what each type takes, by hand."""

from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.text.parsing import parse_module
from qmlir.text.tables import bytes_text
from qmlir.workflows.summary import weight_bytes

TEXT = """
func.func @main() {
  %0 = nn.constant dense<1.0> : tensor<3xf32>
  %1 = nn.constant dense<1.0> : tensor<3xf64>
  %2 = nn.constant dense<1.0> : tensor<3xbf16>
  %3 = nn.constant dense<1> : tensor<5xi4> -> tensor<5x!quant.uniform<i4:f32, 0.5>>
  %4 = nn.constant dense<1> : tensor<5xi8> -> tensor<5x!quant.uniform<i8:f32, 0.5>>
  %5 = nn.constant dense<7> : tensor<2xi64>
  func.return
}
"""


def test_weight_bytes() -> None:
    module: ModuleOp = parse_module(default_environment().new_context(), TEXT, "test")
    # 3 of 4, of 8 and of 2 bytes; 5 of 4 bits, packed; 5 of 1 byte; the shape is not a weight.
    assert weight_bytes(module) == 12 + 24 + 6 + 3 + 5


def test_bytes_for_a_reader() -> None:
    found = [bytes_text(count) for count in (0, 1023, 1024, 1536, 5 << 20, 3 << 30)]
    assert found == ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.0 GiB"]
