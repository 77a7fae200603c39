"""The other runtimes that `qmlir bench` compares with: models in their forms, and how each runtime runs them.

`quantize` writes a model in one form with ONNX Runtime's tools, as its users would: statically as QDQ or QOperator, or
dynamically. A form defines the types of activations and weights, and the session options. The static tools leave LSTM
and GRU in float. `peer_runs` opens the forms of a model in the runtimes, on one input.
"""

import contextlib
import io
import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from onnx import ModelProto, version_converter

from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import TITLES, check_installed, imported

OPSET = 17
"""The operator set version that models are converted to. The quantizer accepts per-channel weights with version 13 or
later, and supports all operators of this version.
"""

_IR_VERSION = 8


@dataclass(frozen=True)
class PeerForm:
    """A way to quantize and run a model."""

    name: str
    activations: str = ""
    """`QUInt8` or `QInt8`; empty for a float model."""

    weights: str = ""

    is_dynamic: bool = False
    """True if activations are quantized with their range at run time, which requires no samples."""

    has_operators: bool = False
    """True if the file contains integer operators (QOperator), false for float operators between casts (QDQ)."""

    is_exact: bool = False
    """True if the session must be configured to be exact (`onnx_runtime.Options.is_exact`)."""


FORMS: Mapping[str, PeerForm] = {
    form.name: form
    for form in (
        PeerForm("f32"),
        PeerForm("u8s8", "QUInt8", "QInt8"),
        PeerForm("u8s8 exact", "QUInt8", "QInt8", is_exact=True),
        PeerForm("u8u8", "QUInt8", "QUInt8"),
        PeerForm("s8s8", "QInt8", "QInt8"),
        PeerForm("u8s8 operators", "QUInt8", "QInt8", has_operators=True),
        PeerForm("u8u8 operators", "QUInt8", "QUInt8", has_operators=True),
        PeerForm("s8s8 operators", "QInt8", "QInt8", has_operators=True),
        PeerForm("dynamic", "QUInt8", "QInt8", is_dynamic=True),
        PeerForm("dynamic u8u8", "QUInt8", "QUInt8", is_dynamic=True),
    )
}
"""The forms by name. `u8s8` is the fastest on x86, but its sums saturate on CPUs without VNNI."""

METHODS: Mapping[str, str] = {"min_max": "MinMax", "percentile": "Percentile", "entropy": "Entropy"}
"""The calibrators that the static quantizer also has, by their names in qmlir."""


def _reader(samples: Iterable[Mapping[str, Array]]) -> Any:
    """Wraps samples for the quantizer."""
    base: Any = imported(onnx_runtime.PACKAGE, "quantization").CalibrationDataReader

    class SampleReader(base):
        def __init__(self) -> None:
            self.left = iter(samples)

        def get_next(self) -> dict[str, Array] | None:
            found = next(self.left, None)
            return None if found is None else dict(found)

    return SampleReader()


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Suppresses the quantizer's advice to preprocess the model, and its progress output."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)


def modern(model: ModelProto) -> ModelProto:
    """Returns a copy of the model at an operator set that the quantizer accepts.

    A Sum of two operands becomes an Add, because the quantizer leaves Sum in float. Raises `DiagnosticError` if an
    operator cannot be converted.
    """
    copy = deepcopy(model)
    for node in copy.graph.node:
        if node.op_type == "Sum" and len(node.input) == 2:
            node.op_type = "Add"
    if next((each.version for each in copy.opset_import if each.domain in ("", "ai.onnx")), OPSET) >= OPSET:
        return copy
    try:
        converted = version_converter.convert_version(copy, OPSET)
    except RuntimeError as error:
        raise text_error(
            f"the model cannot be converted to operator set {OPSET}: {' '.join(str(error).split())}"
        ) from error
    converted.ir_version = _IR_VERSION
    return converted


def quantize(
    source: Path,
    target: Path,
    form: PeerForm,
    samples: Iterable[Mapping[str, Array]] = (),
    *,
    per_channel: bool = True,
    calibrator: str = "min_max",
    prepare: bool = True,
) -> None:
    """Writes the float model `source` in `form` to `target`.

    The static forms require `samples`, which are arrays by name with the shapes of the model's inputs. The calibrators
    `percentile` and `entropy` require that all samples have one shape. `prepare` folds constants and infers shapes
    first, as ONNX Runtime's documentation advises. Raises `DiagnosticError` if the form is float, if samples are
    missing, or if the quantizer fails.
    """
    if not form.activations:
        raise text_error(f"the form '{form.name}' is the float model itself")
    if calibrator not in METHODS:
        raise text_error(f"ONNX Runtime has no calibrator '{calibrator}' (available: {', '.join(METHODS)})")
    tools = imported(onnx_runtime.PACKAGE, "quantization")
    activations, weights = getattr(tools.QuantType, form.activations), getattr(tools.QuantType, form.weights)
    with TemporaryDirectory() as folder, _quiet():
        prepared = source
        try:
            if prepare:
                prepared = Path(folder) / "prepared.onnx"
                tools.shape_inference.quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
            if form.is_dynamic:
                tools.quantize_dynamic(str(prepared), str(target), per_channel=per_channel, weight_type=weights)
                return
            kind = tools.QuantFormat.QOperator if form.has_operators else tools.QuantFormat.QDQ
            tools.quantize_static(
                str(prepared), str(target), _reader(samples), quant_format=kind,
                per_channel=per_channel, activation_type=activations, weight_type=weights,
                calibrate_method=getattr(tools.CalibrationMethod, METHODS[calibrator]),
            )  # fmt: skip
        except DiagnosticError:
            raise  # a sample could not be read
        except Exception as error:  # its errors share no other base class, and all concern the model or the samples
            raise text_error(f"ONNX Runtime cannot quantize '{source}': {' '.join(str(error).split())}") from error


