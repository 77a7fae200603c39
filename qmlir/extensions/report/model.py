"""The content of a report as data: everything that the page shows, without its presentation.

`as_json` returns the JSON embedded in the page, in which numbers that are not finite are null.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from qmlir.extensions.report.layout import Point
from qmlir.extensions.report.naming import ParameterInfo
from qmlir.ir.diagnostics import LINES, printable
from qmlir.quantization.report import LayerImprovement
from qmlir.text.data import plain
from qmlir.text.tables import Readable, counted
from qmlir.workflows.agreement import BAD
from qmlir.workflows.recovery import gains_text


@dataclass(frozen=True)
class HistogramPair:
    """Histograms of the float and of the quantized values over common bins."""

    start: float
    """The lower edge of the first bin."""

    width: float
    """The width of every bin."""

    float_counts: tuple[int, ...]
    quantized_counts: tuple[int, ...]


@dataclass(frozen=True)
class ChannelWeights:
    """The weights of a contraction by output channel."""

    type: ParameterInfo
    minima: tuple[float, ...]
    """The smallest weight of each channel, taken from the float model if it has corresponding weights."""

    maxima: tuple[float, ...]
    scales: tuple[float, ...]
    """The scale of each channel, or a single one."""


@dataclass(frozen=True)
class ErrorFigures:
    """The error of the quantized values relative to the float values, over all samples."""

    sqnr_db: float | None
    """`10 log10(sum float² / sum difference²)`; `None` if all values are equal."""

    max_error: float
    mean_error: float


@dataclass(frozen=True)
class KernelUse:
    """A call of a kernel that computes a node, or a part of it."""

    name: str
    seconds: float
    nodes: tuple[int, ...]
    """The nodes that the call computes."""


@dataclass(frozen=True, repr=False)
class ReportNode(Readable):
    """One operation, input or output of the quantized model in a report."""

    number: int
    """Number of the node, which edges, kernels and findings refer to."""

    name: str
    """The provenance: the node of the model, and the part of the node."""

    operation: str
    """The operation, such as `nn.conv`; `input` or `output`."""

    op_type: str
    """The operator in the model, such as `Conv`; empty if unknown."""

    shape: str
    """The shape of the result, such as `1x16x8x8`."""

    type: str
    """The element type of the result, such as `i8`."""

    is_quantized: bool
    """True if it computes on quantized values."""

    position: Point = (0.0, 0.0)
    """The center of the node in the drawing."""

    reason: str = ""
    """The reason why the node is in float; empty if it is quantized."""

    mask: str = ""
    """The effect of the node's mask; empty if it has none."""

    quantized: ParameterInfo | None = None
    """The scale and zero point of the result; `None` if it is in float."""

    error: ErrorFigures | None = None
    """The error against the float model; `None` if it was not compared."""

    is_limited: bool = False
    """True if the next operation clamps the value to the range of the type, so that clipping does not lose accuracy."""

    range: tuple[float, float] | None = None
    """The observed range of the float values."""

    clipped: float | None = None
    """Fraction of the float values outside the range of the quantized type, in [0, 1]."""

    histogram: HistogramPair | None = None
    """Histograms of the float and the quantized values."""

    weights: ChannelWeights | None = None
    """The weights by output channel, for a contraction."""

    repairs: tuple[LayerImprovement, ...] = ()
    """The effect of accuracy recovery on the layer, in the order of the passes."""

    multiply_adds: int = 0
    """Multiply-adds for one sample."""

    bytes: int = 0
    """Bytes of weights and other constants, as they are stored."""

    kernels: tuple[KernelUse, ...] = ()
    """The kernel calls that compute the node."""

    seconds: float | None = None
    """The seconds spent in the kernels whose main node this is; `None` if they were not timed."""

    def text(self) -> str:
        """Format the node as one line.

        Returns:
            Its name, operation, type and SQNR.
        """
        ratio = None if self.error is None else self.error.sqnr_db
        off = "" if ratio is None else f", {ratio:.1f} dB"
        return f"{printable(self.name)}: {printable(self.operation)}, {self.shape} {self.type}{off}\n"


@dataclass(frozen=True)
class Edge:
    """A value that flows from one node to another."""

    source: int
    target: int
    points: tuple[Point, ...]


class WarningLevel(StrEnum):
    """The severity of a warning."""

    SERIOUS = "serious"
    NOTICE = "notice"


@dataclass(frozen=True)
class Finding:
    """A finding of a report: a possible cause of accuracy loss."""

    kind: str
    """The kind in a word or two, such as `outlier` or `dead channel`."""

    severity: WarningLevel
    """The severity: `serious` or `notice`."""

    text: str
    """The explanation, with advice."""

    nodes: tuple[int, ...]
    """The numbers of the affected nodes."""

    recipe: str = ""
    """Recipe rules that would address the finding; empty if no rule can."""


@dataclass(frozen=True)
class Figure:
    """One figure of the quantized model, with the corresponding figure of the float model."""

    name: str
    """Name of the figure, such as `weights`."""

    unit: str
    """Unit, such as `bytes`."""

    quantized: float
    """The figure of the quantized model."""

    reference: float | None = None
    """The figure of the float model; `None` if there is none."""
    note: str = ""
    """A note on how the figure was measured; may be empty."""


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
    """The reason why the page opens on that node."""

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
    """Returns the number of the node on which the page opens, and the reason.

    The page opens on the first node with a bad error, or else on the node with the largest error.
    """
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
"""The number of significant digits stored in the page, which shows at most four."""


def as_json(report: Report) -> str:
    """Returns the report as JSON in one line."""
    found = plain(report, number=lambda each: float(f"{each:.{_DIGITS}g}"), text=lambda each: printable(each, LINES))
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
