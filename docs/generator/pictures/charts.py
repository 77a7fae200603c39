"""The pictures that are charts, drawn by matplotlib from the figures in `docs/results` and `measured.json`."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from io import StringIO
from typing import Any

from docs.generator.pictures.diagrams import figures
from docs.generator.pictures.drawing import THEMES, Theme
from docs.generator.results import Results, text_of

Axes = Any
Figure = Any
"""Both of matplotlib, which the extra `docs` installs; its types are known in part only."""

Series = tuple[str, Sequence[float | None], Sequence[str], str]
"""Bars of one kind: their name, lengths, texts and color."""


def _bars(axes: Axes, labels: Sequence[str], series: Sequence[Series]) -> None:
    """Groups of horizontal bars, from the top down."""
    height = 0.8 / len(series)
    for number, (name, lengths, texts, color) in enumerate(series):
        known = [
            (position, length, text)
            for position, (length, text) in enumerate(zip(lengths, texts, strict=True))
            if length is not None
        ]
        drawn = axes.barh(
            [position + height * (number - (len(series) - 1) / 2) for position, _, _ in known],
            [length for _, length, _ in known], height, label=name, color=color,
        )  # fmt: skip
        axes.bar_label(drawn, [text for _, _, text in known], padding=3, fontsize=8)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def recipe(figure: Figure, theme: Theme) -> None:
    """The SQNR of each value of the digits CNN with a spoiled sample, without and with a recipe."""
    ratios = figures()["sqnr"]
    names = [name for name in ratios["bad"] if name in ratios["cut"]]
    figure.set_size_inches(8, 0.45 * len(names) + 1)
    axes = figure.subplots()
    series = (("without a recipe", "bad", theme.orange), ("percentile calibrator by a recipe", "cut", theme.green))
    _bars(
        axes, names,
        [
            (title, [ratios[key][name] for name in names], [f"{ratios[key][name]:.1f}" for name in names], color)
            for title, key, color in series
        ],
    )  # fmt: skip
    axes.set_xlabel("SQNR against the float model, dB")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)


_MODELS = {
    "resnet50": "ResNet-50", "mobilenetv2": "MobileNetV2", "squeezenet": "SqueezeNet", "mlp": "MLP", "lstm": "LSTM",
    "encoder": "encoder", "digits_cnn": "digits CNN",
}  # fmt: skip


def latency(figure: Figure, theme: Theme) -> None:
    """The latency of qmlir and of its peers, in units of qmlir's."""
    results = Results.of()
    figure.set_size_inches(8, 5.5)
    axes = figure.subplots()
    series: list[Series] = []
    for title, names, color in (
        ("qmlir int8", ("qmlir int8, exact",), theme.green),
        ("ONNX Runtime int8", ("ONNX Runtime u8s8", "ONNX Runtime dynamic"), theme.blue),
        ("OpenVINO int8", ("OpenVINO u8s8",), theme.orange),
    ):
        lengths: list[float | None] = []
        texts: list[str] = []
        for model in _MODELS:
            found = results.first(f"{model}: {name}" for name in names)
            own = results.fact(f"{model}: qmlir int8, exact")
            lengths.append(None if found is None else found[0].figure / own.figure)
            texts.append("" if found is None else text_of(found[0]))
        series.append((title, lengths, texts, color))
    _bars(axes, list(_MODELS.values()), series)
    axes.set_xlabel("latency relative to qmlir (shorter is faster); batch 1, one thread")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)


_TOOLS = {"qmlir": "qmlir, --effort 2", "aimet-onnx": "AIMET", "esp-ppq": "esp-ppq"}
_BITS = {
    "W8A8": "8-bit weights\n8-bit activations",
    "W4A8": "4-bit weights\n8-bit activations",
    "W4A4": "4-bit weights\n4-bit activations",
}


def bits(figure: Figure, theme: Theme) -> None:
    """The accuracy of ResNet-8 on CIFAR-10 with fewer and fewer bits."""
    measured = next(each for each in Results.of().measurements if each.name == "few-bits")
    top1 = {fact.what.removesuffix(": top-1"): fact.figure for fact in measured.facts if fact.what.endswith("top-1")}
    figure.set_size_inches(8, 3.6)
    axes = figure.subplots()
    axes.axhline(top1["float"], color=theme.muted, linestyle="--", label="float")
    for (tool, title), color in zip(_TOOLS.items(), (theme.green, theme.blue, theme.orange), strict=True):
        heights = [next(top1[what] for what in top1 if what.startswith(f"{each}, {tool}")) for each in _BITS]
        axes.plot(list(_BITS.values()), heights, "o-", color=color, label=title)
        for position, height in list(enumerate(heights))[1:]:  # labels of 8 bits would overlap
            axes.annotate(
                f"{height:g}", (position, height), xytext=(7, -3), textcoords="offset points", fontsize=8, color=color
            )
    axes.set_ylabel("top-1, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12, y=0.15)
    axes.legend(loc="lower left", frameon=False)


CHARTS: Mapping[str, Callable[[Figure, Theme], None]] = {each.__name__: each for each in (recipe, latency, bits)}


def _svg(draw: Callable[[Figure, Theme], None], theme: Theme) -> str:
    """The text of a chart: the same for the same figures and version of matplotlib."""
    style = {
        "svg.hashsalt": "qmlir", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10,
        "text.color": theme.text, "axes.labelcolor": theme.text, "axes.edgecolor": theme.muted,
        "xtick.color": theme.text, "ytick.color": theme.text,
    }  # fmt: skip
    with import_module("matplotlib").rc_context(style):
        figure = import_module("matplotlib.figure").Figure(layout="constrained")
        draw(figure, theme)
        text = StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def charts() -> dict[str, str]:
    """The text of each chart by its file name."""
    return {f"{name}-{mode}.svg": _svg(draw, theme) for name, draw in CHARTS.items() for mode, theme in THEMES.items()}
