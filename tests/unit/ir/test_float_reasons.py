"""The list of causes: one anchor, one sentence and one action each, and no text written elsewhere."""

import ast
from pathlib import Path

from qmlir.ir.float_reasons import FloatCause

SOURCES = Path(__file__).resolve().parents[3] / "qmlir"


def test_causes_are_told_apart_and_end_like_messages() -> None:
    assert len({cause.anchor for cause in FloatCause}) == len({cause.text for cause in FloatCause}) == len(FloatCause)
    for cause in FloatCause:
        for text in (cause.text, cause.action):
            assert text == text.strip(" .;"), cause
            assert ";" not in text, cause  # it would look like the start of the action
        assert cause.explanation.endswith("."), cause
    assert FloatCause.NAN.reason() == f"{FloatCause.NAN.text}; help: {FloatCause.NAN.action}"
    assert FloatCause.NO_OPERAND_RANGE.reason(value="%x").startswith("operand %x has no calibrated range; help: ")
    assert FloatCause.TOO_MANY_OPERANDS.reason(most=2, count=3).endswith("supported, but it has 3")


def _names(tree: ast.AST) -> set[str]:
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {node.attr for node in found if isinstance(node.value, ast.Name) and node.value.id == "FloatCause"}


def test_every_cause_is_given_somewhere() -> None:
    used = set[str]().union(*(_names(ast.parse(path.read_text())) for path in SOURCES.rglob("*.py")))
    assert used == {cause.name for cause in FloatCause}


def test_operations_take_their_reason_from_the_list() -> None:
    """A `float_reason` that returns a string of its own would not be on the page of causes."""
    for path in (SOURCES / "dialects").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name == "float_reason":
                returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
                assert not any(isinstance(each, ast.Constant | ast.JoinedStr) for each in returned), (path, node.lineno)
