"""Explains why a node is quantized as it is, by repeating the quantization and recording the decisions.

The quantize pipeline runs again on the float module, with the same profile and rules. The code that decides types
records its reasons, and an instrumentation records the passes that change the node. The compile pipeline then runs up
to the stage that names kernels, to show which kernels compute the node. No samples are run, and no code is generated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from qmlir.dialects.kernel.attributes import TARGET, TargetAttr
from qmlir.extensions.report.deciding import DecisionReader
from qmlir.extensions.report.explanation import Explanation, ImplementingOperation
from qmlir.extensions.report.layers import kernels_of
from qmlir.extensions.report.naming import NamedNode, find_node, value_info
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler, emit, text_error
from qmlir.ir.provenance import origins_of
from qmlir.passmanager.instrumentation import Instrumentation, PassChange, ProvenanceChanges
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import Pipeline
from qmlir.pipelines import COMPILE, quantize_pipeline
from qmlir.quantization.profiles.keys import is_constant
from qmlir.quantization.profiles.profile import Profile, model_digest
from qmlir.quantization.report import CASTS, key_of
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.specialize import specialize
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import load
from qmlir.workflows.quantized import Quantized

_TO_KERNELS = ("lower", "fuse", "schedule", "bufferize")
"""The stages after which every kernel is a function with a name and a schedule."""


def _run(module: ModuleOp, passes: Pipeline, instrumentations: Sequence[Instrumentation], **given: Any) -> None:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        run_pipeline(module, passes, instrumentations, **given)
    for diagnostic in said:
        if diagnostic.severity is not Severity.REMARK:  # remarks were emitted by the original run
            emit(diagnostic)


def _standing(module: ModuleOp, node: NamedNode) -> tuple[ImplementingOperation, ...]:
    found: dict[ImplementingOperation, None] = {}
    for op in module.walk():
        if node.is_of(op) and op.results and not isinstance(op, CASTS) and not is_constant(op):
            operands, results = (
                tuple(info for value in values if (info := value_info(value)) is not None)
                for values in (op.operands, op.results)
            )
            found[ImplementingOperation(key_of(op), op.name, operands, results)] = None
    return tuple(found)


def _whole(module: ModuleOp, node: NamedNode) -> NamedNode:
    """Returns the nodes that `node`, possibly a part of one, belongs to."""
    origins = (origin for op in module.walk() for origin in origins_of(op))
    names = frozenset(origin.name for origin in origins if node.has(origin))
    return replace(node, origins=names)


def _standing_in(module: ModuleOp, node: NamedNode, whole: NamedNode) -> NamedNode:
    """Returns `node` if an operation in `module` implements it alone, otherwise the nodes that contain it."""
    return node if any(map(node.is_of, module.walk())) else whole


def _types(module: ModuleOp, node: NamedNode) -> list[tuple[str, list[Attribute]]]:
    """Returns the operations of the node with their types, for comparisons."""
    return [(op.name, [value.type for value in (*op.operands, *op.results)]) for op in module.walk() if node.is_of(op)]


def _changes(changes: ProvenanceChanges, node: NamedNode) -> tuple[PassChange, ...]:
    return tuple(change for key in sorted(node.origins) for change in changes.of(key))


def _op_types(modules: Sequence[ModuleOp], node: NamedNode) -> tuple[str, ...]:
    names = {key.partition("/")[0] for key in node.origins} | node.origins
    origins = (origin for module in modules for op in module.walk() for origin in origins_of(op))
    return tuple(dict.fromkeys(each.op_type for each in origins if each.op_type and each.name in names))


def _target_of(module: ModuleOp) -> str:
    target = module.attributes.get(TARGET)
    return target.isa if isinstance(target, TargetAttr) else ""


def explain_node(
    node: str,
    module: ModuleOp,
    profile: Profile,
    *,
    quantized: ModuleOp | None = None,
    isa: str = "host",
    threads: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
    **settings: Unpack[QuantizeSettings],
) -> Explanation:
    """Explains the type decisions about `node` of a float `module`.

    `node` is the name of a node, a provenance key (`fc1/matmul`), or the name of a tensor, an input or a weight.
    `profile` and `settings` are those that `qmlir.quantize` used. `quantized` is the resulting module if it is known;
    otherwise the module is quantized again. `shapes` fixes dynamic dimensions of inputs by name, since kernels require
    static shapes; `isa` and `threads` select the kernels.

    Raises `DiagnosticError`, with similar names, if the model does not contain `node`, and if the profile or the recipe
    does not fit the model. If the kernels cannot be determined, the explanation states the reason.
    """
    pipeline = quantize_pipeline(settings, module)
    changes = ProvenanceChanges()
    made = module.clone()
    _run(made, pipeline.passes("target", "lower"), [changes])
    if model_digest(made).structure != profile.model.structure:  # an effort unrolls long recurrent layers
        unrolled, of_unrolled = module.clone(), ProvenanceChanges()
        _run(unrolled, pipeline.passes("target", "lower", unrolls=True), [of_unrolled])
        if model_digest(unrolled).structure == profile.model.structure:
            made, changes = unrolled, of_unrolled
    found = find_node(node, module, made)
    op_types = _op_types((module, made), found)
    whole = _whole(made, found)
    reader = DecisionReader(made, found, profile)
    rest = [stage.name for stage in pipeline.stages if stage.name not in ("target", "lower")]
    _run(made, pipeline.passes(*rest), [changes], taken=profile, watch=reader)
    given = made if quantized is None else quantized
    standing = _standing_in(given, found, whole)
    compiled, scheduled, failure = ProvenanceChanges(), None, ""
    try:
        scheduled = specialize(given, shapes)
        _run(scheduled, COMPILE.passes(*_TO_KERNELS, isa=isa, threads=threads), [compiled])
    except DiagnosticError as error:
        failure = error.diagnostic.message
    is_lowered = scheduled is not None and not failure
    return Explanation(
        node,
        tuple(sorted(found.origins | found.values)),
        op_types,
        _standing(given, standing),
        tuple(reader.found),
        _changes(changes, found),
        _changes(compiled, found) if is_lowered else (),
        _target_of(scheduled) if scheduled is not None and is_lowered else isa,
        kernels_of(scheduled, standing) if scheduled is not None and is_lowered else (),
        failure,
        quantized is None or _types(quantized, standing) == _types(made, standing),
    )


# Explanations of nodes of a quantized model or its folder, which contain everything needed to repeat the decisions.


def explain(
    model: Quantized | str | PathLike[str],
    node: str,
    *,
    isa: str = "host",
    threads: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Explanation:
    """Explain why a node of a quantized model has its types, or stays in float.

    Args:
        model: The result of `quantize`, a folder written by `qmlir quantize` or `Quantized.save`, or the `.q.mlir` in
            it.
        node: Name of a node, a provenance key (`fc1/matmul`), or the name of a tensor, an input or a weight.
        isa: Instruction set of the CPU, such as `avx2`; `host` is the best one of this CPU.
        threads: Number of threads that kernels are chosen for, at least 1.
        shapes: Shapes of inputs by name, to show the kernels of a model with dynamic dimensions.

    Returns:
        The decisions about the node, the passes that changed it, and its kernels. Printing it shows them.

    Raises:
        DiagnosticError: `model` does not record the decisions, or has no such node; the message suggests similar names.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data)
        >>> explanation = qmlir.explain(quantized, "fc1")
        >>> [decision.key for decision in explanation.decisions]
        ['fc1/matmul', 'fc1/bias_add']
    """
    if isinstance(model, Quantized):
        return explain_node(
            node,
            model.source,
            model.profile,
            quantized=model.module,
            isa=isa,
            threads=threads,
            shapes=shapes,
            **model.settings,
        )
    if not isinstance(model, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise text_error(
            f"explain requires the result of quantize or its folder, but got {type(model).__name__}, which does not "
            "record the decisions"
        )
    found = QuantizedFolder.open(model)
    beside = found.settings_beside_recipe()
    settings: QuantizeSettings = {**beside, "granularity": "", "recipe": found.recipe}  # the recipe has all settings
    return explain_node(
        node,
        load(found.float_module),
        Profile.load(found.profile),
        quantized=load(found.module),
        isa=isa,
        threads=threads,
        shapes=shapes,
        **settings,
    )
