"""Random functions go down from tensors to one arena, and give the same bits after each pass."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.environment import default_environment
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.verification import verify
from qmlir.targets.cpu.scheduled.kernel_bufferize import KernelBufferize
from qmlir.targets.cpu.scheduled.kernel_outline import KernelOutline
from qmlir.targets.cpu.scheduled.kernel_plan_memory import KernelPlanMemory
from qmlir.text.parsing import parse_module
from tests.unit.targets.cpu.scheduled.random_graphs import random_graph

PASSES = (KernelBufferize(), KernelOutline(), KernelPlanMemory())


def _main(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


STATE_READ_AT_THE_END = 5334
"""The state of a loop is yielded for another one, behind what would have been written over it."""


@pytest.mark.parametrize(("seed", "length"), [*((seed, 12) for seed in range(40)), (STATE_READ_AT_THE_END, 18)])
def test_same_bits(seed: int, length: int) -> None:
    ctx = default_environment().new_context()
    module = parse_module(ctx, random_graph(seed, length), f"random_graph({seed})")
    verify(module)
    inputs = random_inputs(_main(module), seed)
    wanted = interpret(module, inputs)
    for each in PASSES:
        each.apply(ctx, module)
        verify(module)
        found = interpret(module, inputs)
        assert list(found) == list(wanted)
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array, f"{name} after {each.name}")
