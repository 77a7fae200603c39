"""The façade for users: a model in, a module out; a module and inputs in, outputs out; with samples, its profile."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.histogram import BINS
from qmlir.environment import default_environment
from qmlir.interpreter.profiling import RunOptions, run_profile
from qmlir.interpreter.recording import MOMENTUM
from qmlir.interpreter.run import interpret
from qmlir.interpreter.samples import Data
from qmlir.ir.diagnostics import text_error
from qmlir.ir.verification import verify
from qmlir.onnx.importer import import_model
from qmlir.onnx.reading import TEXT_SUFFIXES, read_model
from qmlir.passes.profiled.calib_insert_observers import CalibInsertObservers
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import Pipeline, parse_pipeline
from qmlir.pipelines import KEPT_COMPOSITES, QUANTIZE
from qmlir.profiles.file import Profile
from qmlir.text.parsing import load_module

if TYPE_CHECKING:
    from onnx import ModelProto

    from qmlir.targets.cpu.compiler import Program as Program
    from qmlir.targets.cpu.compiler import compile_module as compile
    from qmlir.targets.cpu.compiler import load_program as load_program

_COMPILER = {"Program": "Program", "compile": "compile_module", "load_program": "load_program"}
"""What the compiler gives, by its name there: it is imported when first asked for, and numba with it."""

__all__ = ["Profile", "Program", "compile", "interpret", "load", "load_program", "profile", "quantize"]


def __getattr__(name: str) -> Any:
    if name not in _COMPILER:
        raise AttributeError(f"module 'qmlir.api' has no attribute '{name}'")
    return getattr(import_module("qmlir.targets.cpu.compiler"), _COMPILER[name])


ONNX_SUFFIXES = frozenset({".onnx", *TEXT_SUFFIXES})


def load(source: "str | PathLike[str] | ModelProto", *, shapes: Mapping[str, Sequence[int]] | None = None) -> ModuleOp:
    """The verified module of a model: a `.onnx` file or an ONNX `ModelProto`, or the text of a module.

    `shapes` fixes the shapes of inputs by name, for ONNX models whose inputs have sizes that are not known. Raises
    `DiagnosticError` where the model cannot be read or holds what cannot be imported.
    """
    if not isinstance(source, str | PathLike):
        return import_model(read_model(source), shapes=shapes)
    path = Path(source)
    if path.suffix in ONNX_SUFFIXES:
        return import_model(read_model(path), shapes=shapes)
    module = load_module(default_environment().new_context(), path)
    verify(module)
    return module


def profile(
    module: ModuleOp,
    data: Data,
    *,
    passes: str = "",
    function: str = "main",
    batch_size: int | None = None,
    processes: int = 1,
    constants: bool = False,
    axis: int | None = None,
    bins: int = BINS,
    momentum: float = MOMENTUM,
    progress: IO[str] | None = None,
) -> Profile:
    """What the values of `module` are on samples: ranges, sums and histograms by key. `module` stays as it is.

    `data` is an `.npz` or `.npy` file or arrays by name, with a leading axis of samples; a folder of such files; or
    anything that gives one item after the other: arrays by name, in order, or one array, of one sample or of a batch.
    `passes` are run on a copy first: lower, then profile.

    Samples go through the function in the batches of its type, and one by one where that leaves the batch size open.
    `batch_size` is the number of samples that one of several `processes` is given at a time. Neither changes the
    profile, and memory does not grow with the number of samples.

    `constants` and `axis` are options of `calib-insert-observers`, `bins` bounds histograms, and `momentum` is that of
    the moving average of ranges. A terminal as `progress` (standard error where it is left out) gets a bar.

    Raises `DiagnosticError` for data that does not fit or is none, and for values that are not finite.
    """
    environment = default_environment()
    ctx = environment.new_context()
    pipeline = parse_pipeline(passes, environment.passes)
    observed = module.clone()
    steps = (*pipeline.steps, CalibInsertObservers(constants=constants, axis=axis))
    PassManager(ctx, Pipeline(steps)).run(observed)
    verify(observed)
    return run_profile(
        observed,
        data,
        options=RunOptions(function, bins, momentum),
        batch_size=batch_size,
        processes=processes,
        passes=passes,
        progress=progress,
    )


def _options(values: Mapping[str, str | bool]) -> str:
    """The options of a pass as pipeline text, those left out that are empty or off."""
    written = " ".join(name if value is True else f'{name}="{value}"' for name, value in values.items() if value)
    return f"{{{written}}}" if written else ""


def quantize(
    module: ModuleOp,
    data: Data | None = None,
    *,
    profiled: "Profile | None" = None,
    keep: Sequence[str] = KEPT_COMPOSITES,
    activations: str = "",
    weights: str = "",
    accumulator: str = "",
    scheme: str = "",
    weight_scheme: str = "",
    granularity: str = "channel",
    calibrator: str = "",
    recipe: str | PathLike[str] = "",
    assert_all_quantized: bool = False,
    processes: int = 1,
    progress: IO[str] | None = None,
) -> ModuleOp:
    """A quantized module of a float one: lowered, profiled on `data`, decided, raised. `module` stays as it is.

    `profiled` is a profile that was taken before, of the lowered module, in place of `data`. `keep` names the
    composites that stay whole while the others become parts with parameters of their own. The next seven set the
    defaults for all values, as the options of `quant-assign-types` do, and `recipe` is a TOML file of rules for chosen
    ones. The module takes and gives floats as before; between them it computes on integers, except where something was
    left in float: `assert_all_quantized` makes that an error that lists all of it.

    Raises `DiagnosticError` for data, a profile or a recipe that does not fit.
    """
    if (data is None) == (profiled is None):
        raise text_error("quantize takes samples or a profile, one of them")
    environment = default_environment()
    ctx = environment.new_context()
    settings = {
        "activations": activations, "weights": weights, "accumulator": accumulator, "scheme": scheme,
        "weight_scheme": weight_scheme, "granularity": granularity, "calibrator": calibrator, "recipe": str(recipe),
        "assert_all_quantized": assert_all_quantized,
    }  # fmt: skip
    values = {"keep": f"{{keep={','.join(keep)}}}" if keep else "", "options": _options(settings)}

    def run(target: ModuleOp, *stages: str, **more: str) -> None:
        PassManager(ctx, parse_pipeline(QUANTIZE.text(*stages, **values, **more), environment.passes)).run(target)
        verify(target)

    lowered = module.clone()
    run(lowered, "lower")
    if profiled is None:
        assert data is not None
        profiled = profile(lowered, data, processes=processes, progress=progress)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        profiled.save(path)
        run(lowered, "profile", profile=str(path))
    run(lowered, "decide", "propagate", "raise")
    return lowered
