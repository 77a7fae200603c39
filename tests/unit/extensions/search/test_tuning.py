"""Searches of schedules on a small classifier: what is timed, kept, gone on with, and used by the compiler."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.extensions.search import tuning
from qmlir.extensions.search.schedules import kernel_identity
from qmlir.extensions.search.tuned import Tuning, store_path, tuned_for
from qmlir.extensions.search.tuning import FoundKernel, alone, schedule_number, tune
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.lowering import lowered
from qmlir.targets.cpu.scheduled.schedule import schedule_for
from tests.support.emitted import parsed
from tests.support.executors import PicklingExecutor
from tests.support.nets import Net
from tests.unit.targets.cpu.microkernels.test_unpacked import ATTENTION

Times = dict[ScheduleAttr, tuple[float, float]]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    """Two quantized layers of different sizes."""
    generator = np.random.default_rng(1)
    net = Net()
    value = net.input(generator.standard_normal((8, 6), np.float32), (8, 6))
    for inputs, outputs in ((6, 20), (20, 4)):
        weights = net.constant(generator.standard_normal((outputs, inputs), np.float32))
        value = net.node("Gemm", value, weights, net.constant(generator.standard_normal(outputs, np.float32)), transB=1)
    model = qmlir.load(net.model(value))
    return qmlir.quantize(model, [np.random.default_rng(2).standard_normal((8, 6), np.float32)]).module


class _Invented:
    """In place of a clock: the last schedule is the fastest by far, or all take the same time."""

    def __init__(self, *, is_last_faster: bool) -> None:
        self.is_last_faster = is_last_faster
        self.asked: list[Sequence[ScheduleAttr]] = []

    def times(self, schedules: Sequence[ScheduleAttr]) -> Times:
        self.asked.append(schedules)
        found = dict.fromkeys(schedules, (1.0, 1.0))
        if self.is_last_faster:
            found[schedules[-1]] = (0.5, 0.5)
        return found


def _invent(monkeypatch: pytest.MonkeyPatch, *, is_last_faster: bool = True) -> _Invented:
    invented = _Invented(is_last_faster=is_last_faster)

    def times(timer: tuning.Timer, schedules: Sequence[ScheduleAttr]) -> Times:
        return invented.times(schedules)

    for way in ("one_thread", "together"):
        monkeypatch.setattr(tuning.Timer, way, times)
    return invented


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.sweep)])
def test_kernels_are_timed_and_kept(module: ModuleOp, threads: int) -> None:
    told: list[FoundKernel] = []
    found = tune(module, isa="generic", threads=threads, on_kernel=told.append)
    assert (found.isa, found.threads, found.remaining) == ("generic", threads, 0)
    assert [each.name for each in found.kernels] == ["matmul 8x20 of 6", "matmul 8x4 of 20"]
    assert list(found.kernels) == told
    for each in found.kernels:
        assert each.is_new
        assert each.tuned.tried > 1
        assert 0 < each.tuned.seconds <= each.tuned.default_seconds
        assert (each.tuned.schedule is None) == (each.tuned.gain == 0)
    assert Path(found.path) == store_path("generic", threads)
    # A second search has nothing to do, and says the same.
    again = tune(module, isa="generic", threads=threads)
    assert [each.tuned for each in again.kernels] == [each.tuned for each in found.kernels]
    assert not any(each.is_new for each in again.kernels)


def test_what_is_faster_is_compiled_and_gives_the_same_bits(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    _invent(monkeypatch)
    before = qmlir.compile(module, isa="generic")
    found = tune(module, isa="generic")
    assert all(each.tuned.schedule not in (None, each.tuned.default) for each in found.kernels)
    tuned = qmlir.compile(module, isa="generic")
    plain = qmlir.compile(module, isa="generic", tuned=False)
    image = {inputs_of(tuned.signature)[0].name: np.random.default_rng(3).standard_normal((8, 6), np.float32)}
    expected = interpret(module, image)
    for program in (before, tuned, plain):
        for name, value in program(image).items():
            np.testing.assert_array_equal(value, expected[name])
    # Without it is the entry that was there, and the loops that were found are another one.
    assert sum(each.name != cache.TUNED for each in cache.cache_directory().iterdir()) == 2
    option = tuned_for("generic", 1, pytest.fail)
    assert str(lowered(module, "generic", 1, option)) != str(lowered(module, "generic"))


def test_the_table_stays_where_nothing_is_faster(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    _invent(monkeypatch, is_last_faster=False)
    found = tune(module, isa="generic")
    assert [each.tuned.schedule for each in found.kernels] == [None, None]
    assert tuned_for("generic", 1, pytest.fail).path == ""


def test_a_search_that_is_interrupted_goes_on(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    invented = _invent(monkeypatch)

    def interrupt(found: FoundKernel) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(module, isa="generic", on_kernel=interrupt)
    assert len(invented.asked) == 1
    found = tune(module, isa="generic")
    assert ([each.is_new for each in found.kernels], len(invented.asked)) == ([False, True], 2)
    tune(module, isa="generic", remeasure=True)
    assert len(invented.asked) == 4


def test_workers_time_kernels(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes to them and comes back is data; what is known is not asked for, and time ends what is sent."""
    invented, executor = _invent(monkeypatch), PicklingExecutor()
    asked = executor.tasks
    none = tune(module, isa="generic", cluster=executor, seconds=0)
    assert (none.kernels, none.remaining, asked) == ((), 2, [])
    found = tune(module, isa="generic", cluster=executor, kernels=1)
    assert len(asked) == 1
    found = tune(module, isa="generic", cluster=executor)
    assert [each.is_new for each in found.kernels] == [False, True]
    assert [each.tuned.kernel for each in found.kernels] == asked
    assert len(invented.asked) == 2
    alone = tune(module, isa="generic", remeasure=True)
    assert [each.tuned for each in alone.kernels] == [each.tuned for each in found.kernels]


