"""Why a cell of the matrix of operations is empty: by column, the reason, and the operations that it holds for."""

from collections.abc import Mapping, Sequence

_SEQUENCES = (
    "nn.sequence_construct", "nn.sequence_empty", "nn.sequence_insert", "nn.sequence_erase", "nn.sequence_at",
    "nn.sequence_length", "nn.split_to_sequence", "nn.concat_from_sequence",
)  # fmt: skip
_TEXT = ("nn.string_normalizer", "nn.string_concat", "nn.string_split")

_NOT_QUANTIZED: Mapping[str, Sequence[str]] = {
    "booleans, and the bits of integers, stand for no real number": (
        "nn.and", "nn.or", "nn.xor", "nn.not", "nn.bitwise_and", "nn.bitwise_or", "nn.bitwise_xor", "nn.bitwise_not",
        "nn.bit_shift",
    ),
    "element types are changed; for quantized ones there are `quant.qcast`, `quant.dcast` and `quant.scast`": (
        "nn.cast", "nn.bit_cast",
    ),
    "no stored integer is NaN or infinite": ("nn.is_nan", "nn.is_inf"),
    "its operands are scalars that say how many numbers there are": ("nn.range",),
    "no integer arithmetic is defined: it computes in float, between casts": (
        "nn.mod", "nn.reduce_prod", "nn.reduce_l1", "nn.reduce_l2", "nn.reduce_log_sum",
        "nn.reduce_log_sum_exp", "nn.reduce_sum_square", "nn.cum_sum", "nn.cum_prod", "nn.lp_pool", "nn.global_lp_pool",
        "nn.local_response_norm", "nn.hardmax", "nn.rotary_embedding", "nn.non_zero",
    ),
    "it compares floats with thresholds": ("nn.tree_ensemble",),
    "it is only for training: `strip-training` takes it from a model": ("nn.dropout",),
    "a sequence is not a tensor of numbers": _SEQUENCES,
    "text is not a number": _TEXT,
    "nodes of ONNX compute on plain numbers": ("nn.onnx_island",),
}  # fmt: skip

REASONS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "import": {"it is for the operators that have no importer": ("nn.onnx_island",)},
    "interpret quantized": {
        **_NOT_QUANTIZED,
        "it quantizes at run time, by a range that is unknown before": (
            "nn.dynamic_quantize", "nn.dynamic_lstm",
        ),
        "the statistics of a batch are floats: it is quantized as its parts": ("nn.batch_norm_training",),
    },
    "quantize": _NOT_QUANTIZED,
    "lower": {
        "the number of elements depends on the data, and loops are made for known shapes": (
            "nn.non_zero", "nn.unique",
        ),
        "elements are dropped at random, in training only": ("nn.dropout",),
        "a sequence has no form in loops": _SEQUENCES,
        "text has no form in loops": _TEXT,
        "ONNX Runtime computes it, beside the loops": ("nn.onnx_island",),
    },
}  # fmt: skip
