"""The folder that `qmlir quantize -o out/` writes, and that others read: what was made, of what, and how.

    <stem>.q.mlir, <stem>.q.safetensors          the quantized module
    <stem>.float.mlir, <stem>.float.safetensors  the float model as it was imported: what to compare with
    profile.json                                 what the samples showed of each value
    recipe.toml                                  what was asked for, as rules
    summary.json                                 what came out, as `qmlir.workflows.summary` has it

Safetensors files are there where there are large weights. A folder is whole or absent: it is written aside and moved.
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.diagnostics import text_error
from qmlir.onnx.suffixes import ONNX_SUFFIXES
from qmlir.quantization.profiles.file import Profile
from qmlir.targets.cpu.emitters.card import card_paths, is_emitted
from qmlir.targets.cpu.saved import is_program, is_saved
from qmlir.text.files import is_file_name, path_of, read_json, reason_of
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.text.weights import write_atomically

MODULE_SUFFIX = ".q.mlir"
FLOAT_SUFFIX = ".float.mlir"
PROFILE = "profile.json"
RECIPE = "recipe.toml"
SUMMARY = "summary.json"
FORMAT = "qmlir-quantized"
VERSION = 1


@dataclass(frozen=True)
class QuantizedFolder:
    """A folder that `qmlir quantize` wrote: where its parts lie."""

    path: Path
    stem: str

    @property
    def module(self) -> Path:
        """The quantized module."""
        return self.path / f"{self.stem}{MODULE_SUFFIX}"

    @property
    def float_module(self) -> Path:
        """The float model as it was imported."""
        return self.path / f"{self.stem}{FLOAT_SUFFIX}"

    @property
    def profile(self) -> Path:
        """What the samples showed."""
        return self.path / PROFILE

    @property
    def recipe(self) -> Path:
        """What was asked for."""
        return self.path / RECIPE

    @property
    def summary(self) -> Path:
        """What came out."""
        return self.path / SUMMARY

    def read_summary(self) -> dict[str, Any]:
        """What came out. Raises `DiagnosticError`."""
        found = _summary(self.path)
        if found is None:
            raise text_error(f"'{self.path}' is not a folder of qmlir quantize: it has no {SUMMARY} of one")
        return found

    @staticmethod
    def open(path: str | os.PathLike[str]) -> "QuantizedFolder":
        """The folder at `path`, or the one that the `.q.mlir` at `path` lies in. Raises `DiagnosticError`."""
        given = path_of(path)
        if not given.exists():
            raise text_error(f"cannot read '{given}': No such file or directory")
        folder = given if given.is_dir() else given.parent
        found = _summary(folder)
        if found is None:
            where = f"'{given}' is not" if given.is_dir() else f"'{given}' is not in"
            raise text_error(f"{where} a folder of qmlir quantize, which has a {SUMMARY}: qmlir quantize MODEL -o DIR")
        return QuantizedFolder(folder, str(found["stem"]))

    @staticmethod
    def holds(path: str | os.PathLike[str]) -> bool:
        """Whether `path` is such a folder, or the module in one. Raises `DiagnosticError` for what is no path."""
        given = path_of(path)
        folder = given if given.is_dir() else given.parent
        found = _summary(folder)
        return found is not None and (given.is_dir() or given.name == f"{found['stem']}{MODULE_SUFFIX}")


def _summary(folder: Path) -> dict[str, Any] | None:
    """The summary in a folder, `None` where there is none that we wrote."""
    found = read_json(folder / SUMMARY)
    if not isinstance(found, dict):
        return None
    summary = cast(dict[str, Any], found)
    stem = summary.get("stem")
    return summary if summary.get("format") == FORMAT and isinstance(stem, str) and is_file_name(stem) else None


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder that a command writes: a later run replaces such a folder, and nothing else."""

    command: str
    is_there: Callable[[Path], bool]


QUANTIZED = FolderKind("quantize", lambda path: _summary(path) is not None)
PROGRAM = FolderKind("compile", is_saved)
EMITTED = FolderKind("compile --emit", is_emitted)


