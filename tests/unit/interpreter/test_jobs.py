"""Jobs: digests of what is sent, answers in order, processes, and the folder that keeps what is done."""

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.interpreter.jobs import (
    SUFFIX,
    Begun,
    Environment,
    Job,
    ShippedModule,
    Workers,
    content_digest,
    in_order,
    perform,
    process_workers,
    read_part,
    write_part,
)
from qmlir.interpreter.samples import Run
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler, text_error, warn_once
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text
from tests.support.dying_worker import begin_naming
from tests.support.executors import PicklingExecutor

asked: list[int] = []
"""The tasks of `begin_adding` that ran in this process."""


def begin_adding(shared: int) -> Begun:
    def add(task: int) -> bytes:
        asked.append(task)
        return str(shared + task).encode()

    return add


def begin_ending(shared: int) -> Begun:
    return lambda task: os._exit(shared)


def begin_warning(shared: str) -> Begun:
    def work(task: int) -> bytes:
        warn_once(shared)
        if task == 7:
            raise text_error("seven is too many")
        return b"%d" % task

    return work


def test_digests_tell_what_differs() -> None:
    array = np.arange(6, dtype=np.float32)
    contents = [
        None, 0, 0.0, "0", b"0", [0], [[0]], [0, 0], {"a": 0}, {"b": 0}, array, array.reshape(2, 3),
        array.astype(np.float64), array.view(np.int32), Run(0, 1, (array,)), Run(1, 1, (array,)), ["ab", "c"],
        ["a", "bc"], ["a", "b", "c"], [b"ab", b"c"], [b"a", b"bc"],
    ]  # fmt: skip
    digests = [content_digest(each) for each in contents]
    assert len(set(digests)) == len(contents)
    assert digests == [content_digest(pickle.loads(pickle.dumps(each))) for each in contents]
    assert content_digest(array.reshape(2, 3)) == content_digest(np.asfortranarray(array.reshape(2, 3)))
    assert content_digest({"a": 1, "b": 2}) == content_digest({"b": 2, "a": 1})
    with pytest.raises(TypeError, match="a job must contain only data, but got object"):
        content_digest([object()])


