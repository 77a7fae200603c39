"""The page of extension points: what a package outside may add, how it is found, and where it takes part."""

import inspect
from collections.abc import Iterator
from types import ModuleType

from xdsl.traits import OpTrait

from docs.generator.markdown import GENERATED, code, codes, documentation, summary, table
from qmlir import registry
from qmlir.ir import interfaces
from qmlir.pipelines import PIPELINES
from qmlir.registry.contribution import BREAKS, FIELDS, INTERFACE, Form
from qmlir.registry.package import GROUPS, WITHOUT_VARIABLE

_TEXT = f"""\
What a package outside this repository adds, and where it takes part; the tree adds what it has in the same way.
[Extending](../extending/index.md) shows how. `qmlir-opt --list-packages` and `qmlir doctor` list what is installed,
`--load-plugin` takes a package that is not, for one run. A package that does not load is left out with a warning, and
`{WITHOUT_VARIABLE}=name,…` leaves out those that it names."""

_CLASHES = """\
A name belongs to who comes first: the tree, xDSL, packages in the order of their names, plug-ins of the run. Who says
it again is left out with a warning that names both. Rows of pattern sets and of stages are gathered from all."""

_VERSIONS = f"""\
`Contribution.built_for` names the minor version of qmlir that a package was built for; this one is `{INTERFACE}`. A
package built for a later one is refused, and so is one built for an earlier version than one of these, which changed
what packages build on. One that does not say its version is taken."""

_FORMS = {
    Form.NAMES: "name: `module:object`",
    Form.SETS: "name: several `module:object`",
    Form.ROWS: "several `module:object`",
    Form.TEXTS: "name: text",
    Form.FILES: "name: `package:path/of/file`",
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
        points = list(pipeline.points())
        for (before, stage), (after, _) in zip(points[::2], points[1::2], strict=True):
            yield code(before), stage.summary, code(after)


def _named(field: str) -> str:
    return codes(dict.fromkeys(name for name, _ in registry.TREE.rows(field)))


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
        "An operation of any dialect takes part in a pass by what it implements (`qmlir/ir/interfaces.py`); those\n"
        "without methods are traits. A dialect names the levels that it belongs to with `LevelMembership`\n"
        "(`qmlir/levels.py`).",
        table(("interface", "methods", "what it says"), rows).rstrip(),
        "## Points of pipelines",
        "Where `Contribution.stages` puts passes: in front of a stage or behind it ([passes](passes.md#pipelines)). A\n"
        "point that is none is an error of the pipeline, with the package's name, and so is a text that is no passes;\n"
        "`qmlir-opt --list-pipelines` shows what is inserted where.",
        table(("in front", "the stage", "behind"), _points()).rstrip(),
    ]
    return "\n\n".join(parts) + "\n"
