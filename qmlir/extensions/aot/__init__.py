"""Ahead-of-time compilation of programs that run without Python: C, machine code, libraries and WebAssembly."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.aot.emission_running import check_machine as check_machine
    from qmlir.extensions.aot.emission_running import run_emission as run_emission
else:
    __getattr__, __dir__ = attached(__name__)

CONTRIBUTION = Contribution(
    forms={
        "c": "qmlir.extensions.aot.c.emit:C",
        "object": "qmlir.extensions.aot.llvm.linkers:OBJECT",
        "static": "qmlir.extensions.aot.llvm.linkers:STATIC",
        "shared": "qmlir.extensions.aot.llvm.linkers:SHARED",
        "wasm": "qmlir.extensions.aot.llvm.wasm:WASM",
    },
    services={"emission": "qmlir.extensions.aot.command:EMISSION"},
    api={"emit": "qmlir.extensions.aot.ahead:emit"},
    built_for=INTERFACE,
)
