"""Runs `qmlir search`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from dataclasses import replace
from pathlib import Path

from qmlir.extensions.search.searching import SearchResult, search
from qmlir.quantization.recipe_text import RecipeText
from qmlir.tools.command_runner import Session
from qmlir.tools.models import FloatModel, data_in, float_model, labels_beside_data
from qmlir.tools.stdio import UsageError
from qmlir.workflows.folder import check_new_folder, names_of

STATE = ".search.json"
"""The file of measurements in the output folder."""


def run_search(arguments: argparse.Namespace, session: Session) -> int:
    """Searches and writes the result; returns 1 if the bound cannot be met. Raises `DiagnosticError`."""
    if arguments.max_steps is not None and arguments.max_steps < 0:
        raise UsageError(f"qmlir search: error: --max-steps must be >= 0, but got {arguments.max_steps}\n")
    output = Path(arguments.output)
    check_new_folder(output, "search")
    source = float_model(arguments, session, "search", uses_profile=arguments.calibration is None)
    check_new_folder(output, "search", names_of(source.stem))
    state = output / STATE
    if state.is_file():
        session.detail(f"continuing with the measurements in '{state}', if they are of this model, data and settings")
    data, calibration = data_in(arguments), data_in(arguments, "calibration")
    with labels_beside_data(arguments):
        found = search(
            source.module, data, labels=arguments.labels, min_accuracy=arguments.min_accuracy,
            max_drop=arguments.max_drop, max_bytes=arguments.max_bytes, max_time=arguments.max_time,
            measure_time=arguments.measure_time,
            mode=arguments.mode, widen_to=arguments.widen_to, calibration=calibration, profile=source.profile,
            output=arguments.scores, max_steps=arguments.max_steps, state=state, engine=arguments.engine,
            threads=arguments.threads, progress=session.progress, on_step=lambda step: session.detail(str(step)),
            cluster=arguments.cluster, resume=arguments.resume,
            **source.settings,
        )  # fmt: skip
    if found.is_reached:
        _save(output, source, found, arguments)
    session.emit(
        {**found.to_dict(), "output": output if found.is_reached else None},
        lambda: _report(found, output),
    )
    return 0 if found.is_reached else 1


def _save(output: Path, source: FloatModel, found: SearchResult, arguments: argparse.Namespace) -> None:
    """Writes the folder of the quantized model; it already contains the measurements."""
    settings = {**found.quantized.settings, "recipe": RecipeText("search.toml", found.recipe)}
    quantized = replace(found.quantized, settings=settings)
    quantized.save_folder(output, source.stem, quantized.summary(arguments.model, arguments.data))


def _report(found: SearchResult, output: Path) -> str:
    """Formats the result and its location."""
    return f"{found.text()}{output}: the quantized model with its recipe\n" if found.is_reached else found.text()
