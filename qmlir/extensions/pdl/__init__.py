"""PDL patterns: rewrites in MLIR files, applied by the pass `apply-pdl`."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    passes={"apply-pdl": "qmlir.extensions.pdl.apply_pdl:ApplyPdl"},
    tables={
        "pdl.constraints": (
            "qmlir.extensions.pdl.graph_functions:CONSTRAINTS",
            "qmlir.extensions.pdl.type_functions:CONSTRAINTS",
        ),
        "pdl.rewrites": (
            "qmlir.extensions.pdl.graph_functions:REWRITES",
            "qmlir.extensions.pdl.type_functions:REWRITES",
        ),
    },
    built_for=INTERFACE,
)
