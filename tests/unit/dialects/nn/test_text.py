"""What operations on text give. A module holds no text, so no `.mlir` file can state it."""

from typing import Any

import numpy as np
import pytest
from onnx import parser

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.parsing import parse_module


def _text(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.object_)


def _run(operation: str, inputs: str, outputs: str, *values: np.ndarray) -> list[np.ndarray]:
    """The results of one operation on `%0`, `%1`, …"""
    names = ", ".join(f"%{position}: {type_}" for position, type_ in enumerate(inputs.split(", ")))
    count = len(outputs.split(", "))
    results = ", ".join(f"%r{position}" for position in range(count))
    module = parse_module(
        default_environment().new_context(),
        f"func.func @main({names}) -> ({outputs}) {{ {results} = {operation} : ({inputs}) -> ({outputs}) "
        f"func.return {results} : {outputs} }}",
    )
    return list(qmlir.interpret(module, list(values)).values())


NORMALIZED: list[tuple[str, list[str], list[str]]] = [
    ("", ["Übung", "und", "UND"], ["Übung", "und", "UND"]),
    ('{stopwords = ["Und"]}', ["Übung", "und", "UND"], ["Übung"]),
    ('{stopwords = ["UND"], is_case_sensitive = true}', ["Übung", "und", "UND"], ["Übung", "und"]),
    # Stop words are told before the case changes.
    ('{stopwords = ["UND"], is_case_sensitive = true, case_change = "UPPER"}', ["Übung", "und"], ["ÜBUNG", "UND"]),
    ('{stopwords = ["und"], case_change = "LOWER"}', ["Übung", "UND"], ["übung"]),
    ('{stopwords = ["und"]}', ["UND"], [""]),
    ("", [], [""]),
]


@pytest.mark.parametrize(("properties", "given", "expected"), NORMALIZED)
def test_normalizer(properties: str, given: list[str], expected: list[str]) -> None:
    operation = f"nn.string_normalizer %0 {properties}"
    (flat,) = _run(operation, "tensor<?x!nn.string>", "tensor<?x!nn.string>", _text(given))
    np.testing.assert_array_equal(flat, _text(expected), strict=True)
    (row,) = _run(operation, "tensor<1x?x!nn.string>", "tensor<1x?x!nn.string>", _text(given).reshape(1, -1))
    np.testing.assert_array_equal(row, _text([expected]), strict=True)


def test_concat_of_scalars_and_of_nothing() -> None:
    scalar, empty = "tensor<!nn.string>", "tensor<0x!nn.string>"
    (found,) = _run("nn.string_concat %0, %1", f"{scalar}, {scalar}", scalar, _text("a"), _text("b"))
    np.testing.assert_array_equal(found, _text("ab"), strict=True)
    (found,) = _run("nn.string_concat %0, %1", f"{empty}, {scalar}", empty, _text([]), _text("b"))
    np.testing.assert_array_equal(found, _text([]), strict=True)


def test_split() -> None:
    types = "tensor<2x!nn.string>", "tensor<2x?x!nn.string>, tensor<2xi64>"
    parts, counts = _run('nn.string_split %0 {delimiter = ",", max_split = 1}', *types, _text(["a,b,,c", "d"]))
    np.testing.assert_array_equal(parts, _text([["a", "b,,c"], ["d", ""]]), strict=True)
    np.testing.assert_array_equal(counts, np.array([2, 1]), strict=True)
    parts, counts = _run("nn.string_split %0", *types, _text([" a  b ", ""]))
    np.testing.assert_array_equal(parts, _text([["a", "b"], ["", ""]]), strict=True)
    np.testing.assert_array_equal(counts, np.array([2, 0]), strict=True)


def test_comparison_choice_and_movement() -> None:
    pair = "tensor<2x!nn.string>"
    (equal,) = _run("nn.equal %0, %1", f"{pair}, {pair}", "tensor<2xi1>", _text(["a", "b"]), _text(["a", "B"]))
    np.testing.assert_array_equal(equal, np.array([True, False]), strict=True)
    one, other = _text(["a", "b"]), _text(["c", "d"])
    condition = np.array([True, False])
    (chosen,) = _run("nn.where %0, %1, %2", f"tensor<2xi1>, {pair}, {pair}", pair, condition, one, other)
    np.testing.assert_array_equal(chosen, _text(["a", "d"]), strict=True)
    (joined,) = _run("nn.concat %0, %1 {axis = 0}", f"{pair}, {pair}", "tensor<4x!nn.string>", one, other)
    np.testing.assert_array_equal(joined, _text(["a", "b", "c", "d"]), strict=True)
    (turned,) = _run("nn.slice %0 {starts = [1], ends = [-3], steps = [-1]}", pair, pair, _text(["a", "b"]))
    np.testing.assert_array_equal(turned, _text(["b", "a"]), strict=True)
    index = np.array([1, 1, 0])
    (taken,) = _run("nn.gather %0, %1", f"{pair}, tensor<3xi64>", "tensor<3x!nn.string>", _text(["a", "b"]), index)
    np.testing.assert_array_equal(taken, _text(["b", "b", "a"]), strict=True)


def _normalizer_model(attributes: str) -> Any:
    return parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (string[2] x) => (string[n] y) '
        f"{{ y = StringNormalizer <{attributes}> (x) }}"
    )


def test_arrays_of_numpys_strings_are_taken() -> None:
    module = qmlir.load(_normalizer_model('case_change_action: string = "UPPER", locale: string = "en_US"'))
    found = qmlir.interpret(module, [np.array(["a", "bc"])])["y"]
    np.testing.assert_array_equal(found, _text(["A", "BC"]), strict=True)


def test_errors() -> None:
    with pytest.raises(DiagnosticError, match="locale must be en_US, but got 'tr_TR'"):
        qmlir.load(_normalizer_model('locale: string = "tr_TR"'), fallback=False)
    module = qmlir.load(_normalizer_model('case_change_action: string = "NONE"'))
    with pytest.raises(DiagnosticError, match="input 'x' must be object, but got int64"):
        qmlir.interpret(module, [np.array([1, 2])])
    with pytest.raises(DiagnosticError, match="input 'x' must contain only strings"):
        qmlir.interpret(module, [_text(["a", b"b"])])
