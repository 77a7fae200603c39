"""`qmlir quantize`: a float model and samples in, a module whose values have quantized types out."""

import argparse
from pathlib import Path
from typing import IO, Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.api import quantize
from qmlir.arithmetic.calibrators import CALIBRATORS
from qmlir.arithmetic.schemes import Scheme
from qmlir.pipelines import KEPT_COMPOSITES, QUANTIZE
from qmlir.profiles.file import Profile
from qmlir.quantization.report import coverage
from qmlir.text.printing import PrintOptions, Weights, save_module

_SETTINGS = ("activations", "weights", "accumulator", "scheme", "weight_scheme", "granularity", "calibrator", "recipe")


def add_quantize_parser(commands: Any) -> None:
    """Add the command line of `qmlir quantize`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "quantize", help="quantize a float model by samples", allow_abbrev=False,
        epilog=f"The pipeline: {QUANTIZE.text(keep='{…}', profile='…', options='{…}')}",
    )  # fmt: skip
    add = parser.add_argument
    add("model", help="a .onnx model or a .mlir module, - for a module from standard input")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--data", metavar="PATH",
        help="samples: a .npz file of arrays with a leading axis of samples, a .npy file, or a folder of either",
    )  # fmt: skip
    source.add_argument("--profile", metavar="FILE", help="a profile of the lowered model in place of samples")
    add("-o", dest="output", required=True, metavar="FILE", help="the module to write; large weights go beside it")
    add("--keep", metavar="KIND,…", help=f"composites that stay whole (default: {','.join(KEPT_COMPOSITES)})")
    add("--activations", default="", metavar="STORAGE", help="i8 (the default), u8, i16, i4, i2<-1:1>, …")
    add("--weights", default="", metavar="STORAGE", help="i8<-127:127> (the default), i4, …")
    add("--accumulator", default="", metavar="STORAGE", help="of sums before a bias: i32 (the default), …")
    add("--scheme", default="", choices=list(Scheme), help="of activations (default: asymmetric)")
    add("--weight-scheme", default="", choices=list(Scheme), help="(default: symmetric)")
    add("--granularity", default="channel", metavar="KIND", help="of weights: channel (the default), tensor, block:N")
    add("--calibrator", default="", choices=list(CALIBRATORS), help="(default: min_max)")
    add("--recipe", default="", metavar="FILE", help="rules for chosen nodes, operations and slots (TOML)")
    add("--assert-all-quantized", action="store_true", help="fail, with a list, where something is left in float")
    add("--processes", type=int, default=1, metavar="N", help="profile in so many processes; the result is the same")


def run_quantize_command(arguments: argparse.Namespace, module: ModuleOp, stderr: IO[str]) -> None:
    """Quantize `module` as the arguments say, write it, and say what of it is in integers. Raises `DiagnosticError`."""
    settings = {name: getattr(arguments, name) for name in _SETTINGS}
    quantized = quantize(
        module,
        arguments.data,
        profiled=Profile.load(arguments.profile) if arguments.profile else None,
        keep=KEPT_COMPOSITES if arguments.keep is None else tuple(filter(None, arguments.keep.split(","))),
        assert_all_quantized=arguments.assert_all_quantized,
        processes=arguments.processes,
        progress=stderr,
        **settings,
    )
    save_module(quantized, Path(arguments.output), PrintOptions(weights=Weights.SIDECAR))
    stderr.write(coverage(quantized).summary())
