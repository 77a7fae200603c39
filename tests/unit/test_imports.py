"""The arrows between packages, and the two links at the top."""

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib import import_module, util
from importlib.metadata import packages_distributions
from itertools import pairwise
from pathlib import Path

import grimp
import pytest

import qmlir
from qmlir import registry
from qmlir.registry.tree import EXTENSIONS

ROOT = Path(__file__).resolve().parents[2]


def test_arrows_point_one_way() -> None:
    command = [Path(sys.executable).parent / "lint-imports"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _imports() -> dict[str, set[str]]:
    """Each module with those that it imports: at its top, in functions, for type checkers, and when first asked for."""
    graph = grimp.build_graph("qmlir", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_circles() -> None:
    try:
        list(TopologicalSorter(_imports()).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def _with_packages(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def test_a_module_can_be_the_first_import() -> None:
    """No module waits for itself: Python imports a module after the packages around it, and they import others."""
    graph = grimp.build_graph("qmlir", exclude_type_checking_imports=True, cache_dir=None)
    needed = {
        module: set[str]().union(*map(_with_packages, graph.find_modules_directly_imported_by(module)))
        - _with_packages(module)
        for module in graph.modules
    }
    list(TopologicalSorter(needed).static_order())


def test_an_extension_can_be_the_first_import() -> None:
    """The registry imports extensions by rows, which the graph of imports lacks."""
    forget = "[sys.modules.pop(name) for name in [*sys.modules] if name.partition('.')[0] == 'qmlir']"
    code = f"import importlib, sys\nfor name in sys.argv[1:]: {forget}; importlib.import_module(name)"
    names = [f"qmlir.extensions.{name}" for name in EXTENSIONS]
    subprocess.run([sys.executable, "-c", code, *names], check=True)


def test_edges_are_no_strings() -> None:
    literal = re.compile(r"""(import_module|registry\.load|[^.\w]load)\(\s*f?["']qmlir\.""")
    found = [str(path) for path in _sources() if literal.search(path.read_text(encoding="utf-8"))]
    assert found == []
    row = re.compile(r"""["']qmlir(\.\w+)+:\w+["']""")
    rows = {path.relative_to(ROOT / "qmlir").as_posix() for path in _sources() if row.search(path.read_text("utf-8"))}
    # Of packages, of extensions, and of targets.
    extensions = {f"extensions/{name}/__init__.py" for name in EXTENSIONS}
    assert rows == {
        "registry/package.py",
        "registry/tree.py",
        "targets/cpu/target.py",
        "targets/interpreted.py",
        "extensions/litert/target.py",
        *extensions,
    }


def test_the_api_is_one_table() -> None:
    """A name is there when it is asked for, in `dir` and for `import *`, and it is the same object as in its module."""
    shown = {name for name in dir(qmlir) if not name.endswith("ipython_extension") and not name.startswith("__")}
    assert shown == {
        "InputError", "Profile", "Program", "compare", "compare_dump", "compile", "emit", "explain", "export_encodings",
        "export_litert", "export_onnx", "export_qonnx", "finetune", "gradient", "inspect", "interpret", "load",
        "load_program", "partition", "profile", "quantize", "report", "search", "trainable", "tune",
    }  # fmt: skip
    assert "__version__" in dir(qmlir)
    assert shown <= set(qmlir.__all__)
    lines = re.findall(r"^    from (\S+) import (\w+) as (\w+)$", Path(qmlir.__file__).read_text(), re.MULTILINE)
    for module, own, name in lines:
        assert getattr(qmlir, name) is getattr(import_module(module), own)
    # Type checkers see the names of extensions, too.
    assert registry.contributed_names().items() <= {name: f"{module}:{own}" for module, own, name in lines}.items()
    with pytest.raises(AttributeError, match="module 'qmlir' has no attribute 'quantise'; did you mean 'quantize'"):
        getattr(qmlir, "quantise")  # noqa: B009 - as a statement, pyright refuses it


_LINKS = pytest.mark.skipif(
    (ROOT / "dialects").is_file(), reason="links are text files in an archive, and in a checkout on Windows"
)


@_LINKS
def test_links_at_the_top() -> None:
    assert (ROOT / "dialects").resolve() == ROOT / "qmlir" / "dialects"
    assert (ROOT / "tools").resolve() == ROOT / "qmlir" / "tools"


@_LINKS
@pytest.mark.parametrize("name", ["dialects", "tools"])
def test_links_are_not_imported(name: str) -> None:
    with pytest.raises(ImportError, match=f"is a link for readers: import qmlir.{name}"):
        import_module(name)


def _sources() -> list[Path]:
    return sorted((ROOT / "qmlir").rglob("*.py"))


def _imported() -> Iterator[tuple[str, Path]]:
    """What the package imports, by statements and by `import_module("name")`, each with the file that does."""
    for path in _sources():
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


def test_the_way_of_the_data() -> None:
    """Each arrow of the picture is an import, of the module or of a package whose names are loaded late."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = text.partition("<!-- way -->")[2].partition("<!-- /way -->")[0]
    graph = grimp.build_graph("qmlir")
    arrows = [
        (before.removeprefix("qmlir."), after)
        for line in picture.splitlines()
        for before, after in pairwise(re.split(r" +-> +", re.split(r"(?<! ) {2,}(?! |-> )", line.strip())[0]))
    ]
    assert len(arrows) > 15
    for before, after in arrows:
        importer = "qmlir" if hasattr(qmlir, before) and before in dir(qmlir) else f"qmlir.{before}"
        assert f"qmlir.{after}" in graph.find_modules_directly_imported_by(importer), (before, after)


def test_what_is_imported_is_declared() -> None:
    """In pyproject.toml, and not only by what depends on it; what is declared is imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed, optional = _names(project["dependencies"]), _names(extras["peers"]) | _names(extras["lsp"])
    litert = _names(extras["litert"])
    images, torch, cluster = (_names(extras[name]) for name in ("images", "torch", "cluster"))
    distributions = packages_distributions()
    used: dict[str, list[Path]] = {}
    for module, path in _imported():
        if module not in sys.stdlib_module_names and module != "qmlir":
            known = distributions.get(module, [module])  # torch is no part of the development tools
            (distribution,) = {each.lower().replace("-", "_") for each in known}
            used.setdefault(distribution, []).append(path)
    undeclared = {
        name: paths for name, paths in used.items() if name not in needed | optional | images | torch | cluster | litert
    }
    assert undeclared == {}
    assert needed <= used.keys()
    peers = {str(path.relative_to(ROOT / "qmlir").parent) for name in optional & used.keys() for path in used[name]}
    assert peers <= {"targets/runtimes", "extensions/bench", "extensions/lsp"}  # the product goes without
    assert {path.name for name in images for path in used[name]} == {"images.py"}
    assert {path.name for name in torch for path in used[name]} == {"torch.py"}
    where = {path.relative_to(ROOT / "qmlir").as_posix() for name in cluster & used.keys() for path in used[name]}
    # The second one for type checkers alone.
    assert where == {"extensions/cluster/dask.py", "workflows/workers.py"}


def test_torch_is_asked_for_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"^qmlir.torch requires PyTorch; run pip install 'qmlir\[torch\]'$"):
        runpy.run_path(str(ROOT / "qmlir" / "extensions" / "training" / "torch.py"))


def test_start_up_loads_no_dialect_and_no_pass() -> None:
    code = "import sys, qmlir.tools.qmlir_opt as q; q.build_argument_parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    late = ("qmlir.dialects.", "qmlir.passes.", "xdsl.interpreters")
    loaded = {name for name in done.stdout.split() if name.startswith(late)}
    assert loaded == set()


def test_a_class_name_stands_once() -> None:
    """Operations have the dialect in their names, and what begins with `_` is asked for in its file only."""
    positions: dict[str, list[Path]] = {}
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not node.name.endswith("Op"):
                positions.setdefault(node.name, []).append(path.relative_to(ROOT / "qmlir"))
    assert {name: found for name, found in positions.items() if len(found) > 1} == {}
