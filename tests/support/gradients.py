"""One operation as a module, and the gradients that `nn-gradient` gives of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i1, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, build
from qmlir.ir.builtin_types import PLAIN_DTYPES, element_of
from qmlir.ir.signature import Port, inputs_of, set_ports
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of

Random = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """An operation to differentiate: its operands, floats in f64, its properties, and what types of results need."""

    operands: Sequence[Array | Sequence[Array] | None]
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    result_types: Sequence[Any] = ()
    results: int = 1
    wrt: str = ""
    """The only input whose gradient there is; all of floats if it is empty."""


@dataclass(frozen=True)
class Row:
    """An operation, how it is drawn, and what torch computes of the operands; `None` where torch has no such thing."""

    operation: type[NnOp]
    draw: Callable[[Random], Drawn]
    torch: Callable[..., Any] | None = None


ELEMENTS = {
    np.dtype(np.float64): f64, np.dtype(np.float32): f32, np.dtype(np.int64): i64, np.dtype(np.int32): i32,
    np.dtype(np.int8): i1,
}  # fmt: skip


def module_of(row: Row, drawn: Drawn) -> tuple[ModuleOp, dict[str, Array]]:
    """A module that computes the float results of one operation, and its inputs."""
    flat = [each for group in drawn.operands for each in (group if isinstance(group, list) else [group])]
    arrays = [each for each in flat if each is not None]
    block = Block(arg_types=[TensorType(ELEMENTS[each.dtype], each.shape) for each in arrays])
    arguments = iter(block.args)

    def taken(group: Any) -> Any:
        if isinstance(group, list):
            return [next(arguments) for _ in group]
        return None if group is None else next(arguments)

    operands = [taken(group) for group in drawn.operands]
    op = build(
        row.operation, operands, dict(drawn.properties), result_types=drawn.result_types or None, results=drawn.results
    )
    results: list[SSAValue] = [each for each in op.results if type(element_of(each)) in PLAIN_DTYPES]
    block.add_ops([op, ReturnOp(*results)])
    types = [argument.type for argument in block.args], [each.type for each in results]
    function = FuncOp("main", types, Region(block))
    ports = [Port(f"x{position}", type_) for position, type_ in enumerate(types[0])]
    set_ports(function, ports, [Port(f"y{position}", type_) for position, type_ in enumerate(types[1])])
    inputs = {
        port.name: each.astype(bool) if each.dtype == np.int8 else each
        for port, each in zip(ports, arrays, strict=True)
    }
    return ModuleOp([function]), inputs


def gradients_of(
    module: ModuleOp, inputs: dict[str, Array], seeds: dict[str, Array], wrt: str = ""
) -> dict[str, Array]:
    """The gradients of the sum of the results, times `seeds`, by name of the input."""
    split = module.clone()
    run_pipeline(split, f"nn-gradient{{wrt={wrt}}},cse" if wrt else "nn-gradient,cse")
    split.verify()
    values = qmlir.interpret(split, inputs, function="forward") | inputs
    values |= {f"gradient_{name}": seed for name, seed in seeds.items()}
    given = {port.name: values[port.name] for port in inputs_of(function_of(split, "backward"))}
    found = qmlir.interpret(split, given, function="backward")
    return {name.removeprefix("gradient_"): gradient for name, gradient in found.items()}
