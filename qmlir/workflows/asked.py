"""What was asked of quantizing, as a recipe of its own: the same rules decide when it is given in place of options.

Options are rules before those of a recipe file, and what is known to need more bits stands between the two. Rules that
decided nothing are left out: a recipe may not hold such.
"""

from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from qmlir.ir.interfaces import Slot
from qmlir.quantization.recipe import WIDE_BY_DEFAULT

_RULES = ("activations", "weights", "accumulator", "scheme", "weight_scheme", "granularity", "calibrator")
_WIDE = "i16"


def _tables(settings: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The rules of the options as tables of a recipe, one for each rule of `simple_rules`, in their order."""
    given = {name: str(settings.get(name) or "") for name in _RULES}
    activations = {
        "storage": given["activations"], "scheme": given["scheme"], "calibrator": given["calibrator"],
    }  # fmt: skip
    weights = {
        "storage": given["weights"], "scheme": given["weight_scheme"], "granularity": given["granularity"],
    }  # fmt: skip
    slots = (
        (Slot.INPUT, activations), (Slot.OUTPUT, activations), (Slot.WEIGHT, weights),
        (Slot.ACCUMULATOR, {"storage": given["accumulator"]}),
    )  # fmt: skip
    for slot, fields in slots:
        said = {key: value for key, value in fields.items() if value}
        if said:
            yield {"slot": slot.value, **said}
    for rule in WIDE_BY_DEFAULT:
        assert rule.slot is not None
        yield {"role": rule.role, "slot": rule.slot.value, "storage": _WIDE}


def recipe_text(used: Collection[int], settings: Mapping[str, Any]) -> str:
    """The recipe that decides what `settings` decided, of which the rules at the places `used` were of use.

    `settings` are those of `quantize`, by name; `keep`, which is no matter of rules, stands in a comment.
    """
    path = str(settings.get("recipe") or "")
    lines = [
        f"# What qmlir {version('qmlir')} was asked for: give it as --recipe to do the same again.",
        f"# --keep {','.join(settings.get('keep', ()))}",
    ]
    for place, table in enumerate(_tables(settings)):
        if place in used:
            lines += ["", "[[rule]]", *(f'{key} = "{value}"' for key, value in table.items())]
    if path:
        lines += ["", f"# From {Path(path).name}:", Path(path).read_text(encoding="utf-8").rstrip()]
    return "\n".join(lines) + "\n"
