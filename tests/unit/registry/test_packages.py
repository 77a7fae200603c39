"""Packages beside this one, as they are installed, with all that can be wrong with them; the real tools see them.

Each package is a few lines in a folder of its own on `PYTHONPATH`, with the `entry_points.txt` that pip writes.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import qmlir
from qmlir import registry
from qmlir.environment import default_environment, plugins
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.onnx.export.exporter import export_model
from qmlir.registry import INTERFACE, Package
from qmlir.registry.faults import fault_listener
from qmlir.registry.package import WITHOUT_VARIABLE, _is_wanted
from qmlir.text.parsing import parse_module
from qmlir.tools.command import plugins_in
from tests.support.contributing import CONTRIBUTION
from tests.support.documents import ROOT

MODEL = ROOT / "docs" / "examples" / "digits.onnxtxt"

GOOD = f'''
from dataclasses import dataclass
import numpy as np
from qmlir.arithmetic.calibrators import Range
from qmlir.arithmetic.schemes import Parameters, Scheme
from qmlir.registry import Contribution
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.passes import ModulePass
from xdsl.universe import Universe

@irdl_op_definition
class TwiceOp(IRDLOperation):
    name = "good.twice"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

@dataclass(frozen=True)
class Mark(ModulePass):
    """Leaves a mark on the module."""
    name = "good-mark"
    at: str = "end"
    def apply(self, ctx, op):
        op.attributes["good.mark"] = StringAttr(self.at)

def half(statistics, grid, /, *, of: float = 0.5):
    return Range(statistics.minimum * of, statistics.maximum * of)

def _place(low, high, grid):
    """Powers of two below: what is outside saturates."""
    scales = np.maximum(-low, high) / grid.storage.maximum
    return Parameters(np.exp2(np.floor(np.log2(scales))), np.zeros(scales.shape, np.int64))

FLOOR = Scheme("floor_pow2", is_symmetric=True, is_power_of_two=True, place=_place)
EVALUATORS = {{TwiceOp: lambda op, x: (2 * x,)}}
UNIVERSE = Universe(
    all_dialects={{"good": lambda: Dialect("good", [TwiceOp])}}, all_passes={{"good-mark": lambda: Mark}}
)
CONTRIBUTION = Contribution(
    evaluators={{"good": "good:EVALUATORS"}}, calibrators={{"half": "good:half"}},
    schemes={{"floor_pow2": "good:FLOOR"}},
    stages={{"quantize.raise.after": "good-mark{{at=quantized}}"}}, built_for="{INTERFACE}",
)
'''

TAKEN = """
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.registry import Contribution
from xdsl.ir import Dialect
from xdsl.universe import Universe

def wrong(*arguments):
    raise KeyError("never called")

RELU = {ReluOp: wrong}
OPERATORS = {"Gemm": wrong, "Relu": wrong}
UNIVERSE = Universe(
    all_dialects={"nn": wrong, "arith": wrong, "good": wrong}, all_passes={"cse": wrong, "does-not-load": wrong}
)
CONTRIBUTION = Contribution(
    evaluators={"nn": "taken:RELU"}, lowerings={"nn": "taken:RELU"}, importers=("taken:OPERATORS",),
    exporters=("taken:RELU",), tables={"bufferize.destinations": ("taken:missing",)},
    calibrators={"min_max": "taken:wrong", "half": "taken:wrong", "none": "taken:RELU"},
    schemes={"symmetric": "taken:wrong"}, targets={"cpu": "taken:wrong"},
)
"""

RAISING = """
from qmlir.registry import Contribution
from xdsl.pattern_rewriter import RewritePattern

class Explodes(RewritePattern):
    def match_and_rewrite(self, op, rewriter):
        return {}[op.name]

