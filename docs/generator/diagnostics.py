"""The page of diagnostics: the causes of float operations from their table, and warnings and errors from the code.

A message is named by its file and a part of its text. Its printed form comes from the source, so the page can't state
a message that no code emits.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.generator.markdown import GENERATED, block
from qmlir.ir.diagnostics import text_error
from qmlir.ir.float_reasons import FloatCause

_SOURCES = Path(__file__).resolve().parents[2] / "qmlir"


@dataclass(frozen=True)
class Message:
    """A message that users meet."""

    title: str
    """The symptom; the heading, and thus the anchor."""

    file: str
    """The source file, relative to `qmlir/`."""

    part: str
    """A string of this file, with `…` for computed parts; or a part that no other string of it contains."""

    explanation: str
    """What it means, and what to do."""


_QUANTIZING = (
    Message(
        "Samples look unscaled",
        "workflows/calibration_samples.py",
        "scale the samples as in training",
        "The inputs are so large that the float model is certain of every sample. Usually a division by 255 is missing "
        "in the preprocessing. Prepare samples as in production ([calibration data](../calibration-data.md)).",
    ),
    Message(
        "Samples are scaled twice",
        "workflows/calibration_samples.py",
        "but the model divides it by 255",
        "The model contains the division. Pass the raw pixels.",
    ),
    Message(
        "One sample is much larger than the others",
        "workflows/calibration_samples.py",
        "scale it like the others",
        "This sample alone decides the range, so all others lose resolution. See [debugging "
        "accuracy](../debugging-accuracy.md).",
    ),
    Message(
        "Validation samples are scaled differently",
        "workflows/calibration_samples.py",
        "scale both as the model expects",
        "Prepare `--data` and `--validation` by the same function.",
    ),
    Message(
        "Only one sample",
        "workflows/calibration_samples.py",
        "calibrating with 1 sample",
        "Check that the first axis of the array counts samples. See [how "
        "many](../calibration-data.md#how-many-and-which).",
    ),
    Message(
        "Duplicate samples",
        "workflows/calibration_samples.py",
        "are duplicates and add nothing",
        "Often a script writes the same batch again, or repeats one image. Use different samples.",
    ),
    Message(
        "An input never changes",
        "workflows/calibration_samples.py",
        "so its range fits no other value",
        "An input of zeros or ones has a range of one value. Record real inputs.",
    ),
    Message(
        "An array of the data is ignored",
        "interpreter/samples.py",
        "the model has no such input",
        "The `.npz` file has an array under a name that isn't an input: labels, or a misspelled input. "
        "`qmlir inspect MODEL` lists the inputs.",
    ),
    Message(
        "Samples of an incomplete batch are ignored",
        "interpreter/samples.py",
        "samples: @…",
        "The model has a fixed batch size. Pass a multiple of it, or export the model with a dynamic batch.",
    ),
    Message(
        "No run reached some values",
        "interpreter/profiling.py",
        "no run reached …",
        "The values are in a branch or a loop body that no sample entered. They stay in float; add samples that enter "
        "it.",
    ),
    Message(
        "The model no longer agrees",
        "workflows/validating.py",
        "quantization degraded the model",
        "The outputs differ too much from those of the float model. The message names the first bad value, and a "
        "remedy if one was found. See [validation](../validation.md#when-a-model-no-longer-agrees) and [debugging "
        "accuracy](../debugging-accuracy.md).",
    ),
    Message(
        "The models could not be compared",
        "workflows/validating.py",
        "could not compare the quantized model",
        "One of the models doesn't run on the validation samples; the message has the reason. The quantized model is "
        "written all the same, unless a limit such as `--min-sqnr` was set.",
    ),
    Message(
        "The model is already quantized",
        "workflows/quantizing.py",
        "the model is quantized already, and keeps",
        "Its types stay as they are. To choose types, quantize the float model. To run or compile it, use it as it is "
        "([quantized models](../quantized-models.md)).",
    ),
    Message(
        "Ranges of the model are replaced",
        "workflows/quantizing.py",
        "the ranges that the model carries for",
        "The ONNX model contains ranges, and `--data` was given. Pass `--keep-annotations`, or leave out `--data`, to "
        "use [the carried ranges](../profiles.md#quantize-with-a-profile-or-with-carried-statistics).",
    ),
    Message(
        "Given parameters are too small",
        "quantization/decide.py",
        ", which does not cover …",
        "A rule of the recipe gives a range or a scale that doesn't cover the observed elements. Choose larger [given "
        "parameters](../recipes.md#given-parameters-range-scale-zero_point), unless the value is meant to be clipped.",
    ),
    Message(
        "Given parameters have no effect",
        "quantization/decide.py",
        ", given by …",
        "The value stays in float, or the model itself quantizes it. The message has the cause; remove the rule or the "
        "cause.",
    ),
    Message(
        "The profile does not match",
        "passes/profiled/calib_apply_profile.py",
        "does not match the model",
        "The profile was recorded on another model, or before the model changed. Record it again with `qmlir profile`.",
    ),
    Message(
        "The block size does not divide",
        "quantization/decide.py",
        "does not divide its reduction size",
        "Choose a block size (`--granularity block:32`) that divides the input features or channels of the layer.",
    ),
)

_IMPORTING = (
    Message(
        "A part of the model runs in ONNX Runtime",
        "onnx/islands.py",
        "that will run in ONNX Runtime",
        "qmlir doesn't support these operators, or not in this form. The rest is quantized and compiled. See "
        "[unsupported operators](../unsupported-operators.md).",
    ),
    Message(
        "An unsupported operator is an error",
        "onnx/islands.py",
        "uses … unsupported",
        "`--no-fallback` was given, or neither ONNX nor ONNX Runtime knows the operator. Leave out `--no-fallback`, "
        "cut the model with `--cut-outputs`, or [add the operator](../extending/custom-op.md).",
    ),
    Message(
        "The model is in training mode",
        "onnx/importer.py",
        "is in training mode",
        "Dropout or batch statistics make results random. Export the model in evaluation mode, or use "
        "`--strip-training`.",
    ),
    Message(
        "Inputs have default values",
        "onnx/importer.py",
        "has defaults for its inputs",
        "The ONNX file lists initializers as inputs, as old exporters do. `--cut-inputs` keeps only the real inputs.",
    ),
    Message(
        "An input has no static rank",
        "onnx/ports.py",
        "has no static rank",
        "qmlir must know the number of dimensions. Set the shape with `--shape`.",
    ),
    Message(
        "The format of the file is not supported",
        "workflows/loading.py",
        "or .mlir file; help: ",
        "Export the model to ONNX; the help names the exporter for this format ([migration](../migration.md)).",
    ),
    Message(
        "The folder was not written by qmlir",
        "workflows/folder.py",
        "but not one written by 'qmlir quantize'",
        "Commands accept a model file, or a folder that `qmlir quantize -o` wrote.",
    ),
)

_INPUTS = (
    Message(
        "No calibration data",
        "workflows/quantizing.py",
        "no calibration data",
        "Quantization needs ranges: from samples, from a profile, or from the model ([calibration "
        "data](../calibration-data.md)).",
    ),
    Message(
        "An input is missing",
        "specialization/inputs.py",
        "no value for",
        "`qmlir run` and calls of a program need a value for each input. `qmlir inspect MODEL` lists names and shapes.",
    ),
    Message(
        "An input is unknown",
        "specialization/inputs.py",
        "has no input",
        "The name isn't an input of the model. Rename the array.",
    ),
    Message(
        "The shape does not fit",
        "interpreter/samples.py",
        "input '…' must have shape …, but got …",
        "The help has the call that fixes it, if there is one: most often channels are last, or the batch axis is "
        "missing ([shapes](../calibration-data.md#shapes-and-types)).",
    ),
    Message(
        "The type does not fit",
        "interpreter/samples.py",
        "if that keeps the values",
        "qmlir doesn't convert types silently, because values could change.",
    ),
    Message(
        "An image needs preprocessing",
        "interpreter/samples.py",
        "without a preprocessing function",
        "qmlir doesn't guess sizes and normalization. See [image files](../calibration-data.md).",
    ),
    Message(
        "NaN in an input",
        "targets/cpu/runtime/ports.py",
        "which a quantized model cannot represent",
        "No integer represents NaN. Replace missing values before the call.",
    ),
    Message(
        "A limit needs samples",
        "workflows/validating.py",
        "require samples; pass --data",
        "A quality limit was set, but there is nothing to measure it on. See [gate quality in CI](../quality-gate.md).",
    ),
)

_COMPILING = (
    Message(
        "Sizes are dynamic",
        "tools/models.py",
        "has dynamic dimensions",
        "A program needs fixed sizes, except for the batch. Fix them, or declare maxima ([dynamic "
        "shapes](../dynamic-shapes.md)).",
    ),
    Message(
        "Each new size is compiled",
        "targets/cpu/compiler.py",
        "the model cannot be padded",
        "An operation depends on the exact size, so one program can't serve all sizes up to a maximum. The message "
        "names it.",
    ),
    Message(
        "A call compiles",
        "targets/cpu/compiler.py",
        "this call compiles for",
        "The first call with new sizes takes seconds. Later calls, also of other processes, read [the "
        "cache](../compiling.md#the-cache).",
    ),
    Message(
        "The program needs a package",
        "targets/heterogeneous.py",
        "needs … where it runs",
        "A part of the program isn't compiled: a fallback subgraph needs ONNX Runtime, a device its package. Install "
        "them where the program runs.",
    ),
    Message(
        "The CPU lacks an instruction",
        "targets/cpu/runtime/machine_code.py",
        "which this one lacks",
        "The program was compiled for another instruction set. Compile on this machine, or with `--isa generic`.",
    ),
    Message(
        "A file is in the way",
        "text/writing.py",
        "already exists:",
        "qmlir replaces only unchanged files that it wrote ([what is written](../security.md#what-is-written)).",
    ),
)

_SECTIONS = (
    ("Warnings and errors when quantizing", _QUANTIZING),
    ("Warnings and errors when importing", _IMPORTING),
    ("Errors about inputs and samples", _INPUTS),
    ("Warnings and errors when compiling and running", _COMPILING),
)

_INTRODUCTION = """\
For users who see a message and look for its meaning. Search this page for a part of the message; `…` stands for names
and numbers. Messages are lower case, on one line, and end with the help: what to type, as an option and as a Python
argument. The exit code of a command is 1 after an error, and 2 if the command line itself is wrong. `--verbose` also
prints remarks."""

_CAUSES = """\
The summary of `qmlir quantize`, the report and `qmlir explain` list each operation that stays in float as
`not quantized: CAUSE; help: ACTION`. These are all causes. `--assert-all-quantized` makes them errors. An operation in
float costs time, not accuracy: look at its estimated share of the run time first."""


def _literal(node: ast.AST) -> str:
    """The text of a string expression, with `…` for its parts that are computed; empty for another expression."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        text = "".join("…" if isinstance(each, ast.FormattedValue) else _literal(each) for each in node.values)
        return re.sub("…+", "…", text)
    return ""


