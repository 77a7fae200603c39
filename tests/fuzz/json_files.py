"""Files of JSON: keys missing, mistyped and twice, values nested deep, numbers huge and not finite.

Cards of programs (of several, too), summaries of results, tuned schedules, measurements of a search, manifests of the
cache, lists of written files, notes of interrupted runs.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import qmlir
from qmlir.extensions.search.trials import Measurements
from qmlir.extensions.search.tuned import TunedKernel, Tuning, tuning_text
from qmlir.targets.cpu import cache as program_cache
from qmlir.targets.cpu.saved import cards_in
from qmlir.text.data import JsonValue
from qmlir.text.files import INTERRUPTED
from qmlir.text.writing import LIST, Derived, _List, check_whole  # pyright: ignore[reportPrivateUsage]
from qmlir.tools import qmlir_cli
from qmlir.tools.running.compile import about
from qmlir.workflows.folder import QuantizedFolder
from tests.fuzz.damage import damage_json
from tests.fuzz.frame import Kind, Outcome, run_reader, run_tool

_OPEN = """
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %b = nn.constant dense<0.5> : tensor<4xf32>
  %0 = nn.fully_connected %x, %w, %b : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
"""
_MODEL = Path(__file__).parents[2] / "docs" / "examples" / "layer.mlir"


@cache
def _folder() -> TemporaryDirectory[str]:
    """A program, one of several sizes, and a quantized folder; they last as long as this process."""
    folder = TemporaryDirectory(prefix="qmlir-fuzz-json-")
    root = Path(folder.name)
    (root / "open.mlir").write_text(_OPEN)
    qmlir.compile(qmlir.load(_MODEL)).save(root / "program")
    module = qmlir.load(root / "open.mlir")
    qmlir.compile(module, max_sizes={"input0.0": [2, 4]}).save(root / "lengths")
    samples = np.random.default_rng(0).normal(size=(4, 2, 8)).astype(np.float32)
    qmlir.quantize(_MODEL, samples).save(root / "q")
    return folder


def _files(folder: str, *names: str) -> Mapping[str, bytes]:
    root = Path(_folder().name) / folder
    return {name: (root / name).read_bytes() for name in names}


def _copied(path: Path, folder: str) -> Path:
    """A copy of a folder beside `path`, made once in a child."""
    copy = path.with_name(folder)
    if not copy.exists():
        shutil.copytree(Path(_folder().name) / folder, copy)
    return copy


def _read_card(path: Path, folder: str, name: str) -> Outcome:
    """The folder with one of its files exchanged."""
    copy = _copied(path, folder)
    path.replace(copy / name)
    found = run_tool(qmlir_cli.main, ["inspect", str(copy)])
    listed = run_reader(lambda: [card.text() for card in cards_in(copy)])
    shutil.copyfile(Path(_folder().name) / folder / name, copy / name)
    return found if found.code else listed


def _read_summary(path: Path) -> Outcome:
    folder = path.with_name("q")
    folder.mkdir(exist_ok=True)
    path.replace(folder / "summary.json")

    def read() -> None:
        QuantizedFolder.open(folder).settings_beside_recipe()
        about(str(folder))

    return run_reader(read)


def _tuned() -> Mapping[str, bytes]:
    kernels = [
        TunedKernel(
            f"kernel {position}", "#kernel.schedule<>" if position else None, "#kernel.schedule<>", 1e-6, 2e-6, 3
        )
        for position in range(2)
    ]
    return {"tuned": tuning_text({each.key: each for each in kernels}).encode()}


def _read_tuned(path: Path) -> Outcome:
    entries = json.loads(_tuned()["tuned"])["kernels"]
    one = next(iter(entries.values()))
    run_reader(lambda: TunedKernel.of(JsonValue("an answer", one)))
    return run_reader(lambda: [each.gain for each in Tuning.read(path).kernels.values()])


def _measurements() -> Mapping[str, bytes]:
    known = Measurements("key")
    known.together(["first", "second"], lambda: [0.5, float("nan")])
    return {"measurements": known.text().encode()}


def _read_measurements(path: Path) -> Outcome:
    def read() -> None:
        known = Measurements("key", path)
        path.unlink()
        known.measured("another", lambda: 1.0)

    return run_reader(read)


def _manifest() -> Mapping[str, bytes]:
    with TemporaryDirectory() as folder:
        (Path(folder) / "kernels.py").write_text("")
        program_cache.write_manifest(Path(folder), "entry")
        return {"manifest": (Path(folder) / program_cache.MANIFEST).read_bytes()}


def _read_manifest(path: Path) -> Outcome:
    folder = path.with_name("entry")
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "kernels.py").write_text("")
    path.replace(folder / program_cache.MANIFEST)
    return run_reader(lambda: program_cache.is_intact(folder))


def _list() -> Mapping[str, bytes]:
    files = {"m.q.mlir": "0" * 64, "part0/program.json": "1" * 64}
    return {"whole": _List(files).to_bytes(), "interrupted": _List(files, {"m.q.mlir": "2" * 64}).to_bytes()}


def _read_list(path: Path) -> Outcome:
    folder = path.with_name("folder")
    folder.mkdir(exist_ok=True)
    (folder / "m.q.mlir").write_text("")
    path.replace(folder / LIST)
    return run_reader(lambda: check_whole(folder))


def _note() -> Mapping[str, bytes]:
    return {"note": INTERRUPTED + json.dumps({"m.safetensors": ["0" * 64, "1" * 64]}).encode() + b"\n"}


def _damage_note(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    text = data[len(INTERRUPTED) :]
    return INTERRUPTED + damage_json(rng, text, [text])


def _read_note(path: Path) -> Outcome:
    derived = path.with_name("m.safetensors")
    derived.write_bytes(b"")
    return run_reader(lambda: Derived(derived, lambda content: False).check(path))


def _kind(name: str, whole: Callable[[], Mapping[str, bytes]], read: Callable[[Path], Outcome]) -> Kind:
    return Kind(name, ".json", whole, damage_json, read)


def _program_kind(name: str, folder: str, file: str) -> Kind:
    return _kind(name, partial(_files, folder, file), partial(_read_card, folder=folder, name=file))


JSON_FILES = (
    _program_kind("card", "program", "program.json"),
    _program_kind("card_of_several", "lengths", "program.json"),
    _program_kind("card_of_part", "lengths", "part0/program.json"),
    _program_kind("lengths", "lengths", "lengths.json"),
    _kind("summary", partial(_files, "q", "summary.json"), _read_summary),
    _kind("tuned", _tuned, _read_tuned),
    _kind("measurements", _measurements, _read_measurements),
    _kind("manifest", _manifest, _read_manifest),
    _kind("list", _list, _read_list),
    Kind("note", ".mlir", _note, _damage_note, _read_note),
)
