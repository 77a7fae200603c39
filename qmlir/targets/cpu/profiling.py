"""Compiled profiling: compiles a module with observers to a program that accumulates their statistics.

Each machine has its own records, so that several can run in parallel; their statistics are merged at the end. Values
that depend only on constants count once, not per run: they are interpreted with the first run.

If compiling would take longer than it saves, the interpreter runs instead, on many samples at a time if they are
independent. Recording, its most expensive part, then still runs in compiled code, which is shared by all models.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from typing import IO

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.records import NANS, RUN_WORDS, RecordLayout
from qmlir.arithmetic.schemes import F64, I64
from qmlir.arithmetic.statistics import NotANumberError, Statistics
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.kernel.record import RecordOp
from qmlir.interpreter.interpreter import Interpreter
from qmlir.interpreter.observers import Images, ObservedValue, Recorder, RunFigures, depends_on_data
from qmlir.interpreter.profiling import ExecutionMode, Interpreted, Machine, RunOptions
from qmlir.interpreter.samples import Run, Samples
from qmlir.ir.builtin_types import dense, sizes_of
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, op_error, text_error
from qmlir.ir.interfaces import MultipliesAndAdds, volume
from qmlir.passes.profiled.calib_observers import AFTER, attach_records
from qmlir.passmanager.manager import run_pipeline
from qmlir.quantization.profiles.keys import open_composites
from qmlir.specialization.batch import observed_images
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.compiler import Program, compile_module
from qmlir.targets.cpu.emitters.emitter import NUMBA


def _observers(module: ModuleOp) -> list[ObserveOp]:
    return [op for op in module.walk() if isinstance(op, ObserveOp)]


def _with_observers(module: ModuleOp, *, varying: bool) -> ModuleOp:
    """Returns a clone with only the observers of values that depend on inputs, or with only all others."""
    clone = module.clone()
    depending = depends_on_data(clone)
    for op in _observers(clone):
        if (op in depending) != varying:
            Rewriter.replace_op(op, [], [op.input])
    return clone


def _of_constants(module: ModuleOp, function: str) -> ModuleOp | None:
    """Returns a module that computes only observed values that depend on constants alone; `None` if there are none."""
    clone = _with_observers(module, varying=False)
    if not _observers(clone):
        return None
    main = function_of(clone, function)
    end = main.body.block.last_op
    assert isinstance(end, ReturnOp)
    Rewriter.replace_op(end, ReturnOp())
    main.update_function_type()
    main.properties.pop("res_attrs", None)
    return run_pipeline(clone, "dce")


_OPERATION, _OBSERVER, _ELEMENT, _PRODUCT = 20e-6, 40e-6, 25e-9, 0.02e-9
"""Seconds that the interpreter takes per operation, per observer, per observed element, and per multiply-add.

ResNet-50 takes 1.3 s per sample, an LSTM of 8 steps and 64 units 16 ms.
"""

_RECORDING, _RECORDED = 0.3, 3e-9
"""Seconds of setup for compiled recording, and per recorded element.

