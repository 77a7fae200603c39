"""The rows of the tree: its dialects, its passes, and its contribution, in the same form as those of packages.

This module imports no dialect or pass, so that the tools start quickly.
"""

from collections.abc import Mapping

from qmlir.registry.contribution import INTERFACE, Contribution

DIALECTS: Mapping[str, str] = {
    "calib": "qmlir.dialects.calib.dialect:Calib",
    "check": "qmlir.dialects.check.dialect:Check",
    "kernel": "qmlir.dialects.kernel.dialect:Kernel",
    "nn": "qmlir.dialects.nn.dialect:Nn",
    "quant": "qmlir.dialects.quant.dialect:Quant",
    "simd": "qmlir.dialects.simd.dialect:Simd",
    "target": "qmlir.dialects.target.dialect:Target",
    "team": "qmlir.dialects.team.dialect:Team",
}

PASSES: Mapping[str, str] = {
    "calib-apply-profile": "qmlir.passes.profiled.calib_apply_profile:CalibApplyProfile",
    "calib-attach-records": "qmlir.passes.profiled.calib_observers:CalibAttachRecords",
    "calib-insert-observers": "qmlir.passes.profiled.calib_observers:CalibInsertObservers",
    "canonicalize": "qmlir.passes.general.simplification:Canonicalize",
    "convert-kernel-to-loops": "qmlir.targets.cpu.loops.convert_kernel_to_loops:ConvertKernelToLoops",
    "convert-nn-to-kernel": "qmlir.passes.integer.convert_nn_to_kernel:ConvertNnToKernel",
    "cse": "qmlir.passes.general.simplification:Cse",
    "dce": "qmlir.passes.general.simplification:Dce",
    "fix-shapes": "qmlir.passes.general.static_shapes:FixShapes",
    "inline": "qmlir.passes.general.inline:Inline",
    "kernel-analyze-ranges": "qmlir.passes.integer.verification:KernelAnalyzeRanges",
    "kernel-assign-schedule": "qmlir.targets.cpu.scheduled.schedule:KernelAssignSchedule",
    "kernel-bufferize": "qmlir.targets.cpu.scheduled.kernel_bufferize:KernelBufferize",
    "kernel-fill-halo": "qmlir.targets.cpu.scheduled.kernel_fill_halo:KernelFillHalo",
    "kernel-fuse": "qmlir.passes.integer.kernel_fuse:KernelFuse",
    "kernel-tile-producers": "qmlir.targets.cpu.scheduled.kernel_tile_producers:KernelTileProducers",
    "kernel-fuse-attention": "qmlir.targets.cpu.scheduled.kernel_fuse_attention:KernelFuseAttention",
    "kernel-mark-in-place": "qmlir.targets.cpu.scheduled.kernel_mark_in_place:KernelMarkInPlace",
    "kernel-mark-read-only": "qmlir.targets.cpu.loops.kernel_mark_read_only:KernelMarkReadOnly",
    "kernel-narrow": "qmlir.passes.integer.kernel_narrow:KernelNarrow",
    "kernel-outline": "qmlir.targets.cpu.scheduled.kernel_outline:KernelOutline",
    "kernel-pack": "qmlir.targets.cpu.scheduled.kernel_pack:KernelPack",
    "kernel-plan-memory": "qmlir.targets.cpu.scheduled.kernel_plan_memory:KernelPlanMemory",
    "kernel-propagate-layout": "qmlir.passes.integer.kernel_propagate_layout:KernelPropagateLayout",
    "kernel-requantize-by-integers": (
        "qmlir.targets.cpu.scheduled.kernel_requantize_by_integers:KernelRequantizeByIntegers"
    ),
    "kernel-merge-functions": "qmlir.targets.cpu.scheduled.kernel_merge_functions:KernelMergeFunctions",
    "kernel-simplify-rounding": "qmlir.passes.integer.kernel_simplify_rounding:KernelSimplifyRounding",
    "kernel-split-rows": "qmlir.targets.cpu.scheduled.kernel_split_rows:KernelSplitRows",
    "kernel-split-tables": "qmlir.targets.cpu.scheduled.kernel_split_tables:KernelSplitTables",
    "kernel-lookup-tables": "qmlir.passes.integer.kernel_lookup_tables:KernelLookupTables",
    "kernel-verify-custom": "qmlir.passes.integer.verification:KernelVerifyCustom",
    "kernel-winograd": "qmlir.targets.cpu.scheduled.kernel_winograd:KernelWinograd",
    "math-expand": "qmlir.targets.cpu.loops.math_expand:MathExpand",
    "nn-compute-in-f32": "qmlir.passes.primitive.nn_compute_in_f32:NnComputeInF32",
    "nn-contract-integers": "qmlir.passes.quantized.nn_contract_integers:NnContractIntegers",
    "nn-decompose": "qmlir.passes.primitive.composites:NnDecompose",
    "nn-fold-constants": "qmlir.passes.primitive.constants:NnFoldConstants",
    "nn-recognize": "qmlir.passes.primitive.composites:NnRecognize",
    "nn-recognize-masks": "qmlir.passes.primitive.composites:NnRecognizeMasks",
    "nn-tie-embeddings": "qmlir.passes.primitive.constants:NnTieEmbeddings",
    "nn-smooth": "qmlir.passes.profiled.outlier_channels:NnSmooth",
    "nn-split-outlier-channels": "qmlir.passes.profiled.outlier_channels:NnSplitOutlierChannels",
    "nn-raise": "qmlir.passes.quantized.nn_raise:NnRaise",
    "pad-shapes": "qmlir.passes.general.static_shapes:PadShapes",
    "quant-assign-types": "qmlir.passes.quantized.quant_casts:QuantAssignTypes",
    "quant-expand-floats": "qmlir.passes.primitive.constants:QuantExpandFloats",
    "quant-fuse-casts": "qmlir.passes.quantized.quant_casts:QuantFuseCasts",
    "quant-insert-casts": "qmlir.passes.quantized.quant_casts:QuantInsertCasts",
    "quant-dequantize-composites": "qmlir.passes.quantized.quant_casts:QuantDequantizeComposites",
    "quant-partition": "qmlir.targets.partitioning.quant_partition:QuantPartition",
    "quant-propagate-types": "qmlir.passes.quantized.quant_casts:QuantPropagateTypes",
    "quant-set-requantize": "qmlir.passes.quantized.quant_set_requantize:QuantSetRequantize",
    "quant-set-target": "qmlir.passes.general.targets:QuantSetTarget",
    "quant-store-constants": "qmlir.passes.quantized.quant_casts:QuantStoreConstants",
    "quant-store-states": "qmlir.passes.quantized.quant_casts:QuantStoreStates",
    "simd-legalize": "qmlir.targets.cpu.loops.simd_legalize:SimdLegalize",
    "simd-unroll": "qmlir.targets.cpu.loops.simd_unroll:SimdUnroll",
    "strip-debuginfo": "qmlir.passes.general.strip:StripDebuginfo",
    "strip-training": "qmlir.passes.general.strip:StripTraining",
    "symbol-dce": "qmlir.passes.general.simplification:SymbolDce",
    "team-divide": "qmlir.targets.cpu.loops.team_divide:TeamDivide",
    "verify-integer-only": "qmlir.passes.integer.verification:VerifyIntegerOnly",
    "verify-level": "qmlir.passes.general.targets:VerifyLevel",
}

