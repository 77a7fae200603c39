"""Training of quantized models, differentiation and fake quantization."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    passes={
        "nn-gradient": "qmlir.passes.primitive.nn_gradient:NnGradient",
        "quant-simulate": "qmlir.passes.quantized.quant_simulate:QuantSimulate",
    },
    pipelines={"gradient": "qmlir.workflows.differentiating:GRADIENT"},
    importers=("qmlir.onnx.operators.training:IMPORTERS",),
    commands={
        "finetune": "qmlir.tools.commands.finetune:FINETUNE",
    },
    command_help={
        "finetune": "train a quantized model, with or without labels",
    },
    api={
        "finetune": "qmlir.workflows.finetuning:finetune",
        "trainable": "qmlir.workflows.training:trainable",
        "gradient": "qmlir.workflows.differentiating:gradient",
    },
    built_for=INTERFACE,
)
