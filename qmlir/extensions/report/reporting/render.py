"""A report as one page of HTML that holds everything it needs: styles, scripts and data, no network."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from qmlir.extensions.report.reporting.model import Report, as_json
from qmlir.ir.diagnostics import printable
from qmlir.text.writing import write_file

PAGE = "report.html.j2"
STYLE = "style.css"
PAGE_START = b'<!doctype html>\n<html lang="en">\n<head>\n<meta name="generator" content="qmlir'
"""The beginning of every page."""

SCRIPTS = ("text.js", "graph.js", "panel.js", "table.js")
"""In the order in which they run: each uses what those before it say."""

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""What could end the element that holds the data, or a line of a script: JSON has other words for it."""


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("qmlir.extensions.report.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:
    """A value of the report as it may stand on the page: of text what prints, of ours all."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _asset(name: str) -> Markup:
    """A style or a script of ours, as it is."""
    return Markup(files("qmlir.extensions.report.reporting").joinpath("templates", name).read_text(encoding="utf-8"))


def embedded(text: str) -> Markup:
    """JSON as it may stand inside a `<script>` element, whatever names it holds."""
    return Markup(text.translate(_ESCAPES))


def rendered(template: str, **values: Any) -> str:
    """A template of this package with `values` filled in, escaped."""
    return _environment().get_template(template).render(values)


def page_of(report: Report) -> str:
    """The page."""
    scripts = [_asset(name) for name in SCRIPTS]
    return rendered(PAGE, report=report, data=embedded(as_json(report)), style=_asset(STYLE), scripts=scripts)


def write_page(report: Report, path: Path) -> int:
    """Write the page, whole or not at all; its size in bytes. Raises `DiagnosticError`."""
    content = page_of(report).encode()
    write_file(path, content)
    return len(content)
