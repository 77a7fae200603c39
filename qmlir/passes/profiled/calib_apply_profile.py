"""`calib-apply-profile` and `calib-give-ranges`: give values their ranges, from a profile or from a recipe."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import filterfalse
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.decomposition import components_of
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, nearest_name, note
from qmlir.ir.passes import TakesValues, count
from qmlir.quantization.given import follows, give_ranges
from qmlir.quantization.profiles.keys import KeyedValue, has_parameters, keyed_parts, keyed_values, open_composites
from qmlir.quantization.profiles.profile import Profile, model_digest
from qmlir.quantization.profiles.statistics import (
    attach,
    attach_parts,
    observed,
    set_ranges,
    set_ranges_before_biases,
    tied_statistics,
)
from qmlir.quantization.retyping import moves_values
from qmlir.quantization.settings import TakesRecipe
from qmlir.quantization.stored_ports import port_storages

SHOWN = 3
"""The number of problems that the error message itself lists; its notes list all of them."""


def _remove_observers(module: ModuleOp) -> None:
    for observer in [op for op in module.walk() if isinstance(op, ObserveOp)]:
        observer.result.replace_all_uses_with(observer.input)
        Rewriter.erase_op(observer)


def _fill_in_empty(module: ModuleOp, entries: dict[SSAValue, Statistics], empty: set[SSAValue]) -> None:
    """Adds entries for the values in `empty`, which had no elements, if they share a type with a value in `entries`.

    An operation that moves or joins values gives them one type. The entries propagate forwards, then backwards: the
    operands of a concatenation get the range of its result.
    """
    movers = [op for op in module.walk() if moves_values(op)]
    for op in (*movers, *reversed(movers)) if empty else ():
        values = (*op.results, *op.operands)
        known = next((entries[value] for value in values if value in entries), None)
        if known is not None:
            entries.update((value, known) for value in empty.intersection(values).difference(entries))


@dataclass(frozen=True)
class CalibGiveRanges(TakesRecipe):
    """Gives each value without a range the range of its parameters, if a rule of the recipe gives them.

    A value that only a clamping operation reads gets the range of the clamped result. So these values need no
    calibration data. Type decisions still use the parameters of the rule, not this range. The options are those of
    `quant-insert-casts`, whose `inputs_as` and `outputs_as` override the storage of the recipe.

    Before (run with `recipe="tests/filecheck/passes/profiled/Inputs/relu.toml"`):

    ```mlir
    func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
      %0 = nn.relu %x : tensor<1x4xf32> {origin = "relu1"}
      func.return %0 : tensor<1x4xf32>
    }
    ```

    After:

    ```mlir
    !c = !quant.calibrated<f32<0.0:3.984375>>
    func.func @main(%x: tensor<1x4x!c>) -> tensor<1x4x!c> {
      %0 = nn.relu %x : tensor<1x4x!c> {origin = "relu1"}
      func.return %0 : tensor<1x4x!c>
    }
    ```
    """

    name = "calib-give-ranges"

    states: tuple[str, ...] = ()
    inputs_as: tuple[str, ...] = ()
    outputs_as: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        give_ranges(op, self.whole_recipe(), port_storages(op, self.inputs_as, self.outputs_as, self.states))


@dataclass(frozen=True)
class CalibApplyProfile(TakesValues):
    """Changes every float value to type `!quant.calibrated` with its profiled range, and attaches its statistics.

    Observers are removed. Constants need no profile entry, since their data determines their range. Values with known
    quantization parameters need no entry either: a value that was dequantized, or that is quantized to one type, is
    left unchanged. A value that already has a range keeps it if the profile has no entry for it.

    Profile entries that match no value, values without an entry, and a profile of another model are reported in one
    error that lists all problems. With `allow_partial`, or if the profile has no samples, this is a warning instead,
    and a sum without an entry gets a range derived from that of the value after its bias. The model may have another
    batch size than the profiled one. An argument of a call and the parameter that receives it share one range, as do
    the returned value and the result of the call. A value that had no elements in any sample, such as the KV cache in
    the first step, gets the range of the values that are concatenated with it or moved into it, if there are any. A
    composite that stays whole until its length is known stores the ranges of its parts in `components`, and their
    statistics in `calib.parts`.

    A range with equal ends is extended to contain 0, as in every quantizer; the statistics keep the observed range.

    Before (run with `profile="tests/filecheck/passes/profiled/Inputs/relu.json"`):

    ```mlir
    func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> tensor<1x4xf32> {
      %0 = nn.relu %x : tensor<1x4xf32> {origin = "relu1"}
      func.return %0 : tensor<1x4xf32>
    }
    ```

    After:

    ```mlir
    !x = !quant.calibrated<f32<-1.0:2.0>>
    #x = #calib.stats<min = -1.0, max = 2.0, mean = 0.40625, std = 0.8654614015078893, count = 8,
                      recorded = {zeros = 2 : i64, sums = [3.25 : f64, 7.3125 : f64], bins = 8 : i64,
                                  exponent = -1 : i64, first = -2 : i64,
                                  counts = dense<[1, 1, 2, 1, 2, 0, 1]> : tensor<7xi32>}>
    !y = !quant.calibrated<f32<0.0:2.0>>
    #y = #calib.stats<min = 0.0, max = 2.0, mean = 0.5625, std = 0.6817945071647321, count = 8,
                      recorded = {zeros = 4 : i64, sums = [4.5 : f64, 6.25 : f64], bins = 8 : i64,
                                  exponent = -1 : i64, first = 0 : i64,
                                  counts = dense<[4, 1, 2, 0, 1]> : tensor<5xi32>}>
    func.func @main(%x: tensor<1x4x!x> {nn.name = "x", calib.stats = #x}) -> tensor<1x4x!y> {
      %0 = nn.relu %x : (tensor<1x4x!x>) -> tensor<1x4x!y> {origin = "relu1", calib.stats = #y}
      func.return %0 : tensor<1x4x!y>
    }
    ```
    """

    name = "calib-apply-profile"

    profile: str
    allow_partial: bool = False

    VALUES: ClassVar[tuple[str, ...]] = ("taken",)
    taken: ClassVar[Profile | None] = None
    """A profile in memory, used instead of the file."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        profile = self.taken or Profile.load(self.profile)
        composites = {each: keyed_parts(each) for each in open_composites(op)}
        wanted = _wanted(op, composites)
        is_partial = self.allow_partial or not profile.samples
        problems = [*_other_model(op, profile), *_unmatched(profile, wanted)]
        if not is_partial:
            # Values in a branch or loop that no run reached have no range, and stay in float.
            if self.taken is None:  # otherwise, the run that recorded the profile has already warned
                self._report(_missing(profile, filter(_is_conditional, wanted)), Severity.WARNING)
            self._report([*problems, *_missing(profile, filterfalse(_is_conditional, wanted))], Severity.ERROR)
        known = {key: each for key, each in profile.values.items() if each.count}  # infinities alone are no range
        profiled = [each for each in keyed_values(op) if not has_parameters(each.value)]
        entries = {each.value: known[each.key] for each in profiled if each.key in known}
        ranged = {each.value: profile.ranges[each.key] for each in profiled if each.key in profile.ranges}
        without_elements = {key for key, each in profile.values.items() if each.is_empty}
        _fill_in_empty(op, entries, {each.value for each in keyed_values(op) if each.key in without_elements})
        _remove_observers(op)
        for composite, keys in composites.items():
            ranges = {role: profile.ranges[key] for role, key in keys.items() if key in profile.ranges}
            attach_parts(composite, {role: known[key] for role, key in keys.items() if key in known}, ranges)
        for value, statistics in {**entries, **tied_statistics(op, entries)}.items():
            attach(value, statistics)
        set_ranges(op, {**ranged, **{value: (each.minimum, each.maximum) for value, each in entries.items()}})
        if is_partial:
            set_ranges_before_biases(op)
            missing = _wanted(op, composites)
            if not profile.samples:  # the model carries ranges only for some values
                missing = [each for each in missing if not follows(each.owner)]
            self._report([*problems, *_missing(profile, missing)], Severity.WARNING)
        count("values calibrated", len(entries) + len(ranged))

    def _report(self, problems: Iterable[Diagnostic], severity: Severity) -> None:
        """Raises an error, or emits a warning, that lists all problems, if there are any."""
        problems = list(problems)
        if not problems:
            return
        listed = "; ".join(problem.message for problem in problems[:SHOWN])
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        name = f" '{self.profile}'" if self.taken is None else ""
        message = f"profile{name} does not match the model: {listed}{more}"
        if self.taken is not None and not self.taken.samples:  # there is no profile, and the model carries its ranges
            message = f"some values have no range, so that operations on them stay in float: {listed}{more}"
        notes = tuple(problems) if more else ()
        if severity is Severity.ERROR:
            helps = (
                "use calib-apply-profile{allow_partial} of qmlir-opt to apply the entries that match"
                if self.taken is None
                else "make a new one with 'qmlir profile MODEL --data PATH -o FILE', or qmlir.profile with passes=None"
            )
            message += f"; help: {helps}"
            raise DiagnosticError(Diagnostic(severity, message, notes=notes))
        emit(Diagnostic(severity, message, notes=notes))


