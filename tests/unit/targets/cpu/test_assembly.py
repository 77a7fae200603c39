"""The instructions that products become, in the assembly for processors that need not be this one.

numba compiles for the processor that the environment names, in a process of its own; nothing of it is run. What ARM's
processors get is the same code without an instruction of x86, taken from LLVM's text to assembly by LLVM itself.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import llvmlite.binding as llvm
import pytest

from qmlir.targets.cpu.host import limits_to, runs_here
from qmlir.targets.cpu.runtime.machine_code import FEATURES, NAME

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="numba compiles for x86 here")

COMPILE = """
import json
import sys
from importlib import import_module
from pathlib import Path
import qmlir
from qmlir.targets.cpu.lowering import lowered
from qmlir.targets.cpu.emitters.emitter import emitter_named
from qmlir.targets.cpu.package import load_package

isa, folder = sys.argv[1], Path(sys.argv[2])
texts = {}
for source in sorted(folder.glob("*.mlir")):
    into = folder / source.stem
    into.mkdir()
    emitter_named("numba").write(lowered(qmlir.load(source), isa), into, None, None)
    emitted = import_module(".kernels", load_package(into, f"emitted_{source.stem}").__name__)
    (product,) = (
        each.compiled for each in vars(emitted).values() if type(each).__name__ == "Kernel" and "matmul" in each.name
    )
    texts[source.stem] = [*product.inspect_asm().values(), *product.inspect_llvm().values()]
json.dump(texts, sys.stdout)
"""


def _product(weights: str, zero_points: str = "") -> str:
    """A product of bytes; weights are an argument, or a constant of a type of few bits."""
    is_narrow = weights == "i4"
    argument = "" if is_narrow else f", %w: tensor<32x64x{weights}>"
    constant = f"%w = arith.constant dense<3> : tensor<32x64x{weights}>" if is_narrow else ""
    attributes = f"attributes {{{zero_points}}} " if zero_points else ""
    return f"""func.func @main(%x: tensor<8x64xi8>{argument}) -> tensor<8x32xi32> {{
  {constant}
  %0 = kernel.matmul ins(%x, %w : tensor<8x64xi8>, tensor<32x64x{weights}>) -> tensor<8x32xi32> {attributes}{{
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }}
  func.return %0 : tensor<8x32xi32>
}}
"""


SOURCES = {
    "bytes": _product("i8"),
    "narrow": _product("i4"),
    # Weights without their zero point are no bytes.
    "pairs": _product("i8", "input_zero_point = 3 : i32, weight_zero_point = 5 : i32"),
}


FEATURES_OF = {
    "icelake-server": "+avx2,+fma,+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512vnni,+avx512vbmi",
    "alderlake": "+avx2,+fma,+avxvnni",
    "haswell": "+avx2,+fma",
    "x86-64": "+sse2",
}
"""Processors, and what of theirs emitted code asks for."""


class Texts(NamedTuple):
    """What numba says of a product's kernel."""

    assembly: str
    llvm: str


@cache
def _compiled(isa: str, processor: str) -> Mapping[str, Texts]:
    """What numba makes of each product in an environment that names this processor, or limits this one ("")."""
    limits = {NAME: processor, FEATURES: FEATURES_OF[processor]} if processor else limits_to(isa)
    with TemporaryDirectory(prefix="qmlir-") as folder:
        for name, source in SOURCES.items():
            Path(folder, f"{name}.mlir").write_text(source)
        command = [sys.executable, "-c", COMPILE, isa, folder]
        done = subprocess.run(command, env={**os.environ, **limits}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: Texts(*texts) for name, texts in json.loads(done.stdout).items()}


def _instructions(assembly: str, register: str) -> Counter[str]:
    """How often each instruction stands there with a register whose name begins so."""
    return Counter(re.findall(rf"(?m)^\s+(?:\{{vex\}}\s+)?(v?p\w+)\s.*%{register}", assembly))


@pytest.mark.parametrize(
    ("source", "isa", "processor", "register", "instruction"),
    [
        ("bytes", "avx512-vnni", "icelake-server", "zmm", "vpdpbusd"),
        ("pairs", "avx512-vnni", "icelake-server", "zmm", "vpdpwssd"),
        ("bytes", "avx2-vnni", "alderlake", "ymm", "vpdpbusd"),
        ("pairs", "avx2-vnni", "alderlake", "ymm", "vpdpwssd"),
        ("narrow", "avx2-vnni", "alderlake", "ymm", "vpdpbusd"),
        ("bytes", "avx2", "haswell", "ymm", "vpmaddwd"),
        ("narrow", "avx2", "haswell", "ymm", "vpmaddubsw"),
    ],
)
def test_products_become_the_instructions_of_the_set(
    source: str, isa: str, processor: str, register: str, instruction: str
) -> None:
    assembly = _compiled(isa, processor)[source].assembly
    assert _instructions(assembly, register)[instruction] >= 16
    assert (isa == "avx512-vnni") == ("%zmm" in assembly)
    assert isa != "avx2" or not re.search("vpdp", assembly)


def _stack_alignment(text: str) -> int | None:
    """What the one definition of LLVM's text says of its stack, in an attribute group of its own."""
    (group,) = re.findall(r"(?m)^define .*?(#\d+) \{$", text)
    (attributes,) = re.findall(rf"(?m)^attributes {group} = \{{ (.*) \}}$", text)
    alignment = re.search(r"\balignstack=(\d+)", attributes)
    return int(alignment[1]) if alignment is not None else None


@pytest.mark.parametrize(
    ("isa", "processor", "bytes_of_a_register"),
    [("avx512-vnni", "icelake-server", 64), ("avx2-vnni", "alderlake", 32), ("avx2", "haswell", 32)],
)
def test_registers_lie_aligned_on_the_stack(isa: str, processor: str, bytes_of_a_register: int) -> None:
    assert _stack_alignment(_compiled(isa, processor)["bytes"].llvm) == bytes_of_a_register


def test_the_stack_stays_as_it_is_where_registers_are_small() -> None:
    """16 bytes are what every function's stack is aligned to."""
    assert _stack_alignment(_compiled("generic", "x86-64")["bytes"].llvm) is None


@pytest.mark.skipif(not runs_here("avx2"), reason="this processor has no AVX2")
@pytest.mark.parametrize("source", ["bytes", "narrow"])
def test_this_processor_can_be_limited_to_a_set(source: str) -> None:
    assembly = _compiled("avx2", "")[source].assembly
    assert "%ymm" in assembly
    assert not re.search(r"vpdp|%zmm|%ymm(1[6-9]|2\d|3[01])\b", assembly)


@pytest.mark.parametrize("source", ["bytes", "pairs"])
def test_neon_multiplies_and_adds_vectors(source: str) -> None:
    text = _compiled("neon", "x86-64")[source].llvm
    assert "llvm.x86" not in text
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("aarch64-linux-gnu").create_target_machine(cpu="cortex-a76", opt=3)
    module = llvm.parse_assembly(re.sub(r"(?m)^target (triple|datalayout).*$", "", text))
    module.triple, module.data_layout = "aarch64-linux-gnu", str(machine.target_data)
    assembly = machine.emit_assembly(module)
    assert len(re.findall(r"(?m)^\s+mla\s+v\d+\.4s", assembly)) >= 32
