"""A float model and its profile, down all levels: the module at each, with the passes that made it of the one before.

`make demo` writes the modules into files, `make tour` shows how each differs from the last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp

from qmlir.passmanager.instrumentation import Instrumentation
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import step_text
from qmlir.pipelines import COMPILE, QUANTIZE, NamedPipeline, quantize_pipeline
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.settings import QuantizeSettings

GRAPH = "graph"

_PROFILE = "profile.json"
"""The profile in the text of a pipeline."""


@dataclass(frozen=True)
class LevelModule:
    """A module at a level."""

    level: str
    """The name of the level in `qmlir.levels`."""

    pipeline: str
    """The passes that made it, as `qmlir-opt -p` takes them where `profile.json` is; empty for the model itself."""

    module: ModuleOp
    """A copy that is nobody else's."""


_STEPS: tuple[tuple[str, NamedPipeline[Any], tuple[str, ...]], ...] = (
    ("primitive", QUANTIZE, ("target", "lower")),
    ("profiled", QUANTIZE, ("profile",)),
    ("quantized", QUANTIZE, ("decide", "propagate", "raise", "rescale")),
    ("integer", COMPILE, ("lower", "fuse")),
    ("scheduled", COMPILE, ("schedule", "bufferize")),
    ("loops", COMPILE, ("loops",)),
)
"""The levels below the graph, and the stages that lead to each."""


def descend(
    module: ModuleOp,
    profile: Profile,
    *,
    isa: str,
    threads: int = 1,
    instrumentations: Sequence[Instrumentation] = (),
    **settings: Unpack[QuantizeSettings],
) -> Iterator[LevelModule]:
    """`module` at each level in turn, the graph first. `module` stays as it is.

    `profile` is one of the lowered module, as `quantize` takes it, and `settings` are those of `quantize`. Sizes are
    known, since below the quantized level they must be. Raises `DiagnosticError` for what does not fit.
    """
    current = module.clone()
    yield LevelModule(GRAPH, "", current.clone())
    quantizing = quantize_pipeline(settings, module)
    options = {"quantize": {"profile": _PROFILE}, "compile": {"isa": isa, "threads": threads}}
    for level, pipeline, stages in _STEPS:
        passes = (quantizing if pipeline is QUANTIZE else pipeline).passes(*stages, **options[pipeline.name])
        run_pipeline(current, passes, instrumentations, taken=profile)
        yield LevelModule(level, ",".join(map(step_text, passes.steps)), current.clone())
