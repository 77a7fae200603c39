"""Accuracy recovery without training: passes that repair weights and biases, and remedies for accuracy regressions."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    passes={
        "nn-equalize": "qmlir.extensions.recovery.nn_equalize:NnEqualize",
        "quant-correct-bias": "qmlir.extensions.recovery.quant_correct_bias:QuantCorrectBias",
        "quant-gptq": "qmlir.extensions.recovery.quant_gptq:QuantGptq",
        "quant-restore-weights": "qmlir.extensions.recovery.quant_restore_weights:QuantRestoreWeights",
        "quant-round": "qmlir.extensions.recovery.quant_round:QuantRound",
        "quant-search-scales": "qmlir.extensions.recovery.quant_search_scales:QuantSearchScales",
        "quant-shorten-sums": "qmlir.extensions.recovery.quant_shorten_sums:QuantShortenSums",
    },
    efforts=("qmlir.extensions.recovery.repairing:EFFORTS",),
    services={"recovery": "qmlir.extensions.recovery.repairing:RECOVERY"},
    built_for=INTERFACE,
)
