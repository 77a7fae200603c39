"""Why an operation is not quantized: the closed list of causes, each with what the user can do about it.

Summaries, reports, `explain`, warnings and remarks take their text from here, as `not quantized: CAUSE; help: ACTION`.
The lowercase name of a member is its anchor on the page that lists all causes.
"""

from enum import Enum


class FloatCause(Enum):
    """A cause as a format string, and an action, which is empty if nothing can be done."""

    EXCLUDED = (
        "a rule of the recipe excludes it",
        "remove that rule, or the pattern from --exclude (exclude=), to quantize it",
    )
    ALREADY_FLOAT = ("an earlier quantization of this model left it in float", "quantize the original float model")
    UNSUPPORTED = ("it has no integer kernel", "")
    KEPT_COMPOSITE = (
        "it is kept as a composite, which has no integer kernel",
        "remove it from --keep-composites (keep_composites=) to quantize its parts",
    )
    NOT_QUANTIZABLE = ("its dialect does not implement quantization", "")
    DYNAMIC_LENGTH = (
        "its sequence length is dynamic, so either all of its parts are quantized or none",
        "fix the length with --shape (shapes=)",
    )
    TOO_MANY_OPERANDS = ("at most {most} quantized operands are supported, but it has {count}", "")
    VARIABLE_EXPONENT = ("its exponents are not constant", "")
    FLOAT_NEIGHBOR = ("an adjacent op is in float, so an integer norm would only add casts", "")
    THRESHOLDS = ("it compares floats with thresholds", "")
    FALLBACK = ("{cause}", "")
    NO_SAMPLE = (
        "no calibration sample reached it, or one of its values is not f32",
        "add samples that take this branch",
    )
    NOT_F32 = ("it has an operand of type '{type}', but only f32 is quantized", "")
    NO_OPERAND_RANGE = ("operand {value} has no calibrated range", "add samples that reach it")
    NO_RESULT_RANGE = ("its result has no calibrated range", "add samples that reach it")
    INFINITE_OPERAND = ("operand {value} was infinite during calibration", "")
    INFINITE_RESULT = ("its result was infinite during calibration", "")
    INFINITE_WEIGHT = ("it has an infinite weight", "replace infinite values in the weights of the model")
    NAN = ("it has a constant with NaN", "replace NaN in the constants of the model")
    MAYBE_NAN = ("it may read NaN from a constant", "replace NaN in the constants of the model")
    DOMAIN = (
        "it requires x {domain}, but {storage} with scale {scale:.3g} cannot represent [{low:.3g}, {high:.3g}] there",
        "",
    )
    COARSE_STEP = (
        "it requires a scale <= {coarsest:.3g}, but {storage} for [{low:.3g}, {high:.3g}] has scale {scale:.3g}",
        "",
    )
    FEEDS_FLOAT = ("its result feeds {op}, which is in float", "")
    EXACT_READER = ("only tree ensembles, fallback nodes or dynamic quantization read its result", "")
    DYNAMIC_SCALE = ("it computes with the scale of a dynamic quantization", "")
    FAR_FILL = ("it has a mask fill of {fill:.6g}, too far from its other values for one scale", "")
    FAR_FILL_MASK = ("it computes a mask whose fill is too far from the masked values for one scale", "")
    OUTPUT_JOIN = ("it only joins values for outputs, and a common type would cost one of them {lost:.1f} dB", "")
    OUTPUT_LOSS = ("it computes an output, whose variation would have an SQNR of {reached:.1f} dB in integers", "")
    OUTPUT_MOVE = ("it only moves the result of {op}, which is in float, to an output", "")
    OUTPUT_CHOICE = ("its choice depends on the result of {op}, which is in float", "")
    OUTPUT_SUM = ("it only moves 32-bit accumulators to an output", "")
    INPUT_LOSS = ("it prepares an input, whose variation would have an SQNR of {reached:.1f} dB in integers", "")
    INPUT_SCALER = ("its weights contain a scaler of the input, whose SQNR would be {reached:.1f} dB in 16 bits", "")
    TARGET_FLOAT = ("target '{target}' computes it in float", "")
    TARGET = ("target '{target}' does not support it{detail}", "")
    TYPES = ("it does not support the types chosen for it: {detail}", "")

    @property
    def text(self) -> str:
        """The cause, with placeholders in braces."""
        return self.value[0]

    @property
    def action(self) -> str:
        """What the user can do; empty if nothing helps."""
        return self.value[1]

    @property
    def anchor(self) -> str:
        """The anchor of the cause on the page that lists all of them."""
        return self.name.lower().replace("_", "-")

    def reason(self, **details: object) -> str:
        """The cause with `details` filled in, and the action: `CAUSE; help: ACTION`."""
        cause = self.text.format(**details)
        return f"{cause}; help: {self.action}" if self.action else cause
