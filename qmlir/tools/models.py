"""Models and data on the command line, the float model in a folder, and defaults for dynamic dimensions."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import prod
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.interpreter.archives import arrays_of
from qmlir.interpreter.datasets import Preprocessed
from qmlir.interpreter.samples import left_out
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import Diagnostic, Severity, op_error, revised, text_error
from qmlir.ir.signature import inputs_of
from qmlir.ir.verification import verify
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.passmanager.manager import run_pipeline
from qmlir.quantization.profiles.profile import Profile
from qmlir.specialization.batch import specialize_batch
from qmlir.specialization.inputs import check_known_inputs, parse_shapes, shape_text
from qmlir.text.parsing import parse_module
from qmlir.text.sources import STDIN
from qmlir.tools.arguments import cuts_in, import_settings, quantization_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.stdio import Streams, UsageError
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import STRIP, load


def model_or_path(model: str, session: Session, arguments: argparse.Namespace) -> ModuleOp | str:
    """Returns a model for functions that accept paths.

    It is returned as a module if it is read from stdin, or is cut by `--cut-inputs` or `--cut-outputs`; otherwise as a
    path.
    """
    cuts = cuts_in(arguments)
    return load_model(model, session, **cuts) if model == "-" or any(cuts.values()) else model


def load_model(
    model: str,
    streams: Streams,
    shapes: Sequence[str] = (),
    function: str = "main",
    *,
    cut_inputs: Sequence[str] | None = None,
    cut_outputs: Sequence[str] | None = None,
    strip_training: bool = False,
    requantize: str | None = None,
    **onnx: bool,
) -> ModuleOp:
    """Loads a model from the command line (a file, `-`, or a folder of `qmlir quantize`) as a verified module.

    `shapes` are the values of `--shape`, for the inputs of `function`. For `cut_inputs`, `cut_outputs`,
    `strip_training`, `requantize`, and `keep_casts` and `fallback` of ONNX models, see `qmlir.load`. Raises
    `DiagnosticError`.
    """
    sizes, path = parse_shapes(shapes), Path(model)
    if model != "-" and (path.suffix in ONNX_SUFFIXES or path.suffix.lower() in registry.named("readers")):
        return load(
            path, shapes=sizes or None, cut_inputs=cut_inputs, cut_outputs=cut_outputs, strip_training=strip_training,
            requantize=requantize, **onnx,
        )  # fmt: skip
    if cut_inputs is not None or cut_outputs is not None:
        raise text_error(f"--cut-inputs and --cut-outputs require an ONNX model, but got '{model}'")
    if model != "-":
        module = load(path, strip_training=strip_training, requantize=requantize)
    else:
        module = parse_module(default_environment().new_context(), streams.stdin.read(), STDIN)
        verify(module)
        if strip_training:
            run_pipeline(module, STRIP)
    return specialize_batch(module, sizes, function) if sizes else module


def data_in(arguments: argparse.Namespace, name: str = "data") -> Any:
    """Returns the data in the option `name`, combined with `--preprocess`; `None` if the option is not given."""
    path = getattr(arguments, name)
    return path if path is None or arguments.preprocess is None else Preprocessed(path, arguments.preprocess)


def labels_beside_data(arguments: argparse.Namespace) -> AbstractContextManager[None]:
    """Adds a hint about labels to the warning about an array in `--data` that is not an input.

    The hint is for commands with `--data` and `--labels`: the array may contain the labels.
    """

    def hinted(diagnostic: Diagnostic) -> Diagnostic:
        names = numbers if diagnostic.severity is Severity.WARNING else []
        name = next((each for each in names if diagnostic.message == left_out(each)), None)
        if name is None:
            return diagnostic
        hint = f"; if it contains the labels, use --labels {name}={arguments.data}"
        return replace(diagnostic, message=f"{diagnostic.message}{hint}")

    path = Path(arguments.data)
    if arguments.labels is not None or not path.is_file() or path.suffix != ".npz":
        return nullcontext()
    numbers = [name for name, rows in arrays_of(path).items() if rows.shape and prod(rows.shape[1:]) == 1]
    return revised(hinted)


# Dynamic dimensions that the command line does not fix: a batch size becomes 1 if a command requires static shapes.

Shapes = Mapping[str, tuple[int, ...]]

_BATCH_NAMES = ("n", "b", "bs", "batch", "batch_size", "batchsize")


def has_open_batch_only(function: FuncOp) -> bool:
    """Returns True if all dynamic dimensions have names of batch sizes, so that a batch of 1 is a safe choice."""
    return all(
        size != DYNAMIC_INDEX or name.lower() in _BATCH_NAMES
        for port in inputs_of(function)
        if (type_ := ranked_tensor(port.type)) is not None
        for size, name in zip_longest(type_.get_shape(), port.dims, fillvalue="")
    )


def _named_sizes(function: FuncOp, shapes: Shapes) -> dict[str, int]:
    """Returns the sizes that `shapes` gives to named dimensions, which apply to other inputs as well."""
    return {
        dim: size
        for port in inputs_of(function)
        for dim, size in zip(port.dims, shapes.get(port.name, ()), strict=False)
        if dim
    }


def with_one_sample(function: FuncOp, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Returns `shapes`, extended by shapes for all other dynamic inputs.

    A named size is taken from `shapes` if an input there has it; a batch size is 1. Raises `DiagnosticError` if
    `shapes` names an unknown input, or if an input has other dynamic dimensions.
    """
    check_known_inputs(function, shapes)
    found, named = dict(shapes), _named_sizes(function, shapes)
    for port in inputs_of(function):
        type_ = ranked_tensor(port.type)
        if type_ is None or type_.has_static_shape() or port.name in shapes:
            continue
        dims = dict(enumerate(port.dims))
        sizes: list[int] = []
        for axis, size in enumerate(type_.get_shape()):
            known = named.get(dims.get(axis) or "") if size == DYNAMIC_INDEX else size
            if known is None and not (axis == 0 or (axis < len(port.dims) and port.dims[axis].lower() in _BATCH_NAMES)):
                shape = shape_text(type_.get_shape())
                raise op_error(
                    function,
                    f"input '{port.name}' has dynamic dimensions ({shape}); fix them with --shape {port.name}=…",
                )
            sizes.append(1 if known is None else known)
        found[port.name] = tuple(sizes)
    return found


