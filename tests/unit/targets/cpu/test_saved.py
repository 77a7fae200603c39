"""Saved programs are what was written: every file of every kind, those of several targets, and what numba keeps."""

import json
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.environment import plugins
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.cache import saved_key
from qmlir.targets.cpu.emitters.card import read_card
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.package import CARD
from qmlir.targets.cpu.runtime.machine_code import FEATURES, FILE, SOURCE, digest_of, read_objects, written
from qmlir.targets.cpu.saved import cards_in, seal
from qmlir.text.writing import LIST
from tests.support.commands import run_command

DEVICES = str(Path(__file__).parents[3] / "plugins/devices/devices.py")

LAYER = """
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<?x4x!x> {nn.name = "x", nn.dims = ["batch", ""]}) -> (tensor<?x2x!x> {nn.name = "y"}) {
  %w = nn.constant dense<[[1, -2, 3, 4], [5, 6, -7, 8]]> : tensor<2x4xi8> -> tensor<2x4x!w>
  %0 = nn.fully_connected %x, %w : (tensor<?x4x!x>, tensor<2x4x!w>) -> tensor<?x2x!x> {origin = "fc"}
  %1 = nn.relu %0 : tensor<?x2x!x> {origin = "relu"}
  %2 = nn.mul %1, %1 : (tensor<?x2x!x>, tensor<?x2x!x>) -> tensor<?x2x!x> {origin = "square"}
  func.return %2 : tensor<?x2x!x>
}
"""

OPTIONS: Mapping[str, list[str]] = {
    "numba": ["--shape", "x=2x4"],
    "llvm": ["--shape", "x=2x4", "--codegen", "llvm"],
    "any": ["--max-size", "batch=1x2"],
    "parts": ["--shape", "x=2x4", "--device", "npu,cpu"],
}
"""The kinds of saved programs, and what makes them of the layer."""

ROWS = np.random.default_rng(0).integers(-128, 128, (2, 4)).astype(np.int8)


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    with plugins([DEVICES]):
        yield


