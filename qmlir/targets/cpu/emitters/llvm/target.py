"""The machine that code is compiled for ahead of time: a triple, a processor of LLVM's, and features added to it.

LLVM doesn't say which features a processor has, but it inlines a function only where the caller has all features of the
callee. So a function that asks for one feature more is inlined exactly where the processor has it.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import llvmlite.binding as llvm

from qmlir.ir.diagnostics import text_error
from qmlir.targets.cpu.emitters.llvm.processor import Processor
from qmlir.targets.cpu.emitters.machine import HOST, AheadMachine
from qmlir.targets.cpu.emitters.numba.runtime.processor import feature_text, processor_name

ASKED: Mapping[str, Sequence[str]] = {
    "x86": ("sse2", "avx2", "fma", "avxvnni", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni",
            "avx512vbmi"),
    "aarch64": ("neon", "dotprod"),
    "arm": ("neon",),
    "wasm": ("simd128",),
}  # fmt: skip
"""The features that instruction sets and emissions ask for, by the beginning of LLVM's name of the architecture."""


@cache
def _initialize() -> None:
    """Every target that LLVM was built with: one of them is not this machine's."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


_SYSTEMS = ("linux", "windows", "wasi", "freebsd", "netbsd", "openbsd", "darwin", "macos")
_ENVIRONMENTS = ("gnu", "musl", "eabi", "android", "msvc")
"""How the names of systems, and of what programs call on them, begin."""


def with_every_part(triple: str) -> str:
    """A triple with its vendor and system, as `TARGET-gcc` and clang have it without.

    LLVM knows the parts by their places: of `armv7-linux-gnueabihf` it would not see that floats are in registers.
    """
    architecture, *rest = triple.split("-")
    if rest and len(rest) < 3 and rest[0].startswith(_SYSTEMS):
        return "-".join([architecture, "unknown", *rest])
    if len(rest) == 2 and rest[1].startswith(_ENVIRONMENTS):
        return "-".join([architecture, rest[0], "unknown", rest[1]])
    return triple


@dataclass(frozen=True)
class CodeTarget:
    """Of the code: LLVM's triple, the processor, and features beside its own."""

    triple: str
    cpu: str = ""
    features: str = ""

    @cached_property
    def _target(self) -> Any:
        _initialize()
        try:
            return llvm.Target.from_triple(with_every_part(self.triple))
        except RuntimeError as error:
            raise text_error(f"LLVM has no target for the triple '{self.triple}'") from error

    def machine(self) -> Any:
        """LLVM's machine. Raises `DiagnosticError` for a triple that LLVM doesn't have."""
        return self._target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, reloc="pic", codemodel="default"
        )

    @cached_property
    def processor(self) -> Processor:
        """What emission asks of it."""
        name = str(self._target.name)
        asked = next((features for start, features in ASKED.items() if name.startswith(start)), ())
        return Processor(self.triple, frozenset(each for each in asked if self._has(each)))

    def _has(self, feature: str) -> bool:
        """Whether the processor has a feature."""
        added = f"{self.features},+{feature}" if self.features else f"+{feature}"
        machine = self.machine()
        module = llvm.parse_assembly(_PROBE.format(cpu=self.cpu, features=self.features, added=added))
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        return "@asks" not in str(module)


_SYNTAX: Mapping[str, re.Pattern[str]] = {
    "triple": re.compile(r"[A-Za-z0-9._+-]*"),
    "cpu": re.compile(r"[A-Za-z0-9._+-]*"),
    "features": re.compile(r"([+-][a-z0-9._-]+(,[+-][a-z0-9._-]+)*)?"),
}
"""How what is asked for is written: it is put into text of LLVM."""

_OF_FORMS = ("", "+simd128")
"""Features that nobody has asked for, which are known."""

_UNKNOWN = re.compile(r"'([^']*)' is not a recognized (processor|feature)")


def _check_names(machine: AheadMachine, triple: str) -> None:
    """Raise `DiagnosticError` for a triple, processor or feature that LLVM does not know.

    LLVM says so on standard error and goes on, or ends the process: it is asked in another one.
    """
    for name, pattern in _SYNTAX.items():
        if not pattern.fullmatch(found := getattr(machine, name)):
            raise text_error(f"{found!r:.60} is not written as the {name} of a machine is: {_EXAMPLES[name]}")
    CodeTarget(triple).machine()
    cpu = "" if machine.cpu == HOST else machine.cpu
    names = [each[1:] for each in machine.features.split(",") if each]
    if not cpu and machine.features in _OF_FORMS:  # a process takes a moment
        return
    command = [sys.executable, "-c", _PROBED, with_every_part(triple), cpu, machine.features]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    unknown = [(name.lstrip("+-"), kind) for name, kind in _UNKNOWN.findall(done.stderr)]
    unknown += [("help", "name") for each in (cpu, *names) if each == "help"]  # LLVM would list all
    if unknown:
        name, kind = unknown[0]
        raise text_error(f"LLVM knows no {kind} '{name}' for the triple '{triple}'")
    if done.returncode:
        said = " ".join(done.stderr.split()[-20:])
        wanted = " ".join(each for each in (machine.cpu, machine.features) if each)
        raise text_error(f"LLVM makes no code for '{wanted}' of the triple '{triple}': {said[:200]}")


_EXAMPLES: Mapping[str, str] = {
    "triple": "aarch64-linux-gnu",
    "cpu": f"cortex-a76, or {HOST}",
    "features": "+dotprod,-fullfp16",
}

_PROBED = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
triple, cpu, features = sys.argv[1:]
machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=3)
module = llvm.parse_assembly("define double @f(double %x) {\\n %y = fadd double %x, %x\\n ret double %y\\n}")
module.triple, module.data_layout = machine.triple, str(machine.target_data)
machine.emit_object(module)
"""


@cache
def code_target(machine: AheadMachine) -> CodeTarget:
    """What LLVM compiles for a machine. Raises `DiagnosticError` for a processor or features that LLVM doesn't know."""
    triple = machine.triple or llvm.get_process_triple()
    _check_names(machine, triple)
    if machine.cpu != HOST:
        return CodeTarget(triple, machine.cpu, machine.features)
    if machine.triple:
        raise text_error(f"the processor '{HOST}' is this computer's, found the triple '{machine.triple}' beside it")
    features = ",".join(each for each in (feature_text(), machine.features) if each)
    return CodeTarget(triple, processor_name(), features)


_PROBE = """
@seen = external global i32
define internal void @asks() #1 {{
  store volatile i32 1, ptr @seen
  ret void
}}
define void @has() #0 {{
  call void @asks()
  ret void
}}
attributes #0 = {{ "target-cpu"="{cpu}" "target-features"="{features}" }}
attributes #1 = {{ "target-cpu"="{cpu}" "target-features"="{added}" }}
"""
