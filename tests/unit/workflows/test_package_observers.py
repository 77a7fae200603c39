"""Observers of a package in a profile: what they keep, in one process and in two, in the file, and for a calibrator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.statistics import Statistics
from qmlir.environment import default_environment, plugins
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.profiles.profile import Profile, ProfileError
from qmlir.registry import PackageError
from qmlir.text.parsing import parse_module
from qmlir.tools.qmlir_cli import main
from qmlir.workflows.profiling import profile

PLUGIN = "tests.support.observers"
MODEL = """
func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {
  %0 = nn.neg %x : tensor<1x4xf32> {origin = "neg"}
  %1 = nn.relu %0 : tensor<1x4xf32> {origin = "relu"}
  func.return %1 : tensor<1x4xf32>
}
"""
X = np.random.default_rng(5).normal(0, 1, (40, 4)).astype(np.float32)
NORMS = [float(each) for each in np.abs(X).max(axis=1)]


def _module() -> ModuleOp:
    return parse_module(default_environment().new_context(), MODEL)


def test_what_is_kept_depends_on_the_samples_alone() -> None:
    with plugins([PLUGIN]):
        one, two = (
            profile(_module(), {"x": X}, observers=["norms"], processes=processes, batch_size=7) for processes in (1, 2)
        )
    assert one.values["x"].kept == {"norms": NORMS}
    assert one.values["neg"].kept == {"norms": NORMS}
    assert one.values["relu"].kept == {"norms": [float(each) for each in np.maximum(-X, 0).max(axis=1)]}
    assert one.to_text() == two.to_text()


def test_the_file_holds_it_and_needs_no_package() -> None:
    with plugins([PLUGIN]):
        found = profile(_module(), {"x": X}, observers=["norms"])
    assert Profile.from_text(found.to_text()).values["x"].kept == {"norms": NORMS}
    plain = profile(_module(), {"x": X})
    assert '"kept"' not in plain.to_text()
    assert plain.values["x"] != found.values["x"]
    spoilt = found.to_text().replace('"kept": {', '"kept": 3, "was": {')
    with pytest.raises(ProfileError):
        Profile.from_text(spoilt)


def _scale(module: ModuleOp) -> float:
    """The scale of the input."""
    cast: Any = next(op for op in module.walk() if op.name == "quant.qcast")
    return cast.result.type.element_type.scale


def test_a_calibrator_of_the_package_asks_for_it() -> None:
    with plugins([PLUGIN]):
        found = profile(_module(), {"x": X}, observers=["norms"])
        reach, whole = (
            _scale(qmlir.quantize(_module(), profile=found, calibrator=name, scheme="symmetric", progress=None).module)
            for name in ("mean_norm", "min_max")
        )
    assert reach / whole == pytest.approx(np.mean(NORMS) / np.abs(X).max(), rel=1e-6)  # scales are rounded to f32


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("norm", "unknown observer 'norm'; did you mean 'norms'? (available: inexact, lost, "),
        ("raises", f"observer 'raises' of package '{PLUGIN}': it raises KeyError: 'observer'"),
        ("no_json", f"observer 'no_json' of package '{PLUGIN}': must return data that JSON can represent: "),
        ("no_number", f"observer 'no_number' of package '{PLUGIN}': must return data that JSON can represent: "),
        (
            "inexact",
            f"observer 'inexact' of package '{PLUGIN}': must return data that JSON represents exactly, but "
            "returned [1, 2]",
        ),
        ("no_merge", f"observer 'no_merge' of package '{PLUGIN}': it raises TypeError: "),
        ("no_observer", f"'{PLUGIN}:mean_norm' must be of type Observer, but got function"),
        ("lost", f"observer 'lost' of package '{PLUGIN}': it cannot be loaded: "),
    ],
)
def test_what_is_wrong_is_said_of_the_package(name: str, message: str) -> None:
    with plugins([PLUGIN]), pytest.raises(DiagnosticError) as error:
        profile(_module(), {"x": X}, observers=[name])
    assert message in error.value.diagnostic.message


def test_parts_of_an_observer_that_is_gone_do_not_merge() -> None:
    one: Any = Statistics.of(X)
    one = type(one)(one.minimum, one.maximum, one.moments, one.histogram, kept={"norms": [1.0]})
    with pytest.raises(PackageError, match="cannot merge data of observer 'norms'"):
        one.merged(one)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "net.mlir").write_text(MODEL)
    np.savez(tmp_path / "x.npz", x=X)
    out = tmp_path / "profile.json"
    words = ["profile", str(tmp_path / "net.mlir"), "--data", str(tmp_path / "x.npz"), "-o", str(out), "--quiet"]
    assert main([*words, "--load-plugin", PLUGIN, "--observer", "norms"]) == 0
    assert Profile.load(out).values["x"].kept == {"norms": NORMS}


def test_quantizing_records_it_too(tmp_path: Path) -> None:
    """As from a profile that was taken with it, from the API and from the command; a profile has its own."""
    settings: Any = {"calibrator": "mean_norm", "scheme": "symmetric"}
    with plugins([PLUGIN]):
        found = profile(_module(), {"x": X}, observers=["norms"])
        expected = str(qmlir.quantize(_module(), profile=found, **settings).module)
        assert str(qmlir.quantize(_module(), {"x": X}, observers=["norms"], **settings).module) == expected
        with pytest.raises(DiagnosticError, match=r"observers \(norms\) require samples; pass --data \(data=\)"):
            qmlir.quantize(_module(), profile=found, observers=["norms"], **settings)
    (tmp_path / "net.mlir").write_text(MODEL)
    np.savez(tmp_path / "x.npz", x=X)
    words = ["quantize", str(tmp_path / "net.mlir"), "--data", str(tmp_path / "x.npz"), "--load-plugin", PLUGIN]
    words += ["--observer", "norms", "--calibrator", "mean_norm", "--scheme", "symmetric", "--quiet"]
    assert main([*words, "-o", str(tmp_path / "out")]) == 0
    assert Profile.load(tmp_path / "out" / "profile.json").values["x"].kept == {"norms": NORMS}


def test_a_named_pipeline_lowers_what_is_profiled(tmp_path: Path) -> None:
    (tmp_path / "net.mlir").write_text(MODEL.replace("nn.neg", "nn.swish"))
    np.savez(tmp_path / "x.npz", x=X)
    words = ["profile", str(tmp_path / "net.mlir"), "--data", str(tmp_path / "x.npz"), "--quiet"]
    for passes, name in (("nn-decompose", "passes"), ("quantize{stages=lower keep_composites=relu}", "pipeline")):
        assert main([*words, "--passes", passes, "-o", str(tmp_path / f"{name}.json")]) == 0
    one, two = (Profile.load(tmp_path / f"{name}.json") for name in ("passes", "pipeline"))
    assert one.values.keys() == two.values.keys() == {"x", "neg/product", "neg/sigmoid", "relu"}
