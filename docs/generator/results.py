"""`python -m docs.generator.results [--check]`: write the measured figures of `docs/results` into README and pages.

Each file of `docs/results` holds one measurement: a caption (CPU, threads, versions, date, command) and rows. A row is
a fact, named `SUBJECT: WHAT`, and no two rows of all files have the same name. A page shows facts in two places:

- a table of `tables` with its captions, between `<!-- results TABLE -->` and `<!-- /results -->`
- a figure in a sentence, between `<!-- figure FACT -->` and `<!-- /figure -->`
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from docs.generator.markdown import table as markdown_table
from qmlir.targets.runtimes.packages import TITLES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "results"

_TABLE = re.compile(r"(<!-- results (?P<name>[\w-]+) -->\n)(?P<text>.*?)(<!-- /results -->)", re.DOTALL)
_FIGURE = re.compile(r"(<!-- figure (?P<name>[^\n]+?) -->)(?P<text>[^\n]*?)(<!-- /figure -->)")
_WIDTH, _UNBROKEN = 120, "\xa0"
NONE = "–"
"""The cell of a fact that was not measured."""


@dataclass(frozen=True)
class Caption:
    """The conditions of a measurement."""

    cpu: str
    threads: int | None
    """`None` if the figures don't depend on it."""

    versions: Mapping[str, str]
    """By package."""

    date: str
    command: str
    """The command that measured."""

    note: str = ""

    def lines(self) -> Iterator[str]:
        """The caption as items of a list: machine and versions, then date and command."""
        threads = [] if self.threads is None else [f"{self.threads} thread{'s' * (self.threads > 1)}"]
        versions = [f"{TITLES.get(name, name)} {version}" for name, version in self.versions.items()]
        machine = ", ".join([self.cpu, *threads])
        command = f"`{self.command}`".replace(" ", _UNBROKEN)
        for parts in ([machine, ", ".join(versions), self.date], [self.note, command]):
            text = fill("; ".join(filter(None, parts)), _WIDTH, initial_indent="- ", subsequent_indent="  ")
            yield text.replace(_UNBROKEN, " ")


@dataclass(frozen=True)
class Fact:
    """A measured figure, with the smallest and the largest one of its rounds if there were several."""

    subject: str
    what: str
    figure: float
    unit: str
    low: float | None = None
    high: float | None = None

    @property
    def title(self) -> str:
        """The name, unique in all files."""
        return f"{self.subject}: {self.what}"


@dataclass(frozen=True)
class Measurement:
    """A file of `docs/results`."""

    name: str
    caption: Caption
    facts: Sequence[Fact]


