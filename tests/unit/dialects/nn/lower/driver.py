"""One operation before and after `convert-nn-to-kernel`: the same stored values, bit for bit, or within a bound.

Inputs are random over the whole range of their types, ends included; indices exist where an operand holds indices.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.environment import default_environment
from qmlir.interpreter.differences import first_changed
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.passes import EVERY_BIT, Preservation
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.text.parsing import parse_module

ENVIRONMENT = default_environment()
PIPELINE = "convert-nn-to-kernel,canonicalize"


def tensor(shape: Sequence[int], element: str) -> str:
    """The text of a tensor type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def module_of(operation: str, operands: Sequence[str], results: Sequence[str]) -> ModuleOp:
    """`operation`, a name and properties, on operands of these types: `dense<…> : type` is a constant, `_` left out."""
    arguments: list[str] = []
    constants: list[str] = []
    types: list[str] = []
    for position, operand in enumerate(operands):
        if operand == "_":
            continue
        if operand.startswith("dense<"):
            constants.append(f"%{position} = nn.constant {operand}")
            types.append(operand.rpartition(" : ")[2].rpartition("-> ")[2])
        else:
            arguments.append(f"%{position}: {operand}")
            types.append(operand)
    name, _, properties = operation.partition(" ")
    names = ", ".join("_" if operand == "_" else f"%{position}" for position, operand in enumerate(operands))
    results_text = results[0] if len(results) == 1 else f"({', '.join(results)})"
    count = f":{len(results)}" if len(results) > 1 else ""
    given = ", ".join(f"%r#{position}" for position in range(len(results))) if count else "%r"
    text = f"""func.func @main({", ".join(arguments)}) -> ({", ".join(results)}) {{
      {" ".join(constants)}
      %r{count} = {name} {names} {properties} : ({", ".join(types)}) -> {results_text}
      func.return {given} : {", ".join(results)}
    }}"""
    module = parse_module(ENVIRONMENT.new_context(), text)
    verify(module)
    return module


def lowered(module: ModuleOp, pipeline: str = PIPELINE) -> ModuleOp:
    """A copy of `module` behind the passes, verified."""
    copy = module.clone()
    PassManager(ENVIRONMENT.new_context(), parse_pipeline(pipeline, ENVIRONMENT.passes)).run(copy)
    verify(copy)
    return copy


def check(
    operation: str,
    operands: Sequence[str],
    results: Sequence[str],
    *,
    given: Mapping[str, Any] | None = None,
    seeds: Sequence[int] = (0, 1),
    preservation: Preservation = EVERY_BIT,
) -> None:
    """Assert that the lowered operation computes what the operation does; `given` are values of inputs by name."""
    module = module_of(operation, operands, results)
    after = lowered(module)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    for seed in seeds:
        inputs = random_inputs(function, seed, given)
        changed = first_changed(interpret(module, inputs), interpret(after, inputs), preservation)
        assert changed is None, f"{operation} {operands} seed {seed}: {changed}"