UPSTREAM_REPLACED = frozenset({"apply-pdl", "canonicalize", "cse", "dce"})
"""Passes whose names xDSL also uses. qmlir's tools run these passes; `xdsl-opt` runs its own."""

_ONNX = (
    "attention", "contraction", "elementwise", "machine_learning", "movement", "normalization", "quantization",
    "recurrent", "resizing", "sequence", "shapes",
)  # fmt: skip
"""The families of ONNX operators with both importers and exporters."""


_UPSTREAM = ("arith", "linalg", "math", "memref", "scf", "tensor", "vector")
"""The dialects of xDSL that the interpreter evaluates."""

_CALIBRATORS = ("min_max", "moving_average", "batch_mean", "percentile", "entropy", "mse", "gauss", "laplace")

_COMMANDS: Mapping[str, str] = {
    "quantize": "quantize a float model with calibration samples",
    "compile": "compile a model into a program",
    "export": "export a model or module to ONNX",
    "run": "run a model, module or program",
    "profile": "record the value ranges of a model on samples",
    "compare": "compare two models layer by layer",
    "partition": "partition a quantized model among devices",
    "new-dialect": "create a package for a new dialect, with tests and CI",
    "doctor": "check the installation and the CPU",
    "completion": "print a shell completion script",
}
"""The commands of `qmlir`, each with its line in `qmlir --help`."""


def _word(command: str) -> str:
    """Returns the name of the file of a command."""
    return command.replace("-", "_")


def _onnx_rows(table: str, *more: str) -> tuple[str, ...]:
    families = (f"operators.{family}" for family in (*_ONNX, *more))
    return tuple(f"qmlir.onnx.{module}:{table}" for module in ("one_to_one", *families))


