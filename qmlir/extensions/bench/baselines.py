"""The runs that `qmlir bench` times: a model compiled by qmlir and executed by other runtimes, on the same input.

A model is an ONNX file, a module, a folder written by `qmlir quantize`, or a saved program.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.bench.peers import Run, is_quantized, modern, peer_of, peer_runs
from qmlir.extensions.report.inspecting import inspect
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.real_values import stored_inputs
from qmlir.interpreter.samples import Data, Samples
from qmlir.interpreter.values import value_dtype
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import text_error
from qmlir.ir.signature import inputs_of
from qmlir.onnx.cuts import cut
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.onnx.reading import read_model
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize
from qmlir.targets.compiling import load_program
from qmlir.targets.cpu.saved import is_program
from qmlir.tools.models import with_one_sample
from qmlir.workflows.compiling import compile
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import load
from qmlir.workflows.quantizing import quantize

SAMPLES = 4
"""The number of random samples for calibration, and the maximum number used from given data; timing needs few."""

INT8, FLOAT, GIVEN = "qmlir int8", "qmlir f32", "qmlir"


@dataclass(frozen=True)
class Rivals:
    """The runs to time, and their workload."""

    runs: Mapping[str, Run]
    multiply_adds: int | None
    """Multiply-adds of one run; `None` if unknown."""

    shapes: Mapping[str, tuple[int, ...]]
    """The shapes of the inputs."""


@dataclass
class BenchRequest:
    """The options of a benchmark, and the runs prepared so far."""

    folder: Path
    """The folder for files of other runtimes."""

    against: Sequence[str] = ()
    """The packages of other runtimes, for ONNX files."""

    data: Data | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """The shapes of inputs with dynamic dimensions; a dynamic batch size is 1."""

    cut_inputs: Sequence[str] | None = None
    cut_outputs: Sequence[str] | None = None
    """The tensors between which an ONNX model is cut, with `cut_inputs`, as for `qmlir.load`."""

    threads: int = 1
    isa: str = "host"
    say: Callable[[str], object] = lambda text: None
    """A function that is called before each long step."""

    runs: dict[str, Run] = field(default_factory=dict[str, Run])

    def add(self, name: str, module: ModuleOp, inputs: Mapping[str, Array]) -> None:
        self.say(f"{name}: compiling")
        program, stored = compile(module, threads=self.threads, isa=self.isa), stored_inputs(_main(module), inputs)
        program(stored)
        self.runs[name] = partial(program, stored)

    def refuse_peers(self, why: str) -> None:
        if self.against:
            raise text_error(f"cannot compare with {', '.join(self.against)}: {why}")


def _main(module: ModuleOp) -> FuncOp:
    return function_of(module, "main")


def _fixed(module: ModuleOp, shapes: Mapping[str, tuple[int, ...]]) -> ModuleOp:
    """Returns the module with static shapes: those of `shapes`, and 1 for a dynamic batch size."""
    wanted = with_one_sample(_main(module), shapes)
    return specialize(module, wanted, {}) if wanted else module


def _random_samples(module: ModuleOp, count: int) -> list[dict[str, Array]]:
    """Returns inputs by name; floats are normally distributed, like typical network inputs."""
    function, found = _main(module), list[dict[str, Array]]()
    for seed in range(count):
        generator, floats = np.random.default_rng(seed), dict[str, Array]()
        for port in inputs_of(function):
            type_ = ranked_tensor(port.type)
            if type_ is not None and isinstance(element := type_.get_element_type(), _FLOATS):
                dtype = value_dtype(element)
                floats[port.name] = generator.standard_normal(type_.get_shape()).astype(dtype)
        found.append(random_inputs(function, seed, floats))
    return found


_FLOATS = (Float16Type, Float32Type, Float64Type)


def _samples(module: ModuleOp, data: Data | None) -> list[dict[str, Array]]:
    """Returns a few inputs for a module with static shapes."""
    if data is None:
        return _random_samples(module, SAMPLES)
    names = [port.name for port in inputs_of(_main(module))]
    runs = zip(range(SAMPLES), Samples(_main(module), data), strict=False)
    return [dict(zip(names, run.arguments, strict=True)) for _, run in runs]


def _from_onnx(path: Path, request: BenchRequest) -> Rivals:
    proto = cut(read_model(path), request.cut_inputs, request.cut_outputs).proto
    module = _fixed(load(path, cut_inputs=request.cut_inputs, cut_outputs=request.cut_outputs), request.shapes)
    samples = _samples(module, request.data)
    inputs = samples[0]
    is_given = is_quantized(proto)
    if is_given:
        request.add(GIVEN, module, inputs)
    else:
        request.say(f"{INT8}: quantizing")
        request.add(INT8, quantize(module, samples).module, inputs)
        request.add(FLOAT, module, inputs)
    if request.against:
        source = request.folder / "model.onnx"
        source.write_bytes((proto if is_given else modern(proto)).SerializeToString())
        request.say(f"preparing {', '.join(request.against)}")
        found = peer_runs(
            request.against, source, inputs, threads=request.threads, folder=request.folder, samples=samples,
            is_quantized=is_given,
        )  # fmt: skip
        request.runs.update(found)
    return _rivals(request, module, inputs)


def _rivals(request: BenchRequest, module: ModuleOp, inputs: Mapping[str, Array]) -> Rivals:
    shapes = {name: np.shape(value) for name, value in inputs.items()}
    return Rivals(request.runs, inspect(module).multiply_adds or None, shapes)


def _from_folder(folder: QuantizedFolder, request: BenchRequest) -> Rivals:
    request.refuse_peers(f"'{folder.path}' contains no ONNX file")
    module, floats = (_fixed(load(path), request.shapes) for path in (folder.module, folder.float_module))
    inputs = _samples(floats, request.data)[0]
    request.add(INT8, module, inputs)
    request.add(FLOAT, floats, inputs)
    return _rivals(request, module, inputs)


def _from_module(module: ModuleOp, request: BenchRequest) -> Rivals:
    request.refuse_peers("it is not an ONNX file")
    fixed = _fixed(module, request.shapes)
    inputs = _samples(fixed, request.data)[0]
    request.add(GIVEN, fixed, inputs)
    return _rivals(request, fixed, inputs)


def _from_program(path: Path, request: BenchRequest) -> Rivals:
    request.refuse_peers(f"'{path}' is a saved program, not an ONNX file")
    if request.data is not None or request.shapes:
        raise text_error(f"'{path}' is a saved program, which has fixed shapes and is timed on random inputs")
    program = cast(Any, load_program(path))
    generator = np.random.default_rng(0)
    inputs = {port.name: _random_array(port, generator) for port in program.inputs}
    program(inputs)
    request.runs[GIVEN] = partial(program, inputs)
    return Rivals(request.runs, None, {name: value.shape for name, value in inputs.items()})


def _random_array(port: Any, generator: np.random.Generator) -> Array:
    """Returns random values for a port of a saved program, which defines its own class of ports."""
    dtype: np.dtype[Any] = port.dtype
    shape: tuple[int, ...] = port.shape
    if dtype.kind not in "iub":
        return np.asarray(generator.standard_normal(shape)).astype(dtype)
    limits = np.iinfo(np.uint8 if dtype == np.bool_ else dtype)
    low, high = port.limits or (int(limits.min), int(limits.max))
    return np.asarray(generator.integers(low, high, shape, dtype=np.int64, endpoint=True)).astype(dtype)


def rivals(model: str | ModuleOp, request: BenchRequest) -> Rivals:
    """Returns the runs of a model to be timed; each has been compiled and executed once.

    For a float ONNX file, qmlir's runs are f32 and int8, where int8 is calibrated on a few samples of the data or on
    random ones. For a folder written by `qmlir quantize`, they are the same two; any other model runs as it is. Raises
    `DiagnosticError` if the model cannot be run or a package is missing.
    """
    for package in request.against:
        peer_of(package)  # checked before long steps
    is_onnx = not isinstance(model, ModuleOp) and Path(model).suffix in ONNX_SUFFIXES
    if not is_onnx and (request.cut_inputs or request.cut_outputs):
        raise text_error("cut_inputs and cut_outputs require an ONNX model")
    if isinstance(model, ModuleOp):
        return _from_module(model, request)
    path = Path(model)
    if is_program(path):
        return _from_program(path, request)
    if path.is_dir() or QuantizedFolder.holds(path):
        return _from_folder(QuantizedFolder.open(path), request)
    if is_onnx:
        return _from_onnx(path, request)
    return _from_module(load(path), request)
