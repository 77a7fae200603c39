"""The reference pages are what the code says, and the matrix of operations explains each of its holes."""

import dataclasses
import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import qmlir
from docs.generator import pages
from docs.generator.commands import examples_of, page_of, parsers
from docs.generator.diagnostics import Message, printed
from docs.generator.importers import operators_by_operation
from docs.generator.markdown import GENERATED
from docs.generator.operations import COLUMNS, ends_in_an_error, faults, matrix
from docs.generator.python import RESULTS, Docstring, Member, every_member
from docs.generator.reasons import REASONS
from qmlir import registry
from qmlir.ir import interfaces
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.float_reasons import FloatCause
from qmlir.pipelines import PIPELINES
from qmlir.registry.contribution import FIELDS
from qmlir.registry.package import GROUPS
from qmlir.tools.stdio import metavar_of
from tests.support.documents import ROOT, anchors

TESTS = ROOT / "tests"
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return pages(TESTS)


def test_pages_are_what_the_code_says(generated: dict[str, str]) -> None:
    there = {path.relative_to(REFERENCE).as_posix(): path.read_text("utf-8") for path in REFERENCE.rglob("*.md")}
    assert sorted(name for name, text in there.items() if text.startswith(GENERATED)) == sorted(generated)
    wrong = [name for name, text in generated.items() if there[name] != text]
    assert wrong == [], "python -m docs.generator docs/reference"


@pytest.mark.parametrize("dialect", sorted(registry.DIALECTS))
def test_every_operation_has_a_section_with_an_example(dialect: str, generated: dict[str, str]) -> None:
    page = generated[f"dialects/{dialect}.md"]
    for operation in registry.load(registry.DIALECTS[dialect]).operations:
        section = page.partition(f"\n### `{operation.name}`\n")[2].partition("\n### ")[0]
        assert f"{operation.name}" in section.partition("```text\n")[2]


def test_every_pass_and_pipeline_has_a_section(generated: dict[str, str]) -> None:
    for name in registry.PASSES:
        assert f"\n### `{name}`\n" in generated["passes.md"]
    for name in PIPELINES:
        assert f"\n### The pipeline `{name}`\n" in generated["passes.md"]


def test_every_command_has_a_page_with_examples(generated: dict[str, str]) -> None:
    """Each argument is in a table of the page, or on the page of shared options, to which the page links."""
    shared = generated["commands/shared-options.md"]
    assert shared.count("| `--limit NAME=N` |") == shared.count("| `--shape ") == 1
    for parser in parsers():
        page = generated[f"commands/{page_of(parser)}"]
        assert f"\n# `{parser.prog}`\n" in page
        assert len(examples_of(parser)) == 2
        assert all(example.startswith(parser.prog) and example in page for example in examples_of(parser))
        for action in parser.actions:
            name = action.option_strings[0] if action.option_strings else metavar_of(action)
            rows = [line for line in page.splitlines() if f"`{name} " in line or f"`{name}`" in line]
            assert name == "-h" or rows, f"{parser.prog} {name}"
            assert name == "-h" or rows[0].startswith("|") or f"| `{name}" in shared


def _stage_and_pass(point: str) -> tuple[str, ...]:
    """`compile.fuse` and `kernel-narrow` of `compile.fuse.kernel-narrow.after`."""
    pipeline, stage, *step = point.split(".")[:-1]
    return (f"{pipeline}.{stage}", *step)


def test_every_extension_point_stands_on_its_page(generated: dict[str, str]) -> None:
    page = generated["extension.md"]
    classes = vars(interfaces).values()
    abstract = [each for each in classes if inspect.isabstract(each) and each.__module__ == interfaces.__name__]
    assert abstract
    points = {part for each in PIPELINES.values() for point in each.points() for part in _stage_and_pass(point)}
    for name in (*GROUPS, *FIELDS, *points, *(each.__name__ for each in abstract)):
        assert f"`{name}`" in page


def test_holes_and_reasons_agree() -> None:
    cells = matrix(TESTS)
    assert list(faults(cells)) == []
    assert set(REASONS) <= set(COLUMNS)


def test_a_hole_without_a_reason_is_a_fault_and_so_is_a_reason_without_a_hole() -> None:
    cells = matrix(TESTS)
    cells["nn.relu"]["lower"] = ""
    cells["nn.unique"]["lower"] = "yes"
    assert list(faults(cells)) == [
        "nn.relu has nothing for 'lower', and no reason says why",
        "a reason says why nn.unique has nothing for 'lower', but it is not a hole",
    ]


