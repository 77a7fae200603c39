"""How far the outputs of quantized encoders are above their error, and how long one run takes.

`python -m benchmarks.encoders vit.onnx whisper.onnx`: beside each model lies an archive of samples, `vit.npz`, with an
array for each input and a leading axis of samples. The first ones calibrate, the others are judged, against what ONNX
Runtime computes in floats. Its static int8 is beside: QDQ, per channel, prepared as its documentation advises.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

import qmlir
from benchmarks.rows import BenchRow, add_output, print_rows, ratio_row, readable, row_of
from benchmarks.subjects import STATIC
from qmlir.extensions.bench.peers import FORMS
from qmlir.extensions.bench.peers import quantize as quantize_by_peer
from qmlir.extensions.report.timing import interleaved
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.workflows.comparison.errors import ErrorSums

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]
Run = Callable[[Feeds], Mapping[str, Array]]

_SQNR_BAR = 0.5
"""How many decibels an output of ours may have less than ONNX Runtime's."""


def _samples(model: Path) -> list[Feeds]:
    with np.load(model.with_suffix(".npz")) as archive:
        arrays = dict(archive)
    count = min(map(len, arrays.values()))
    return [{name: array[position : position + 1] for name, array in arrays.items()} for position in range(count)]


def _sqnr(run: Run, judged: Sequence[Feeds], wanted: Sequence[Mapping[str, Array]]) -> dict[str, float]:
    """The signal-to-noise ratio of each output, in decibels."""
    sums = {name: ErrorSums() for name in wanted[0]}
    for feeds, exact in zip(judged, wanted, strict=True):
        for found, (name, array) in zip(run(feeds).values(), exact.items(), strict=True):
            sums[name].add(array, found)
    return {name: each.sqnr_db for name, each in sums.items()}


def encoder_rows(model: Path, samples: int, threads: int) -> Iterator[BenchRow]:
    """The figures of one model, of which so many samples calibrate."""
    data = _samples(model)
    calibrating, judged = data[:samples], data[samples:]
    shapes = {name: array.shape for name, array in data[0].items()}
    program = qmlir.compile(qmlir.quantize(qmlir.load(model, shapes=shapes), calibrating).module, threads=threads)
    with TemporaryDirectory() as folder:
        quantize_by_peer(model, Path(folder) / "static.onnx", FORMS[STATIC], calibrating)
        options = OrtOptions(threads=threads)
        peer, exact = OrtSession(Path(folder) / "static.onnx", options), OrtSession(model, options)
    runs: Mapping[str, Run] = {"qmlir": program, f"ONNX Runtime {STATIC}": peer}
    wanted = [exact(feeds) for feeds in judged]
    figures = {name: _sqnr(run, judged, wanted) for name, run in runs.items()}
    for name, figure in figures.items():
        for output, decibels in figure.items():
            yield BenchRow(f"SQNR of {output}, {name}", decibels, None, "dB", subject=model.stem)
    own, other = figures.values()
    for output, decibels in own.items():
        lost = other[output] - decibels if math.isfinite(decibels) else -math.inf
        yield BenchRow(f"SQNR of {output} lost to ONNX Runtime", lost, _SQNR_BAR, "dB", subject=model.stem)
    times = interleaved({name: partial(run, judged[0]) for name, run in runs.items()})
    ours, theirs = times.values()
    scale, unit = readable(ours.median)
    for name, each in times.items():
        yield row_of(each, name, scale, unit, model.stem)
    yield ratio_row(model.stem, f"qmlir over ONNX Runtime {STATIC}", ours, [theirs])


def main() -> None:
    """Read the command line, measure, and print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoders", description=__doc__)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="an ONNX model, its samples beside it")
    parser.add_argument("--samples", type=int, default=16, help="so many samples calibrate")
    parser.add_argument("--threads", type=int, default=1)
    add_output(parser)
    arguments = parser.parse_args()
    rows = [row for model in arguments.models for row in encoder_rows(model, arguments.samples, arguments.threads)]
    print_rows(rows, arguments)


if __name__ == "__main__":
    main()
