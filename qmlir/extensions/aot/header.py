"""The header of an ahead-of-time compiled program: the same functions and macros for every format."""

from collections.abc import Iterator

from qmlir.targets.cpu.emitters.ports import EntryPoint, port_text
from qmlir.targets.cpu.emitters.text import Names
from qmlir.targets.cpu.isa.base import ALIGNMENT


def _macros(entry: EntryPoint) -> Iterator[str]:
    program, names = entry.program, Names()
    yield f"#define {entry.macro('ARENA_BYTES')} {entry.arena_bytes}"
    yield f"#define {entry.macro('WEIGHTS_BYTES')} {program.weights_bytes}"
    for port in (*program.inputs, *program.outputs):
        what = names.new(f"{entry.parameters[port]}_elements".upper())
        yield f"#define {entry.macro(what)} {port.elements} /* {port_text(entry, port)} */"


def header_text(entry: EntryPoint) -> str:
    """Returns the header of the program, `NAME.h`."""
    guard, name = entry.macro("H"), entry.name
    return "\n".join(
        [
            f"/* {name}: a neural network, emitted by qmlir. */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stdint.h>",
            "",
            "/* Bytes of working memory and of all constants; elements of each array. */",
            *_macros(entry),
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            "/* Compute the outputs. Gives 0, or k > 0 where input k (from 1) holds NaN or what is not a value of its",
            "   type: then nothing is computed. Arrays share no memory but where that is said of an output above.",
            "   Working memory is static: one call at a time. */",
            f"{entry.signature(entry.parameters, in_arena=False)};",
            "",
            f"/* The same in {entry.macro('ARENA_BYTES')} bytes of the caller, aligned to {ALIGNMENT}:",
            "   calls in different memory may run at once. */",
            f"{entry.signature(entry.parameters, in_arena=True)};",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            f"#endif /* {guard} */",
            "",
        ]
    )
