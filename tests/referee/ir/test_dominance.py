"""Dominance against upstream MLIR, on random graphs of blocks with regions nested in them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module
from tests.support.upstream import needs_mlir_opt, run_each

pytestmark = [pytest.mark.referee, needs_mlir_opt]

COUNT = 3000
ENVIRONMENT = default_environment()


@dataclass
class Generator:
    """Writes one random function, on one line; an operand is any value of its region or of one around it."""

    random: random.Random
    numbers: Iterator[int] = field(default_factory=count)

    def function(self) -> str:
        body = self._region(["%x"], depth=0, arguments="(%c: i1, %x: i32)", end='"func.return"() : () -> ()')
        return f'"func.func"() <{{function_type = (i1, i32) -> (), sym_name = "f"}}> ({{{body}}}) : () -> ()'

    def _region(self, around: list[str], depth: int, arguments: str, end: str) -> str:
        blocks = self.random.choice((1, 1, 2, 3, 4, 6) if depth == 0 else (1, 1, 2, 3))
        layout = [[f"%{next(self.numbers)}" for _ in range(self.random.randrange(3))] for _ in range(blocks)]
        labels = [f"^b{next(self.numbers)}" for _ in layout]
        visible = around + [value for block in layout for value in block]
        texts: list[str] = []
        for number, (label, values) in enumerate(zip(labels, layout, strict=True)):
            lines = [self._operation(value, visible, depth) for value in values]
            lines.append(self._terminator(labels, end))
            texts.append(f"{label}{arguments if number == 0 else ''}: {' '.join(lines)}")
        return " ".join(texts)

    def _operation(self, value: str, visible: list[str], depth: int) -> str:
        # Values made early are likely to be visible everywhere: a mix of accepted and refused modules.
        left, right = (self.random.choice(visible[: self.random.randint(1, len(visible))]) for _ in range(2))
        text = f"{value} = arith.addi {left}, {right} : i32"
        if depth < 2 and self.random.random() < 0.2:
            body = self._region(visible, depth + 1, "", '"scf.yield"() : () -> ()')
            text += f' "scf.execute_region"() ({{{body}}}) : () -> ()'
        return text

    def _terminator(self, labels: list[str], end: str) -> str:
        targets = labels[1:] if self.random.random() < 0.98 else labels
        if not targets or self.random.random() < 0.25:
            return end
        if self.random.random() < 0.5:
            return f"cf.br {self.random.choice(targets)}"
        return f"cf.cond_br %c, {self.random.choice(targets)}, {self.random.choice(targets)}"


def _accepts(source: str) -> bool:
    try:
        verify(parse_module(ENVIRONMENT.new_context(), source))
    except DiagnosticError:
        return False
    return True


def test_accepts_what_upstream_accepts() -> None:
    r = random.Random(2026)
    sources = [Generator(r).function() for _ in range(COUNT)]
    upstream = [accepted for accepted, _ in run_each(sources)]
    assert COUNT // 5 < sum(upstream) < COUNT * 4 // 5
    assert [source for source, accepted in zip(sources, upstream, strict=True) if accepted != _accepts(source)] == []
