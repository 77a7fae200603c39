"""An `Inspection` as text: what the model is as a whole in a few lines, then a row for each layer."""

from collections.abc import Callable, Collection, Mapping, Sequence

from qmlir.ir.diagnostics import printable
from qmlir.workflows.inspection.inspecting import Inspection, LayerSummary
from qmlir.workflows.inspection.values import ValueInfo, bytes_text

SORTS: Mapping[str, Callable[[LayerSummary], int]] = {
    "macs": lambda layer: layer.multiply_adds or 0,
    "bytes": lambda layer: layer.bytes,
}
"""By what layers can be sorted, the most first."""

_HEAD = ("layer", "operation", "operands", "result", "range", "macs", "weights", "activations", "")
_RIGHT = frozenset({"macs", "weights", "activations"})
_LONGEST = 40


def number(count: int | None) -> str:
    """`4.09 G`; `?` for an unknown number."""
    if count is None:
        return "?"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g} {unit}" if count < 1000 * size else f"{count / size:.0f} {unit}"
    return str(count)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _ports(values: Sequence[ValueInfo]) -> str:
    return ", ".join(f"{each.name} {each.text}".strip() for each in values) or "none"


def _head(found: Inspection) -> list[str]:
    operations = sum(layer.count for layer in found.layers)
    lines = [
        f"inputs: {_ports(found.inputs)}",
        f"outputs: {_ports(found.outputs)}",
        f"operations: {operations}",
    ]
    share = found.integer_share
    if found.multiply_adds is None or share is None:
        lines.append("multiply-adds: not known any more at this level")
    else:
        lines.append(f"multiply-adds: {number(found.multiply_adds)}, {_percent(share)} in integers")
    floats = found.float_weight_bytes
    before = f", {bytes_text(floats)} as floats" if floats is not None and floats != found.weight_bytes else ""
    lines.append(f"weights: {number(found.parameters)} numbers, {bytes_text(found.weight_bytes)}{before}")
    if (most := found.largest_activation) is not None:
        lines.append(f"largest activation: {bytes_text(most.bytes)}, {f'{most.name} {most.text}'.strip()}")
    if found.kept:
        lines.append(f"composites in one piece: {', '.join(found.kept)}")
    if found.decomposed:
        lines.append(f"composites in parts: {', '.join(found.decomposed)}")
    return lines


def _range(values: Sequence[ValueInfo]) -> str:
    known = next((each.range for each in values if each.range is not None), None)
    return "" if known is None else f"{known[0]:.4g} … {known[1]:.4g}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _note(layer: LayerSummary) -> str:
    notes = [f"part of {layer.composite}"] if layer.composite else []
    if layer.is_whole:
        notes.append("composite")
    if layer.count > 1:
        notes.append(f"{layer.count} times")
    return ", ".join(notes)


def _row(layer: LayerSummary) -> tuple[str, ...]:
    operands = " ".join(dict.fromkeys(each.element for each in layer.operands))
    return (
        _short(layer.key),
        layer.operation,
        operands,
        layer.results[0].text if layer.results else "",
        _range(layer.results),
        number(layer.multiply_adds) if layer.multiply_adds != 0 else "",
        bytes_text(layer.parameter_bytes) if layer.parameter_bytes else "",
        bytes_text(layer.activation_bytes),
        _note(layer),
    )


def aligned(rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> list[str]:
    """The lines of a table whose first row is the head; empty columns are left out, columns in `right` are numbers."""
    rows = [[*map(printable, row)] for row in rows]
    head = rows[0]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    is_used = [any(row[column] for row in rows[1:]) for column in range(len(head))]
    lines: list[str] = []
    for row in rows:
        cells = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name, used in zip(row, widths, head, is_used, strict=True)
            if used
        )
        lines.append("  ".join(cells).rstrip())
    return lines


def inspection_text(found: Inspection) -> str:
    """The lines; layers in the order that `found` has them in."""
    lines = [*map(printable, _head(found))]
    if found.layers:
        lines += ["", *aligned([_HEAD, *map(_row, found.layers)], _RIGHT)]
    return "".join(f"{line}\n" for line in lines)
