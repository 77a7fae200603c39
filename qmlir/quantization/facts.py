"""What a rule of a recipe may ask about a value besides its place in the model: a line a fact."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.ir.interfaces import Slot
from qmlir.quantization.amplified import amplified_results
from qmlir.quantization.faint import faint_results
from qmlir.quantization.given import given_in_part
from qmlir.quantization.residual import residual_results
from qmlir.quantization.roots import read_by_roots, squares_for_roots
from qmlir.quantization.scores import coarse_scores
from qmlir.quantization.tables import readers_of_tables
from qmlir.quantization.uneven import uneven_results


@dataclass(frozen=True)
class Fact:
    """Something that is so of some values of a function."""

    slots: tuple[Slot, ...]
    """The slots in which an operation has such a value."""

    found: Callable[[FuncOp], Set[Operation]] | None = None
    """The operations of a function that have one, by what is computed there and by the recorded statistics; `None` if
    other choices of the recipe count, too."""


FACTS: Mapping[str, Fact] = {
    "residual": Fact((Slot.OUTPUT,), residual_results),
    "low_sqnr_softmax": Fact((Slot.OUTPUT,), faint_results),
    "wide_logits": Fact((Slot.OUTPUT,), coarse_scores),
    "sqrt_operand": Fact((Slot.OUTPUT,), read_by_roots),
    "sqrt_square": Fact((Slot.OUTPUT,), squares_for_roots),
    "underused_output": Fact((Slot.OUTPUT,), given_in_part),
    "mixed_range_concat": Fact((Slot.OUTPUT,), uneven_results),
    "low_sqnr_depthwise": Fact((Slot.OUTPUT,), amplified_results),
    "fed_back": Fact((Slot.OUTPUT,)),
    "edge": Fact((Slot.INPUT, Slot.WEIGHT, Slot.OUTPUT)),
    "embedding": Fact((Slot.WEIGHT,), readers_of_tables),
}
"""The facts, by the keys that rules have for them (`docs/recipes.md` says what each is)."""