PATTERNS = (Explodes(),)
CONTRIBUTION = Contribution(
    patterns={"nn.canonicalize": ("raising:PATTERNS",)}, stages={"quantize.lowr.before": "cse"}
)
"""

VERSIONED = """
from qmlir.registry import Contribution
CONTRIBUTION = Contribution(calibrators={{"of_{0}": "{0}:calibrator"}}, built_for="{1}")
"""


def _install(folder: Path, name: str, release: str, source: str, points: Mapping[str, str], extra: str = "") -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-{release}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n{extra}")
    rows = (f"[{group}]\n{name} = {name}:{what}\n" for group, what in points.items())
    (info / "entry_points.txt").write_text("\n".join(rows))


BOTH = {"xdsl.universe": "UNIVERSE", "qmlir.contributions": "CONTRIBUTION"}
CONTRIBUTED = {"qmlir.contributions": "CONTRIBUTION"}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good package among many that are not."""
    folder = tmp_path_factory.mktemp("packages") / "crowd"
    _install(folder, "good", "1.0", GOOD, BOTH)
    _install(folder, "broken", "2.0", "raise RuntimeError('made for\\nanother')", {**BOTH, "qmlir.onnx_importers": "I"},
             "Requires-Dist: numpy\nRequires-Dist: qmlir <0.1,>=0.0.3\n")  # fmt: skip
    _install(folder, "exits", "2.1", "import sys\nsys.exit(3)", {"xdsl.universe": "UNIVERSE"})
    _install(folder, "taken", "3.0", TAKEN, BOTH)
    _install(folder, "old", "0.1", VERSIONED.format("old", "0.0"), {**CONTRIBUTED, "xdsl.universe": "UNIVERSE"})
    _install(folder, "new", "9.0", VERSIONED.format("new", "99.0"), CONTRIBUTED)
    _install(folder, "wrong", "1.5", "CONTRIBUTION = UNIVERSE = 7", BOTH)
    return folder


