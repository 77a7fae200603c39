"""Random quantized graphs compute the same at every stage; the generator and the reducer do what they say.

Stages that interpret loops or compile take a sample of the graphs; all of them are `make sweep`, and `python -m
tests.levels` takes as many as there is time for.
"""

import pickle
from collections.abc import Mapping
from functools import partial
from itertools import product

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.attributes import isa_names
from qmlir.dialects.nn.base import Kind, NnOp
from qmlir.dialects.quant.types import Granularity, StoredType
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import element_of
from qmlir.ir.provenance import origins_of
from qmlir.pipelines import COMPILE
from qmlir.registry import Package
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.cpu.host import host_isa
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text
from tests.levels.generator import MOST_OPERATIONS, Case, case_of, case_of_one, case_of_wide, graph_of
from tests.levels.graph import RejectedError
from tests.levels.oracle import ORACLE, computed, knows
from tests.levels.reduction import reduced
from tests.levels.reports import case_kept, of_one_isa, report_of, reports_of
from tests.levels.rows import PLAIN, ROWS, Row
from tests.levels.stages import ENVIRONMENT, STAGES, Stage, failure_of, lowered
from tests.levels.together import merged, wrong_when_compiled
from tests.support.wrong_pass import UNIVERSE

SEEDS = 180
ORDINARY = 20
"""So many of the seeds are part of every run; the sweep has the others."""

TYPED = 80
"""So many seeds draw every type of stored integers."""

COVERING = 240
"""So many seeds draw every row."""

PARTS = 10
"""The seeds are divided among so many tests, so that several processes can share them."""

QUICK = [stage for stage in STAGES if not stage.is_slow]
SLOW = [stage for stage in STAGES if stage.is_slow]
SAMPLES = (range(0, 8), pytest.param(range(8, 16), marks=pytest.mark.sweep))
"""The seeds that are compiled for this machine, the first in every run, each range as one program."""


@pytest.mark.parametrize("part", range(PARTS))
def test_random_graphs_are_equal_at_every_stage(part: int) -> None:
    reports = [report_of(seed, of_one_isa(QUICK, seed)) for seed in range(part, ORDINARY, PARTS)]
    assert not any(reports), "\n".join(filter(None, reports))


def _graphs_of(name: str) -> int:
    """How many graphs of one operation are made: a few of those that have many parts."""
    return 2 if name in ("nn.attention", "nn.gru", "nn.lstm", "nn.rnn") else 6


@pytest.mark.parametrize(
    "name", [row.name for row in ROWS if f"nn.{row.name.removeprefix('nn.').removeprefix('masked_')}" in ORACLE]
)
def test_composites_compute_what_their_definition_says(name: str) -> None:
    """The oracle is written by hand from the document on arithmetic, and asks nothing of the package."""
    oracle = [stage for stage in STAGES if stage.name == "oracle"]
    reports = reports_of(range(_graphs_of(name)), oracle, is_brief=True, case_at=partial(case_of_one, names=(name,)))
    assert not reports, "\n".join(reports)


@pytest.mark.parametrize(
    "name", ["add", "average_pool", "conv", "fully_connected", "matmul_of_values", "mul", "reduce_mean", "nn.attention"]
)
def test_storage_of_more_than_16_bits_is_equal_at_the_integer_level(name: str) -> None:
    integer = [stage for stage in STAGES if stage.name == "integer"]
    reports = reports_of(range(_graphs_of(name)), integer, is_brief=True, case_at=partial(case_of_wide, names=(name,)))
    assert not reports, "\n".join(reports)


def test_other_processes_find_what_makes_a_graph() -> None:
    assert pickle.loads(pickle.dumps(case_kept)) is case_kept


def test_the_oracle_is_asked() -> None:
    """Another number in its place is a failure."""
    case = case_of_one(0, ("nn.layer_norm",))
    wrong = Stage("wrong", run=lambda module, inputs: {n: np.flip(a + 1) for n, a in computed(module, inputs).items()})
    assert failure_of(case.module, case.inputs, [wrong]) is not None
    assert knows(case.module, case.inputs)


