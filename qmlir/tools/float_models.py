"""The float model that a command quantizes in its own way: a model, or that of a folder of `qmlir quantize`."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.quantization.profiles.profile import Profile
from qmlir.tools.arguments import import_settings, load_model, quantization_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.stdio import UsageError
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import load


@dataclass(frozen=True)
class FloatModel:
    """A float model, its profile if there is one, the settings that quantize it, and the stem of file names."""

    module: ModuleOp
    profile: Profile | None
    settings: dict[str, Any]
    stem: str


def float_model(
    arguments: argparse.Namespace, session: Session, command: str, *, uses_profile: bool = True
) -> FloatModel:
    """The model that the arguments name, with the profile and the recipe of its folder.

    The profile of a folder holds if the arguments give none, and the command `uses_profile`. Raises `UsageError` for
    options that the recipe of a folder decides, and `DiagnosticError`.
    """
    settings = quantization_settings(arguments)
    given = Profile.load(arguments.profile) if arguments.profile else None
    if arguments.model == "-" or not QuantizedFolder.holds(arguments.model):
        module = load_model(arguments.model, session, **import_settings(arguments))
        stem = "model" if arguments.model == "-" else Path(arguments.model).name.split(".")[0]
        return FloatModel(module, given, settings, stem)
    if arguments.recipe or arguments.exclude:
        what = "--recipe is" if arguments.recipe else "--exclude is a rule, and the recipe"
        raise UsageError(f"qmlir {command}: error: {what} that of the folder: {command} from the model with another\n")
    folder = QuantizedFolder.open(arguments.model)
    if given is None and uses_profile:
        given = Profile.load(folder.profile)
    # The recipe of the folder says all that was asked for but what stays whole.
    others = {name: value for name, value in settings.items() if not isinstance(value, str)}
    known = {**others, "granularity": "", **folder.settings_beside_recipe(), "recipe": str(folder.recipe)}
    return FloatModel(load(folder.float_module), given, known, folder.stem)