@pytest.fixture(scope="module")
def raising(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages") / "raising"
    _install(folder, "raising", "1.1", RAISING, CONTRIBUTED)
    return folder


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages") / "good"
    _install(folder, "good", "1.0", GOOD, BOTH)
    return folder


def _run(path: Path, tool: str, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / tool, *arguments],
        env={**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


BROKEN = (
    "RuntimeError: made for another ({0}/broken.py:1) (it requires qmlir<0.1,>=0.0.3, this is " + version("qmlir") + ")"
)
ALWAYS = f"""\
warning: package 'broken 2.0': left out 'broken:CONTRIBUTION': {BROKEN}
warning: package 'new 9.0': left out all of it: it was built for qmlir 99.0, but this is 0.2; update qmlir
warning: package 'old 0.1': left out all of it: it was built for qmlir 0.0, which is incompatible with 0.1 \
(it is the first that has a version); update the package
warning: package 'wrong 1.5': left out 'wrong:CONTRIBUTION': it must be Contribution, but got int ({{0}}/wrong.py:1)
"""
"""What is said in every run: a line for each package, in this folder."""

LOADED = """\
warning: package 'exits 2.1': left out 'exits:UNIVERSE': SystemExit: 3 ({0}/exits.py:2)
warning: package 'taken 3.0': left out dialect 'nn', pass 'cse': package 'qmlir' has these names
warning: package 'taken 3.0': left out dialect 'arith': package 'xdsl' has this name
warning: package 'taken 3.0': left out dialect 'good': package 'good 1.0' has this name
warning: package 'wrong 1.5': left out 'wrong:UNIVERSE': it must be Universe or Dialect or type, but got int \
({0}/wrong.py:1)
"""
"""And where modules are read."""


def test_everything_else_works_in_qmlir_opt(crowd: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = good.twice %x : tensor<2xf32> -> tensor<2xf32>\n"
        "  %1 = nn.relu %0 : tensor<2xf32>\n  func.return %1 : tensor<2xf32>\n}\n"
    )
    done = _run(crowd, "qmlir-opt", source, "-p", "canonicalize,cse,good-mark", "--verify-each=exec")
    assert (done.returncode, "good.mark" in done.stdout) == (0, True), done.stderr
    taken = "warning: package 'taken 3.0': left out 'nn.relu' of 'taken:RELU' (evaluators): package 'qmlir' has it\n"
    assert sorted(done.stderr.splitlines()) == sorted((ALWAYS + LOADED + taken).format(crowd).splitlines())
    listed = _run(crowd, "qmlir-opt", "--list-passes")
    assert listed.returncode == 0
    assert "good-mark  [good 1.0]\n    Leaves a mark on the module.\n" in listed.stdout
    assert "does-not-load  [taken 3.0]\n    does not load\n" in listed.stdout
    assert listed.stderr.removeprefix((ALWAYS + LOADED).format(crowd)) == (
        "warning: cannot load pass 'does-not-load' of package 'taken 3.0': KeyError: 'never called'\n"
    )


def test_doctor_names_all_of_it(crowd: Path) -> None:
    done = _run(crowd, "qmlir", "doctor", "--json")
    found = [
        (each["name"], each["found"]) for each in json.loads(done.stdout)["findings"] if each["topic"] == "plug-ins"
    ]
    assert (done.returncode, done.stderr) == (0, "")
    said = {name: [text for each, text in found if each == name] for name, _ in found}
    assert said["good 1.0"] == [
        "dialects: good", "passes: good-mark", "evaluators: good", "stages: quantize.raise.after", "calibrators: half",
        "schemes: floor_pow2",
    ]  # fmt: skip
    assert said["broken 2.0"] == [f"left out 'broken:CONTRIBUTION': {BROKEN.format(crowd)}"]
    assert said["exits 2.1"] == [f"left out 'exits:UNIVERSE': SystemExit: 3 ({crowd}/exits.py:2)"]
    assert {text for text in said["taken 3.0"] if text.startswith("left out")} == {
        "left out dialect 'nn', pass 'cse': package 'qmlir' has these names",
        "left out dialect 'arith': package 'xdsl' has this name",
        "left out dialect 'good': package 'good 1.0' has this name",
        "left out pass 'does-not-load': KeyError: 'never called'",
        "left out 'nn.relu' of 'taken:RELU' (evaluators): package 'qmlir' has it",
        "left out 'nn.relu' of 'taken:RELU' (lowerings): package 'qmlir' has it",
        "left out 'nn.relu' of 'taken:RELU' (exporters): package 'qmlir' has it",
        "left out 'Gemm', 'Relu' of 'taken:OPERATORS' (importers): package 'qmlir' has them",
        f"left out 'taken:missing': AttributeError: module 'taken' has no attribute 'missing' ({crowd}/taken.py:15)",
        "left out calibrator 'min_max': package 'qmlir' already defines this name",
        "left out calibrator 'half': package 'good 1.0' already defines this name",
        "left out scheme 'symmetric': package 'qmlir' already defines this name",
        "left out target 'cpu': package 'qmlir' already defines this name",
    }


def test_a_calibrator_and_a_scheme_of_a_package_quantize(crowd: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "samples.npz", image=np.random.default_rng(0).uniform(-1, 1, (64, 4)).astype(np.float32))
    (tmp_path / "recipe.toml").write_text('[[rule]]\nslot = "output"\ncalibrator = { name = "half", of = 0.25 }\n')
    quantize = ("quantize", MODEL, "--shape", "image=1x4", "--data", tmp_path / "samples.npz", "--quiet")
    out = ("-o", tmp_path / "out.mlir")
    done = _run(crowd, "qmlir", *quantize, *out, "--scheme", "floor_pow2", "--recipe", tmp_path / "recipe.toml")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out.mlir").read_text()
    assert 'good.mark = "quantized"' in text
    wrong = _run(crowd, "qmlir", *quantize, *out, "--calibrator", "none")
    assert wrong.returncode == 1
    assert wrong.stderr.splitlines()[-1].endswith(
        f"calibrator 'none' of package 'taken 3.0': 'taken:RELU' must be a function, but got dict ({crowd}/taken.py:10)"
    )


def test_import_goes_on(crowd: Path) -> None:
    done = _run(crowd, "qmlir-translate", "--import-onnx", MODEL, "--shape", "image=1x4")
    assert (done.returncode, "nn.relu" in done.stdout) == (0, True)
    taken = "left out 'Gemm', 'Relu' of 'taken:OPERATORS' (importers): package 'qmlir' has them"
    assert done.stderr == f"{ALWAYS.format(crowd)}warning: package 'taken 3.0': {taken}\n"


def test_a_pattern_that_raises_is_named_and_can_be_left_out(raising: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = nn.abs %x : tensor<2xf32>\n"
                      "  func.return %0 : tensor<2xf32>\n}\n")  # fmt: skip
    done = _run(raising, "qmlir-opt", source, "-p", "canonicalize")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == (
        f"{source}:2:3: error: 'nn.abs' op pattern 'Explodes' failed: KeyError: 'nn.abs' "
        f"(in package 'raising 1.1', {raising}/raising.py:7)"
    )
    assert _run(raising, "qmlir-opt", source, "-p", "cse,dce").returncode == 0
    without = _run(raising, "qmlir-opt", source, "-p", "canonicalize", QMLIR_WITHOUT="other,raising")
    assert (without.returncode, without.stderr) == (0, "")


def test_a_point_that_no_pipeline_has_is_an_error_of_the_package(raising: Path) -> None:
    done = _run(raising, "qmlir", "quantize", MODEL, "--shape", "image=1x4", "--data", MODEL, "-o", "x.mlir")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        "error: package 'raising 1.1': unknown pipeline point 'quantize.lowr.before'; "
        f"did you mean 'quantize.lower.before'? ({raising}/raising.py:10) (QMLIR_WITHOUT=raising leaves it out)",
    )


def test_xdsl_opt_reads_a_dialect_and_runs_a_pass_of_a_package(good: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = good.twice %x : tensor<2xf32> -> tensor<2xf32>\n"
        '  %1 = nn.gelu %0 : tensor<2xf32> {origin = "act"}\n  func.return %1 : tensor<2xf32>\n}\n'
    )
    done = _run(good, "xdsl-opt", source, "-p", "good-mark{at=upstream},nn-decompose")
    assert done.returncode == 0, done.stderr
    assert 'good.mark = "upstream"' in done.stdout
    assert "good.twice %x" in done.stdout
    assert 'role = "erf"' in done.stdout


def test_a_plug_in_that_is_installed_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.packages()  # they are looked for once: before the patch, which is to say nothing to other tests
    row = "tests.support.contributing"
    there = Package("there", "1.0", universes=(f"{row}:UNIVERSE",), contributions=(CONTRIBUTION,))
    monkeypatch.setattr("qmlir.registry.package.installed", lambda: (there,))
    plugged = registry.plugin(row)
    assert (plugged.universes, plugged.contributions) == ((f"{row}:UNIVERSE",), ())
    said: list[str] = []
    with registry.plugged([there, plugged]), fault_listener(said.append):
        assert default_environment().owners["pass 'no-tanh'"] == "there 1.0"
        assert [package.name for package, _ in registry.inserted_passes("compile.lower.before")] == ["there"]
    assert said == []


def test_names_are_compared_as_pip_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WITHOUT_VARIABLE, "Qmlir_Fxp, xdsl")
    assert not any(map(_is_wanted, ("qmlir-fxp", "qmlir.fxp")))
    assert all(map(_is_wanted, ("fxp", "xdsl")))


