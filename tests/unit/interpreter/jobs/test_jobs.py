"""Jobs: digests of what is sent, answers in order, processes, and the folder that keeps what is done."""

import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.interpreter.jobs.job import Answer, Begun, Here, Job, Taking, answered, content_digest, in_order
from qmlir.interpreter.jobs.kept import SUFFIX, Kept, read_part, write_part
from qmlir.interpreter.jobs.processes import Processes
from qmlir.interpreter.jobs.shipping import ShippedModule
from qmlir.interpreter.samples import Run
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler, text_error, warn_once
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text


@dataclass
class Counting:
    """Workers that count what they are asked for, and may end in the middle."""

    left: int = 1 << 30
    asked: int = 0
    made_by: str = "these"
    at_once: int = 1

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        begun = job.begin(job.shared)
        for task in tasks:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            self.asked += 1
            yield begun(task)


def begin_adding(shared: int) -> Begun:
    return lambda task: str(shared + task).encode()


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
        assert Job(begin_adding, 5).begun()(1) == b"6"
        with pytest.raises(DiagnosticError, match="restart it with the same plug-ins"):
            first.begun()
    monkeypatch.delitem(sys.modules, "changing_plug")


def test_answers_come_in_order_and_few_are_ahead() -> None:
    sent: list[int] = []
    found: list[bytes] = []

    def send(task: int) -> int:
        sent.append(task)
        assert len(sent) - len(found) <= 4
        return task

    for each in in_order(range(9), send, lambda task: b"%d" % task, lambda: 3):
        found.append(each)
    assert found == [b"%d" % each for each in range(9)]


def test_what_is_said_elsewhere_is_said_here_once() -> None:
    job, taking, said = Job(begin_warning, "careful"), Taking(), list[Diagnostic]()
    with diagnostic_handler(said.append):
        answers: list[Answer] = [pickle.loads(pickle.dumps(answered(lambda n=n: job.begun()(n)))) for n in (1, 2, 7)]
        assert said == []
        assert [taking.taken(each) for each in answers[:2]] == [b"1", b"2"]
        with pytest.raises(DiagnosticError, match=r"^error: seven is too many$"):
            taking.taken(answers[2])
    assert said == [Diagnostic(Severity.WARNING, "careful")]


def test_processes_give_the_same_answers() -> None:
    job = Job(begin_adding, 5)
    with Processes(2) as pool:
        assert list(pool.map(job, range(5))) == list(Here().map(job, range(5)))


def begin_counting(start: int) -> Begun:
    """Answers with the process, and how many tasks of this job it has had."""
    had = iter(range(start, start + 100))
    return lambda task: f"{os.getpid()} {next(had)}".encode()


def test_processes_stay_for_the_next_job_and_begin_each_once() -> None:
    first, other = Job(begin_counting, 0), Job(begin_counting, 50)
    with Processes(1) as pool:
        told = [list(pool.map(job, range(2))) for job in (first, other, Job(begin_counting, 0))]
        abandoned: Any = pool.map(other, range(40))
        next(abandoned)
        abandoned.close()  # what it was asked for beyond that is not done
        told.append(list(pool.map(other, [0])))
    assert len({answer.split()[0] for each in told for answer in each}) == 1
    counts = [[int(answer.split()[1]) for answer in each] for each in told]
    assert counts[:3] == [[0, 1], [50, 51], [2, 3]]
    assert counts[3][0] < 60


def test_processes_start_again_where_one_has_ended() -> None:
    with Processes(1) as pool:
        with pytest.raises(DiagnosticError, match="a worker process ended unexpectedly: A process in the process pool"):
            list(pool.map(Job(begin_ending, 0), [0]))
        assert list(pool.map(Job(begin_adding, 5), [1])) == [b"6"]


def test_a_run_that_was_ended_does_what_is_missing(tmp_path: Path) -> None:
    folder, job = tmp_path / "new" / "parts", Job(begin_adding, 5)
    first = Counting(left=3)
    answers = Kept(first, folder).map(job, range(8))
    with pytest.raises(KeyboardInterrupt):
        list(answers)
    assert first.asked == len(list(folder.iterdir())) == 3
    expected = [b"%d" % (5 + each) for each in range(8)]
    second = Counting()
    assert list(Kept(second, folder).map(job, range(8))) == expected
    assert second.asked == 5
    # All is known, in any order of tasks; and nothing of it for another job, other code or another machine.
    for workers, of, tasks, asked in (
        (Counting(), job, [6, 1, 4], 0),
        (Counting(), job, [9, 1, 8, 4], 2),
        (Counting(), Job(begin_adding, 6), [1], 1),
        (Counting(made_by="those"), job, [1], 1),
    ):
        assert list(Kept(workers, folder).map(of, tasks)) == [b"%d" % (of.shared + each) for each in tasks]
        assert workers.asked == asked


@pytest.mark.parametrize("damage", ["empty", "cut", "altered", "longer", "other", "folder"])
def test_a_torn_file_is_written_again(tmp_path: Path, damage: str) -> None:
    job = Job(begin_adding, 5)
    assert list(Kept(Counting(), tmp_path).map(job, [1, 2])) == [b"6", b"7"]
    path = sorted(tmp_path.glob(f"*{SUFFIX}"))[0]
    whole = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
        with pytest.raises(DiagnosticError, match=r"cannot use .* not a regular file; remove it"):
            list(Kept(Counting(), tmp_path).map(job, [1, 2]))
        return
    altered = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes(
        {"empty": b"", "cut": whole[:-1], "altered": altered, "longer": whole + b" ", "other": b"[1]\n"}[damage]
    )
    workers = Counting()
    assert list(Kept(workers, tmp_path).map(job, [1, 2])) == [b"6", b"7"]
    assert workers.asked == 1
    assert path.read_bytes() == whole


def _is_long(task: int, content: bytes) -> bool:
    return len(content) > task


def test_what_does_not_fit_is_done_again(tmp_path: Path) -> None:
    """And a file does not unpack to more than it is."""
    job = Job(begin_adding, 5, fits=_is_long)
    assert job.key == Job(begin_adding, 5).key
    (path,) = (list(Kept(Counting(), tmp_path).map(job, [0])), *tmp_path.iterdir())[1:]
    write_part(path, b"")
    workers = Counting()
    assert list(Kept(workers, tmp_path).map(job, [0])) == [b"5"]
    assert workers.asked == 1
    assert path.stat().st_size == len(path.read_bytes().partition(b"\n")[0]) + 2
    write_part(path, bytes(1 << 16))
    assert path.stat().st_size > 1 << 16


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
