"""Arguments shared by several subcommands of `qmlir`, each with one name and one default, and how to read their values.

A metavar PATH, FILE or DIR marks an option that takes a path: shells complete it, and in a `--config` file it is
relative to that file.
"""

import argparse
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from qmlir import registry
from qmlir.quantization.recipe_text import meant, setting_hint, spelled
from qmlir.quantization.setting_rows import SettingRow, setting_rows
from qmlir.targets.cpu.choices import KEPT
from qmlir.tools.command_runner import Session
from qmlir.tools.configuration import DIR
from qmlir.tools.stdio import ArgumentParser, add_force

FORMS = ("qdq", "qoperator", "integer")
"""The formats of quantized operations in ONNX, listed here because importing ONNX is slow."""


def add_model(
    parser: argparse.ArgumentParser, name: str = "model", *, help: str | None = None, nargs: str | None = None
) -> argparse.Action:
    """Adds a positional argument for a model; `load_model` reads it."""
    told = help or "ONNX model (.onnx), module (.mlir), folder written by qmlir quantize, or - for a module on stdin"
    return parser.add_argument(name, help=told, nargs=nargs, metavar=name.upper())


LABELS = "class indices of the samples, in a .npy or .npz file; reports the top-1 accuracy of both models"
"""The help of `--labels`, for commands that compare two models."""

_SHARED: Mapping[str, Mapping[str, Any]] = {
    "--data": {
        "metavar": "PATH",
        "help": "samples: a .npz or .npy file whose arrays have a leading sample axis, a folder of such files, or a "
        "folder of images (with --preprocess)",
    },
    "--preprocess": {
        "metavar": "MODULE:FUNCTION",
        "help": "function that converts one item of --data (a PIL image, or one row of each array) to the model input: "
        "package.module:function or file.py:function",
    },
    "--labels": {
        "metavar": "[NAME=]FILE",
        "help": "class indices of the samples, in a .npy or .npz file (default: the classes that the float model "
        "predicts)",
    },
    "--shape": {
        "action": "append", "default": [], "metavar": "NAME=1x3x224x224",
        "help": "set the shape of an input (repeatable)",
    },
    "--keep-casts": {
        "action": "store_true",
        "help": "keep the operations between DequantizeLinear and QuantizeLinear in float",
    },
    "--cut-inputs": {
        "action": "append", "default": [], "metavar": "NAME,…",
        "help": "start the ONNX graph at these tensors (default: the model inputs)",
    },
    "--cut-outputs": {
        "action": "append", "default": [], "metavar": "NAME,…",
        "help": "end the ONNX graph at these tensors (default: the model outputs)",
    },
    "--strip-training": {
        "action": "store_true",
        "help": "import a model in training mode for inference: remove dropout and observers, freeze batch statistics",
    },
    "--no-fallback": {
        "action": "store_true",
        "help": "fail on unsupported operators instead of running them in ONNX Runtime",
    },
    "--requantize": {
        "dest": "litert_kernels", "choices": ("litert-reference", "litert-xnnpack", "float"),
        "help": "kernels of LiteRT whose arithmetic the operations of a quantized .tflite model have (default: "
        "litert-reference)",
    },
    "--threads": {"type": int, "default": 1, "metavar": "N", "help": "number of threads (default: 1)"},
    "--isa": {
        "default": "host", "metavar": "NAME",
        "help": "instruction set: generic, avx2, avx512-vnni, … (default: host, the best that this CPU supports)",
    },
    "--device": {
        "default": "", "metavar": "NAME,…",
        "help": "devices to compile for, preferred first; the CPU runs the rest (default: cpu)",
    },
    "--observer": {
        "action": "append", "default": [], "metavar": "NAME",
        "help": "also record the statistics of an observer from a package (repeatable)",
    },
    "--cluster": {
        "metavar": "ADDRESS",
        "help": "run on the workers of a Dask scheduler, tcp://host:port; the result is identical "
        "(pip install 'qmlir[cluster]')",
    },
    "--resume": {
        "metavar": DIR,
        "help": "save finished work in this folder; the same command continues from there after an interruption",
    },
    "--processes": {
        "type": int, "default": 1, "metavar": "N",
        "help": "number of processes that run samples; the result is identical (default: 1)",
    },
}  # fmt: skip
"""Options of several commands, as arguments of `add_argument`."""


def add_options(parser: Any, *names: str, **changed: Any) -> None:
    """Adds shared options to a parser or to one of its groups; `changed` overrides settings of these options."""
    for name in names:
        parser.add_argument(name, **{**_SHARED[name], **changed})


def add_output(parser: argparse.ArgumentParser, help: str, required: bool = False, metavar: str = "PATH") -> None:
    """Adds `-o PATH`, `--output PATH`, and `--force`."""
    parser.add_argument("-o", "--output", required=required, metavar=metavar, help=help)
    add_force(parser.add_argument)


def _option_rows() -> Mapping[str, SettingRow]:
    return {name: row for name, row in setting_rows().items() if row.on_command_line}


