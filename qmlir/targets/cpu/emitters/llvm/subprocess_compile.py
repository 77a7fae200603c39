"""Runs LLVM in a subprocess, so that a fatal error in LLVM doesn't end the caller.

LLVM ends the process for an unknown CPU or feature, and for most code that it can't select instructions for. This
can't be checked in advance: with features disabled, it depends on the code. So all code for an explicitly named
machine is compiled here.
"""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
import re
import subprocess
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from qmlir.targets.cpu.runtime.machine_code import compiled

PROBE = """
define double @f(double %x) {
  %y = fadd double %x, %x
  ret double %y
}
"""
"""A module that is compiled to check that LLVM supports a machine."""

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop(1))
from qmlir.targets.cpu.emitters.llvm.subprocess_compile import main
main(*sys.argv[1:])
"""

_REASON = re.compile(r"LLVM ERROR: .*|error: .*|\w+Error: .*|Assertion .*|.*(?=\nUNREACHABLE)")
"""Matches the reason in the output of a failed LLVM or Python process."""


@cache
def _initialize() -> None:
    """Initializes all targets of LLVM, not only that of the host."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def target_of(triple: str) -> Any:
    """Returns LLVM's target for a triple. Raises `RuntimeError` if there is none."""
    _initialize()
    return llvm.Target.from_triple(triple)


def machine_of(triple: str, cpu: str, features: str) -> Any:
    """Returns LLVM's target machine. Raises `RuntimeError` for an unknown triple; other names may end the process."""
    return target_of(triple).create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")


def main(*machine: str) -> None:
    """Compiles the module on standard input, and writes the object to standard output.

    It reads the object's sections once: for some triples, LLVM writes objects that make it abort when it reads them.
    """
    data = compiled(sys.stdin.read(), machine_of(*machine))
    for section in llvm.ObjectFileRef.from_data(data).sections():
        section.size()
    sys.stdout.buffer.write(data)


def compiled_aside(text: str, triple: str, cpu: str, features: str) -> tuple[bytes | None, str]:
    """Returns the object file of a module, or `None` if LLVM failed, and the text that LLVM printed."""
    # -P: don't import modules from the working directory.
    command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path), triple, cpu, features]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    return None if done.returncode else done.stdout, done.stderr.decode(errors="replace")


def reason_in(said: str) -> str:
    """Extracts the reason for a failure from LLVM's output, at most 200 characters."""
    found = _REASON.search(said)
    lines = [line for line in said.splitlines() if line.strip()]
    return " ".join((found[0] if found else lines[-1] if lines else "it ends without a word").split())[:200]
