"""A module and samples in, the profile of its values out: observers are inserted, and a run fills them."""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.histogram import BINS
from qmlir.environment import default_environment
from qmlir.interpreter.profiling import RunOptions, run_profile
from qmlir.interpreter.recording import MOMENTUM
from qmlir.interpreter.samples import Data, Run
from qmlir.ir.verification import verify
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import ELEMENTS, PROFILE, quantize_pipeline
from qmlir.quantization.profiles.file import Profile
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.profiling import CompiledProfiling
from qmlir.workflows.cluster.opening import Cluster, workers_of
from qmlir.workflows.loading import takes_model
from qmlir.workflows.sample_checks import SampleWatch


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
    cluster: "Cluster | None" = None,
    resume: str | PathLike[str] | None = None,
    progress: IO[str] | None = None,
) -> Profile:
    """Recorded statistics of the values of `module` on samples, by key. `module` is not changed.

    `data` is an `.npz` or `.npy` file or arrays by name, with a leading axis of samples; a folder of such files; or
    anything that gives one item after the other: arrays by name, in order, or one array, of one sample or of a batch.
    `passes`, named pipelines among them, are run on a copy first, to profile a lowered model. `None` stands for those
    by which `qmlir.quantize` lowers it, so that it takes the profile.

    Samples go through the function in the batches of its type, and count one by one where that leaves the batch size
    open. `batch_size` is the number of samples that one of several `processes` is given at a time. Neither changes the
    profile, and memory does not grow with the number of samples. Where there are so many samples that it takes less
    time, compiled code records what the interpreter computes of several samples at once, or runs the model itself, in
    threads in the place of processes: its float products are rounded otherwise, everything else is the same. Without
    `compiled` the interpreter always runs and records, sample by sample.

    With a `cluster`, the address of a scheduler of Dask or a client of one, its workers run the samples, which are read
    here and sent to them; what they record does not depend on how many they are, nor on those that end in the middle.
    `batch_size` is then the number of samples of a task. `resume` is a folder that keeps the results of tasks, with a
    cluster or without: a run that was ended goes on with those that are missing.

    `constants`, `axis` and the names of `observers` of packages are options of `calib-insert-observers`, `bins` bounds
    histograms, and `momentum` is that of the moving average of ranges. `chosen` takes all runs and gives those that are
    profiled; the others are run for errors alone. A terminal as `progress` gets a bar.

    Warns if the samples are constant, mostly repeated, or only one.

    Values of a partly quantized model that have quantization parameters are not profiled. Raises `DiagnosticError` for
    data that is empty or does not fit the inputs, and for values that are not finite.
    """
    if passes is None:
        passes = quantize_pipeline({}, module).text("target", "lower")
    observed = run_pipeline(module.clone(), parse_pipeline(passes, default_environment().passes, ELEMENTS))
    verify(observed)
    run_pipeline(observed, PROFILE.passes(constants=constants, axis=axis, observers=tuple(observers)))
    watch = SampleWatch(function_of(observed, function))
    with workers_of(cluster, resume, processes=processes) as workers:
        found = run_profile(
            observed,
            data,
            options=RunOptions(function, bins, momentum),
            batch_size=batch_size,
            processes=processes,
            passes=passes,
            chosen=watch.watching(chosen),
            progress=progress,
            faster=CompiledProfiling(progress if workers is None else None) if compiled else None,
            workers=workers,
        )
    watch.tell()
    return found
