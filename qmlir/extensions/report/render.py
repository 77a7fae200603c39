"""A report as one HTML page, in a file or in a notebook."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from qmlir.extensions.report.layout import ReportGraph
from qmlir.extensions.report.model import Report, as_json
from qmlir.ir.diagnostics import LINES, printable
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.quantization.profiles.keys import ENTRY, functions_of
from qmlir.specialization.inputs import port_text
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.text.writing import write_file
from qmlir.workflows.comparison.names import module_names

PAGE = "report.html.j2"
STYLE = "style.css"
PAGE_START = b'<!doctype html>\n<html lang="en">\n<head>\n<meta name="generator" content="qmlir'
"""The bytes that every page begins with."""

SCRIPTS = ("text.js", "graph.js", "panel.js", "table.js")
"""The scripts in execution order; each uses definitions of earlier ones."""

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""JSON escapes for characters that could end the element that holds the data, or a line of a script."""


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("qmlir.extensions.report"), autoescape=True, undefined=StrictUndefined, finalize=_shown
    )


def _shown(value: Any) -> Any:
    """Escapes unprintable characters of text from the report; markup of this package is unchanged."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _asset(name: str) -> Markup:
    """Returns a style sheet or script of this package, unescaped."""
    return Markup(files("qmlir.extensions.report").joinpath("templates", name).read_text(encoding="utf-8"))


def embedded(text: str) -> Markup:
    """Escapes JSON so that any content is safe inside a `<script>` element."""
    return Markup(text.translate(_ESCAPES))


def rendered(template: str, **values: Any) -> str:
    """Fills a template of this package with `values`, which are escaped."""
    return _environment().get_template(template).render(values)


def page_of(report: Report) -> str:
    """Returns the HTML page of a report."""
    scripts = [_asset(name) for name in SCRIPTS]
    return rendered(PAGE, report=report, data=embedded(as_json(report)), style=_asset(STYLE), scripts=scripts)


def write_page(report: Report, path: Path) -> int:
    """Writes the page atomically, and returns its size in bytes. Raises `DiagnosticError`."""
    content = page_of(report).encode()
    write_file(path, content)
    return len(content)


# The display of modules in notebooks: `%load_ext qmlir` registers a formatter, without patching xDSL.
#
# A module is shown as a table of its operations with their types, and its IR, which is collapsed. The output is small
# for any model, as weights are omitted. Results of this package need no formatter (`Readable`).

ROWS = 40
"""The maximum number of operations that are shown, from the beginning."""

_NOTEBOOK = "notebook.html.j2"

_TEXT = 20_000
"""The maximum number of characters of the IR that are shown."""


def module_html(module: Any) -> str:
    """Returns a module as HTML: a table of its function, and its IR."""
    functions = functions_of(module)
    entry = next(
        (each for each in functions if each.sym_name.data == ENTRY), functions[0] if len(functions) == 1 else None
    )
    shown: dict[str, Any] = {"entry": ""}
    if entry is not None and len(entry.body.blocks) == 1:
        names = module_names(module, entry.sym_name.data)
        types = {name.key: name.type for name in names.names}
        rows = [
            (node.key, node.operation.name, types.get(node.key, ""), node.shape)
            for node in ReportGraph(entry, names).nodes
            if node.operation is not None
        ]
        inputs, outputs = (", ".join(map(port_text, each)) for each in (inputs_of(entry), outputs_of(entry)))
        shown = {"entry": entry.sym_name.data, "inputs": inputs, "outputs": outputs, "rows": rows[:ROWS]}
        shown["more"] = len(rows) - ROWS
    text = module_text(module, PrintOptions(weights=Weights.ELIDE))
    cut = text if len(text) <= _TEXT else f"{text[:_TEXT]}\n… {len(text) - _TEXT} characters more"
    return rendered(_NOTEBOOK, text=escape(printable(cut, LINES)), **shown)


_FORMATTED = "xdsl.dialects.builtin", "ModuleOp"
"""The type with a formatter, by module and name, so that nothing is imported."""


def load_ipython_extension(shell: Any) -> None:
    """Show modules in notebooks as tables; `%load_ext qmlir` calls it.

    Without the extension, a notebook shows the `repr` of an xDSL operation. Results of qmlir need no extension.

    Args:
        shell: The shell of IPython.

    Example:
        >>> %load_ext qmlir  # doctest: +SKIP
    """
    shell.display_formatter.formatters["text/html"].for_type_by_name(*_FORMATTED, module_html)


def unload_ipython_extension(shell: Any) -> None:
    """Undo `load_ipython_extension`; `%unload_ext qmlir` calls it.

    Args:
        shell: The shell of IPython.

    Example:
        >>> %unload_ext qmlir  # doctest: +SKIP
    """
    shell.display_formatter.formatters["text/html"].pop(".".join(_FORMATTED), None)
