"""The machine: calls, listeners, values that end with their last use, errors that name the operation."""

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter, Listener
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.provenance import origins_of
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module

ENVIRONMENT = default_environment()


def _module(text: str) -> ModuleOp:
    module = parse_module(ENVIRONMENT.new_context(), text)
    verify(module)
    return module


CALLS = """
func.func @main(%x: tensor<2xf32> {nn.name = "left"}, %y: tensor<2xf32>)
    -> (tensor<2xf32> {nn.name = "sum"}, tensor<2xf32>) {
  %0 = func.call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = func.call @twice(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = nn.add %1, %y : tensor<2xf32> {origin = "join", op_type = "Add"}
  func.return %2, %0 : tensor<2xf32>, tensor<2xf32>
}
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.add %x, %x : tensor<2xf32> {origin = "double"}
  func.return %0 : tensor<2xf32>
}
"""
X, Y = np.array([1, -2], np.float32), np.array([0.5, 0.25], np.float32)


def test_calls_and_names() -> None:
    module = _module(CALLS)
    outputs = interpret(module, {"left": X, "input1": Y})
    assert {name: value.tolist() for name, value in outputs.items()} == {"sum": [4.5, -7.75], "output1": [2, -4]}
    assert interpret(module, [X, Y])["sum"].tolist() == [4.5, -7.75]
    assert interpret(module, [X], function="twice")["output0"].tolist() == [2, -4]


class Trace(Listener):
    """What was seen, in order."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[float]]] = []

    def on_arguments(self, function: FuncOp, values: Sequence[Any]) -> None:
        self.seen.extend((f"@{function.sym_name.data}", value.tolist()) for value in values)

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        self.seen.extend((", ".join(map(str, origins_of(op))), value.tolist()) for value in results)


def test_listener_sees_every_value_with_its_provenance() -> None:
    trace = Trace()
    interpret(_module(CALLS), [X, Y], listeners=[trace])
    assert trace.seen == [
        ("@main", [1, -2]),
        ("@main", [0.5, 0.25]),
        ("@twice", [1, -2]),
        ("double", [2, -4]),
        ("", [2, -4]),
        ("@twice", [2, -4]),
        ("double", [4, -8]),
        ("", [4, -8]),
        ("join", [4.5, -7.75]),
    ]


class Alive(Listener):
    """How many results of the operations so far are still held by anybody."""

    def __init__(self) -> None:
        self.results: list[weakref.ref[np.ndarray]] = []
        self.most = 0

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        self.results.extend(weakref.ref(value) for value in results)
        gc.collect()
        self.most = max(self.most, sum(each() is not None for each in self.results))


def test_values_end_with_their_last_use() -> None:
    chain = "\n".join(f"  %{i + 1} = nn.exp %{i} : tensor<2xf32>" for i in range(50))
    module = _module(
        f"func.func @main(%0: tensor<2xf32>) -> tensor<2xf32> {{\n{chain}\n  func.return %50 : tensor<2xf32>\n}}"
    )
    alive = Alive()
    gc.freeze()  # what the process has from other tests is not looked through again after each operation
    interpret(module, [X], listeners=[alive])
    assert len(alive.results) == 50
    assert alive.most <= 3


def test_a_value_outlives_the_region_that_uses_it() -> None:
    module = _module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %low = arith.constant 0 : index
  %high = arith.constant 3 : index
  %step = arith.constant 1 : index
  %y = nn.neg %x : tensor<2xf32>
  %sum = scf.for %i = %low to %high step %step iter_args(%a = %x) -> (tensor<2xf32>) {
    %z = nn.add %y, %y : tensor<2xf32>
    %b = nn.add %a, %z : tensor<2xf32>
    scf.yield %b : tensor<2xf32>
  }
  func.return %sum : tensor<2xf32>
}
""")
    assert interpret(module, [X])["output0"].tolist() == [-5, 10]


def test_symbolic_sizes_agree() -> None:
    module = _module("""
func.func @main(
  %x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["n", ""]},
  %y: tensor<?x2xf32> {nn.name = "y", nn.dims = ["n", ""]}
) -> tensor<?x2xf32> {
  %0 = nn.add %x, %y : tensor<?x2xf32>
  func.return %0 : tensor<?x2xf32>
}
""")
    three, one = np.ones((3, 2), np.float32), np.ones((1, 2), np.float32)
    assert interpret(module, {"x": three, "y": three})["output0"].shape == (3, 2)
    with pytest.raises(
        DiagnosticError, match="dimension 'n' must have one size, but got 1 for input 'y' and 3 for another input"
    ):
        interpret(module, {"x": three, "y": one})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '%0 = "test.unknown"(%x) : (tensor<2xi32>) -> tensor<2xi32> func.return %0 : tensor<2xi32>',
            "'test.unknown' op has no evaluator in the interpreter",
        ),
        (
            '%z = nn.constant dense<0> : tensor<2xi32> %0 = nn.div %x, %z : tensor<2xi32> {origin = "quotient"} '
            "func.return %0 : tensor<2xi32>",
            r"'nn.div' op \(quotient\) cannot be computed: integer division by zero",
        ),
        (
            "%z = nn.constant dense<0> : tensor<2xi32> check.expect_eq %x, %z : tensor<2xi32> "
            "func.return %x : tensor<2xi32>",
            r"'check.expect_eq' op failed at \[0\]: expected 0, but got 5 \(2 of 2 elements differ\)",
        ),
    ],
)
def test_errors_name_the_operation(body: str, message: str) -> None:
    context = ENVIRONMENT.new_context(allow_unregistered=True)
    module = parse_module(context, f"func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {{ {body} }}")
    with pytest.raises(DiagnosticError, match=message):
        interpret(module, [np.array([5, 6], np.int32)])


def test_a_result_of_another_type_is_a_fault_of_the_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _module(CALLS)
    monkeypatch.setattr("qmlir.ir.evaluation.evaluator_of", lambda op: lambda op, *values: (np.zeros(2, np.float64),))
    with pytest.raises(
        DiagnosticError, match="a value of type tensor<2xf32> must be an array of float32, but got float64"
    ):
        interpret(module, [X, Y])


def test_no_such_function() -> None:
    interpreter = Interpreter(_module(CALLS))
    with pytest.raises(DiagnosticError, match=r"unknown function 'other' \(available: main, twice\)"):
        interpreter.call("other", [])
