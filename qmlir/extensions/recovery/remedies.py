"""Remedies for accuracy regressions, each tried on the samples that showed the regression before it is suggested.

`find_remedy` spends at most as much time as quantization took. It tries 8 bits instead of fewer, the first bad
operations in float, 16 bits for these operations, 16 bits for all activations, and corrected biases as with effort 1.
It stops at the first remedy that restores agreement with the float model. If the first bad operation is a recurrent
layer, all layers of its operator are tried in float together, as each accumulates errors over all time steps.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from glob import escape
from shlex import quote
from typing import Generic, TypeVar

from qmlir.arithmetic.schemes import Storage
from qmlir.ir.diagnostics import DiagnosticError, printable, revised
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization.recipe_text import table_text
from qmlir.workflows.recovery import Remedies, Remedy, Tried
from qmlir.workflows.validating import Validation

MOST_CAUSES = 3
"""The maximum number of bad operations kept in float together; each is found after the previous one is in float."""

_RECURRENT = ("LSTM", "GRU", "RNN")
"""Recurrent operators, which accumulate errors over all time steps."""

_BITS = 8
"""The bit width that is tried if a smaller one was requested."""


def _excluding(globs: Sequence[str]) -> Remedy:
    rules = [{"node": each, "quantize": False} for each in globs]
    return Remedy(" ".join(f"--exclude {quote(printable(each))}" for each in globs), {}, rules)


def _widening(names: Sequence[str]) -> Remedy:
    rules = [{"node": escape(name), "storage": f"i{2 * _BITS}"} for name in names]
    text = ", ".join(table_text(rule).replace("\n", " ") for rule in rules)
    return Remedy(f"--recipe with {printable(text)}", {}, rules)


_CORRECTING = Remedy("--effort 1", {}, corrects=True)
_WIDE = Remedy(f"--activations i{2 * _BITS}", {"activations": f"i{2 * _BITS}"})


def _wider(options: QuantizeOptions) -> Iterator[Remedy]:
    """Yields remedies that use 8 bits for each option that requests fewer."""
    for name in ("weights", "activations"):
        try:
            is_narrow = Storage.parse(getattr(options, name) or "i8").bits < _BITS
        except ValueError:
            continue  # a float format
        if is_narrow:
            yield Remedy(f"--{name} i8", {name: "i8"})


_Made = TypeVar("_Made")


def find_remedy(
    lost: Validation,
    options: QuantizeOptions,
    attempt: Callable[[Remedy], tuple[_Made, Validation]],
    seconds: float,
    *,
    may_correct: bool,
) -> tuple[Remedies, _Made | None]:
    """Tries remedies for an accuracy regression; returns all attempts and the result of `attempt` for the best one.

    Args:
        lost: The comparison that shows the regression.
        options: The options that caused it.
        attempt: Quantizes again under a remedy, and compares on the same samples.
        seconds: No remedy is started that would likely end later.
        may_correct: Whether `attempt` can correct biases.
    """
    trials = _Trials(attempt, time.monotonic() + seconds)
    _ = trials.cured(lost, options, may_correct=may_correct)
    found = Remedies(lost, tuple(trials.tried))
    best = found.best
    return found, None if best is None else trials.made[trials.tried.index(best)]


@dataclass
class _Trials(Generic[_Made]):
    """The remedies tried so far, and their results."""

    attempt: Callable[[Remedy], tuple[_Made, Validation]]
    end: float
    """The deadline, in seconds of `time.monotonic`."""

    longest: float = 0.0
    tried: list[Tried] = field(default_factory=list[Tried])
    made: list[_Made] = field(default_factory=list[_Made])

    def cured(self, lost: Validation, options: QuantizeOptions, *, may_correct: bool) -> bool:
        """Tries remedies, the most certain first, until one restores agreement; returns true if one did.

        If only a few predicted classes change and no output has degraded, only biases are corrected, as wider types
        would cost run time.
        """
        if not lost.faults:
            return may_correct and self._cures(_CORRECTING)
        if any(map(self._cures, _wider(options))):
            return True
        names: list[str] = []
        globs: list[str] = []
        cause = lost.cause
        for _ in range(MOST_CAUSES):
            if cause is None or not (more := [each for each in cause.nodes if each not in names]):
                break
            names += more
            globs += [cause.op_type] if cause.op_type in _RECURRENT else map(escape, more)
            count = len(self.tried)
            if self._cures(_excluding([*globs])):
                return True
            cause = self.tried[-1].validation.cause if len(self.tried) > count else None
        others = [*([_widening(names)] if names else []), _WIDE, *([_CORRECTING] if may_correct else [])]
        return any(map(self._cures, others))

    def _cures(self, remedy: Remedy) -> bool:
        """Tries a remedy, unless time is too short, or the model or its target rejects the remedy."""
        start = time.monotonic()
        if self.tried and start + self.longest > self.end:
            return False
        try:
            with revised(lambda _: None):  # already reported for the first result
                made, validation = self.attempt(remedy)
        except DiagnosticError:
            return False
        self.longest = max(self.longest, time.monotonic() - start)
        self.made.append(made)
        self.tried.append(Tried(remedy, validation))
        return self.tried[-1].cures