def read_measurement(path: Path) -> Measurement:
    """Read one file; raise `TypeError` if a key is missing or unknown."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Measurement(path.stem, Caption(**found["caption"]), [Fact(**row) for row in found["rows"]])


class Results:
    """The facts of all files by name."""

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        self.measurements = tuple(measurements)
        self._found = {fact.title: (fact, each) for each in self.measurements for fact in each.facts}

    @staticmethod
    def of(folder: Path = FOLDER) -> "Results":
        """The results of a folder."""
        return Results(map(read_measurement, sorted(folder.glob("*.json"))))

    def fact(self, title: str) -> Fact:
        """The fact of that name; raise `KeyError` if there is none."""
        return self._found[title][0]

    def first(self, titles: Iterable[str]) -> tuple[Fact, Measurement] | None:
        """The first fact of these that was measured, with its measurement."""
        return next((self._found[title] for title in titles if title in self._found), None)


# Text of figures

_DECIMALS = {"%": 2, "points": 2, "": 3}
"""The most decimals of units whose figures are shown with equally many in a column."""

_SUFFIXES = {"%": "%", "points": "", "": "", "us": " µs"}


def _significant(number: float, digits: int = 3) -> str:
    return f"{number:.0f}" if abs(number) >= 10 ** (digits - 1) else f"{number:.{digits}g}"


def _ratio(time: float) -> str:
    """A time over another one, as the factor between the speeds with its direction."""
    recorded = len(repr(time).replace(".", "").strip("0"))
    factor = _significant(max(time, 1 / time), min(max(recorded, 2), 3))
    return "equally fast" if factor == "1" else f"{factor}x {'faster' if time < 1 else 'slower'}"


def _decimals(facts: Iterable[Fact]) -> int:
    """The decimals that show the figures of a column, up to those of their unit."""
    shown = (repr(round(fact.figure, _DECIMALS[fact.unit])) for fact in facts if fact.unit in _DECIMALS)
    return max((len(text.partition(".")[2]) for text in shown if not text.endswith(".0")), default=0)


def text_of(fact: Fact, decimals: int | None = None) -> str:
    """A figure with its unit: three digits of times and sizes, one decimal of decibels, ratios with their direction."""
    if fact.unit == "x":
        return _ratio(fact.figure)
    if fact.unit in _DECIMALS:
        number = f"{fact.figure:.{_decimals([fact]) if decimals is None else decimals}f}"
    else:
        number = f"{fact.figure:z.1f}" if fact.unit == "dB" else _significant(fact.figure)
    return number + _SUFFIXES.get(fact.unit, f" {fact.unit}")


# Tables


@dataclass(frozen=True)
class Table:
    """Rows by the text of their first cells, and columns by title; a cell is the first of some facts that exists."""

    head: Sequence[str]
    """The titles of the first columns."""

    rows: Mapping[tuple[str, ...], str]
    columns: Mapping[str, Sequence[str]]
    """Names of facts, with `{0}` for the text of the row and `{1}` for the subject that it begins with."""

    def text(self, results: Results) -> str:
        """The table with the captions of its measurements."""
        cells = [
            [
                results.first(title.format(row, row.partition(":")[0]) for title in titles)
                for titles in self.columns.values()
            ]
            for row in self.rows.values()
        ]
        measured = {found[1].name: found[1] for line in cells for found in line if found is not None}
        decimals = [_decimals(found[0] for found in column if found) for column in zip(*cells, strict=True)]
        texts = [
            [NONE if found is None else text_of(found[0], each) for found, each in zip(line, decimals, strict=True)]
            for line in cells
        ]
        lines = [[*names, *line] for names, line in zip(self.rows, texts, strict=True)]
        captions = "\n".join(line for each in measured.values() for line in each.caption.lines())
        return f"{markdown_table([*self.head, *self.columns], lines)}\n{captions}\n"


_MODELS = {
    "ResNet-50": "resnet50",
    "MobileNetV2": "mobilenetv2",
    "SqueezeNet": "squeezenet",
    "MLP 784-512-256-10": "mlp",
    "LSTM, 32 steps, 64 to 256": "lstm",
    "encoder, 6 layers, 64 tokens": "encoder",
    "digits CNN": "digits_cnn",
}

_FEW_BITS = {
    "8-bit weights and activations": "W8A8",
    "4-bit weights, 8-bit activations": "W4A8",
    "4-bit weights and activations": "W4A4",
}

_TRAINED = {
    "8-bit weights and activations, scales that are powers of two": "W8A8, powers of two",
    "4-bit weights, 8-bit activations": "W4A8",
    "4-bit weights and activations": "W4A4",
    "2-bit weights, 4-bit activations": "W2A4",
}

_ENCODERS: Mapping[tuple[str, ...], str] = {
    ("MiniLM, 64 tokens", "cosine of queries"): "minilm, minilm_eval: mean cosine of queries",
    ("ViT, 65 tokens", "SQNR of logits"): "vit: SQNR of logits",
    ("Swin", "SQNR of hidden states"): "swin: SQNR of hidden states",
    ("DETR, trained", "SQNR of logits"): "detr: SQNR of logits",
    ("Whisper's encoder, 150 positions", "SQNR of hidden states"): "whisper: SQNR of hidden states",
    ("BERT", "SQNR of hidden states"): "bert: SQNR of hidden states",
    ("Llama, prefill of 48 tokens", "SQNR of logits"): "llama: SQNR of logits",
}

_RATIOS = ("{}: int8 over the faster u8s8", "{}: int8 over ONNX Runtime dynamic int8")


def _labeled(rows: Mapping[str, str]) -> Mapping[tuple[str, ...], str]:
    return {(label,): row for label, row in rows.items()}


def _zoo(results: Results) -> Mapping[tuple[str, ...], str]:
    """A row for each model of the zoo: its name, and its metric."""
    (zoo,) = (each for each in results.measurements if each.name == "zoo")
    rows = (fact.title.removesuffix(", qmlir") for fact in zoo.facts if fact.unit in ("%", "dB"))
    return {
        (f"`{subject}`, {metric}",): f"{subject}: {metric}"
        for subject, _, metric in (row.partition(": ") for row in rows)
        if results.first([f"{subject}: {metric}, qmlir"])
    }


def tables(results: Results) -> Mapping[str, Table]:
    """The tables of all pages by name."""
    return {
        "latency": Table(
            ["model"], _labeled(_MODELS),
            {
                "qmlir int8": ["{}: qmlir int8, exact"],
                "ONNX Runtime int8": ["{}: ONNX Runtime u8s8", "{}: ONNX Runtime dynamic"],
                "OpenVINO int8": ["{}: OpenVINO u8s8"],
                "qmlir against the faster": _RATIOS,
            },
        ),
        "latency-avx2": Table(
            ["model"], _labeled({name: _MODELS[name] for name in ("ResNet-50", "MobileNetV2", "SqueezeNet")}),
            {"qmlir against OpenVINO": ["{}: int8 over the faster u8s8, avx2"]},
        ),
        "starts": Table(
            ["model"], _labeled({name: _MODELS[name] for name in ("ResNet-50", "MobileNetV2", "digits CNN")}),
            {
                f"{title}, {codegen}": [f"{{}}: {what} by {codegen}"]
                for title, what in (("cold compile", "cold compile"), ("start from the cache", "warm start"))
                for codegen in ("numba", "llvm")
            },
        ),
        "slopes": Table(
            ["what grows"],
            _labeled(
                {
                    "multiply-adds of an encoder, 64 to 512 tokens": "encoder of any length: time of 1e9 multiply-adds",
                    "scratch memory of an encoder, tokens": "encoder of any length: arena of a token",
                    "rows of a cache, 128 to 1,024": "decoder with a cache: time of a row",
                    "steps of an LSTM to quantize": "quantizing an LSTM of 64: calls of functions for a step",
                    "samples of an LSTM to quantize": "quantizing an LSTM of 64: calls of functions for a sample",
                }
            ),
            {"cost of one more": ["{}"], "steepest step over the first": ["{}: steepest step over first"]},
        ),
        "accuracy": Table(
            ["model"], {(name.upper(),): f"digits_{name}" for name in ("mlp", "cnn", "lstm", "gru")},
            {
                "float": ["{}: top-1, float"],
                "qmlir": ["{}: top-1, qmlir, channel, min_max"],
                "SQNR of the logits": ["{}: SQNR, qmlir, channel, min_max"],
                "multiply-adds in int8": ["{}: int8 multiply-adds, qmlir, channel, min_max"],
            },
        ),
        "encoders": Table(
            ["model", "metric"], _ENCODERS,
            {
                "qmlir, 8 bits": ["{}, qmlir"],
                "ONNX Runtime": ["{}, ONNX Runtime u8s8", "{}, ONNX Runtime dynamic"],
            },
        ),
        "few-bits": Table(
            ["setting"], _labeled(_FEW_BITS),
            {
                "qmlir": ["resnet8_cifar: {}, qmlir, effort 2: top-1"],
                "AIMET": [
                    f"resnet8_cifar: {{}}, aimet-onnx, {preset}: top-1" for preset in ("AdaRound", "ranges by SQNR")
                ],
                "esp-ppq": ["resnet8_cifar: {}, esp-ppq, biases corrected: top-1"],
            },
        ),
        "training": Table(
            ["setting"], _labeled(_TRAINED),
            {
                "not trained": ["resnet8_cifar: points lost without training, {}"],
                "qmlir": ["resnet8_cifar: points lost after training, {}"],
                "Brevitas": ["resnet8_cifar: points lost after training, {}, brevitas"],
                "esp-ppq": ["resnet8_cifar: points lost after training, {}, esp-ppq"],
            },
        ),
        "few-bits-digits": Table(
            ["weights"], _labeled({name: name for name in ("ternary", "binary", "4-bit")}),
            {
                "as quantized": ["digits_cnn, 8-bit activations: SQNR without training, {} weights"],
                "trained": ["digits_cnn, 8-bit activations: SQNR after training, {} weights"],
            },
        ),
        "zoo": Table(
            ["model, metric"], _zoo(results),
            {
                "float": ["{}, float"],
                "qmlir": ["{}, qmlir"],
                "ONNX Runtime static": ["{}, ONNX Runtime static"],
                "ONNX Runtime dynamic": ["{}, ONNX Runtime dynamic"],
                "time, against the fastest": ["{1}: time over the fastest peer in int8"],
            },
        ),
    }  # fmt: skip


# Pages


def pages() -> Iterator[Path]:
    """README and the pages, those generated from the code left out."""
    yield ROOT / "README.md"
    yield from (path for path in sorted((ROOT / "docs").rglob("*.md")) if "reference" not in path.parts)


def rendered(text: str, results: Results) -> str:
    """A page with the figures of `results`; raise `KeyError` for an unknown table or fact."""
    known = tables(results)
    text = _TABLE.sub(lambda found: f"{found[1]}{known[found['name']].text(results)}{found[4]}", text)
    return _FIGURE.sub(lambda found: f"{found[1]}{text_of(results.fact(found['name']))}{found[4]}", text)


def without_results(text: str) -> str:
    """A page without its rendered tables and figures."""
    return _FIGURE.sub("", _TABLE.sub("", text))


def named(text: str) -> tuple[set[str], set[str]]:
    """The names of the tables and of the facts that a page shows."""
    return {found["name"] for found in _TABLE.finditer(text)}, {found["name"] for found in _FIGURE.finditer(text)}


def main() -> int:
    """Write the pages, or list those that differ."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.generator.results", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page differs")
    arguments = parser.parse_args()
    results, differing = Results.of(), list[Path]()
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if (found := rendered(text, results)) != text:
            differing.append(path)
            if not arguments.check:
                path.write_text(found, encoding="utf-8")
    for path in differing:
        print(f"{path.relative_to(ROOT)}: {'differs from docs/results' if arguments.check else 'written'}")
    return int(arguments.check and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