def compile_layer(folder: Path, kind: str, *options: str) -> tuple[int, str]:
    """Compile the layer into a folder: how the command ends, and what it says."""
    model = folder.parent / "layer.mlir"
    model.write_text(LAYER)
    command = ["qmlir", "compile", str(model), "-o", str(folder), "--load-plugin", DEVICES, *OPTIONS[kind], *options]
    done = run_command(command, "")
    return done.code, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program of each kind."""
    folder = tmp_path_factory.mktemp("saved")
    for kind in OPTIONS:
        assert compile_layer(folder / kind, kind)[0] == 0
    return folder


@pytest.fixture
def expected(made: Path) -> np.ndarray:
    return qmlir.interpret(qmlir.load(made / "layer.mlir", shapes={"x": (2, 4)}), [ROWS])["y"]


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def assert_refused(folder: Path, message: str) -> None:
    """Neither loaded nor inspected, both with the same line; where there is no card, a folder may be of anything."""
    with pytest.raises(DiagnosticError, match=message) as raised:
        qmlir.load_program(folder)
    assert "\n" not in str(raised.value)
    done = run_command(["qmlir", "inspect", str(folder)], "")
    assert (done.code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr == f"{raised.value}\n" or not (folder / CARD).exists()


@pytest.mark.parametrize("kind", OPTIONS)
def test_every_file_is_bound(made: Path, tmp_path: Path, kind: str, expected: np.ndarray) -> None:
    """A byte that is another one, a file that is missing; whole again, it computes."""
    folder = tmp_path / "p"
    shutil.copytree(made / kind, folder)
    names = files_in(folder)
    assert {CARD, LIST} < {*names}
    names.remove(LIST)  # a list that is damaged or missing is only a reason not to replace the files
    for name in names:
        path = folder / name
        whole = path.read_bytes()
        path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:] if whole else b"\0")
        assert_refused(folder, rf"{name} is damaged|has no manifest|contains no saved program")
        path.unlink()
        assert_refused(folder, rf"{name} is missing|has no manifest|contains no saved program")
        path.write_bytes(whole)
    assert np.array_equal(qmlir.load_program(folder)([ROWS])["y"], expected)


@pytest.mark.parametrize("kind", OPTIONS)
def test_added_files(made: Path, tmp_path: Path, kind: str, expected: np.ndarray) -> None:
    """Files that nothing reads may be there; one that would be read in place of a file of the program may not."""
    folder = tmp_path / "p"
    shutil.copytree(made / kind, folder)
    for name in ("numpy.py", "notes.txt", "__pycache__/x/kernels.nbi", "main_npu_0.txt", ".git/HEAD", "data/x.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("raise SystemExit\n")
    assert np.array_equal(qmlir.load_program(folder)([ROWS])["y"], expected)
    own = {name.partition("/")[0] for name in files_in(made / kind) if "/" in name}
    names = ["lengths.json", *(f"{each}/runtime/x.txt" for each in own if each != "runtime")]
    if (folder / "kernels.py").exists() or (folder / "kernels.ll").exists():
        names += ["runtime/x.txt", "runtime.so", "runtime.py", "__init__.abi3.so"]
    if (folder / "kernels.py").exists():
        names += ["kernels.ll", "kernels.so", "kernels.pyc", "kernels/__init__.py"]
    for name in names:
        if (folder / name).exists() or not (folder / name).parent.parent.exists():
            continue
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise SystemExit\n")
        assert_refused(folder, r"is not part of the program \(its manifest does not list it\); remove it")
        (folder / name).unlink()
        if "/" in name and not any((folder / name).parent.iterdir()):
            (folder / name).parent.rmdir()


def test_a_program_of_several_targets(made: Path) -> None:
    """Its card has the parts, the sizes of those of the CPU together, what it takes and gives."""
    card, *others = cards_in(made / "parts")
    assert (card.form, card.emitter, card.target, card.threads) == ("parts", "numba", "npu, cpu", 1)
    assert card.parts == {"main_npu_0": "npu", "main_cpu_0": "cpu"}
    assert card.nodes == ("fc", "relu", "square")
    ports = ["x: 2x4 int8, scale 0.25, zero point 0", "y: 2x2 int8, scale 0.25, zero point 0"]
    assert [port.text() for port in (*card.inputs, *card.outputs)] == ports
    assert card.files.keys() >= {"module.mlir", "main_npu_0.npu.txt", "main_cpu_0/program.json"}
    (own,) = others
    assert own == read_card(made / "parts" / "main_cpu_0" / CARD)
    for size in ("kernels", "arena_bytes", "weights_bytes", "stack_bytes", "code_bytes"):
        assert getattr(card, size) == getattr(own, size)
    assert card.about == own.about == {"model": "layer.mlir"}
    text = run_command(["qmlir", "inspect", str(made / "parts")], "").stdout
    assert f"  part     main_npu_0: npu\n  part     main_cpu_0: cpu\n  model    {card.model}\n" in text
    assert card.digest in text
    assert own.digest in text
    found = json.loads(run_command(["qmlir", "inspect", str(made / "parts"), "--json"], "").stdout)
    assert (found["digest"], [each["digest"] for each in found["programs"]]) == (card.digest, [own.digest])


def test_commands_take_it(made: Path, tmp_path: Path) -> None:
    """Those that run a saved program run one of several targets."""
    np.savez(tmp_path / "x.npz", x=ROWS)
    model, program, data = (str(path) for path in (made / "layer.mlir", made / "parts", tmp_path / "x.npz"))
    for words in (
        ["bench", program, "--seconds", "0.01"],
        ["run", program, "--input", data],
        ["compare", model, program, "--data", data, "--shape", "x=2x4"],
    ):
        done = run_command(["qmlir", words[0], *words[1:], "--load-plugin", DEVICES], "")
        assert done.code == 0, done.stderr


def test_a_program_without_python(made: Path, tmp_path: Path) -> None:
    """Its card has the name that those of saved programs have."""
    assert compile_layer(tmp_path / "c", "numba", "--emit", "c", "--name", "program")[0] == 0
    with pytest.raises(DiagnosticError, match="contains a program of the form 'c', but Python can load only 'program'"):
        qmlir.load_program(tmp_path / "c")
    assert compile_layer(tmp_path / "c", "numba") == (0, "")
    assert not (tmp_path / "c" / "program.c").exists()


def test_what_a_part_is_exchanged_for(made: Path, tmp_path: Path) -> None:
    """Another program that is whole by itself: the card of the whole has the digest of that which was there."""
    shutil.copytree(made / "parts", tmp_path / "p")
    shutil.rmtree(tmp_path / "p" / "main_cpu_0")
    shutil.copytree(made / "llvm", tmp_path / "p" / "main_cpu_0")
    assert_refused(tmp_path / "p", r"main_cpu_0/program\.json is damaged")


def test_one_of_several_targets_without_a_card_is_of_an_earlier_qmlir(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "parts", tmp_path / "p")
    (tmp_path / "p" / CARD).rename(tmp_path / "p" / "parts.json")
    assert_refused(tmp_path / "p", "has no manifest program.json: it was modified, or saved by an older qmlir")


@pytest.mark.parametrize("depth", [100, 950])
def test_a_card_about_what_lies_deep(made: Path, tmp_path: Path, depth: int) -> None:
    shutil.copytree(made / "llvm", tmp_path / "p")
    card = json.loads((tmp_path / "p" / CARD).read_text())
    card["about"] = {"deep": "@"}
    deep = "[" * depth + "]" * depth  # as text: json.dumps may meet its own limit of recursion first
    (tmp_path / "p" / CARD).write_text(json.dumps(card).replace('"@"', deep))
    assert_refused(tmp_path / "p", r"program\.json is damaged")


KEPT: Mapping[str, Callable[[Path], object]] = {
    "a file more": lambda folder: (folder / "thesis.txt").write_text("years of work"),
    "one in a part": lambda folder: (folder / "main_cpu_0" / "thesis.txt").write_text("years of work"),
    "one in a folder more": lambda folder: ((folder / "x").mkdir(), (folder / "x" / "y").write_text("")),
}
CHANGED: Mapping[str, Callable[[Path], object]] = {
    "a file that is edited": lambda folder: (folder / CARD).write_text("by hand"),
    "the card of another program": lambda folder: shutil.copy(folder / "main_cpu_0" / CARD, folder),
    "a list that is lost": lambda folder: (folder / LIST).unlink(),
}


@pytest.mark.parametrize("change", [*KEPT, *CHANGED])
def test_what_is_not_replaced(made: Path, tmp_path: Path, change: str) -> None:
    folder = tmp_path / "victim"
    shutil.copytree(made / "parts", folder)
    names = set(files_in(folder))
    {**KEPT, **CHANGED}[change](folder)
    before = {name: (folder / name).read_bytes() for name in files_in(folder)}
    for kind in ("parts", "numba"):
        code, said = compile_layer(folder, kind)
        if change in CHANGED:
            assert (code, said.count("\n")) == (1, 1)
            assert "already exists" in said
            assert {name: (folder / name).read_bytes() for name in files_in(folder)} == before
        else:
            assert (code, said) == (0, "")
            assert all((folder / name).read_bytes() == content for name, content in before.items() if name not in names)


def test_what_is_replaced(made: Path, tmp_path: Path) -> None:
    """By a program of another kind, too."""
    shutil.copytree(made / "parts", tmp_path / "p")
    assert compile_layer(tmp_path / "p", "numba", "--emit", "c")[0] == 0
    for kind in ("parts", "numba", "parts"):
        assert compile_layer(tmp_path / "p", kind)[0] == 0
    assert read_card(tmp_path / "p" / CARD).form == "parts"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-arena", "1"], "error: scratch memory must be at most 1 bytes (--max-arena), but got "),
        (["--max-code", "1"], "error: machine code must be at most 1 bytes (--max-code), but got "),
    ],
)
def test_sizes_of_several_targets(tmp_path: Path, options: list[str], message: str) -> None:
    code, said = compile_layer(tmp_path / "p", "parts", *options)
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith(message)
    assert files_in(tmp_path) == ["layer.mlir"]
    assert compile_layer(tmp_path / "p", "parts", options[0], "1M", "--max-weights", "0")[0] == 0


class Evil:
    """A pickle that says that it was read."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return print, ("it ran",)


