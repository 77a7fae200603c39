"""Makes a report of a folder written by `qmlir quantize`, of a quantized and its float model, or of a float model.

`report` writes the page, and returns its content as data.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.report.collect import SAMPLES, ReportOptions, collect
from qmlir.extensions.report.model import Report
from qmlir.extensions.report.render import PAGE_START, write_page
from qmlir.extensions.training.evaluating import Labels, data_beside
from qmlir.interpreter.samples import Data
from qmlir.ir.diagnostics import text_error
from qmlir.quantization.profiles.profile import Profile
from qmlir.text.files import access, note_sources, path_of, plan_output
from qmlir.text.writing import check_file, check_generated
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import load
from qmlir.workflows.quantized import Quantized
from qmlir.workflows.quantizing import quantize

Model: TypeAlias = ModuleOp | str | PathLike[str]

OUTPUT = "report.html"


class _Subjects(NamedTuple):
    """The models that a report compares."""

    reference: ModuleOp
    quantized: ModuleOp
    profile: Profile | None
    title: str


def is_quantized(module: ModuleOp) -> bool:
    """Returns true if a value of `module` has a quantized type."""
    return any(
        isinstance(element_type(result.type), UniformQuantizedType) for op in module.walk() for result in op.results
    )


def _opened(
    model: Model | Quantized,
    reference: Model | None,
    data: Data,
    shapes: Mapping[str, Sequence[int]] | None,
    progress: IO[str] | None,
) -> _Subjects:
    for each in (model, reference):
        note_sources(each)
    if isinstance(model, Quantized):
        note_sources(model.module)
        return _Subjects(
            model.source if reference is None else _module(reference, shapes), model.module, model.profile, "model"
        )
    title = "model" if isinstance(model, ModuleOp) else path_of(model).name
    if not isinstance(model, ModuleOp) and QuantizedFolder.holds(model):
        folder = QuantizedFolder.open(model)
        theirs = load(folder.float_module) if reference is None else _module(reference, shapes)
        return _Subjects(theirs, load(folder.module), Profile.load(folder.profile), folder.stem)
    module = _module(model, shapes)
    if is_quantized(module):
        if reference is None:
            raise text_error(f"'{title}' is quantized; pass the float model with --reference (reference=)")
        return _Subjects(_module(reference, shapes), module, None, title)
    if reference is not None:
        raise text_error(f"'{title}' has no quantized value; --reference requires a quantized model")
    made = quantize(module, data, validate=False, progress=progress)
    return _Subjects(module, made.module, made.profile, title)


def _module(model: Model, shapes: Mapping[str, Sequence[int]] | None) -> ModuleOp:
    if isinstance(model, ModuleOp):
        return model
    path = path_of(model)
    if path.is_dir():
        raise text_error(f"'{path}' is not a folder written by 'qmlir quantize': it has no summary.json")
    return load(path, shapes=shapes)


def report(
    model: Model | Quantized,
    data: Data,
    output: str | PathLike[str] | None = None,
    *,
    reference: Model | None = None,
    labels: Labels | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    samples: int = SAMPLES,
    time: bool = True,
    threads: int = 1,
    isa: str = "host",
    title: str = "",
    progress: IO[str] | None = None,
) -> Report:
    """Write an HTML report of the effects of quantization on a model.

    The page shows the graph colored by error, histograms, scales and findings for each layer.

    Args:
        model: A folder written by `qmlir quantize`, the result of `quantize`, a quantized model with its float model as
            `reference`, or a float model, which is quantized first.
        data: Samples, in a form that `profile` accepts.
        output: The file to write. `None` writes `report.html`, and replaces only a report there.
        reference: The float model of a quantized `model`.
        labels: Class of each sample: integers, a file, or `NAME=FILE` for an array of an `.npz` file. With them, the
            page shows the accuracy; otherwise the agreement of both models.
        shapes: Shapes of inputs by name, for ONNX models with dynamic dimensions.
        samples: Number of samples for errors and histograms. Accuracy uses all of `data`.
        time: Compile and time both models. `False` leaves the times out.
        threads: Number of threads of compiled programs, at least 1.
        isa: Instruction set of the CPU, such as `avx2`; `host` is the best one of this CPU.
        title: Title of the page. Empty uses the name of the model.
        progress: Stream that shows progress: a terminal gets a bar, any other stream a line every ten seconds.

    Returns:
        The content of the page as data. Printing it shows the number of findings of each kind.

    Raises:
        DiagnosticError: A model, the data or the labels do not fit, or the file cannot be written.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data)
        >>> found = qmlir.report(quantized, data, "report.html", time=False)
        >>> [(figure.name, figure.unit) for figure in found.figures]
        [('agreement', '%'), ('output error', 'dB'), ('weights', 'bytes')]
    """
    target = path_of(OUTPUT if output is None else output)
    if target.is_dir():
        raise text_error(
            f"cannot write the report to '{target}': it is a folder; pass a file, such as {target / OUTPUT}"
        )
    with access():
        check_file(target)
        plan_output(target)
        if output is None:
            check_generated(target, PAGE_START)
        return _report(
            model, data, target, reference, labels, shapes, ReportOptions(title, samples, time, threads, isa), progress
        )


def _report(
    model: Model | Quantized,
    data: Data,
    target: Path,
    reference: Model | None,
    labels: Labels | None,
    shapes: Mapping[str, Sequence[int]] | None,
    options: ReportOptions,
    progress: IO[str] | None,
) -> Report:
    data = list(data) if isinstance(data, Iterator) else data_beside(labels, data)  # it is iterated more than once
    found = _opened(model, reference, data, shapes, progress)
    options = replace(options, title=options.title or found.title)
    made = collect(
        found.reference, found.quantized, data, labels=labels, profile=found.profile, options=options, progress=progress
    )
    write_page(made, target)
    return made
