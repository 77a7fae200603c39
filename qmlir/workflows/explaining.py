"""Why a node is what it is, asked of the folder that `qmlir quantize` wrote: it holds all that has to be done again."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

from qmlir.inspection.explaining import Explanation, explain_node
from qmlir.ir.diagnostics import text_error
from qmlir.profiles.file import Profile
from qmlir.workflows.folder import SUMMARY, QuantizedFolder
from qmlir.workflows.loading import load


def _kept(folder: QuantizedFolder) -> list[str]:
    """The composites that stayed whole, which no recipe says."""
    settings: Any = folder.read_summary().get("settings")
    keep: Any = cast(dict[str, Any], settings).get("keep") if isinstance(settings, dict) else None
    if not isinstance(keep, list):
        raise text_error(f"'{folder.path / SUMMARY}' does not say which composites stayed whole (settings.keep)")
    return [str(each) for each in cast(list[Any], keep)]


def explain(
    folder: str | PathLike[str],
    node: str,
    *,
    isa: str = "host",
    threads: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Explanation:
    """Why `node` is what it is in the model that `qmlir quantize` wrote to `folder`, or in the `.q.mlir` in one.

    `node` is the name of a node, a provenance key (`fc1/matmul`), or the name of a tensor, an input or a weight.
    Kernels are those for `isa`, so many `threads`, and the `shapes` of inputs whose sizes are open.

    Raises `DiagnosticError` for what is no such folder, and, with near names, for a name that the model does not have.
    """
    found = QuantizedFolder.open(folder)
    return explain_node(
        node,
        load(found.float_module),
        Profile.load(found.profile),
        quantized=load(found.module),
        keep=_kept(found),
        granularity="",  # the recipe says everything that was asked for
        recipe=found.recipe,
        isa=isa,
        threads=threads,
        shapes=shapes,
    )
