"""The results of accuracy recovery: the repair that was kept, and the remedies that were tried.

The recovery itself is the service `recovery` (`qmlir.workflows.calibrated.AccuracyRecovery`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, LiteralString

from qmlir.ir.diagnostics import printable
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization.recipe_text import RecipeText, RuleTable
from qmlir.quantization.report import LayerGain
from qmlir.text.tables import Readable, counted
from qmlir.workflows.validating import Validation

EQUALIZE: LiteralString = "nn-equalize"
"""The pass that changes the float model before its types are decided; it is tried with the best other passes."""

_SHOWN = 12
"""Number of layers that a summary lists."""

_HELPS = 3.0
"""The gain in dB from which a remedy is suggested even if it does not restore the agreement."""


@dataclass(frozen=True, repr=False)
class Repair(Readable):
    """The outcome of accuracy recovery (`effort`), evaluated on samples that it has not used."""

    passes: str
    """The passes that gave the best result."""

    samples: int
    """Number of samples that it was evaluated on."""

    source: str
    """Where these samples come from."""

    before_db: float
    """SQNR of the outputs without it, in dB, by the mean of their relative noise."""

    after_db: float
    """SQNR of the outputs with it, in dB."""

    layers: tuple[LayerGain, ...] = ()
    """Its effect on each layer; empty if it was not kept."""

    others: tuple[tuple[str, float], ...] = ()
    """The passes of other efforts that were tried and not kept, each with the SQNR that they gave."""

    required: str = ""
    """The pass among them that needs no samples, and stays even if the others are not kept."""

    @property
    def is_equalized(self) -> bool:
        """True if the module was made of the equalized float model."""
        return self.is_kept and self.passes.startswith(EQUALIZE)

    @property
    def is_kept(self) -> bool:
        """True if the module has it, because it raised the SQNR."""
        return self.after_db > self.before_db

    def text(self) -> str:
        """Format the outcome.

        Returns:
            The passes, the SQNR without and with them, and the layers that gained most.
        """
        figures = f"{self.before_db:.1f} dB without, {self.after_db:.1f} dB with"
        lost = "which would lose" if self.after_db < self.before_db else "no gain"
        verdict = "repaired" if self.is_kept else f"not repaired, {lost}"
        passes = self.passes
        if self.required and not self.is_kept:
            passes += f" by samples; {self.required} by the weights alone is kept"
        head = f"{verdict} ({passes}): {figures}, {counted(self.samples, 'sample')} {self.source}\n"
        others = "".join(f"  not taken ({passes}): {found:.1f} dB\n" for passes, found in self.others)
        return f"{head}{others}{gains_text(self.layers)}"

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to plain values; an infinite or unknown SQNR becomes `None`.

        Returns:
            A dict that can be written as JSON.
        """
        found = asdict(self)
        layers = [
            {
                "repair": each.repair, "layer": each.layer, "before_db": _finite(each.before_db),
                "after_db": _finite(each.after_db), "gain_db": _finite(each.gain_db),
            }
            for each in self.layers
        ]  # fmt: skip
        others = [{"passes": passes, "after_db": _finite(ratio)} for passes, ratio in self.others]
        ratios = {"before_db": _finite(self.before_db), "after_db": _finite(self.after_db)}
        return {**found, **ratios, "layers": layers, "others": others, "is_kept": self.is_kept}


def gains_text(gains: Iterable[LayerGain]) -> str:
    """Lists the layers that gained most, one line each with its repairs; layers without a figure are only counted."""
    told: dict[str, list[str]] = {}
    sums: dict[str, float] = {}
    layers: set[str] = set()
    for each in gains:
        layers.add(each.layer)
        if each.gain_db is not None:
            told.setdefault(each.layer, []).append(f"{each.repair} {each.gain_db:.1f} dB")
            sums[each.layer] = sums.get(each.layer, 0.0) + each.gain_db
    shown = sorted(told, key=lambda name: -sums[name])[:_SHOWN]
    lines = [f"  {printable(name)}: {', '.join(told[name])}\n" for name in shown]
    left = len(layers) - len(shown)
    more = f"  {'and ' if shown else ''}{counted(left, 'layer')}{' more' if shown else ''}\n"
    return "".join([*lines, *([more] if left else [])])