Setup takes only about 50 ms. The higher value keeps short profiles on single samples, whose products are rounded as
they are for one sample.
"""

_COMPILING, _COMPILED_OPERATION = 1.5, 6e-3
"""Half of the seconds that compiling takes, in total and per operation, since profiled models are often in the cache.
"""

_CALL, _RECORDED_AT_ONCE, _COMPILED_PRODUCT = 60e-6, 0.9e-9, 0.01e-9
"""Seconds per compiled run, per recorded element, and per multiply-add."""

_ELEMENTS = 1 << 18
"""The target size of the largest value when several samples run together: it should stay in the caches."""


@dataclass(frozen=True)
class _Sizes:
    """The sizes that determine the time of a run."""

    operations: int
    observers: int
    elements: float
    products: float
    largest: float
    """The number of elements of the largest value."""

    @staticmethod
    def of(module: ModuleOp, options: RunOptions, run: Run) -> "_Sizes":
        """Returns the sizes for runs as large as `run`."""
        operations = list(module.walk())
        observed = [volume(sizes_of(op.input)) for op in operations if isinstance(op, ObserveOp)]
        products = sum(op.multiply_adds() for op in operations if isinstance(op, MultipliesAndAdds))
        # Dynamic dimensions count as 1 in the module; scale by the actual size of the inputs.
        known = sum(volume(sizes_of(each)) for each in function_of(module, options.function).body.block.args)
        larger = max(sum(each.size for each in run.arguments) / max(known, 1), 1)
        elements, most = larger * sum(observed), larger * max(observed, default=1)
        return _Sizes(len(operations), len(observed), elements, larger * products, most)


@dataclass(frozen=True)
class CompiledProfiling:
    """Provides machines that run a module with observers faster than the interpreter; `progress` is as in `compile`."""

    progress: IO[str] | None = None

    def ways(self, module: ModuleOp, samples: Samples, options: RunOptions, run: Run) -> list[ExecutionMode]:
        """Returns three ways to run: interpreted, interpreted in batches with compiled records, and compiled."""
        sizes = _Sizes.of(module, options, run)
        batch = _batch_of(samples)
        at_once = min(max(int(_ELEMENTS / max(sizes.largest, 1)), 1), _MOST_RUNS) if batch else 1
        taken = _OPERATION * sizes.operations
        products = _PRODUCT * sizes.products
        return [
            ExecutionMode(0.0, taken + products + _OBSERVER * sizes.observers + _ELEMENT * sizes.elements),
            ExecutionMode(
                _RECORDING,
                taken / at_once + products + _RECORDED * sizes.elements,
                partial(_batched, module, options, run, batch, at_once),
            ),
            ExecutionMode(
                _COMPILING + _COMPILED_OPERATION * sizes.operations,
                _CALL + _COMPILED_PRODUCT * sizes.products + _RECORDED_AT_ONCE * sizes.elements,
                partial(_compiled, module, options, run, self.progress),
            ),
        ]


def _batch_of(samples: Samples) -> dict[str, int]:
    """Returns the batch axis of each input if all of them have a dynamic one; else an empty dict."""
    axes = {each.port.name: each.axis for each in samples.inputs}
    known = {name: axis for name, axis in axes.items() if axis is not None}
    is_open = all(each.axis is not None and each.shape[each.axis] == DYNAMIC_INDEX for each in samples.inputs)
    return known if is_open else {}


_LLVM = "llvm"
"""The default emitter: it compiles in half of the time of numba, but doesn't support custom kernels."""

_MOST_ELEMENTS, _MOST_RUNS = 1 << 24, 1 << 10
"""The maximum number of elements and of runs per call of `_Recording.add`."""


@lru_cache
def _recording_program(bins: int) -> Program:
    """Compiles a `kernel.record` for any number of runs; it is the same for all values of all models."""
    elements, sizes = TensorType(f32, [_MOST_ELEMENTS]), TensorType(i64, [2])
    records = TensorType(i64, [RecordLayout(bins).words + RUN_WORDS * _MOST_RUNS])
    function = FuncOp("main", ((elements, sizes, records), (records,)))
    values, runs, before = function.body.block.args
    position = arith.ConstantOp(dense(bytes(8), RecordOp.PLACE), RecordOp.PLACE)
    after = RecordOp.of(values, position.result, before, bins, None, runs)
    function.body.block.add_ops([position, after, ReturnOp(after)])
    return compile_module(ModuleOp([function]), emitter=_LLVM)


class _Recording:
    """Adds values to records in compiled code. Not thread-safe."""

    def __init__(self, bins: int) -> None:
        self._program, self._layout = _recording_program(bins), RecordLayout(bins)
        self._values = np.empty(_MOST_ELEMENTS, np.float32)
        self._words = np.empty(self._layout.words + RUN_WORDS * _MOST_RUNS, np.int64)

    def add(self, values: Array, record: I64) -> F64:
        """Adds f32 `values` `[runs, elements]` to a record; returns the range and sums of each run, `[runs, 4]`."""
        runs, size = values.shape
        self._values[: values.size].reshape(values.shape)[:] = values
        self._words[: record.size] = record
        self._program([self._values, np.array([runs, size]), self._words], {"output0": self._words})
        record[:] = self._words[: record.size]
        return self._words[record.size :][: RUN_WORDS * runs].view(np.float64).reshape(runs, RUN_WORDS)


