"""Expressions of the emitted code: sums of indices with their numbers folded, names that are not taken."""

import pytest

from qmlir.targets.cpu.emitters.writing import Index, Names, Text, name_text

ROW, COLUMN = Index.of(name_text("i")), Index.of(name_text("j"))
SUM = Index.of(Text("i ^ j", frozenset("ij"), is_atom=False))


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (Index(), "0"),
        (Index(constant=-3), "-3"),
        (ROW, "i"),
        (ROW.times(3).plus(COLUMN).plus(Index(constant=5)), "i*3 + j + 5"),
        (ROW.plus(COLUMN.times(-1)).plus(Index(constant=-2)), "i - j - 2"),
        (ROW.times(-4), "-i*4"),
        (ROW.plus(ROW).times(2), "i*4"),
        (ROW.plus(ROW.times(-1)), "0"),
        (SUM.times(8), "(i ^ j)*8"),
    ],
)
def test_sums(index: Index, text: str) -> None:
    assert str(index) == text
    assert eval(text, {"i": 7, "j": 9}) == eval(str(index), {"i": 7, "j": 9})


def test_names() -> None:
    names = Names(("load",))
    assert [names.new(hint) for hint in ("x", "x", "load", "for", "3", "a.b", "größe")] == [
        "x", "x_2", "load_2", "for_2", "v3", "a_b", "gr_e",
    ]  # fmt: skip
