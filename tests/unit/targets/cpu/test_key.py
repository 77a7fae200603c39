"""What a program is kept under: every package that takes part, with its version and its code."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.environment import plugins
from qmlir.registry import Contribution, Package
from qmlir.targets.cpu.compiler import program_key


def _key() -> str:
    return program_key(ModuleOp([]), "generic", 1)


def test_packages_and_versions_make_keys() -> None:
    contribution = Contribution(calibrators={"half": "tests.support.contributing:half"})
    keys = {_key()}
    for name, version in (("one", "1.0"), ("one", "1.1"), ("two", "1.0")):
        with registry.plugged([Package(name, version, contributions=(contribution,))]):
            keys.add(_key())
    assert len(keys) == 4


def test_the_code_of_a_plug_in_makes_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    keys = {_key()}
    folder = tmp_path / "one_plug_in"
    folder.mkdir()
    (folder / "__init__.py").write_text("from qmlir.registry import Contribution\nCONTRIBUTION = Contribution()\n")
    contribution = Contribution(kernels={"soft": "one_plug_in.kernels:soft"})
    for code in ("def soft(): return 1\n", "def soft(): return 2\n"):
        (folder / "kernels.py").write_text(code)
        with registry.plugged([Package("one", contributions=(contribution,))]):
            keys.add(_key())
    assert len(keys) == 3
    with plugins(["one_plug_in"]):
        keys.add(_key())
    assert len(keys) == 4
