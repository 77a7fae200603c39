"""Results show themselves as their text, at a prompt and in a notebook, and none as a dump of its fields."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

import qmlir
from qmlir.text.tables import LAST, MOST, Readable


@dataclass(frozen=True, repr=False)
class Numbered(Readable):
    count: int

    def text(self) -> str:
        return "".join(f"<{position}>\n" for position in range(self.count))


def subclasses(of: type) -> Iterator[type]:
    for each in of.__subclasses__():
        yield each
        yield from subclasses(each)


def test_short_text_is_shown_whole_and_escaped_as_html() -> None:
    assert repr(Numbered(2)) == "<0>\n<1>"
    assert Numbered(2)._repr_html_() == "<pre>&lt;0&gt;\n&lt;1&gt;</pre>"


@pytest.mark.parametrize("more", [0, 1, 100])
def test_long_text_is_shown_by_its_ends(more: int) -> None:
    lines = repr(Numbered(MOST + more)).splitlines()
    assert lines[0] == "<0>"
    assert lines[-LAST:] == [f"<{MOST + more - LAST + position}>" for position in range(LAST)]
    assert len(lines) == (MOST + 1 if more else MOST)
    assert not more or lines[MOST - LAST] == f"… {more} more lines, which print(….text()) shows"


def test_what_does_not_print_is_escaped() -> None:
    class Named(Readable):
        def text(self) -> str:
            return "\x1b[31mred\n"

    assert repr(Named()) == "\\u001b[31mred"


def test_every_result_of_the_api_is_shown_so() -> None:
    for name in qmlir.__all__:
        getattr(qmlir, name)  # loads the module that it is in
    found = {each.__name__: each for each in subclasses(Readable) if each.__module__.startswith("qmlir.")}
    results = (
        "Comparison", "Coverage", "Explanation", "Finetuned", "HybridProgram", "Inspection", "Partitioned",
        "PartitionReport", "Profile", "Program", "QuantizationSummary", "Quantized", "Repair", "Report",
        "SearchResult", "Trainable", "TuneResult", "Validation",
    )  # fmt: skip
    assert set(results) <= set(found)
    assert [name for name, each in found.items() if each.__repr__ is not Readable.__repr__] == []
