"""Renders a report as one self-contained HTML page with styles, scripts and data, which needs no network."""

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
"""The scripts in execution order: each uses definitions of those before it."""

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""Characters that could end the element that holds the data, or a line of a script, with their JSON escapes."""


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("qmlir.extensions.report.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:
    """Escapes unprintable characters of text from the report; markup of this package is unchanged."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _asset(name: str) -> Markup:
    """Returns a style sheet or script of this package, unescaped."""
    return Markup(files("qmlir.extensions.report.reporting").joinpath("templates", name).read_text(encoding="utf-8"))


def embedded(text: str) -> Markup:
    """Escapes JSON for a `<script>` element, whatever names it contains."""
    return Markup(text.translate(_ESCAPES))


def rendered(template: str, **values: Any) -> str:
    """Fills a template of this package with `values`, escaped."""
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
