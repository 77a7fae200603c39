"""The page of extension points: what a package outside may add, how it is found, and where it takes part."""

import inspect
from collections.abc import Iterator
from types import ModuleType

from xdsl.traits import OpTrait

from docs.generator.markdown import GENERATED, code, codes, documentation, summary, table
from qmlir import registry
from qmlir.ir import interfaces
from qmlir.pipelines import PIPELINES
from qmlir.registry.contribution import BREAKS, FIELDS, INTERFACE, RowForm
from qmlir.registry.package import GROUPS, THE_TREE, WITHOUT_VARIABLE

_TEXT = f"""\
What a package can add, and where. The tree adds its own parts in the same way. [Extending](../extending/index.md) has
examples. `qmlir-opt --list-packages` and `qmlir doctor` list installed packages; `--load-plugin` loads a package that
is not installed for one run. A package that does not load is ignored with a warning. `{WITHOUT_VARIABLE}=name,…`
ignores the packages and the extensions of qmlir that it names."""

_CLASHES = """\
The first owner of a name keeps it: the tree, xDSL, packages in the order of their names, plug-ins of the run. A later
row of the same name is ignored with a warning that names both. Rows of pattern sets and of stages are merged."""

_VERSIONS = f"""\
`Contribution.built_for` names the minor version of qmlir that a package was built for; this one is `{INTERFACE}`. A
package built for a later version is refused. So is a package built before one of the versions below, which broke the
interface. A package that names no version is accepted."""

_FORMS = {
    RowForm.NAMES: "name: `module:object`",
    RowForm.SETS: "name: several `module:object`",
    RowForm.ROWS: "several `module:object`",
    RowForm.TEXTS: "name: text",
    RowForm.FILES: "name: `package:path/of/file`",
}


def _interfaces(module: ModuleType) -> Iterator[type]:
    """The classes of a module that an operation implements, or names among its traits, in their order."""
    classes = (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__)
    return (each for each in classes if inspect.isabstract(each) or issubclass(each, OpTrait))


def _methods(interface: type) -> list[str]:
    return sorted(getattr(interface, "__abstractmethods__", ()), key=list(vars(interface)).index)


def _fields() -> Iterator[tuple[str, str, str]]:
    for name, room in FIELDS.items():
        yield code(name), _FORMS[room.form], room.summary
    yield code("built_for"), "text", "the minor version of qmlir that the package was built for"


def _points() -> Iterator[tuple[str, str, str]]:
    for pipeline in PIPELINES.values():
        for stage in pipeline.stages:
            yield (
                code(f"{pipeline.name}.{stage.name}"),
                stage.summary,
                codes(name for name, _ in stage.steps(pipeline.options) if name),
            )


def _named(field: str) -> str:
    return codes(dict.fromkeys(name for name, _ in THE_TREE.rows(field)))


def page() -> str:
    """The page."""
    rows = [(code(each.__name__), codes(_methods(each)), summary(each)) for each in _interfaces(interfaces)]
    parts = [
        GENERATED,
        "# Extension points",
        _TEXT,
        "## Entry point groups",
        table(("group", "what its entry points are"), [(code(name), what) for name, what in GROUPS.items()]).rstrip(),
        "## What a contribution holds",
        documentation(registry.Contribution).partition("\n\n")[0],
        table(("field", "form", "what it is"), _fields()).rstrip(),
        _CLASHES,
        f"Pattern sets that the tree has: {_named('patterns')}. Where an operation has the trait\n"
        "`RegisteredCanonicalization`, the set `<dialect>.canonicalize` is looked for.",
        f"Tables: {_named('tables')}.",
        "## Versions",
        _VERSIONS,
        table(("version", "what changed"), [(code(name), what) for name, what in BREAKS.items()]).rstrip(),
        "## Interfaces of operations",
        "An operation of any dialect takes part in a pass by implementing its interface (`qmlir/ir/interfaces.py`);\n"
        "those without methods are traits. A dialect names the levels that it belongs to with `LevelMembership`\n"
        "(`qmlir/levels.py`).",
        table(("interface", "methods", "summary"), rows).rstrip(),
        "## Points of pipelines",
        "`Contribution.stages` inserts passes before or after a stage ([passes](passes.md#pipelines)), and before or\n"
        "after a pass: `compile.fuse.before`, `compile.fuse.kernel-narrow.after`. `dce#2` is the second `dce` of a\n"
        "stage. An unknown point is an error of the pipeline that names the package, and so is a text that is not a\n"
        "pipeline. `qmlir-opt --list-pipelines` shows the inserted passes.",
        table(("`.before` and `.after` this stage", "what it is for", "and each of its passes"), _points()).rstrip(),
    ]
    return "\n\n".join(parts) + "\n"