def test_limits(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    invented = _invent(monkeypatch)
    found = tune(module, isa="generic", seconds=0)
    assert (found.kernels, found.remaining, invented.asked) == ((), 2, [])
    found = tune(module, isa="generic", kernels=1)
    assert ([each.name for each in found.kernels], found.remaining) == (["matmul 8x20 of 6"], 0)
    with pytest.raises(DiagnosticError, match="kernels must be at least 1, but got 0"):
        tune(module, kernels=0)
    with pytest.raises(DiagnosticError, match="unknown instruction set 'avx3'"):
        tune(module, isa="avx3")


def test_a_damaged_entry_is_timed_anew(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    _invent(monkeypatch)
    path = Path(tune(module, isa="generic").path)
    path.write_text(path.read_text().replace("0.5", "0.25", 1))
    told: list[str] = []
    found = tune(module, isa="generic", on_trouble=told.append)
    assert sorted(each.is_new for each in found.kernels) == [False, True]
    assert "1 damaged entry is left out" in told[0]


def test_schedules_that_give_other_numbers_are_an_error(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    def memory(program: Any) -> dict[str, np.ndarray]:
        return {port.name: np.zeros(port.shape, port.dtype) for port in program.outputs}

    def time_steps(program: Any, inputs: Any, rounds: int, outputs: dict[str, np.ndarray]) -> tuple[()]:
        for number, each in enumerate(outputs.values()):
            each[...] = number
        return ()

    monkeypatch.setattr(tuning, "_memory", memory)
    monkeypatch.setattr(tuning, "time_steps", time_steps)
    with pytest.raises(DiagnosticError, match="computes different values with schedule 1 and with schedule 0"):
        tune(module, isa="generic")


def test_a_kernel_alone_computes_what_it_does_in_the_model(module: ModuleOp) -> None:
    integer = lowered(module, "generic")
    assert not any(isinstance(op, ContractionOp) for op in integer.walk())
    kernels = tuning.kernels_of(module, "main", "generic", 1)
    made = alone(kernels[0].op, [None, ScheduleAttr.of("scalar")])
    made.verify()
    schedules = [op.schedule for op in made.walk() if isinstance(op, ContractionOp)]
    assert schedules == [None, ScheduleAttr.of("scalar")]
    first, second = interpret(made, tuning.inputs_for(made)).values()
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("isa", ["avx2", "avx512-vnni"])
def test_attention_over_a_cache_alone_is_the_kernel_of_the_model(isa: str) -> None:
    """Values are read as the cache holds them, which only the operation that turns them shows."""
    kernels = tuning.kernels_of(parsed(ATTENTION), "main", isa, 1)
    assert len(kernels) == 2
    variants = {schedule_for(each.op, isa, 1).variant for each in kernels}
    assert "i16_shifted_rows" in variants
    for each in kernels:
        made = alone(each.op, [None, ScheduleAttr.of("scalar")])
        made.verify()
        copies = [op for op in made.walk() if isinstance(op, ContractionOp)]
        assert [kernel_identity(op, isa, 1) for op in copies] == [each.identity] * 2
        assert tuning.Timer(each.op, isa, 1).default() == schedule_for(each.op, isa, 1)
        assert str(inputs_of(function_of(made, "main"))[1].type) == "tensor<1x2x600x32xi8>"  # as the cache holds it


def test_a_kernel_with_one_schedule_is_timed_too(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    _invent(monkeypatch, is_last_faster=False)

    def no_others(op: ContractionOp, isa: str, threads: int) -> tuple[()]:
        return ()

    monkeypatch.setattr(tuning, "candidates", no_others)
    found = tune(module, isa="generic")
    stored = Tuning.read(Path(found.path))
    assert (stored.damaged, len(stored.kernels)) == (0, 2)
    assert {(each.seconds, each.default_seconds, each.tried) for each in stored.kernels.values()} == {(1.0, 1.0, 1)}


@pytest.mark.parametrize(
    ("names", "number"), [((), None), (("fc1",), None), (("schedule3",), 3), (("fc1", "schedule12"), 12)]
)
def test_numbers_of_schedules(names: tuple[str, ...], number: int | None) -> None:
    assert schedule_number(names) == number