@pytest.mark.parametrize("seeds", SAMPLES, ids=str)
def test_a_sample_is_equal_compiled(seeds: range) -> None:
    reports = reports_of(seeds, [stage for stage in STAGES if stage.isa == host_isa()])
    assert not reports, "\n".join(reports)


@pytest.mark.parametrize("seed", range(len(isa_names())))
def test_a_sample_is_equal_as_loops(seed: int) -> None:
    report = report_of(seed, of_one_isa([stage for stage in SLOW if not stage.emitter], seed))
    assert not report, report


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, SEEDS, 5))
def test_every_graph_is_equal_as_loops_and_compiled(first: int) -> None:
    reports = reports_of(range(first, first + 5), SLOW if first < ORDINARY else STAGES)
    assert not reports, "\n".join(reports)


def test_one_bit_is_the_same_for_a_caller_at_every_level() -> None:
    """Signed, -1 and 0 of int8; unsigned, 0 and 1 of uint8; Booleans are bool."""
    module = parse_module(ENVIRONMENT.new_context(), ONE_BIT)
    inputs = {
        "input0": np.array([-1, 0, 0, -1], np.int8),
        "input1": np.array([0, 1, 1, 0], np.uint8),
        "input2": np.array([True, False, True, False]),
    }
    expected = {
        "output0": np.array([1, 0, 0, 1], np.uint8),
        "output1": np.array([-1, 0, 0, -1], np.int8),
        "output2": np.array([False, True, False, True]),
        "output3": np.array([-1, 0], np.int8),
    }
    programs = [lowered(module, COMPILE.text(*stages, isa="generic", threads=1)) for stages in LEVELS]
    found = [interpret(each, inputs) for each in programs]
    for outputs in (*found, compile_module(module)(inputs)):
        assert {name: (str(each.dtype), each.tolist()) for name, each in outputs.items()} == {
            name: (str(each.dtype), each.tolist()) for name, each in expected.items()
        }


EXCLUDED = """
!x = !quant.uniform<i8:f32, 0.5:-128>
!y = !quant.uniform<i8<-127:127>:f32, 1.0:-128>
func.func @main(%x: tensor<2x4x!x>) -> tensor<2x1x!y> {
  %0 = nn.reduce_sum %x {axes = [1]} : (tensor<2x4x!x>) -> tensor<2x1x!y>
  func.return %0 : tensor<2x1x!y>
}
"""


def test_narrow_limits_may_exclude_the_zero_point() -> None:
    """0 is no number of the result's type: the smallest one is 1."""
    module = parse_module(ENVIRONMENT.new_context(), EXCLUDED)
    x = np.array([[-128, -128, -128, -128], [-100, 5, 127, -1]], np.int8)
    total = 0.5 * (x.astype(np.int64) + 128).sum(axis=1, keepdims=True)
    expected = np.clip(np.rint(total) - 128, -127, 127)
    for stages in LEVELS:
        found = interpret(lowered(module, COMPILE.text(*stages, isa="generic", threads=1)), {"input0": x})
        assert found["output0"].tolist() == expected.tolist()


LEVELS = ((), ("lower",), ("lower", "fuse"), ("lower", "fuse", "schedule", "bufferize", "loops"))
ONE_BIT = """
!signed = !quant.uniform<i1:f32, 2.0>
!unsigned = !quant.uniform<u1:f32, 2.0>
!below = !quant.uniform<u1:f32, 2.0:1>
!wide = !quant.uniform<i1:f32, 4.0>
func.func @main(%x: tensor<4x!signed>, %u: tensor<4x!below>, %c: tensor<4xi1>)
    -> (tensor<4x!unsigned>, tensor<4x!wide>, tensor<4xi1>, tensor<2x!signed>) {
  %negated = nn.neg %x : (tensor<4x!signed>) -> tensor<4x!unsigned>
  %doubled = nn.add %u, %u : (tensor<4x!below>, tensor<4x!below>) -> tensor<4x!wide>
  %not = nn.not %c : tensor<4xi1>
  %known = nn.constant dense<[-1, 0]> : tensor<2xi1> -> tensor<2x!signed>
  func.return %negated, %doubled, %not, %known
      : tensor<4x!unsigned>, tensor<4x!wide>, tensor<4xi1>, tensor<2x!signed>
}
"""