def _finite(ratio: float | None) -> float | None:
    """Returns a ratio that JSON can represent, or `None`."""
    return ratio if ratio is not None and math.isfinite(ratio) else None


@dataclass(frozen=True)
class Remedy:
    """Options that may restore the agreement with the float model."""

    option: str
    """The text to type, such as `--exclude Scaler`."""

    changed: Mapping[str, str]
    """New values for some of the given options."""

    rules: Sequence[RuleTable] = ()
    """Recipe rules to add after the given ones."""

    corrects: bool = False
    """Whether biases are corrected, as with effort 1."""

    def added_to(self, given: QuantizeOptions) -> QuantizeOptions:
        """Returns `given` with the changes of this remedy."""
        recipe = given.recipe
        if self.rules:
            recipe = (RecipeText.of(recipe) or RecipeText("", "")).with_rules(self.rules, "the remedy")
        return replace(given, **self.changed, recipe=recipe)


@dataclass(frozen=True)
class Tried:
    """A remedy that was tried, and the comparison with the float model under it."""

    remedy: Remedy
    """The remedy; its `option` is the text to type, such as `--exclude Scaler`."""

    validation: Validation
    """The comparison with the float model."""

    @property
    def cures(self) -> bool:
        """True if the quantized model agrees with the float one again."""
        return not self.validation.loss

    @property
    def text(self) -> str:
        """The remedy and its figures, such as `--exclude Scaler gives y 23.6 dB`."""
        return f"{self.remedy.option} gives {self.validation.brief}"


@dataclass(frozen=True)
class Remedies:
    """The remedies that were tried because the quantized model did not agree with the float one."""

    lost: Validation
    """The comparison that showed the degradation."""

    tried: tuple[Tried, ...] = ()
    """The remedies in the order in which they were tried."""

    is_applied: bool = False
    """True if the result has the best remedy (`effort="auto"`)."""

    @property
    def best(self) -> Tried | None:
        """The remedy that restores the agreement, or else gains most; `None` if none gains 3 dB."""
        cures = next((each for each in self.tried if each.cures), None)
        if cures is not None or not self.tried:
            return cures
        found = max(self.tried, key=lambda each: each.validation.lowest_db)
        return found if found.validation.lowest_db >= self.lost.lowest_db + _HELPS else None

    @property
    def help(self) -> str:
        """The end of a message: the option to type, or the remedies that failed; empty if none was tried."""
        best = self.best
        if best is not None:
            partly = "" if best.cures else ", which is better but not enough"
            return f"; help: {best.text} on the same samples{partly}"
        if not self.tried:
            return ""
        return f"; help: run 'qmlir compare' to see each layer; tried in vain: {'; '.join(t.text for t in self.tried)}"

    def text(self) -> str:
        """Format the remedies.

        Returns:
            The best remedy with its figures, or those that failed.
        """
        best = self.best
        if best is None:
            return "".join(f"tried in vain: {each.text}\n" for each in self.tried)
        verb = "applied" if self.is_applied else "remedy"
        return f"{verb}: {best.text} (without: {self.lost.brief})\n"

    def to_dict(self) -> dict[str, Any]:
        """Convert the remedies to plain values.

        Returns:
            A dict that can be written as JSON.
        """
        best = self.best
        return {
            "applied": self.is_applied,
            "best": None if best is None else best.remedy.option,
            "tried": [
                {"remedy": each.remedy.option, "cures": each.cures, "validation": each.validation.to_dict()}
                for each in self.tried
            ],
        }
