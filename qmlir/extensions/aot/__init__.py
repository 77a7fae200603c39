"""Ahead-of-time compilation of programs that run without Python: C, machine code, libraries and WebAssembly."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    forms={
        "c": "qmlir.extensions.aot.c.emit:C",
        "object": "qmlir.extensions.aot.llvm.linkers:OBJECT",
        "static": "qmlir.extensions.aot.llvm.linkers:STATIC",
        "shared": "qmlir.extensions.aot.llvm.linkers:SHARED",
        "wasm": "qmlir.extensions.aot.llvm.wasm:WASM",
    },
    services={"emission": "qmlir.extensions.aot.command:EMISSION"},
    api={"emit": "qmlir.extensions.aot.emit:emit"},
    built_for=INTERFACE,
)
