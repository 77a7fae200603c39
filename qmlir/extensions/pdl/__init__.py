"""PDL patterns: rewrites in MLIR files, applied by the pass `apply-pdl`."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    passes={"apply-pdl": "qmlir.extensions.pdl.apply_pdl:ApplyPdl"},
    tables={
        "pdl.constraints": (
            "qmlir.extensions.pdl.functions.graph:CONSTRAINTS",
            "qmlir.extensions.pdl.functions.quantized_types:CONSTRAINTS",
        ),
        "pdl.rewrites": (
            "qmlir.extensions.pdl.functions.graph:REWRITES",
            "qmlir.extensions.pdl.functions.quantized_types:REWRITES",
        ),
    },
    built_for=INTERFACE,
)
