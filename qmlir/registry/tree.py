"""The rows of the tree: one for each dialect and pass, and its contribution, in the form that packages use.

Nothing here imports a dialect or a pass, so the tools start in the time that Python takes.
"""

from collections.abc import Mapping

from qmlir.registry.contribution import INTERFACE, Contribution

DIALECTS: Mapping[str, str] = {
    "calib": "qmlir.dialects.calib:Calib",
    "check": "qmlir.dialects.check:Check",
    "kernel": "qmlir.dialects.kernel:Kernel",
    "nn": "qmlir.dialects.nn:Nn",
    "quant": "qmlir.dialects.quant:Quant",
    "simd": "qmlir.dialects.simd:Simd",
    "target": "qmlir.dialects.target:Target",
    "team": "qmlir.dialects.team:Team",
}

PASSES: Mapping[str, str] = {
    "apply-pdl": "qmlir.passes.general.apply_pdl:ApplyPdl",
    "calib-apply-profile": "qmlir.passes.profiled.calib_apply_profile:CalibApplyProfile",
    "calib-attach-records": "qmlir.passes.profiled.calib_attach_records:CalibAttachRecords",
    "calib-insert-observers": "qmlir.passes.profiled.calib_insert_observers:CalibInsertObservers",
    "canonicalize": "qmlir.passes.general.canonicalize:Canonicalize",
    "convert-kernel-to-loops": "qmlir.targets.cpu.loops.convert_kernel_to_loops:ConvertKernelToLoops",
    "convert-nn-to-kernel": "qmlir.passes.integer.convert_nn_to_kernel:ConvertNnToKernel",
    "cse": "qmlir.passes.general.cse:Cse",
    "dce": "qmlir.passes.general.dce:Dce",
    "fix-shapes": "qmlir.passes.general.fix_shapes:FixShapes",
    "inline": "qmlir.passes.general.inline:Inline",
    "kernel-analyze-ranges": "qmlir.passes.integer.kernel_analyze_ranges:KernelAnalyzeRanges",
    "kernel-assign-schedule": "qmlir.targets.cpu.scheduled.kernel_assign_schedule:KernelAssignSchedule",
    "kernel-bufferize": "qmlir.targets.cpu.scheduled.kernel_bufferize:KernelBufferize",
    "kernel-fill-borders": "qmlir.targets.cpu.scheduled.kernel_fill_borders:KernelFillBorders",
    "kernel-fuse": "qmlir.passes.integer.kernel_fuse:KernelFuse",
    "kernel-interleave": "qmlir.targets.cpu.scheduled.kernel_interleave:KernelInterleave",
    "kernel-join-rows": "qmlir.targets.cpu.scheduled.kernel_join_rows:KernelJoinRows",
    "kernel-mark-in-place": "qmlir.targets.cpu.scheduled.kernel_mark_in_place:KernelMarkInPlace",
    "kernel-mark-read-only": "qmlir.targets.cpu.loops.kernel_mark_read_only:KernelMarkReadOnly",
    "kernel-narrow": "qmlir.passes.integer.kernel_narrow:KernelNarrow",
    "kernel-outline": "qmlir.targets.cpu.scheduled.kernel_outline:KernelOutline",
    "kernel-pack": "qmlir.targets.cpu.scheduled.kernel_pack:KernelPack",
    "kernel-plan-memory": "qmlir.targets.cpu.scheduled.kernel_plan_memory:KernelPlanMemory",
    "kernel-propagate-layout": "qmlir.passes.integer.kernel_propagate_layout:KernelPropagateLayout",
    "kernel-share": "qmlir.targets.cpu.scheduled.kernel_share:KernelShare",
    "kernel-simplify-rounding": "qmlir.passes.integer.kernel_simplify_rounding:KernelSimplifyRounding",
    "kernel-split-rows": "qmlir.targets.cpu.scheduled.kernel_split_rows:KernelSplitRows",
    "kernel-split-tables": "qmlir.targets.cpu.scheduled.kernel_split_tables:KernelSplitTables",
    "kernel-tabulate": "qmlir.passes.integer.kernel_tabulate:KernelTabulate",
    "kernel-verify-custom": "qmlir.passes.integer.kernel_verify_custom:KernelVerifyCustom",
    "kernel-winograd": "qmlir.targets.cpu.scheduled.kernel_winograd:KernelWinograd",
    "math-expand": "qmlir.targets.cpu.loops.math_expand:MathExpand",
    "nn-compute-in-f32": "qmlir.passes.primitive.nn_compute_in_f32:NnComputeInF32",
    "nn-contract-integers": "qmlir.passes.quantized.nn_contract_integers:NnContractIntegers",
    "nn-decompose": "qmlir.passes.primitive.nn_decompose:NnDecompose",
    "nn-gradient": "qmlir.passes.primitive.nn_gradient:NnGradient",
    "nn-recognize": "qmlir.passes.primitive.nn_recognize:NnRecognize",
    "nn-recognize-masks": "qmlir.passes.primitive.nn_recognize_masks:NnRecognizeMasks",
    "nn-share-tables": "qmlir.passes.primitive.nn_share_tables:NnShareTables",
    "nn-smooth": "qmlir.passes.profiled.nn_smooth:NnSmooth",
    "nn-split-columns": "qmlir.passes.profiled.nn_split_columns:NnSplitColumns",
    "nn-raise": "qmlir.passes.quantized.nn_raise:NnRaise",
    "pad-shapes": "qmlir.passes.general.pad_shapes:PadShapes",
    "quant-assign-types": "qmlir.passes.quantized.quant_assign_types:QuantAssignTypes",
    "quant-correct-bias": "qmlir.passes.quantized.quant_correct_bias:QuantCorrectBias",
    "quant-fuse-casts": "qmlir.passes.quantized.quant_fuse_casts:QuantFuseCasts",
    "quant-gptq": "qmlir.passes.quantized.quant_gptq:QuantGptq",
    "quant-insert-casts": "qmlir.passes.quantized.quant_insert_casts:QuantInsertCasts",
    "quant-open-composites": "qmlir.passes.quantized.quant_open_composites:QuantOpenComposites",
    "quant-partition": "qmlir.targets.partitioning.quant_partition:QuantPartition",
    "quant-propagate-types": "qmlir.passes.quantized.quant_propagate_types:QuantPropagateTypes",
    "quant-search-scales": "qmlir.passes.quantized.quant_search_scales:QuantSearchScales",
    "quant-set-requantize": "qmlir.passes.quantized.quant_set_requantize:QuantSetRequantize",
    "quant-simulate": "qmlir.passes.quantized.quant_simulate:QuantSimulate",
    "quant-set-target": "qmlir.passes.general.quant_set_target:QuantSetTarget",
    "quant-store-constants": "qmlir.passes.quantized.quant_store_constants:QuantStoreConstants",
    "quant-store-states": "qmlir.passes.quantized.quant_store_states:QuantStoreStates",
    "simd-legalize": "qmlir.targets.cpu.loops.simd_legalize:SimdLegalize",
    "strip-debuginfo": "qmlir.passes.general.strip_debuginfo:StripDebuginfo",
    "strip-training": "qmlir.passes.general.strip_training:StripTraining",
    "symbol-dce": "qmlir.passes.general.symbol_dce:SymbolDce",
    "team-divide": "qmlir.targets.cpu.loops.team_divide:TeamDivide",
    "verify-integer-only": "qmlir.passes.integer.verify_integer_only:VerifyIntegerOnly",
    "verify-level": "qmlir.passes.general.verify_level:VerifyLevel",
}

