"""The checks of one model: its batch by the interpreter, sample by sample, and what is compiled of it."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.padding.batch import BatchAxes, proven_batch
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
    for place in range(count):
        sample = {
            name: array if name not in batch.inputs else np.take(array, [place], batch.inputs[name])
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


def faults_of_program(model: DynamicModel, module: ModuleOp, emitter: str, sizes: Sequence[int] = SIZES) -> list[str]:
    """What is wrong with the compiled program of `module`, for each size; a rejection begins with `rejected`."""
    faults: list[str] = []
    try:
        program = qmlir.compile(module, emitter=emitter)
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
