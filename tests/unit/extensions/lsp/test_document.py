"""What an editor is told of a text: faults, types and definitions, at the places that the text marks.

A text marks where the cursor is with `|`.
"""

import re
from pathlib import Path

import pytest

from qmlir.extensions.lsp.document import Document
from qmlir.ir.diagnostics import Severity

MODULE = """\
!q = !quant.uniform<i8:f32, 0.5:3>
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<2x!q>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.relu %y : tensor<4xf32> {origin = "relu1"}
  %parts:2 = nn.split %0 {axis = 0, split = [1, 3]} : (tensor<4xf32>) -> (tensor<1xf32>, tensor<3xf32>)
  %1 = func.call @helper(%parts#1) {map = #map} : (tensor<3xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @helper(tensor<3xf32>) -> tensor<4xf32>
"""


def _read(text: str) -> Document:
    return Document.read(text, Path("/nowhere/net.mlir"))


def _at(mark: str, text: str = MODULE) -> tuple[Document, int]:
    """The document, and the position of `|` in `mark`, which stands once in `text` without it."""
    before = mark.index("|")
    assert text.count(mark.replace("|", "")) == 1
    return _read(text), text.index(mark.replace("|", "")) + before


def _shown(document: Document, position: tuple[int, int] | None) -> tuple[int, str] | None:
    """The line, counted from 1, and the text of a place."""
    if position is None:
        return None
    return document.source.count("\n", 0, position[0]) + 1, document.source[slice(*position)]


def test_the_module_of_these_tests_has_no_fault() -> None:
    assert _read(MODULE).diagnostics == []


@pytest.mark.parametrize(
    ("mark", "told", "name"),
    [
        ("nn.relu |%y", "%y : tensor<4xf32>\n```\nargument of 'func.func' op", "%y"),
        ("%x|: ", "%x : tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>\n```\nargument of", "%x"),
        ("nn.split %|0", "%0 : tensor<4xf32>\n```\nresult of 'nn.relu' op (relu1)", "%0"),
        ("%par|ts:2", "%parts : tensor<1xf32>, tensor<3xf32>\n```\nresult of 'nn.split' op", "%parts"),
        ("(%parts|#1)", "%parts : tensor<3xf32>\n```\nresult 1 of 'nn.split' op", "%parts"),
        ("tensor<2x!|q>", "!q = !quant.uniform<i8:f32, 5.000000e-01:3>", "!q"),
        ("map = #m|ap", "#map = affine_map<(d0) -> (d0)>", "#map"),
        ("call @hel|per", "func.func @helper(tensor<3xf32>) -> tensor<4xf32>", "@helper"),
        ("= nn.re|lu", "`nn.relu`\n\n", "nn.relu"),
    ],
)
def test_hover(mark: str, told: str, name: str) -> None:
    document, position = _at(mark)
    found = document.hover(position)
    assert found is not None
    assert told in found[0]
    assert document.source[slice(*found[1])] == name


@pytest.mark.parametrize(
    ("mark", "line", "name"),
    [
        ("nn.relu |%y", 3, "%y"),
        ("|%0 = ", 4, "%0"),
        ("nn.split %0|", 4, "%0"),
        ("(%par|ts#1)", 5, "%parts"),
        ("return %|1", 6, "%1"),
        ("tensor<2x|!q>", 1, "!q"),
        ("map = #|map", 2, "#map"),
        ("call @|helper", 9, "@helper"),
    ],
)
def test_definition(mark: str, line: int, name: str) -> None:
    document, position = _at(mark)
    assert _shown(document, document.definition(position)) == (line, name)


@pytest.mark.parametrize("mark", ["-> tensor<4xf32> |{", "[|1, 3]", "origi|n =", '"rel|u1"'])
def test_elsewhere_there_is_nothing(mark: str) -> None:
    document, position = _at(mark)
    assert document.hover(position) is None
    assert document.definition(position) is None


BLOCKS = """\
func.func @branches(%c: i1) -> i32 {
  "cf.cond_br"(%c, %late)[^one, ^two] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i1, i32) -> ()
^one(%a: i32):
  func.return %a : i32
^two:
  %late = arith.constant 1 : i32
  func.return %late : i32
}
"""


@pytest.mark.parametrize(
    ("mark", "line", "name", "told"),
    [
        ("[^o|ne,", 3, "^one", "^one(i32)"),
        (", ^t|wo]", 5, "^two", "^two()"),
        ("(%c, %l|ate)", 6, "%late", "%late : i32\n```\nresult of 'arith.constant' op"),
        ("return %|a", 3, "%a", "%a : i32"),
    ],
)
def test_blocks_and_names_that_are_used_before_they_are_defined(mark: str, line: int, name: str, told: str) -> None:
    document, position = _at(mark, BLOCKS)
    assert _shown(document, document.definition(position)) == (line, name)
    hover = document.hover(position)
    assert hover is not None
    assert told in hover[0]


LABELS = """\
"func.func"() <{function_type = (f32) -> f32, sym_name = "f"}> ({
// The entry block
^entry(%x: f32):
  "cf.br"(%x)[^next] : (f32) -> ()
^next(%y : f32, %z: !quant.uniform<i8:f32, 0.5>):
  func.return %y : f32
}) : () -> ()
"""


