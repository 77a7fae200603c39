"""The rows of the tree: its dialects, its passes, and its contribution, in the same form as those of packages.

This module imports no dialect or pass, so that the tools start quickly.
"""

from collections.abc import Mapping

from qmlir.registry.contribution import INTERFACE, Contribution


def _word(name: str) -> str:
    """Returns the module name of a command or pass."""
    return name.replace("-", "_")


def _constants(module: str, *names: str) -> dict[str, str]:
    """Returns rows of a module that defines each object as a constant named like its row, in upper case."""
    return {name: f"{module}:{_word(name).upper()}" for name in names}


_DIALECTS = ("calib", "check", "kernel", "nn", "quant", "simd", "target", "team")

DIALECTS: Mapping[str, str] = {name: f"qmlir.dialects.{name}.dialect:{name.title()}" for name in _DIALECTS}

_PASSES: Mapping[str, str] = {
    "qmlir.passes.general.simplification": "canonicalize cse dce inline symbol-dce",
    "qmlir.passes.general.static_shapes": "fix-shapes pad-shapes",
    "qmlir.passes.general.strip": "strip-debuginfo strip-training",
    "qmlir.passes.general.targets": "quant-set-target verify-level",
    "qmlir.passes.profiled.calib_apply_profile": "calib-apply-profile calib-give-ranges",
    "qmlir.passes.profiled.calib_observers": "calib-attach-records calib-insert-observers",
    "qmlir.passes.profiled.outlier_channels": "nn-smooth nn-split-outlier-channels",
    "qmlir.passes.primitive.{name}": "nn-compute-in-f32",
    "qmlir.passes.primitive.composites": "nn-decompose nn-recognize nn-recognize-masks",
    "qmlir.passes.primitive.constants": "nn-fold-constants nn-tie-embeddings quant-expand-floats",
    "qmlir.passes.quantized.{name}": """
        nn-contract-integers nn-quantize-dynamically nn-raise quant-raise-integers quant-set-requantize
    """,
    "qmlir.passes.quantized.quant_casts": """
        quant-assign-types quant-dequantize-composites quant-fuse-casts quant-insert-casts quant-propagate-types
        quant-store-constants
    """,
    "qmlir.passes.quantized.quant_store": "quant-store-ports quant-store-states",
    "qmlir.passes.integer.{name}": """
        convert-nn-to-kernel kernel-fuse kernel-lookup-tables kernel-narrow kernel-propagate-layout
        kernel-simplify-rounding
    """,
    "qmlir.passes.integer.verification": "kernel-analyze-ranges kernel-verify-custom verify-integer-only",
    "qmlir.targets.cpu.loops.{name}": """
        convert-kernel-to-loops kernel-follow-lengths kernel-mark-read-only math-expand simd-legalize simd-unroll
        team-divide
    """,
    "qmlir.targets.cpu.scheduled.{name}": """
        kernel-bufferize kernel-fill-halo kernel-fuse-attention kernel-mark-in-place
        kernel-merge-functions kernel-outline kernel-pack kernel-plan-memory kernel-requantize-by-integers
        kernel-split-rows kernel-split-tables kernel-tile-producers kernel-winograd
    """,
    "qmlir.targets.cpu.scheduled.schedule": "kernel-assign-schedule",
    "qmlir.targets.partitioning.{name}": "quant-partition",
}
"""The passes of each module. `{name}` stands for the name of a pass that has a module of its own."""

PASSES: Mapping[str, str] = {
    name: f"{module.format(name=_word(name))}:{name.title().replace('-', '')}"
    for name, module in sorted((name, module) for module, names in _PASSES.items() for name in names.split())
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

_MICROKERNELS = "qmlir.targets.cpu.microkernels"

_BYTE_DOTS = (
    "u8s8_dot", "u8s4_dot", "u8s2_dot", "s8u4_dot", "s8u2_dot", "s8u1_dot", "s8u4_short", "s8u2_short", "u8s4_short",
    "u8s5_short", "u8s6_short", "u8s7_short", "u8s8_short", "u8s8_short2", "u8s8_short4", "s8s8_dot", "s8s8_lanes",
)  # fmt: skip

_FLOATS = ("splat", "splat_fma", "f32s8", "f32s4", "f32s2", "f32e2m1", "f32e3m4", "f32e4m3", "f32e5m2")

_COMMANDS: Mapping[str, str] = {
    "quantize": "quantize a float model with calibration samples",
    "compile": "compile a model into a program",
    "export": "export a model or module to ONNX or LiteRT",
    "run": "run a model, module or program",
    "profile": "record the value ranges of a model on samples",
    "compare": "compare two models layer by layer",
    "partition": "partition a quantized model among devices",
    "doctor": "check the installation and the CPU",
    "completion": "print a shell completion script",
}
"""The commands of `qmlir`, each with its line in `qmlir --help`."""


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
    schemes=_constants("qmlir.arithmetic.schemes", "asymmetric", "symmetric", "asymmetric_pow2", "symmetric_pow2"),
    importers=_onnx_rows("IMPORTERS", "dynamic"),
    exporters=(*_onnx_rows("EXPORTERS"), "qmlir.onnx.islands:EXPORTERS"),
    commands={name: f"qmlir.tools.commands.{_word(name)}:{_word(name).upper()}" for name in _COMMANDS},
    command_help=_COMMANDS,
    targets={"cpu": "qmlir.targets.cpu.target:TARGET", "interpreter": "qmlir.targets.interpreted:TARGET"},
    isas={
        **_constants("qmlir.targets.cpu.isa.portable", "generic", "portable", "portable-integer"),
        **_constants("qmlir.targets.cpu.isa.x86", "avx2", "avx2-vnni", "avx512-vnni"),
        **_constants("qmlir.targets.cpu.isa.arm", "neon", "neon-dotprod"),
        **_constants("qmlir.targets.cpu.isa.portable", "wasm-simd"),
        **_constants("qmlir.targets.cpu.isa.arm", "armv7e-m"),
    },
    variants={
        **_constants(f"{_MICROKERNELS}.byte_dots", *_BYTE_DOTS),
        **_constants(
            f"{_MICROKERNELS}.broadcast_fma",
            "i16_pairs",
            "i16_bytes",
            "depthwise",
            "splat_bytes",
            "depthwise_bytes",
            "depthwise_bytes_taps",
        ),
        **_constants(f"{_MICROKERNELS}.unpacked", "i16_dots", "i16_rows", "i16_shifted_rows", "u16_rows"),
        **_constants(f"{_MICROKERNELS}.interleaved", "depthwise_dot", "depthwise_pairs"),
        **_constants(f"{_MICROKERNELS}.broadcast_fma", *_FLOATS),
        **_constants(f"{_MICROKERNELS}.winograd", "winograd", "winograd_f4", "winograd_f4_bytes"),
    },
    emitters={
        "numba": "qmlir.targets.cpu.emitters.numba.build:EMITTER",
        "llvm": "qmlir.targets.cpu.emitters.llvm.emit:EMITTER",
    },
    built_for=INTERFACE,
)

_EXTENSIONS = (
    "aimet", "aot", "bench", "cluster", "litert", "lsp", "microsoft", "new_dialect", "pdl", "pt2", "qonnx",
    "recovery", "report", "search", "training",
)  # fmt: skip

EXTENSIONS: Mapping[str, str] = {name: f"qmlir.extensions.{name}:CONTRIBUTION" for name in _EXTENSIONS}
"""The contribution of each extension, by the name with which `QMLIR_WITHOUT` disables it."""
