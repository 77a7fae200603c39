"""What came out of quantizing, in numbers: coverage, bytes of weights, samples, and what was asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type, ModuleOp
from xdsl.ir import Attribute

from qmlir.dialects.nn.elements import Kind, kind_of
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.quant.types import StoredType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.profiles.file import Profile
from qmlir.quantization.report import Coverage, coverage

_IN_FLOAT_LISTED = 100
"""Places left in float that the summary lists; a module with more of them is hardly quantized."""


def _bits(element: Attribute) -> int:
    match element:
        case StoredType():
            return element.bits
        case Float16Type() | BFloat16Type():
            return 16
        case Float64Type():
            return 64
        case _:
            return 32


def _weights(module: ModuleOp) -> Iterator[tuple[int, int, Kind]]:
    """Elements, bits of each, and kind of every constant of floats or quantized values."""
    for op in module.walk():
        if isinstance(op, ConstantOp) and (type_ := ranked_tensor(op.result.type)) is not None:
            element = type_.get_element_type()
            kind = kind_of(element)
            if kind in (Kind.FLOAT, Kind.QUANTIZED):
                yield prod(type_.get_shape()), _bits(element), kind


def weight_bytes(module: ModuleOp) -> int:
    """The bytes of all constants of floats or quantized values, those below 8 bits packed; parameters are not in it."""
    return sum(-(-elements * bits // 8) for elements, bits, _ in _weights(module))


@dataclass(frozen=True)
class QuantizationSummary:
    """What came out of quantizing a model."""

    model: str
    data: str | None
    samples: int
    float_weight_bytes: int
    quantized_weight_bytes: int
    coverage: Coverage
    settings: Mapping[str, Any]

    def text(self) -> str:
        """For a reader: the shares, what is left in float, the sizes."""
        before, after = self.float_weight_bytes, self.quantized_weight_bytes
        times = f" ({before / after:.2f} times smaller)" if 0 < after < before else ""
        return (
            f"{self.coverage.summary()}"
            f"weights: {bytes_text(before)} in float, {bytes_text(after)} now{times}\n"
            f"samples: {self.samples}\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines: plain values."""
        found = self.coverage
        left = found.left_in_float
        return {
            "model": self.model,
            "data": self.data,
            "samples": self.samples,
            "weights": {"float_bytes": self.float_weight_bytes, "quantized_bytes": self.quantized_weight_bytes},
            "coverage": {
                "operations": found.operations,
                "quantized_operations": found.quantized_operations,
                "multiply_adds": found.multiply_adds,
                "integer_multiply_adds": found.integer_multiply_adds,
                "multiply_adds_by_elements": found.multiply_adds_by_elements,
                "in_float": [asdict(row) for row in left[:_IN_FLOAT_LISTED]],
                "in_float_count": len(left),
            },
            "settings": {
                key: list(cast(Any, value)) if isinstance(value, tuple) else value
                for key, value in self.settings.items()
            },
        }


def bytes_text(count: int) -> str:
    """A number of bytes for a reader: `97.5 KiB`."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def summarize(
    module: ModuleOp,
    quantized: ModuleOp,
    profile: Profile,
    settings: Mapping[str, Any],
    *,
    model: str = "",
    data: str | None = None,
) -> QuantizationSummary:
    """What came out of quantizing `module`; `model` and `data` say where they came from."""
    return QuantizationSummary(
        model, data, profile.samples, weight_bytes(module), weight_bytes(quantized), coverage(quantized), settings
    )
