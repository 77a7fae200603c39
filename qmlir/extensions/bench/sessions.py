"""The other runtimes that `qmlir bench` compares with. Each runs a model in one of its forms on one input."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.bench.quantizers import FORMS, PeerForm, quantize
from qmlir.ir.diagnostics import text_error
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import TITLES, check_installed, imported

# Models in OpenVINO, called with arrays by name. Every option that affects results or times is set explicitly.

PACKAGE = "openvino"


class OvSession:
    """A model in OpenVINO, on the CPU, one request at a time (`PERFORMANCE_HINT` is `LATENCY`)."""

    def __init__(
        self, model: str | PathLike[str], threads: int = 1, shapes: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        """Compiles the file `model`, with `shapes` for its inputs. Raises `DiagnosticError` if it cannot be run."""
        openvino = imported(PACKAGE)
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
        Peer(PACKAGE, _openvino, ("f32", "u8s8")),
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