@pytest.mark.parametrize(
    ("mark", "line", "name", "told"),
    [
        ("^ent|ry(", 3, "^entry", "^entry(f32)"),
        ('"(%|x)[', 3, "%x", "%x : f32"),
        ("[^|next]", 5, "^next", "^next(f32, !quant.uniform"),
        ("return %|y", 5, "%y", "%y : f32"),
        (", %|z: ", 5, "%z", "%z : !quant.uniform"),
    ],
)
def test_labels_and_their_arguments(mark: str, line: int, name: str, told: str) -> None:
    document, position = _at(mark, LABELS)
    assert _shown(document, document.definition(position)) == (line, name)
    assert told in (document.hover(position) or ("",))[0]


SAMPLES = sorted((Path(__file__).resolve().parents[3] / "filecheck" / "dialects").rglob("ops*.mlir"))
NAME = re.compile(r'//[^\n]*|"[^"]*"|(?P<name>[%^][\w$.-]+)')


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_name_of_a_sample_has_its_definition(path: Path) -> None:
    document = _read(path.read_text())
    assert document.diagnostics == []
    for found in NAME.finditer(document.source):
        if not found["name"]:
            continue
        position = document.definition(found.start())
        assert position is not None, (_shown(document, found.span()), "has no definition")
        assert document.source[slice(*position)] == found[0]


def test_several_results_in_parentheses() -> None:
    maps = ", ".join(["affine_map<(d0) -> (d0)>"] * 3)
    text = f"""\
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0:2 = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins(%x : tensor<2xf32>) outs(%x, %x : tensor<2xf32>, tensor<2xf32>) {{
  ^bb0(%in: f32, %a: f32, %b: f32):
    linalg.yield %in, %a : f32, f32
  }} -> (tensor<2xf32>, tensor<2xf32>)
  func.return %0#1 : tensor<2xf32>
}}
"""
    document, position = _at("yield %in, %|a", text)
    assert document.diagnostics == []
    assert _shown(document, document.definition(position)) == (4, "%a")


def test_each_function_has_names_of_its_own() -> None:
    text = "func.func @f(%x: f32) { func.return }\nfunc.func @g(%x: i32) -> i32 { func.return %x : i32 }\n"
    document, position = _at("return |%x", text)
    assert _shown(document, document.definition(position)) == (2, "%x")
    assert "%x : i32" in (document.hover(position) or ("",))[0]


FAULTS = """\
func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>  // no
  func.return
}
func.func @g() { func.return }
func.func @g() { func.return }
// -----
func.func @h(%x: f32) -> f32 {
  func.return %nothing : f32
}
// -----
func.func @i(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  %1 = nn.no_such_thing %0
  func.return %1 : f32
}
"""


def test_faults_of_every_part_with_their_places_and_notes() -> None:
    document = _read(FAULTS)
    found = [(_shown(document, each.position), each.diagnostic.message) for each in document.diagnostics]
    assert [position for position, _ in found] == [
        (6, "func.func @g() { func.return }"),
        (2, "%0 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>  // no"),
        (9, "%nothing"),
        (14, "%0"),
    ]
    said = [
        "redefinition of symbol named 'g'",
        "sizes 2 and 3 cannot be broadcast",
        "value %nothing is used but not",
        "",
    ]
    assert all(part in message for part, (_, message) in zip(said, found, strict=True))
    assert {each.diagnostic.severity for each in document.diagnostics} == {Severity.ERROR}
    (note,) = document.diagnostics[0].notes
    assert _shown(document, note.position) == (5, "func.func @g() { func.return }")


def test_what_stands_before_a_fault_is_known() -> None:
    document, position = _at("nn.no_such_thing %|0", FAULTS)
    assert document.definition(position) is None  # the parser did not come so far
    document, position = _at("%|0 = arith.addf", FAULTS)
    assert "%0 : f32" in (document.hover(position) or ("",))[0]


def test_a_value_that_is_not_defined_has_its_type() -> None:
    text = "func.func @main() -> f32 {\n  func.return %nowhere : f32\n}\n"
    document = _read(text)
    assert document.diagnostics
    assert "%nowhere : f32" in (document.hover(text.index("%nowhere")) or ("",))[0]


def test_a_location_in_another_file_is_no_place_of_this_one() -> None:
    text = "func.func @f(%x: tensor<2xf32>) {\n  %0 = nn.add %x, %y : tensor<2xf32>\n  func.return\n}\n".replace(
        "%y : tensor<2xf32>", '%x : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32> loc("model.onnx":70:1)'
    )
    document = _read(text)
    assert [_shown(document, each.position) for each in document.diagnostics] == [(2, text.splitlines()[1].strip())]


@pytest.mark.parametrize(
    "text", ["", "\n", "// -----\n", "func.func", '"', "%", "func.func @f() {", "!a = !a", "\t// é"]
)
def test_any_text_is_a_document(text: str) -> None:
    document = _read(text)
    for position in range(len(text) + 1):
        document.hover(position)
        document.definition(position)
    for each in document.diagnostics:
        assert 0 <= each.position[0] <= each.position[1] <= len(text)


def test_dialects_that_nobody_knows() -> None:
    text = 'func.func @f(%x: f32) -> f32 {\n  %0 = "my.op"(%x) : (f32) -> f32\n  func.return %0 : f32\n}\n'
    assert len(_read(text).diagnostics) == 1
    document = Document.read(text, Path("net.mlir"), allow_unregistered=True)
    assert document.diagnostics == []
    found = document.hover(text.index("%0 :"))
    assert found is not None
    assert "%0 : f32" in found[0]