class _Recorded(ObservedValue):
    """Statistics of a key; compiled code accumulates f32 values."""

    def __init__(self, recording: _Recording, key: str, axis: int | None, bins: int, observers: Sequence[str]) -> None:
        super().__init__(key, axis, bins, observers)
        self._recording, self._layout = recording, RecordLayout(bins)
        self._record: I64 | None = None

    def add(self, values: Array, seen: F64, repeats: int = 1) -> None:
        is_taken = values.dtype == np.float32 and 0 < values.size <= _MOST_ELEMENTS and len(seen) <= _MOST_RUNS
        if not is_taken or self.observers:
            super().add(values, seen, repeats)
            return
        self.is_reached = True
        if self._record is None:
            self._record = self._layout.empty()
        runs = values.reshape(repeats, len(seen), -1).swapaxes(0, 1).reshape(len(seen), -1)
        found = self._recording.add(runs, self._record)
        if self._record[NANS]:
            raise NotANumberError(values)
        if self.axis is not None:
            self.add_along(values, self.axis)
        seen[:, 0], seen[:, 1] = np.minimum(seen[:, 0], found[:, 0]), np.maximum(seen[:, 1], found[:, 1])
        seen[:, 2:] += found[:, 2:]

    def taken(self) -> Statistics:
        if self._record is not None:
            self.statistics = self.statistics.merged(self._layout.statistics(self._record))
            self._record = None
        return super().taken()


def _images_in(module: ModuleOp, options: RunOptions, run: Run, batch: Mapping[str, int]) -> Images | None:
    """Returns which sample each part of an observed value belongs to; `None` if samples may depend on each other."""
    function = function_of(module, options.function)
    observers = _observers(module)
    if not batch or any(op.parent is not function.body.block for op in observers) or open_composites(module):
        return None
    try:
        positions = observed_images(function, batch, [each.shape for each in run.arguments])
    except DiagnosticError:  # samples are not independent; run them one by one
        return None
    return dict(zip(observers, positions, strict=True))


_Shapes = tuple[tuple[int, ...], ...]


def _batched(
    module: ModuleOp, options: RunOptions, run: Run, batch: Mapping[str, int], at_once: int
) -> Callable[[], Machine]:
    """Returns a factory of machines that run up to `at_once` samples at a time if they are independent."""
    is_known = at_once > 1 and _images_in(module, options, run, batch) is not None
    return partial(BatchedMachine, module, options, batch, at_once if is_known else 1)


class BatchedMachine:
    """Runs the interpreter on several samples at a time, with compiled records. Not thread-safe.

    Samples of equal shape run together if they are independent; `batch` is the batch axis of each input. All results
    except sums of products are bit-identical to those of running one sample at a time. The range and sums of each
    sample are recorded separately. If a value is NaN, the samples are run again one at a time to find it.
    """

    def __init__(self, module: ModuleOp, options: RunOptions, batch: Mapping[str, int], at_once: int) -> None:
        self.at_once = at_once
        self._module, self._options, self._batch = module, options, batch
        self._recorder = Recorder(module, bins=options.bins, kind=partial(_Recorded, _Recording(options.bins)))
        self._interpreter = Interpreter(module, [self._recorder])
        self._images: dict[_Shapes, Images | None] = {}

    def run(self, runs: Sequence[Run]) -> RunFigures:
        """Runs all samples; consecutive samples of equal shape run together."""
        parts: list[RunFigures] = []
        for shapes, group in groupby(runs, lambda run: tuple(each.shape for each in run.arguments)):
            listed = list(group)
            images = self._images_of(shapes, listed[0]) if len(listed) > 1 else None
            together = [listed] if images is not None else [[run] for run in listed]
            parts += [self._run_together(each, images) for each in together]
        firsts = [first for part in parts for first in part.firsts]
        return RunFigures(parts[0].keys, firsts, np.concatenate([part.seen for part in parts], axis=1))

    def _images_of(self, shapes: _Shapes, run: Run) -> Images | None:
        """Returns the positions of the samples in the observed values for runs of these shapes; cached by shape."""
        if shapes not in self._images:
            self._images[shapes] = _images_in(self._module, self._options, run, self._batch)
        return self._images[shapes]

    def _run_together(self, runs: Sequence[Run], images: Images | None) -> RunFigures:
        columns = zip(*(run.arguments for run in runs), strict=True)
        arguments = (
            runs[0].arguments
            if len(runs) == 1
            else [np.concatenate(each, axis) for each, axis in zip(columns, self._batch.values(), strict=True)]
        )
        self._recorder.begin([run.first for run in runs], [run.samples for run in runs], images)
        try:
            self._interpreter.call(self._options.function, arguments)
        except DiagnosticError:
            if len(runs) == 1:
                raise
            alone = Interpreted(self._module, self._options)
            for run in runs:
                alone.run([run])
            raise
        return self._recorder.end()

    def taken(self) -> dict[str, Statistics]:
        """Returns the statistics of each key since the last call."""
        return self._recorder.taken()


