"""Executors that users pass as `cluster`: the same results, one line for each fault."""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.extensions.cluster import dask
from qmlir.interpreter.jobs import Environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.workflows.workers import environment, workers_of
from tests.support.executors import PicklingExecutor

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
MODEL = EXAMPLES / "digits_cnn.onnx"


def samples(count: int) -> np.ndarray:
    with np.load(EXAMPLES / "digits_samples.npz") as data:
        return data["input"][:count]


@pytest.mark.parametrize("make", [PicklingExecutor, partial(ThreadPoolExecutor, 3)], ids=["pickling", "threads"])
def test_any_executor_gives_the_same_profile(make: Callable[[], Executor], tmp_path: Path) -> None:
    expected = qmlir.profile(MODEL, samples(12), compiled=False).to_text()
    with make() as executor:
        for size, processes in ((1, 1), (5, 3)):
            options: dict[str, Any] = {"batch_size": size, "processes": processes, "compiled": False}
            found = qmlir.profile(MODEL, samples(12), cluster=executor, **options)
            assert found.to_text() == expected
        found = qmlir.profile(MODEL, samples(12), cluster=executor, resume=tmp_path, batch_size=4, compiled=False)
        assert found.to_text() == expected
        # The workers of an executor and this process have one environment: their answers serve both.
        before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        found = qmlir.profile(MODEL, samples(12), resume=tmp_path, batch_size=4, compiled=False)
        assert found.to_text() == expected
        assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_a_pool_of_processes_is_a_cluster() -> None:
    with ProcessPoolExecutor(1) as executor:
        found = qmlir.quantize(MODEL, samples(12), cluster=executor)
    assert str(found.module) == str(qmlir.quantize(MODEL, samples(12)).module)


def test_a_value_that_is_not_a_number_is_the_same_error() -> None:
    data = samples(6).copy()
    data[4, 0, 3, 3] = np.nan
    with pytest.raises(DiagnosticError) as here:
        qmlir.profile(MODEL, data)
    with pytest.raises(DiagnosticError) as there:
        qmlir.profile(MODEL, data, cluster=PicklingExecutor(), batch_size=2)
    assert str(there.value) == str(here.value)


class Answering(Executor):
    """Answers every call with the result of one function."""

    def __init__(self, answer: Callable[[], Environment]) -> None:
        self.answer = answer

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = Future[Any]()
        try:
            future.set_result(self.answer())
        except ImportError as error:
            future.set_exception(error)
        return future


def test_an_executor_with_another_qmlir_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Environment:
        raise ModuleNotFoundError("No module named 'qmlir'")

    ours = environment()
    for answer, message in (
        (missing, r"^error: a worker cannot import qmlir .*: .*No module named 'qmlir'"),
        (lambda: {**ours, "qmlir": "0.0.9"}, f"a worker differs from this process: qmlir {ours['qmlir']} and 0.0.9$"),
    ):
        with pytest.raises(DiagnosticError, match=message), workers_of(Answering(answer)):
            pass
    other = Answering(lambda: {**ours, "CPU": "z80"})
    with workers_of(other) as found:
        assert found is not None
    with (
        pytest.raises(DiagnosticError, match=r"the CPU of the cluster must be that of this machine \(.*\), but is z80"),
        workers_of(other, same_processor=True),
    ):
        pass


def test_an_address_requires_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "find_spec", lambda name: None)
    with pytest.raises(DiagnosticError, match=r"^error: --cluster requires Dask; run pip install 'qmlir\[cluster\]'$"):
        qmlir.profile(MODEL, samples(1), cluster="tcp://127.0.0.1:9")
