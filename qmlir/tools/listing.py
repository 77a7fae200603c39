"""The listings of `qmlir-opt`: passes, dialects, pipelines, targets, and packages with their contributions."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from qmlir import registry
from qmlir.environment import Environment
from qmlir.ir.diagnostics import DiagnosticError, warn
from qmlir.passmanager.pipeline import option_rows
from qmlir.pipelines import PIPELINES
from qmlir.registry.contribution import FIELDS, RowForm
from qmlir.target import find_target

_T = TypeVar("_T")


def _loaded(load: Callable[[], _T]) -> _T | None:
    """Returns the result of `load`, or `None` with a warning if it fails, so that the listing continues."""
    try:
        return load()
    except DiagnosticError as error:
        warn(error.diagnostic.message)
        return None


def passes_text(environment: Environment) -> str:
    """Lists the passes, each with its name, its documentation, and its options with types and defaults."""
    lines: list[str] = []
    for name, factory in sorted(environment.passes.items()):
        owner = environment.owners[f"pass '{name}'"]
        lines.append(f"{name}  [{owner}]")
        if (pass_type := _loaded(factory)) is None:
            lines += ["    does not load", ""]
            continue
        lines.extend(f"    {line}".rstrip() for line in (inspect.getdoc(pass_type) or "").splitlines())
        for option, type_, default in option_rows(pass_type):
            lines.append(f"    option {option}: {type_}" + (f" (default {default})" if default else " (required)"))
        lines.append("")
    return "\n".join(lines)


def dialects_text(environment: Environment) -> str:
    """Lists the dialects, each with the package that provides it."""
    owners = {name: environment.owners[f"dialect '{name}'"] for name in sorted(environment.dialects)}
    return "".join(f"{name}  [{owner}]\n" for name, owner in owners.items())


def contents(package: registry.Package, environment: Environment) -> Mapping[str, Sequence[str]]:
    """Returns the names that a package contributes, by kind."""
    found: dict[str, Sequence[str]] = {}
    for kind, known, plural in (("dialect", environment.dialects, "dialects"), ("pass", environment.passes, "passes")):
        found[plural] = [name for name in known if environment.owners[f"{kind} '{name}'"] == package.title]
    for name, keys in package.contents().items():
        is_table = FIELDS[name].form is RowForm.ROWS
        found[name] = [key for row in keys for key in registry.keys_of(package, row)] if is_table else keys
    return {name: keys for name, keys in found.items() if keys}


def packages_text(environment: Environment) -> str:
    """Lists the packages other than xDSL and qmlir, with their contributions and load errors."""
    lines: list[str] = []
    for package in registry.outside():
        lines.append(package.title)
        lines += [f"    {kind}: {', '.join(names)}" for kind, names in contents(package, environment).items()]
        lines += [f"    {fault}" for fault in package.faults.values()]
        lines.append("")
    return "\n".join(lines) or "no package adds anything\n"


def _insertions(points: Iterable[str]) -> Iterator[str]:
    for point in points:
        yield from (f"    {point}: {text}  [{package.title}]" for package, text in registry.inserted_passes(point))


def pipelines_text() -> str:
    """Lists the pipelines, with the passes of each stage, and the passes that packages insert at each point."""
    lines: list[str] = []
    for pipeline in PIPELINES.values():
        lines.append(f"{pipeline.name}: {pipeline.summary}")
        for stage in pipeline.stages:
            before, *others = (each for each in pipeline.points() if each.split(".")[1] == stage.name)
            lines += _insertions([before])
            lines.append(f"  {stage.name}: {pipeline.own_text(stage.name)}")
            lines += _insertions(others)
        lines.append("")
    return "\n".join(lines)


def targets_text() -> str:
    """Lists the targets, each with its description and the package that provides it."""
    lines: list[str] = []
    for name, entry in sorted(registry.named("targets").items()):
        lines.append(f"{name}  [{entry.package.title}]")
        if (target := _loaded(partial(find_target, name))) is None:
            lines += ["    does not load", ""]
            continue
        rows = {
            "": target.summary,
            "keeps": ", ".join(target.keep),
            "computes": ", ".join(dict.fromkeys(each.op for each in target.supports)),
            "rescales by": ", ".join(target.requantize),
            "raises": ", ".join((*target.raises, *target.patterns)),
            "lowers by": target.lowering,
            "emits": f"files *{target.suffix}" if target.emit else "",
        }
        lines += [f"    {what}: {text}" if what else f"    {text}" for what, text in rows.items() if text]
        lines.append("")
    return "\n".join(lines)


LISTINGS: Mapping[str, Callable[[Environment], str]] = {
    "passes": passes_text,
    "dialects": dialects_text,
    "targets": lambda _: targets_text(),
    "pipelines": lambda _: pipelines_text(),
    "packages": packages_text,
}
"""The available listings, by name."""
