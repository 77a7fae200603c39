"""The measured figures of README and pages: each has one value, in `docs/results`, and pages show that one alone."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from docs.generator import results as generator
from docs.generator.results import Caption, Fact, Measurement, Results, rendered, text_of
from tests.support.documents import ROOT

RESULTS = Results.of()
UNITS = {"calls", "", "%", "KiB", "MiB", "dB", "ms", "points", "s", "us", "x"}

PAGES = [path for path in generator.pages() if "lab" not in path.parts]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
RESULT_PAGES = {f"docs/{name}.md" for name in ("performance", "accuracy", "models", "comparison")}

_MODELS = re.compile(
    r"ResNet|MobileNet|SqueezeNet|EfficientNet|MiniLM|BERT|\bViT\b|\bDETR\b|\bSwin\b|Whisper|Llama|\bGPT\b|PP-OCR|Silero"
    r"|U-?Net|YOLO|[Dd]igits (?:MLP|CNN|LSTM|GRU)|\b(?:MLP|LSTM|GRU) \d"
)
_NUMBER = r"-?\d[\d,.]*(?: to | and |[–-])?[\d.]*"
_FIGURE = re.compile(
    rf"(?<![\w.`-]){_NUMBER}(?: ?(?:%|x\b)| (?:ns|us|µs|ms|s|seconds?|minutes?|dB|decibels?|points?|[KMG]i?B|kB)\b)"
    rf"|\b(?:cosine|recall@1|top-1|perplexity)(?: of| is|:)? {_NUMBER}"
)
_BOUND = re.compile(r"(?:(?:less|more|fewer) than|at (?:most|least)|within|below|above|up to|under) $")
"""Words before a number that is a limit, not a measurement."""


def passages(text: str) -> Iterator[str]:
    """The paragraphs, items and table rows of a page, without its code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return filter(None, (" ".join(each.split()) for each in re.split(r"\n\n|\n(?=[-*|#])", text)))


def strays(text: str, *, is_of_results: bool) -> list[str]:
    """The measured figures of a page that `docs/results` does not hold: those of a named model, or all."""
    return [
        found[0]
        for passage in passages(generator.without_results(text))
        if is_of_results or _MODELS.search(passage)
        for found in _FIGURE.finditer(passage)
        if not _BOUND.search(passage[: found.start()])
    ]


def test_a_file_has_a_caption_and_rows() -> None:
    assert RESULTS.measurements
    for each in RESULTS.measurements:
        assert each.caption.cpu
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", each.caption.date)
        assert re.match(r"(python -m benchmarks\.|make |qmlir )", each.caption.command)
        assert each.facts
        for fact in each.facts:
            assert fact.unit in UNITS
            assert (fact.low is None) == (fact.high is None)
            if fact.low is not None and fact.high is not None:
                assert fact.low <= fact.figure <= fact.high


def test_every_fact_has_one_value() -> None:
    titles = Counter(fact.title for each in RESULTS.measurements for fact in each.facts)
    assert [title for title, count in titles.items() if count > 1] == []


def test_pages_show_the_figures_of_the_files() -> None:
    differing = [name for name, text in TEXTS.items() if rendered(text, RESULTS) != text]
    assert differing == [], "python -m docs.generator.results"


def test_pages_show_no_other_figures() -> None:
    found = {name: strays(text, is_of_results=name in RESULT_PAGES) for name, text in TEXTS.items()}
    assert {name: each for name, each in found.items() if each} == {}


def test_the_marker_of_a_figure_does_not_begin_a_line() -> None:
    """Markdown takes such a line for a block of HTML."""
    begun = re.compile(r"^ *<!-- /?figure.*", re.MULTILINE)
    assert [each for text in TEXTS.values() for each in begun.findall(text)] == []


def test_every_file_is_shown() -> None:
    shown = [generator.named(path.read_text(encoding="utf-8")) for path in generator.pages()]
    names = {name for on_page, _ in shown for name in on_page}
    titles = {title for _, on_page in shown for title in on_page}
    known = generator.tables(RESULTS)
    assert names == known.keys()
    texts = "".join(table.text(RESULTS) for table in known.values())
    for each in RESULTS.measurements:
        assert any(fact.title in titles for fact in each.facts) or list(each.caption.lines())[1] in texts, each.name


@pytest.mark.parametrize(
    ("figure", "unit", "text"),
    [
        (0.8, "x", "1.2x faster"), (0.802, "x", "1.25x faster"), (0.123456, "x", "8.1x faster"),
        (1.03, "x", "1.03x slower"), (1.0, "x", "equally fast"), (9.514, "us", "9.51 µs"), (1286.4, "ms", "1286 ms"),
        (11.0, "s", "11 s"), (38.04, "dB", "38.0 dB"), (-0.04, "dB", "0.0 dB"), (98.333, "%", "98.33%"),
        (100.0, "%", "100%"), (0.9982, "", "0.998"), (34, "", "34"), (-0.5, "points", "-0.5"),
    ],
)  # fmt: skip
def test_figures_are_written_with_their_unit(figure: float, unit: str, text: str) -> None:
    assert text_of(Fact("a", "b", figure, unit)) == text


def test_a_table_has_its_caption() -> None:
    caption = Caption("Z80", 2, {"onnxruntime": "1.31", "numba": "0.68"}, "2026-01-02", "make zoo", "idle")
    facts = [
        Fact("m", "top-1, float", 90.0, "%"), Fact("m", "top-1, qmlir", 89.75, "%"),
        Fact("n", "SQNR, qmlir", 20.0, "dB"), Fact("n", "time over the fastest peer in int8", 0.5, "x"),
    ]  # fmt: skip
    results = Results([Measurement("zoo", caption, facts)])
    page = "a\n<!-- results zoo -->\nold\n<!-- /results -->\nb <!-- figure m: top-1, qmlir --><!-- /figure --> c\n"
    found = rendered(page, results)
    assert "| `m`, top-1 | 90% | 89.75% | – | – | – |\n| `n`, SQNR | – | 20.0 dB | – | – | 2x faster |\n" in found
    assert "\n\n- Z80, 2 threads; ONNX Runtime 1.31, numba 0.68; 2026-01-02\n- idle; `make zoo`\n<!-- /" in found
    assert found.endswith("b <!-- figure m: top-1, qmlir -->89.75%<!-- /figure --> c\n")
    assert rendered(found, results) == found
    with pytest.raises(KeyError, match="m: top-5"):
        rendered(page.replace("top-1", "top-5"), results)


def test_strays_are_found() -> None:
    shown = "<!-- figure resnet50: qmlir int8, exact -->17.4 ms<!-- /figure -->"
    assert strays(f"ResNet-50 takes {shown}.\n", is_of_results=True) == []
    for text, stray in (
        ("ResNet-50 takes 17 ms.", "17 ms"), ("MiniLM keeps\na cosine of 0.99", "cosine of 0.99"),
        ("| ViT | 29.0 dB |", "29.0 dB"), ("- The digits CNN: 99.4%", "99.4%"), ("Swin is 1.3x faster", "1.3x"),
        ("BERT has 12 to 14 dB", "12 to 14 dB"),
    ):  # fmt: skip
        assert strays(f"A page.\n\n{text}\n", is_of_results=False) == [stray]
    for text in ("At 20 dB the error is a tenth.", "ResNet-50 differs in less than 1%", "```\nViT 12 dB\n```"):
        assert strays(text, is_of_results=False) == []
    assert strays("At 20 dB the error is a tenth.", is_of_results=True) == ["20 dB"]
