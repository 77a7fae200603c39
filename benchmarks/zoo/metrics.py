"""How good outputs are, one number a metric, the larger the better: of a task with labels, or of noise alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qmlir.workflows.comparison.errors import ErrorSums

Array = npt.NDArray[Any]
Outputs = Sequence[Mapping[str, Array]]
"""Of each judged sample, by name."""


def _first(outputs: Outputs) -> Array:
    return np.stack([next(iter(each.values())) for each in outputs])


def _class(outputs: Outputs, labels: Array) -> float:
    """The share of samples whose largest score is that of their class."""
    return float((_first(outputs).reshape(len(labels), -1).argmax(-1) == labels).mean())


def _label(outputs: Outputs, labels: Array) -> float:
    """The share of samples whose label is right."""
    return float((_first(outputs).reshape(-1) == labels).mean())


def _distance(found: Sequence[int], wanted: Sequence[int]) -> int:
    """The fewest insertions, deletions and changes between two texts (Levenshtein)."""
    row = list(range(len(wanted) + 1))
    for position, each in enumerate(found, 1):
        before, row[0] = row[0], position
        for column, other in enumerate(wanted, 1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (each != other))
    return row[-1]


def _characters(outputs: Outputs, labels: Array) -> float:
    """1 less the rate of wrong characters; a text is the best class of each place, without repeats and 0s."""
    wrong = total = 0
    for scores, label in zip(_first(outputs), labels, strict=True):
        best = scores.reshape(-1, scores.shape[-1]).argmax(-1)
        found = [int(each) for each, before in zip(best, [0, *best], strict=False) if each and each != before]
        wanted = [int(each) for each in label if each]
        wrong += _distance(found, wanted)
        total += len(wanted)
    return 1 - wrong / total


def _pixels(outputs: Outputs, labels: Array) -> float:
    """The F1 score of pixels above 0.3, which PP-OCR takes, against those of the lines of text."""
    found = _first(outputs).reshape(labels.shape) > 0.3
    return 2 * float((found & labels).sum()) / float(found.sum() + labels.sum())


def _voice(outputs: Outputs, labels: Array) -> float:
    """The share of windows in which a probability above 0.5 says rightly whether there is a voice."""
    return float(((_first(outputs).reshape(-1) > 0.5) == labels.reshape(-1)).mean())


def _retrieval(outputs: Outputs, labels: Array) -> float:
    """The share of questions, the first half, whose nearest text of the second half is the one that belongs to them."""
    questions, texts = np.split(_first(outputs).reshape(len(outputs), -1), 2)
    return float(((questions @ texts.T).argmax(1) == np.arange(len(questions))).mean())


@dataclass(frozen=True)
class Metric:
    """A metric, and what a table calls it."""

    title: str
    measure: Callable[[Outputs, Array], float] | None = None
    """Of outputs and labels; of random weights, noise against the float model is measured alone."""


METRICS: Mapping[str, Metric] = {
    "sqnr": Metric("SQNR"),
    "class": Metric("top-1", _class),
    "label": Metric("accuracy", _label),
    "characters": Metric("characters", _characters),
    "pixels": Metric("F1 of pixels", _pixels),
    "voice": Metric("windows", _voice),
    "retrieval": Metric("recall@1", _retrieval),
}
"""The metrics by name."""


def score(metric: str, outputs: Outputs, labels: Array | None) -> float | None:
    """The figure of a task, or none for a metric that has no task."""
    measure = METRICS[metric].measure
    if measure is None:
        return None
    return measure(outputs, np.zeros(0) if labels is None else labels)


def decibels(outputs: Outputs, exact: Outputs) -> float | None:
    """The smallest signal-to-noise ratio of the float outputs whose sizes do not depend on data; none without any."""
    sums: dict[str, ErrorSums] = {}
    for found, wanted in zip(outputs, exact, strict=True):
        for (name, array), other in zip(wanted.items(), found.values(), strict=True):
            if array.dtype.kind not in "iub" and array.size:
                each = sums.setdefault(name, ErrorSums())
                if array.shape == other.shape:
                    each.add(array, other)
                else:
                    each.elements = -len(outputs) * max(array.size, 1)  # its size depends on data
    figures = [each.sqnr_db for each in sums.values() if each.elements > 0]
    return min(figures) if figures else None
