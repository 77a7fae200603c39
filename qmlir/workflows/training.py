"""A model that is trained as the integer program that it becomes, and what training found put back into it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.requantize import computes_quantized
from qmlir.interpreter.samples import Data
from qmlir.interpreter.sources import Preprocess, preprocessed
from qmlir.ir.diagnostics import nearest_name, text_error
from qmlir.ir.signature import inputs_of
from qmlir.ir.verification import verify
from qmlir.passes.quantized.quant_simulate import QuantSimulate
from qmlir.passmanager.pipeline import Pipeline
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import CLEAN, STORE, literal_steps
from qmlir.quantization.learned import (
    METHODS,
    LearnedWeight,
    begin_scales,
    check_method,
    check_modes,
    float_constants,
    marked_scales,
    open_parts,
    parameters_of,
    set_parameters,
    watch,
    weights_of,
)
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.retyping import TRAINABLE
from qmlir.quantization.settings import QuantizeSettings, tells_settings
from qmlir.specialization.inputs import function_of
from qmlir.text.readable import Readable
from qmlir.workflows.calibrated import stages_of
from qmlir.workflows.loading import takes_model
from qmlir.workflows.profiling import profile as record_profile


@dataclass(frozen=True, repr=False)
class Trainable(Readable):
    """A quantized model on floats that hold its integers, whose parameters are inputs.

    `module` takes the inputs of the model and `parameters`, by their names, and gives its outputs, the integers in
    between being those that the frozen module computes. `qmlir.gradient` differentiates it.
    """

    module: ModuleOp
    parameters: Mapping[str, Array]
    """What training begins with: weights, biases, and scales or thresholds, f32."""

    learned_scales: frozenset[str]
    """The parameters that are scales, above 0, or logarithms of thresholds."""

    _quantized: ModuleOp
    _simulate: QuantSimulate
    """The pass that gave `module`."""

    _scales: str
    _run: Callable[..., None]

    def freeze(self, parameters: Mapping[str, Array]) -> ModuleOp:
        """The quantized module of these parameters, as `qmlir.quantize` gives one; others are as they began.

        Raises `DiagnosticError` for a name that is no parameter, for a shape that is not that of the parameter, and
        for what is not a finite number, or as a scale not above 0.
        """
        found = {name: self._checked(name, array) for name, array in parameters.items()}
        frozen = self._quantized.clone()
        set_parameters(function_of(frozen, ENTRY), found, self._scales)
        for op in frozen.walk():
            op.attributes.pop(TRAINABLE, None)
        # Nothing is decided here: what was trained is this arithmetic, whatever scales it found.
        run_pipeline(frozen, STORE)
        self._run(frozen, "raise", "store")
        return frozen

    def watched(self) -> "Trainable":
        """The same with the stored integers of every quantized value as outputs besides, in `module` and when frozen.

        An output has the name of its value's place in the model. What has a bias has been added to it there: biases
        themselves are left out.
        """
        quantized = self._quantized.clone()
        watch(function_of(quantized, ENTRY), self._scales)
        return replace(self, module=_simulated(quantized, self._simulate), _quantized=quantized)

    @property
    def positive(self) -> frozenset[str]:
        """The parameters that stay above 0."""
        method = METHODS[self._scales]
        return self.learned_scales if method is not None and method.is_positive else frozenset()

    def weights(self, bits: int = 32) -> list[LearnedWeight]:
        """The parameters that are weights of at most `bits` bits."""
        known = weights_of(function_of(self._quantized, ENTRY), self._scales)
        return [each for each in known if each.name in self.parameters and each.element.bits <= bits]

    def fitted(self, bits: int) -> dict[str, Array]:
        """The parameters, with the learned scales of weights of at most `bits` bits that have the least squared error.

        A scale by the largest weight leaves most of few codes to few weights.
        """
        found = dict(self.parameters)
        sharing: dict[str, list[LearnedWeight]] = {}
        for weight in self.weights(bits):
            if weight.scale is not None and weight.scale.name in found:
                sharing.setdefault(weight.scale.name, []).append(weight)
        for name, weights in sharing.items():
            begun = self.parameters[name]
            best = np.full(begun.shape, np.inf)
            for share in _SHARES:
                tried = begun * share if name in self.positive else begun + np.log2(share)
                errors = sum(_squared_errors(weight, {**self.parameters, name: tried}) for weight in weights)
                is_better = errors < best
                best, found[name] = np.where(is_better, errors, best), np.where(is_better, tried, found[name])
        return found

    def _checked(self, name: str, array: Array) -> Array:
        known = self.parameters.get(name)
        if known is None:
            raise text_error(f"unknown parameter '{name}'{nearest_name(name, self.parameters)}")
        if np.shape(array) != known.shape:
            raise text_error(f"parameter '{name}' must have shape {known.shape}, but got {np.shape(array)}")
        if not np.isfinite(array).all():
            raise text_error(f"parameter '{name}' must be finite")
        if name in self.positive and not np.all(np.asarray(array) > 0):
            raise text_error(f"scale '{name}' must be greater than 0, but got {np.min(array)}")
        return np.asarray(array, np.float32)

    def text(self) -> str:
        """What is trained, in numbers."""
        count = sum(array.size for array in self.parameters.values())
        return f"{len(self.parameters)} parameters, {len(self.learned_scales)} of them scales; {count} elements\n"


_SHARES = np.asarray([1, *np.linspace(0.1, 2, 191)], np.float32)
"""Of the scale by the largest weight, those that are tried: few weights beside one that is large ask for little of it,
and -1 in the place of the code -2 for twice of it."""


def _squared_errors(weight: LearnedWeight, parameters: Mapping[str, Array]) -> Array:
    """Those of rounding a weight, summed over what has one scale, in the shape of its scales."""
    codes, steps = weight.codes(parameters)
    errors = np.square((codes * steps - parameters[weight.name]).astype(np.float64))
    lone = tuple(axis for axis in range(errors.ndim) if steps.ndim == 0 or steps.shape[axis] == 1)
    return errors.sum(lone).reshape(weight.element.scales.shape)


def _simulated(quantized: ModuleOp, simulate: QuantSimulate) -> ModuleOp:
    """What the pass `simulate` makes of a quantized module."""
    module = quantized.clone()
    run_pipeline(module, Pipeline((simulate, *literal_steps(CLEAN))))
    verify(module)
    return module


@takes_model
@tells_settings(module="Model", data="Data | None")
def trainable(
    module: ModuleOp,
    data: Data | None = None,
    *,
    profile: Profile | None = None,
    scales: str = "lsq",
    train: Sequence[str] = (),
    preprocess: Preprocess | None = None,
    **settings: Unpack[QuantizeSettings],
) -> Trainable:
    """A model to train as the integer program that `quantize` would make of it by `settings`.

    `data`, or `profile`, a profile of the lowered model, gives the ranges that training begins with. A model that is
    quantized, such as one in QDQ form, takes neither, and no settings: training goes on at its own scales, and at
    weights and biases as they were rounded. `scales` says how scales are learned: `lsq` learns them themselves, `tqt`
    thresholds whose scales are powers of two (schemes `symmetric_pow2` or `asymmetric_pow2`), `fixed` learns none.
    `train` are patterns of names of parameters (`*` for any text): everything else stays as it is.

    Raises `DiagnosticError` for data or a profile that do not fit, for a pattern that no parameter has, and, naming it
    with its place in the model, for an operation on integers that has no form on floats.
    """
    if settings.get("accumulator_bits"):
        raise text_error("accumulator_bits has no effect on training: only rounding keeps sums within 16 bits")
    check_method(scales)
    run = stages_of(settings, module, is_trained=True)
    quantized = module.clone()
    is_quantized = computes_quantized(module)
    if is_quantized and (data is not None or profile is not None or settings):
        given = ", ".join(filter(None, ("data" if data is not None else "", "profile" if profile else "", *settings)))
        raise text_error(f"the model is already quantized: training uses its types, so {given} cannot be set")
    if is_quantized:
        float_constants(function_of(quantized, ENTRY))
    else:
        if (data is None) == (profile is None):
            raise text_error("pass either samples (data=) or a profile (profile=), not both")
        run(quantized, "target", "lower")
        if data is not None:
            profile = record_profile(quantized, preprocessed(data, preprocess))
        run(quantized, "profile", "mask", "balance", taken=profile)
        run(quantized, "decide", "propagate")
    function = function_of(quantized, ENTRY)
    open_parts(function)
    simulate = QuantSimulate(scales=scales, only=tuple(train))
    begin_scales(function, scales, train)
    with marked_scales(function, scales, train):
        if is_quantized:  # its operations say how they rescale
            check_modes(function)
        else:
            run(quantized, "rescale")
    simulated = _simulated(quantized, simulate)
    inputs = {port.name for port in inputs_of(function_of(simulated, ENTRY))}
    known = [each for each in parameters_of(function, scales) if each.name in inputs]
    begun = {each.name: each.initial for each in known}
    learned = frozenset(each.name for each in known if each.method is not None)
    return Trainable(simulated, begun, learned, quantized, simulate, scales, run)
