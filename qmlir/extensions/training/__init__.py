"""Training of quantized models: differentiation, fake quantization and fine-tuning."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.training.finetune_running import run_finetune as run_finetune
else:
    __getattr__, __dir__ = attached(__name__)

CONTRIBUTION = Contribution(
    passes={
        "nn-gradient": "qmlir.extensions.training.nn_gradient:NnGradient",
        "quant-simulate": "qmlir.extensions.training.quant_simulate:QuantSimulate",
    },
    pipelines={"gradient": "qmlir.extensions.training.differentiating:GRADIENT"},
    importers=("qmlir.extensions.training.onnx_operators:IMPORTERS",),
    commands={"finetune": "qmlir.extensions.training.finetune_command:FINETUNE"},
    command_help={"finetune": "train a quantized model, with or without labels"},
    api={
        "finetune": "qmlir.extensions.training.finetuning:finetune",
        "trainable": "qmlir.extensions.training.trainable:trainable",
        "gradient": "qmlir.extensions.training.differentiating:gradient",
    },
    built_for=INTERFACE,
)
