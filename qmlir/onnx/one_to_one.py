"""ONNX operators that correspond to one operation each: a row defines both import and export.

ONNX inputs become operands, or properties if they are known integers; ONNX attributes become properties. Operators that
need to distinguish cases have functions in `operators/`. If only the import distinguishes cases, a row still defines
the export (`EXPORTED`).
"""

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.attention import ops as attention
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.dynamic import ops as dynamic
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.sequence import ops as sequence
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.nn.strings import ops as text
from qmlir.formats.one_to_one import OneToOne
from qmlir.onnx.export.emission import WINDOWS, Exporter, namesake
from qmlir.onnx.node import Importer

_PLAIN: Sequence[type[NnOp]] = (
    elementwise.AbsOp, elementwise.NegOp, elementwise.SqrtOp, elementwise.ExpOp, elementwise.LogOp,
    elementwise.ReciprocalOp, elementwise.ErfOp, elementwise.SinOp, elementwise.CosOp, elementwise.TanOp,
    elementwise.AsinOp, elementwise.AcosOp, elementwise.AtanOp, elementwise.SinhOp, elementwise.CoshOp,
    elementwise.AsinhOp, elementwise.AcoshOp, elementwise.AtanhOp, elementwise.FloorOp, elementwise.CeilOp,
    elementwise.RoundOp, elementwise.SignOp, elementwise.AddOp, elementwise.SubOp, elementwise.MulOp, elementwise.DivOp,
    elementwise.EqualOp, elementwise.GreaterOp, elementwise.GreaterOrEqualOp, elementwise.LessOp,
    elementwise.LessOrEqualOp, elementwise.WhereOp, elementwise.AndOp, elementwise.OrOp, elementwise.XorOp,
    elementwise.NotOp, elementwise.IsNaNOp, elementwise.BitwiseAndOp, elementwise.BitwiseOrOp, elementwise.BitwiseXorOp,
    elementwise.BitwiseNotOp, activations.ReluOp, activations.SigmoidOp, activations.HardSwishOp, activations.MishOp,
    activations.TanhOp, activations.SoftplusOp, activations.SoftsignOp, indexing.NonZeroOp,
    pooling.GlobalAveragePoolOp, pooling.GlobalMaxPoolOp, text.StringConcatOp, shapes.SizeOp, movement.SqueezeOp,
    movement.UnsqueezeOp, movement.SliceOp, shapes.TileOp,
)  # fmt: skip

_REDUCTIONS: Sequence[type[NnOp]] = (
    reduction.ReduceSumOp, reduction.ReduceMeanOp, reduction.ReduceMaxOp, reduction.ReduceMinOp, reduction.ReduceProdOp,
    reduction.ReduceL1Op, reduction.ReduceL2Op, reduction.ReduceLogSumOp, reduction.ReduceLogSumExpOp,
    reduction.ReduceSumSquareOp,
)  # fmt: skip

