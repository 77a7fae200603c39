"""`qmlir doctor`: versions as the packages say them, a cache as it is, and 1 only where something needed is broken."""

import io
import json
from importlib.metadata import version
from pathlib import Path

import pytest

from qmlir import registry
from qmlir.dialects.kernel.attributes import isa_names
from qmlir.registry import Contribution
from qmlir.targets.cpu.cache import entry
from qmlir.targets.cpu.runtime.batches import available_cores
from qmlir.tools import qmlir_cli
from qmlir.tools.running import doctor


def run(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    code = qmlir_cli.main(["doctor", *words], stdout=out, stderr=io.StringIO())
    return code, out.getvalue()


def test_what_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(cache))
    entry("0" * 64, lambda folder: (folder / "kernels.py").write_bytes(bytes(3 << 20)), pytest.fail)
    monkeypatch.setenv("QMLIR_CACHE_SIZE", "512")
    code, text = run("--json")
    found = json.loads(text)
    assert (code, found["works"]) == (0, True)
    by_name = {(each["topic"], each["name"]): each for each in found["findings"]}
    for package in ("xdsl", "numpy", "numba", "onnx"):
        assert by_name["versions", package]["found"] == version(package)
    assert by_name["cache", "folder"]["found"] == str(cache)
    assert by_name["cache", "size"]["found"] == "3.0 MiB of at most 512.0 MiB"
    assert by_name["cache", "writable"]["found"] == "yes"
    assert by_name["compiler", "compiling"]["state"] == "ok"
    assert by_name["compiler", "cores"]["found"].split()[0] == str(available_cores())
    assert by_name["processor", "ISA"]["found"] in isa_names()
    assert ("peers", "ONNX Runtime") in by_name


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(tmp_path / "file" / "cache"))
    code, text = run()
    assert code == 0
    assert "no: Not a directory  [note]" in text
    assert "what to do\n  writable: set QMLIR_CACHE_DIR to a folder that you may write" in text
    assert text.endswith("all that is needed works\n")


def test_what_is_needed_and_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError("libLLVM\nis not there")

    monkeypatch.setattr(doctor, "_PACKAGES", ("numpy", "no_such_package"))
    monkeypatch.setattr(doctor, "_doubled", refuse)
    code, text = run()
    assert code == 1
    assert "no_such_package  ModuleNotFoundError: No module named 'no_such_package'  [broken]" in text
    assert "OSError: libLLVM is not there  [broken]" in text
    assert "pip install --force-reinstall no_such_package" in text
    assert text.endswith("2 of what is needed does not work\n")


def test_code_that_computes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_doubled", lambda: 11)
    code, text = run()
    assert code == 1
    assert "numba's code computes 11 for 12  [broken]" in text
    assert "compiling: reinstall numba and llvmlite" in text


def test_a_plugin_that_does_not_load() -> None:
    rows = Contribution(
        calibrators={"missing": "tests.support.contributing:missing"}, evaluators={"extra": "no.module:X"}
    )
    with registry.plugged([registry.Package("extra", "1.0", contributions=(rows,))]):
        found = [(each.name, each.found, each.state, bool(each.remedy)) for each in doctor._plugins()]
    missing = f"AttributeError: module 'tests.support.contributing' has no attribute 'missing' ({rows.position})"
    assert found == [
        ("extra 1.0", "evaluators: extra", doctor.State.GOOD, False),
        ("extra 1.0", "calibrators: missing", doctor.State.GOOD, False),
        (
            "extra 1.0",
            f"left out 'no.module:X': ModuleNotFoundError: No module named 'no' ({rows.position})",
            doctor.State.NOTE,
            True,
        ),
        ("extra 1.0", f"left out 'tests.support.contributing:missing': {missing}", doctor.State.NOTE, False),
    ]


def test_packages_that_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QMLIR_WITHOUT", "soft,strict")
    (finding,) = doctor._plugins()
    assert (finding.name, finding.found) == ("QMLIR_WITHOUT", "leaves out soft,strict")
