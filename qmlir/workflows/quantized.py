"""A quantized module with what was made on the way to it: what `quantize` gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.diagnostics import text_error
from qmlir.onnx.suffixes import ONNX_SUFFIXES
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.recipe_text import Effort
from qmlir.quantization.report import Coverage, WidenedValues, coverage
from qmlir.quantization.settings import QuantizeSettings
from qmlir.quantization.stored_floats import quantized_anew
from qmlir.quantization.tables import stored_tables
from qmlir.text.access import access, note_sources
from qmlir.text.files import is_file_name, path_of
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.text.readable import Readable
from qmlir.workflows.exporting import export_onnx
from qmlir.workflows.folder import save_quantized
from qmlir.workflows.loading import HoldsModule
from qmlir.workflows.recipes import recipe_text
from qmlir.workflows.remedies import Remedies
from qmlir.workflows.repairing import Repair
from qmlir.workflows.summary import QuantizationSummary, weight_bytes
from qmlir.workflows.validating import Validation

MODULE_SUFFIX = ".mlir"


@dataclass(frozen=True, repr=False)
class Quantized(HoldsModule, Readable):
    """A quantized module, what it was made of, and how far it is from that. It prints its summary."""

    module: ModuleOp
    source: ModuleOp
    """The float module; the equalized one where a repair has made it of that."""

    settings: QuantizeSettings
    profile: Profile
    profiled: ModuleOp
    """The lowered module with what the profile says in its types: the one that was decided about."""

    rules_used: frozenset[int]
    """The places of the rules that decided something, among those of `make_recipe`."""

    float_reasons: Mapping[str, str]
    """Why operations were left in float, by key."""

    widened: tuple[WidenedValues, ...]
    """What has more bits than the others by built-in rules."""

    validation: Validation | None = None
    """How far it is from the float module; `None` where that was not asked for, or where there are no samples."""

    repair: Repair | None = None
    """What the passes of an effort gave; `None` without one."""

    effort: Effort | None = None
    """The effort that was asked for, by the caller or by the recipe."""

    remedies: Remedies | None = None
    """What was tried against lost answers; `None` if nothing was lost, or nothing compared."""

    @cached_property
    def coverage(self) -> Coverage:
        """What computes on quantized values, and what stays in float, with the reasons."""
        return coverage(self.module, self.float_reasons)

    def summary(self, model: str = "", data: str | None = None) -> QuantizationSummary:
        """What came out, in numbers; `model` and `data` say where the float model and the samples came from."""
        return QuantizationSummary(
            model,
            data,
            self.profile.samples,
            weight_bytes(self.source),
            weight_bytes(self.module),
            self.coverage,
            self.settings,
            self.validation,
            self.repair,
            tuple(stored_tables(self.module)),
            self.widened,
            quantized_anew(self.source),
            self.remedies,
        )

    def save(self, path: str | PathLike[str], *, stem: str = "model", force: bool = False) -> None:
        """Write the module, `name.mlir` (large weights go next to it), an ONNX model, `name.onnx`, or a folder.

        A folder has all that `qmlir.explain`, `report` and `load` ask for: the module, the float one, the profile, the
        recipe and the summary. Files in it are named after `stem`. Files that
        qmlir wrote there are replaced, others are kept; `force` replaces files that are in the way. Raises
        `DiagnosticError` if a file is in the way or is one that the module was made of, if it cannot be written, and
        for a stem with a path in it.
        """
        output = path_of(path)
        if not is_file_name(stem):
            raise text_error(f"stem must be a file name without folder and suffix, but got '{stem}'")
        with access(force=force):
            for each in (self, self.module, self.source):
                note_sources(each)
            if output.suffix in ONNX_SUFFIXES:
                export_onnx(self.module, output)
            elif output.suffix == MODULE_SUFFIX:
                check_module_file(output)
                save_module(self.module, output, PrintOptions(weights=Weights.SIDECAR))
            else:
                self.save_folder(output, stem, self.summary(stem))

    def save_folder(self, path: Path, stem: str, summary: QuantizationSummary) -> None:
        """Write the folder with a summary that says more of where all came from."""
        recipe = recipe_text(self.rules_used, self.settings, self.effort)
        save_quantized(path, stem, self.source, self.module, self.profile, recipe, summary.to_dict())

    def text(self) -> str:
        """That of the summary."""
        return self.summary().text()
