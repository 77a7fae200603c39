"""How modules and programs show themselves in a notebook: `%load_ext qmlir` registers formatters, and patches nothing.

A module is shown as what it computes: a table of its operations with their types, and its text, folded away. A program
is shown as its inputs and outputs. What is shown is small whatever the model: weights are left out.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Protocol

from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import printable
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.quantization.profiles.keys import ENTRY, functions_of
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.workflows.comparison.names import module_names
from qmlir.workflows.reporting.graph import graph_of
from qmlir.workflows.reporting.observing import text_of_shape

ROWS = 40
"""Operations that are shown, the first ones."""

_TEXT = 20_000
"""Characters of a module's text that are shown."""


class HtmlFormatter(Protocol):
    """What IPython's formatter of HTML does, as far as it is used."""

    def for_type_by_name(self, type_module: str, type_name: str, func: Callable[[Any], str]) -> Any:
        """Let `func` give the HTML of objects of a type that need not be loaded yet."""
        ...


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML, of text."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return (
            "<tr>"
            + "".join(f'<{tag} style="text-align:left">{escape(printable(cell))}</{tag}>' for cell in cells)
            + "</tr>"
        )

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"


def _port_text(port: Port) -> str:
    type_ = ranked_tensor(port.of_caller().type)
    if type_ is None:
        return f"{port.name}: {port.type}"
    return f"{port.name}: {text_of_shape(type_.get_shape())} {type_.get_element_type()}"


def module_html(module: Any) -> str:
    """A module of this package as HTML; any other one as its text."""
    functions = functions_of(module)
    entry = next(
        (each for each in functions if each.sym_name.data == ENTRY), functions[0] if len(functions) == 1 else None
    )
    parts: list[str] = []
    if entry is not None and len(entry.body.blocks) == 1:
        names = module_names(module, entry.sym_name.data)
        types = {name.key: name.type for name in names.names}
        nodes = [node for node in graph_of(entry, names).nodes if node.operation is not None]
        ports = [", ".join(map(_port_text, each)) for each in (inputs_of(entry), outputs_of(entry))]
        parts.append(f"<p><b>{escape(entry.sym_name.data)}</b>({escape(ports[0])}) &rarr; {escape(ports[1])}</p>")
        rows = [
            (node.key, node.operation.name, types.get(node.key, ""), _shape(node.value))
            for node in nodes[:ROWS]
            if node.operation is not None
        ]
        parts.append(_table(("name", "operation", "type", "shape"), rows))
        if len(nodes) > ROWS:
            parts.append(f"<p>and {len(nodes) - ROWS} more operations</p>")
    text = module_text(module, PrintOptions(weights=Weights.ELIDE))
    shown = text if len(text) <= _TEXT else f"{text[:_TEXT]}\n… {len(text) - _TEXT} characters more"
    parts.append(f"<details><summary>text</summary><pre>{escape(shown)}</pre></details>")
    return f"<div>{''.join(parts)}</div>"


def _shape(value: Any) -> str:
    type_ = None if value is None else ranked_tensor(value.type)
    return "" if type_ is None else text_of_shape(type_.get_shape())


def program_html(program: Any) -> str:
    """A compiled program as HTML: what it takes and gives, and for which machine it was made."""
    found = program.signature
    rows = [("input", _port_text(port)) for port in inputs_of(found)]
    rows += [("output", _port_text(port)) for port in outputs_of(found)]
    title = f"program for {program.isa}, {program.threads} thread{'s' if program.threads > 1 else ''}"
    return f"<div><p>{escape(title)}</p>{_table(('', ''), rows)}</div>"


FORMATS: Sequence[tuple[str, str, Callable[[Any], str]]] = (
    ("xdsl.dialects.builtin", "ModuleOp", module_html),
    ("qmlir.targets.cpu.compiler", "Program", program_html),
)
"""What is shown how: the module and the name of each type, so that none is imported for it."""


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext qmlir` calls with IPython's shell."""
    formatter: HtmlFormatter = shell.display_formatter.formatters["text/html"]
    for module, name, function in FORMATS:
        formatter.for_type_by_name(module, name, function)


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext qmlir` calls."""
    formatter: Any = shell.display_formatter.formatters["text/html"]
    for module, name, _ in FORMATS:
        formatter.pop(f"{module}.{name}", None)
