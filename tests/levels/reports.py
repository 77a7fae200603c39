"""What is wrong with the graphs of seeds, in words."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from traceback import format_exc

from qmlir.dialects.kernel.attributes import isa_names
from qmlir.text.printing import PrintOptions, Weights, module_text
from tests.levels.generator import Case, case_of_any
from tests.levels.reduction import reduced
from tests.levels.stages import STAGES, Failure, Stage, failure_of
from tests.levels.together import wrong_when_compiled


class Choice(StrEnum):
    """Which stages a graph takes."""

    TOGETHER = "those of one instruction set, in turn; several graphs are compiled at once, by each emitter"
    IN_TURN = "one, in turn; several graphs are compiled at once, by one emitter"
    SINGLY = "all, by itself"


GROUPS_FOR_C = 10
"""A program in C is made of one group of graphs in so many."""

OF_INSTRUCTIONS = ("packed", "loops")
"""Stages that are there for each instruction set: a graph takes those of one, in turn."""


@lru_cache(200)
def case_kept(seed: int) -> Case:  # of a name of its own: another process is handed it
    """The graph of a seed, which nobody changes: made once for all stages of a run."""
    return case_of_any(seed)


def of_one_isa(stages: Sequence[Stage], seed: int) -> list[Stage]:
    """The stages; of those that are there for each instruction set the ones for one of them."""
    own = isa_names()[seed % len(isa_names())]
    return [stage for stage in stages if not stage.name.startswith(OF_INSTRUCTIONS) or stage.name.endswith(f" {own}")]


def report_of(
    seed: int,
    stages: Sequence[Stage] = STAGES,
    *,
    is_brief: bool = False,
    case_at: Callable[[int], Case] = case_kept,
) -> str:
    """What is wrong with the graph of a seed: the stage, the first value that differs, a reduced module; or nothing."""
    case = case_at(seed)
    failure = failure_of(case.module, case.inputs, stages)
    return "" if failure is None else _text(case, stages, failure, is_brief=is_brief)


def reports_of(
    seeds: Sequence[int],
    stages: Sequence[Stage] = STAGES,
    *,
    is_brief: bool = False,
    choice: Choice = Choice.TOGETHER,
    case_at: Callable[[int], Case] = case_kept,
) -> list[str]:
    """What is wrong with the graphs of seeds, for each that fails.

    `case_at` gives the graph of a seed.
    """
    if choice is not Choice.SINGLY:
        return list(_together(seeds, stages, case_at, is_brief=is_brief, is_in_turn=choice is Choice.IN_TURN))
    return [report for seed in seeds if (report := report_of(seed, stages, is_brief=is_brief, case_at=case_at))]


def _together(
    seeds: Sequence[int],
    stages: Sequence[Stage],
    case_at: Callable[[int], Case],
    *,
    is_brief: bool,
    is_in_turn: bool,
) -> Iterator[str]:
    others = [stage for stage in stages if not stage.emitter]
    passing: list[Case] = []
    for seed in seeds:
        try:
            case = case_at(seed)
            own = of_one_isa(others, seed)
            if is_in_turn:  # loops are left to compiled code
                quick = [stage for stage in own if not stage.is_slow]
                own = quick[seed % max(len(quick), 1) :][:1]
            failure = failure_of(case.module, case.inputs, own)
        except Exception:  # a crash of one graph is its report, and the others go on
            yield f"seed {seed}: {format_exc()}"
            continue
        if failure is None:
            passing.append(case)
        else:
            yield _text(case, others, failure, is_brief=is_brief)
    for stage in _compiling(stages, seeds[0] // len(seeds), is_in_turn=is_in_turn) if passing else ():
        try:
            yield from _wrong_in_one_program(passing, stage, is_brief=is_brief)
        except Exception:  # as of one graph
            seeds_text = ", ".join(str(each.seed) for each in passing)
            yield f"stage '{stage.name}', one program of the seeds {seeds_text}: {format_exc()}"


def _wrong_in_one_program(cases: Sequence[Case], stage: Stage, *, is_brief: bool) -> Iterator[str]:
    for case in wrong_when_compiled(cases, stage):
        failure = failure_of(case.module, case.inputs, [stage])
        if failure is not None:
            yield _text(case, [stage], failure, is_brief=is_brief)
        elif len(cases) > 1:
            together = ", ".join(str(each.seed) for each in cases)
            yield f"seed {case.seed}, stage '{stage.name}': differs only in one program with the seeds {together}"


def _compiling(stages: Sequence[Stage], number: int, *, is_in_turn: bool) -> Iterator[Stage]:
    """For each emitter, or one, a stage of an instruction set, in turn; C for one group in so many."""
    emitters = list(dict.fromkeys(stage.emitter for stage in stages if stage.isa))
    for emitter in [emitters[number % len(emitters)]] if is_in_turn and emitters else emitters:
        own = [stage for stage in stages if stage.emitter == emitter]
        yield own[number // len(emitters) % len(own)]
    if number % GROUPS_FOR_C == 0:
        yield from (stage for stage in stages if stage.emitter and not stage.isa)


def _text(case: Case, stages: Sequence[Stage], failure: Failure, *, is_brief: bool) -> str:
    if is_brief:
        return f"seed {case.seed}, {failure}"
    part, inputs, small = reduced(case.module, case.inputs, stages, failure)
    arrays = "".join(f"// {name} = {value.tolist()} : {value.dtype}\n" for name, value in inputs.items())
    text = module_text(part, PrintOptions(weights=Weights.INLINE))
    return f"seed {case.seed}, {failure}\nreduced: {small.reason}\n{arrays}{text}"
