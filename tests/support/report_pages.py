"""Reports for tests: hand-made ones, of any size, with names that would break a page that took them for markup."""

from qmlir.extensions.report.layout import layout
from qmlir.extensions.report.model import (
    ChannelWeights,
    Edge,
    ErrorFigures,
    Figure,
    Finding,
    HistogramPair,
    KernelUse,
    Report,
    ReportNode,
    WarningLevel,
)
from qmlir.extensions.report.naming import ParameterInfo
from qmlir.quantization.report import LayerImprovement

EVIL = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>\u2028&lt;"
"""A node's name that tries everything."""


def chain(count: int, channels: int = 4, name: str = "node") -> Report:
    """A report of a chain of `count` layers, each with everything that a node can have; the second has an odd name."""
    drawn = layout(count, [(position, position + 1) for position in range(count - 1)])
    nodes = tuple(
        ReportNode(
            position, EVIL if position == 1 else f"{name}{position}", "nn.conv", "Conv", "1x8x4x4", "i8", True,
            drawn.nodes[position],
            quantized=ParameterInfo("i8", "tensor", (), 1, (0.5, 0.5), (-3, -3), (-62.5, 65.0)),
            error=ErrorFigures(40.0 - 3 * position % 40, 0.25 * (position + 1), 0.1),
            range=(-1.5, 2.5 + position), clipped=0.125,
            histogram=HistogramPair(-2.0, 0.5, (1, 2, 3) * 20, (2, 2, 2) * 20),
            weights=ChannelWeights(
                ParameterInfo("i8<-127:127>", "axis", (0,), channels, (0.1, 0.1), (0, 0), (-12.7, 12.7)),
                (-1.0,) * channels, (1.0,) * channels, (0.1,) * channels,
            ),
            repairs=(
                LayerImprovement("quant-gptq", (f"{name}{position}",), 12.0, 17.5),
                LayerImprovement("quant-correct-bias", (f"{name}{position}",)),
            ),
            multiply_adds=1000 * (count - position), bytes=100 + position,
            kernels=(KernelUse("conv_8x4x4_i8", 2e-5, (position,)),), seconds=2e-5,
        )
        for position in range(count)
    )  # fmt: skip
    edges = tuple(Edge(position, position + 1, drawn.edges[position]) for position in range(count - 1))
    findings = (
        Finding("outlier", WarningLevel.SERIOUS, f"The range of {EVIL} is odd.", (1,), '[[rule]]\norigin = "a"'),
        Finding("saturation elsewhere", WarningLevel.NOTICE, "Many of them.", tuple(range(count))),
    )
    figures = (Figure("top-1 accuracy", "%", 98.5, 99.0, "10 samples"), Figure("time", "s", 1e-3, 2e-3))
    return Report(EVIL, "qmlir", 3, nodes, edges, drawn.width, drawn.height, figures, findings, (EVIL,))
