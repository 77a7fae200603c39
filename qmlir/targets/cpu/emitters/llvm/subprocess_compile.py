"""LLVM in a process of its own: what it cannot compile ends that process, and not the caller's.

LLVM checks names of processors and features, and most of what code asks of them, by ending the process. No list says
beforehand what it has instructions for: with features taken away, that depends on the code. So all code for a machine
that somebody has named is compiled here.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
import re
import subprocess
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from qmlir.targets.cpu.runtime.ir_code import compiled

PROBE = """
define double @f(double %x) {
  %y = fadd double %x, %x
  ret double %y
}
"""
"""What is compiled to see whether there is such a machine."""

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop(1))
from qmlir.targets.cpu.emitters.llvm.subprocess_compile import main
main(*sys.argv[1:])
"""

_REASON = re.compile(r"LLVM ERROR: .*|error: .*|\w+Error: .*|Assertion .*|.*(?=\nUNREACHABLE)")
"""What says why, in what LLVM and Python say where they end."""


@cache
def _initialize() -> None:
    """Every target that LLVM was built with: one of them is not this machine's."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def target_of(triple: str) -> Any:
    """LLVM's target. Raises `RuntimeError` where it has none."""
    _initialize()
    return llvm.Target.from_triple(triple)


def machine_of(triple: str, cpu: str, features: str) -> Any:
    """LLVM's machine. Raises `RuntimeError` for a triple that it has no target for; other names may end the process."""
    return target_of(triple).create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")


def main(*machine: str) -> None:
    """Compile the module on standard input, and write the object to standard output.

    Its sections are read once: for some triples LLVM writes what it ends the process for when it reads it.
    """
    data = compiled(sys.stdin.read(), machine_of(*machine))
    for section in llvm.ObjectFileRef.from_data(data).sections():
        section.size()
    sys.stdout.buffer.write(data)


def compiled_aside(text: str, triple: str, cpu: str, features: str) -> tuple[bytes | None, str]:
    """The object of a module, `None` where LLVM makes none, and what it has said."""
    # -P: no file of the working directory is a module of its.
    command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path), triple, cpu, features]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    return None if done.returncode else done.stdout, done.stderr.decode(errors="replace")


def reason_in(said: str) -> str:
    """The part of what LLVM has said that tells why it has ended, cut off where it is long."""
    found = _REASON.search(said)
    lines = [line for line in said.splitlines() if line.strip()]
    return " ".join((found[0] if found else lines[-1] if lines else "it ends without a word").split())[:200]
