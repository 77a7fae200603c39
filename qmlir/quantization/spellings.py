"""Settings as users of other tools write them: `QInt8`, `MinMax`, `per_channel`, and names that are other ones here.

A value that can mean one thing only is taken for it. A name of a setting that another tool has is answered with what to
write here, since its values differ as well.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any, cast

from qmlir.arithmetic.calibrators import calibrator_names
from qmlir.arithmetic.schemes import scheme_names

_STORAGE = re.compile(r"q?(u?)int([0-9]+)|s([0-9]+)")
_BLOCK = re.compile(r"(?:block|group)(?:size)?:?([0-9]+)")

_NAMED_STORAGES = {"ternary": "i2<-1:1>", "binary": "binary", "bipolar": "binary"}

_CALIBRATORS = {"kl": "entropy", "kldivergence": "entropy", "max": "min_max", "minmaxcalibration": "min_max"}
_SCHEMES = {"sym": "symmetric", "asym": "asymmetric", "affine": "asymmetric"}
_GRANULARITIES = {
    **dict.fromkeys(("perchannel", "channelwise", "peraxis", "perrow", "rowwise"), "channel"),
    **dict.fromkeys(("pertensor", "tensorwise", "perlayer", "layerwise"), "tensor"),
}


def _plain(text: str) -> str:
    """`text` without what different tools write differently: case, underscores, dashes, spaces."""
    return re.sub(r"[-_ ]", "", text).lower()


def _one_of(names: Sequence[str], others: Mapping[str, str]) -> Callable[[str], str]:
    def spelled(text: str) -> str:
        plain = _plain(text)
        return {**others, **{_plain(name): name for name in names}}.get(plain, text)

    return spelled


def _storage(text: str) -> str:
    found = _STORAGE.fullmatch(_plain(text))
    if found is not None:
        return f"u{found[2]}" if found[1] else f"i{found[2] or found[3]}"
    return text.lower() if re.fullmatch(r"[IU][0-9]+", text) else _NAMED_STORAGES.get(_plain(text), text)


def _granularity(text: str) -> str:
    found = _BLOCK.fullmatch(_plain(text))
    return f"block:{found[1]}" if found is not None else _one_of(("channel", "tensor"), _GRANULARITIES)(text)


_READERS: Mapping[str, Callable[[str], str]] = {
    "storage": _storage,
    "granularity": _granularity,
    "scheme": lambda text: _one_of(scheme_names(), _SCHEMES)(text),
    "calibrator": lambda text: _one_of(calibrator_names(), _CALIBRATORS)(text),
}
"""For each field of a rule, the name that a text means here; what is not known stays as it is."""


def spelled(field: str, text: str) -> str:
    """`text` as the `field` of a rule has it: `QInt8` as a storage is `i8`, `MinMax` as a calibrator `min_max`."""
    return _READERS[field](text) if field in _READERS else text


def text_of(value: Any) -> str:
    """A value of a setting as text: members of enumerations and types of NumPy and torch by their names."""
    if isinstance(value, Enum) and not isinstance(value, str):
        return value.name
    if isinstance(value, type):
        return value.__name__
    return str(value).removeprefix("torch.")


_EXCLUDE = ("exclude", "/head/*")

_OPPOSITE: Mapping[str, str] = {"channel": "tensor", "tensor": "channel", "symmetric": "asymmetric"}
"""What another tool means by `per_channel=False`: the value here, in place of that for `True`."""

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
        ("extra_options", "advanced_parameters"),
        "use the settings scheme, weight_scheme, calibrator, exclude, …",
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
"""Settings of ONNX Runtime, NNCF and others: the setting here and a value of it, or what to do."""


def meant(field: str, value: Any, example: str) -> Any:
    """The `value` that a setting of another tool had, as a setting here has it that is about the `field` of a rule.

    `example` is what to show where the value says nothing.
    """
    if value is False:
        return _OPPOSITE[example]
    if field == "node" and isinstance(value, str | list | tuple):
        return cast(Any, value)
    return spelled(field, text_of(value)) if field and isinstance(value, str | Enum | type) else example


def setting_hint(name: str, value: Any, known: Sequence[str], written: Callable[[str, str], str]) -> str:
    """What to write in place of a setting that is not `known`, the end of a message; `written` has a setting's form.

    Nothing for a `value` of `False` that leaves out what is not done here without being asked for.
    """
    found = FOREIGN.get(name.replace("-", "_").lower())
    if isinstance(found, tuple):
        return "" if value is False and found[1] not in _OPPOSITE else f"; use {written(*found)}"
    if found is not None:
        return f": {found}"
    near = get_close_matches(name, known, 1, 0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
