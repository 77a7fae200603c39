"""Why a node is what it is, asked of a quantized model or of its folder: both hold all that has to be done again."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

from qmlir.ir.diagnostics import text_error
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.settings import QuantizeSettings
from qmlir.workflows.folder import SUMMARY, QuantizedFolder
from qmlir.workflows.inspection.explaining import explain_node
from qmlir.workflows.inspection.explanation import Explanation
from qmlir.workflows.loading import load
from qmlir.workflows.quantized import Quantized


def beside_the_recipe(folder: QuantizedFolder) -> QuantizeSettings:
    """The composites that stayed whole and the targets, which no recipe says. Raises `DiagnosticError`."""
    settings: Any = folder.read_summary().get("settings")
    said = cast(dict[str, Any], settings) if isinstance(settings, dict) else {}
    keep, target = said.get("keep_composites"), str(said.get("device") or "")
    if not isinstance(keep, list):
        if target and keep is None:
            return {"device": target}
        raise text_error(f"'{folder.path / SUMMARY}' lacks settings.keep_composites; quantize the model again")
    kept = [str(each) for each in cast(list[Any], keep)]
    return {"device": target, "keep_composites": kept} if target else {"keep_composites": kept}


def explain(
    model: Quantized | str | PathLike[str],
    node: str,
    *,
    isa: str = "host",
    threads: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Explanation:
    """The decisions about `node` in what `quantize` gave, or in the folder that `qmlir quantize` or `save` wrote; a
    path to the `.q.mlir` in it is accepted, too.

    `node` is the name of a node, a provenance key (`fc1/matmul`), or the name of a tensor, an input or a weight.
    Kernels are those for `isa`, `threads`, and the `shapes` of inputs whose sizes are open.

    Raises `DiagnosticError` for what is not such a folder, and, with near names, for a name that the model does not
    have.
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
    beside = beside_the_recipe(found)
    settings: QuantizeSettings = {**beside, "granularity": "", "recipe": found.recipe}  # it says all that was asked for
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
