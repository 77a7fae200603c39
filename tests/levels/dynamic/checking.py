"""The checks of one model: its batch by the interpreter, sample by sample, and what is compiled of it."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.batch import BatchAxes, proven_batch
from qmlir.specialization.inputs import function_of
from qmlir.specialization.padding import outline
from qmlir.targets.cpu.compiler import Program, open_port
from qmlir.targets.cpu.length_buckets import all_capacities, followed_lengths, padded_modules, plan_of
from qmlir.targets.cpu.runtime.lengths import AnyLength, Bucket
from tests.levels.dynamic.building import SIZES, DynamicModel

Results = Mapping[str, Array]


def differences(found: Results, wanted: Results) -> str:
    """The first output that differs; empty if none does. Integers must be equal, floats to the rounding of sums."""
    for name, array in wanted.items():
        other = found[name]
        if other.shape != array.shape or other.dtype != array.dtype:
            return f"{name} is {other.dtype} {other.shape}, not {array.dtype} {array.shape}"
        is_equal = np.array_equal(other, array, equal_nan=array.dtype.kind == "f")
        if not is_equal and not (array.dtype.kind == "f" and np.allclose(other, array, 1e-5, 1e-5, equal_nan=True)):
            return f"{name} differs in {np.count_nonzero(other != array)} of {array.size} elements"
    return ""


def batch_found(module: ModuleOp, inputs: Results) -> BatchAxes | str:
    """The batch that is proven for inputs of these shapes, or why there is none."""
    try:
        return proven_batch(module, {name: array.shape for name, array in inputs.items()})
    except DiagnosticError as error:
        return error.diagnostic.message


def one_by_one(module: ModuleOp, inputs: Results, batch: BatchAxes) -> dict[str, Array]:
    """The outputs of the interpreter on each sample of a batch alone, put together."""
    count = next(inputs[name].shape[axis] for name, axis in batch.inputs.items())
    runs: list[dict[str, Array]] = []
    for position in range(count):
        sample = {
            name: array if name not in batch.inputs else np.take(array, [position], batch.inputs[name])
            for name, array in inputs.items()
        }
        runs.append(qmlir.interpret(module, sample))
    return {
        name: array if name not in batch.outputs else np.concatenate([run[name] for run in runs], batch.outputs[name])
        for name, array in runs[0].items()
    }


def fault_of_proof(model: DynamicModel, module: ModuleOp) -> str:
    """What is wrong with the batch that is proven of `module`; empty if nothing is."""
    for size in SIZES[1:3]:
        inputs = model.inputs(size)
        batch = batch_found(module, inputs)
        if isinstance(batch, BatchAxes):
            found = differences(one_by_one(module, inputs, batch), qmlir.interpret(module, inputs))
            if found:
                return f"size {size}: {found}"
    return ""


CAPACITIES = (3, 17)
"""Of each dynamic dimension that is padded."""


class _Interpreted:
    """The interpreter in the place of a compiled program of one capacity."""

    batches: Any = SimpleNamespace(plan=SimpleNamespace(threads=1))

    def __init__(self, module: ModuleOp) -> None:
        function = function_of(module, "main")
        self._module = module
        self.inputs = [open_port(function, port) for port in inputs_of(function)]
        self.outputs = [open_port(function, port) for port in outputs_of(function)]

    def __call__(self, inputs: Results, outputs: Results | None = None) -> Results:
        found = qmlir.interpret(self._module, inputs)
        for name, target in (outputs or {}).items():
            target[...] = found[name]
        return found


def padded(module: ModuleOp, *, pads_all: bool) -> AnyLength | None:
    """The program with `lengths` of a model, by the interpreter; `None` if the model cannot be padded.

    Without `pads_all`, dimensions that are batches are split.
    """
    try:
        found = outline(module)
        lengths = {name: CAPACITIES for name in found.sizes if pads_all or name in found.mixed}
        modules = padded_modules(module, all_capacities(found, lengths), "main")
    except DiagnosticError:
        return None
    calls: list[Any] = [_Interpreted(each.module) for each in modules]
    pairs = zip(modules, calls, strict=True)
    return AnyLength(plan_of(found), [Bucket(each.capacities, each.takes, call) for each, call in pairs])


MAXIMUM = 88
"""The maximum size of dimensions that programs may follow."""


def following(model: DynamicModel, module: ModuleOp) -> Program | None:
    """The program whose loops end at the sizes of a model; `None` if there is none, or if it has buckets."""
    try:
        found = outline(module)
        lengths = {name: model.others.get(name, MAXIMUM) for name in found.sizes if name in found.mixed}
        if not followed_lengths(module, found, lengths, "generic"):
            return None
        program = qmlir.compile(module, isa="generic", codegen="llvm", max_sizes=lengths)
    except DiagnosticError:
        return None
    assert isinstance(program, Program)
    return program if len(program.parts) == 1 and program.parts[0].call.batches.plan.follows else None


def fault_of_following(model: DynamicModel, module: ModuleOp, program: Program) -> str:
    """What is wrong with such a program, where memory beyond the size holds anything; empty if nothing is."""
    for size in (80, 17, 1, 33, 5, 40, 2):
        inputs = model.inputs(size)
        wanted = qmlir.interpret(module, inputs)
        for garbage in (-1, 127, -127):
            arenas = cast(Sequence[Array], vars(program.parts[0].call)["_arenas"])
            for arena in arenas:
                arena[:] = garbage
            if difference := differences(program(inputs), wanted):
                return f"size {size}: {difference}"
    return ""


def fault_of_padding(model: DynamicModel, module: ModuleOp) -> str:
    """What is wrong with the padded modules of a model, at each size and beyond the largest; empty if nothing is."""
    for pads_all in (False, True):
        program = padded(module, pads_all=pads_all)
        if program is None:
            continue
        for size in (*sorted(SIZES, reverse=True), CAPACITIES[-1] + 1):  # padding is what longer runs left
            inputs = model.inputs(size)
            wanted = qmlir.interpret(module, inputs)
            try:
                found = program(inputs)
            except qmlir.InputError as error:
                if size in SIZES and "do not fit" not in str(error):
                    return f"size {size}: {error}"
                continue
            if difference := differences(found, wanted):
                return f"size {size}: {difference}"
    return ""


def faults_of_program(model: DynamicModel, module: ModuleOp, emitter: str, sizes: Sequence[int] = SIZES) -> list[str]:
    """What is wrong with the compiled program of `module`, for each size; a rejection begins with `rejected`."""
    faults: list[str] = []
    try:
        program = qmlir.compile(module, codegen=emitter)
    except DiagnosticError as error:
        return [f"rejected: {error}"]
    for size in sizes:
        inputs = model.inputs(size)
        try:
            wanted = qmlir.interpret(module, inputs)
        except DiagnosticError as error:
            wanted = str(error)
        try:
            found = program(inputs)
        except (DiagnosticError, qmlir.InputError) as error:
            if not isinstance(wanted, str):
                faults.append(f"rejected: size {size}: {error}")
            continue
        if isinstance(wanted, str):
            faults.append(f"size {size}: computed, but the interpreter says {wanted}")
        elif difference := differences(found, wanted):
            faults.append(f"size {size}: {difference}")
    return faults