def test_a_graph_that_is_wrong_when_compiled_with_others_is_found() -> None:
    cases = [case_of(seed) for seed in range(3)]
    right = interpret(merged(cases), {f"{each.seed}.{name}": a for each in cases for name, a in each.inputs.items()})
    wrong = {name: np.flip(array + 1) if name.startswith("1.") else array for name, array in right.items()}
    stage = Stage("wrong", run=lambda module, inputs: wrong)
    assert [case.seed for case in wrong_when_compiled(cases, stage)] == [1]


def _operations(case: Case) -> list[str]:
    (function,) = (op for op in case.module.ops if isinstance(op, FuncOp))
    return [op.name for op in function.body.block.ops if op.name.startswith("nn.") and origins_of(op)]


def test_a_seed_gives_the_same_graph_and_inputs() -> None:
    texts = [module_text(case_of(7).module, PrintOptions(weights=Weights.INLINE)) for _ in range(2)]
    assert texts[0] == texts[1]
    first, second = case_of(7).inputs, case_of(7).inputs
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.sweep
def test_the_graphs_hold_types_of_every_width_and_have_the_size_that_they_should() -> None:
    cases = [case_kept(seed) for seed in range(TYPED)]
    assert max(len(_operations(case)) for case in cases) >= MOST_OPERATIONS
    everything = [op for case in cases for op in case.module.walk()]
    assert {scf.IfOp, scf.ForOp} <= set(map(type, everything))
    operations = [op for op in everything if isinstance(op, NnOp)]
    types = {type_ for op in operations for value in op.results if isinstance(type_ := element_of(value), StoredType)}
    types |= {type_ for op in operations if op.components for type_ in op.components.data.values()}
    assert {(each.bits, each.is_signed) for each in types} >= set(product(range(1, 33), (False, True)))
    assert {each.granularity for each in types} == set(Granularity)


@pytest.mark.sweep
def test_the_graphs_hold_every_row_and_composites_with_types_of_their_parts() -> None:
    everything = [op for seed in range(COVERING) for op in case_kept(seed).module.walk()]
    assert {scf.IfOp, scf.ForOp, scf.WhileOp} <= set(map(type, everything))
    seen = {op.name.removeprefix("nn.") for op in everything if origins_of(op)}
    others = {
        "matmul_of_values",
        "bias_add",
        "table",
        "float_add",
        "masked_softmax",
        "masked_softmax_of_floats",
        "softmax_of_floats",
        "layer_norm_of_floats",
    }
    assert {row.name.removeprefix("nn.") for row in PLAIN} - others - seen == set()
    with_parts = {type(op) for op in everything if isinstance(op, NnOp) and op.components is not None}
    assert with_parts == {each for each in registry.decompositions() if Kind.QUANTIZED in each.ACCEPTS}


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
        for case in map(case_kept, range(100))
        if len(_operations(case)) > 4 and (failure := failure_of(case.module, case.inputs, [WRONG])) is not None
    )
    assert failure.stage is WRONG
    part, inputs, small = reduced(case.module, case.inputs, [WRONG], failure)
    assert _operations(Case(0, part, inputs)) == ["nn.relu"]
    assert small.changed is not None
    assert small.changed.output == "y0"
    expected = interpret(part, inputs)["y0"]
    assert small.changed.difference.position is not None
    assert small.changed.difference.before == str(expected[small.changed.difference.position])


def test_a_stage_with_a_runner_of_its_own_is_compared_by_its_outputs() -> None:
    case = case_of(3)
    right = Stage("other", run=lambda module, inputs: interpret(module, inputs))
    assert failure_of(case.module, case.inputs, [right]) is None

    def changed(module: ModuleOp, inputs: Mapping[str, Array]) -> dict[str, Array]:
        found = interpret(module, inputs)
        return {name: ~each if each.dtype == bool else each + 1 for name, each in found.items()}

    wrong = Stage("other", run=changed)
    failure = failure_of(case.module, case.inputs, [wrong])
    assert failure is not None
    assert "output 'y0' at [" in failure.reason
