"""Equations of Einstein sums: their terms, and the shape that they give."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.infer.elementwise import broadcast_shapes

ELLIPSIS = "..."
_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")


@dataclass(frozen=True)
class Equation:
    """The terms of the operands and of the result, without spaces: labels, and `...` at most once in each."""

    operands: tuple[str, ...]
    result: str

    @staticmethod
    def parse(text: str) -> "Equation":
        """Read ONNX's notation. A result that is left out has the ellipsis, then the labels that stand once, sorted."""
        left, arrow, right = text.replace(" ", "").partition("->")
        operands = tuple(left.split(","))
        for term in (*operands, right):
            if _TERM.fullmatch(term) is None:
                raise VerifyException(f"equation term '{term}' must consist of letters and at most one '...'")
        counts = Counter(letter for term in operands for letter in term if letter != ".")
        if not arrow:
            once = sorted(letter for letter, count in counts.items() if count == 1)
            right = (ELLIPSIS if any(ELLIPSIS in term for term in operands) else "") + "".join(once)
        letters = right.replace(ELLIPSIS, "")
        unknown = [letter for letter in letters if letter not in counts]
        if unknown or len(set(letters)) != len(letters):
            raise VerifyException(f"the output term '{right}' must use labels of the inputs, each at most once")
        return Equation(operands, right)

    def __str__(self) -> str:
        return f"{','.join(self.operands)}->{self.result}"

    def shape(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The shape of the result for operands of these shapes."""
        if len(shapes) != len(self.operands):
            raise VerifyException(f"the equation has {len(self.operands)} terms, but the op has {len(shapes)} operands")
        sizes: dict[str, int] = {}
        ellipsis: tuple[int, ...] = ()
        for term, shape in zip(self.operands, shapes, strict=True):
            before, dots, after = term.partition(ELLIPSIS)
            count = len(shape) - len(before) - len(after)
            if count < 0 or (count and not dots):
                raise VerifyException(f"term '{term}' does not match an operand of shape {list(shape)}")
            ellipsis = broadcast_shapes(ellipsis, shape[len(before) : len(before) + count])
            labelled = (*shape[: len(before)], *shape[len(before) + count :])
            for letter, size in zip(before + after, labelled, strict=True):
                sizes[letter] = self._agreed(letter, sizes.get(letter, size), size)
        before, dots, after = self.result.partition(ELLIPSIS)
        return (*(sizes[each] for each in before), *(ellipsis if dots else ()), *(sizes[each] for each in after))

    @staticmethod
    def _agreed(letter: str, known: int, found: int) -> int:
        try:
            return broadcast_shapes((known,), (found,))[0]
        except VerifyException as error:
            raise VerifyException(f"label '{letter}' has two different sizes, {known} and {found}") from error