def _compiled(
    module: ModuleOp, options: RunOptions, run: Run, progress: IO[str] | None
) -> Callable[[], Machine] | None:
    """Returns a factory of compiled machines; `None`, with a remark, if the module can't be compiled for `run`."""
    cause = ""
    for emitter in (_LLVM, NUMBA):
        try:
            made = _Compiled(module, options, emitter, progress)
            made.program.compile_for([*run.arguments, made.records.empty()])
            return partial(CompiledMachine, made)
        except DiagnosticError as error:
            cause = error.diagnostic.message
    emit(Diagnostic(Severity.REMARK, f"profiling is not compiled: {cause}"))
    return None


class _Compiled:
    """A compiled module with observers."""

    def __init__(self, module: ModuleOp, options: RunOptions, emitter: str, progress: IO[str] | None) -> None:
        """Raises `DiagnosticError`, with the operation, if observers or the module can't be compiled."""
        for op in open_composites(module):
            raise op_error(op, "cannot be profiled in compiled code: its parts depend on the sequence length")
        changed = _with_observers(module, varying=True)
        function = function_of(changed, options.function)
        for op in _observers(changed):
            if op.parent_op() is not function:
                raise op_error(op, f"has observers outside of function @{options.function}")
        self.records = attach_records(function, options.bins)
        self.program = compile_module(changed, function=options.function, progress=progress, emitter=emitter)
        self.constants = _of_constants(module, options.function)
        self.module = module
        self.options = options


class CompiledMachine:
    """Runs the compiled module, with separate records. Not thread-safe."""

    at_once = 1

    def __init__(self, made: _Compiled) -> None:
        self._made = made
        self._records = made.records.empty()
        self._constants = None if made.constants is None else Interpreted(made.constants, made.options)
        self._has_run = False

    def run(self, runs: Sequence[Run]) -> RunFigures:
        """Runs one sample. If a value is NaN, runs the interpreter, whose error names the operation."""
        made, (run,) = self._made, runs
        made.records.begin_run(self._records)
        self._has_run = True
        made.program([*run.arguments, self._records], {AFTER: self._records})
        for key, count in made.records.with_nan(self._records):
            Interpreted(made.module, made.options).run([run])
            raise text_error(f"value '{key}' at sample {run.first} contains {count} NaN")
        keys, seen = made.records.run(self._records)
        if self._constants is not None and run.first == 0:
            keys, seen = _together((keys, seen), self._constants.run([run]))
        return RunFigures(keys, [run.first], seen[:, None])

    def taken(self) -> dict[str, Statistics]:
        """Returns the statistics of each key since the last call."""
        found = self._made.records.statistics(self._records) if self._has_run else {}
        self._records, self._has_run = self._made.records.empty(), False
        for key, known in ({} if self._constants is None else self._constants.taken()).items():
            found[key] = found[key].merged(known) if key in found else known
        return found


def _together(runs: tuple[Sequence[str], F64], constants: RunFigures) -> tuple[list[str], F64]:
    """Combines the figures of a run, `[keys, 4]`, with those of values that depend on constants alone."""
    known = dict(zip(*runs, strict=True))
    for key, constant in zip(constants.keys, constants.seen[:, 0], strict=True):
        found = known.get(key, constant)
        low, high = min(found[0], constant[0]), max(found[1], constant[1])
        known[key] = np.array([low, high, *(found[2:] + constant[2:])]) if key in known else constant
    return list(known), np.array(list(known.values()))
