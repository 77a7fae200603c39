"""A cluster of Dask: the same text by any number of workers, by workers that end, and by a run that goes on.

Its workers are processes of this machine with one thread each; they share the folder of compiled programs.
"""

import errno
import io
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir import registry
from qmlir.extensions.search import budget, trials
from qmlir.extensions.search.trials import Measurements
from qmlir.interpreter.jobs import Job, read_part, write_part
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.tools import qmlir_cli
from qmlir.workflows import quantizing
from qmlir.workflows.evaluating import Batch
from qmlir.workflows.workers import environment, workers_of
from tests.support.classifiers import classifier
from tests.support.classifiers import samples as classified
from tests.support.dying_worker import begin_dying, begin_naming

dask: Any = pytest.importorskip("dask")
distributed: Any = pytest.importorskip("distributed")
dask_workers: Any = import_module("qmlir.extensions.cluster.dask")
DaskWorkers: Any = dask_workers.DaskWorkers

EXAMPLES = Path(__file__).resolve().parents[4] / "docs" / "examples"
MODEL, SAMPLES = EXAMPLES / "digits_cnn.onnx", EXAMPLES / "digits_samples.npz"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One worker; a test adds others, which stay."""
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    with distributed.LocalCluster(n_workers=1, **options) as found:
        yield found


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster, set_as_default=False) as found:
        yield found


def samples(count: int) -> np.ndarray:
    with np.load(SAMPLES) as data:
        return data["input"][:count]


def test_one_two_and_three_workers_give_one_text(cluster: Any, client: Any) -> None:
    """24 samples are interpreted, in tasks of any size; 256 are recorded in two groups of 128."""
    recorded = qmlir.profile(MODEL, SAMPLES).to_text()
    interpreted = qmlir.profile(MODEL, samples(24), compiled=False).to_text()
    for count, size in ((1, 24), (2, 7), (3, 1)):
        cluster.scale(count)
        client.wait_for_workers(count)
        assert len(client.nthreads()) == count
        found = qmlir.profile(MODEL, samples(24), compiled=False, cluster=client, batch_size=size)
        assert found.to_text() == interpreted
        if count == 1:
            assert qmlir.profile(MODEL, SAMPLES, cluster=client, batch_size=128).to_text() == recorded


def test_a_worker_that_ends_changes_nothing(client: Any) -> None:
    before = client.run(os.getpid)
    ended: list[str] = []

    def data() -> Iterator[np.ndarray]:
        for position, sample in enumerate(samples(48)):
            if position == 16:  # some tasks of each worker are waiting
                worker, process = next(iter(before.items()))
                os.kill(process, signal.SIGKILL)
                ended.append(worker)
            yield sample

    found = qmlir.profile(MODEL, data(), compiled=False, cluster=client, batch_size=1)
    assert found.to_text() == qmlir.profile(MODEL, samples(48), compiled=False).to_text()
    assert ended
    assert not set(ended) & set(client.nthreads())


def test_a_worker_that_ends_while_it_is_given_the_job_changes_nothing(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler of `distributed` then draws more workers than it has."""
    asked: list[Any] = []

    def replicate(futures: Any, *, callback_timeout: float) -> None:
        asked.append(futures)
        raise ValueError("Sample larger than population or is negative")

    monkeypatch.setattr(client, "replicate", replicate)
    found = qmlir.profile(MODEL, samples(4), compiled=False, cluster=client, batch_size=1)
    assert found.to_text() == qmlir.profile(MODEL, samples(4), compiled=False).to_text()
    assert asked


