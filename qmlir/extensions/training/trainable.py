"""A model that is trained as the integer program that it will become."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.requantize import computes_quantized
from qmlir.extensions.training.differentiating import GradientFunctions, gradient
from qmlir.extensions.training.nn_gradient import BACKWARD, FORWARD
from qmlir.extensions.training.parameters import (
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
from qmlir.extensions.training.quant_simulate import QuantSimulate
from qmlir.interpreter.datasets import Preprocess, preprocessed
from qmlir.interpreter.samples import Data
from qmlir.ir.diagnostics import nearest_name, text_error
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import Pipeline
from qmlir.pipelines import CLEAN, STORE, literal_steps
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.retyping import TRAINABLE
from qmlir.quantization.settings import QuantizeSettings, tells_settings
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import Shapes, specialize
from qmlir.targets.compiling import compile
from qmlir.text.tables import Readable
from qmlir.workflows.calibrated import stages_of
from qmlir.workflows.loading import takes_model
from qmlir.workflows.profiling import profile as record_profile


@dataclass(frozen=True, repr=False)
class Trainable(Readable):
    """A float model with its parameters as inputs. Its results correspond exactly to those of the quantized model."""

    module: ModuleOp
    """The module. It takes the inputs of the model and all `parameters` by name. `gradient` differentiates it."""

    parameters: Mapping[str, Array]
    """The initial parameters by name, f32: weights, biases, and scales or thresholds."""

    learned_scales: frozenset[str]
    """The names of the parameters that are scales (greater than 0) or logarithms of thresholds."""

    _quantized: ModuleOp
    _simulate: QuantSimulate
    """The pass that made `module`."""

    _scales: str
    _run: Callable[..., None]

    def freeze(self, parameters: Mapping[str, Array]) -> ModuleOp:
        """Make the quantized module of trained parameters.

        Args:
            parameters: Trained parameters by name. Others keep their initial value.

        Returns:
            The quantized module, as `quantize` makes it. It computes exactly what `module` computes with these
            parameters.

        Raises:
            DiagnosticError: A name is not a parameter, an array has another shape or is not finite, or a scale is not
                greater than 0.
        """
        found = {name: self._checked(name, array) for name, array in parameters.items()}
        frozen = self._quantized.clone()
        set_parameters(function_of(frozen, ENTRY), found, self._scales)
        for op in frozen.walk():
            op.attributes.pop(TRAINABLE, None)
        # No types are decided here: training used this arithmetic, whatever scales it found.
        run_pipeline(frozen, STORE)
        self._run(frozen, "raise", "store")
        return frozen

    def watched(self) -> "Trainable":
        """Return the same model with the stored integers of every quantized value as additional outputs.

        An output is named after the node that computes it; its bias has been added. Frozen modules have these outputs
        also.

        Returns:
            The trainable model with these outputs.
        """
        quantized = self._quantized.clone()
        watch(function_of(quantized, ENTRY), self._scales)
        return replace(self, module=_simulated(quantized, self._simulate), _quantized=quantized)

    @property
    def positive(self) -> frozenset[str]:
        """Names of the parameters that must stay greater than 0."""
        method = METHODS[self._scales]
        return self.learned_scales if method is not None and method.is_positive else frozenset()

    def weights(self, bits: int = 32) -> list[LearnedWeight]:
        """Find the parameters that are weights.

        Args:
            bits: Maximum number of bits.

        Returns:
            The weights of at most that number of bits, with their types and scales.
        """
        known = weights_of(function_of(self._quantized, ENTRY), self._scales)
        return [each for each in known if each.name in self.parameters and each.element.bits <= bits]

    def fitted(self, bits: int) -> dict[str, Array]:
        """Fit the scales of narrow weights by least squared error.

        Initial scales cover the largest weight, which leaves most weights few quantized values.

        Args:
            bits: Maximum number of bits of the weights to fit.

        Returns:
            All parameters, with the fitted scales.
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
        """Count the parameters.

        Returns:
            The number of parameters, of scales among them, and of elements.
        """
        count = sum(array.size for array in self.parameters.values())
        return f"{len(self.parameters)} parameters, {len(self.learned_scales)} of them scales; {count} elements\n"


_SHARES = np.asarray([1, *np.linspace(0.1, 2, 191)], np.float32)
"""The candidate factors for the initial scale. If one weight is much larger than the others, a small fraction of the
initial scale is best. A factor of up to 2 lets a weight use the code -1 instead of -2.
"""


