"""What qmlir and xDSL find of this package, through its entry points."""

from xdsl.universe import Universe

from qmlir.registry import Contribution
from qmlir_fxp.dialect import Fxp
from qmlir_fxp.passes.convert_nn_to_fxp import ConvertNnToFxp

UNIVERSE = Universe(all_dialects={"fxp": lambda: Fxp}, all_passes={"convert-nn-to-fxp": lambda: ConvertNnToFxp})

CONTRIBUTION = Contribution(
    built_for="0.2",
    patterns={"fxp.canonicalize": ("qmlir_fxp.dialect.canonicalize:PATTERNS",)},
    evaluators={"fxp": "qmlir_fxp.dialect.evaluate:EVALUATORS"},
    decompositions={"fxp": "qmlir_fxp.dialect.block:DECOMPOSITIONS"},
    targets={"fxp": "qmlir_fxp.target:TARGET"},
    pdl={"fxp.blocks": "qmlir_fxp:patterns/blocks.pdl.mlir"},
    importers=("qmlir_fxp.onnx:IMPORTERS",),
    exporters=("qmlir_fxp.onnx:EXPORTERS",),
)