def shapes_text(shapes: Shapes) -> str:
    """Formats shapes as command-line options: `--shape image=1x3x224x224`."""
    return " ".join(f"--shape {name}={shape_text(shape)}" for name, shape in shapes.items())


# The float model that `search` or `finetune` quantizes: a given model, or the one in a folder of `qmlir quantize`.


@dataclass(frozen=True)
class FloatModel:
    """A float model, its profile if there is one, the settings to quantize it, and the stem of its file names."""

    module: ModuleOp
    profile: Profile | None
    settings: dict[str, Any]
    stem: str


def float_model(
    arguments: argparse.Namespace, session: Session, command: str, *, uses_profile: bool = True
) -> FloatModel:
    """Returns the model that the arguments name, with the profile and the recipe in its folder.

    The profile in the folder is used if the arguments do not name another one, and the command `uses_profile`. Raises
    `UsageError` for options that the recipe in the folder decides, and `DiagnosticError` if the model cannot be read.
    """
    settings = quantization_settings(arguments)
    given = Profile.load(arguments.profile) if arguments.profile else None
    if arguments.model == "-" or not QuantizedFolder.holds(arguments.model):
        module = load_model(arguments.model, session, **import_settings(arguments))
        stem = "model" if arguments.model == "-" else Path(arguments.model).name.split(".")[0]
        return FloatModel(module, given, settings, stem)
    if arguments.recipe or arguments.exclude:
        what = "--recipe is" if arguments.recipe else "--exclude is a rule, and the recipe"
        raise UsageError(f"qmlir {command}: error: {what} that of the folder: {command} from the model with another\n")
    folder = QuantizedFolder.open(arguments.model)
    if given is None and uses_profile:
        given = Profile.load(folder.profile)
    # The recipe of the folder contains all settings except targets and kept composites.
    others = {name: value for name, value in settings.items() if not isinstance(value, str)}
    known = {**others, "granularity": "", **folder.settings_beside_recipe(), "recipe": str(folder.recipe)}
    return FloatModel(load(folder.float_module), given, known, folder.stem)