_QUANTIZED = ("QLinear", "QGemm", "QAttention", "MatMulNBits")
"""Prefixes of the names of other quantized operators."""


def is_quantized(model: ModelProto) -> bool:
    """Returns true if a model contains quantized operators or casts."""
    names = {node.op_type for node in model.graph.node}
    return any("Quantize" in name or "Integer" in name or name.startswith(_QUANTIZED) for name in names)


# Models in OpenVINO, called with arrays by name. Every option that affects results or times is set explicitly.

OPENVINO = "openvino"


class OvSession:
    """A model in OpenVINO, on the CPU, one request at a time (`PERFORMANCE_HINT` is `LATENCY`)."""

    def __init__(
        self, model: str | PathLike[str], threads: int = 1, shapes: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        """Compiles the file `model`, with `shapes` for its inputs. Raises `DiagnosticError` if it cannot be run."""
        openvino = imported(OPENVINO)
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",  # by default OpenVINO uses bf16 if the CPU supports it
        }
        try:
            core = openvino.Core()
            read = core.read_model(fspath(model))
            if shapes:
                read.reshape({name: list(shape) for name, shape in shapes.items()})
            compiled = core.compile_model(read, "CPU", settings)
        except RuntimeError as error:
            raise text_error(f"OpenVINO cannot run the model: {' '.join(str(error).split())}") from error
        self.input_names: tuple[str, ...] = tuple(port.any_name for port in compiled.inputs)
        self.output_names: tuple[str, ...] = tuple(port.any_name for port in compiled.outputs)
        self._request = compiled.create_infer_request()

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the outputs by name, copied."""
        self.infer(inputs)
        tensors = (self._request.get_output_tensor(position) for position in range(len(self.output_names)))
        # The next request overwrites its memory.
        return {name: np.array(tensor.data) for name, tensor in zip(self.output_names, tensors, strict=True)}

    def infer(self, inputs: Mapping[str, Array]) -> None:
        """Runs the model without copying the outputs. Benchmarks time this method."""
        self._request.infer(dict(inputs))


Run = Callable[[], object]


def _onnx_runtime(path: Path, inputs: Mapping[str, Array], threads: int, form: PeerForm) -> Run:
    options = onnx_runtime.OrtOptions(threads=threads, is_exact=form.is_exact, is_deterministic=False)
    return partial(onnx_runtime.OrtSession(path, options), inputs)


def _openvino(path: Path, inputs: Mapping[str, Array], threads: int, form: PeerForm) -> Run:
    shapes = {name: array.shape for name, array in inputs.items()}
    return partial(OvSession(path, threads, shapes).infer, inputs)


@dataclass(frozen=True)
class Peer:
    """Another runtime, with the function that opens a file in it for given inputs, a number of threads and a form."""

    package: str
    open: Callable[[Path, Mapping[str, Array], int, PeerForm], Run]
    forms: tuple[str, ...]
    """The forms that are timed in this runtime, float first."""


PEERS: Mapping[str, Peer] = {
    peer.package: peer
    for peer in (
        Peer(onnx_runtime.PACKAGE, _onnx_runtime, ("f32", "u8s8", "u8s8 exact")),
        Peer(OPENVINO, _openvino, ("f32", "u8s8")),
    )
}
"""The runtimes, by the package that they require."""


def peer_of(package: str) -> Peer:
    """Returns the runtime of that name. Raises `DiagnosticError` if it is unknown or not installed."""
    check_installed(package)
    return PEERS[package]


AS_GIVEN = (PeerForm("as given"), PeerForm("as given exact", is_exact=True))
"""The forms for a model that is already quantized."""


def peer_runs(
    packages: Sequence[str],
    path: Path,
    inputs: Mapping[str, Array],
    *,
    threads: int,
    folder: Path,
    samples: Sequence[Mapping[str, Array]] = (),
    is_quantized: bool = False,
) -> Iterator[tuple[str, Run]]:
    """Yields the runs of a model in other runtimes, with names such as `ONNX Runtime u8s8` for tables.

    Every runtime runs a float model as it is. If there are `samples`, it also runs the model quantized by ONNX Runtime,
    from one file in `folder` per form. OpenVINO is always exact; ONNX Runtime must be configured to be exact. Raises
    `DiagnosticError` if a runtime is missing or cannot run the model.
    """
    can_be_exact = onnx_runtime.PACKAGE
    for package in packages:
        peer = peer_of(package)
        if is_quantized:
            forms = [form for form in AS_GIVEN if package == can_be_exact or not form.is_exact]
        else:
            forms = [FORMS[name] for name in peer.forms if samples or not FORMS[name].activations]
        for form in forms:
            source = _in_form(path, folder, form, samples) if form.activations else path
            yield f"{TITLES[package]} {form.name}", peer.open(source, inputs, threads, form)


def _in_form(path: Path, folder: Path, form: PeerForm, samples: Sequence[Mapping[str, Array]]) -> Path:
    """Returns the model quantized by ONNX Runtime; forms with equal types share a file."""
    target = folder / f"{path.stem}.{form.activations}.{form.weights}.onnx"
    if not target.exists():
        quantize(path, target, form, samples)
    return target