def _strings(node: ast.AST) -> Iterator[str]:
    """The strings below `node`, without the parts of strings."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr) or _literal(child):
            yield _literal(child)
        else:
            yield from _strings(child)


@cache
def _strings_of(file: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_strings(ast.parse((_SOURCES / file).read_text(encoding="utf-8")))))


def printed(message: Message) -> str:
    """A message as it is printed. Raises `DiagnosticError` if not exactly one string of its file contains the part."""
    strings = _strings_of(message.file)
    found = [each for each in strings if each == message.part] or [each for each in strings if message.part in each]
    if len(found) != 1:
        raise text_error(f"'{message.part}' must be in one string of qmlir/{message.file}, but got {len(found)}")
    return found[0]


def _section(title: str, messages: Sequence[Message]) -> Iterator[str]:
    yield f"## {title}"
    for each in messages:
        yield f"### {each.title}"
        yield block("text", printed(each)).rstrip()
        yield each.explanation


def page() -> str:
    """The page. Raises `DiagnosticError` for a message that the code doesn't contain."""
    parts = [GENERATED, "# Diagnostics", _INTRODUCTION]
    for title, messages in _SECTIONS:
        parts += _section(title, messages)
    parts += ["## Causes of operations in float", _CAUSES]
    for cause in FloatCause:
        help_ = f"; help: {cause.action}" if cause.action else ""
        parts.append(f"### `{cause.anchor}`")
        parts.append(block("text", f"not quantized: {re.sub(r'{[^}]*}', '…', cause.text)}{help_}").rstrip())
        parts.append(cause.explanation)
    return "\n\n".join(parts) + "\n"