def test_other_code_of_a_plug_in_is_another_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has loaded it goes on with what it has; another one finds what is new, and refuses the old job."""
    file = tmp_path / "changing_plug.py"
    text = "from qmlir.registry import INTERFACE, Contribution\nCONTRIBUTION = Contribution(built_for=INTERFACE)\n"

    def job() -> Job:
        with registry.plugged([registry.plugin(str(file))]):
            return Job(begin_adding, 5)

    file.write_text(text)
    first = job()
    file.write_text(text + "# other code\n")
    assert job().key == first.key
    monkeypatch.delitem(sys.modules, "changing_plug")
    assert job().key != first.key
    with registry.plugged([registry.plugin(str(file))]):
        Job(begin_adding, 5).continue_here()
        with pytest.raises(DiagnosticError, match="restart it with the same plug-ins"):
            first.continue_here()
    monkeypatch.delitem(sys.modules, "changing_plug")


def test_answers_come_in_order_and_few_are_ahead() -> None:
    sent: list[int] = []
    found: list[int] = []

    def start(task: int) -> Callable[[], int]:
        sent.append(task)
        assert len(sent) - len(found) <= 4
        return lambda: task

    for each in in_order(map(start, range(9)), lambda: 3):
        found.append(each)
    assert found == [*range(9)]


def test_diagnostics_of_workers_are_emitted_once() -> None:
    said: list[Diagnostic] = []
    answers = Workers(PicklingExecutor()).map(Job(begin_warning, "careful"), [1, 2, 7, 3])
    with diagnostic_handler(said.append):
        assert [next(answers), next(answers)] == [b"1", b"2"]
        with pytest.raises(DiagnosticError, match=r"^error: seven is too many$"):
            next(answers)
    assert said == [Diagnostic(Severity.WARNING, "careful")]


@pytest.mark.parametrize("make", [PicklingExecutor, partial(ThreadPoolExecutor, 2)])
def test_any_executor_gives_the_same_answers(make: Callable[[], Executor]) -> None:
    job = Job(begin_adding, 5)
    with make() as executor:
        assert list(Workers(executor, 2).map(job, range(9))) == list(Workers().map(job, range(9)))


def test_an_environment_that_differs_is_told() -> None:
    workers = Workers(PicklingExecutor(), environment={"numpy": "2.1", "CPU": "z80"}, describe=other_environment)
    with pytest.raises(DiagnosticError, match=r"^error: a worker has a different environment: numpy 2\.1 and 2\.2$"):
        list(workers.map(Job(begin_adding, 5), [0]))


def other_environment() -> Environment:
    return {"numpy": "2.2", "CPU": "6502"}


def test_threads_of_jobs_with_other_plug_ins_take_turns() -> None:
    plain = Job(begin_naming, 0)
    with registry.plugged([registry.plugin("tests.support.observers")]):
        other = Job(begin_naming, 1)

    def work(number: int) -> bytes:
        job = (plain, other)[number % 2]
        return perform(job.key, pickle.dumps(job), number, None, None).content

    with registry.plugged([]), ThreadPoolExecutor(3) as executor:
        found = set(executor.map(work, range(60)))
    assert found == {b"0: ()", b"1: ('tests.support.observers',)"}


def begin_once_failing(shared: list[int]) -> Begun:
    """Answers with all tasks since it began; 3 fails."""
    had = list[int]()

    def work(task: int) -> bytes:
        had.append(task)
        if task == 3:
            raise text_error("three")
        return repr(had).encode()

    return work


def test_a_job_that_failed_is_begun_again() -> None:
    with ThreadPoolExecutor(1) as executor:
        workers, job = Workers(executor), Job(begin_once_failing, [])
        assert list(workers.map(job, [1, 2])) == [b"[1]", b"[1, 2]"]
        with pytest.raises(DiagnosticError, match="three"):
            list(workers.map(job, [3]))
        assert list(workers.map(job, [4])) == [b"[4]"]


def test_processes_give_the_same_answers() -> None:
    job = Job(begin_adding, 5)
    with process_workers(2) as pool:
        assert list(pool.map(job, range(5))) == list(Workers().map(job, range(5)))


def begin_counting(start: int) -> Begun:
    """Answers with the process, and how many tasks of this job it has had."""
    had = iter(range(start, start + 100))
    return lambda task: f"{os.getpid()} {next(had)}".encode()


def test_processes_stay_for_the_next_job_and_begin_each_once() -> None:
    first, other = Job(begin_counting, 0), Job(begin_counting, 50)
    with process_workers(1) as pool:
        told = [list(pool.map(job, range(2))) for job in (first, other, Job(begin_counting, 0))]
        abandoned: Any = pool.map(other, range(40))
        next(abandoned)
        abandoned.close()  # what it was asked for beyond that is not done
        told.append(list(pool.map(other, [0])))
    assert len({answer.split()[0] for each in told for answer in each}) == 1
    counts = [[int(answer.split()[1]) for answer in each] for each in told]
    assert counts[:3] == [[0, 1], [50, 51], [2, 3]]
    assert counts[3][0] < 60


def test_a_process_that_ends_is_an_error() -> None:
    with process_workers(1) as pool:
        for job in (Job(begin_ending, 0), Job(begin_adding, 5)):
            with pytest.raises(DiagnosticError, match="a worker process ended unexpectedly: A "):
                list(pool.map(job, [0]))
    with process_workers(1) as pool:
        assert list(pool.map(Job(begin_adding, 5), [1])) == [b"6"]


def test_no_processes_are_an_error() -> None:
    with pytest.raises(DiagnosticError, match="number of processes must be at least 1, but got 0"), process_workers(0):
        pass


def _interrupted(tasks: Iterable[int]) -> Iterator[int]:
    yield from tasks
    raise KeyboardInterrupt


@pytest.mark.parametrize("executor", [None, PicklingExecutor()])
def test_an_interrupted_run_computes_the_missing_answers(tmp_path: Path, executor: Executor | None) -> None:
    folder, job = tmp_path / "new" / "parts", Job(begin_adding, 5)

    def run(of: Job, tasks: Iterable[int], environment: Environment | None = None) -> list[bytes]:
        asked.clear()
        return list(Workers(executor, environment=environment, folder=folder).map(of, tasks))

    with pytest.raises(KeyboardInterrupt):
        run(job, _interrupted(range(4)))
    stored = len(list(folder.iterdir()))
    assert stored == (4 if executor is None else 2)  # an executor runs two tasks ahead
    assert run(job, range(8)) == [b"%d" % (5 + each) for each in range(8)]
    assert asked == [*range(stored, 8)]
    # Answers serve any order of tasks, but no other job and no other environment.
    for of, tasks, environment, missing in (
        (job, [6, 1, 4], None, []),
        (job, [9, 1, 8, 4], None, [9, 8]),
        (Job(begin_adding, 6), [1], None, [1]),
        (job, [1], {"CPU": "z80"}, [1]),
    ):
        assert run(of, tasks, environment) == [b"%d" % (of.shared + each) for each in tasks]
        assert asked == missing


@pytest.mark.parametrize("damage", ["empty", "cut", "altered", "longer", "other", "folder"])
def test_a_torn_file_is_written_again(tmp_path: Path, damage: str) -> None:
    job, workers = Job(begin_adding, 5), Workers(folder=tmp_path)
    assert list(workers.map(job, [1, 2])) == [b"6", b"7"]
    path = sorted(tmp_path.glob(f"*{SUFFIX}"))[0]
    whole = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
        with pytest.raises(DiagnosticError, match=r"cannot use .* not a regular file; remove it"):
            list(workers.map(job, [1, 2]))
        return
    altered = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes(
        {"empty": b"", "cut": whole[:-1], "altered": altered, "longer": whole + b" ", "other": b"[1]\n"}[damage]
    )
    asked.clear()
    assert list(workers.map(job, [1, 2])) == [b"6", b"7"]
    assert len(asked) == 1
    assert path.read_bytes() == whole


def _is_long(task: int, content: bytes) -> bool:
    return len(content) > task


def test_an_answer_that_does_not_fit_is_computed_again(tmp_path: Path) -> None:
    job, workers = Job(begin_adding, 5, fits=_is_long), Workers(folder=tmp_path)
    assert job.key == Job(begin_adding, 5).key
    assert list(workers.map(job, [0])) == [b"5"]
    (path,) = tmp_path.iterdir()
    write_part(path, b"")
    asked.clear()
    assert list(workers.map(job, [0])) == [b"5"]
    assert asked == [0]
    assert read_part(path) == b"5"


def test_parts_are_kept_as_they_are(tmp_path: Path) -> None:
    for content in (b"", b"\n\n", bytes(range(256)) * 100):
        write_part(tmp_path / "a.part", content)
        assert read_part(tmp_path / "a.part") == content
    assert read_part(tmp_path / "b.part") is None


def test_a_shipped_module_is_the_same() -> None:
    numbers = ", ".join(map(str, range(600)))
    text = f"""
        func.func @main(%x: tensor<600xf32> {{nn.name = "x"}}) -> tensor<600xf32> {{
          %w = nn.constant dense<[{numbers}]> : tensor<600xf32> {{origin = "w"}}
          %0 = nn.mul %x, %w : (tensor<600xf32>, tensor<600xf32>) -> tensor<600xf32> {{origin = "a", role = "b"}}
          func.return %0 : tensor<600xf32>
        }}"""
    module = parse_module(default_environment().new_context(), text)
    shipped = ShippedModule.of(module)
    assert sorted(shipped.files) == ["module.mlir", "module.safetensors"]
    assert module_text(pickle.loads(pickle.dumps(shipped)).module()) == module_text(module)
