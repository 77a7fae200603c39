"""The arrows between packages, and the two links at the top."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import packages_distributions
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


def _imported() -> Iterator[tuple[str, Path]]:
    """What the package imports, by statements and by `import_module("name")`, each with the file that does."""
    for path in sorted((ROOT / "qmlir").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=names):
                    yield from ((each.name.partition(".")[0], path) for each in names)
                case ast.ImportFrom(module=str(module), level=0):
                    yield module.partition(".")[0], path
                case ast.Call(
                    func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=[first, *_]
                ):
                    if isinstance(first, ast.Constant) and not str(first.value).startswith("."):
                        yield str(first.value).partition(".")[0], path


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", each)[0].lower().replace("-", "_") for each in requirements}


def test_what_is_imported_is_declared() -> None:
    """In pyproject.toml, and not only by what depends on it; what is declared is imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed, optional = _names(project["dependencies"]), _names(project["optional-dependencies"]["peers"])
    distributions = packages_distributions()
    used: dict[str, list[Path]] = {}
    for module, path in _imported():
        if module not in sys.stdlib_module_names and module != "qmlir":
            (distribution,) = {each.lower().replace("-", "_") for each in distributions[module]}
            used.setdefault(distribution, []).append(path)
    undeclared = {name: paths for name, paths in used.items() if name not in needed | optional}
    assert undeclared == {}
    assert needed <= used.keys()
    peers = {str(path.relative_to(ROOT / "qmlir").parent) for name in optional & used.keys() for path in used[name]}
    assert peers <= {"targets/peers", "tools"}  # the product goes without


def test_start_up_loads_no_dialect_and_no_pass() -> None:
    code = "import sys, qmlir.tools.qmlir_opt as q; q.build_argument_parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith(("qmlir.dialects.", "qmlir.passes."))}
    assert loaded == set()
