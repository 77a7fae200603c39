"""Explanations of nodes, for a quantized model or its folder, which hold everything needed to repeat the decisions."""

from collections.abc import Mapping, Sequence
from os import PathLike

from qmlir.extensions.report.inspection.explaining import explain_node
from qmlir.extensions.report.inspection.explanation import Explanation
from qmlir.ir.diagnostics import text_error
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.settings import QuantizeSettings
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import load
from qmlir.workflows.quantized import Quantized


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
