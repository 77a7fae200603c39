"""The arrows between packages, and the two links at the top."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_arrows_point_one_way() -> None:
    command = [Path(sys.executable).parent / "lint-imports"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_links_at_the_top() -> None:
    assert (ROOT / "dialects").resolve() == ROOT / "qmlir" / "dialects"
    assert (ROOT / "tools").resolve() == ROOT / "qmlir" / "tools"


@pytest.mark.parametrize("name", ["dialects", "tools"])
def test_links_are_not_imported(name: str) -> None:
    with pytest.raises(ImportError, match=f"is a link for readers: import qmlir.{name}"):
        import_module(name)


def test_start_up_loads_no_dialect_and_no_pass() -> None:
    code = "import sys, qmlir.tools.qmlir_opt as q; q.build_argument_parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith(("qmlir.dialects.", "qmlir.passes."))}
    assert loaded == set()
