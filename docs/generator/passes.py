"""The page of passes by the level that they produce, with options and IR before and after, and of the pipelines."""

from collections.abc import Iterator
from typing import Any

from xdsl.passes import ModulePass

from docs.generator.markdown import GENERATED, code, documentation, summary, table
from qmlir import registry
from qmlir.ir.passes import preservation_of
from qmlir.levels import LEVELS
from qmlir.passmanager.pipeline import option_rows
from qmlir.pipelines import PIPELINES, NamedPipeline

_GENERAL = "general"
"""The folder of the passes that belong to no level; a pass in a folder that no level names stands with them."""


def _by_level() -> dict[str, list[type[ModulePass]]]:
    """The passes of each level, from the top down; at the end those that run at several."""
    found: dict[str, list[type[ModulePass]]] = {level: [] for level in (*LEVELS, _GENERAL)}
    for row in registry.PASSES.values():
        folders = row.partition(":")[0].split(".")
        found[next((folder for folder in folders if folder in found), _GENERAL)].append(registry.load(row))
    return {level: passes for level, passes in found.items() if passes}


def _title(level: str) -> str:
    return "Passes that run at several levels" if level == _GENERAL else f"Passes to the level `{level}`"


def _pass(pass_type: type[ModulePass]) -> str:
    options = [
        (code(name), code(kind), code(default) if default else "") for name, kind, default in option_rows(pass_type)
    ]
    parts = [
        f"### {code(pass_type.name)}",
        documentation(pass_type),
        f"Keeps: {preservation_of(pass_type)}.",
    ]
    if options:
        parts.append(table(("option", "type", "default"), options).rstrip())
    return "\n\n".join(parts)


def _passes(pipeline: NamedPipeline[Any], stage: str) -> str:
    text = pipeline.own_text(stage)
    return code(text) if text else "only by options"


def _pipelines() -> Iterator[str]:
    for pipeline in PIPELINES.values():
        rows = [(code(stage.name), _passes(pipeline, stage.name), stage.summary) for stage in pipeline.stages]
        yield f"### The pipeline `{pipeline.name}`"
        yield f"From {pipeline.summary}." if pipeline.summary.startswith("a ") else pipeline.summary
        options = ", ".join(map(code, pipeline.hints))
        yield f"Options: {options}."
        yield table(("stage", "passes", "what it is for"), rows).rstrip()


def page() -> str:
    """The page."""
    levels = _by_level()
    rows = [
        (code(each.name), "" if level == _GENERAL else code(level), summary(each))
        for level, passes in levels.items()
        for each in passes
    ]
    parts = [
        GENERATED,
        "# Passes",
        "All passes of this package, by the level that they produce; `qmlir-opt --list-passes` lists those of xDSL\n"
        "and of installed packages too. Tests run each example; `--verify-each=exec` checks what a pass preserves.",
        table(("pass", "level", "what it does"), rows).rstrip(),
        "## Pipelines",
        "A pipeline is stages of passes, shown here with their default options. A package can insert passes before\n"
        "or after a stage or a pass. The name of a pipeline is also an element of the text of `qmlir-opt -p`, with\n"
        "options: `quantize{profile=p.json activations=i16},compile{isa=avx2 stages=lower,fuse},cse`.",
        *_pipelines(),
    ]
    for level, passes in levels.items():
        parts.append(f"## {_title(level)}")
        parts.extend(map(_pass, passes))
    return "\n\n".join(parts) + "\n"
