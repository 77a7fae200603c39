"""What passes say that they keep: every pass of the tree says it, and one that says nothing keeps every bit."""

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.ir.preservation import EVERY_BIT, MEANING, PRESERVES, ROUNDED, Preservation, preservation_of


@dataclass(frozen=True)
class SilentPass(ModulePass):
    """A pass of a package that has never heard of any of this."""

    name = "silent"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        return


def test_a_pass_that_says_nothing_keeps_every_bit() -> None:
    assert preservation_of(SilentPass()) is EVERY_BIT


@pytest.mark.parametrize("name", list(registry.PASSES))
def test_every_pass_of_the_tree_says_what_it_keeps(name: str) -> None:
    # A property is one whose options say it.
    assert isinstance(getattr(registry.load(registry.PASSES[name]), PRESERVES, None), Preservation | property)


def test_messages_say_it_in_words() -> None:
    assert [str(each) for each in (EVERY_BIT, ROUNDED, MEANING)] == [
        "every bit",
        "integers, and floats to 1e-05",
        "the semantics only",
    ]