def test_an_option_without_a_value_is_left_to_the_tool() -> None:
    assert plugins_in(["run", "--load-plugin", "a:b", "x.mlir", "--load-plugin=c"]) == ["a:b", "c"]
    assert plugins_in(["run", "--load-plugin"]) == []


def test_an_importer_and_an_exporter_that_give_nothing_are_named() -> None:
    owner = r" \(in package 'tests.support.spoilt', \S*spoilt.py:\d+\)"
    with plugins(["tests.support.spoilt"]):
        for name, why in (
            ("Raises", "its importer failed: KeyError: 'lost'"),
            ("Nothing", "its importer gives None, no value and no list of values"),
            ("Number", r"its importer gives \[3\], no value and no list of values"),
        ):
            opsets = 'opset_import: ["" : 21, "my" : 1]'
            text = f"<ir_version: 10, {opsets}> net (float[4] x) => (float[4] y) {{ [n] y = my.{name} (x) }}"
            with pytest.raises(DiagnosticError, match=f"my.{name} node 'n': {why}{owner}"):
                qmlir.load(onnx.parser.parse_model(text))
        for name, why in (
            ("raises", "its exporter failed: KeyError: 'lost'"),
            ("nothing", "its exporter adds no node"),
        ):
            text = (
                f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n  %0 = spoilt.{name} %x : tensor<4xf32>\n"
                "  func.return %0 : tensor<4xf32>\n}"
            )
            module = parse_module(default_environment().new_context(), text)
            with pytest.raises(DiagnosticError, match=f"'spoilt.{name}' op cannot be exported: {why}{owner}"):
                export_model(module)
