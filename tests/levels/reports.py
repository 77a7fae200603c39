"""What is wrong with the graphs of seeds, in words."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from traceback import format_exc

from qmlir.dialects.kernel.attributes import isa_names
from qmlir.text.printing import PrintOptions, Weights, module_text
from tests.levels.generator import Case, case_of
from tests.levels.reduction import reduced
from tests.levels.stages import STAGES, Failure, Stage, failure_of
from tests.levels.together import wrong_when_compiled

OF_INSTRUCTIONS = ("packed", "loops")
"""Stages that are there for each instruction set: a graph takes those of one, in turn."""


@lru_cache(200)
def case_kept(seed: int) -> Case:  # of a name of its own: another process is handed it
    """The graph of a seed, which nobody changes: made once for all stages of a run."""
    return case_of(seed)


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
    is_singly: bool = False,
    case_at: Callable[[int], Case] = case_kept,
) -> list[str]:
    """What is wrong with the graphs of seeds, for each that fails.

    Each takes the stages of one instruction set, in turn; those that pass them are compiled together, for one of the
    instruction sets of `stages`, in turn too. Or, `is_singly`, one by one for each set. `case_at` gives the graph of a
    seed.
    """
    if not is_singly:
        return list(_together(seeds, stages, case_at, is_brief=is_brief))
    return [report for seed in seeds if (report := report_of(seed, stages, is_brief=is_brief, case_at=case_at))]


def _together(
    seeds: Sequence[int], stages: Sequence[Stage], case_at: Callable[[int], Case], *, is_brief: bool
) -> Iterator[str]:
    compiled = [stage for stage in stages if stage.isa]
    others = [stage for stage in stages if not stage.isa]
    passing: list[Case] = []
    for seed in seeds:
        try:
            case = case_at(seed)
            failure = failure_of(case.module, case.inputs, of_one_isa(others, seed))
        except Exception:  # a crash of one graph is its report, and the others go on
            yield f"seed {seed}: {format_exc()}"
            continue
        if failure is None:
            passing.append(case)
        else:
            yield _text(case, others, failure, is_brief=is_brief)
    if not compiled or not passing:
        return
    stage = compiled[seeds[0] // len(seeds) % len(compiled)]
    for case in wrong_when_compiled(passing, stage.isa):
        failure = failure_of(case.module, case.inputs, [stage])
        if failure is not None:
            yield _text(case, [stage], failure, is_brief=is_brief)
        elif len(passing) > 1:
            together = ", ".join(str(each.seed) for each in passing)
            yield f"seed {case.seed}, stage '{stage.name}': differs only in one program with the seeds {together}"


def _text(case: Case, stages: Sequence[Stage], failure: Failure, *, is_brief: bool) -> str:
    if is_brief:
        return f"seed {case.seed}, {failure}"
    part, inputs, small = reduced(case.module, case.inputs, stages, failure)
    arrays = "".join(f"// {name} = {value.tolist()} : {value.dtype}\n" for name, value in inputs.items())
    text = module_text(part, PrintOptions(weights=Weights.INLINE))
    return f"seed {case.seed}, {failure}\nreduced: {small.reason}\n{arrays}{text}"
