"""How much perplexity a small GPT loses when it is quantized, and whether its answers depend on how it is run.

`python -m benchmarks.perplexity build/gpt/gpt.onnx`: the model of `python -m examples.gpt`, on the texts that its
training held out. Windows of the training texts calibrate. Perplexities are those of the interpreter, which a compiled
program equals: the rows of differences count logits that differ between two ways to read the same text.
"""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.rows import BenchRow, add_output, print_rows
from examples.gpt.exporting import no_past, states
from examples.gpt.generating import Reader
from examples.gpt.training import Array, Shape, cross_entropy, texts, windows

_SETTINGS: Mapping[str, tuple[Mapping[str, Any], float | None]] = {
    "W8A8": ({}, 1.0),
    "W4A8, blocks of 32, with zero points": (
        {"weights": "i4", "granularity": "block:32", "weight_scheme": "asymmetric"},
        2.0,
    ),
    "W4A8, blocks of 32": ({"weights": "i4", "granularity": "block:32"}, None),
}
"""What is quantized how, with the bar of the percentage of perplexity that it may lose."""

_PIECES = {"in halves": [32, 32], "in uneven pieces": [1, 31, 32], "token by token": [1] * 64}


def _loss(module: ModuleOp, shape: Shape, rows: Array, cache: type) -> float:
    """The mean of `-log p` of each character after the first one of its row."""
    found: list[float] = []
    for part in np.array_split(rows, max(len(rows) // 16, 1)):
        scores = Reader(partial(qmlir.interpret, module), shape, len(part), cache).read(part[:, :-1])
        found += [cross_entropy(scores[each : each + 1], part[each : each + 1, 1:])[0] for each in range(len(part))]
    return float(np.mean(found))


def _differences(name: str, module: ModuleOp, shape: Shape, rows: Array) -> Iterator[BenchRow]:
    """Logits that are not equal to those of three rows read at once by the interpreter."""
    rows = rows[:3, :64]
    exact = Reader(partial(qmlir.interpret, module), shape, 3).read(rows)
    for threads in (1, 2):
        program = qmlir.compile(module, threads=threads)
        ways = {"at once": [64], **_PIECES} if threads == 1 else {"token by token": _PIECES["token by token"]}
        for way, lengths in ways.items():
            found = Reader(program, shape, 3).read_in_pieces(rows, lengths)
            what = f"logits that differ, compiled, {threads} thread{'s' * (threads > 1)}, {way}"
            yield BenchRow(what, float((found != exact).sum()), 0.0, "", subject=name)
        if threads == 1:
            alone = [Reader(program, shape).read_in_pieces(row[None], _PIECES["token by token"])[0] for row in rows]
            yield BenchRow(
                "logits that differ, one row", float((np.stack(alone) != exact).sum()), 0.0, "", subject=name
            )


def _rows(path: Path, count: int) -> Iterator[BenchRow]:
    shape, (tokens, held_out) = Shape(), texts()
    model = qmlir.load(path)
    samples = [{"tokens": row[None], **no_past(shape, 1)} for row in windows(tokens, shape.context)[::100]]
    rows = windows(held_out, shape.context + 1)[:count]
    exact = _loss(model, shape, rows, np.float32)
    yield BenchRow("perplexity of a character, float", float(np.exp(exact)), None, "", subject=path.stem)
    for name, (settings, bar) in _SETTINGS.items():
        quantized = qmlir.quantize(model, samples, states=states(shape), validate=False, **settings).module
        lost = 100 * (float(np.exp(_loss(quantized, shape, rows, np.int8) - exact)) - 1)
        yield BenchRow(f"perplexity lost, {name}", lost, bar, "%", subject=path.stem)
        if bar is not None:
            yield from _differences(name, quantized, shape, rows)


def main() -> None:
    """Read the command line, measure, and print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.perplexity", description=__doc__)
    parser.add_argument("model", type=Path, help="the GPT that python -m examples.gpt trained")
    parser.add_argument("--rows", type=int, default=1000, help="so many windows of 128 characters at most")
    add_output(parser)
    arguments = parser.parse_args()
    print_rows(list(_rows(arguments.model, arguments.rows)), arguments)


if __name__ == "__main__":
    main()
