"""The errors of one output of a quantized model over several samples, and whether the output still agrees.

The decision uses the differences between samples (see `comparison.errors`), for the median sample and for the worst
quarter of the samples. With a ratio of sums over all samples, a single degraded sample with large outputs would decide,
and a median does not reflect the worse half of the samples.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.elementwise.ops import BinaryOp, UnaryOp
from qmlir.dialects.nn.movement.ops import ConcatOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import printable
from qmlir.quantization.predicates import computed_operands
from qmlir.workflows.comparison.errors import Ratios, TopOne, are_events, lost_places, misplaced, ratios_of, thinned

MIN_SQNR = 10.0
"""The default SQNR about 0, in dB, below which an output counts as degraded. At 10 dB, the error is a third of the
signal, and the cosine is about 0.95. The digits models predict the same classes as in float at 35 to 41 dB (8 bits) and
at 11 to 14 dB (4 bits). At -5 to 0 dB (2 bits), at most one in five predictions is unchanged."""

MIN_VARIATION = 6.0
"""The default threshold, in dB, for the differences between samples. At 6 dB, the error is half as large as these. It
is lower than `MIN_SQNR` because the outputs of a good model may differ little between the given samples."""

MOST_PARTS = 16
"""The largest number of joined parts of an output that are compared separately."""

MIN_AGREEMENT, OF_SAMPLES = 0.9, 8
"""The default minimum fraction of samples with the same class as in the float model, and the smallest number of samples
to which it applies. It applies to rows with an SQNR below `BAD`: above it, classes that differ are practically tied."""

MOST_AXES = 3
"""The largest rank of an output with classes: the last axis of images and maps is a position."""

MOST_PLACES = 16
"""The largest size of an axis whose positions are checked individually; on a larger axis, each position is one class or
feature among many."""

KEEPS = 0.98
"""The fraction of rows that must keep their class for the change to be negligible; one changed sample of 16 is not."""

BAD = 20.0
"""The SQNR in dB below which a value inside the model is bad. At 20 dB, the error is a tenth of the signal, whereas
8-bit values usually have at least 30 dB. The first bad value causes the errors after it, which may be much larger."""


@dataclass(frozen=True)
class OutputValidation:
    """The error of an output of the quantized model, or of a part that is concatenated to an output."""

    name: str
    """Name of the output."""

    sqnr_db: float | None
    """SQNR of the median sample in dB, without the component that all samples share; `None` for an integer output."""

    cosine: float | None
    """Cosine similarity of the median sample; `None` for an integer output."""

    agreement: float | None
    """Fraction of rows with the same largest element, or of equal integers; `None` if neither applies."""

    pooled_db: float | None = None
    """SQNR of all samples together, in dB."""

    worst_db: float | None = None
    """SQNR of the worst sample, in dB."""

    about_zero_db: float | None = None
    """SQNR of the median sample in dB, including the component that all samples share."""

    is_part: bool = False
    """True for a part that the model concatenates to an output."""

    @property
    def text(self) -> str:
        """The errors in one line: `logits 33.6 dB (pooled 33.1, worst 29.8), cosine 0.9998, same class 100.0%`."""
        parts: list[str] = []
        if self.sqnr_db is not None:
            parts += [f"{self.sqnr_db:.1f} dB (pooled {self.pooled_db:.1f}, worst {self.worst_db:.1f})"]
            parts += [f"cosine {self.cosine:.4f}"]
        return f"{printable(self.name)} {', '.join([*parts, *self.agreement_text])}"

    @property
    def agreement_text(self) -> list[str]:
        """`["same class 100.0%"]`; empty if the output has no classes."""
        what = "equal" if self.sqnr_db is None else "same class"
        return [] if self.agreement is None else [f"{what} {100 * self.agreement:.1f}%"]


@dataclass
class MeasuredOutput:
    """The errors of one output, or of a part of it, sample by sample."""

    name: str
    part: tuple[slice, ...] = ()
    has_parts: bool = False
    is_integer: bool = False
    axes: int = 0
    equal: int = 0
    elements: int = 0
    references: list[Array] = field(default_factory=list[Array])
    founds: list[Array] = field(default_factory=list[Array])
    cosines: list[float] = field(default_factory=list[float])
    top1: TopOne = field(default_factory=TopOne)
    misplaced: int = 0
    """Number of rows whose class changed because of noise."""

    def add(self, reference: Array, found: Array) -> None:
        """Adds one sample: its output in the float model (`reference`) and in the quantized model (`found`)."""
        one, other = reference[self.part], found[self.part]
        self.axes, self.is_integer = one.ndim, one.dtype.kind in "iub"
        self.elements += one.size
        if self.is_integer:
            self.equal += int((one == other).sum())
            return
        self.references.append(thinned(one))
        self.founds.append(thinned(other))
        self.cosines.append(_cosine(one, other))
        self.top1.add(one, other)
        if self.top1.is_scores and one.size and self.axes <= MOST_AXES:
            self.misplaced += misplaced(one, other, BAD)

    @cached_property
    def ratios(self) -> tuple[Ratios, Ratios]:
        """The signal-to-noise ratios of the values about 0, and about the median of the samples."""
        return ratios_of(self.references, self.founds)

    def validation(self) -> OutputValidation:
        """Returns the errors over all samples."""
        if self.is_integer:
            return OutputValidation(self.name, None, None, self.equal / self.elements if self.elements else None)
        plain, varying = self.ratios
        return OutputValidation(
            self.name, varying.samples[varying.median], sorted(self.cosines)[(len(self.cosines) - 1) // 2],
            self.top1.share, varying.pooled, varying.samples[varying.worst], plain.samples[plain.median],
            bool(self.part),
        )  # fmt: skip

    @property
    def clear_agreement(self) -> float | None:
        """The fraction of rows that are not clearly in another class; `None` for outputs without classes.

        Outputs without classes are embeddings, and images and maps with more than `MOST_AXES` axes. For series with 3
        axes, a neighbor of the largest element counts as equal to it.
        """
        if self.top1.share is None or self.top1.are_directions or self.axes > MOST_AXES:
            return None
        return 1 - self.top1.wrong / self.top1.rows if self.axes > 2 else self.top1.share

    @property
    def has_unequal(self) -> bool:
        """True if clearly more integers differ than `MIN_AGREEMENT` allows; two of 16 labels may differ by chance."""
        return self.elements - self.equal > (1 - MIN_AGREEMENT) * self.elements + 1

    @property
    def has_misplaced(self) -> bool:
        """True if noise clearly changes the class of more rows than `MIN_AGREEMENT` allows."""
        share = self.clear_agreement
        if share is None or max(share, 1 - self.misplaced / self.top1.rows) >= MIN_AGREEMENT:
            return False
        _, varying = self.ratios
        return not are_events(self.references) or not min(varying.samples[varying.median], varying.pooled) >= BAD

    @property
    def has_lost_sample(self) -> bool:
        """True if a sample is degraded, and more samples change their class than `MIN_AGREEMENT` allows.

        Feedback in a layer may amplify errors only in some samples, which a median does not show.
        """
        share, varying = self.clear_agreement, self.ratios[1]
        is_lost = varying.samples[varying.worst] < MIN_VARIATION and varying.pooled < BAD
        return share is not None and share < MIN_AGREEMENT and is_lost

    @property
    def lost_place(self) -> str:
        """The first row or column that has lost its variation, such as `y[:, 2]`; empty if there is none.

        Only axes with few rows or columns are checked. Probabilities are excluded, because those of a rare class are
        all close to 0.
        """
        shapes = {each.shape for each in self.references}
        if self.part or self.has_parts or len(shapes) != 1 or self.axes < 2 or len(self.references) < OF_SAMPLES:
            return ""
        (shape,) = shapes
        if len(shape) != self.axes:  # thinned rows of a large output
            return ""
        low, high = (getattr(np, name)([getattr(each, name)() for each in self.references]) for name in ("min", "max"))
        if (low >= 0 and high <= 1) or not (math.isfinite(low) and math.isfinite(high)):
            return ""
        axes = {2: (1,), 3: (2, 1)}.get(self.axes, (1,))  # only channels of maps, as their rows are positions
        for axis in axes:
            if 1 < shape[axis] <= MOST_PLACES:
                for position in lost_places(self.references, self.founds, axis, MIN_VARIATION):
                    return f"{printable(self.name)}[{', '.join([*(':' for _ in range(axis)), str(position)])}]"
        return ""

    def chosen(self, min_sqnr: float | None) -> int:
        """Returns the index of the run to diagnose: the median run if it is degraded, otherwise the worst run."""
        if self.is_integer:
            return 0
        _, varying = self.ratios
        is_median = not varying.samples[varying.median] >= max(BAD, min_sqnr or 0.0)
        return varying.median if is_median else varying.worst

    def fault(
        self, row: OutputValidation, samples: int, min_sqnr: float | None = None, min_agreement: float | None = None
    ) -> str:
        """Returns the first reason why an output with the errors `row` no longer agrees; empty if it agrees.

        `min_sqnr` and `min_agreement` replace the default thresholds.
        """
        name, ratio = printable(row.name), row.sqnr_db
        least = MIN_VARIATION if min_sqnr is None else min_sqnr
        if ratio is not None and not ratio >= least:
            return f"output {name}: SQNR {ratio:.1f} dB (threshold {least:g} dB)"
        if ratio is not None and row.about_zero_db is not None and min_sqnr is None:
            if not row.about_zero_db >= MIN_SQNR:
                return f"output {name}: SQNR about 0 {row.about_zero_db:.1f} dB (threshold {MIN_SQNR:g} dB)"
            quartile = self.ratios[1].quartile
            if samples >= OF_SAMPLES and not quartile >= least:
                worst = f"SQNR {quartile:.1f} dB or less in a quarter of the samples"
                return f"output {name}: {worst} (threshold {least:g} dB)"
            if position := self.lost_place:
                return f"output {position}: SQNR below {least:g} dB"
        agreement, share = row.agreement, min_agreement
        if share is None and samples >= OF_SAMPLES:
            is_lost = self.has_unequal if ratio is None else self.has_misplaced or self.has_lost_sample
            share = MIN_AGREEMENT if is_lost else None
        if share is not None and agreement is not None and agreement < share:
            rows = "samples" if self.axes <= 2 else "rows"
            what = "of its integers equal" if ratio is None else f"of the {rows} in the same class"
            return f"output {name}: {100 * agreement:.1f}% {what} (threshold {100 * share:g}%)"
        return ""

    def change(self, samples: int) -> str:
        """Reports the fraction of rows in an agreeing output that change their class; empty if it is negligible."""
        share, top1 = self.clear_agreement, self.top1
        if self.part or share is None or samples < OF_SAMPLES or not 0 < 1 - top1.wrong / top1.rows < KEEPS:
            return ""
        return f"{100 * top1.wrong / top1.rows:.1f}% of the rows of output {printable(self.name)} change their class"


def parts_of(name: str, value: SSAValue) -> Iterator[MeasuredOutput]:
    """Yields the parts that the model concatenates to an output; nothing if the output is not a concatenation.

    Elementwise operations after the concatenation, such as a final scale, keep the parts separate.
    """
    join = value.owner
    while isinstance(join, UnaryOp | BinaryOp) and len(operands := computed_operands(join)) == 1:
        if shape_of(operands[0]) != shape_of(value):
            return
        join = operands[0].owner
    if not isinstance(join, ConcatOp) or kind_of(element_of(value)) is not Kind.FLOAT:
        return
    axis = join.axis.value.data % len(shape_of(value))
    sizes = [shape_of(each)[axis] for each in join.inputs]
    if not 1 < len(sizes) <= MOST_PARTS or DYNAMIC_INDEX in sizes:
        return
    for end, size in zip(accumulate(sizes), sizes, strict=True):
        part = (*(slice(None) for _ in range(axis)), slice(end - size, end))
        text = ", ".join([*(":" for _ in range(axis)), f"{end - size}:{end}"])
        yield MeasuredOutput(f"{name}[{text}]", part)


def _cosine(reference: Array, found: Array) -> float:
    """Returns the cosine of the angle between two vectors: 1 if they are equal, 0 if one is 0 or not finite."""
    if np.array_equal(reference, found, equal_nan=True):
        return 1.0
    one, other = (each.astype(np.float64).reshape(-1) for each in (reference, found))
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
        product = float(one @ other)
    return product / sizes if 0 < sizes < math.inf and math.isfinite(product) else 0.0
