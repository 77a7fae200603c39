"""The other runtimes that `qmlir bench` compares with: each runs a model in one of its forms on one input."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.bench import openvino
from qmlir.extensions.bench.quantizers import FORMS, PeerForm, quantize
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import TITLES, check_installed

Run = Callable[[], object]


def _onnx_runtime(path: Path, inputs: Mapping[str, Array], threads: int, form: PeerForm) -> Run:
    options = onnx_runtime.OrtOptions(threads=threads, is_exact=form.is_exact, is_deterministic=False)
    return partial(onnx_runtime.OrtSession(path, options), inputs)


def _openvino(path: Path, inputs: Mapping[str, Array], threads: int, form: PeerForm) -> Run:
    shapes = {name: array.shape for name, array in inputs.items()}
    return partial(openvino.OvSession(path, openvino.OvOptions(threads=threads), shapes).infer, inputs)


@dataclass(frozen=True)
class Peer:
    """Another runtime, and the function that opens a file in it for one input, a number of threads and a form."""

    package: str
    open: Callable[[Path, Mapping[str, Array], int, PeerForm], Run]
    forms: tuple[str, ...]
    """The forms that are timed in it, float first."""

    @property
    def title(self) -> str:
        """The name of the runtime in tables."""
        return TITLES[self.package]


PEERS: Mapping[str, Peer] = {
    peer.package: peer
    for peer in (
        Peer(onnx_runtime.PACKAGE, _onnx_runtime, ("f32", "u8s8", "u8s8 exact")),
        Peer(openvino.PACKAGE, _openvino, ("f32", "u8s8")),
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
    """Yields runs of a model in other runtimes, with names for tables such as `ONNX Runtime u8s8`.

    A float model runs as it is, and with `samples` also quantized by ONNX Runtime, in every runtime, from one file in
    `folder` for each form. OpenVINO is always exact; ONNX Runtime must be told so. Raises `DiagnosticError` if a
    runtime is missing or cannot run the model.
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
            yield f"{peer.title} {form.name}", peer.open(source, inputs, threads, form)


def _in_form(path: Path, folder: Path, form: PeerForm, samples: Sequence[Mapping[str, Array]]) -> Path:
    """Returns the model quantized by ONNX Runtime; forms with equal types share a file."""
    target = folder / f"{path.stem}.{form.activations}.{form.weights}.onnx"
    if not target.exists():
        quantize(path, target, form, samples)
    return target
