"""Instrumentations stand around passes, the first outermost, and see failures, also those of each other."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.passmanager.instrumentation import Instrumentation, PassStatistics, Timing
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import NestedPipeline, Pipeline, parse_pipeline
from qmlir.text.parsing import parse_module

ENVIRONMENT = default_environment()
TWO_FUNCTIONS = "func.func @f() { func.return }\nfunc.func @g() { func.return }"


@dataclass
class Recorder(Instrumentation):
    """Writes down what it sees."""

    name: str
    seen: list[str]
    refuses: bool = False

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        self.seen.append(f"{self.name}: {step.name}")
        try:
            yield
        except DiagnosticError:
            self.seen.append(f"{self.name}: {step.name} failed")
            raise
        if self.refuses:
            raise op_error(op, "is refused")
        self.seen.append(f"{self.name}: {step.name} done")

    @contextmanager
    def around_nest(self, op: Operation) -> Generator[None]:
        self.seen.append(f"{self.name}: into {op.name}")
        yield
        self.seen.append(f"{self.name}: out of {op.name}")


@dataclass(frozen=True)
class FailingPass(ModulePass):
    """Raises what somebody else's pass may raise."""

    name = "fail"
    error: Exception = field(default_factory=lambda: KeyError("weights"))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise self.error


def _run(pipeline: Pipeline, *instrumentations: Instrumentation) -> None:
    ctx = ENVIRONMENT.new_context()
    PassManager(ctx, pipeline, instrumentations).run(parse_module(ctx, TWO_FUNCTIONS))


def test_the_first_stands_outermost() -> None:
    seen: list[str] = []
    _run(parse_pipeline("cse", ENVIRONMENT.passes), Recorder("a", seen), Recorder("b", seen))
    assert seen == ["a: cse", "b: cse", "b: cse done", "a: cse done"]


def test_nests_are_seen_once_for_each_operation() -> None:
    seen: list[str] = []
    _run(parse_pipeline("func.func(dce)", ENVIRONMENT.passes), Recorder("a", seen))
    assert seen == ["a: into func.func", "a: dce", "a: dce done", "a: out of func.func"] * 2


def test_what_one_refuses_fails_for_those_outside() -> None:
    seen: list[str] = []
    with pytest.raises(DiagnosticError, match=r"'builtin.module' op is refused"):
        _run(parse_pipeline("cse,dce", ENVIRONMENT.passes), Recorder("a", seen), Recorder("b", seen, refuses=True))
    assert seen == ["a: cse", "b: cse", "a: cse failed"]


def test_any_error_of_a_pass_is_one_line_that_names_it() -> None:
    seen: list[str] = []
    with pytest.raises(DiagnosticError, match=r"'func.func' op pass 'fail' failed: KeyError: 'weights'$"):
        _run(Pipeline((NestedPipeline("func.func", (FailingPass(),)),)), Recorder("a", seen))
    assert seen == ["a: into func.func", "a: fail", "a: fail failed"]


def test_times_are_a_tree_also_where_a_pass_fails() -> None:
    timing = Timing()
    with timing.measure("parse"):
        pass
    _run(parse_pipeline("func.func(dce),cse", ENVIRONMENT.passes), timing)
    with pytest.raises(DiagnosticError):
        _run(Pipeline((FailingPass(),)), timing)
    rows = timing.report().splitlines()[2:]
    assert [row.partition("%")[2] for row in rows] == [
        "  parse",
        "  'func.func' pipeline",
        "    dce",
        "  cse",
        "  fail",
    ]
    shares = [float(row.split()[2].rstrip("%")) for row in rows if not row.partition("%")[2].startswith("   ")]
    assert sum(shares) == pytest.approx(100, abs=0.5)


def test_statistics_are_summed_by_pass() -> None:
    statistics = PassStatistics()
    ctx = ENVIRONMENT.new_context()
    function = "func.func @{}() {{\n  %0 = arith.constant 1 : i32\n  %1 = arith.constant 1 : i32\n  func.return\n}}\n"
    module = parse_module(ctx, function.format("f") + function.format("g"))
    PassManager(ctx, parse_pipeline("func.func(cse)", ENVIRONMENT.passes), [statistics]).run(module)
    assert statistics.report() == "===== pass statistics =====\n  cse: 2 operations merged\n"
