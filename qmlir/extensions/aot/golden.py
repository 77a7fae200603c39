"""Golden vectors of a program without Python: samples and the outputs of the interpreter, as C arrays with a check.

    NAME_golden.h    the arrays, and a function that runs the program on them and counts elements that differ
    NAME_golden.c    a main that prints this count, and ends with 1 if it is not 0
    NAME_layers.npz  on request, the elements of each layer in the interpreter, by sample

They need the header of the program only, so they check it on any device, whatever its output format. With layers, a
C program that is compiled with the macro `NAME_LAYERS` calls `NAME_layer` after each layer, and the main prints them
(`qmlir.workflows.comparison.dumps` describes the lines).
"""

import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.extensions.aot.c.elements import integer_literal
from qmlir.interpreter.run import interpret
from qmlir.interpreter.samples import Data
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import text_error
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.emitters.card import Contents
from qmlir.targets.cpu.emitters.ports import EntryPoint, c_type
from qmlir.targets.cpu.emitters.program import MainPort
from qmlir.workflows.comparison.dumps import LayerValues, golden_inputs, written_layers

_TOLERANCE = 1e-4
"""The fraction of an output's largest magnitude by which floats may differ if the model has contractions of floats, as
compiled code adds their products in another order. All other results must be equal in every bit."""


@dataclass(frozen=True)
class GoldenVectors:
    """The inputs and outputs of each sample, in the order of the ports."""

    inputs: Sequence[Sequence[Array]]
    outputs: Sequence[Sequence[Array]]
    is_exact: bool
    """True if floats must be equal in every bit."""

    layers: Mapping[str, Array] | None = None
    """The elements of each layer, by key, with an axis of samples in front."""


def golden_vectors(module: ModuleOp, name: str, count: int, data: Data | None) -> GoldenVectors:
    """Returns `count` runs of the function `name`, on the first samples of `data`, or on random inputs.

    Raises `DiagnosticError` if there are fewer samples, or an operation cannot be computed.
    """
    if count < 1:
        raise text_error(f"golden must be at least 1 sample, but got {count}")
    function = function_of(module, name)
    names = [port.name for port in inputs_of(function)]
    inputs = [[given[name] for name in names] for given in golden_inputs(function, data, count)]
    if len(inputs) < count:
        raise text_error(f"--golden {count} (golden={count}) requires {count} samples, but got {len(inputs)}")
    outputs = [list(interpret(module, given, function=name).values()) for given in inputs]
    contractions = (op for op in function.walk() if isinstance(op, MultipliesAndAdds) and op.operands)
    is_exact = not any(kind_of(element_of(op.operands[0])) is Kind.FLOAT for op in contractions)
    return GoldenVectors(inputs, outputs, is_exact)


LAYER = "aot.layer"
"""The attribute of a kernel call whose result is a layer: the beginning of its line in a dump."""


def with_layers(vectors: GoldenVectors, main: ModuleOp, loops: ModuleOp) -> GoldenVectors:
    """Marks the calls of `loops` that write layers of `main`, and returns the vectors with the layers' elements."""
    written = written_layers(main, loops)
    for op, layer in written.items():
        op.attributes[LAYER] = StringAttr(layer.head)
    names = [port.name for port in inputs_of(function_of(main, "main"))]
    values = LayerValues(main)
    runs = [values.of(dict(zip(names, given, strict=True))) for given in vectors.inputs]
    return replace(vectors, layers={key: np.stack([run[key] for run in runs]) for key, _ in written.values()})


HOOK = "void {name}_layer(const char *layer, int32_t start, const void *data, int32_t count, int32_t width);"
"""The declaration of the function that receives layers."""

_PRINT = """\
#ifdef {macro}
/* Prints `count` elements of `width` bytes, from index `start` of a layer, as integers. */
{hook}
{head} {{
    int32_t i;
    if (start == 0) printf("\\nlayer %s:", layer);
    for (i = 0; i < count; i++) {{
        if (width == 1) printf(" %d", ((const int8_t *)data)[i]);
        if (width == 2) printf(" %d", ((const int16_t *)data)[i]);
        if (width == 4) printf(" %ld", (long)((const int32_t *)data)[i]);
        if (width == 8) printf(" %lld", (long long)((const int64_t *)data)[i]);
    }}
}}
#endif

"""


def _layer_printer(entry: EntryPoint) -> str:
    hook = HOOK.format(name=entry.name)
    return _PRINT.format(macro=entry.macro("LAYERS"), hook=hook, head=hook.removesuffix(";"))


def _archive(layers: Mapping[str, Array]) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **layers)
    return stream.getvalue()


def _literals(array: Array) -> Iterator[str]:
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "b" or (flat.dtype.kind not in "iu" and flat.dtype.itemsize < 4):
        flat = flat.view(f"u{flat.dtype.itemsize}")
    for each in flat:
        if flat.dtype.kind in "iu":
            number = int(each)
            yield f"UINT64_C({number})" if number >= 1 << 63 else integer_literal(number)
        elif np.isfinite(each):
            yield f"{each!s}f" if flat.dtype.itemsize == 4 else repr(float(each))
        else:
            yield "NAN" if np.isnan(each) else "INFINITY" if each > 0 else "-INFINITY"


