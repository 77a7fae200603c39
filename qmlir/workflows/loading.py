"""Loading of models: reads an ONNX file or the text of a module, and returns a verified module.

API functions accept a module, or a path or object from which a module can be loaded. `takes_model` extends a function
that takes a module accordingly.
"""

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp

from qmlir import onnx, registry, specialization, workflows
from qmlir.dialects.quant.ops import CastOperation
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, diagnostic_handler, text_error
from qmlir.ir.signature import MAIN
from qmlir.ir.verification import verify
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of, input_shapes
from qmlir.targets.cpu.choices import CALLS
from qmlir.text.files import access, keep_sources, note_sources, path_of
from qmlir.text.parsing import load_module
from qmlir.text.renames import checks_names

if TYPE_CHECKING:
    from onnx import ModelProto

    from qmlir.onnx.reading import OnnxModel


_TO_RUN = ": qmlir.compile(quantized)(inputs) runs it, and so does qmlir.interpret(quantized, inputs)"


class HoldsModule(ABC):
    """A result that contains a module: every function that takes a model accepts it."""

    module: ModuleOp

    def __getattr__(self, name: str) -> Any:
        where = f", its module has: .module.{name}" if hasattr(ModuleOp, name) else _TO_RUN if name in CALLS else ""
        raise AttributeError(f"{type(self).__name__} has no '{name}'{where}", name=name, obj=self)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be called{_TO_RUN}")


Model: TypeAlias = "ModuleOp | HoldsModule | str | PathLike[str] | ModelProto"
"""A module, a result that holds one, or a source that `load` accepts."""

STRIP = "strip-training,dce"
"""The passes that remove operations needed only for training."""

_Shapes: TypeAlias = Mapping[str, Sequence[int]]
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_TENSORFLOW = "tf2onnx makes an ONNX model of it"
_OTHER_FORMATS: Mapping[str, str] = {
    ".pb": f"{_TENSORFLOW}, if it is a graph of TensorFlow; an ONNX model must be named .onnx",
    **dict.fromkeys((".pbtxt", ".h5", ".keras", ".tflite"), _TENSORFLOW),
    **dict.fromkeys(
        (".pt", ".pth", ".ckpt"), "torch.export.save(torch.export.export(model, args), 'model.pt2') makes a model"
    ),
    **dict.fromkeys((".joblib", ".pkl", ".pickle"), "to_onnx of skl2onnx makes a model of a fitted estimator"),
    ".safetensors": "it holds weights alone: export the model that uses them to ONNX, or pass the .mlir next to it",
    ".npz": "it holds arrays: pass the model first, then the data",
    ".npy": "it holds an array: pass the model first, then the data",
}
"""Help for files of other formats, by suffix."""


@checks_names
def load(
    source: "str | PathLike[str] | ModelProto",
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    keep_casts: bool = False,
    cut_inputs: Sequence[str] | None = None,
    cut_outputs: Sequence[str] | None = None,
    fallback: bool = True,
    strip_training: bool = False,
    requantize: str | None = None,
) -> ModuleOp:
    """Reads a model, and returns its verified module.

    An ONNX model in QDQ form computes on floats between its casts. Its operations become operations on integers, which
    round only once, whereas floats are rounded by each operation. A result therefore differs by at most one
    quantization step, if a sum is near a tie. A float bias becomes integers if its error is at most half a quantization
    step of the result; otherwise its operation stays in float.

    Args:
        source: A `.onnx` file, an ONNX `ModelProto`, the result of `torch.onnx.export`, a `.tflite` file (requires the
            extra `qmlir[litert]`), a `.pt2` file of `torch.export.save`, a `.mlir` file, or a folder written by
            `qmlir quantize` or `Quantized.save`, whose quantized module is read.
        shapes: Shapes of inputs by name, for an ONNX model with dynamic dimensions, or to resize a LiteRT model. `None`
            keeps the shapes of the file.
        keep_casts: Leave all operations between the casts of a QDQ model in float.
        cut_inputs: Tensors of an ONNX model that become the inputs of the module. `None` stands for the inputs of the
            model.
        cut_outputs: Tensors of an ONNX model that become the outputs of the module; only nodes that they need are read.
            `None` stands for the outputs of the model.
        fallback: Run unsupported ONNX operators in ONNX Runtime, or in ONNX's reference implementation, with a warning.
            `False` makes them an error.
        strip_training: Read a model in training mode as it computes at inference (the pass `strip-training`). Otherwise
            it keeps dropout and the statistics of each batch, with a warning.
        requantize: The kernels of LiteRT whose arithmetic the quantized operations of a LiteRT model have:
            `litert-reference` (default) or `litert-xnnpack`. With `float`, a dynamic-range model computes in floats,
            so that it can be quantized.

    Returns:
        The module, with a function `main`.

    Raises:
        DiagnosticError: The file cannot be read, is not a model, or contains an operator that cannot be imported; or
            `cut_inputs` or `cut_outputs` are set for a model that is not ONNX, or `keep_casts` for one of LiteRT or
            PyTorch.

    Example:
        >>> module = qmlir.load("docs/examples/digits_cnn.onnx", shapes={"input": [1, 1, 8, 8]})
        >>> print(qmlir.interpret(module, np.zeros((1, 1, 8, 8), np.float32))["logits"].shape)
        (1, 10)
    """
    with access() as run:
        make = partial(imported, keep_casts=keep_casts, fallback=fallback, strip_training=strip_training)
        module = _loaded(
            source, shapes or {}, (cut_inputs, cut_outputs), make, keep_casts, strip_training, requantize
        )  # fmt: skip
        keep_sources(module, run)
    return module


