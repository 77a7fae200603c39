"""Profiling in compiled code: a module with observers becomes a program that adds up their statistics as it runs.

Each machine has records of its own, so several run at a time, and what they recorded is merged at the end. What is
computed of constants alone, which counts once and not in every run, is interpreted with the first run.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import IO

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.interpreter.profiling import Interpreted, Machine, RunOptions
from qmlir.interpreter.recording import Ranges, depends_on_data
from qmlir.interpreter.samples import Run
from qmlir.ir.builtin_types import sizes_of
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, op_error, text_error
from qmlir.ir.interfaces import MultipliesAndAdds, volume
from qmlir.passes.profiled.calib_attach_records import AFTER, attach_records
from qmlir.passmanager.running import run_pipeline
from qmlir.quantization.profiles.keys import open_composites
from qmlir.specialization.inputs import function_of
from qmlir.targets import cpu
from qmlir.targets.cpu.compiler import compile_module


def _observers(module: ModuleOp) -> list[ObserveOp]:
    return [op for op in module.walk() if isinstance(op, ObserveOp)]


def _drop(op: ObserveOp) -> None:
    op.result.replace_all_uses_with(op.input)
    Rewriter.erase_op(op)


def _of_constants(module: ModuleOp, function: str) -> ModuleOp | None:
    """A module that computes nothing but what is observed of constants alone; `None` where that is nothing."""
    clone = module.clone()
    varying = depends_on_data(clone)
    for op in _observers(clone):
        if op in varying:
            _drop(op)
    if not _observers(clone):
        return None
    main = function_of(clone, function)
    end = main.body.block.last_op
    assert isinstance(end, ReturnOp)
    Rewriter.replace_op(end, ReturnOp())
    main.function_type = FunctionType.from_lists(main.function_type.inputs.data, [])
    main.properties.pop("res_attrs", None)
    return run_pipeline(clone, "dce")


def _with_varying_observers(module: ModuleOp) -> ModuleOp:
    clone = module.clone()
    varying = depends_on_data(clone)
    for op in _observers(clone):
        if op not in varying:
            _drop(op)
    return clone


_OPERATION, _OBSERVER, _ELEMENT, _PRODUCT = 20e-6, 40e-6, 25e-9, 0.1e-9
"""Seconds that the interpreter takes for an operation, for an observer, for each element that it observes, and for each
multiply-add: ResNet-50 takes 1.4 s a sample, an LSTM of 8 steps and 64 units 16 ms."""

_COMPILING, _COMPILED_OPERATION = 3.0, 12e-3
"""Seconds that compiling takes, and for each operation: 7 s for either."""


@dataclass(frozen=True)
class CompiledProfiling:
    """Makes compiled code of modules with observers; `progress` as in `compile`."""

    progress: IO[str] | None = None

    def worth(self, module: ModuleOp, options: RunOptions, run: Run) -> int:
        """From how many runs on compiling takes less time than interpreting, by the sizes of `run`."""
        operations = list(module.walk())
        observed = [volume(sizes_of(op.input)) for op in operations if isinstance(op, ObserveOp)]
        products = sum(op.multiply_adds() for op in operations if isinstance(op, MultipliesAndAdds))
        # What is open counts as 1 in the module: the inputs say how much more it is.
        known = sum(volume(sizes_of(each)) for each in function_of(module, options.function).body.block.args)
        larger = max(sum(each.size for each in run.arguments) / max(known, 1), 1)
        spent = _OPERATION * len(operations) + _OBSERVER * len(observed)
        spent += larger * (_ELEMENT * sum(observed) + _PRODUCT * products)
        return math.ceil((_COMPILING + _COMPILED_OPERATION * len(operations)) / spent)

    def machines(self, module: ModuleOp, options: RunOptions) -> Callable[[], Machine] | None:
        """What makes a machine of the compiled module; `None`, with a remark, where it has no compiled form."""
        try:
            made = _Compiled(module, options, self.progress)
        except DiagnosticError as error:
            emit(Diagnostic(Severity.REMARK, f"profiling runs in the interpreter: {error.diagnostic.message}"))
            return None
        return partial(CompiledMachine, made)


class _Compiled:
    """A module with observers, compiled."""

    def __init__(self, module: ModuleOp, options: RunOptions, progress: IO[str] | None) -> None:
        """Raises `DiagnosticError`, with the operation, where observers or the module have no compiled form."""
        for op in open_composites(module):
            raise op_error(op, "is observed part by part, of as many as its sequence has steps")
        changed = _with_varying_observers(module)
        function = function_of(changed, options.function)
        for op in _observers(changed):
            if op.parent_op() is not function:
                raise op_error(op, f"observes outside of the function @{options.function}")
        self.records = attach_records(function, options.bins)
        with suppress(RuntimeError):  # numba finds no place to keep it: then the program has its own
            cpu.provide_records()  # once for all programs, beside this package
        self.program = compile_module(changed, function=options.function, progress=progress)
        self.constants = _of_constants(module, options.function)
        self.module = module
        self.options = options


class CompiledMachine:
    """Runs the compiled module, and has records of its own. One thread at a time may use it."""

    def __init__(self, made: _Compiled) -> None:
        self._made = made
        self._records = made.records.empty()
        self._constants = None if made.constants is None else Interpreted(made.constants, made.options)

    def run(self, run: Run) -> Ranges:
        """Run once. A value that is not a number is an error, which the interpreter finds once more, to say where."""
        made = self._made
        made.records.begin_run(self._records)
        made.program([*run.arguments, self._records], {AFTER: self._records})
        for key, count in made.records.with_nan(self._records):
            Interpreted(made.module, made.options).run(run)
            raise text_error(f"value '{key}' at sample {run.first}: found {count} NaN")
        ranges = made.records.run_ranges(self._records)
        if self._constants is not None and run.first == 0:
            for key, (low, high) in self._constants.run(run).values.items():
                known = ranges.get(key, (low, high))
                ranges[key] = min(low, known[0]), max(high, known[1])
        return Ranges(run.first, ranges)

    def taken(self) -> dict[str, Statistics]:
        """The statistics of each key since the last call."""
        found = self._made.records.statistics(self._records)
        self._records = self._made.records.empty()
        for key, known in ({} if self._constants is None else self._constants.taken()).items():
            found[key] = found[key].merged(known) if key in found else known
        return found
