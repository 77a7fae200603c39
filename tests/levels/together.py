"""Several graphs in one function, so that one program computes all of them: most of what compiling a graph costs is
neither its loops nor its arithmetic."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from qmlir.interpreter.differences import first_changed
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.passes import ROUNDED
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from tests.levels.generator import Case
from tests.levels.stages import Stage


def _named(case: Case, name: str) -> str:
    return f"{case.seed}.{name}"


def merged(cases: Sequence[Case]) -> ModuleOp:
    """One module that computes all graphs; names of inputs and outputs begin with the seed."""
    block, inputs, outputs, results = Block(), list[Port](), list[Port](), list[SSAValue]()
    for case in cases:
        (function,) = (op for op in case.module.ops if isinstance(op, FuncOp))
        mapping: dict[SSAValue, SSAValue] = {}
        for argument, port in zip(function.body.block.args, inputs_of(function), strict=True):
            mapping[argument] = block.insert_arg(argument.type, len(block.args))
            inputs.append(replace(port, name=_named(case, port.name)))
        for op in function.body.block.ops:
            if isinstance(op, ReturnOp):
                results += [mapping[value] for value in op.operands]
            else:
                block.add_op(op.clone(mapping))
        outputs += [replace(port, name=_named(case, port.name)) for port in outputs_of(function)]
    block.add_op(ReturnOp(*results))
    types = FunctionType.from_lists([port.type for port in inputs], [port.type for port in outputs])
    function = FuncOp("main", types, Region(block))
    set_ports(function, inputs, outputs)
    return ModuleOp([function])


def wrong_when_compiled(cases: Sequence[Case], stage: Stage) -> list[Case]:
    """The graphs of which one program for all of them, made by `stage`, computes other numbers.

    All of them where there is no such program.
    """
    assert stage.run is not None
    with suppress(DiagnosticError):
        inputs = {_named(case, name): array for case in cases for name, array in case.inputs.items()}
        found = stage.run(merged(cases), inputs)
        return [
            case
            for case in cases
            if first_changed(
                expected := interpret(case.module, case.inputs),
                {name: found[_named(case, name)] for name in expected},
                ROUNDED,
            )
            is not None
        ]
    return list(cases)