def _loaded(
    source: "str | PathLike[str] | ModelProto", shapes: _Shapes, cuts: Sequence[Sequence[str] | None],
    make: Callable[..., ModuleOp], keep_casts: bool, strip_training: bool, requantize: str | None,
) -> ModuleOp:  # fmt: skip
    """Implements `load`; `make` makes a module of an ONNX model for given shapes."""
    if isinstance(source, str | PathLike):
        source = path_of(source)
        if source.is_dir():
            source = workflows.model_in(source)
    else:
        source = _model_in_memory(source)
    reader = registry.named("readers").get(source.suffix.lower()) if isinstance(source, Path) else None
    if requantize is not None and reader is None:
        raise text_error(f"requantize requires a LiteRT model, but got '{source}'")
    if not isinstance(source, Path) or source.suffix in ONNX_SUFFIXES:
        model = onnx.cut(onnx.read_model(source), *cuts)
        module = make(model, shapes)
        if shapes and _is_dynamic(model):
            _mark_batch(module, partial(make, model))
        return module
    if reader is None and (help := _OTHER_FORMATS.get(source.suffix.lower())):
        known = ", ".join((".onnx", *registry.named("readers")))
        raise text_error(f"cannot read '{source}': expected a {known} or .mlir file; help: {help}")
    if any(names is not None for names in cuts):
        raise text_error(f"cut_inputs and cut_outputs require an ONNX model, but got '{source}'")
    if reader is not None:
        if keep_casts:
            raise text_error(f"keep_casts requires an ONNX model, but got '{source}'")
        module: ModuleOp = reader.call(reader.function(), source, shapes=shapes, requantize=requantize)
    else:
        module = load_module(default_environment().new_context(), source)
        verify(module)
    if strip_training:
        run_pipeline(module, STRIP)
    return module


def imported(
    model: "OnnxModel", shapes: _Shapes, *, keep_casts: bool, fallback: bool, strip_training: bool
) -> ModuleOp:
    """Returns the module of an ONNX model that has been read, with the options of `load`."""
    restored = onnx.restored_module(model, shapes=shapes, fallback=fallback)
    module = restored or onnx.import_model(model, shapes=shapes, fallback=fallback, is_training_expected=strip_training)
    if strip_training:
        run_pipeline(module, STRIP)
    has_casts = any(isinstance(op, CastOperation) for op in module.walk())
    if has_casts and not keep_casts and restored is None:
        run_pipeline(module, workflows.IMPORT.passes())
    return module


def _is_dynamic(model: "OnnxModel") -> bool:
    """Returns true if the model declares an input with a dynamic dimension."""
    dims = (dim for info in model.proto.graph.input for dim in info.type.tensor_type.shape.dim)
    return any(not dim.HasField("dim_value") for dim in dims)


def _mark_batch(module: ModuleOp, imported: Callable[[_Shapes], ModuleOp]) -> None:
    """Marks `module`, which has static shapes, with the batch proven for the model with its dynamic dimensions.

    With a batch of one, operations that mix samples may have been folded away.
    """
    function = function_of(module, MAIN)
    known = input_shapes(function)
    try:
        with diagnostic_handler(lambda _: None):  # already emitted by the import of `module`
            dynamic = imported({})
        axes, found = specialization.dynamic_axes(function_of(dynamic, MAIN)), specialization.proof_of(dynamic, known)
    except DiagnosticError as error:
        axes, found = {name: list(range(len(shape))) for name, shape in known.items()}, error
    specialization.mark_batch(function, axes, found)


def _model_in_memory(source: Any) -> "ModelProto":
    """Returns an ONNX model, or that of an `ONNXProgram` from `torch.onnx.export`. Raises `DiagnosticError`."""
    found = getattr(source, "model_proto", source)
    if not hasattr(found, "graph"):
        raise _no_model(source)
    return found


def _no_model(source: Any) -> DiagnosticError:
    """Returns the error for an object that is neither a path nor a model."""
    what = type(source).__name__
    if hasattr(source, "forward"):
        return text_error(
            f"{what} is a PyTorch module; export it with torch.onnx.export(model, args, 'model.onnx') and pass "
            "'model.onnx'"
        )
    if hasattr(source, "__array__"):
        return text_error(f"{what} is not a model; pass the model first, then the data")
    if callable(source):
        return text_error(f"{what} is not a model but a compiled program; call it as program(inputs)")
    return text_error(f"{what} is not a model; pass a path or an ONNX ModelProto")


def module_of(model: Model) -> ModuleOp:
    """Returns the module for `model`, any form that API functions accept. Raises `DiagnosticError`, as `load` does."""
    note_sources(model)
    if isinstance(model, HoldsModule):
        note_sources(model.module)
        return model.module
    return model if isinstance(model, ModuleOp) else load(model)


def takes_model(
    function: Callable[Concatenate[ModuleOp, _Parameters], _Result],
) -> Callable[Concatenate[Model, _Parameters], _Result]:
    """Wraps `function`, whose first argument is a module, to accept any `Model` as its first argument.

    Each call is a run (`qmlir.text.files`): it never overwrites its input files, and its result keeps track of them. A
    renamed keyword argument raises a `TypeError` with the new name.
    """
    checked = checks_names(function)

    @wraps(function)
    def opened(module: Any, *arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        with access() as run:
            for each in (*arguments, *options.values()):
                note_sources(each)
            found = checked(module_of(module), *arguments, **options)
            keep_sources(found, run)
            if isinstance(found, HoldsModule):
                keep_sources(found.module, run)
        return found

    return opened
