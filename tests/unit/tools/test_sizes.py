"""Which shapes a model is looked at with where the command line leaves sizes open."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module
from qmlir.tools.models import has_open_batch_only, shapes_text, with_one_sample


def module(*inputs: str) -> ModuleOp:
    arguments = ", ".join(f"%{position}: {text}" for position, text in enumerate(inputs))
    text = f"func.func @main({arguments}) {{ func.return }}"
    return parse_module(default_environment().new_context(), text)


A = 'tensor<?x3xf32> {nn.name = "a", nn.dims = ["size", ""]}'
B = 'tensor<4x?xf32> {nn.name = "b", nn.dims = ["", "size"]}'
SEQUENCE = 'tensor<?x?x8xf32> {nn.name = "x", nn.dims = ["length", "batch", ""]}'


def test_a_batch_is_one() -> None:
    function = function_of(module(A, 'tensor<?x2xf32> {nn.name = "c"}', 'tensor<5xf32> {nn.name = "d"}'), "main")
    found = with_one_sample(function, {})
    assert found == {"a": (1, 3), "c": (1, 2)}
    assert shapes_text(found) == "--shape a=1x3 --shape c=1x2"
    assert with_one_sample(function, {"c": (7, 2)}) == {"a": (1, 3), "c": (7, 2)}


def test_a_size_is_that_of_its_name() -> None:
    assert with_one_sample(function_of(module(A, B), "main"), {"a": (6, 3)}) == {"a": (6, 3), "b": (4, 6)}


def test_a_batch_elsewhere_is_known_by_its_name() -> None:
    assert with_one_sample(function_of(module(SEQUENCE), "main"), {}) == {"x": (1, 1, 8)}


@pytest.mark.parametrize(
    ("inputs", "is_batch"),
    [
        (('tensor<?x3xf32> {nn.dims = ["N", ""]}', 'tensor<4xf32> {nn.name = "b"}'), True),
        (('tensor<?x?xf32> {nn.dims = ["batch_size", "length"]}',), False),
        (("tensor<?x3xf32>",), False),  # may be a sequence
        (("tensor<3xf32>",), True),
    ],
)
def test_only_a_batch_is_open(inputs: tuple[str, ...], is_batch: bool) -> None:
    assert has_open_batch_only(function_of(module(*inputs), "main")) is is_batch


def test_other_open_sizes_are_asked_for() -> None:
    function = function_of(module(B), "main")
    with pytest.raises(DiagnosticError, match=r"input 'b' has dynamic dimensions \(4x\?\); fix them with --shape b=…"):
        with_one_sample(function, {})
    with pytest.raises(DiagnosticError, match="no input 'z'"):
        with_one_sample(function, {"z": (1,)})
