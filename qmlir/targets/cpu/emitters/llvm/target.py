"""The machine for ahead-of-time compilation: an LLVM triple, a CPU, and additional features.

LLVM has no API that lists the features of a CPU, but it inlines a function only if the caller has all features of the
callee. So a function that requires one more feature is inlined exactly if the CPU has that feature.
"""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import llvmlite.binding as llvm

from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.targets.cpu.emitters.llvm.subprocess_compile import PROBE, compiled_aside, machine_of, reason_in, target_of
from qmlir.targets.cpu.host import HOST, AheadMachine, Processor
from qmlir.targets.cpu.runtime.machine_code import FEATURES, NAME, compiled, feature_text, processor_name

ASKED: Mapping[str, Sequence[str]] = {
    "x86": ("sse2", "avx2", "fma", "avxvnni", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni",
            "avx512vbmi"),
    "aarch64": ("neon", "dotprod"),
    "arm": ("neon",),
    "wasm": ("simd128",),
}  # fmt: skip
"""The features that instruction sets and emitters query, by prefix of LLVM's name of the architecture."""


_SYSTEMS = ("linux", "windows", "wasi", "freebsd", "netbsd", "openbsd", "darwin", "macos")
_ENVIRONMENTS = ("gnu", "musl", "eabi", "android", "msvc")
"""The prefixes of operating systems and environments in triples."""


def with_every_part(triple: str) -> str:
    """Adds the vendor and system to a triple; the target names of GCC and clang may omit them.

    LLVM identifies the parts by position: for `armv7-linux-gnueabihf`, it would miss the hard-float ABI.
    """
    architecture, *rest = triple.split("-")
    if rest and len(rest) < 3 and rest[0].startswith(_SYSTEMS):
        return "-".join([architecture, "unknown", *rest])
    if len(rest) == 2 and rest[1].startswith(_ENVIRONMENTS):
        return "-".join([architecture, rest[0], "unknown", rest[1]])
    return triple


@dataclass(frozen=True)
class CodeTarget:
    """The target of code: LLVM's triple, the CPU, and additional features."""

    triple: str
    cpu: str = ""
    features: str = ""

    is_named: bool = False
    """True if the user named the machine, so that LLVM may end the process."""

    def machine(self) -> Any:
        """Returns LLVM's target machine, which must have been checked."""
        return machine_of(with_every_part(self.triple), self.cpu, self.features)

    def compiled(self, text: str) -> bytes:
        """Compiles a module of LLVM IR to an object. Raises `DiagnosticError` if LLVM fails."""
        if not self.is_named:
            return compiled(text, self.machine())
        data, said = compiled_aside(text, with_every_part(self.triple), self.cpu, self.features)
        if data is None:
            raise self.no_code(said)
        return data

    def no_code(self, said: str) -> DiagnosticError:
        """Returns the error for a failed LLVM process with the output `said`."""
        wanted = " ".join(each for each in (self.cpu, self.features) if each)
        of = f"'{wanted}' of the triple" if wanted else "the triple"
        return text_error(f"LLVM cannot generate code for {of} '{self.triple}': {reason_in(said)}")

    @cached_property
    def processor(self) -> Processor:
        """The CPU properties that emitters query."""
        name = str(target_of(with_every_part(self.triple)).name)
        asked = next((features for start, features in ASKED.items() if name.startswith(start)), ())
        return Processor(self.triple, frozenset(each for each in asked if self._has(each)))

    def _has(self, feature: str) -> bool:
        """Returns true if the CPU has a feature."""
        added = f"{self.features},+{feature}" if self.features else f"+{feature}"
        machine = self.machine()
        module = llvm.parse_assembly(_PROBE.format(cpu=self.cpu, features=self.features, added=added))
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        return "@asks" not in str(module)


_SYNTAX: Mapping[str, tuple[re.Pattern[str], str]] = {
    "triple": (re.compile(r"[A-Za-z0-9._+-]*"), "aarch64-linux-gnu"),
    "cpu": (re.compile(r"[A-Za-z0-9._+-]*"), f"cortex-a76, or {HOST}"),
    "features": (re.compile(r"([+-][a-z0-9._-]+(,[+-][a-z0-9._-]+)*)?"), "+dotprod,-fullfp16"),
}
"""The allowed syntax of user input that is inserted into LLVM IR, with an example."""

_OF_FORMS, _OF_WASM = ("", "+simd128"), "wasm32-unknown-unknown"
"""Features and a triple that output formats choose themselves, so that they need no check."""

_UNKNOWN = re.compile(r"'([^']*)' is not a recognized (processor|feature)")
_BIG_ENDIAN = "E"
"""The start of LLVM's data layout for big-endian targets."""

_NO_TARGET = "No available targets are compatible"


def _check(target: CodeTarget) -> None:
    """Raises `DiagnosticError` if LLVM doesn't support the triple, CPU or features, or if the target is big-endian.

    LLVM reports this on standard error, or ends the process, so it runs in a subprocess.
    """
    names = [each[1:] for each in target.features.split(",") if each]
    data, said = compiled_aside(PROBE, with_every_part(target.triple), target.cpu, target.features)
    if _NO_TARGET in said:
        raise text_error(f"LLVM has no target for the triple '{target.triple}'")
    unknown = [(name.lstrip("+-"), kind) for name, kind in _UNKNOWN.findall(said)]
    unknown += [("help", "name") for each in (target.cpu, *names) if each == "help"]  # LLVM would list all
    if unknown:
        name, kind = unknown[0]
        raise text_error(f"unknown {kind} '{name}' for the triple '{target.triple}'")
    if data is None:
        raise target.no_code(said)
    if str(target.machine().target_data).startswith(_BIG_ENDIAN):
        raise text_error(f"the triple '{target.triple}' is big-endian, but only little-endian targets are supported")


@cache
def code_target(machine: AheadMachine) -> CodeTarget:
    """Returns LLVM's target for a machine. Raises `DiagnosticError` if LLVM doesn't know the CPU or the features."""
    for name, (pattern, example) in _SYNTAX.items():
        if not pattern.fullmatch(found := getattr(machine, name)):
            raise text_error(f"invalid {name} {found!r:.60} (example: {example})")
    triple, own = machine.triple or llvm.get_process_triple(), llvm.get_process_triple()
    is_host = machine.cpu == HOST
    is_named = bool(machine.cpu and not is_host) or machine.features not in _OF_FORMS or triple not in (own, _OF_WASM)
    target = CodeTarget(triple, "" if is_host else machine.cpu, machine.features, is_named)
    if is_named:  # a subprocess is slow; formats report an unsuitable triple themselves
        _check(replace(target, features="" if machine.features in _OF_FORMS else machine.features))
    if not is_host:
        return target
    if machine.triple:
        raise text_error(
            f"--cpu {HOST} (this computer) cannot be combined with another triple, but got '{machine.triple}'"
        )
    check_named_processor()
    features = ",".join(each for each in (feature_text(), machine.features) if each)
    return CodeTarget(triple, processor_name(), features, is_named)


@cache
def check_named_processor() -> None:
    """Raises `DiagnosticError` if the environment names a CPU or features that LLVM can't generate code for."""
    named = [name for name in (NAME, FEATURES) if os.environ.get(name)]
    if named:
        try:
            _check(CodeTarget(llvm.get_process_triple(), processor_name(), feature_text()))
        except DiagnosticError as error:
            raise text_error(f"{' and '.join(named)}: {error.diagnostic.message}") from error


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
