"""The border to xDSL: its faults are told in plain words, ours stay what they are."""

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text import weights
from qmlir.text.parsing import parse_module

FILL = """
func.func @f(%x: memref<?xi8>, %v: i8) {
  linalg.fill (%v : i8) outs(%x : memref<?xi8>)
  func.return
}
"""


def test_a_fault_of_xdsls_reader_names_what_is_read_and_where() -> None:
    with pytest.raises(DiagnosticError, match=r"'linalg\.fill' cannot be parsed: xDSL fails on it") as caught:
        parse_module(default_environment().new_context(), FILL)
    assert str(caught.value).startswith("<stdin>:3:3: error: ")


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our code runs inside xDSL's parser: what it raises by mistake goes through."""
    monkeypatch.setattr(weights, "StringAttr", {}.__getitem__)
    with pytest.raises(KeyError, match="f"):
        parse_module(
            default_environment().new_context(), 'module attributes {a = #nn.weights<"f", "k", "d"> : tensor<2xf32>} {}'
        )


def test_a_fault_of_xdsls_verifier_names_the_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse_module(default_environment().new_context(), "func.func @f() {\n  func.return\n}")
    # A function type that is none: xDSL's verifier of returns takes it apart.
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    function.properties["function_type"] = StringAttr("none")
    with pytest.raises(DiagnosticError, match=r"'func\.(func|return)' op"):
        verify(module)
