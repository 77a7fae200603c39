"""Measures a profile by the workers of a Dask cluster on this machine: seconds, and processor time of all of them.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.cluster MODEL.onnx DATA.npz --samples 10000 --workers 1 2 3 --kill

One process comes first. Each cluster has workers of one thread, which are warm: they have begun and compiled with the
first samples. The scheduler runs in this process, so its processor time is counted here. With `--kill` a worker of the
last cluster is killed in the middle of one more run. Every profile has to have the text of the first one. `DATA` is the
array `x_train` of the file, or its only one, as floats between 0 and 1 where it holds bytes.
"""

import argparse
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import qmlir
from qmlir.quantization.profiles.profile import Profile

_THREADS = "OPENBLAS_NUM_THREADS"

_WARM = 600
"""Samples of the run before: so many that it is run in the way of all."""


def _samples(path: Path, count: int) -> np.ndarray:
    with np.load(path) as data:
        array = data["x_train" if "x_train" in data else next(iter(data))]
    array = array[np.arange(count) % len(array)]
    return array.astype(np.float32) / 255 if array.dtype == np.uint8 else array


class _Spent:
    """Seconds, and processor seconds here and in each worker, since it was made."""

    def __init__(self, client: Any = None) -> None:
        self._client = client
        self._wall, self._here, self._there = time.perf_counter(), time.process_time(), self._workers()

    def _workers(self) -> Mapping[str, float]:
        return {} if self._client is None else self._client.run(time.process_time)

    def text(self) -> str:
        """All of it."""
        wall, here, there = time.perf_counter() - self._wall, time.process_time() - self._here, self._workers()
        each = [spent - self._there.get(name, 0.0) for name, spent in sorted(there.items())]
        workers = f", workers {' + '.join(f'{spent:.2f}' for spent in each)}" if each else ""
        return f"{wall:.2f} s; processor time: here {here:.2f}{workers} s"


def measure(model: Path, samples: np.ndarray, counts: list[int], is_killing: bool) -> Iterator[str]:
    """A line for each run."""
    distributed: Any = import_module("distributed")
    qmlir.profile(model, samples[:_WARM])
    spent = _Spent()
    expected = qmlir.profile(model, samples)
    yield f"{model.stem}, {len(samples)} samples, one process: {spent.text()}"

    def check(found: Profile) -> None:
        assert found.to_text() == expected.to_text(), "the profile is another one"

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    for count in counts:
        with distributed.LocalCluster(n_workers=count, **options) as cluster, distributed.Client(cluster) as client:
            qmlir.profile(model, samples[:_WARM], cluster=client, batch_size=_WARM // count // 4)
            spent = _Spent(client)
            check(qmlir.profile(model, samples, cluster=client))
            yield f"  {count} workers: {spent.text()}; the same text"
            if is_killing and count == counts[-1]:
                spent = _Spent(client)
                victim = next(iter(client.run(os.getpid).values()))
                threading.Timer(1.0, os.kill, (victim, signal.SIGKILL)).start()
                check(qmlir.profile(model, samples, cluster=client))
                yield f"  {count} workers, one of them killed after a second: {spent.text()}; the same text"


def _main() -> None:
    parser = argparse.ArgumentParser(description="Measures a profile by the workers of a Dask cluster.")
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--kill", action="store_true", help="kill a worker of the last cluster in one more run")
    arguments = parser.parse_args()
    if os.environ.get(_THREADS) != "1":
        parser.error(f"set {_THREADS}=1: threads of NumPy's BLAS that wait take processor time, too")
    samples = _samples(arguments.data, arguments.samples)
    for line in measure(arguments.model, samples, arguments.workers, arguments.kill):
        print(line, flush=True)


if __name__ == "__main__":
    _main()
