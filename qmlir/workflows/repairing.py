"""Passes that repair what rounding lost, and the verdict on them by samples that they have not seen."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, LiteralString, Protocol

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.requantize import quantized_type
from qmlir.interpreter.samples import Data, Run
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import printable, text_error
from qmlir.ir.provenance import origins_of
from qmlir.passes.quantized.repairs import LayerGain, mark_repaired
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import STORE
from qmlir.quantization.amplified import depthwise
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.recipe_text import AUTO
from qmlir.quantization.rounded_weights import bias_beside, rounded_weights
from qmlir.specialization.inputs import function_of
from qmlir.text.readable import Readable
from qmlir.text.tables import counted
from qmlir.workflows.comparison.compare import arguments_of
from qmlir.workflows.comparison.errors import sqnr
from qmlir.workflows.validating import HELD_OUT, EvenRuns, References, Share, ValidationOptions, compared

_SCALES: LiteralString = "quant-search-scales{compensating bits=4}"
"""With more bits the range of the weights costs little, and their codes make up for it."""

EFFORTS: Mapping[int, LiteralString] = {
    0: "",
    1: "quant-correct-bias",
    2: f"{_SCALES},quant-gptq,quant-correct-bias",
    3: f"{_SCALES},quant-gptq,quant-round,quant-correct-bias",
}
"""The passes of each effort, which takes more time than those before it. Those are tried, too, and the best is kept."""

BLOCKS: Mapping[LiteralString, LiteralString] = {
    EFFORTS[3]: f"{_SCALES},quant-gptq,quant-round,quant-round{{blocks=3 weighted}},quant-correct-bias"
}
"""What is tried last, after the passes of an effort and the equalized model: it takes as long as all of these."""

EQUALIZE: LiteralString = "nn-equalize"
"""The pass that changes the float model before its types are decided: it is tried with the passes that gain most."""

EQUALIZES = 2
"""The least effort that tries it."""

MOST = 256
"""Runs that a repair goes by at most. Measured on a ResNet-8 with 4-bit weights: 64 give 24.9 dB, 256 25.7 dB."""

MOST_BESIDE = 16
"""Runs that biases are corrected by where no effort is asked for: a mean needs few, which have many places each."""

_EXACT_BITS = 16
"""Those of codes whose rounding shifts no mean: with 16 bits the means of channels stay."""

_SHOWN = 12
"""Layers that are listed; a summary stays short."""

_LOST = -3000.0
"""Decibels below which noise is no number of f64."""

_IN_STEP = 1 << 30
"""Bytes of one value in all runs: the runs of a repair go forward together."""


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
    """The layers that gained most, a line each with its repairs; layers without a figure are only counted."""
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


_LAST: LiteralString = "quant-correct-bias"
"""The pass of all efforts that makes up for what the others have shifted."""


def _finite(ratio: float | None) -> float | None:
    """What JSON can say of a ratio."""
    return ratio if ratio is not None and math.isfinite(ratio) else None


def repair_passes(effort: int, required: LiteralString = "") -> tuple[LiteralString, ...]:
    """The passes of the efforts up to `effort`, each to be tried; none for 0.

    Passes that are `required` choose the codes themselves, by the samples, so that only biases are left to repair.
    Raises `DiagnosticError` for a number that is not an effort.
    """
    if effort not in EFFORTS:
        raise text_error(f"effort must be one of {', '.join(map(str, EFFORTS))} or {AUTO}, but got {effort}")
    if required and effort:
        return (f"{required},{_LAST}",)
    return tuple(passes for other, passes in EFFORTS.items() if 0 < other <= effort)


def runs_to_repair(module: ModuleOp) -> int:
    """How many runs of `module` a repair goes by: fewer where values are large.

    What is made of constants alone, such as a table of tokens, is held once for all runs (`RunsInStep`).
    """
    once, each = set[SSAValue](), list[SSAValue]()
    for op in function_of(module, ENTRY).walk():
        if not op.regions and once.issuperset(op.operands):
            once.update(op.results)
        else:
            each.extend(op.results)
    types = (ranked_tensor(value.type) for value in each)
    sizes = (math.prod(size for size in type_.get_shape() if size != DYNAMIC_INDEX) for type_ in types if type_)
    return max(8, min(MOST, _IN_STEP // (8 * max((1, *sizes)))))


class Judges(Protocol):
    """Which runs calibrate, which of them a repair may go by, and which others judge it."""

    @property
    def runs(self) -> Sequence[Run]:
        """Those that judge."""
        ...

    @property
    def source(self) -> str:
        """What they are, for a reader."""
        ...

    def calibrating(self, runs: Iterable[Run]) -> Iterator[Run]:
        """Those of `runs` that calibrate."""
        ...

    def may_repair(self) -> bool:
        """Whether the repair may go by the run that `calibrating` gave last."""
        ...


class JudgesBeside:
    """Every fourth of the runs that calibrate judges a repair that goes by others: nothing is held out for it.

    So it is where no effort is asked for, and ranges are to stay what they are without a repair.
    """

    source = "that the correction has not used"

    def __init__(self, most: int, validated: Share | None = None):
        self._validated = validated
        self._even = EvenRuns(most)
        self._is_judge = False

    @property
    def runs(self) -> Sequence[Run]:
        """At most `most`, evenly of all: samples may be sorted by class."""
        return self._even.taken

    def calibrating(self, runs: Iterable[Run]) -> Iterator[Run]:
        """All runs but those that are held out to validate."""
        left = runs if self._validated is None else self._validated.calibrating(runs)
        for place, run in enumerate(left, 1):
            self._is_judge = place % HELD_OUT == 0
            if self._is_judge:
                self._even.take(run)
            yield run

    def may_repair(self) -> bool:
        """Whether the last run is none of the fourth ones."""
        return not self._is_judge


class Repairing:
    """A repair in the course of quantizing: some runs of the calibration are kept for it, others judge it.

    Passes that are `required` run without a repair, too, and then go by no samples.
    """

    def __init__(
        self,
        candidates: Sequence[LiteralString],
        module: ModuleOp,
        judges: Judges,
        most: int = MOST,
        *,
        required: LiteralString = "",
    ):
        self.candidates: tuple[LiteralString, ...] = tuple(candidates)
        self._required: LiteralString = required
        self._judges = judges
        self._kept = EvenRuns(min(most, runs_to_repair(module)))

    def calibrating(self, runs: Iterable[Run]) -> Iterator[Run]:
        """The runs that are left for calibration, some of which are kept."""
        for run in self._judges.calibrating(runs):
            if self._judges.may_repair():
                self._kept.take(run)
            yield run

    @property
    def is_judged(self) -> bool:
        """Whether there are runs that judge it."""
        return bool(self._judges.runs)

    def may_be_worth_it(self, profiled: ModuleOp) -> bool:
        """Whether the module has depthwise convolutions, whose biases are worth a correction, and it can be judged."""
        return self.is_judged and bool(depthwise(function_of(profiled, ENTRY)))

    def is_worth_it(self, profiled: ModuleOp, decided: ModuleOp) -> bool:
        """Whether such a convolution is quantized in `decided`, whose constants are floats still, and has a bias.

        It must read codes of fewer than 16 bits, here or before: wider codes do not shift a mean.
        """
        sensitive = {origins_of(op) for op in depthwise(function_of(profiled, ENTRY))}
        readers = {
            reader: min(weight.element.bits, data.bits)
            for weight in rounded_weights(function_of(decided, ENTRY))
            for reader, rows in weight.readers
            if (data := quantized_type(rows.data)) is not None
        }
        is_narrow = any(bits < _EXACT_BITS for bits in readers.values())
        return is_narrow and any(map(bias_beside, readers)) and any(origins_of(each) in sensitive for each in readers)

    def apply(
        self,
        references: References,
        profiled: ModuleOp,
        decided: ModuleOp,
        runs: Callable[[LiteralString], Callable[..., None]],
        equalized: Callable[[Data], tuple[ModuleOp, ModuleOp] | None] | None = None,
    ) -> tuple[ModuleOp, Repair]:
        """`decided` with the repair that brings it nearest to the float module of `references`, and what that gave.

        `profiled` is what was decided about: its operations are those of `decided`, on floats. `runs` gives for passes
        what runs stages of a pipeline that repairs by them. Both have their stages up to `rescale` behind them.
        `equalized` makes both of the equalized model, by samples, or nothing where nothing is to be equalized: on these
        the passes are tried that were best without.
        """
        signature = function_of(references.module, ENTRY)
        samples = [arguments_of(signature, each) for each in self._kept.taken]

        def judged(module: ModuleOp) -> Mapping[str, float]:
            return _decibels(references, module, self._judges.runs, self._judges.source)

        plain = decided.clone()
        run_pipeline(plain, f"{self._required},{STORE}" if self._required else STORE)
        runs(self.candidates[-1])(plain, "raise", "rescale")
        chosen: LiteralString = self.candidates[-1]
        best, known, layers = plain, judged(plain), tuple[LayerGain, ...]()
        unrepaired, found = known, dict[str, Mapping[str, float]]()

        def attempts() -> Iterator[tuple[LiteralString, LiteralString, ModuleOp, ModuleOp]]:
            for passes in self.candidates:
                yield passes, passes, profiled, decided.clone()
            others = None if equalized is None else equalized(samples)
            if others is not None:
                yield f"{EQUALIZE},{chosen}", chosen, *others
            if (passes := BLOCKS.get(self.candidates[-1])) is not None:
                yield passes, passes, profiled, decided.clone()

        for name, passes, floats, repaired in attempts():
            gains = list[LayerGain]()
            run = runs(passes)
            run(repaired, "repair", samples=samples, floats=floats, gained=gains.append, biases=set[Operation]())
            run(repaired, "raise", "rescale")
            found[name] = judged(repaired)
            before, after = noise_ratios(known, found[name])
            if after > before:
                best, known, chosen, layers = repaired, found[name], name, tuple(gains)
        mark_repaired(function_of(best, ENTRY), layers)
        ratios = {passes: noise_ratios(unrepaired, each) for passes, each in found.items()}
        others = tuple((passes, after) for passes, (_, after) in ratios.items() if passes != chosen)
        count = sum(each.samples for each in self._judges.runs)
        return best, Repair(chosen, count, self._judges.source, *ratios[chosen], layers, others, self._required)


def _decibels(references: References, quantized: ModuleOp, runs: Sequence[Run], source: str) -> dict[str, float]:
    """The SQNR of each output of floats; none where nothing can be compared."""
    rows = compared(references, quantized, runs, source, ValidationOptions()).outputs
    return {row.name: row.about_zero_db for row in rows if row.about_zero_db is not None and not row.is_part}


def noise_ratios(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[float, float]:
    """The decibels of all outputs together, by the mean of their relative noise, of two modules.

    Decibels themselves have no mean where an output is exact. What is exact in both, or lost in both, says nothing of
    the others, and counts where there are no others. The lowest of all where nothing can be compared.
    """
    both = [(before[name], after[name]) for name in before if name in after]
    told = [pair for pair in both if any(map(math.isfinite, pair)) or pair[0] != pair[1]] or both
    one, other = (_together([pair[side] for pair in told]) for side in (0, 1))
    return one, other


def _together(ratios: Sequence[float]) -> float:
    """The decibels of the mean noise of outputs with the decibels `ratios`; of several alike, exactly theirs."""
    if len(set(ratios)) <= 1:
        return next(iter(ratios), -math.inf)
    return sqnr(1.0, sum(math.inf if each < _LOST else 10 ** (-each / 10) for each in ratios) / len(ratios))
