"""Small modules whose values are known by hand, for the tests of comparisons."""

from typing import Any

from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module

I8 = "!quant.uniform<i8:f32, 0.5>"
OUT = "!quant.uniform<i8:f32, 1.0:-128>"

FLOAT = """
  %w = nn.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32> {origin = "w"}
  %0 = nn.fully_connected %x, %w : (tensor<?x1xf32>, tensor<2x1xf32>) -> tensor<?x2xf32> {origin = "fc1"}
  %1 = nn.relu %0 : tensor<?x2xf32> {origin = "act"}
  func.return %1 : tensor<?x2xf32>
"""
QUANTIZED = f"""
  %w = nn.constant dense<[[4], [6]]> : tensor<2x1xi8> -> tensor<2x1x{I8}> {{origin = "w"}}
  %q = quant.qcast %x : tensor<?x1xf32> to tensor<?x1x{I8}>
  %0 = nn.fully_connected %q, %w : (tensor<?x1x{I8}>, tensor<2x1x{I8}>) -> tensor<?x2x{OUT}> {{origin = "fc1"}}
  %1 = nn.relu %0 : tensor<?x2x{OUT}> {{origin = "act"}}
  %2 = quant.dcast %1 {{origin = "act"}} : tensor<?x2x{OUT}> to tensor<?x2xf32>
  func.return %2 : tensor<?x2xf32>
"""


def parsed(body: str, argument: str = "tensor<?x1xf32>", result: str = "tensor<?x2xf32>") -> Any:
    """A verified module of one function of `x` that gives `y`."""
    text = f'func.func @main(%x: {argument} {{nn.name = "x"}}) -> ({result} {{nn.name = "y"}}) {{\n{body}\n}}'
    module = parse_module(default_environment().new_context(), text, "text")
    verify(module)
    return module
