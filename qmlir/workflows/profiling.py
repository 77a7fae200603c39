"""Profiling: inserts observers into a module, runs it on samples, and returns the profile of its values."""

from collections.abc import Callable, Collection, Iterable, Sequence
from os import PathLike
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.statistics import BINS
from qmlir.environment import default_environment
from qmlir.interpreter.observers import MOMENTUM
from qmlir.interpreter.profiling import RunOptions, run_profile
from qmlir.interpreter.samples import Data, Run
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import PIPELINES, PROFILE, quantize_lowering
from qmlir.quantization.profiles.profile import Profile
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.profiling import CompiledProfiling
from qmlir.workflows.calibration_samples import SampleWatch
from qmlir.workflows.loading import takes_model
from qmlir.workflows.workers import Cluster, workers_of


@takes_model
def profile(
    module: ModuleOp,
    data: Data,
    *,
    passes: str | None = "",
    function: str = "main",
    batch_size: int | None = None,
    processes: int = 1,
    constants: bool = False,
    axis: int | None = None,
    observers: Sequence[str] = (),
    bins: int = BINS,
    momentum: float = MOMENTUM,
    compiled: bool = True,
    chosen: Callable[[Iterable[Run]], Iterable[Run]] | None = None,
    given: Collection[str] = (),
    cluster: "Cluster | None" = None,
    resume: str | PathLike[str] | None = None,
    progress: IO[str] | None = None,
) -> Profile:
    """Records statistics of all values of a model on samples: ranges, sums and histograms.

    The model is not changed. Samples run in batches of the size of the model, or one at a time if its batch size is
    dynamic.
    Memory does not grow with the number of samples. In a partially quantized model, values with quantization parameters
    are not recorded. A warning is emitted if the samples are constant or mostly repeated, or if there is only one.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.
        data: Samples: an `.npz` or `.npy` file, a folder of such files or of images, a dict of arrays or one array with
            a leading axis of samples, or an iterable of items. An item is a dict of arrays, a sequence of arrays or one
            array, for one sample or a batch. Loaders of PyTorch and the data readers of ONNX Runtime and NNCF are
            accepted.
        passes: Pipeline that runs on a copy of the model first. `""` profiles the model as it is. `None` lowers it as
            `quantize` does, so that `quantize` accepts the profile.
        function: Name of the function to run.
        batch_size: Number of samples per task of `processes` or `cluster`. `None` chooses one. It does not change the
            profile.
        processes: Number of processes that run the samples; compiled code uses threads instead. It does not change the
            profile.
        constants: Also record the constants.
        axis: Axis along which ranges are recorded separately, in addition to those of the whole value. `None` records
            none.
        observers: Names of observers in installed packages, which record additional statistics.
        bins: Maximum number of histogram bins of a value, in [2, 65536].
        momentum: Weight of a new batch in the moving average of ranges, in (0, 1].
        compiled: Compile the model with its observers if that is faster; float contractions are then rounded
            differently. `False` always interprets, one sample at a time.
        chosen: Function that receives all runs, and returns an iterable of the runs to record. The others are executed
            only to check for errors.
        given: Keys of values that need no samples, as their quantization parameters are known. No warning is emitted
            about their samples.
        cluster: Address of a Dask scheduler (`tcp://host:port`), a Dask client, or a `concurrent.futures.Executor`,
            whose workers run the samples.
        resume: Folder for the results of finished tasks, so that an interrupted run can continue.
        progress: Stream that shows progress: a terminal gets a bar, any other stream a line every ten seconds.

    Returns:
        The statistics of each value, by key.

    Raises:
        DiagnosticError: The data is empty or does not fit the inputs, a value is not finite, or a pass fails.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> profile = qmlir.profile(model, data, passes=None)
        >>> quantized = qmlir.quantize(model, profile=profile)
    """
    first = (
        quantize_lowering(module) if passes is None else parse_pipeline(passes, default_environment().passes, PIPELINES)
    )
    observed = run_pipeline(module.clone(), first)
    verify(observed)
    run_pipeline(observed, PROFILE.passes(constants=constants, axis=axis, observers=tuple(observers)))
    watch = SampleWatch(function_of(observed, function))
    with workers_of(cluster, resume, processes=processes) as workers:
        found = run_profile(
            observed, data, options=RunOptions(function, bins, momentum), batch_size=batch_size, processes=processes,
            passes=first.text() if passes is None else passes, chosen=watch.watching(chosen), progress=progress,
            faster=CompiledProfiling(progress if workers is None else None) if compiled else None, workers=workers,
            given=given,
        )  # fmt: skip
    watch.tell(given, is_needed=not given or any(key not in given for key in found.values))
    return found
