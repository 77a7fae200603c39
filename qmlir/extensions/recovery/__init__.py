"""Accuracy recovery without training: repairs of weights and biases, and remedies."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    passes={
        "nn-equalize": "qmlir.passes.primitive.nn_equalize:NnEqualize",
        "quant-correct-bias": "qmlir.passes.quantized.quant_correct_bias:QuantCorrectBias",
        "quant-gptq": "qmlir.passes.quantized.quant_gptq:QuantGptq",
        "quant-restore-weights": "qmlir.passes.quantized.quant_restore_weights:QuantRestoreWeights",
        "quant-round": "qmlir.passes.quantized.quant_round:QuantRound",
        "quant-search-scales": "qmlir.passes.quantized.quant_search_scales:QuantSearchScales",
        "quant-shorten-sums": "qmlir.passes.quantized.quant_shorten_sums:QuantShortenSums",
    },
    efforts=("qmlir.workflows.repairing:EFFORTS",),
    services={"recovery": "qmlir.workflows.repairing:RECOVERY"},
    built_for=INTERFACE,
)
