"""Recipes and settings as text: TOML, and the names that other tools use."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from qmlir import registry
from qmlir.ir.messages import DiagnosticError
from qmlir.text.files import note_input, path_of
from qmlir.text.renames import PASSES, RECIPE
from qmlir.text.sources import read_source
from qmlir.text.toml import parse_toml, toml_key, toml_value

# Settings in the spelling of other tools: `QInt8`, `MinMax`, `per_channel`, and settings that have another name here.
#
# A value with only one possible meaning is translated. A setting name of another tool is an error that states the
# equivalent setting, because the values of the two settings differ as well.

_STORAGE = re.compile(r"q?(u?)int([0-9]+)|s([0-9]+)")
_BLOCK = re.compile(r"(?:block|group)(?:size)?:?([0-9]+)(?::([a-z0-9]+))?")

_NAMED_STORAGES = {
    **{"ternary": "i2<-1:1>", "binary": "binary", "bipolar": "binary"},
    **dict.fromkeys(("float", "float32", "fp32", "f32"), "f32"),
    **dict.fromkeys(("dynamic:row", "dynamic:token", "pertoken", "dynamic"), "dynamic"),
    **{"float16": "f16", "fp16": "f16", "half": "f16", "bfloat16": "bf16"},
}

_CALIBRATORS = {"kl": "entropy", "kldivergence": "entropy", "max": "min_max", "minmaxcalibration": "min_max"}
_SCHEMES = {"sym": "symmetric", "asym": "asymmetric", "affine": "asymmetric"}
_GRANULARITIES = {
    **dict.fromkeys(("perchannel", "channelwise", "peraxis", "perrow", "rowwise"), "channel"),
    **dict.fromkeys(("pertensor", "tensorwise", "perlayer", "layerwise"), "tensor"),
}


def _plain(text: str) -> str:
    """Returns `text` without case, underscores, dashes and spaces, which differ between tools."""
    return re.sub(r"[-_ ]", "", text).lower()


def _one_of(text: str, names: Iterable[str], others: Mapping[str, str]) -> str:
    return {**others, **{_plain(name): name for name in names}}.get(_plain(text), text)


def _storage(text: str) -> str:
    found = _STORAGE.fullmatch(_plain(text))
    if found is not None:
        return f"u{found[2]}" if found[1] else f"i{found[2] or found[3]}"
    return text.lower() if re.fullmatch(r"[IU][0-9]+", text) else _NAMED_STORAGES.get(_plain(text), text)


def _granularity(text: str) -> str:
    found = _BLOCK.fullmatch(_plain(text))
    if found is None:
        return _one_of(text, ("channel", "tensor"), _GRANULARITIES)
    scales = "" if found[2] is None else f":{_NAMED_STORAGES.get(found[2], found[2])}"
    return f"block:{found[1]}{scales}"


_READERS: Mapping[str, Callable[[str], str]] = {
    "storage": _storage,
    "granularity": _granularity,
    "scheme": lambda text: _one_of(text, registry.named("schemes"), _SCHEMES),
    "calibrator": lambda text: _one_of(text, registry.named("calibrators"), _CALIBRATORS),
}
"""For each field of a rule, translates a text to the name used here; unknown texts stay as they are."""


def spelled(field: str, text: str) -> str:
    """Translates `text` to the spelling of the rule field `field`.

    For example, the storage `QInt8` becomes `i8`, and the calibrator `MinMax` becomes `min_max`.
    """
    return _READERS[field](text) if field in _READERS else text


def text_of(value: Any) -> str:
    """Returns the value of a setting as text; enum members, and types of NumPy and torch, become their names."""
    if isinstance(value, Enum) and not isinstance(value, str):
        return value.name
    if isinstance(value, type):
        return value.__name__
    return str(value).removeprefix("torch.")


_EXCLUDE = ("exclude", "/head/*")

_OPPOSITE: Mapping[str, str] = {"channel": "tensor", "tensor": "channel", "symmetric": "asymmetric"}
"""The value here for `per_channel=False` and the like, by the value for `True`."""

FOREIGN: Mapping[str, tuple[str, str] | str] = {
    **dict.fromkeys(("calibrate_method", "calibration_method"), ("calibrator", "entropy")),
    **dict.fromkeys(("weight_type", "weight_dtype", "weights_dtype", "weight_bits"), ("weights", "i8")),
    **dict.fromkeys(("activation_type", "activation_dtype", "activations_dtype"), ("activations", "u8")),
    "per_channel": ("granularity", "channel"),
    "per_tensor": ("granularity", "tensor"),
    **dict.fromkeys(("group_size", "block_size"), ("granularity", "block:32")),
    **dict.fromkeys(("ignored_scope", "nodes_to_exclude", "op_types_to_exclude", "ignore", "skip"), _EXCLUDE),
    **dict.fromkeys(("symmetric", "activation_symmetric"), ("scheme", "symmetric")),
    "preset": "mixed is what is done without a setting, performance is the scheme symmetric",
    "weight_symmetric": ("weight_scheme", "symmetric"),
    **dict.fromkeys(("target_device", "backend"), ("device", "cpu")),
    "reduce_range": ("weights", "i7"),
    **dict.fromkeys(
        ("op_types_to_quantize", "nodes_to_quantize"),
        "everything supported is quantized; use exclude to keep operations in float",
    ),
    **dict.fromkeys(
        ("calibration_dataset", "calibration_data_reader", "calibration_data", "dataset", "representative_dataset"),
        "pass samples as the second argument, data, or with --data",
    ),
    **dict.fromkeys(("subset_size", "num_samples"), "all samples are used; pass fewer"),
    "batch_size": "samples are run in the batch size of the model",
    **dict.fromkeys(
        ("dtype", "bits", "num_bits", "quant_type", "precision", "mode"),
        "types are spelled as storages of weights and activations: i8, i4, u8, i16, …",
    ),
    **dict.fromkeys(
        ("qconfig", "qconfig_mapping", "quantization_config"), "use a recipe to choose it per node, operation or slot"
    ),
    **dict.fromkeys(
        ("extra_options", "advanced_parameters"), "use the settings scheme, weight_scheme, calibrator, exclude, …"
    ),
    **dict.fromkeys(("model_output", "output_model"), "use the save method of the result, or --output"),
    "inplace": "the input model is never modified",
    "use_external_data_format": "use external_data of export_onnx, or --external-data",
    "quant_format": "quantized modules have no format; use format='qdq' of export_onnx, or --format",
    **dict.fromkeys(
        ("fast_bias_correction", "model_type", "optimize_model", "smooth_quant", "smooth_quant_alpha"),
        "it is applied automatically where it helps",
    ),
}
"""The settings of ONNX Runtime, NNCF and other tools: the equivalent setting of qmlir with an example value, or
advice."""


def meant(field: str, value: Any, example: str) -> Any:
    """Translates the `value` of another tool's setting to a value of the setting that sets the rule field `field`.

    Returns `example` if the value only enables the setting, such as `True`.
    """
    if value is False:
        return _OPPOSITE[example]
    if field == "node" and isinstance(value, str | list | tuple):
        return cast(Any, value)
    return spelled(field, text_of(value)) if field and isinstance(value, str | Enum | type) else example


def setting_hint(name: str, value: Any, known: Sequence[str], written: Callable[[str, str], str]) -> str:
    """Returns the end of a message about an unknown setting `name`, which names the setting to use instead.

    `written` formats a setting and its value. The hint is empty if `value` is `False` and only disables a feature that
    is off by default in qmlir.
    """
    found = FOREIGN.get(name.replace("-", "_").lower())
    if isinstance(found, tuple):
        return "" if value is False and found[1] not in _OPPOSITE else f"; use {written(*found)}"
    if found is not None:
        return f": {found}"
    near = get_close_matches(name, known, 1, 0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


# Recipes as TOML text: read from a file, formatted from Python dicts, and extended by rules.

RuleTable: TypeAlias = Mapping[str, Any]
"""A rule as the dict of its TOML table in a recipe."""

_HEAD = "[[rule]]"

EFFORT = "effort"
"""The top-level key of a recipe for the accuracy recovery effort, as in `quantize --effort`; the only one except
`VERSION_KEY`."""

VERSION_KEY, VERSION = "version", 1
"""The version key at the top of recipes that qmlir writes, and its value. Recipes without it may use keys of qmlir
0.1."""

_VERSION_LINE = re.compile(rf"^{VERSION_KEY}\s*=.*\n", re.MULTILINE)

AUTO: Literal["auto"] = "auto"
"""The effort that applies the best remedy if the quantized model no longer agrees with the float model."""

Effort: TypeAlias = int | Literal["auto"]
"""The accuracy recovery effort: 0 to 3, or `auto`."""


@dataclass(frozen=True)
class RecipeText:
    """A recipe as TOML text, passed between functions without a file."""

    name: str
    """The name of the recipe in messages; for a file, its path."""

    text: str

    @staticmethod
    def of(source: "RecipeSource") -> "RecipeText | None":
        """Returns `source` as the text of a recipe, or `None` for an empty path. Raises `DiagnosticError`."""
        if isinstance(source, RecipeText):
            return source
        if isinstance(source, str | PathLike):
            return _read(path_of(source)) if str(source) else None
        if not isinstance(source, Mapping):
            source = {"rule": source}
        return RecipeText(
            "recipe", "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in source.items())
        )

    def with_rules(self, tables: Sequence[RuleTable], name: str) -> "RecipeText":
        """Returns this recipe with the rules `tables` appended; `name` is their name in messages."""
        texts = [effort_text(self), rules_text(self), *map(table_text, tables)]
        return RecipeText(f"{self.name} and {name}" if self.name else name, "\n\n".join(filter(None, texts)) + "\n")

    def __str__(self) -> str:
        return self.name


def _read(path: Path) -> RecipeText:
    """Reads a recipe, or the file of another tool, which becomes rules by its suffix."""
    reader = registry.named("recipes").get(path.suffix.lower())
    if reader is None:
        return RecipeText(str(path), _with_new_names(read_source(path)))
    note_input(path)
    tables = cast(Sequence[RuleTable], reader.call(reader.function(), path))
    return RecipeText(str(path), "\n\n".join(map(table_text, tables)) + "\n")


def _with_new_name(key: str, value: Any) -> tuple[str, Any]:
    if key == "repair" and isinstance(value, str):
        value = ",".join(PASSES.get(name, name) for name in value.split(","))
    return RECIPE.get(key, key), value


def _with_new_names(text: str) -> str:
    """Returns the text of a recipe in a file, with old keys and passes of rules replaced by their current names.

    A recipe with a version stays as it is, and so does text that is not a recipe.
    """
    try:
        content = parse_toml(text, "the recipe")
    except DiagnosticError:
        return text
    rules: Any = content.get("rule")
    if VERSION_KEY in content or not isinstance(rules, list):
        return text
    tables = [cast(RuleTable, table) for table in cast(list[Any], rules) if isinstance(table, dict)]
    renamed = [dict(_with_new_name(key, value) for key, value in table.items()) for table in tables]
    if renamed == tables:
        return text
    top = [f"{toml_key(key)} = {toml_value(value)}\n" for key, value in content.items() if key != "rule"]
    return "".join(top) + "\n\n".join(map(table_text, renamed)) + "\n"


RecipeSource: TypeAlias = str | PathLike[str] | RecipeText | Mapping[str, Any] | Sequence[RuleTable]
"""A recipe: the path of its file (empty for no recipe), its text, a dict such as `{"rule": [{"op": "softmax", …}]}`, or
a list of rules."""


def table_text(table: RuleTable) -> str:
    """Formats one rule as the lines of a TOML table."""
    return "\n".join([_HEAD, *(f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())])


def effort_text(recipe: RecipeText) -> str:
    """Returns the line that sets the effort of a recipe, which must precede all rules; empty if it sets none."""
    try:
        effort = parse_toml(recipe.text, "the recipe").get(EFFORT)
    except DiagnosticError:
        return ""
    return "" if effort is None else f"{EFFORT} = {toml_value(effort)}"


def rules_text(recipe: RecipeText) -> str:
    """Returns the rules of a recipe as `[[rule]]` tables, in the original text if it has that form.

    TOML does not allow `[[rule]]` tables in addition to a list, `rule = [{ ... }]`, so a list is reformatted. Text that
    is not a recipe is returned unchanged, and `read_rules` rejects it later.
    """
    text = _VERSION_LINE.sub("", recipe.text, count=1).strip()
    try:
        tables: Any = parse_toml(text, "the recipe").get("rule", [])
        if parse_toml(f"{_HEAD}\n{text}", "the recipe") == {"rule": [{}, *tables]}:
            return text
    except (DiagnosticError, TypeError):
        return text
    if not all(isinstance(table, Mapping) for table in tables):
        return text
    return "\n\n".join(map(table_text, cast(Sequence[RuleTable], tables)))
