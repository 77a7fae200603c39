"""Programs as npm packages: a self-contained WebAssembly module, and its JavaScript interface for Node and browsers.

The files of a package, in addition to its manifest, NAME.json:

    NAME.wasm      the module: code, constants and memory
    NAME.js        `load`, which returns a program with `run`
    NAME.d.ts      the types of both, for TypeScript
    package.json   metadata for npm and bundlers
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from qmlir.extensions.aot.ahead import AheadForm
from qmlir.extensions.aot.llvm.linkers import object_of, wasm_module
from qmlir.ir.diagnostics import text_error
from qmlir.targets.cpu.emitters.card import WrittenFiles, code_bytes
from qmlir.targets.cpu.emitters.llvm.target import code_target
from qmlir.targets.cpu.emitters.ports import EntryPoint, c_type, comment_text, port_text
from qmlir.targets.cpu.emitters.program import MainPort

_SPARE_STACK = 1 << 16
"""The bytes of stack in addition to those for arrays, for spills and for the frames of callers."""

_ARRAYS: Mapping[str, str] = {
    **{f"{sign}int{bits}_t": f"{kind}nt{bits}Array" for bits in (8, 16, 32) for sign, kind in (("", "I"), ("u", "Ui"))},
    "int64_t": "BigInt64Array",
    "uint64_t": "BigUint64Array",
    "float": "Float32Array",
    "double": "Float64Array",
}
"""The JavaScript array type for each C element type."""


_TAKEN = (
    "package", "node_modules",
    "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram",
    "diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module", "net",
    "os", "path", "perf_hooks", "process", "punycode", "querystring", "readline", "repl", "stream", "string_decoder",
    "sys", "timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi", "worker_threads", "zlib",
)  # fmt: skip
"""Names that a package cannot have: those of npm's files and folders, and of Node's built-in modules, which take
precedence over packages.
"""


@cache
def _source() -> str:
    return (files("qmlir.extensions.aot.llvm") / "wasm_program.js").read_text(encoding="utf-8")


def _port(port: MainPort) -> Mapping[str, object]:
    return {
        "name": port.name,
        "type": _ARRAYS[c_type(port)],
        "dtype": port.dtype,
        "shape": port.shape,
        "elements": port.elements,
    }


def _javascript(entry: EntryPoint) -> str:
    """Returns the module that loads the program: its constants, and the common code."""
    constants = {
        "FILE": f"./{entry.name}.wasm",
        "RUN": f"{entry.name}_run",
        "INPUTS": [*map(_port, entry.program.inputs)],
        "OUTPUTS": [*map(_port, entry.program.outputs)],
    }
    rows = [f"const {name} = {json.dumps(value)};" for name, value in constants.items()]
    head = f"// {entry.name}: a neural network, emitted by qmlir. It runs in Node and in browsers, and needs nothing."
    return "\n".join([head, "", *rows, "", _source()])


def _fields(entry: EntryPoint, ports: tuple[MainPort, ...]) -> Iterator[str]:
    for port in ports:
        yield f"  /** {comment_text(port_text(entry, port))} */"
        yield f"  {json.dumps(port.name)}: {_ARRAYS[c_type(port)]};"


def _declarations(entry: EntryPoint) -> str:
    """Returns the TypeScript declarations."""
    return "\n".join(
        [
            "export interface Inputs {",
            *_fields(entry, entry.program.inputs),
            "}",
            "",
            "export interface Outputs {",
            *_fields(entry, entry.program.outputs),
            "}",
            "",
            "export interface Port {",
            "  readonly name: string;",
            "  /** The name of its arrays: `Float32Array`. */",
            "  readonly type: string;",
            "  /** The element of the model. */",
            "  readonly dtype: string;",
            "  readonly shape: readonly number[];",
            "  readonly elements: number;",
            "}",
            "",
            "/** A program with memory of its own. */",
            "export interface Program {",
            "  readonly inputs: readonly Port[];",
            "  readonly outputs: readonly Port[];",
            "  /** Throws a `TypeError` for what is no array of an input, a `RangeError` for NaN in one. */",
            "  run(inputs: Inputs): Outputs;",
            "}",
            "",
            "/** A program: of the file beside this one, or of what is given. */",
            "export function load(given?: BufferSource | Response | Promise<Response> | WebAssembly.Module):"
            " Promise<Program>;",
            "",
        ]
    )


def _package(name: str) -> str:
    """Returns `package.json`; npm names have no capitals."""
    package = {
        "name": name.lower(),
        "version": "1.0.0",
        "description": "A neural network, compiled to WebAssembly by qmlir",
        "type": "module",
        "main": f"./{name}.js",
        "types": f"./{name}.d.ts",
        "exports": {
            ".": {"types": f"./{name}.d.ts", "default": f"./{name}.js"},
            f"./{name}.wasm": f"./{name}.wasm",
        },
        "files": [f"{name}.{end}" for end in ("wasm", "js", "d.ts", "json")],
        "sideEffects": False,
    }
    return json.dumps(package, indent=2) + "\n"


def _write_wasm(entry: EntryPoint) -> WrittenFiles:
    """Returns the files of the package. Raises `DiagnosticError` for another machine, or without a linker."""
    name, target = entry.name, code_target(entry.machine)
    if not target.triple.startswith("wasm32"):
        raise text_error(f"an npm package requires the triple wasm32-unknown-unknown, but got {target.triple}")
    if name.lower() in _TAKEN:
        raise text_error(f"an npm package cannot be named '{name}': npm or Node reserves this name")
    exported = (f"{name}_run", "__heap_base")
    module = wasm_module(name, object_of(entry), exported, entry.program.scratch_bytes + _SPARE_STACK)
    files = {
        f"{name}.wasm": module,
        f"{name}.js": _javascript(entry),
        f"{name}.d.ts": _declarations(entry),
        "package.json": _package(name),
    }
    return WrittenFiles(files, code_bytes(module))


WASM = AheadForm(
    "an npm package of WebAssembly", "", _write_wasm, "llvm", "wasm32-unknown-unknown", "+simd128", has_header=False
)
