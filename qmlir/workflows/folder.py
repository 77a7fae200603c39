"""The folder that `qmlir quantize -o out/` writes and other commands read.

    <stem>.q.mlir, <stem>.q.safetensors          the quantized module
    <stem>.float.mlir, <stem>.float.safetensors  the float model as imported, for comparisons
    profile.json                                 the statistics of each value
    recipe.toml                                  the settings, as rules
    summary.json                                 the result, as in `qmlir.workflows.quantized`

Safetensors files exist if weights are large. `qmlir.text.writing` defines which files in a folder are replaced.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.diagnostics import text_error
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.settings import QuantizeSettings
from qmlir.targets.cpu.emitters.card import card_paths
from qmlir.targets.cpu.saved import is_program
from qmlir.text.files import existing_path, is_file_name, note_input, path_of, read_json
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.text.renames import renamed_settings
from qmlir.text.writing import FILE_SUFFIXES, check_folder, check_whole, folder_result, write_file

MODULE_SUFFIX = ".q.mlir"
FLOAT_SUFFIX = ".float.mlir"
PROFILE = "profile.json"
RECIPE = "recipe.toml"
SUMMARY = "summary.json"
FORMAT = "qmlir-quantized"
VERSION = 2
"""The version of the summary. Version 1 uses the setting names of qmlir 0.1 (`qmlir.text.renames`)."""


@dataclass(frozen=True)
class QuantizedFolder:
    """A folder written by `qmlir quantize`, and the paths of its files."""

    path: Path
    stem: str

    @property
    def module(self) -> Path:
        """Path of the quantized module."""
        return self.path / f"{self.stem}{MODULE_SUFFIX}"

    @property
    def float_module(self) -> Path:
        """Path of the float model as imported."""
        return self.path / f"{self.stem}{FLOAT_SUFFIX}"

    @property
    def profile(self) -> Path:
        """Path of the statistics of each value."""
        return self.path / PROFILE

    @property
    def recipe(self) -> Path:
        """Path of the recipe with the settings that were used."""
        return self.path / RECIPE

    @property
    def summary(self) -> Path:
        """Path of the summary of the result."""
        return self.path / SUMMARY

    def read_summary(self) -> dict[str, Any]:
        """Reads the summary. Raises `DiagnosticError` if the folder has none."""
        found = _summary(self.path)
        if found is None:
            raise text_error(f"'{self.path}' is not a folder written by 'qmlir quantize': it has no {SUMMARY}")
        return found

    def settings_beside_recipe(self) -> QuantizeSettings:
        """Returns the settings that a recipe cannot contain: targets, kept composites, states, types of inputs and
        outputs.

        Raises `DiagnosticError` for a summary without them.
        """
        settings: Any = self.read_summary().get("settings")
        said = cast(dict[str, Any], settings) if isinstance(settings, dict) else {}
        ports: Any = {name: said[name] for name in ("states", "inputs_as", "outputs_as") if said.get(name)}
        keep, target = said.get("keep_composites"), str(said.get("device") or "")
        if not isinstance(keep, list):
            if target and keep is None:
                return cast(QuantizeSettings, {"device": target, **ports})
            raise text_error(f"'{self.summary}' lacks settings.keep_composites; quantize the model again")
        kept = [str(each) for each in cast(list[Any], keep)]
        devices = {"device": target} if target else {}
        return cast(QuantizeSettings, {**devices, "keep_composites": kept, **ports})

    @staticmethod
    def open(path: str | os.PathLike[str]) -> "QuantizedFolder":
        """Opens the folder `path`, or the folder that contains the `.q.mlir` file `path`. Raises `DiagnosticError`."""
        given = existing_path(path_of(path))
        folder = given if given.is_dir() else given.parent
        check_whole(folder)
        found = _summary(folder)
        if found is None:
            where = f"'{given}' is not" if given.is_dir() else f"'{given}' is not in"
            raise text_error(
                f"{where} a folder written by 'qmlir quantize'; run 'qmlir quantize "
                "MODEL --data PATH -o DIR' and pass DIR"
            )
        stem = str(found["stem"])
        for name in names_of(stem):
            note_input(folder / name)  # a run that uses the folder must not remove its files
        return QuantizedFolder(folder, stem)

    @staticmethod
    def holds(path: str | os.PathLike[str]) -> bool:
        """Returns True if `path` is a folder written by `qmlir quantize`, or the quantized module in one.

        Raises `DiagnosticError` if `path` is not a path, or is an incomplete folder that an interrupted run left.
        """
        given = path_of(path)
        folder = given if given.is_dir() else given.parent
        if given.is_dir():
            check_whole(given)
        found = _summary(folder)
        return found is not None and (given.is_dir() or given.name == f"{found['stem']}{MODULE_SUFFIX}")


def _summary(folder: Path) -> dict[str, Any] | None:
    """Returns the summary in a folder; `None` if it has none that qmlir wrote."""
    found = read_json(folder / SUMMARY)
    if not isinstance(found, dict):
        return None
    summary = cast(dict[str, Any], found)
    stem, version, settings = map(summary.get, ("stem", "version", "settings"))
    if summary.get("format") != FORMAT or not isinstance(stem, str) or not is_file_name(stem):
        return None
    if version not in (1, VERSION):
        raise text_error(
            f"'{folder / SUMMARY}' has version {version!r:.20}, but this qmlir reads versions 1 to {VERSION}"
        )
    if version == 1 and isinstance(settings, dict):
        summary["settings"] = renamed_settings(cast(dict[str, Any], settings))
    return summary


def check_new_folder(path: Path, command: str, names: Iterable[str] = ()) -> None:
    """Raises `DiagnosticError` if `command` cannot write a folder at `path` with the files `names`."""
    if path.suffix in FILE_SUFFIXES and not path.exists():
        what = f"qmlir {command} writes a folder, and '{path.suffix}' is the end of a file's name"
        raise text_error(f"cannot write '{path}': {what}")
    check_folder(path, names)


def names_of(stem: str) -> Sequence[str]:
    """Returns the names of the files in the folder of a quantized model named `stem`."""
    folder = QuantizedFolder(Path(), stem)
    modules = folder.module, folder.float_module
    sidecars = (each.with_suffix(".safetensors") for each in modules)
    return [each.name for each in (*modules, *sidecars, folder.profile, folder.recipe, folder.summary)]


def save_quantized(
    path: Path,
    stem: str,
    module: ModuleOp,
    quantized: ModuleOp,
    profile: Profile,
    recipe: str,
    summary: Mapping[str, Any],
) -> QuantizedFolder:
    """Writes the folder of `quantized`, which was made from `module` with `recipe`.

    Files that qmlir wrote there are replaced. Raises `DiagnosticError` if another file is in the way, or the folder
    cannot be written.
    """
    sidecar = PrintOptions(weights=Weights.SIDECAR)
    with folder_result(path, first=(SUMMARY,)) as aside:
        aside.mkdir()
        folder = QuantizedFolder(aside, stem)
        save_module(quantized, folder.module, sidecar)
        save_module(module, folder.float_module, sidecar)
        profile.save(folder.profile)
        write_file(folder.recipe, recipe)
        content = {"format": FORMAT, "version": VERSION, "stem": stem, **summary}
        write_file(folder.summary, f"{json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)}\n")
    return QuantizedFolder(path, stem)


def model_in(folder: Path) -> Path:
    """Returns the model file in `folder`. Raises `DiagnosticError` if there is none, or if the folder is a program."""
    check_whole(folder)
    if QuantizedFolder.holds(folder):
        return QuantizedFolder.open(folder).module
    if is_program(folder):
        raise text_error(f"'{folder}' is a compiled program; load it with qmlir.load_program('{folder}')")
    if card_paths(folder):
        raise text_error(f"'{folder}' is a program without Python, not a model; show it with 'qmlir inspect {folder}'")
    models = sorted(path for path in folder.iterdir() if path.suffix in (*ONNX_SUFFIXES, ".mlir"))
    near = f"; did you mean '{models[0]}'?" if models else ""
    raise text_error(f"'{folder}' is a folder, but not one written by 'qmlir quantize'{near}")
