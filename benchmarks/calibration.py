"""Measures calibration: profiles of float models beside ONNX Runtime, which only runs them on the same samples.

`python -m benchmarks.calibration [MODEL.onnx COUNT]…`, one thread (`OPENBLAS_NUM_THREADS=1` for what NumPy computes);
by default ResNet-50 with random weights and 64 samples. The first profile loads what it needs and compiles, where that
is worth it, into a cache of its own; the second finds all of it there. Samples are normally distributed, a size that a
model leaves open is 1 in each.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import qmlir
from benchmarks.architectures import with_random_weights
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import quantize_pipeline

_INTERPRETED = 16
"""Samples of which the interpreter's time is taken."""

_THREADS = "OPENBLAS_NUM_THREADS"


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


def _samples(session: Any, count: int) -> list[dict[str, Any]]:
    generator = np.random.default_rng(0)
    shapes = {port.name: [size if isinstance(size, int) else 1 for size in port.shape] for port in session.get_inputs()}
    return [
        {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(count)
    ]


def measure(path: Path, count: int, clock: Callable[[], float]) -> Iterator[str]:
    """The times of one model, a line each."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    samples = _samples(session, count)
    module = qmlir.load(path)
    pipeline = quantize_pipeline({}, module)
    lowered = run_pipeline(module, pipeline.passes("target", "lower"))
    session.run(None, samples[0])
    peer = _seconds(lambda: [session.run(None, each) for each in samples], clock)
    yield f"{path.stem}, {count} samples: ONNX Runtime runs them in {peer:.3g} s"
    for name in ("the first", "the second"):
        spent = _seconds(lambda: qmlir.profile(lowered, samples), clock)
        yield f"  {name} profile: {spent:.3g} s, {spent / peer:.3g} times that"
    few = samples[:_INTERPRETED]
    spent = _seconds(lambda: qmlir.profile(lowered, few, compiled=False), clock) / len(few) * count
    yield f"  in the interpreter, from {len(few)} samples: {spent:.3g} s, {spent / peer:.3g} times that"


def _main() -> None:
    parser = argparse.ArgumentParser(description="Measures calibration beside ONNX Runtime running the float model.")
    parser.add_argument("models", nargs="*", metavar="MODEL COUNT", help="models and how many samples each gets")
    parser.add_argument("--processor-time", action="store_true", help="of this process, beside other work")
    arguments = parser.parse_args()
    if os.environ.get(_THREADS) != "1":
        parser.error(f"set {_THREADS}=1: threads of NumPy's BLAS that wait take processor time, too")
    os.environ["QMLIR_COMPILE_PROCESSES"] = "1"
    clock = time.process_time if arguments.processor_time else time.perf_counter
    with tempfile.TemporaryDirectory() as folder:
        os.environ["QMLIR_CACHE_DIR"] = str(Path(folder) / "cache")
        given: list[str] = arguments.models
        if not given:
            path = Path(folder) / "resnet50.onnx"
            path.write_bytes(with_random_weights("resnet50").SerializeToString())
            given = [str(path), "64"]
        for name, count in zip(given[::2], given[1::2], strict=True):
            for line in measure(Path(name), int(count), clock):
                print(line, flush=True)


if __name__ == "__main__":
    _main()
