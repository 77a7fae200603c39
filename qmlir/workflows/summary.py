"""The summary of a quantization: coverage, weight memory, samples and settings."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.infer import bytes_of
from qmlir.ir.builtin_types import element_of
from qmlir.quantization.embeddings import StoredTable
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.report import Coverage, WidenedValues
from qmlir.text.tables import Readable, bytes_text, counted
from qmlir.workflows.recovery import Remedies, Repair
from qmlir.workflows.validating import Validation

_IN_FLOAT_LISTED = 100
"""The largest number of float operations that the summary lists; a model with more is hardly quantized."""

_WEIGHTS = (Kind.FLOAT, Kind.QUANTIZED, Kind.SMALL_FLOAT)


def weight_bytes(module: ModuleOp) -> int:
    """Returns the size in bytes of all float, low-precision float and quantized constants in `module`.

    Quantization parameters are not included. Elements of fewer than 8 bits count as packed.
    """
    constants = (op.result for op in module.walk() if isinstance(op, ConstantOp))
    return sum(bytes_of(value) for value in constants if kind_of(element_of(value)) in _WEIGHTS)


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
        is_fault = self.validation is not None and bool(self.validation.fault)
        verdict += "" if self.remedies is None else self.remedies.text()
        return (
            f"{verdict if is_fault else ''}{self.coverage.text()}{wide}"
            f"weights: {bytes_text(before)} in float, {bytes_text(after)} now{times}\n"
            f"{anew}{tables}"
            f"{'' if self.repair is None else self.repair.text()}"
            f"{f'samples: {self.samples}' if self.samples else 'statistics: those that the model carries'}\n"
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
            "remedies": None if self.remedies is None else self.remedies.to_dict(),
            "repair": None if self.repair is None else self.repair.to_dict(),
            "settings": {key: _plain_setting(value) for key, value in self.settings.items()},
        }


def _plain_setting(value: object) -> Any:
    if isinstance(value, tuple):
        return list(cast(tuple[Any, ...], value))
    return str(value) if isinstance(value, RecipeText) else value