def for_another_processor(folder: Path) -> None:
    """Make a saved program one whose machine code was made elsewhere."""
    header, objects = read_objects(folder / FILE)
    facts = {name: value for name, value in header.items() if name not in ("made_for", "source", "sizes")}
    data = written(facts, digest_of((folder / SOURCE).read_bytes()), [objects])
    header = {**header, "made_for": {**header["made_for"], "processor": "another"}}
    text = json.dumps(header).encode()
    assert len(data) > len(text)
    content = b"".join([len(text).to_bytes(8, "little"), text, objects])
    (folder / FILE).write_bytes(bytes.fromhex(digest_of(content)) + content)
    seal(folder)


def forget_programs() -> None:
    """As in a new process."""
    for name in [name for name in sys.modules if name.startswith("qmlir_saved_")]:
        del sys.modules[name]


def test_what_numba_keeps(
    made: Path,
    tmp_path: Path,
    expected: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On another processor a program is compiled in the user's cache: its folder is neither read there nor written."""
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "p"
    shutil.copytree(made / "numba", folder)
    assert not list(folder.rglob("*.nb?"))
    for_another_processor(folder)
    before = files_in(folder)
    assert np.array_equal(qmlir.load_program(folder)([ROWS])["y"], expected)
    assert files_in(folder) == before
    (entry,) = (tmp_path / "cache").iterdir()
    indices = list(entry.rglob("*.nbi"))
    assert indices
    for index in indices:  # what who imports the package may have left there
        planted = folder / "__pycache__" / index.name
        planted.parent.mkdir(exist_ok=True)
        planted.write_bytes(pickle.dumps(Evil()))
    made_at = {path: path.stat().st_mtime_ns for path in entry.rglob("*")}
    forget_programs()
    assert np.array_equal(qmlir.load_program(folder)([ROWS])["y"], expected)
    assert {path: path.stat().st_mtime_ns for path in entry.rglob("*")} == made_at
    for index in indices:
        index.write_bytes(pickle.dumps(Evil()))
    forget_programs()
    assert np.array_equal(qmlir.load_program(folder)([ROWS])["y"], expected)
    assert capsys.readouterr().out == ""


PRODUCT = """
func.func @main(%x: tensor<8x64xi8>, %w: tensor<64x64xi8>) -> (tensor<8x64xi32> {nn.name = "y"}) {
  %0 = kernel.matmul ins(%x, %w : tensor<8x64xi8>, tensor<64x64xi8>) -> tensor<8x64xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<8x64xi32>
}
"""


@pytest.mark.parametrize("emitter", ["numba", "llvm"])
@pytest.mark.skipif(not instruction_set(host_isa()).needs, reason="this processor has no products of its own")
def test_a_processor_that_lacks_instructions(tmp_path: Path, emitter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM would end the process where it is to select them: nothing is compiled."""
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "product.mlir").write_text(PRODUCT)
    qmlir.compile(qmlir.load(tmp_path / "product.mlir"), codegen=emitter).save(tmp_path / "p")
    needs = ", ".join(sorted(instruction_set(host_isa()).needs))
    monkeypatch.setenv(FEATURES, "+sse2")
    with pytest.raises(DiagnosticError, match=f"requires a CPU with {needs}, which this one lacks"):
        qmlir.load_program(tmp_path / "p")


def test_the_key_of_what_numba_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of the card, and of the code of the packages whose functions kernels call."""
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "kernels_of_a_user.py"
    module.write_text("FACTOR = 1\n")
    invalidate_caches()
    source = "from .runtime.operations import addresses\nfrom kernels_of_a_user import times as by_hand_0_times\n"
    first = saved_key("a", source)
    assert saved_key("a", source) == first
    assert saved_key("b", source) != first
    assert saved_key("a", "") != first
    module.write_text("FACTOR = 2\n")
    assert saved_key("a", source) != first
