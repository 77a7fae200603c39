"""Quantizes models with ONNX Runtime's tools, as its users would: statically as QDQ or QOperator, or dynamically.

`quantize` writes a model in one form. A form defines the types of activations and weights, and the session options. The
static tools leave LSTM and GRU in float.
"""

import contextlib
import io
import logging
from collections.abc import Generator, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onnx import ModelProto, version_converter

from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.targets.runtimes.onnx_runtime import PACKAGE
from qmlir.targets.runtimes.packages import imported

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
    base: Any = imported(PACKAGE, "quantization").CalibrationDataReader

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
    tools = imported(PACKAGE, "quantization")
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
