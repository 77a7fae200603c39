"""The result of `quantize`: a quantized module, and all decisions that led to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.diagnostics import text_error
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.quantization.embeddings import stored_tables
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe_text import Effort
from qmlir.quantization.report import Coverage, WidenedValues, coverage
from qmlir.quantization.settings import QuantizeSettings
from qmlir.quantization.signed_weights import quantized_anew
from qmlir.text.files import access, is_file_name, note_sources, path_of
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.text.tables import Readable
from qmlir.workflows.exporting import export_onnx
from qmlir.workflows.folder import save_quantized
from qmlir.workflows.loading import HoldsModule
from qmlir.workflows.recipes import recipe_text
from qmlir.workflows.recovery import Remedies, Repair
from qmlir.workflows.summary import QuantizationSummary, weight_bytes
from qmlir.workflows.validating import Validation

MODULE_SUFFIX = ".mlir"


@dataclass(frozen=True, repr=False)
class Quantized(HoldsModule, Readable):
    """A quantized model, with the float model and all decisions that led to it.

    Printing it shows the summary. Every function that takes a model accepts it, and uses its `module`.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data)
        >>> quantized.validation.outputs[0].name
        'logits'
        >>> program = qmlir.compile(quantized)
    """

    module: ModuleOp
    """The quantized module."""

    source: ModuleOp
    """The float module; if equalization was applied (efforts 2 and 3), the equalized float module."""

    settings: QuantizeSettings
    """The settings that were used, with the defaults of this version."""

    profile: Profile
    """The statistics from which the types were decided."""

    profiled: ModuleOp
    """The lowered float module, with the observed ranges in its types."""

    rules_used: frozenset[int]
    """The indices of the rules in the recipe that had an effect."""

    float_reasons: Mapping[str, str]
    """The reason why each float operation was not quantized, by the key of the operation."""

    widened: tuple[WidenedValues, ...]
    """The values for which built-in rules set more bits than the settings."""

    validation: Validation | None = None
    """The comparison with the float model; `None` if it was skipped, or there were no samples."""

    repair: Repair | None = None
    """The outcome of accuracy recovery; `None` if none ran."""

    effort: Effort | None = None
    """The effort set by the caller or the recipe; `None` if neither set one."""

    remedies: Remedies | None = None
    """The remedies that were tried; `None` if the quantized model agrees with the float one, or was not compared."""

    @cached_property
    def coverage(self) -> Coverage:
        """The operations that compute on quantized values, and the operations in float with the reasons."""
        return coverage(self.module, self.float_reasons)

    def summary(self, model: str = "", data: str | None = None) -> QuantizationSummary:
        """Summarizes the result: coverage, sizes, and the comparison with the float model.

        Args:
            model: Name of the float model, for the summary.
            data: Name of the samples, for the summary.

        Returns:
            The summary, with the methods `text` and `to_dict`.
        """
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
        """Writes the quantized model to a file or a folder.

        The suffix of `path` selects the format: `.mlir` for the module (with large weights in a file next to it),
        `.onnx` for an ONNX model, anything else for a folder. A folder also contains the float model, the profile, the
        recipe and the summary, which `explain`, `report` and `load` read. Existing files that qmlir wrote are replaced;
        all others are kept.

        Args:
            path: The file or folder to write.
            stem: Name of the model in the files of a folder.
            force: Replace files that qmlir did not write.

        Raises:
            DiagnosticError: A file that qmlir did not write is in the way, an input of the module would be overwritten,
                the path cannot be written, or `stem` is not a file name.
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
        """Writes the same folder as `save`, but with the given summary.

        Args:
            path: The folder to write.
            stem: Name of the model in the file names.
            summary: Summary for `summary.json`, with the names of the model and the data.

        Raises:
            DiagnosticError: As for `save`.
        """
        recipe = recipe_text(self.rules_used, self.settings, self.effort)
        save_quantized(path, stem, self.source, self.module, self.profile, recipe, summary.to_dict())

    def text(self) -> str:
        """Formats the summary.

        Returns:
            The text that `qmlir quantize` prints.
        """
        return self.summary().text()
