"""The table of peers: a model in one of its forms and one input in, something to call and to time out."""

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
    """One peer: what it is called, and the run that it makes of a file, one input, threads and a form."""

    package: str
    open: Callable[[Path, Mapping[str, Array], int, PeerForm], Run]
    forms: tuple[str, ...]
    """Which forms are timed in it, float first."""

    @property
    def title(self) -> str:
        """What tables call it."""
        return TITLES[self.package]


PEERS: Mapping[str, Peer] = {
    peer.package: peer
    for peer in (
        Peer(onnx_runtime.PACKAGE, _onnx_runtime, ("f32", "u8s8", "u8s8 exact")),
        Peer(openvino.PACKAGE, _openvino, ("f32", "u8s8")),
    )
}
"""The peers by the package that must be there."""


def peer_of(package: str) -> Peer:
    """The peer of that name. Raises `DiagnosticError` where there is none, or where it is not installed."""
    check_installed(package)
    return PEERS[package]


AS_GIVEN = (PeerForm("as given"), PeerForm("as given exact", is_exact=True))
"""How a model is run that holds quantized operators already."""


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
    """Runs of a model in peers, by what tables call them: `ONNX Runtime u8s8`.

    A float model is run as it is, and where there are `samples` also as ONNX Runtime quantizes it by them, whichever
    peer it runs in: a file in `folder` for each form. OpenVINO is exact where ONNX Runtime has to be told so. Raises
    `DiagnosticError` for a peer that is missing or that cannot run the model.
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
    """The model quantized by ONNX Runtime; forms of the same types are one file."""
    target = folder / f"{path.stem}.{form.activations}.{form.weights}.onnx"
    if not target.exists():
        quantize(path, target, form, samples)
    return target
