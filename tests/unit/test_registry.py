"""Every row of the registry: its key, the name of the object, the file, and the test files agree."""

import inspect
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE

from qmlir import registry
from qmlir.dialects.nn.dialect import Nn
from qmlir.tools import qmlir_opt

ROOT = Path(__file__).resolve().parents[2]
FILECHECK = ROOT / "tests" / "filecheck"

DIALECTS = sorted(registry.DIALECTS)
PASSES = sorted(registry.PASSES)


@pytest.mark.parametrize("name", DIALECTS)
def test_dialect_row(name: str) -> None:
    dialect = registry.load(registry.DIALECTS[name])
    assert dialect.name == name
    assert registry.DIALECTS[name].startswith(f"qmlir.dialects.{name}.dialect:")
    assert all(operation.name.startswith(f"{name}.") for operation in dialect.operations)
    folder = FILECHECK / "dialects" / name
    assert (folder / "ops.mlir").exists()
    assert (folder / "invalid.mlir").exists()
    assert (folder / "canonicalize.mlir").exists() == (f"{name}.canonicalize" in registry.TREE.patterns)


@pytest.mark.parametrize("name", PASSES)
def test_pass_row(name: str) -> None:
    pass_type = registry.load(registry.PASSES[name])
    assert issubclass(pass_type, ModulePass)
    assert pass_type.name == name
    module = registry.PASSES[name].partition(":")[0]
    folder = FILECHECK.joinpath(*module.split(".")[1:-1])
    assert (folder / f"{name.replace('-', '_')}.mlir").exists()


@pytest.mark.parametrize("name", DIALECTS)
def test_every_operation_is_read_and_printed(name: str) -> None:
    """By `ops.mlir`, or by `ops_<family>.mlir` beside it."""
    text = "".join(path.read_text() for path in (FILECHECK / "dialects" / name).glob("ops*.mlir"))
    tested = set(re.findall(rf"\b{name}\.\w+", text))
    assert {operation.name for operation in registry.load(registry.DIALECTS[name]).operations} - tested == set()


def test_every_composite_belongs_to_a_dialect() -> None:
    assert set(registry.decompositions()) <= set(Nn.operations)


def test_upstream_replaced_names_are_upstreams() -> None:
    for name in registry.PASSES:
        assert (name in XDSL_UNIVERSE.all_passes) == (name in registry.UPSTREAM_REPLACED)


def _examples(pass_type: type[ModulePass]) -> tuple[str, str, str]:
    """Options, IR before and IR after, from the docstring of a pass; a pass that only checks shows what it accepts."""
    found = re.search(
        r"(?:Before|(?P<accepts>Accepted as it is))(?: \(run with `(?P<options>.*?)`\))?:\s*```mlir\n(?P<before>.*?)```"
        r"(?(accepts)|\s*After:\s*```mlir\n(?P<after>.*?)```)",
        inspect.getdoc(pass_type) or "",
        re.DOTALL,
    )
    assert found is not None, f"{pass_type.name} shows no IR before and after"
    return found["options"] or "", found["before"], found["after"] or found["before"]


def _run(text: str, pipeline: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    code = qmlir_opt.main(["-p", pipeline], stdin=io.StringIO(text), stdout=out, stderr=err)
    assert code == 0, err.getvalue()
    return re.sub(r"%\w+", "%v", out.getvalue())


@pytest.mark.parametrize("name", PASSES)
def test_example_in_docstring(name: str) -> None:
    options, before, after = _examples(registry.load(registry.PASSES[name]))
    assert _run(before, f"{name}{{{options}}}") == _run(after, "")


def test_stock_xdsl_opt_runs_our_dialects_and_passes(tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(
        "func.func @main(%x: tensor<1x4x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2xf32>) {\n"
        '  %0 = nn.gelu %y : tensor<2xf32> {origin = "act"}\n'
        '  %1 = calib.observe %0 "act" : tensor<2xf32>\n'
        "  check.expect_eq %1, %0 : tensor<2xf32>\n  func.return\n}\n"
    )
    command = [Path(sys.executable).parent / "xdsl-opt", source, "-p", "nn-decompose"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'role = "erf"' in done.stdout
