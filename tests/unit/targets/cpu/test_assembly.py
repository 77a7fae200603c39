"""The instructions that products become, in the assembly for processors that need not be this one.

numba compiles for the processor that the environment names, in a process of its own; nothing of it is run. What ARM's
processors get is the same code without an instruction of x86, taken from LLVM's text to assembly by LLVM itself.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from qmlir.targets.cpu.host import limits_to, runs_here
from qmlir.targets.cpu.numba.runtime.processor import FEATURES, NAME

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="numba compiles for x86 here")

COMPILE = """
import sys
from importlib import import_module
from pathlib import Path
import qmlir
from qmlir.targets.cpu.lowering import lowered, write_loops
from qmlir.targets.cpu.package import load_package

isa, source, folder, inspect = sys.argv[1:]
Path(folder).mkdir()
write_loops(lowered(qmlir.load(source), isa), Path(folder))
emitted = import_module(".kernels", load_package(Path(folder), "emitted_program").__name__)
for each in vars(emitted).values():
    if type(each).__name__ == "Kernel" and "matmul" in each.name:
        print(*getattr(each.compiled, inspect)().values())
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


BYTES, NARROW = _product("i8"), _product("i4")
PAIRS = _product("i8", "input_zero_point = 3 : i32, weight_zero_point = 5 : i32")
"""Weights without their zero point are no bytes."""


FEATURES_OF = {
    "icelake-server": "+avx2,+fma,+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512vnni,+avx512vbmi",
    "alderlake": "+avx2,+fma,+avxvnni",
    "haswell": "+avx2,+fma",
    "x86-64": "+sse2",
}
"""Processors, and what of theirs emitted code asks for."""


def _for(processor: str) -> dict[str, str]:
    return {NAME: processor, FEATURES: FEATURES_OF[processor]}


def _compiled(folder: Path, source: str, isa: str, limits: Mapping[str, str], inspect: str = "inspect_asm") -> str:
    """What numba says of the product's kernel when it compiles it in such an environment."""
    (folder / "product.mlir").write_text(source)
    environment = {**os.environ, **limits}
    command = [sys.executable, "-c", COMPILE, isa, folder / "product.mlir", folder / "program", inspect]
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _instructions(assembly: str, register: str) -> Counter[str]:
    """How often each instruction stands there with a register whose name begins so."""
    return Counter(re.findall(rf"(?m)^\s+(?:\{{vex\}}\s+)?(v?p\w+)\s.*%{register}", assembly))


@pytest.mark.parametrize(
    ("source", "isa", "processor", "register", "instruction"),
    [
        (BYTES, "avx512-vnni", "icelake-server", "zmm", "vpdpbusd"),
        (PAIRS, "avx512-vnni", "icelake-server", "zmm", "vpdpwssd"),
        (BYTES, "avx2-vnni", "alderlake", "ymm", "vpdpbusd"),
        (PAIRS, "avx2-vnni", "alderlake", "ymm", "vpdpwssd"),
        (NARROW, "avx2-vnni", "alderlake", "ymm", "vpdpbusd"),
        (BYTES, "avx2", "haswell", "ymm", "vpmaddwd"),
        (NARROW, "avx2", "haswell", "ymm", "vpmaddubsw"),
    ],
)
def test_products_become_the_instructions_of_the_set(
    source: str, isa: str, processor: str, register: str, instruction: str, tmp_path: Path
) -> None:
    assembly = _compiled(tmp_path, source, isa, _for(processor))
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
def test_registers_lie_aligned_on_the_stack(isa: str, processor: str, bytes_of_a_register: int, tmp_path: Path) -> None:
    assert _stack_alignment(_compiled(tmp_path, BYTES, isa, _for(processor), "inspect_llvm")) == bytes_of_a_register


def test_the_stack_stays_as_it_is_where_registers_are_small(tmp_path: Path) -> None:
    """16 bytes are what every function's stack is aligned to."""
    assert _stack_alignment(_compiled(tmp_path, BYTES, "generic", _for("x86-64"), "inspect_llvm")) is None


@pytest.mark.skipif(not runs_here("avx2"), reason="this processor has no AVX2")
@pytest.mark.parametrize("source", [BYTES, NARROW], ids=["bytes", "narrow"])
def test_this_processor_can_be_limited_to_a_set(source: str, tmp_path: Path) -> None:
    assembly = _compiled(tmp_path, source, "avx2", limits_to("avx2"))
    assert "%ymm" in assembly
    assert not re.search(r"vpdp|%zmm|%ymm(1[6-9]|2\d|3[01])\b", assembly)


@pytest.mark.parametrize("source", [BYTES, PAIRS], ids=["bytes", "pairs"])
def test_neon_multiplies_and_adds_vectors(source: str, tmp_path: Path) -> None:
    text = _compiled(tmp_path, source, "neon", _for("x86-64"), "inspect_llvm")
    assert "llvm.x86" not in text
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("aarch64-linux-gnu").create_target_machine(cpu="cortex-a76", opt=3)
    module = llvm.parse_assembly(re.sub(r"(?m)^target (triple|datalayout).*$", "", text))
    module.triple, module.data_layout = "aarch64-linux-gnu", str(machine.target_data)
    assembly = machine.emit_assembly(module)
    assert len(re.findall(r"(?m)^\s+mla\s+v\d+\.4s", assembly)) >= 32
