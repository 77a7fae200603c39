"""`qmlir finetune`: trains a float model in quantized form, with or without labels, and writes the result.

The result has the format that `qmlir quantize` writes, a module or an ONNX model, with trained weights, biases and
scales.
"""

import argparse

from qmlir.extensions import training
from qmlir.extensions.training.choices import SCALE_METHODS, FinetuneLoss, FinetuneOptions, OptimizerKind
from qmlir.tools.arguments import IMPORT, add_export, add_model, add_options, add_output, add_quantization
from qmlir.tools.command_runner import Command

_NUMBERS = (
    ("epochs", int, "N", "number of epochs (default: 10)"),
    ("batch_size", int, "N", "samples per training step (default: 64)"),
    ("mixup", float, "SHARE", "fraction of samples mixed with another one and labeled by the float model (default: 0.5 "
     "without labels if all inputs are floats, otherwise 0)"),
    ("learning_rate", float, "R", "learning rate of weights and biases (default: 0.001; 0.002 for weights of at most "
     "4 bits)"),
    ("scale_rate", float, "R", "learning rate of scales (default: 0.004)"),
    ("warmup", float, "SHARE", "fraction of steps with a rising learning rate, before cosine decay (default: 0.02)"),
    ("validation_split", float, "SHARE", "fraction of samples held out to evaluate epochs (default: 0.1)"),
    ("patience", int, "N", "stop after N epochs without improvement (default: never)"),
    ("temperature", float, "T", "softmax temperature of --loss kl (default: 2)"),
    ("distill", float, "SHARE", "weight of kl in --loss labels (default: 0.5)"),
    ("seed", int, "N", "random seed of the sample order (default: 0)"),
)  # fmt: skip
"""The numbers in `FinetuneOptions` that have an option: their types, placeholders and help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir finetune`."""
    add_model(
        parser,
        help="float model (.onnx or .mlir), - for a module on stdin, or a folder written by qmlir quantize, whose "
        "float model, profile and recipe are used",
    )
    add_options(parser, "--data", required=True, help="training samples, as for qmlir quantize")
    add_options(parser, "--preprocess")
    add_options(
        parser, "--labels",
        help="class indices of the samples, in a .npy or .npz file (default: learn the outputs of the float model)",
    )  # fmt: skip
    parser.add_argument(
        "--profile", metavar="FILE", help="profile with the initial ranges (default: calibrate on --data)"
    )
    add_output(parser, "output: FILE.mlir or FILE.onnx", required=True)
    add = parser.add_argument_group("training").add_argument
    add(
        "--loss", default="", choices=[str(each) for each in FinetuneLoss],
        help="loss function: mse, relative squared error against the float model (default without labels); kl, "
        "divergence from the float model's softmax; labels, cross entropy and kl (default with labels)",
    )  # fmt: skip
    add("--scores", metavar="NAME", help="output with the logits, if the model has several outputs")
    add("--scales", default="lsq", choices=SCALE_METHODS, help="training method for scales (default: lsq)")
    add(
        "--train", action="append", default=[], metavar="GLOB,…",
        help="train only the parameters that match these globs (repeatable; default: all)",
    )  # fmt: skip
    add(
        "--optimizer", default=str(OptimizerKind.ADAM), choices=[str(each) for each in OptimizerKind],
        help="optimizer of weights and biases: adam (default), or sgd with momentum; scales always use adam",
    )  # fmt: skip
    for name, type_, metavar, told in _NUMBERS:
        default = getattr(FinetuneOptions, name)
        add(f"--{name.replace('_', '-')}", type=type_, default=default, metavar=metavar, help=told)
    add(
        "--freeze-oscillating", action="store_true",
        help="freeze weights of at most 4 bits that oscillate between two values",
    )  # fmt: skip
    add(
        "--checkpoint", metavar="FILE",
        help="file to save after each epoch; a run with the same model, data and settings continues from it",
    )  # fmt: skip
    add_options(parser, *IMPORT, "--threads", "--isa")
    add_quantization(parser)
    add_export(parser)


FINETUNE = Command(
    add_arguments,
    lambda arguments, session: training.run_finetune(arguments, session),
    examples=(
        "finetune model.onnx --data samples.npz --weights i4 -o trained.mlir",
        "finetune model.onnx --data train.npz --labels labels.npy --epochs 20 -o trained.onnx",
    ),
    epilog="""\
Training uses the integer arithmetic of the quantized model. The report compares the trained model with the output of
qmlir quantize on the held-out samples.
""",
)
