"""`calib-apply-profile`: what a profile saw becomes the type of each value, and statistics beside it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import plain_type
from qmlir.ir.builtin_types import tensor
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, nearest_name, note
from qmlir.ir.given import TakesValues
from qmlir.ir.statistics import count
from qmlir.quantization.profiles.attached import attach, calibrated_type
from qmlir.quantization.profiles.digest import model_digest
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.profiles.given import has_parameters
from qmlir.quantization.profiles.keys import KeyedValue, functions_of, keyed_values

SHOWN = 3
"""So many of the problems stand in the message itself; the notes have all."""


@dataclass
class _Ties:
    """Values that have one type because a call hands one on as the other: arguments, and what is returned."""

    _parents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def root(self, value: SSAValue) -> SSAValue:
        while (parent := self._parents.get(value)) is not None:
            value = parent
        return value

    def tie(self, left: Iterable[SSAValue], right: Iterable[SSAValue]) -> None:
        for one, other in zip(left, right, strict=True):
            if self.root(one) is not self.root(other):
                self._parents[self.root(one)] = self.root(other)


def _return_of(function: FuncOp) -> ReturnOp | None:
    last = function.body.blocks[-1].last_op
    return last if isinstance(last, ReturnOp) else None


def _calls(module: ModuleOp) -> Iterator[tuple[CallOp, FuncOp]]:
    functions = {function.sym_name.data: function for function in functions_of(module)}
    for op in module.walk():
        if isinstance(op, CallOp) and op.callee.root_reference.data in functions:
            yield op, functions[op.callee.root_reference.data]


def _ties(module: ModuleOp) -> _Ties:
    ties = _Ties()
    for call, function in _calls(module):
        ties.tie(call.operands, function.body.blocks[0].args)
        if (returned := _return_of(function)) is not None:
            ties.tie(call.results, returned.operands)
    return ties


def _retype(module: ModuleOp, entries: dict[SSAValue, Statistics]) -> None:
    """Give each value that has an entry, and what is tied to it, the calibrated type of the range."""
    ties = _ties(module)
    ranges: dict[SSAValue, tuple[float, float]] = {}
    for value, statistics in entries.items():
        root = ties.root(value)
        low, high = ranges.get(root, (statistics.minimum, statistics.maximum))
        ranges[root] = min(low, statistics.minimum), max(high, statistics.maximum)
    for function in functions_of(module):
        values = [*function.body.blocks[0].args, *(result for op in function.body.walk() for result in op.results)]
        for value in values:
            if (found := ranges.get(ties.root(value))) is not None:
                type_ = tensor(value.type)
                expressed = plain_type(type_.get_element_type())
                assert isinstance(expressed, AnyFloat)
                element = calibrated_type(*found, expressed)
                Rewriter.replace_value_with_new_type(value, TensorType(element, type_.get_shape(), type_.encoding))
        returned = _return_of(function)
        outputs = function.function_type.outputs.data if returned is None else [each.type for each in returned.operands]
        inputs = [argument.type for argument in function.body.blocks[0].args]
        function.function_type = FunctionType.from_lists(inputs, list(outputs))


def _remove_observers(module: ModuleOp) -> None:
    observers = [op for op in module.walk() if isinstance(op, ObserveOp)]
    for observer in observers:
        observer.result.replace_all_uses_with(observer.input)
        Rewriter.erase_op(observer)


@dataclass(frozen=True)
class CalibApplyProfile(TakesValues):
    """Give every float value the type `!quant.calibrated` of the range that the profile saw, its statistics beside it.

    Observers go. Constants need no entry: their range is in their data. Neither does what has parameters already: a
    value that was dequantized, or that is quantized to one type, stays as it is. A profile entry that matches no value,
    a value without an entry and a profile of another model are one error that lists all of them, or with
    `allow_partial` a warning. The batch size of the model makes no difference. Values that calls hand on share the
    range of both.

    A range of one number is widened to 0, as every quantizer does; the statistics keep the observed range.

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
                      exact = "0x01021A022E02EA010408010307010102010200010100">
    !y = !quant.calibrated<f32<0.0:2.0>>
    #y = #calib.stats<min = 0.0, max = 2.0, mean = 0.5625, std = 0.6817945071647321, count = 8,
                      exact = "0x01041201120132020801000504010200010100">
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
    """A profile that the caller has, in place of the file."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        profile = self.taken or Profile.load(self.profile)
        keyed = keyed_values(op)
        problems = [*_other_model(op, profile), *_mismatches(profile, keyed)]
        if problems:
            self._report(problems)
        entries = {
            each.value: profile.values[each.key]
            for each in keyed
            if each.key in profile.values and not has_parameters(each.value)
        }
        _remove_observers(op)
        for value, statistics in entries.items():
            attach(value, statistics)
        _retype(op, entries)
        count("values calibrated", len(entries))

    def _report(self, problems: list[Diagnostic]) -> None:
        listed = "; ".join(problem.message for problem in problems[:SHOWN])
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        name = f" '{self.profile}'" if self.taken is None else ""
        message = f"the profile{name} does not fit: {listed}{more}"
        notes = tuple(problems) if more else ()
        if not self.allow_partial:
            message += " (allow_partial takes what fits)"
            raise DiagnosticError(Diagnostic(Severity.ERROR, message, notes=notes))
        emit(Diagnostic(Severity.WARNING, message, notes=notes))


def _problem(message: str) -> Diagnostic:
    return Diagnostic(Severity.NOTE, message)


def _other_model(module: ModuleOp, profile: Profile) -> Iterator[Diagnostic]:
    found, made = model_digest(module), profile.model
    if found.structure != made.structure:
        passes = f"'{profile.passes}'" if profile.passes else "none"
        yield _problem(f"it is of another model, or of one that went through other passes (then: {passes})")
    elif found.weights and made.weights and found.weights != made.weights:
        yield _problem("it is of a model with other weights")


def _near(key: str, others: Iterable[str]) -> str:
    """The end of a message: the nearest name, or one of a part where `key` is the whole, and the other way round."""
    parts = (each for each in others if each.startswith(f"{key}/") or key.startswith(f"{each}/"))
    return nearest_name(key, others) or next((f", there is '{part}'" for part in parts), "")


def _mismatches(profile: Profile, keyed: list[KeyedValue]) -> Iterator[Diagnostic]:
    """The keys of the profile without a value, then the values without an entry; each with the nearest name."""
    known = {each.key for each in keyed}
    unmatched = [key for key in profile.values if key not in known]
    missing = {
        each.key: each
        for each in keyed
        if not each.is_constant and each.key not in profile.values and not has_parameters(each.value)
    }
    for key in sorted(unmatched):
        yield _problem(f"the entry '{key}' matches no value{_near(key, missing or known)}")
    for key, each in missing.items():
        yield note(each.owner, f"has no entry for its value '{key}'{_near(key, unmatched)}")