@dataclass(frozen=True)
class _Wanted:
    """A value, or a part of a whole composite, for which a profile can have an entry."""

    key: str
    owner: Operation
    is_known: bool
    """True if the value needs no entry."""


def _wanted(module: ModuleOp, composites: Mapping[NnOp, Mapping[str, str]]) -> list[_Wanted]:
    def is_known(each: KeyedValue) -> bool:
        is_decided = each.is_constant or each.may_be_nan or has_parameters(each.value)
        return is_decided or observed(each.value) is not None

    found = [_Wanted(each.key, each.owner, is_known(each)) for each in keyed_values(module)]
    for op, keys in composites.items():
        known = components_of(op)
        found += [_Wanted(key, op, role in known) for role, key in keys.items()]
    return found


def _problem(message: str) -> Diagnostic:
    return Diagnostic(Severity.NOTE, message)


def _other_model(module: ModuleOp, profile: Profile) -> Iterator[Diagnostic]:
    found, made = model_digest(module), profile.model
    if found.structure != made.structure:
        passes = f"'{profile.passes}'" if profile.passes else "none"
        yield _problem(f"it was made for a different model, or after different passes ({passes})")
    elif found.weights and made.weights and found.weights != made.weights:
        yield _problem("it was made for a model with different weights")


def _near(key: str, others: Iterable[str]) -> str:
    """Returns the end of a message with the nearest name, or a name of which `key` is a part or the whole."""
    parts = (each for each in others if each.startswith(f"{key}/") or key.startswith(f"{each}/"))
    return nearest_name(key, others) or next((f"; did you mean '{part}'?" for part in parts), "")


def _unmatched(profile: Profile, wanted: list[_Wanted]) -> Iterator[Diagnostic]:
    """Yields a problem for each key of the profile without a value, with the nearest name."""
    known = {each.key for each in wanted}
    missing = [each.key for each in wanted if _is_missing(profile, each)]
    for key in sorted(key for key in (*profile.values, *profile.ranges) if key not in known):
        yield _problem(f"entry '{key}' matches no value{_near(key, missing or known)}")


def _is_missing(profile: Profile, each: _Wanted) -> bool:
    return not each.is_known and each.key not in profile.values and each.key not in profile.ranges


def _is_conditional(each: _Wanted) -> bool:
    return not isinstance(each.owner, FuncOp) and not isinstance(each.owner.parent_op(), FuncOp)


def _missing(profile: Profile, wanted: Iterable[_Wanted]) -> Iterator[Diagnostic]:
    """Yields a problem for each value without an entry, with the nearest name."""
    wanted = list(wanted)
    known = {each.key for each in wanted}
    unmatched = [key for key in profile.values if key not in known]
    for key, each in {each.key: each for each in wanted if _is_missing(profile, each)}.items():
        yield note(each.owner, f"has no profile entry for value '{key}'{_near(key, unmatched)}")
