"""The result of `quantize`: a quantized module, all decisions that led to it, its summary, and its recipe."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp

from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.infer import bytes_of, element_type, scaling_of
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import printable, text_error
from qmlir.ir.signature import MAIN, inputs_of, outputs_of
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.quantization import recipe_text as recipes
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe import TypeOptions, built_in_rules
from qmlir.quantization.recipe_text import Effort
from qmlir.quantization.report import Coverage, WidenedValues, coverage, element_text
from qmlir.quantization.retyping import FITTED
from qmlir.quantization.settings import QuantizeSettings
from qmlir.quantization.stored_constants import StoredTable, quantized_anew, stored_tables
from qmlir.specialization.inputs import function_of
from qmlir.text.files import access, is_file_name, note_sources, path_of
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.text.tables import Readable, bytes_text, counted
from qmlir.text.toml import toml_value
from qmlir.workflows.evaluating import LabelAccuracy
from qmlir.workflows.exporting import export_onnx
from qmlir.workflows.folder import save_quantized
from qmlir.workflows.loading import HoldsModule
from qmlir.workflows.recovery import Remedies, Repair
from qmlir.workflows.validating import Validation

# The settings of a quantization, as a recipe file. Passing this recipe instead of the options leads to the same
# decisions. Options become rules that precede the built-in rules, which precede the rules of a recipe file. Rules
# without effect are omitted, since a recipe must not contain any.


def _tables(settings: Mapping[str, Any]) -> Iterator[recipes.RuleTable]:
    """Yields the rules of `make_recipe` in order as tables of a recipe, without those of the recipe file."""
    options = TypeOptions(**{each.name: str(settings.get(each.name) or "") for each in fields(TypeOptions)})
    for slot, values, _ in options.said():
        yield {"slot": slot, **values}
    if settings.get("device"):  # a device may not have the types that the other rules ask for
        return
    for rule in built_in_rules(options.rules()):
        assert rule.slot is not None
        matchers = rule.facts or {"role": rule.role}
        yield {**matchers, "slot": rule.slot.value, **{name: str(value) for name, value in rule.settings.items()}}


def recipe_text(used: Collection[int], settings: Mapping[str, Any], effort: Effort | None = None) -> str:
    """Returns the recipe with the same decisions as `settings`; only rules with indices in `used` are included.

    `settings` are the settings of `quantize`, by name. Settings that no rule can express, such as `device`, become
    comments. `effort` is the effort set by the caller or by a recipe.
    """
    recipe = recipes.RecipeText.of(settings.get("recipe") or "")
    lines = [f"# What qmlir {version('qmlir')} was asked for: give it as --recipe to do the same again."]
    if targets := settings.get("device"):
        lines.append(f"# --device {targets}")
    if not targets or "keep_composites" in settings:
        lines.append(f"# --keep-composites {printable(','.join(settings.get('keep_composites', ())))}")
    for name in ("accumulator_bits", "accumulator_pairs"):
        if settings.get(name):
            lines.append(f"# --{name.replace('_', '-')} {settings[name]}")
    for name in ("inputs_as", "outputs_as"):
        lines += [f"# --{name.replace('_', '-')} {printable(entry)}" for entry in settings.get(name, ())]
    lines += ["", f"{recipes.VERSION_KEY} = {recipes.VERSION}"]
    if effort is not None:
        lines += [f"{recipes.EFFORT} = {toml_value(effort)}"]
    for position, table in enumerate(_tables(settings)):
        if position in used:
            lines += ["", recipes.table_text(table)]
    if recipe is not None:
        lines += ["", f"# From {printable(Path(recipe.name).name)}:", recipes.rules_text(recipe)]
    return "\n".join(lines) + "\n"


# The summary: coverage, weight memory, samples and settings.

_IN_FLOAT_LISTED = 100
"""The largest number of float operations that the summary lists; a model with more is hardly quantized."""

_AT_RUN_TIME = "samples: not needed, because activations are quantized at run time"

_WITHOUT_SAMPLES = (
    "samples: not needed, because no activation is quantized",
    "statistics: those that the model carries or the recipe gives",
)

_WEIGHTS = (Kind.FLOAT, Kind.QUANTIZED, Kind.SMALL_FLOAT)


def weight_bytes(module: ModuleOp) -> int:
    """Returns the size in bytes of all float, low-precision float and quantized constants in `module`.

    Quantization parameters are not included. Elements of fewer than 8 bits count as packed.
    """
    constants = (op.result for op in module.walk() if isinstance(op, ConstantOp))
    return sum(bytes_of(value) for value in constants if kind_of(element_of(value)) in _WEIGHTS)


@dataclass(frozen=True)
class StoredPortInfo:
    """An input or output that callers pass as stored integers: `real = scale * (stored - zero_point)`."""

    side: str
    """`input` or `output`."""

    name: str
    """Name of the input or output."""

    type: str
    """Type of the integers, such as `u8`."""

    scale: float
    """The real value of one step of the integers."""

    zero_point: int
    """The integer that stands for 0."""

    def text(self) -> str:
        """Formats the port as one line of the summary.

        Returns:
            Its name, type, scale and zero point.
        """
        return (
            f"{self.side} {printable(self.name)}: {self.type}, scale {self.scale:.9g}, zero point {self.zero_point}\n"
        )


def stored_ports_of(module: ModuleOp) -> Iterator[StoredPortInfo]:
    """Yields the inputs and outputs of `module` that callers pass as stored integers."""
    function = function_of(module, MAIN)
    for side, ports in (("input", inputs_of(function)), ("output", outputs_of(function))):
        for port in ports:
            element = element_type(port.type)
            scale, zero_point = scaling_of(element)
            if scale is not None:
                yield StoredPortInfo(side, port.name, element_text(element), scale, zero_point)


def fitted_of(module: ModuleOp) -> Mapping[str, int]:
    """Returns the figures of `quant-fit-accumulators` by name; empty if it did not run."""
    held = function_of(module, ENTRY).attributes.get(FITTED)
    entries = held.data.items() if isinstance(held, DictionaryAttr) else ()
    return {name: each.value.data for name, each in entries if isinstance(each, IntegerAttr)}


@dataclass(frozen=True, repr=False)
class QuantizationSummary(Readable):
    """The summary of a quantized model that `qmlir quantize` prints."""

    model: str
    """Name of the float model."""

    data: str | None
    """Name of the calibration data; `None` if it has none."""

    samples: int
    """Number of calibration samples; 0 if the ranges came with the model."""

    float_weight_bytes: int
    """Size of the constants in the float model, in bytes."""

    quantized_weight_bytes: int
    """Size of the constants in the quantized model, in bytes."""

    coverage: Coverage
    """The operations that compute on quantized values, and the operations in float."""

    settings: Mapping[str, Any]
    """The settings that were used."""

    validation: Validation | None = None
    """The comparison with the float model; `None` if it was skipped."""

    repair: Repair | None = None
    """The outcome of accuracy recovery; `None` if none ran."""

    tables: tuple[StoredTable, ...] = ()
    """The embedding tables whose rows have separate scales."""

    widened: tuple[WidenedValues, ...] = ()
    """The values for which built-in rules set more bits."""

    anew: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of constants stored in a low-precision float format that were rounded again, by format."""

    remedies: Remedies | None = None
    """The remedies that were tried; `None` if none was tried."""

    has_ranges: bool = True
    """False if no activation is quantized by a recorded range."""

    ports: tuple[StoredPortInfo, ...] = ()
    """The inputs and outputs that callers pass as stored integers."""

    accuracy: LabelAccuracy | None = None
    """The top-1 accuracies of the float and the quantized model; `None` without labels."""

    fitted: Mapping[str, int] = field(default_factory=dict[str, int])
    """The `bits` of accumulators that hold every sum, the number of `layers`, and the number `changed` for that."""

    def text(self) -> str:
        """Formats the summary.

        Returns:
            Problems first, then coverage, operations in float, and sizes.
        """
        before, after = self.float_weight_bytes, self.quantized_weight_bytes
        times = f" ({before / after:.2f} times smaller)" if 0 < after < before else ""
        verdict = "" if self.validation is None else self.validation.text()
        tables = "".join(f"embedding table: {table.text()}\n" for table in self.tables)
        wide = "".join(f"{each.text()}\n" for each in self.widened)
        anew = "".join(
            f"{counted(number, 'constant')} stored as {format_}: rounded again where quantized, otherwise f32\n"
            for format_, number in self.anew.items()
        )
        is_dynamic = not self.has_ranges and any(row.is_dynamic for row in self.coverage.rows)
        unused = _AT_RUN_TIME if is_dynamic else _WITHOUT_SAMPLES[self.has_ranges]
        is_fault = self.validation is not None and bool(self.validation.fault)
        told = "{bits}-bit accumulators hold every sum: weights of {changed} of {layers} layers changed\n"
        fitted = told.format_map(self.fitted) if self.fitted else ""
        verdict += "" if self.remedies is None else self.remedies.text()
        verdict += "" if self.accuracy is None else self.accuracy.text("in float", "quantized")
        return (
            f"{verdict if is_fault else ''}{self.coverage.text()}{wide}"
            f"weights: {bytes_text(before)} in float, {bytes_text(after)} now{times}\n"
            f"{anew}{tables}{fitted}{''.join(each.text() for each in self.ports)}"
            f"{'' if self.repair is None else self.repair.text()}"
            f"{f'samples: {self.samples}' if self.samples else unused}\n"
            f"{'' if is_fault else verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Converts the summary to plain values.

        Returns:
            A dict that can be written as JSON.
        """
        found = self.coverage
        left = found.left_in_float
        return {
            "model": self.model,
            "data": self.data,
            "samples": self.samples,
            "weights": {"float_bytes": self.float_weight_bytes, "quantized_bytes": self.quantized_weight_bytes},
            "rounded_again": dict(self.anew),
            "tables": [asdict(table) for table in self.tables],
            "ports": [asdict(port) for port in self.ports],
            "coverage": {
                "operations": found.operations,
                "masked_softmaxes": found.masked,
                "quantized_operations": found.quantized_operations,
                "multiply_adds": found.multiply_adds,
                "integer_multiply_adds": found.integer_multiply_adds,
                "multiply_adds_by_elements": found.multiply_adds_by_elements,
                "integer_cost_share": found.integer_cost_share,
                "in_float": [asdict(row) for row in left[:_IN_FLOAT_LISTED]],
                "in_float_count": len(left),
            },
            "widened": [asdict(each) for each in self.widened],
            "validation": None if self.validation is None else self.validation.to_dict(),
            "accuracy": None if self.accuracy is None else asdict(self.accuracy),
            "remedies": None if self.remedies is None else self.remedies.to_dict(),
            "repair": None if self.repair is None else self.repair.to_dict(),
            **({"accumulators": dict(self.fitted)} if self.fitted else {}),
            "settings": {key: _plain_setting(value) for key, value in self.settings.items()},
        }


def _plain_setting(value: object) -> Any:
    if isinstance(value, tuple):
        return list(cast(tuple[Any, ...], value))
    return str(value) if isinstance(value, recipes.RecipeText) else value


# The result, which contains these.

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

    accuracy: LabelAccuracy | None = None
    """The top-1 accuracies of the float model (`reference`) and the quantized one (`candidate`); `None` without
    labels."""

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
            model, data, self.profile.samples, weight_bytes(self.source), weight_bytes(self.module), self.coverage,
            self.settings, self.validation, self.repair, tuple(stored_tables(self.module)), self.widened,
            quantized_anew(self.source), self.remedies,
            any(row.is_quantized and not row.is_dynamic for row in self.coverage.rows),
            tuple(stored_ports_of(self.module)), self.accuracy, fitted_of(self.module),
        )  # fmt: skip

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
