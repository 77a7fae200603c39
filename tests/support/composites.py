"""Modules of one composite, decomposed and raised again: what the tests of both share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.equivalence import equivalent
from qmlir.ir.verification import verify
from qmlir.passes.general.simplification import Canonicalize, Dce
from qmlir.passes.primitive.composites import NnDecompose
from qmlir.passes.quantized.nn_raise import NnRaise
from qmlir.text.parsing import parse_module

ENVIRONMENT = default_environment()

# Both sides compute in f32, in other orders, and with other divisions by the same number. Sums here have at most 100
# terms of magnitude about 1, and no function of the recurrent layers has a slope above 1.5: 2^-24 for each operation
# on the way, over at most four steps of some twenty operations each, stays below 2e-5.
BOUND: dict[str, Any] = {"rtol": 2e-5, "atol": 2e-5}


SEEDS = st.integers(0, 2**16)


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def inline(array: np.ndarray) -> str:
    """A constant as text."""
    return f'nn.constant dense<"0x{array.tobytes().hex()}"> : {tensor(array.shape)}'


def module_of(
    operation: str, operands: Sequence[str], results: Sequence[str], constants: dict[int, str] | None = None
) -> ModuleOp:
    """`operation {properties}` of arguments `%0`, … of the types `operands` (`_`: left out), some of them constants."""
    held = constants or {}
    present = [position for position, type_ in enumerate(operands) if type_ != "_"]
    arguments = ", ".join(f"%{position}: {operands[position]}" for position in present if position not in held)
    names = ", ".join("_" if type_ == "_" else f"%{position}" for position, type_ in enumerate(operands))
    name, _, properties = operation.partition(" ")
    given_results = ", ".join(f"%r{position}" for position in range(len(results)))
    types = ", ".join(operands[position] for position in present)
    text = f"{name} {names} {properties} : ({types}) -> ({', '.join(results)})"
    lines = [f"%{position} = {value}" for position, value in held.items()]
    lines.append(f'{given_results} = {text} {{origin = "node", op_type = "Op"}}')
    lines.append(f"func.return {given_results} : {', '.join(results)}")
    body = "\n".join(lines)
    module = parse_module(
        ENVIRONMENT.new_context(), f"func.func @main({arguments}) -> ({', '.join(results)}) {{\n{body}\n}}"
    )
    verify(module)
    return module


def decomposed(module: ModuleOp) -> ModuleOp:
    parts = module.clone()
    NnDecompose().apply(ENVIRONMENT.new_context(), parts)
    Dce().apply(ENVIRONMENT.new_context(), parts)
    verify(parts)
    return parts


def canonicalized(module: ModuleOp) -> ModuleOp:
    canonical = module.clone()
    Canonicalize().apply(ENVIRONMENT.new_context(), canonical)
    return canonical


def raised(module: ModuleOp, *kinds: str) -> ModuleOp:
    whole = module.clone()
    NnRaise(kinds or ("*",)).apply(ENVIRONMENT.new_context(), whole)
    verify(whole)
    return whole


def check(module: ModuleOp, inputs: Sequence[np.ndarray], *, is_same: bool = True) -> None:
    """The parts compute what the composite does, and are raised to it again."""
    parts = decomposed(module)
    assert not equivalent(parts, module)
    before, after = interpret(module, inputs), interpret(parts, inputs)
    for name, wanted in before.items():
        np.testing.assert_allclose(after[name], wanted, **BOUND)
    if is_same:
        assert equivalent(raised(parts), module)
        assert equivalent(canonicalized(raised(canonicalized(parts))), canonicalized(module))


CONTRACTIONS = [
    ("fully_connected", [(3, 4), (5, 4), (5,)], (3, 5)),
    ("fully_connected", [(4, 4), (4, 4), (4,)], (4, 4)),
    ("fully_connected", [(3, 4), (5, 4)], (3, 5)),
    ("conv {strides = [2, 1], pads = [1, 0, 1, 1]}", [(2, 4, 5, 5), (6, 4, 3, 3), (6,)], (2, 6, 3, 4)),
    ("conv {groups = 2 : i64}", [(1, 4, 5), (2, 2, 3), (2,)], (1, 2, 3)),
]