def _squared_errors(weight: LearnedWeight, parameters: Mapping[str, Array]) -> Array:
    """Returns the squared errors of rounding a weight, in the shape of its scales.

    Each is summed over the elements that have this scale.
    """
    codes, steps = weight.codes(parameters)
    errors = np.square((codes * steps - parameters[weight.name]).astype(np.float64))
    lone = tuple(axis for axis in range(errors.ndim) if steps.ndim == 0 or steps.shape[axis] == 1)
    return errors.sum(lone).reshape(weight.element.scales.shape)


def _simulated(quantized: ModuleOp, simulate: QuantSimulate) -> ModuleOp:
    """Returns a copy of a quantized module, simulated by the pass `simulate`."""
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
    """Make a model whose parameters can be trained as the integer program that `quantize` would make.

    A quantized model, such as one in QDQ form, continues training with its types: it takes no `data`, `profile` or
    settings.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.
        data: Samples to initialize ranges from, in a form that `qmlir.profile` accepts. A float model requires `data`
            or `profile`.
        profile: Statistics to initialize ranges from: the result of `qmlir.profile` with `passes=None`.
        scales: How scales are learned: `"lsq"` learns them directly, `"tqt"` learns thresholds of power-of-two scales
            (schemes `symmetric_pow2` and `asymmetric_pow2`), `"fixed"` keeps them.
        train: Patterns of the names of parameters to train, such as `"fc*"`. Others are constants. Empty trains all.
        preprocess: Function that converts an item of `data` to the model's input, or its name:
            `package.module:function` or `file.py:function`.

    Returns:
        The trainable model, and its initial parameters.

    Raises:
        DiagnosticError: Data, profile or settings do not fit the model or each other, a pattern matches no parameter,
            or an operation cannot be trained.
        TypeError: An argument is not a setting. The message suggests a similar name.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> trained = qmlir.trainable(model, data, weights="i4")
        >>> parameters = dict(trained.parameters)
        >>> parameters["bias"] = parameters["bias"] + 0.5
        >>> quantized = trained.freeze(parameters)
    """
    if settings.get("accumulator_bits"):
        raise text_error("accumulator_bits has no effect on training: only rounding keeps sums within a width")
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
        if is_quantized:  # its operations already have a requantization mode
            check_modes(function)
        else:
            run(quantized, "rescale")
    simulated = _simulated(quantized, simulate)
    inputs = {port.name for port in inputs_of(function_of(simulated, ENTRY))}
    known = [each for each in parameters_of(function, scales) if each.name in inputs]
    begun = {each.name: each.initial for each in known}
    learned = frozenset(each.name for each in known if each.method is not None)
    return Trainable(simulated, begun, learned, quantized, simulate, scales, run)


# The forward and backward programs of a model in training, compiled for inputs of one shape.
#
# Two training loops use them: that of `qmlir.finetune`, and PyTorch training loops through `qmlir.torch`.


def data_inputs(trained: Trainable) -> list[Port]:
    """Returns the inputs of the model, excluding its parameters."""
    inputs = inputs_of(function_of(trained.module, ENTRY))
    return [port for port in inputs if port.name not in trained.parameters]


class TrainingPrograms:
    """The functions `@forward` and `@backward` of a trainable model, compiled for one shape of each input.

    Parameters are inputs of the programs, so changing them does not recompile anything.
    """

    def __init__(
        self, trained: Trainable, shapes: Shapes, *, wrt: Sequence[str] = (), threads: int = 1, isa: str = "host"
    ) -> None:
        """`wrt` names inputs of the model whose gradients are computed in addition. Raises `DiagnosticError`."""
        names = [port.name for port in data_inputs(trained)]
        known = {name: shape for name, shape in shapes.items() if name in names}
        module = gradient(specialize(trained.module, known), [*trained.parameters, *wrt], recompute=True)
        run_pipeline(module, f"nn-contract-integers,{CLEAN}")
        self.outputs = [port.name for port in outputs_of(function_of(trained.module, ENTRY))]
        """The names of the results of the model."""

        programs = {name: compile(module, function=name, threads=threads, isa=isa) for name in (FORWARD, BACKWARD)}
        self._functions = GradientFunctions(module, lambda name, given: programs[name](given))

    def forward(self, inputs: Mapping[str, Array], parameters: Mapping[str, Array]) -> dict[str, Array]:
        """Runs `@forward`, and returns all values that `backward` may read: arguments, results and kept values."""
        return self._functions.forward({**inputs, **parameters})

    def results(self, inputs: Mapping[str, Array], parameters: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the results of the model as f32 arrays."""
        values = self.forward(inputs, parameters)
        return {name: values[name] for name in self.outputs}

    def backward(self, values: Mapping[str, Array], gradients: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the gradients of parameters by name, given the `values` of `forward` and `gradients` of results.

        A result without an entry in `gradients` has the gradient 0.
        """
        return self._functions.backward(values, gradients)
