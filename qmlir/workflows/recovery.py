"""The results of accuracy recovery: the outcome of the repair, and the remedies that were tried.

The recovery itself is the service `recovery` (`qmlir.workflows.calibrated.AccuracyRecovery`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString

from qmlir.ir.diagnostics import printable
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization.recipe import pinned_rules
from qmlir.quantization.recipe_text import RecipeText, RuleTable
from qmlir.quantization.report import LayerImprovement
from qmlir.text.data import plain
from qmlir.text.tables import Readable, counted
from qmlir.workflows.validating import Validation

EQUALIZE: LiteralString = "nn-equalize"
"""The pass that changes the float model before its types are decided. It is tried together with the best other
passes."""

_SHOWN = 12
"""Number of layers that a summary lists."""

_HELPS = 3.0
"""The gain in dB from which a remedy is suggested even if it does not restore the agreement."""


@dataclass(frozen=True, repr=False)
class Repair(Readable):
    """The outcome of accuracy recovery (`effort`), evaluated on samples that the recovery did not use."""

    passes: str
    """The passes with the best result."""

    samples: int
    """Number of samples on which the repair was evaluated."""

    source: str
    """The origin of these samples."""

    before_db: float
    """SQNR of the outputs without the repair, in dB, from the mean of their relative noise."""

    after_db: float
    """SQNR of the outputs with the repair, in dB."""

    layers: tuple[LayerImprovement, ...] = ()
    """The effect of the repair on each layer; empty if the repair was not kept."""

    others: tuple[tuple[str, float], ...] = ()
    """The passes of other efforts that were tried but not kept, each with the SQNR that they achieved."""

    required: str = ""
    """The pass in `passes` that needs no samples, and is kept even if the other passes are not."""

    @property
    def is_equalized(self) -> bool:
        """True if the quantized module was made from the equalized float model."""
        return self.is_kept and self.passes.startswith(EQUALIZE)

    @property
    def is_kept(self) -> bool:
        """True if the repair was applied to the module, because it raised the SQNR."""
        return self.after_db > self.before_db

    def text(self) -> str:
        """Formats the outcome.

        Returns:
            The passes, the SQNR without and with these passes, and the layers that gained most.
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
        """Converts the result to plain values; an infinite or unknown SQNR becomes `None`.

        Returns:
            A dict that can be written as JSON.
        """
        layers = [
            {
                "repair": each.repair, "layer": each.layer, "before_db": plain(each.before_db),
                "after_db": plain(each.after_db), "gain_db": plain(each.gain_db),
            }
            for each in self.layers
        ]  # fmt: skip
        others = [{"passes": passes, "after_db": plain(ratio)} for passes, ratio in self.others]
        return {**plain(self), "layers": layers, "others": others, "is_kept": self.is_kept}


def gains_text(gains: Iterable[LayerImprovement]) -> str:
    """Lists the layers that gained most, one per line, with the gain of each pass; the remaining layers are counted."""
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


@dataclass(frozen=True)
class Remedy:
    """Options that may restore agreement with the float model."""

    option: str
    """The option to type, such as `--exclude Scaler`."""

    changed: Mapping[str, str]
    """New values for some options, by name."""

    rules: Sequence[RuleTable] = ()
    """Recipe rules to append to the given rules."""

    corrects: bool = False
    """True if biases are corrected, as with effort 1."""

    def added_to(self, given: QuantizeOptions) -> QuantizeOptions:
        """Returns the options `given` with the changes of this remedy."""
        recipe = given.recipe
        if rules := [*self.rules, *pinned_rules(given, recipe)]:  # no remedy changes given parameters
            recipe = (RecipeText.of(recipe) or RecipeText("", "")).with_rules(rules, "the remedy")
        return replace(given, **self.changed, recipe=recipe)


@dataclass(frozen=True)
class Tried:
    """A remedy that was tried, and the comparison with the float model after it was applied."""

    remedy: Remedy
    """The remedy; its `option` is the option to type, such as `--exclude Scaler`."""

    validation: Validation
    """The comparison with the float model."""

    @property
    def cures(self) -> bool:
        """True if the quantized model agrees with the float model again."""
        return not self.validation.loss

    @property
    def text(self) -> str:
        """The remedy and its result, such as `--exclude Scaler gives y 23.6 dB`."""
        return f"{self.remedy.option} gives {self.validation.brief}"


@dataclass(frozen=True)
class Remedies:
    """The remedies that were tried because the quantized model did not agree with the float model."""

    lost: Validation
    """The comparison that showed the degradation."""

    tried: tuple[Tried, ...] = ()
    """The remedies in the order in which they were tried."""

    is_applied: bool = False
    """True if the best remedy was applied to the result (`effort="auto"`)."""

    @property
    def best(self) -> Tried | None:
        """The remedy that restores agreement, or else gains most; `None` if no remedy gains at least 3 dB."""
        cures = next((each for each in self.tried if each.cures), None)
        if cures is not None or not self.tried:
            return cures
        found = max(self.tried, key=lambda each: each.validation.lowest_db)
        return found if found.validation.lowest_db >= self.lost.lowest_db + _HELPS else None

    @property
    def help(self) -> str:
        """The end of a message: the option to type, or the remedies that failed; empty if no remedy was tried."""
        best = self.best
        if best is not None:
            partly = "" if best.cures else ", which is better but not enough"
            return f"; help: {best.text} on the same samples{partly}"
        if not self.tried:
            return ""
        return f"; help: run 'qmlir compare' to see each layer; tried in vain: {'; '.join(t.text for t in self.tried)}"

    def text(self) -> str:
        """Formats the remedies.

        Returns:
            The best remedy with its result, or the remedies that failed.
        """
        best = self.best
        if best is None:
            return "".join(f"tried in vain: {each.text}\n" for each in self.tried)
        verb = "applied" if self.is_applied else "remedy"
        return f"{verb}: {best.text} (without: {self.lost.brief})\n"

    def to_dict(self) -> dict[str, Any]:
        """Converts the remedies to plain values.

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
