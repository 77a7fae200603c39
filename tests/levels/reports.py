"""What is wrong with the graph of a seed, in words."""

from collections.abc import Sequence

from qmlir.text.printing import PrintOptions, Weights, module_text
from tests.levels.generator import case_of
from tests.levels.reduction import reduced
from tests.levels.stages import STAGES, Stage, failure_of


def report_of(seed: int, stages: Sequence[Stage] = STAGES, *, is_brief: bool = False) -> str:
    """What is wrong with the graph of a seed: the stage, the first value that differs, a reduced module; or nothing."""
    case = case_of(seed)
    failure = failure_of(case.module, case.inputs, stages)
    if failure is None:
        return ""
    if is_brief:
        return f"seed {seed}, {failure}"
    part, inputs, small = reduced(case.module, case.inputs, stages, failure)
    arrays = "".join(f"// {name} = {value.tolist()} : {value.dtype}\n" for name, value in inputs.items())
    text = module_text(part, PrintOptions(weights=Weights.INLINE))
    return f"seed {seed}, {failure}\nreduced: {small.reason}\n{arrays}{text}"