def test_a_run_that_was_ended_goes_on(client: Any, tmp_path: Path) -> None:
    """With the same command, on the cluster or without it: here both have one kind of machine."""

    def data() -> Iterator[np.ndarray]:
        yield from samples(20)
        raise KeyboardInterrupt

    options: dict[str, Any] = {"compiled": False, "batch_size": 2, "resume": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        qmlir.profile(MODEL, data(), cluster=client, **options)
    first = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert 1 < len(first) < 11
    torn, *_ = first
    torn.write_bytes(torn.read_bytes()[:-1])
    found = qmlir.profile(MODEL, samples(20), cluster=client, **options)
    assert found.to_text() == qmlir.profile(MODEL, samples(20), compiled=False).to_text()
    second = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(second) == 11  # ten of two samples each, and the way to run them
    assert [path for path in first if second[path] != first[path]] == [torn]
    assert qmlir.profile(MODEL, samples(20), **options).to_text() == found.to_text()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == second


def test_parts_of_something_else_are_done_again(tmp_path: Path) -> None:
    """Whoever may write the folder writes files with the right digests, too."""
    options: dict[str, Any] = {"compiled": False, "batch_size": 1, "resume": tmp_path}
    expected = qmlir.profile(MODEL, samples(2), **options).to_text()
    parts = {path: read_part(path) or b"" for path in tmp_path.iterdir()}
    (way,) = (path for path, content in parts.items() if len(content) < 20)
    first, second = (path for path in parts if path != way)
    for path, content in [(way, b"x"), (way, b"0 0"), (way, b"-1 -1"), (way, b"7 1"), (first, parts[second])]:
        write_part(path, content)
        assert qmlir.profile(MODEL, samples(2), **options).to_text() == expected
        assert read_part(path) == parts[path]


def test_measurements_that_do_not_fit_are_told() -> None:
    batch = Batch({}, 2, 2)
    predicting = None, (batch, batch)
    assert trials._is_prediction(predicting, bytes(32))  # pyright: ignore[reportPrivateUsage]
    assert not trials._is_prediction(predicting, bytes(31))  # pyright: ignore[reportPrivateUsage]
    assert trials._is_change(3, (0, batch), np.ones(3 * trials.PASSES).tobytes())  # pyright: ignore[reportPrivateUsage]
    assert not trials._is_change(3, (0, batch), np.ones(2).tobytes())  # pyright: ignore[reportPrivateUsage]
    assert not trials._is_change(1, (0, batch), np.full(trials.PASSES, np.nan).tobytes())  # pyright: ignore[reportPrivateUsage]
    for content, is_noise in ((b"1.5", True), (b"inf", True), (b"nan", False), (b"x", False), (b"1" * 99, False)):
        assert trials._is_noise(({}, {}), content) == is_noise  # pyright: ignore[reportPrivateUsage]


def command(*words: Any) -> tuple[int, str]:
    err = io.StringIO()
    code = qmlir_cli.main([*map(str, words), "--quiet"], stdout=io.StringIO(), stderr=err)
    return code, err.getvalue()


def test_the_command_takes_the_address(cluster: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "samples.npz", input=samples(16))
    words = ("profile", MODEL, "--data", tmp_path / "samples.npz", "-o")
    assert command(*words, tmp_path / "one") == (0, "")
    more = ("--cluster", cluster.scheduler_address, "--resume", tmp_path / "parts")
    assert command(*words, tmp_path / "two", *more) == (0, "")
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()
    assert any((tmp_path / "parts").iterdir())


def test_quantizing_hands_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Any, Any]] = []

    def profiled(*arguments: Any, cluster: Any, resume: Any, **options: Any) -> Any:
        given.append((cluster, resume))
        return qmlir.profile(*arguments, **options)

    monkeypatch.setattr(quantizing, "profile_of", profiled)
    qmlir.quantize(classifier(), {"x": classified()[0]}, validate=False, cluster="tcp://there", resume="parts")
    assert given == [("tcp://there", "parts")]


def test_a_search_finds_the_same(client: Any, tmp_path: Path) -> None:
    """And has measured the same, where several choices are measured together."""
    inputs, labels = classified()
    states: list[str] = []
    results: list[dict[str, Any]] = []
    for name, cluster in (("here", None), ("there", client)):
        options = {"min_accuracy": 1.0, "weights": "i4", "state": tmp_path / name, "engine": "interpreter"}
        found = qmlir.search(qmlir.load(classifier()), {"x": inputs}, labels=labels, cluster=cluster, **options)
        results.append(found.to_dict())
        states.append((tmp_path / name).read_text())
    assert results[0] == results[1]
    assert states[0] == states[1]


