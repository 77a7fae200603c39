"""300 random quantized graphs compute the same at every stage; the generator and the reducer do what they say.

Stages that interpret loops or compile take a sample of the graphs; all of them are `make sweep`.
"""

from collections import Counter

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from qmlir.interpreter.run import interpret
from qmlir.ir.provenance import origins_of
from qmlir.registry import Package
from qmlir.targets.cpu.host import host_isa
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text
from tests.levels.generator import MOST_OPERATIONS, Case, case_of, graph_of
from tests.levels.graph import RejectedError
from tests.levels.reduction import reduced
from tests.levels.reports import report_of
from tests.levels.rows import ROWS, Row
from tests.levels.stages import ENVIRONMENT, STAGES, Stage, failure_of
from tests.support.wrong_pass import UNIVERSE

SEEDS = 300
PARTS = 20
"""The seeds are divided among so many tests, so that several processes can share them."""

QUICK = [stage for stage in STAGES if not stage.is_slow]
SLOW = [stage for stage in STAGES if stage.is_slow]
SAMPLE = range(0, SEEDS, 12)
"""The seeds of the slow stages in every run: each is compiled for this machine, and takes one other stage in turn."""


@pytest.mark.parametrize("part", range(PARTS))
def test_random_graphs_are_equal_at_every_stage(part: int) -> None:
    reports = [report_of(seed, QUICK) for seed in range(part, SEEDS, PARTS)]
    assert not any(reports), "\n".join(filter(None, reports))


@pytest.mark.parametrize("seed", SAMPLE)
def test_a_sample_is_equal_as_loops_and_compiled(seed: int) -> None:
    own = next(stage for stage in SLOW if stage.name == f"compiled for {host_isa()}")
    other = SLOW[SAMPLE.index(seed) % len(SLOW)]
    report = report_of(seed, [own] if own is other else [other, own])
    assert not report, report


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, SEEDS, 5))
def test_every_graph_is_equal_as_loops_and_compiled(first: int) -> None:
    reports = [report_of(seed, SLOW) for seed in range(first, first + 5)]
    assert not any(reports), "\n".join(filter(None, reports))


def _operations(case: Case) -> list[str]:
    (function,) = (op for op in case.module.ops if isinstance(op, FuncOp))
    return [op.name for op in function.body.block.ops if op.name.startswith("nn.") and origins_of(op)]


def test_a_seed_gives_the_same_graph_and_inputs() -> None:
    texts = [module_text(case_of(7).module, PrintOptions(weights=Weights.INLINE)) for _ in range(2)]
    assert texts[0] == texts[1]
    first, second = case_of(7).inputs, case_of(7).inputs
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_the_graphs_hold_every_row_and_have_the_size_that_they_should() -> None:
    names = [_operations(case_of(seed)) for seed in range(SEEDS)]
    assert max(map(len, names)) >= MOST_OPERATIONS
    seen = Counter(name for each in names for name in each)
    wanted = {row.name.removeprefix("nn.") for row in ROWS} - {"matmul_of_values", "bias_add", "float_add"}
    assert {name for name in wanted if not seen[f"nn.{name}"]} == set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_can_be_drawn(row: Row) -> None:
    for seed in range(100):
        graph = graph_of(seed)
        before = len(graph.values)
        for value in list(graph.values):
            try:
                row.make(graph, value)
            except RejectedError:
                continue
            assert len(graph.values) > before
            return
    pytest.fail(f"'{row.name}' suits no value of 100 graphs")


def test_the_text_of_a_graph_computes_the_same() -> None:
    case = case_of(3)
    text = module_text(case.module, PrintOptions(weights=Weights.INLINE))
    again = interpret(parse_module(ENVIRONMENT.new_context(), text), case.inputs)
    assert all(np.array_equal(value, again[name]) for name, value in interpret(case.module, case.inputs).items())


WRONG = Stage("wrong", "wrong-relu")


def test_a_wrong_pass_is_found_and_the_graph_reduced_to_the_operation() -> None:
    if "wrong-relu" not in ENVIRONMENT.passes:
        ENVIRONMENT.add(Package("wrong"), UNIVERSE)
    case, failure = next(
        (case, failure)
        for case in map(case_of, range(100))
        if len(_operations(case)) > 4 and (failure := failure_of(case.module, case.inputs, [WRONG])) is not None
    )
    assert failure.stage is WRONG
    part, inputs, small = reduced(case.module, case.inputs, [WRONG], failure)
    assert _operations(Case(0, part, inputs)) == ["nn.relu"]
    assert small.changed is not None
    assert small.changed.output == "y0"
    expected = interpret(part, inputs)["y0"]
    assert small.changed.difference.place is not None
    assert small.changed.difference.before == str(expected[small.changed.difference.place])


def test_a_stage_with_a_runner_of_its_own_is_compared_by_its_outputs() -> None:
    case = case_of(3)
    right = Stage("other", run=lambda module, inputs: interpret(module, inputs))
    assert failure_of(case.module, case.inputs, [right]) is None
    wrong = Stage("other", run=lambda module, inputs: {n: np.flip(a + 1) for n, a in interpret(module, inputs).items()})
    failure = failure_of(case.module, case.inputs, [wrong])
    assert failure is not None
    assert "output 'y0' at [" in failure.reason