ONE_TO_ONE: Sequence[OneToOne] = (
    *(OneToOne(namesake(operation), operation) for operation in _PLAIN),
    OneToOne("DynamicQuantizeLinear", dynamic.DynamicQuantizeOp),
    OneToOne("LeakyRelu", activations.LeakyReluOp, "alpha"),
    OneToOne("ThresholdedRelu", activations.ThresholdedReluOp, "alpha"),
    OneToOne("Elu", activations.EluOp, "alpha"),
    OneToOne("Celu", activations.CeluOp, "alpha"),
    OneToOne("Selu", activations.SeluOp, "alpha gamma"),
    OneToOne("HardSigmoid", activations.HardSigmoidOp, "alpha beta"),
    OneToOne("IsInf", elementwise.IsInfOp, "detect_negative detect_positive"),
    OneToOne("Einsum", contraction.EinsumOp, "equation"),
    OneToOne("GlobalLpPool", pooling.GlobalLpPoolOp, "p"),
    OneToOne("InstanceNormalization", normalization.InstanceNormOp, "epsilon"),
    OneToOne("LRN", normalization.LocalResponseNormOp, "size alpha beta bias"),
    OneToOne("ArgMax", reduction.ArgMaxOp, "axis keepdims=keep_dims select_last_index"),
    OneToOne("ArgMin", reduction.ArgMinOp, "axis keepdims=keep_dims select_last_index"),
    OneToOne("CumSum", reduction.CumSumOp, "exclusive reverse"),
    OneToOne("CumProd", reduction.CumProdOp, "exclusive reverse", since=26),
    OneToOne("Concat", movement.ConcatOp, "axis"),
    OneToOne("DepthToSpace", movement.DepthToSpaceOp, "mode blocksize=block_size"),
    OneToOne("Gather", indexing.GatherOp, "axis"),
    OneToOne("GatherElements", indexing.GatherElementsOp, "axis"),
    OneToOne("GatherND", indexing.GatherNDOp, "batch_dims"),
    OneToOne("ScatterElements", indexing.ScatterElementsOp, "axis reduction"),
    OneToOne("ScatterND", indexing.ScatterNDOp, "reduction"),
    OneToOne("OneHot", indexing.OneHotOp, "axis", inputs="indices depth values"),
    OneToOne("Unique", indexing.UniqueOp, "axis sorted=sorted_values"),
    OneToOne("ReverseSequence", indexing.ReverseSequenceOp, "batch_axis time_axis"),
    OneToOne("Shape", shapes.ShapeOp, "start end"),
    OneToOne("StringSplit", text.StringSplitOp, "delimiter maxsplit=max_split"),
    *(OneToOne(namesake(kind), kind, "keepdims=keep_dims noop_with_empty_axes") for kind in _REDUCTIONS),
)

_PLAIN_EXPORTED: Sequence[type[IRDLOperation]] = (
    elementwise.PowOp, elementwise.MinOp, elementwise.MaxOp, activations.PReluOp, shapes.ExpandOp,
    sequence.SequenceConstructOp, sequence.SequenceInsertOp, sequence.SequenceEraseOp, sequence.SequenceAtOp,
    sequence.SequenceLengthOp,
)  # fmt: skip

EXPORTED: Sequence[OneToOne] = (
    *(OneToOne(namesake(operation), operation) for operation in _PLAIN_EXPORTED),
    OneToOne("Identity", ObserveOp),  # the recorded statistics and their key are in the metadata of the node
    OneToOne("RotaryEmbedding", attention.RotaryEmbeddingOp, "interleaved rotary_embedding_dim=size", since=23),
    OneToOne("Conv", contraction.ConvOp, WINDOWS),
    OneToOne("ConvTranspose", contraction.ConvTransposeOp, f"{WINDOWS} output_padding"),
    OneToOne("LogSoftmax", normalization.LogSoftmaxOp, "axis"),
    OneToOne("Hardmax", normalization.HardmaxOp, "axis"),
    OneToOne("Trilu", shapes.TriluOp, "upper"),
    OneToOne("Transpose", movement.TransposeOp, "perm=permutation"),
    OneToOne("SplitToSequence", sequence.SplitToSequenceOp, "axis keepdims=keep_dims"),
    OneToOne("ConcatFromSequence", sequence.ConcatFromSequenceOp, "axis new_axis"),
    OneToOne("StringNormalizer", text.StringNormalizerOp, "case_change_action=case_change is_case_sensitive stopwords"),
)
"""Operators whose import has more cases than a row can describe."""

_SCATTER = OneToOne("Scatter", indexing.ScatterElementsOp, "axis")
"""The name of ScatterElements before version 11."""

IMPORTERS: dict[str, Importer] = {row.op_type: row.imported for row in (*ONE_TO_ONE, _SCATTER)}
EXPORTERS: dict[type[Operation], Exporter] = {row.operation: row.exported for row in (*ONE_TO_ONE, *EXPORTED)}