def add_quantization(parser: argparse.ArgumentParser) -> None:
    """Adds the quantization options, one for each setting of `qmlir.quantize`; `quantization_settings` reads them."""
    add = parser.add_argument_group("types").add_argument
    for name, row in _option_rows().items():
        option, default = f"--{name.replace('_', '-')}", ",".join(KEPT) if name == "keep_composites" else row.default
        told = f"{row.summary}{f' (default: {default})' if default else ''}"
        if name == "assert_all_quantized":
            add(option, action="store_true", help="fail and list the operations if any stays in float")
        elif name == "exclude":
            add(option, action="append", default=[], metavar=row.metavar, help=f"{told} (repeatable)")
        elif row.choices is not None:
            add(option, type=partial(spelled, row.field), choices=row.choices(), help=told)
        else:
            read = int if name.startswith("accumulator_") else str
            add(option, type=read, metavar=row.metavar, help=told)
    add_options(parser, "--processes")
    if isinstance(parser, ArgumentParser):
        parser.hint = _setting_hint


def _setting_hint(name: str, value: str | None) -> str:
    """Suggests what to write instead of another tool's option with this value."""

    def written(of: str, example: str) -> str:
        return f"--{of.replace('_', '-')} {meant(setting_rows()[of].field, value, example)}"

    return setting_hint(name, value, tuple(_option_rows()), written)


def quantization_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the values of the options of `add_quantization` as keyword arguments for `qmlir.quantize`."""
    given = {name: getattr(arguments, name, None) for name in setting_rows()}
    said = {name: value for name, value in given.items() if value is not None and value is not False and value != []}
    return {**said, "processes": arguments.processes}


def add_export(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ONNX export; `export_settings` reads them."""
    add = parser.add_argument_group("ONNX export").add_argument
    others = [suffix.removeprefix(".") for suffix in registry.named("writers")]
    add(
        "--format", choices=(*FORMS, *others),
        help=f"representation of quantized operations in ONNX (default: {FORMS[0]}), or {', '.join(others)}; "
        "the suffix of a file selects its format",
    )  # fmt: skip
    add(
        "--opset", type=int, metavar="N",
        help="operator set of ONNX and QONNX models, 21 or newer (default: the oldest that suffices)",
    )  # fmt: skip
    add(
        "--exact", action=argparse.BooleanOptionalAction, default=None,
        help="produce identical integers in every ONNX Runtime session (default: only in sessions with graph "
        "optimizations); --no-exact puts every operation between casts",
    )  # fmt: skip
    add(
        "--signed", action="store_true",
        help="keep int8 activations signed; their sums saturate on x86 CPUs without VNNI",
    )  # fmt: skip
    add("--functions", action="store_true", help="export composites of several nodes as ONNX functions")
    add("--external-data", action="store_true", help="store large tensors in a separate file (always above 2 GB)")


def export_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the values of the options of `add_export` as keyword arguments for `qmlir.export_onnx`."""
    settings = {name: getattr(arguments, name) for name in ("opset", "exact", "functions", "signed")}
    return {**settings, "format": arguments.format or FORMS[0], "external_data": arguments.external_data or None}


IMPORT = ("--shape", "--cut-inputs", "--cut-outputs", "--no-fallback", "--strip-training")
"""The options of commands that read an ONNX model; `import_settings` reads them."""


def import_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the options `IMPORT`, and `--keep-casts` and `--requantize` if the command has them, for `load_model`."""
    return {
        "shapes": arguments.shape,
        "keep_casts": getattr(arguments, "keep_casts", False),
        "fallback": not arguments.no_fallback,
        "strip_training": arguments.strip_training,
        "requantize": _litert_kernels(arguments),
        **cuts_in(arguments),
    }


def _litert_kernels(arguments: argparse.Namespace) -> str | None:
    """Returns the option `--requantize` of a LiteRT model; commands that quantize have none, and need floats."""
    if hasattr(arguments, "litert_kernels"):
        return arguments.litert_kernels
    return "float" if Path(getattr(arguments, "model", "")).suffix.lower() in registry.named("readers") else None


def cuts_in(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the tensors in `--cut-inputs` and `--cut-outputs` as keyword arguments for `qmlir.load`."""
    named = {end: ",".join(getattr(arguments, end)).split(",") for end in ("cut_inputs", "cut_outputs")}
    return {end: list(filter(None, names)) or None for end, names in named.items()}


def value_of(arguments: argparse.Namespace, option: str) -> Any:
    """Returns the value of an option with its name as text, such as `--max-code`."""
    name = option.lstrip("-").replace("-", "_")
    return getattr(arguments, _SHARED.get(option, {}).get("dest", name))


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_bytes(text: str) -> int:
    """Parses a number of bytes, in units of 1024: `65536`, `256K`, `4M`. Raises `ArgumentTypeError`."""
    found = re.fullmatch(r"(\d+)([KMG]?)(?:iB)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of bytes (examples: 65536, 256K, 4M)")
    return int(found[1]) * _UNITS[found[2].upper()]


# Programs without Python: the limits of their sizes, and the service that writes them.

LIMITS: Mapping[str, str] = {
    "--max-code": "machine code",
    "--max-weights": "weight memory",
    "--max-arena": "scratch memory",
}
"""The sizes of a program that can be limited, by option."""


class EmissionService(Protocol):
    """The service `emission`, which writes programs without Python for `--emit`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds `--emit` and the options of its formats."""
        ...

    def is_asked_for(self, arguments: argparse.Namespace) -> bool:
        """Returns true if `--emit` names a format. Raises `DiagnosticError` for options of another format."""
        ...

    def run(self, arguments: argparse.Namespace, session: Session) -> int:
        """Writes the program, and returns the exit code. Raises `DiagnosticError`."""
        ...


def emission_service() -> EmissionService | None:
    """Returns the service, if a package provides it."""
    return registry.service("emission")