def test_a_value_that_is_not_a_number_is_the_same_error(client: Any) -> None:
    data = samples(6).copy()
    data[4, 0, 3, 3] = np.nan
    with pytest.raises(DiagnosticError) as here:
        qmlir.profile(MODEL, data)
    with pytest.raises(DiagnosticError) as there:
        qmlir.profile(MODEL, data, cluster=client, batch_size=2)
    assert str(there.value) == str(here.value)
    # What the workers had recorded before is in no other profile.
    data[4, 0, 3, 3] = 0.5
    assert qmlir.profile(MODEL, data, cluster=client, batch_size=2).to_text() == qmlir.profile(MODEL, data).to_text()


def test_a_task_that_ends_workers_is_given_up(cluster: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with workers_of(client) as workers:
        assert workers is not None
        with pytest.raises(
            DiagnosticError, match="failed: 1 worker ended while running one task, most recently tcp://"
        ):
            list(workers.map(Job(begin_dying, None), [0]))


def test_a_cluster_without_workers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the client has not heard yet that the job ended with its worker."""
    monkeypatch.setattr(dask_workers, "_WAIT_SECONDS", 0.1)
    monkeypatch.setattr(dask_workers, "_ALONE_SECONDS", 0.3)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    said: list[Diagnostic] = []
    with distributed.LocalCluster(protocol="tcp", **options) as cluster, workers_of(cluster.scheduler_address) as found:
        assert found is not None
        answers = found.map(Job(begin_naming, 0), iter([1, 2]))
        assert next(answers) == b"0: ()"
        cluster.scale(0)
        end = time.monotonic() + 9
        while cluster.scheduler.workers and time.monotonic() < end:
            time.sleep(0.02)
        monkeypatch.setattr(distributed.Future, "status", "finished")
        with (
            diagnostic_handler(said.append),
            pytest.raises(DiagnosticError, match=r"had no workers for 0 s; start some, .* --resume to continue"),
        ):
            list(found.map(Job(begin_naming, 0), [3]))
    assert [each.message.partition(" has ")[2].partition(";")[0] for each in said] == ["no workers left"]


def test_an_error_of_files_is_no_lost_connection(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with workers_of(client) as workers:
        assert workers is not None

        def full(*arguments: Any, **options: Any) -> Any:
            raise OSError(errno.ENOSPC, "no space left")

        list(workers.map(Job(begin_naming, 0), [0]))
        monkeypatch.setattr(client, "submit", full)
        with pytest.raises(OSError, match="no space left"):
            list(workers.map(Job(begin_naming, 0), [0]))


def test_each_job_has_its_plug_ins(client: Any) -> None:
    """A worker that goes from one to the other and back, and threads that do both at once."""
    plugged = registry.plugged([registry.plugin("tests.support.observers")])
    with workers_of(client) as workers:
        assert workers is not None
        for number in range(3):
            with plugged if number == 1 else nullcontext():
                job = Job(begin_naming, 0)
            found = [*workers.map(job, [number])]
            assert found == ([b"0: ('tests.support.observers',)"] if number == 1 else [b"0: ()"])


def test_times_are_those_of_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures that were measured elsewhere, and lie in the same file, are not taken."""
    asked: list[Any] = []

    def of(widths: Any) -> dict[str, int]:
        asked.append(widths)
        return {"": 7}

    latency: Any = SimpleNamespace(threads=1, layered=SimpleNamespace(layers={}), of=of)
    figures = Measurements("key")
    for processor in ("z80", "z80", "6502"):
        kind = {**environment(), "CPU": processor}
        monkeypatch.setattr(budget, "environment", lambda kind=kind: kind)
        assert budget._times(latency, {}, figures) == {"": 7}  # pyright: ignore[reportPrivateUsage]
    assert len(asked) == 2


def test_a_cluster_that_is_lost_is_a_line() -> None:
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    quickly = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with quickly, distributed.LocalCluster(protocol="tcp", **options) as lost:

        def data() -> Iterator[np.ndarray]:
            for position, sample in enumerate(samples(12)):
                if position == 6:
                    lost.close()
                yield sample

        with pytest.raises(
            DiagnosticError,
            match=r"^error: lost the connection to the cluster tcp://.*; run again with --resume to continue$",
        ):
            qmlir.profile(MODEL, data(), compiled=False, cluster=lost.scheduler_address, batch_size=1)


def test_a_client_that_gave_up_leaves_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Futures of a client that closed because it could not reconnect stay pending."""
    monkeypatch.setattr(dask_workers, "_WAIT_SECONDS", 0.1)
    workers = dask_workers.DaskWorkers.__new__(dask_workers.DaskWorkers)
    vars(workers).update(
        _client=SimpleNamespace(status="closed", scheduler=SimpleNamespace(address="tcp://x")), _where="the cluster"
    )
    with pytest.raises(DiagnosticError, match=r"^error: lost the connection to the cluster; run again with --resume"):
        workers._result(Future())


def test_no_scheduler_and_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_workers, "CONNECT_SECONDS", 0.3)
    with pytest.raises(DiagnosticError, match=r"^error: cannot reach a Dask scheduler at 'tcp://127.0.0.1:9' within"):
        qmlir.profile(MODEL, SAMPLES, cluster="tcp://127.0.0.1:9")
    with pytest.raises(
        DiagnosticError, match=r"invalid scheduler address 'nothing://here' \(expected tcp://host:port\)"
    ):
        qmlir.profile(MODEL, SAMPLES, cluster="nothing://here")


def _said(monkeypatch: pytest.MonkeyPatch, client: Any, *answers: Any) -> str:
    """The error if the workers, one after the other, have these environments, or this version or fault."""
    named = {f"tcp://worker{number}": each for number, each in enumerate(answers)}

    def asked(self: Any, function: Any, *arguments: Any) -> list[tuple[str, Any]]:
        is_version = bool(arguments)
        return [
            (name, each["qmlir"] if is_version and isinstance(each, dict) else each) for name, each in named.items()
        ]

    monkeypatch.setattr(DaskWorkers, "_asked", asked)
    with pytest.raises(DiagnosticError) as error, workers_of(client):
        pass
    return str(error.value)


def test_workers_of_another_kind(monkeypatch: pytest.MonkeyPatch, client: Any) -> None:
    ours = environment()
    assert "worker1 of the cluster tcp://" in (old := _said(monkeypatch, client, ours, "0.0.9"))
    assert old.endswith(f" has qmlir 0.0.9, but this is qmlir {ours['qmlir']}")
    none = _said(monkeypatch, client, PackageNotFoundError("qmlir"))
    assert "worker0" in none
    assert " has no qmlir (" in none
    code = "code of qmlir and its packages"
    other = _said(monkeypatch, client, {**ours, code: "other", "numpy": "1.0"})
    assert "worker tcp://worker0 of the cluster tcp://" in other
    assert other.endswith(f" differs from this process: {code} {ours[code]} and other")
    mixed = _said(monkeypatch, client, ours, {**ours, "numpy": "1.0"})
    assert "workers tcp://worker0 and tcp://worker1 of the cluster" in mixed
    assert mixed.endswith(f"results would not be deterministic: numpy {ours['numpy']} and 1.0")
    mixed = _said(monkeypatch, client, ours, ours, {**ours, "CPU": "z80"})
    assert mixed.endswith(f"CPU {ours['CPU']} and z80")


def test_a_worker_of_another_kind_that_joins_later(monkeypatch: pytest.MonkeyPatch, client: Any) -> None:
    with workers_of(client) as workers:
        assert workers is not None
        monkeypatch.setattr(workers, "environment", {**environment(), "CPU": "z80"})
        with pytest.raises(DiagnosticError, match="a worker has a different environment: CPU z80 and "):
            list(workers.map(Job(begin_dying, None), [0]))


def test_the_executor_of_a_client_is_a_cluster(client: Any) -> None:
    found = qmlir.profile(MODEL, samples(6), compiled=False, cluster=client.get_executor(), batch_size=2)
    assert found.to_text() == qmlir.profile(MODEL, samples(6), compiled=False).to_text()
