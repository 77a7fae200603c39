"""Reasons why an operation is not quantized: the closed list of causes, each with an action that the user can take.

Summaries, reports, `explain`, warnings and remarks take their text from here, as `not quantized: CAUSE; help: ACTION`.
`docs/reference/diagnostics.md` is generated from this list; the lowercase name of a member is its anchor on that page.
"""

from enum import Enum


class FloatCause(Enum):
    """A cause. Each value has a format string, an explanation in Markdown, and an action if an option helps."""

    EXCLUDED = (
        "a rule of the recipe excludes it",
        "The recipe says `quantize = false` for it, or `--exclude` names it.",
        "remove that rule, or the pattern from --exclude (exclude=), to quantize it",
    )
    FLOAT_ACTIVATIONS = (
        "its activations are f32 or quantized at run time, as requested",
        '`--activations f32`, or `storage = "f32"` in the recipe, keeps the activations in float. `dynamic` keeps '
        "activations in float that no contraction reads. Constant weights of matmuls, convolutions and embeddings are "
        "still stored as integers "
        "([weight-only quantization](../quantization.md#weight-only-quantization)).",
    )
    ALREADY_FLOAT = (
        "an earlier quantization of this model left it in float",
        "The model contains quantized types, and a pass left this operation in float when it chose them.",
        "quantize the original float model",
    )
    UNSUPPORTED = (
        "it has no integer kernel",
        "qmlir defines no integer arithmetic for this operation, so it computes in float between casts. The "
        "matrix of [operations](operations.md) lists the operations that have one.",
    )
    KEPT_COMPOSITE = (
        "it is kept as a composite, which has no integer kernel",
        "A composite, such as a softmax, is kept whole. Only some composites compute on integers as a whole; the "
        "parts of the others do.",
        "remove it from --keep-composites (keep_composites=) to quantize its parts",
    )
    NOT_QUANTIZABLE = (
        "its dialect does not implement quantization",
        "The operation comes from a package whose dialect doesn't implement `Quantizable` "
        "([extending](../extending/dialect.md)).",
    )
    DYNAMIC_LENGTH = (
        "its sequence length is dynamic, so either all of its parts are quantized or none",
        "A recurrent layer of dynamic length is quantized part by part, and one of its parts can't be quantized. "
        "The reason of that part is listed separately.",
        "fix the length with --shape (shapes=)",
    )
    TOO_MANY_OPERANDS = (
        "at most {most} quantized operands are supported, but it has {count}",
        "An Einstein sum of three or more operands has no exact accumulator. Split it into sums of two.",
    )
    VARIABLE_EXPONENT = (
        "its exponents are not constant",
        "A power is quantized only if its exponents are constants.",
    )
    FLOAT_NEIGHBOR = (
        "an adjacent op is in float, so an integer norm would only add casts",
        "A layer norm computes on integers if its data is quantized, and if all consumers of its result quantize "
        "it to one type. Quantize the operation next to it, or accept the float norm.",
    )
    THRESHOLDS = (
        "it compares floats with thresholds",
        "A tree ensemble compares its features with float thresholds. Rounded features could take other branches.",
    )
    FALLBACK = (
        "{cause}",
        "ONNX Runtime computes this node on floats. The cause names the operator, or its unsupported form "
        "([unsupported operators](../unsupported-operators.md)).",
    )
    NO_SAMPLE = (
        "no calibration sample reached it, or one of its values is not f32",
        "No range was recorded for its values: it is in a branch or loop body that no sample entered, or a value "
        "has another type than f32.",
        "add samples that take this branch",
    )
    NOT_F32 = (
        "it has an operand of type '{type}', but only f32 is quantized",
        "Only f32 values are quantized. f16, bf16 and f64 are converted to f32 first; integers and booleans stay "
        "as they are.",
    )
    NO_OPERAND_RANGE = (
        "operand {value} has no calibrated range",
        "Calibration recorded no value of this operand: no sample reached it, or the profile was recorded on "
        "another model.",
        "add samples that reach it",
    )
    NO_RESULT_RANGE = (
        "its result has no calibrated range",
        "Calibration recorded no value of the result: no sample reached it, or the profile was recorded on "
        "another model.",
        "add samples that reach it",
    )
    INFINITE_OPERAND = (
        "operand {value} was infinite during calibration",
        "No integer represents infinity. Clip the operand in the model, or replace the infinite constant by a "
        "finite one.",
    )
    INFINITE_RESULT = (
        "its result was infinite during calibration",
        "No integer represents infinity. Often a division by 0 or a logarithm of 0 is the cause.",
    )
    INFINITE_WEIGHT = (
        "it has an infinite weight",
        "A weight that saturates would turn infinite sums into finite ones.",
        "replace infinite values in the weights of the model",
    )
    NAN = (
        "it has a constant with NaN",
        "No integer represents NaN.",
        "replace NaN in the constants of the model",
    )
    MAYBE_NAN = (
        "it may read NaN from a constant",
        "A constant with NaN reaches it through operations that move or select values.",
        "replace NaN in the constants of the model",
    )
    DOMAIN = (
        "it requires x {domain}, but {storage} with scale {scale:.3g} cannot represent [{low:.3g}, {high:.3g}] there",
        "A logarithm, a root or a division is undefined for integers at the edge of this type, and the observed values "
        "don't fit without them. 16 bits for the operand often help: `--activations i16`, or a rule for this node.",
    )
    COARSE_STEP = (
        "it requires a scale <= {coarsest:.3g}, but {storage} for [{low:.3g}, {high:.3g}] has scale {scale:.3g}",
        "A periodic function, such as a sine, needs a quantization step far below its period. Use 16 bits for its "
        "operand.",
    )
    FEEDS_FLOAT = (
        "its result feeds {op}, which is in float",
        "Its result is only read by an operation whose domain its integers would leave. Quantizing it would add "
        "casts and lose accuracy.",
    )
    FLOAT_MOVE = (
        "it only moves values between operations in float",
        "No operation that it reads from or moves values to computes on integers, so quantizing it would only round "
        "these values.",
    )
    EXACT_READER = (
        "only tree ensembles, fallback subgraphs or dynamic quantization read its result",
        "The reader compares values, or derives a scale from them. Rounding them before would change decisions "
        "and save no matmul.",
    )
    DYNAMIC_SCALE = (
        "it computes with the scale of a dynamic quantization",
        "A dynamically quantized model computes its scales at run time. They multiply integer sums, and stay as "
        "exact as a scale in a type.",
    )
    FAR_FILL = (
        "it has a mask fill of {fill:.6g}, too far from its other values for one scale",
        "A mask writes a constant such as -1e9 over elements. One scale for this constant and for the other "
        "values would leave the others few integers ([masks](../masks.md)).",
    )
    FAR_FILL_MASK = (
        "it computes a mask whose fill is too far from the masked values for one scale",
        "It computes the constant of a mask, which one scale can't represent together with the masked values "
        "([masks](../masks.md)).",
    )
    OUTPUT_JOIN = (
        "it only joins values for outputs, and a common type would cost one of them {lost:.1f} dB",
        "Outputs of different ranges are concatenated. In float, each keeps its own scale up to the output.",
    )
    OUTPUT_LOSS = (
        "it computes an output, whose variation would have an SQNR of {reached:.1f} dB in integers",
        "The last steps of the model, such as `y * scale + offset`, produce physical units: the variation is "
        "small next to the offset. In float they lose nothing.",
    )
    OUTPUT_MOVE = (
        "it only moves the result of {op}, which is in float, to an output",
        "Moving values to an output costs nothing in float.",
    )
    OUTPUT_CHOICE = (
        "its choice depends on the result of {op}, which is in float",
        "An ArgMax or a comparison reads a float value. Rounding that value first could change the choice.",
    )
    OUTPUT_SUM = (
        "it only moves 32-bit accumulators to an output",
        "The exact accumulators of a matmul go to an output, so rounding them to 8 bits would only lose accuracy.",
    )
    INPUT_LOSS = (
        "it prepares an input, whose variation would have an SQNR of {reached:.1f} dB in integers",
        "The first steps of the model, such as `(x - mean) / deviation`, read physical units. The input is "
        "quantized after them.",
    )
    INPUT_SCALER = (
        "its weights contain a scaler of the input, whose SQNR would be {reached:.1f} dB in 16 bits",
        "A scaler of the input was folded into the weights of the first layer, so its columns differ too much "
        "even for 16 bits. Keep the scaler as separate nodes, and the layer can be quantized.",
    )
    TARGET_FLOAT = (
        "target '{target}' computes it in float",
        "The target that runs this operation (`--device`) computes it in float.",
    )
    TARGET = (
        "target '{target}' does not support it{detail}",
        "No kernel of the target (`--device`) accepts this operation with the chosen types. The detail names the "
        "type that doesn't fit.",
    )
    TYPES = (
        "it does not support the types chosen for it: {detail}",
        "The recipe, or the types of its neighbors, lead to types for which the operation defines no arithmetic. "
        "The detail names them; change the rule, or remove it.",
    )

    def __init__(self, text: str, explanation: str, action: str = "") -> None:
        self.text = text
        """The description of the cause, with placeholders in braces."""
        self.explanation = explanation
        """The meaning of the cause and possible remedies, for the page that lists all causes."""
        self.action = action
        """The action that the user can take; empty if no option helps."""

    @property
    def anchor(self) -> str:
        """The anchor of the cause on the page that lists all of them."""
        return self.name.lower().replace("_", "-")

    def reason(self, **details: object) -> str:
        """Returns the cause with `details` filled in, and the action: `CAUSE; help: ACTION`."""
        cause = self.text.format(**details)
        return f"{cause}; help: {self.action}" if self.action else cause