GUARDS: Mapping[str, str] = {
    "evaluators": "qmlir.interpreter.guarding:guarded_evaluator",
    "decompositions": "qmlir.ir.decomposition:guarded_decomposition",
    "gradients": "qmlir.dialects.nn.gradient_rules:guarded_rule",
    "lowerings": "qmlir.dialects.kernel.lowering.lowering:guarded_lowering",
    "paddings": "qmlir.dialects.nn.padding_rules:guarded_padding",
}
"""The function that wraps a `Hook` so that its results are checked, for fields of contributions that need one."""

TREE = Contribution(
    passes=PASSES,
    patterns={
        "kernel.to_loops": (
            "qmlir.targets.cpu.loops.convert_kernel_to_loops:PATTERNS",
            "qmlir.targets.cpu.loops.tiles:PATTERNS",
        ),
        "nn.canonicalize": ("qmlir.dialects.nn.canonicalize:PATTERNS",),
        "quant.canonicalize": ("qmlir.dialects.quant.canonicalize:PATTERNS",),
        "scf.canonicalize": ("qmlir.dialects.nn.canonicalize.control:PATTERNS",),
        "tensor.canonicalize": ("qmlir.dialects.nn.canonicalize.control:PATTERNS",),
    },
    evaluators={
        **{name: f"qmlir.interpreter.upstream.{name}:EVALUATORS" for name in _UPSTREAM},
        **{name: f"qmlir.dialects.{name}.evaluate:EVALUATORS" for name in DIALECTS if name not in ("nn", "target")},
        "func": "qmlir.interpreter.upstream.scf:CALLS",
        "nn": "qmlir.dialects.nn.evaluators:EVALUATORS",
    },
    decompositions={"nn": "qmlir.dialects.nn.decompositions:DECOMPOSITIONS"},
    gradients={"calib": "qmlir.dialects.calib.gradient:RULES", "nn": "qmlir.dialects.nn.gradients:RULES"},
    lowerings={
        "calib": "qmlir.dialects.calib.lower:LOWERINGS",
        "nn": "qmlir.dialects.nn.lowerings:LOWERINGS",
        "quant": "qmlir.dialects.quant.lower:LOWERINGS",
    },
    paddings={"nn": "qmlir.dialects.nn.paddings:RULES", "quant": "qmlir.dialects.quant.lower:PADDINGS"},
    tables={
        "bufferize.destinations": ("qmlir.targets.cpu.scheduled.aliases:DESTINATIONS",),
        "inference": ("qmlir.dialects.nn.training.decompose:INFERENCE", "qmlir.dialects.calib.inference:RULES"),
        "loops.forms": ("qmlir.targets.cpu.loops.vector_lowerings:FORMS",),
        "nn.onnx_island": ("qmlir.onnx.islands:INFERENCE", "qmlir.targets.runtimes.islands:RUNNING"),
    },
    calibrators={name: f"qmlir.arithmetic.calibrators:{name}" for name in _CALIBRATORS},
    schemes={
        "asymmetric": "qmlir.arithmetic.schemes:ASYMMETRIC",
        "symmetric": "qmlir.arithmetic.schemes:SYMMETRIC",
        "asymmetric_pow2": "qmlir.arithmetic.schemes:ASYMMETRIC_POW2",
        "symmetric_pow2": "qmlir.arithmetic.schemes:SYMMETRIC_POW2",
    },
    importers=_onnx_rows("IMPORTERS", "dynamic"),
    exporters=(*_onnx_rows("EXPORTERS"), "qmlir.onnx.islands:EXPORTERS"),
    commands={name: f"qmlir.tools.commands.{_word(name)}:{_word(name).upper()}" for name in _COMMANDS},
    command_help=_COMMANDS,
    targets={"cpu": "qmlir.targets.cpu.target:TARGET", "interpreter": "qmlir.targets.interpreted:TARGET"},
    isas={
        "generic": "qmlir.targets.cpu.isa.portable:GENERIC",
        "portable": "qmlir.targets.cpu.isa.portable:PORTABLE",
        "portable-integer": "qmlir.targets.cpu.isa.portable:PORTABLE_INTEGER",
        "avx2": "qmlir.targets.cpu.isa.x86:AVX2",
        "avx2-vnni": "qmlir.targets.cpu.isa.x86:AVX2_VNNI",
        "avx512-vnni": "qmlir.targets.cpu.isa.x86:AVX512_VNNI",
        "neon": "qmlir.targets.cpu.isa.arm:NEON",
        "neon-dotprod": "qmlir.targets.cpu.isa.arm:NEON_DOTPROD",
        "wasm-simd": "qmlir.targets.cpu.isa.portable:WASM_SIMD",
        "armv7e-m": "qmlir.targets.cpu.isa.arm:ARMV7E_M",
    },
    variants={
        "u8s8_dot": "qmlir.targets.cpu.microkernels.byte_dots:U8S8_DOT",
        "u8s4_dot": "qmlir.targets.cpu.microkernels.byte_dots:U8S4_DOT",
        "u8s2_dot": "qmlir.targets.cpu.microkernels.byte_dots:U8S2_DOT",
        "s8u2_dot": "qmlir.targets.cpu.microkernels.byte_dots:S8U2_DOT",
        "s8u1_dot": "qmlir.targets.cpu.microkernels.byte_dots:S8U1_DOT",
        "u8s4_short": "qmlir.targets.cpu.microkernels.byte_dots:U8S4_SHORT",
        "u8s5_short": "qmlir.targets.cpu.microkernels.byte_dots:U8S5_SHORT",
        "u8s6_short": "qmlir.targets.cpu.microkernels.byte_dots:U8S6_SHORT",
        "u8s7_short": "qmlir.targets.cpu.microkernels.byte_dots:U8S7_SHORT",
        "u8s8_short": "qmlir.targets.cpu.microkernels.byte_dots:U8S8_SHORT",
        "u8s8_short2": "qmlir.targets.cpu.microkernels.byte_dots:U8S8_SHORT2",
        "u8s8_short4": "qmlir.targets.cpu.microkernels.byte_dots:U8S8_SHORT4",
        "s8s8_dot": "qmlir.targets.cpu.microkernels.byte_dots:S8S8_DOT",
        "s8s8_lanes": "qmlir.targets.cpu.microkernels.byte_dots:S8S8_LANES",
        "i16_pairs": "qmlir.targets.cpu.microkernels.broadcast_fma:I16_PAIRS",
        "depthwise": "qmlir.targets.cpu.microkernels.broadcast_fma:DEPTHWISE",
        "splat_bytes": "qmlir.targets.cpu.microkernels.broadcast_fma:SPLAT_BYTES",
        "depthwise_bytes": "qmlir.targets.cpu.microkernels.broadcast_fma:DEPTHWISE_BYTES",
        "depthwise_dot": "qmlir.targets.cpu.microkernels.interleaved:DEPTHWISE_DOT",
        "depthwise_pairs": "qmlir.targets.cpu.microkernels.interleaved:DEPTHWISE_PAIRS",
        "splat": "qmlir.targets.cpu.microkernels.broadcast_fma:SPLAT",
        "splat_fma": "qmlir.targets.cpu.microkernels.broadcast_fma:SPLAT_FMA",
        "f32s8": "qmlir.targets.cpu.microkernels.broadcast_fma:F32S8",
        "f32s4": "qmlir.targets.cpu.microkernels.broadcast_fma:F32S4",
        "f32s2": "qmlir.targets.cpu.microkernels.broadcast_fma:F32S2",
        "f32e2m1": "qmlir.targets.cpu.microkernels.broadcast_fma:F32E2M1",
        "f32e3m4": "qmlir.targets.cpu.microkernels.broadcast_fma:F32E3M4",
        "f32e4m3": "qmlir.targets.cpu.microkernels.broadcast_fma:F32E4M3",
        "f32e5m2": "qmlir.targets.cpu.microkernels.broadcast_fma:F32E5M2",
        "winograd": "qmlir.targets.cpu.microkernels.winograd:WINOGRAD",
        "winograd_f4": "qmlir.targets.cpu.microkernels.winograd:WINOGRAD_F4",
        "winograd_f4_bytes": "qmlir.targets.cpu.microkernels.winograd:WINOGRAD_F4_BYTES",
    },
    emitters={
        "numba": "qmlir.targets.cpu.emitters.numba.build:EMITTER",
        "llvm": "qmlir.targets.cpu.emitters.llvm.emit:EMITTER",
    },
    built_for=INTERFACE,
)

EXTENSIONS: Mapping[str, str] = {
    "aot": "qmlir.extensions.aot:CONTRIBUTION",
    "bench": "qmlir.extensions.bench:CONTRIBUTION",
    "cluster": "qmlir.extensions.cluster:CONTRIBUTION",
    "lsp": "qmlir.extensions.lsp:CONTRIBUTION",
    "microsoft": "qmlir.extensions.microsoft:CONTRIBUTION",
    "pdl": "qmlir.extensions.pdl:CONTRIBUTION",
    "recovery": "qmlir.extensions.recovery:CONTRIBUTION",
    "report": "qmlir.extensions.report:CONTRIBUTION",
    "search": "qmlir.extensions.search:CONTRIBUTION",
    "training": "qmlir.extensions.training:CONTRIBUTION",
}
"""The contribution of each extension, by the name with which `QMLIR_WITHOUT` disables it."""