def test_importers_are_read_from_their_code() -> None:
    named = {operation.name: operators for operation, operators in operators_by_operation().items()}
    assert named["nn.leaky_relu"] == ("LeakyRelu", "com.microsoft::QLinearLeakyRelu")
    assert named["nn.max_pool_with_indices"] == ("MaxPool", "com.microsoft::NhwcMaxPool")
    assert {"Gemm", "Sum", "Mean"} <= set(named["nn.add"])
    assert "Relu" not in named["nn.add"]


@pytest.mark.parametrize("model", ["digits_cnn.onnx", "digits.onnxtxt"])
def test_importers_add_what_an_import_shows(model: str) -> None:
    module = qmlir.load(ROOT / "docs" / "examples" / model)
    shown = {(type(op), op.attributes["op_type"].data) for op in module.walk() if "op_type" in op.attributes}
    assert shown
    assert all(operator in operators_by_operation()[operation] for operation, operator in shown)


def test_a_lowering_that_only_refuses_is_none() -> None:
    def refuses(op: object) -> object:
        raise ValueError(op)

    assert ends_in_an_error(refuses)
    assert not ends_in_an_error(lambda op: op)


PYTHON = {each.name: each for each in every_member()}
CALLABLES = [name for name, each in PYTHON.items() if each.is_callable]
OTHERS = {
    "Any", "AnyLength", "Array", "CompiledModule", "DictionaryAttr", "Iterator", "LearnedWeight", "ModelProto",
    "ModuleOp", "None",
}  # fmt: skip
"""Types of results that the page does not describe. Loaded programs are called as `Program` is."""

EXAMPLES = [name for name, each in PYTHON.items() if each.docstring.example]


def test_the_python_page_has_every_name_and_every_class_that_functions_return() -> None:
    assert {name.removeprefix("qmlir.") for name in PYTHON if name.startswith("qmlir.")} == set(qmlir.__all__)
    classes = {each.subject.__name__ for each in PYTHON.values() if inspect.isclass(each.subject)}
    returned = {word for name in CALLABLES for word in re.findall(r"[A-Z]\w+", PYTHON[name].result)} - OTHERS
    assert len(returned) > 10
    assert returned <= classes


@pytest.mark.parametrize("name", PYTHON)
def test_every_name_is_documented(name: str) -> None:
    summary = PYTHON[name].docstring.text.partition("\n\n")[0]
    assert len(summary.split()) >= 3, f"{name}: write a sentence"
    assert summary.endswith((".", "`"))


@pytest.mark.parametrize("name", CALLABLES)
def test_every_argument_and_result_is_documented(name: str) -> None:
    member = PYTHON[name]
    found = member.docstring
    assert list(found.entries("Args")) == list(member.parameters)
    assert bool(found.returns) == (member.result != "None")
    assert not name.startswith("qmlir.") or found.example


def test_missing_sections_are_found() -> None:
    def function(first: int, second: int = 0) -> int:
        """Add.

        Args:
            first: One number,
                on two lines.

        Raises:
            ValueError: Never: not at all.
        """
        return first + second

    found = Member("function", function)
    assert found.docstring == Docstring.of(function)
    assert found.docstring.entries("Args") == {"first": "One number, on two lines."}
    assert found.docstring.entries("Raises") == {"ValueError": "Never: not at all."}
    assert (found.docstring.returns, found.docstring.example) == ("", "")
    assert found.parameters == {"first": "int", "second": "int"}
    assert (found.result, found.signature) == ("int", "function(first, second=0)")


def test_fields_are_read_from_the_source() -> None:
    for each in RESULTS:
        if dataclasses.is_dataclass(each):
            public = [name for name in vars(each).get("__annotations__", ()) if not name.startswith("_")]
            assert [name for name in public if f"{each.__name__}.{name}" not in PYTHON] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    names = {"np": np, "qmlir": qmlir}
    test = doctest.DocTestParser().get_doctest(PYTHON[name].docstring.example, names, name, None, 0)
    said: list[str] = []
    done = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert test.examples
    assert done.failed == 0, "".join(said)


def test_every_cause_of_a_float_operation_has_its_anchor() -> None:
    assert {cause.anchor for cause in FloatCause} <= set(anchors(REFERENCE / "diagnostics.md"))


def test_messages_are_printed_as_the_code_has_them() -> None:
    file = "text/writing.py"
    assert printed(Message("", file, "already exists: …", "")) == "'…' already exists: …; move it, or …"
    for part in ("no such words", "cannot write"):  # nowhere, and in several messages
        with pytest.raises(DiagnosticError, match="must be in one string"):
            printed(Message("", file, part, ""))
