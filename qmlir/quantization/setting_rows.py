"""The settings of `qmlir.quantize`, one row each.

The keyword arguments of the API, the command-line options, and `help` are derived from these rows. This module imports
no IR and no array code, so that the help of commands is fast.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, TypedDict, get_args, get_type_hints

from qmlir import registry
from qmlir.quantization.recipe_text import RecipeSource


@dataclass(frozen=True)
class SettingRow:
    """The description of a setting."""

    summary: str
    default: str = ""
    """The behavior if the setting is omitted."""

    metavar: str = ""
    field: str = ""
    """The rule field that the setting sets; its values are spelled as in a recipe."""

    choices: Callable[[], Sequence[str]] | None = None
    """A function that returns all valid values, if they can be listed."""

    on_command_line: bool = True
    """True if the command-line option is generated from this row."""


def _names(field: str) -> Callable[[], Sequence[str]]:
    """Returns a function that returns the names of a field of contributions, without loading what they name."""
    return lambda: tuple(registry.named(field))


PORT_TYPES = "u8", "i8", "i16", "u16", "f32"
"""The types that `inputs_as` and `outputs_as` accept."""


class QuantizeSettings(TypedDict, total=False):
    """How to quantize: the settings of `qmlir.quantize`, all of them optional.

    The settings from `activations` to `recipe` are options of `quant-assign-types`, the defaults for all values.
    """

    device: Annotated[
        str | Sequence[str],
        SettingRow("devices to quantize for, preferred first: npu,cpu", "cpu", on_command_line=False),
    ]
    """The devices determine the defaults of the other settings. Without a device, the model is quantized for the
    CPU."""

    keep_composites: Annotated[
        Sequence[str], SettingRow("composites to keep whole, by kind or node name", "those of the targets", "KIND,…")
    ]
    exclude: Annotated[
        str | Sequence[str],
        SettingRow("nodes or operator types to keep in float, as globs: /head/*, Softmax", "", "GLOB", "node"),
    ]
    """The exclusions are appended to the rules of the recipe."""

    activations: Annotated[
        str, SettingRow("activation type: i8, u8, i16, i4, f32 (weight-only), dynamic, …", "i8", "STORAGE", "storage")
    ]
    weights: Annotated[str, SettingRow("weight type: i8, i4, ternary, binary, …", "i8<-127:127>", "STORAGE", "storage")]
    accumulator: Annotated[str, SettingRow("type of accumulators before the bias: i32, …", "i32", "STORAGE", "storage")]
    scheme: Annotated[
        str,
        SettingRow(
            "activation scheme: asymmetric, symmetric, …", "asymmetric", field="scheme", choices=_names("schemes")
        ),
    ]
    weight_scheme: Annotated[
        str,
        SettingRow("weight scheme: symmetric, asymmetric, …", "symmetric", field="scheme", choices=_names("schemes")),
    ]
    granularity: Annotated[
        str,
        SettingRow(
            "weight granularity: channel, tensor, block:N, block:N:f16, block:N:k6", "channel", "KIND", "granularity"
        ),
    ]
    """If it is empty, the recipe decides."""

    calibrator: Annotated[
        str,
        SettingRow(
            "calibration method: min_max, percentile, entropy, mse, …",
            "mse for at most 4 bits, otherwise min_max",
            field="calibrator",
            choices=_names("calibrators"),
        ),
    ]
    recipe: Annotated[
        RecipeSource, SettingRow("TOML file with rules for single nodes, operations and slots", "", "FILE")
    ]
    """In Python, also a `RecipeText`, or a dict such as `{"rule": [{"op": "softmax", "quantize": False}]}`."""

    requantize: Annotated[
        str,
        SettingRow(
            "rescaling of accumulators: f32, single_round, double_round, shift:up, shift:even, …",
            "that of the device; shift:up if all scales are powers of two; otherwise f32",
            "MODE",
        ),
    ]
    accumulator_bits: Annotated[
        int,
        SettingRow("accumulator width: 16 (for AVX2 without VNNI), 17 to 31 (for adders of devices) or 32", "32", "N"),
    ]
    """With 16, weights are rounded so that no sum of `accumulator_pairs` product pairs overflows
    (`quant-fit-i16-accumulators`). With 17 to 31, they are changed so that no sum of a layer overflows
    (`quant-fit-accumulators`)."""

    accumulator_pairs: Annotated[
        int,
        SettingRow(
            "pairs of products in one 16-bit accumulator: 1, 2 or 4; higher values are faster, lower more exact",
            "1",
            "N",
        ),
    ]

    states: Annotated[
        Mapping[str, str],
        SettingRow("inputs, each with the output that is this input of the next call", on_command_line=False),
    ]
    """For example, `{"past_*": "present_*"}`. States are passed and returned as stored integers of one type."""

    inputs_as: Annotated[
        str | Mapping[str, str],
        SettingRow(
            "type of inputs that callers pass as stored integers: u8, i8, i16, u16, f32, or NAME=TYPE for one",
            "f32",
            "TYPE",
            on_command_line=False,
        ),
    ]
    """One type applies to all float inputs except `states`; in Python, also a dict such as `{"image": "u8"}`."""

    outputs_as: Annotated[
        str | Mapping[str, str],
        SettingRow(
            "type of outputs that callers get as stored integers: u8, i8, i16, u16, f32, or NAME=TYPE for one",
            "f32",
            "TYPE",
            on_command_line=False,
        ),
    ]

    assert_all_quantized: Annotated[bool, SettingRow("fail and list the operations if any stays in float", "False")]


@cache
def setting_rows() -> Mapping[str, SettingRow]:
    """Returns the `SettingRow` of each setting, by name."""
    hints = get_type_hints(QuantizeSettings, include_extras=True)
    return {name: next(each for each in get_args(hint) if isinstance(each, SettingRow)) for name, hint in hints.items()}
