"""How near the embeddings of a quantized text encoder are to the float model's, and how long one text takes.

`python -m benchmarks.embeddings minilm.onnx minilm_eval.npz`: the archive has `q_ids`, `q_mask`, `d_ids` and `d_mask`,
of queries and of the document that answers each. The last texts calibrate, the others are judged: the mean cosine to
the float embeddings, and how often the nearest document is the right one. ONNX Runtime's dynamic int8 is beside.

`--weights i4 --granularity block:32 --weight-scheme asymmetric --effort 2` and the like are those of `qmlir quantize`.

With `--lengths 16 64 256`, the sizes of the model are open, each text has its own length, and one program takes them
all: it is timed at each of these lengths.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

import qmlir
from benchmarks.rows import BenchRow, add_output, print_rows, ratio_row, readable, row_of
from benchmarks.subjects import DYNAMIC
from qmlir.extensions.bench.peers import FORMS
from qmlir.extensions.bench.peers import quantize as quantize_by_peer
from qmlir.extensions.report.timing import interleaved
from qmlir.specialization.padding import open_sizes
from qmlir.targets.cpu.compiler import Program, compile_module
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]
Embed = Callable[[Feeds], Array]

_SETTINGS = ("weights", "granularity", "weight_scheme", "activations", "calibrator", "recipe")

_COSINE_BAR, _RECALL_BAR, _TIME_BAR = 0.01, 0.01, 0.6


def _feeds(texts: Mapping[str, Array], kind: str, positions: Sequence[int], *, is_cut: bool) -> list[Feeds]:
    """One text each of the queries (`q`) or the documents (`d`); `is_cut`: each as long as it is."""
    names = {"input_ids": "ids", "attention_mask": "mask"}
    found = [
        {name: texts[f"{kind}_{key}"][position : position + 1] for name, key in names.items()} for position in positions
    ]
    counts = [int(each["attention_mask"].sum()) if is_cut else None for each in found]
    return [{name: a[:, :count] for name, a in each.items()} for each, count in zip(found, counts, strict=True)]


def _of_length(feeds: Feeds, length: int) -> Feeds:
    """A text of so many tokens: those of `feeds` again and again."""
    return {name: np.resize(array, (1, length)) for name, array in feeds.items()}


def _recall(queries: Array, documents: Array) -> float:
    scores = queries @ documents.T
    return float((scores.argmax(1) == np.arange(len(queries))).mean())


def _cosine(found: Array, exact: Array) -> float:
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(exact, axis=1)
    return float(((found * exact).sum(1) / lengths).mean())


def _accuracy(subject: str, name: str, found: Sequence[Array], exact: Sequence[Array]) -> Iterator[BenchRow]:
    lost = _recall(*exact) - _recall(*found)
    for kind, own, other in zip(("queries", "documents"), found, exact, strict=True):
        cosine = _cosine(own, other)
        yield BenchRow(f"mean cosine of {kind}, {name}", cosine, None, "", subject=subject)
        yield BenchRow(f"1 - mean cosine of {kind}, {name}", 1 - cosine, _COSINE_BAR, "", subject=subject)
    yield BenchRow(f"recall@1 lost, {name}", lost, _RECALL_BAR, "", subject=subject)


def _program(
    model: Path, samples: Sequence[Feeds], lengths: Sequence[int], threads: int, settings: Mapping[str, Any]
) -> Program:
    if not lengths:
        shapes = {name: array.shape for name, array in samples[0].items()}
        made = qmlir.quantize(qmlir.load(model, shapes=shapes), samples, **settings)
        if made.repair is not None:
            print(made.repair.text(), file=sys.stderr)
        return compile_module(made.module, threads=threads)
    module = qmlir.load(model)
    _, sequence = open_sizes(module)
    largest = max(*lengths, *(array.shape[1] for feeds in samples for array in feeds.values()))
    return compile_module(
        qmlir.quantize(module, samples, **settings).module, threads=threads, lengths={sequence: largest}
    )


def _times(subject: str, runs: Mapping[str, Embed], feeds: Feeds, what: str) -> Iterator[BenchRow]:
    times = interleaved({name: partial(run, feeds) for name, run in runs.items()})
    own, other = times.values()
    scale, unit = readable(own.median)
    for name, each in times.items():
        yield row_of(each, f"{what}, {name}", scale, unit, subject)
    yield ratio_row(subject, f"{what}, qmlir over ONNX Runtime", own, [other], _TIME_BAR)


def _rows(
    subject: str,
    model: Path,
    texts: Mapping[str, Array],
    count: int,
    threads: int,
    lengths: Sequence[int],
    settings: Mapping[str, Any],
) -> Iterator[BenchRow]:
    last, is_cut = len(texts["q_ids"]), bool(lengths)
    judged = [_feeds(texts, kind, range(last - count // 2), is_cut=is_cut) for kind in "qd"]
    samples = [each for kind in "qd" for each in _feeds(texts, kind, range(last - count // 2, last), is_cut=is_cut)]
    program = _program(model, samples, lengths, threads, settings)
    with TemporaryDirectory() as folder:
        quantize_by_peer(model, Path(folder) / "dynamic.onnx", FORMS[DYNAMIC])
        options = OrtOptions(threads=threads)
        peer, exact = OrtSession(Path(folder) / "dynamic.onnx", options), OrtSession(model, options)
    runs: Mapping[str, Embed] = {
        "qmlir": lambda feeds: next(iter(program(feeds).values())),
        f"ONNX Runtime {DYNAMIC}": lambda feeds: next(iter(peer(feeds).values())),
    }
    wanted = [np.concatenate([next(iter(exact(feeds).values())) for feeds in each]) for each in judged]
    for name, run in runs.items():
        yield from _accuracy(subject, name, [np.concatenate([run(feeds) for feeds in each]) for each in judged], wanted)
    if not lengths:
        yield from _times(subject, runs, judged[0][0], "one text")
    for length in lengths:
        yield from _times(subject, runs, _of_length(judged[1][0], length), f"one text of {length} tokens")


def main() -> None:
    """Read the command line, measure, and print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embeddings", description=__doc__)
    parser.add_argument("model", type=Path, help="an encoder of input_ids and attention_mask to one embedding")
    parser.add_argument("texts", type=Path, help="an archive of tokenized queries and documents")
    parser.add_argument("--samples", type=int, default=32, help="so many texts calibrate")
    for name in _SETTINGS:
        parser.add_argument(f"--{name.replace('_', '-')}", default="", help="that of qmlir quantize")
    parser.add_argument("--effort", type=int, help="of repairs")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lengths", type=int, nargs="+", default=[], help="texts of so many tokens are timed")
    add_output(parser)
    arguments = parser.parse_args()
    with np.load(arguments.texts) as texts:
        given = {name: text for name in _SETTINGS if (text := getattr(arguments, name))}
        settings = {**given, "effort": arguments.effort}
        effort = "" if arguments.effort is None else f"effort {arguments.effort}"
        parts = (arguments.model.stem, arguments.texts.stem, " ".join(given.values()), effort)
        subject = ", ".join(filter(None, parts))
        rows = list(
            _rows(
                subject, arguments.model, dict(texts), arguments.samples, arguments.threads, arguments.lengths, settings
            )
        )
    print_rows(rows, arguments)


if __name__ == "__main__":
    main()
