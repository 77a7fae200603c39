"""What a package does wrong while it is used: errors that name it; and what is said where nobody listens."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.universe import Universe

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.onnx.export.exporter import export_model
from qmlir.onnx.importer import import_model
from qmlir.onnx.reading import read_model
from qmlir.registry import Contribution, Package
from qmlir.registry.faults import place_of_row, position
from qmlir.text.parsing import parse_module

HERE = __name__


@irdl_op_definition
class FragileOp(IRDLOperation):
    """Nothing of it works."""

    name = "fragile.op"

    input = operand_def(TensorType)
    result = result_def(TensorType)

    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"


def breaks(*_: Any) -> Any:
    raise LookupError("lost\nhere")


UNIVERSE = Universe(all_dialects={"fragile": lambda: Dialect("fragile", [FragileOp])})
TABLE = {FragileOp: breaks}
OPERATORS = {"com.example::Fragile": breaks}
CONTRIBUTION = Contribution(
    evaluators={"fragile": f"{HERE}:TABLE"}, importers=(f"{HERE}:OPERATORS",), exporters=(f"{HERE}:TABLE",)
)
MODULE = """
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}) {
  %0 = fragile.op %x {origin = "f1"} : tensor<2xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
MODEL = """
<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
net (float[2] x) => (float[2] y) { [f1] y = com.example.Fragile (x) }
"""


@pytest.fixture(autouse=True)
def package() -> Iterator[Package]:
    package = Package("fragile", "0.3", universes=(f"{HERE}:UNIVERSE",), contributions=(CONTRIBUTION,))
    with registry.plugged([package]):
        yield package


def _module() -> ModuleOp:
    return parse_module(default_environment().new_context(), MODULE)


def _import() -> ModuleOp:
    return import_model(read_model(parser.parse_model(MODEL)))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (_import, "com.example.Fragile node 'f1': its importer failed: LookupError: lost here"),
        (
            lambda: interpret(_module(), {"x": np.zeros(2, np.float32)}),
            "'fragile.op' op (f1) cannot be computed: LookupError: lost here",
        ),
        (
            lambda: export_model(_module()),
            "'fragile.op' op (f1) cannot be exported: its exporter failed: LookupError: lost here",
        ),
    ],
)
def test_what_raises_is_named_with_its_package(use: Callable[[], object], message: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        use()
    line = breaks.__code__.co_firstlineno + 1
    assert error.value.diagnostic.message == f"{message} (in package 'fragile 0.3', {position(__file__, line)})"


def test_a_fault_is_said_one_time(package: Package, caplog: pytest.LogCaptureFixture) -> None:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        assert package.load("no.module:X") is None
        assert package.load("no.module:Y") is None
    assert [str(each) for each in said] == [
        "warning: package 'fragile 0.3': left out 'no.module:X': ModuleNotFoundError: No module named 'no'"
    ]
    with caplog.at_level(logging.WARNING, "qmlir"):
        assert package.load(f"{HERE}:MODULE", Universe) is None
    assert [each.getMessage() for each in caplog.records] == [
        f"warning: package 'fragile 0.3': left out '{HERE}:MODULE': it must be Universe, but got str "
        f"({place_of_row(f'{HERE}:MODULE')})"
    ]


def test_the_tree_raises_its_own_faults() -> None:
    with pytest.raises(ModuleNotFoundError):
        registry.packages()[0].load("no.module:X")