_FOREIGN = frozenset({".pt", ".pth", ".bin", ".h5", ".keras", ".tflite", ".xml", ".json", ".npz", ".safetensors"})
"""Ends of names of files, which no folder should have."""


def check_target(path: Path, kind: FolderKind = QUANTIZED) -> None:
    """Raise `DiagnosticError` where no folder can be put at `path`: before anything takes its time."""
    command = f"qmlir {kind.command}"
    if path.is_dir():
        if any(path.iterdir()) and not kind.is_there(path):
            raise text_error(f"'{path}' exists, and {command} did not write it: name another folder, or remove it")
    elif path.exists() or path.is_symlink():
        raise text_error(f"'{path}' is a file, and {command} writes a folder: name another path, or remove it")
    elif path.suffix in _FOREIGN:
        what = f"{command} writes a folder, and '{path.suffix}' is the end of a file's name"
        raise text_error(f"cannot write '{path}': {what}")
    _check_parent(path)


def check_file(path: Path) -> None:
    """Raise `DiagnosticError` where no file can be put at `path`: before anything takes its time."""
    if path.is_dir():
        raise text_error(f"cannot write '{path}': it is a folder")
    if not path.parent.is_dir():
        raise text_error(f"cannot write '{path}': there is no folder '{path.parent}'")
    if not path.exists() or path.is_file():
        _check_parent(path)


def _check_parent(path: Path) -> None:
    parent = next(each for each in path.absolute().parents if each.exists())
    if not parent.is_dir():
        raise text_error(f"cannot write '{path}': '{parent}' is not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise text_error(f"cannot write '{path}': no permission to write into '{parent}'")


@contextmanager
def written_whole(path: Path, kind: FolderKind = QUANTIZED) -> Generator[Path]:
    """The path of a folder to make, which takes the place of `path` where the block ends well, and otherwise goes.

    Raises `DiagnosticError` where it cannot be written, or where something else than a folder of `kind` is there.
    """
    check_target(path, kind)
    target = path.resolve()
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    old = aside.with_suffix(".old")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield aside
        if target.exists():
            target.rename(old)
        aside.rename(target)
    except OSError as error:
        raise text_error(f"cannot write '{path}': {reason_of(error)}") from error
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        for left in (aside, old):
            shutil.rmtree(left, ignore_errors=True)


def save_quantized(
    path: Path,
    stem: str,
    module: ModuleOp,
    quantized: ModuleOp,
    profile: Profile,
    recipe: str,
    summary: Mapping[str, Any],
) -> QuantizedFolder:
    """Write the folder of `quantized`, which was made of `module` as `recipe` says; whole or not at all.

    The folder of an earlier run is replaced. Raises `DiagnosticError` where something else is there, or where it cannot
    be written.
    """
    sidecar = PrintOptions(weights=Weights.SIDECAR)
    with written_whole(path) as aside:
        aside.mkdir()
        folder = QuantizedFolder(aside, stem)
        save_module(quantized, folder.module, sidecar)
        save_module(module, folder.float_module, sidecar)
        profile.save(folder.profile)
        write_atomically(folder.recipe, recipe)
        content = {"format": FORMAT, "version": VERSION, "stem": stem, **summary}
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        write_atomically(folder.summary, f"{text}\n")
    return QuantizedFolder(path, stem)


def model_in(folder: Path) -> Path:
    """The file of the model in a folder. Raises `DiagnosticError` where it has none, or is a program."""
    if QuantizedFolder.holds(folder):
        return QuantizedFolder.open(folder).module
    if is_program(folder):
        raise text_error(f"'{folder}' is a compiled program: qmlir.load_program('{folder}') loads it")
    if card_paths(folder):
        raise text_error(f"'{folder}' is a program without Python, and not the model: qmlir inspect {folder} shows it")
    models = sorted(path for path in folder.iterdir() if path.suffix in (*ONNX_SUFFIXES, ".mlir"))
    near = f": did you mean '{models[0]}'?" if models else ""
    raise text_error(f"'{folder}' is a folder, and not one that qmlir quantize wrote{near}")
