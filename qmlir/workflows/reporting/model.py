"""What a report says, as data: everything that the page shows, and nothing about how.

`as_json` is the form in which the page holds it. Numbers that are not finite have no form there, and are null.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from qmlir.ir.diagnostics import LINES, printable
from qmlir.passes.quantized.repairs import LayerGain
from qmlir.text.plain import plain
from qmlir.text.readable import Readable
from qmlir.text.tables import counted
from qmlir.workflows.inspection.values import ParameterInfo
from qmlir.workflows.repairing import gains_text
from qmlir.workflows.reporting.layout import Point
from qmlir.workflows.validating import BAD


@dataclass(frozen=True)
class HistogramPair:
    """How many float and how many quantized values lie in the same bins."""

    start: float
    """Where the first bin begins."""

    width: float
    """The width of every bin."""

    float_counts: tuple[int, ...]
    quantized_counts: tuple[int, ...]


@dataclass(frozen=True)
class ChannelWeights:
    """The weights of a contraction by output channel."""

    type: ParameterInfo
    minima: tuple[float, ...]
    """The smallest and the largest weight of each channel; those of the float model where it has the same weights."""

    maxima: tuple[float, ...]
    scales: tuple[float, ...]
    """The scale of each channel, or the one of all."""


@dataclass(frozen=True)
class ErrorFigures:
    """How far the quantized values are from the float ones, over all samples."""

    sqnr_db: float | None
    """`10 log10(sum float² / sum difference²)`; `None` where nothing differs."""

    max_error: float
    mean_error: float


@dataclass(frozen=True)
class KernelUse:
    """One call of a kernel that computes a node, or a part of it."""

    name: str
    seconds: float
    nodes: tuple[int, ...]
    """The nodes that it computes in one go."""


@dataclass(frozen=True, repr=False)
class ReportNode(Readable):
    """One operation of the quantized model, an input or an output."""

    number: int
    name: str
    """The provenance: the model's node, and the part of it."""

    operation: str
    """`nn.conv`; `input`, `output`."""

    op_type: str
    """The operator in the user's model, `Conv`; empty where unknown."""

    shape: str
    type: str
    """The element type of the result, `i8`."""

    is_quantized: bool
    place: Point = (0.0, 0.0)
    """The centre of the node in the drawing."""

    reason: str = ""
    """Why it is left in float."""

    mask: str = ""
    """What its mask does; empty without one."""

    quantized: ParameterInfo | None = None
    error: ErrorFigures | None = None
    is_limited: bool = False
    """Whether what follows cuts the same off as the type does, so that clipping costs nothing."""

    range: tuple[float, float] | None = None
    """The observed range of the float values."""

    clipped: float | None = None
    """The fraction of float values outside of the range of the quantized type, `0 <= clipped <= 1`."""

    histogram: HistogramPair | None = None
    weights: ChannelWeights | None = None
    repairs: tuple[LayerGain, ...] = ()
    """What repairs did to it when the model was quantized, in their order."""

    multiply_adds: int = 0
    bytes: int = 0
    """Of weights and other constants, as they are stored."""

    kernels: tuple[KernelUse, ...] = ()
    seconds: float | None = None
    """Of the kernels that are counted for this node: those of which it is the main part."""

    def text(self) -> str:
        """What it is, and how far off it is."""
        ratio = None if self.error is None else self.error.sqnr_db
        off = "" if ratio is None else f", {ratio:.1f} dB"
        return f"{printable(self.name)}: {printable(self.operation)}, {self.shape} {self.type}{off}\n"


@dataclass(frozen=True)
class Edge:
    """A value that goes from a node to another."""

    source: int
    target: int
    points: tuple[Point, ...]


class WarningLevel(StrEnum):
    """How much a warning may matter."""

    SERIOUS = "serious"
    NOTICE = "notice"


@dataclass(frozen=True)
class Finding:
    """Something that may cost accuracy, in plain words."""

    kind: str
    """What it is, in a word or two: `outlier`, `dead channel`."""

    severity: WarningLevel
    text: str
    nodes: tuple[int, ...]
    recipe: str = ""
    """Rules of a recipe that would address it; empty where no rule can, which the text then says."""


@dataclass(frozen=True)
class Figure:
    """One number of the quantized model, that of the float model beside."""

    name: str
    unit: str
    quantized: float
    reference: float | None = None
    """That of the float model, where there is one."""
    note: str = ""


@dataclass(frozen=True, repr=False)
class Report(Readable):
    """The content of a report page as data."""

    title: str
    """Title of the page."""

    tool: str
    """Name and version of the tool that made the report."""

    samples: int
    """Number of samples for errors, ranges and histograms."""

    nodes: tuple[ReportNode, ...]
    """The operations, inputs and outputs of the quantized model."""

    edges: tuple[Edge, ...]
    """The values between nodes."""

    width: float
    """Width of the drawing of the graph."""

    height: float
    """Height of the drawing of the graph."""

    figures: tuple[Figure, ...] = ()
    """The figures of the whole model, such as sizes, accuracy and time."""

    findings: tuple[Finding, ...] = ()
    """The findings that may cost accuracy, with advice."""

    notes: tuple[str, ...] = ()
    """Remarks about how the figures were measured."""

    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds of each step of making the report."""

    opens_on: int | None = None
    """Number of the node that the page opens on; `None` for the first one."""

    opens_because: str = ""
    """Why the page opens on that node."""

    def text(self) -> str:
        """Summarize the report.

        Returns:
            The number of nodes and samples, the number of findings of each kind, and the layers that accuracy recovery
            helped most.
        """
        kinds = Counter(each.kind for each in self.findings)
        listed = "".join(f"  {count} {kind}\n" for kind, count in kinds.items())
        of = f"{counted(len(self.nodes), 'node')}, {counted(self.samples, 'sample')}"
        repaired = [node.repairs for node in self.nodes if node.repairs]
        layers = gains_text(gain for gains in repaired for gain in gains)
        repairs = f"repaired: {counted(len(repaired), 'layer')}\n{layers}" if repaired else ""
        return f"{printable(self.title)}: {of}\nfindings: {len(self.findings)}\n{listed}{repairs}"


def opening(nodes: Sequence[ReportNode]) -> tuple[int | None, str]:
    """The node to open on, and why: the first bad one in the model's order; else the one with the largest error."""
    compared = [(node.error.sqnr_db, node) for node in nodes if node.error is not None]
    known = [(ratio, node) for ratio, node in compared if ratio is not None]
    bad = next((node for ratio, node in known if ratio < BAD), None)
    if bad is not None:
        return bad.number, f"The first layer below {BAD:g} dB: what is after it inherits its error."
    quantized = [(ratio, node.number) for ratio, node in known if node.is_quantized]
    if not quantized:
        return None, ""
    return min(quantized)[1], "The layer with the largest error."


_DIGITS = 6
"""Of numbers in the page, which shows at most four."""


def as_json(report: Report) -> str:
    """The report as JSON in one line."""
    found = plain(report, number=lambda each: float(f"{each:.{_DIGITS}g}"), text=lambda each: printable(each, LINES))
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
