"""What the documents point to is there: files, anchors, pages of the map, make targets, paths of the tree."""

import re
from pathlib import Path

import pytest

from tests.support.documents import DOCUMENTS, ROOT, anchors, prose

_LINK = re.compile(r"\]\((?P<file>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
DOCS = ROOT / "docs"

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())


def _broken(path: Path) -> list[str]:
    wrong: list[str] = []
    for found in _LINK.finditer(prose(path)):
        file, anchor = found["file"], found["anchor"]
        if file.startswith(("https://", "http://")):
            continue
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(found[0])
    return wrong


@each_document
def test_links(path: Path) -> None:
    assert _broken(path) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title: `x`\n[a](#a-title-x) [b](#b) [c](page.md#a-title-x) [d](none.md)\n")
    assert _broken(page) == ["](#b)", "](none.md)"]


def test_the_map_has_every_page() -> None:
    """The page of the lab log has the other pages of the log."""
    maps = DOCS / "index.md", DOCS / "lab" / "index.md"
    linked = {(each.parent / found["file"]).resolve() for each in maps for found in _LINK.finditer(prose(each))}
    pages = {path for path in DOCS.rglob("*.md") if path.parent.name not in ("commands", "dialects")}
    assert pages - {DOCS / "index.md"} <= linked


@each_document
def test_make_targets(path: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^\$ )make ([a-z-]+)", path.read_text(), re.MULTILINE)) <= known


@each_document
def test_paths_in_tables(path: Path) -> None:
    cells = re.findall(r"^\| ((?:[^|]*`[\w./]+/`[^|]*)+) \|", path.read_text(), re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`([\w./]+)`", cell)]
    assert [name for name in listed if not (ROOT / name).exists()] == []


@each_document
def test_paths_in_text(path: Path) -> None:
    said = re.findall(r"`((?:qmlir|tests|docs)/[\w./]+)`", path.read_text(encoding="utf-8"))
    assert [name for name in said if not (ROOT / name).exists()] == []


QUESTIONS = {
    "How do I install it?": ("install.md", "pip install ."),
    "Does it run on macOS or Windows?": ("install.md", "macOS"),
    "Is my installation complete?": ("install.md", "qmlir doctor"),
    "I have no data; what now?": ("faq.md#i-have-no-calibration-data", "another tool quantized"),
    "How many samples do I need?": ("calibration-data.md#how-many-and-which", "100 to 500"),
    "How do I calibrate with images?": ("calibration-data.md#images", "--preprocess"),
    "Why does my data have the wrong shape?": ("calibration-data.md#shapes-and-types", "transpose"),
    "What does this message mean?": ("reference/diagnostics.md", "Search this page"),
    "Accuracy is lost: what is the cause?": ("debugging-accuracy.md#1-which-value-compare", "qmlir compare"),
    "How do I win back a little accuracy without training?": ("repairs.md", "--effort"),
    "How do I give one layer 16 bits?": ("recipes.md#common-recipes", 'storage = "i16"'),
    "How do I use 4-bit weights?": ("faq.md#4-bit-weights-ruin-my-model", "block:32"),
    "Why did a layer stay in float?": (
        "reference/diagnostics.md#causes-of-operations-in-float",
        "share of the run time",
    ),
    "How do I keep a layer in float?": ("faq.md#i-want-a-layer-to-stay-in-float", "--exclude"),
    "What does the report show?": ("read-the-report.md", "dead channel"),
    "May the batch size be dynamic?": ("dynamic-shapes.md#any-batch", "batch"),
    "May the sequence length be dynamic?": ("dynamic-shapes.md#any-length", "--max-size"),
    "What happens to an unsupported operator?": ("unsupported-operators.md", "--no-fallback"),
    "My model comes from PyTorch": (
        "faq.md#my-model-is-a-pytorch-tensorflow-or-tflite-model",
        "torch.onnx.export",
    ),
    "My model is already quantized": ("quantized-models.md", "QDQ"),
    "How do I keep the KV cache quantized?": ("quantization.md#one-value-one-type", "--state"),
    "How do I run it on a microcontroller?": ("deploy.md#microcontrollers", "--cpu cortex-m4"),
    "How do I run it in a browser?": ("deploy.md#webassembly", "npm"),
    "How do I export to ONNX?": ("exporting.md", "qmlir export"),
    "How fast is it?": ("performance.md#latency", "ONNX Runtime"),
    "How do I make a program faster?": ("schedules.md#tuning", "qmlir tune"),
    "Why do results differ from ONNX Runtime's?": ("arithmetic.md#where-other-systems-differ", "ties"),
    "How do I fail a CI job if quality drops?": ("quality-gate.md", "--min-sqnr"),
    "How do I fine-tune?": ("finetuning.md", "qmlir finetune"),
    "How do I add my own pass?": ("extending/pass.md", "ModulePass"),
}
"""Questions of readers: where the answer is, and words of it."""


def _section(page: Path, anchor: str) -> str:
    """The section of a page with its subsections, or the whole page; `# file: …` is no heading."""
    text = page.read_text(encoding="utf-8")
    if not anchor:
        return text
    title = next(
        found for found in re.finditer(r"^(#+) (.+)$", text, re.MULTILINE)
        if re.sub(r"[^\w\- ]", "", found[2].lower()).replace(" ", "-") == anchor
    )  # fmt: skip
    return re.split(rf"^#{{1,{len(title[1])}}} (?!file: )", text[title.end() :], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_one_click_from_the_index(question: str) -> None:
    target, words = QUESTIONS[question]
    name, _, anchor = target.partition("#")
    assert f"]({name}" in prose(DOCS / "index.md")
    assert words in _section(DOCS / name, anchor)