UPSTREAM_REPLACED = frozenset({"apply-pdl", "canonicalize", "cse", "dce"})
"""Passes that xDSL has under the same name: our tools run ours, stock `xdsl-opt` keeps its own."""

_ONNX = (
    "activations", "attention", "contraction", "elementwise", "expansion", "movement", "normalization", "pooling",
    "quantization", "recurrent", "resizing", "selection", "sequence", "shapes", "softmax", "trees",
)  # fmt: skip
"""The families of ONNX operators that have both importers and exporters."""


def _onnx_rows(table: str, *more: str) -> tuple[str, ...]:
    families = (f"operators.{family}" for family in (*_ONNX, *more))
    return tuple(f"qmlir.onnx.{module}:{table}" for module in ("mirrored", *families))


TREE = Contribution(
    patterns={
        "kernel.to_loops": (
            "qmlir.targets.cpu.loops.convert_kernel_to_loops:PATTERNS",
            "qmlir.targets.cpu.loops.contraction.patterns:PATTERNS",
        ),
        "nn.canonicalize": ("qmlir.dialects.nn.canonicalize:PATTERNS",),
        "quant.canonicalize": ("qmlir.dialects.quant.canonicalize:PATTERNS",),
        "scf.canonicalize": ("qmlir.dialects.nn.canonicalize.control:PATTERNS",),
        "tensor.canonicalize": ("qmlir.dialects.nn.canonicalize.control:PATTERNS",),
    },
    evaluators={
        "arith": "qmlir.interpreter.upstream.arith:EVALUATORS",
        "calib": "qmlir.dialects.calib.interpret:EVALUATORS",
        "check": "qmlir.dialects.check.interpret:EVALUATORS",
        "func": "qmlir.interpreter.upstream.func:EVALUATORS",
        "kernel": "qmlir.dialects.kernel.interpret:EVALUATORS",
        "linalg": "qmlir.interpreter.upstream.linalg:EVALUATORS",
        "math": "qmlir.interpreter.upstream.math:EVALUATORS",
        "memref": "qmlir.interpreter.upstream.memref:EVALUATORS",
        "nn": "qmlir.dialects.nn.interpret:EVALUATORS",
        "quant": "qmlir.dialects.quant.interpret:EVALUATORS",
        "scf": "qmlir.interpreter.upstream.scf:EVALUATORS",
        "simd": "qmlir.dialects.simd.interpret:EVALUATORS",
        "team": "qmlir.dialects.team.interpret:EVALUATORS",
        "tensor": "qmlir.interpreter.upstream.tensor:EVALUATORS",
        "vector": "qmlir.interpreter.upstream.vector:EVALUATORS",
    },
    decompositions={"nn": "qmlir.dialects.nn.decompose:DECOMPOSITIONS"},
    gradients={"calib": "qmlir.dialects.calib.gradient:RULES", "nn": "qmlir.dialects.nn.gradient:RULES"},
    lowerings={
        "calib": "qmlir.dialects.calib.lower:LOWERINGS",
        "nn": "qmlir.dialects.nn.lower:LOWERINGS",
        "quant": "qmlir.dialects.quant.lower:LOWERINGS",
    },
    tables={
        "bufferize.destinations": ("qmlir.targets.cpu.scheduled.bufferization.destinations:DESTINATIONS",),
        "inference": ("qmlir.dialects.nn.inference:RULES", "qmlir.dialects.calib.inference:RULES"),
        "loops.forms": ("qmlir.targets.cpu.loops.contraction.forms:FORMS",),
        "nn.onnx_island": ("qmlir.onnx.islands:INFERENCE", "qmlir.targets.peers.islands:RUNNING"),
        "padding": (
            "qmlir.specialization.padding.rows:RULES",
            "qmlir.specialization.padding.shapes:RULES",
            "qmlir.specialization.padding.windows:RULES",
        ),
        "pdl.constraints": (
            "qmlir.pdl.functions.graph:CONSTRAINTS",
            "qmlir.pdl.functions.provenance:CONSTRAINTS",
            "qmlir.pdl.functions.quantized_types:CONSTRAINTS",
        ),
        "pdl.rewrites": (
            "qmlir.pdl.functions.graph:REWRITES",
            "qmlir.pdl.functions.provenance:REWRITES",
            "qmlir.pdl.functions.quantized_types:REWRITES",
        ),
    },
    calibrators={
        "min_max": "qmlir.arithmetic.calibrators:min_max",
        "moving_average": "qmlir.arithmetic.calibrators:moving_average",
        "batch_mean": "qmlir.arithmetic.calibrators:batch_mean",
        "percentile": "qmlir.arithmetic.calibrators:percentile",
        "entropy": "qmlir.arithmetic.calibrators:entropy",
        "mse": "qmlir.arithmetic.calibrators:mse",
        "gauss": "qmlir.arithmetic.calibrators:gauss",
        "laplace": "qmlir.arithmetic.calibrators:laplace",
    },
    schemes={
        "asymmetric": "qmlir.arithmetic.schemes:ASYMMETRIC",
        "symmetric": "qmlir.arithmetic.schemes:SYMMETRIC",
        "asymmetric_pow2": "qmlir.arithmetic.schemes:ASYMMETRIC_POW2",
        "symmetric_pow2": "qmlir.arithmetic.schemes:SYMMETRIC_POW2",
    },
    importers=_onnx_rows(
        "IMPORTERS",
        "dynamic",
        "machine_learning",
        "microsoft",
        "microsoft_attention",
        "microsoft_layers",
        "text",
        "training",
    ),
    exporters=(*_onnx_rows("EXPORTERS", "calibration"), "qmlir.onnx.islands:EXPORTERS"),
    targets={"cpu": "qmlir.targets.cpu.target:TARGET", "interpreter": "qmlir.targets.interpreted:TARGET"},
    isas={
        "generic": "qmlir.targets.cpu.isa.generic:GENERIC",
        "avx2": "qmlir.targets.cpu.isa.avx2:AVX2",
        "avx2-vnni": "qmlir.targets.cpu.isa.avx2_vnni:AVX2_VNNI",
        "avx512-vnni": "qmlir.targets.cpu.isa.avx512_vnni:AVX512_VNNI",
        "neon": "qmlir.targets.cpu.isa.neon:NEON",
    },
    variants={
        "u8s8_dot": "qmlir.targets.cpu.variants.bytes:U8S8_DOT",
        "u8s4_dot": "qmlir.targets.cpu.variants.narrow:U8S4_DOT",
        "u8s2_dot": "qmlir.targets.cpu.variants.narrow:U8S2_DOT",
        "u8s4_short": "qmlir.targets.cpu.variants.short_sums:U8S4_SHORT",
        "u8s5_short": "qmlir.targets.cpu.variants.short_sums:U8S5_SHORT",
        "u8s6_short": "qmlir.targets.cpu.variants.short_sums:U8S6_SHORT",
        "u8s7_short": "qmlir.targets.cpu.variants.short_sums:U8S7_SHORT",
        "s8s8_dot": "qmlir.targets.cpu.variants.bytes:S8S8_DOT",
        "i16_pairs": "qmlir.targets.cpu.variants.i16_pairs:I16_PAIRS",
        "depthwise": "qmlir.targets.cpu.variants.depthwise:DEPTHWISE",
        "depthwise_dot": "qmlir.targets.cpu.variants.interleaved:DEPTHWISE_DOT",
        "depthwise_pairs": "qmlir.targets.cpu.variants.interleaved:DEPTHWISE_PAIRS",
        "splat": "qmlir.targets.cpu.variants.splat:SPLAT",
        "splat_fma": "qmlir.targets.cpu.variants.splat:SPLAT_FMA",
        "f32s8": "qmlir.targets.cpu.variants.widened:F32S8",
        "f32s4": "qmlir.targets.cpu.variants.widened:F32S4",
        "f32s2": "qmlir.targets.cpu.variants.widened:F32S2",
        "winograd": "qmlir.targets.cpu.variants.winograd:WINOGRAD",
        "winograd_f4": "qmlir.targets.cpu.variants.winograd:WINOGRAD_F4",
        "winograd_f4_bytes": "qmlir.targets.cpu.variants.winograd:WINOGRAD_F4_BYTES",
    },
    built_for=INTERFACE,
)
