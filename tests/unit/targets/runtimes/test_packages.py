"""A peer that is missing is one line that says what to install; one that nobody knows is named with what there is."""

import pytest

from qmlir.extensions.bench.peers import PEERS, peer_of
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.runtimes import packages


@pytest.mark.parametrize(("package", "title"), [("onnxruntime", "ONNX Runtime"), ("openvino", "OpenVINO")])
def test_a_missing_package_is_one_line(package: str, title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    for ask in (peer_of, packages.imported, packages.installed_version):
        with pytest.raises(DiagnosticError) as error:
            ask(package)
        assert str(error.value) == f"error: {title} is not installed; run pip install 'qmlir[peers]'"


def test_an_unknown_peer_is_named() -> None:
    with pytest.raises(DiagnosticError, match="unknown peer 'openvin'; did you mean 'openvino'"):
        peer_of("openvin")


def test_every_peer_has_a_title() -> None:
    assert set(PEERS) == set(packages.TITLES)