def _array(entry: EntryPoint, port: MainPort, samples: Sequence[Array], count: int) -> str:
    rows = (textwrap.fill(", ".join(_literals(each)) or "0", 118, break_long_words=False) for each in samples)
    body = ",\n".join(f"{{\n{row}}}" for row in rows)
    name = f"{entry.name}_golden_{entry.parameters[port]}"
    return f"static const {c_type(port)} {name}[{count}][{max(port.elements, 1)}] = {{\n{body}}};"


def _differing(entry: EntryPoint, port: MainPort, tolerance: float) -> str:
    """Returns the statement that counts the elements of an output that differ."""
    own = entry.parameters[port]
    one, other = f"found_{own}[i]", f"{entry.name}_golden_{own}[sample][i]"
    unequal = f"{one} != {other}"
    if port.dtype.startswith("float") and c_type(port) in ("float", "double"):
        zero = "0.0f" if c_type(port) == "float" else "0.0"
        signs = f"({one} == {zero} && 1 / {one} != 1 / {other})"  # -0 and 0 are equal, but not in every bit
        unequal = f"({unequal} || {signs}) && !({one} != {one} && {other} != {other})"
        if tolerance:
            bound = f"{np.float32(tolerance)!s}f"
            unequal = f"({unequal}) && !({one} - {other} <= {bound} && {other} - {one} <= {bound})"
    return f"for (i = 0; i < {port.elements}; i++) wrong += {unequal};"


def golden_files(entry: EntryPoint, vectors: GoldenVectors) -> dict[str, Contents]:
    """Returns the files of golden vectors, for a program with a C header."""
    program, name, count = entry.program, entry.name, len(vectors.inputs)
    samples, total = entry.macro("GOLDEN_SAMPLES"), entry.macro("GOLDEN_ELEMENTS")
    columns = [*zip(*vectors.inputs, strict=True)], [*zip(*vectors.outputs, strict=True)]
    arrays = [
        _array(entry, port, column, count)
        for ports, side in zip((program.inputs, program.outputs), columns, strict=True)
        for port, column in zip(ports, side, strict=True)
    ]
    bounds = [0.0 if vectors.is_exact else _TOLERANCE * _largest(column) for column in columns[1]]
    given = [f"{name}_golden_{entry.parameters[port]}[sample]" for port in program.inputs]
    taken = [f"found_{entry.parameters[port]}" for port in program.outputs]
    found = [
        f"    static {c_type(port)} found_{entry.parameters[port]}[{max(port.elements, 1)}];"
        for port in program.outputs
    ]
    checks = [f"        {_differing(entry, port, bound)}" for port, bound in zip(program.outputs, bounds, strict=True)]
    header = [
        f"/* Golden vectors of {name}: samples, and their outputs in the interpreter of qmlir. */",
        f"#ifndef {entry.macro('GOLDEN_H')}",
        f"#define {entry.macro('GOLDEN_H')}",
        "",
        "#include <math.h>",
        f'#include "{name}.h"',
        "",
        f"#define {samples} {count}",
        f"#define {total} {sum(port.elements for port in program.outputs)} /* of the outputs of one sample */",
        "",
        *arrays,
        "",
        "/* Returns how many elements of the outputs differ; -1 if an input is refused. */",
        f"static int {name}_golden_differing(void) {{",
        *found,
        "    int sample, i, wrong = 0;",
        f"    for (sample = 0; sample < {samples}; sample++) {{",
        f"        if ({name}_run({', '.join([*given, *taken])}) != 0) return -1;",
        *checks,
        "    }",
        "    return wrong;",
        "}",
        "",
        f"#endif /* {entry.macro('GOLDEN_H')} */",
        "",
    ]
    main = [
        f"/* Checks {name} by its golden vectors: ends with 0 if all outputs are equal. */",
        "#include <stdio.h>",
        f'#include "{name}_golden.h"',
        "",
        *(() if vectors.layers is None else _layer_printer(entry).splitlines()),
        "int main(void) {",
        f"    const int wrong = {name}_golden_differing();",
        *(() if vectors.layers is None else ['    puts("");']),
        "    if (wrong < 0) {",
        '        puts("an input is refused");',
        "        return 1;",
        "    }",
        f'    printf("%d of %d elements differ\\n", wrong, {samples} * {total});',
        "    return wrong != 0;",
        "}",
        "",
    ]
    archive = {} if vectors.layers is None else {f"{name}_layers.npz": _archive(vectors.layers)}
    return {f"{name}_golden.h": "\n".join(header), f"{name}_golden.c": "\n".join(main), **archive}


def _largest(samples: Sequence[Array]) -> float:
    arrays = [np.abs(each[np.isfinite(each)]) for each in samples if each.dtype.kind == "f"]
    return float(max((each.max(initial=0.0) for each in arrays), default=0.0))
