"""Programs that run without Python: C, machine code, libraries and WebAssembly."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    forms={
        "c": "qmlir.targets.cpu.emitters.c.emit:C",
        "object": "qmlir.targets.cpu.emitters.llvm.forms:OBJECT",
        "static": "qmlir.targets.cpu.emitters.llvm.forms:STATIC",
        "shared": "qmlir.targets.cpu.emitters.llvm.forms:SHARED",
        "wasm": "qmlir.targets.cpu.emitters.llvm.wasm:WASM",
    },
    services={"emission": "qmlir.extensions.aot.command:EMISSION"},
    api={"emit": "qmlir.workflows.emitting:emit"},
    built_for=INTERFACE,
)
