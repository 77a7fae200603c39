"""Names that qmlir 0.1 used for passes, options, settings, recipe keys and operations.

Messages suggest the new name for an old one. Old names are accepted in files written by 0.1, which have no version or
an older one; in a newer file, an old name is an error. This module does not depend on the compiler.
"""

import inspect
from collections.abc import Callable, Container, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

RECIPE: Mapping[str, str] = {
    "amplified": "low_sqnr_depthwise",
    "coarse": "wide_logits",
    "faint": "low_sqnr_softmax",
    "given": "underused_output",
    "rooted": "sqrt_operand",
    "squared": "sqrt_square",
    "table": "embedding",
    "uneven": "mixed_range_concat",
}
"""Keys of recipe rules."""

RECIPE_WORDS: Mapping[tuple[str, Any], str] = dict.fromkeys((("scale", "range"), ("scale", "sum")), "bias_scale")
"""The new key of a recipe rule for an old key with a word; a number under the old key has another meaning. Recipes of
every version may contain these words."""

OPERATIONS: Mapping[str, str] = {"kernel.by_rows": "kernel.row_fusion"}
"""Names of operations. Modules have no version, so the parser always accepts the old names."""

PASSES: Mapping[str, str] = {
    "kernel-fill-borders": "kernel-fill-halo",
    "kernel-interleave": "kernel-tile-producers",
    "kernel-join-rows": "kernel-fuse-attention",
    "kernel-share": "kernel-merge-functions",
    "kernel-tabulate": "kernel-lookup-tables",
    "nn-share-tables": "nn-tie-embeddings",
    "nn-split-columns": "nn-split-outlier-channels",
    "quant-open-composites": "quant-dequantize-composites",
    "quant-round": "quant-adaround",
    "quant-shorten-sums": "quant-fit-i16-accumulators",
}
"""Names of passes."""

_SHARED: Mapping[str, str] = {
    "budget": "limit",
    "emitter": "codegen",
    "form": "format",
    "inputs": "cut_inputs",
    "keep": "keep_composites",
    "length": "max_size",
    "lengths": "max_sizes",
    "outputs": "cut_outputs",
    "profiled": "profile",
    "short_sums": "accumulator_pairs",
    "target": "device",
    "target_triple": "triple",
}

_BY_OWNER: Mapping[str, Mapping[str, str]] = {
    "recipe": RECIPE,
    "compare": {"bound": "min_sqnr", "limit": "samples"},
    "finetune": {
        "batch": "batch_size",
        "held_out": "validation_split",
        "mix": "mixup",
        "only": "train",
        "rate": "learning_rate",
    },
    "partition": {"minimum": "min_ops", "setup": "transfer_bytes"},
    "report": {"limit": "samples"},
    "search": {
        "bound": "min_accuracy",
        "bytes": "max_bytes",
        "drop": "max_drop",
        "measured": "measure_time",
        "time": "max_time",
        "to": "widen_to",
        "weight_bytes": "max_bytes",
    },
    "trainable": {"only": "train"},
    "tune": {"again": "remeasure"},
}
"""Names specific to the options of one command, the keyword arguments of one function, or recipes."""


def renamed(
    old: str, accepted: Container[str] | None, owner: str = "", written: Callable[[str], str] = lambda name: name
) -> str:
    """Returns `'keep' is now 'keep_composites'` for a name of 0.1; an empty string for other names.

    Args:
        old: The name that was found, with underscores or dashes.
        accepted: Names that `owner` accepts, as spelled by `written`; `None` if it accepts all names of settings.
        owner: The command, function or `recipe` that received the name.
        written: Converts a name with underscores to the spelling that `owner` uses.
    """
    plain = old.lstrip("-").replace("-", "_")
    new = _BY_OWNER.get(owner, {}).get(plain) or _SHARED.get(plain)
    if new is None or (accepted is not None and written(new) not in accepted):
        return ""
    return f"'{old}' is now '{written(new)}'"


def checks_names(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Wraps `function` such that a keyword argument that has been renamed raises a `TypeError` with the new name."""
    accepted = inspect.signature(function).parameters
    is_open = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in accepted.values())

    @wraps(function)
    def checked(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        for name in options:
            if name not in accepted and (now := renamed(name, None if is_open else accepted, function.__name__)):
                raise TypeError(f"{function.__name__}: {now}")
        return function(*arguments, **options)

    return checked


def old_name(new: str, command: str) -> str:
    """Returns the name of a command's option in 0.1."""
    return next((old for old, name in _BY_OWNER[command].items() if name == new), new)


def renamed_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Renames settings of `qmlir.quantize` from a summary of 0.1 to their new names."""
    found = {_SHARED.get(name, name): value for name, value in settings.items()}
    if found.get("accumulator_pairs"):
        found["accumulator_bits"] = 16
    return found
