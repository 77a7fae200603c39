"""Accuracy recovery without training: passes that repair weights and biases, and remedies for accuracy regressions."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    passes={
        "nn-equalize": "qmlir.extensions.recovery.nn_equalize:NnEqualize",
        "quant-correct-bias": "qmlir.extensions.recovery.quant_correct_bias:QuantCorrectBias",
        "quant-gptq": "qmlir.extensions.recovery.quant_gptq:QuantGptq",
        "quant-restore-weights": "qmlir.extensions.recovery.quant_restore_weights:QuantRestoreWeights",
        "quant-adaround": "qmlir.extensions.recovery.quant_adaround:QuantAdaRound",
        "quant-search-scales": "qmlir.extensions.recovery.quant_search_scales:QuantSearchScales",
        "quant-fit-accumulators": "qmlir.extensions.recovery.quant_fit_accumulators:QuantFitAccumulators",
        "quant-fit-i16-accumulators": "qmlir.extensions.recovery.quant_fit_i16_accumulators:QuantFitI16Accumulators",
    },
    efforts=("qmlir.extensions.recovery.efforts:EFFORTS",),
    services={"recovery": "qmlir.extensions.recovery.repairing:RECOVERY"},
    built_for=INTERFACE,
)
