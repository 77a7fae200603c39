"""Programs as objects, archives and shared libraries: called by ctypes and from C, with the interpreter's bits."""

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.extensions.aot.ahead import emit_ahead
from qmlir.extensions.aot.llvm import linkers
from qmlir.extensions.aot.llvm.linkers import archive
from qmlir.extensions.aot.llvm.standalone import standalone_text
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.emitters.llvm.emit import emit_module
from qmlir.targets.cpu.emitters.llvm.subprocess_compile import PROBE, compiled_aside
from qmlir.targets.cpu.emitters.llvm.target import CodeTarget, check_named_processor, code_target, with_every_part
from qmlir.targets.cpu.emitters.ports import EntryPoint
from qmlir.targets.cpu.emitters.program import program_of
from qmlir.targets.cpu.host import AheadMachine, Processor, best_isa
from qmlir.targets.cpu.runtime.machine_code import FEATURES, NAME
from qmlir.text.parsing import parse_module
from qmlir.text.printing import save_module
from qmlir.text.writing import LIST
from qmlir.tools.qmlir_cli import main
from tests.support.emitted import parsed
from tests.unit.targets.cpu.conftest import perceptron, quantized
from tests.unit.targets.cpu.test_ports import SUMS

ANY = Processor("x86_64-linux-gnu")

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def pointer(array: np.ndarray) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)


def module_of(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


class Library:
    """A program as a shared library, called as C calls it."""

    def __init__(self, module: ModuleOp, folder: Path, **options: str) -> None:
        qmlir.emit(module, format="shared", name="net", **options).save(folder)
        self.code = ctypes.CDLL(str(folder / "libnet.so"))
        self.header = (folder / "net.h").read_text()

    def run(self, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> int:
        return self.code.net_run(*map(pointer, (*inputs, *outputs)))

    def run_in(self, arena: np.ndarray, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> int:
        return self.code.net_run_in(*map(pointer, (arena, *inputs, *outputs)))

    @property
    def arena_bytes(self) -> int:
        (line,) = (line for line in self.header.splitlines() if line.startswith("#define NET_ARENA_BYTES "))
        return int(line.split()[2])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A layer that takes and gives f32."""
    return Library(quantized(2), tmp_path_factory.mktemp("library"), cpu="host")


@needs_cc
def test_a_shared_library(library: Library, image: np.ndarray) -> None:
    """In its own arena, and in one of the caller's that has whatever was in it."""
    expected = qmlir.interpret(quantized(2), [image])["Relu1"]
    out = np.empty(expected.shape, expected.dtype)
    assert library.run([image], [out]) == 0
    np.testing.assert_array_equal(out, expected, strict=True)
    memory = np.full(library.arena_bytes + 64, 0x55, np.int8)
    start = -memory.ctypes.data % 64
    out[:] = 0
    assert library.run_in(memory[start:], [image], [out]) == 0
    np.testing.assert_array_equal(out, expected, strict=True)
    assert (memory[start + library.arena_bytes :] == 0x55).all()


@needs_cc
def test_nan_is_refused(library: Library, image: np.ndarray) -> None:
    """Wherever it is; outputs stay as they were."""
    for position in (0, 5, image.size - 1):
        wrong = image.copy()
        wrong.flat[position] = np.nan
        out = np.full((2, 4), 7, np.float32)
        assert library.run([wrong], [out]) == 1
        assert (out == 7).all()


@needs_cc
def test_elements_of_few_bits(tmp_path: Path) -> None:
    """Callers have 0 to 15 for u4, -7 to 7 for i4 and 0 or 1 for Booleans; other bytes are refused by their input."""
    module = module_of(SUMS)
    library = Library(module, tmp_path)
    generator = np.random.default_rng(1)
    inputs = {
        "x": generator.integers(0, 16, 256, np.uint8),
        "y": generator.integers(0, 16, 256, np.uint8),
        "w": generator.integers(-7, 8, 256, np.int8),
        "c": generator.integers(0, 2, 256, np.uint8).astype(np.bool_),
    }
    expected: Mapping[str, np.ndarray] = qmlir.compile(module)(inputs)
    outputs = [np.empty(array.shape, array.dtype) for array in expected.values()]
    assert library.run(list(inputs.values()), outputs) == 0
    for found, wanted in zip(outputs, expected.values(), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)
    for number, (name, wrong) in enumerate((("x", 16), ("y", 255), ("w", 8), ("c", 2)), 1):
        changed = {**inputs, name: inputs[name].view(np.uint8).copy()}
        changed[name][200] = wrong
        assert library.run(list(changed.values()), outputs) == number


CALLER = """
#include <stdio.h>
#include "net.h"
static float in[12], out[8];
int main(void) {
  if (fread(in, sizeof *in, 12, stdin) != 12 || net_run(in, out)) return 1;
  return fwrite(out, sizeof *out, 8, stdout) != 8;
}
"""


@needs_cc
@pytest.mark.parametrize(("form", "file"), [("object", "net.o"), ("static", "libnet.a")])
def test_linked_into_a_program_of_c(form: str, file: str, image: np.ndarray, tmp_path: Path) -> None:
    module = quantized(2)
    qmlir.emit(module, format=form, name="net").save(tmp_path)
    (tmp_path / "main.c").write_text(CALLER)
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", file, "-o", "main", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], input=image.tobytes(), capture_output=True, check=True)
    assert done.stdout == qmlir.interpret(module, [image])["Relu1"].tobytes()


@pytest.mark.skipif(shutil.which("ar") is None, reason="no ar")
@pytest.mark.parametrize("name", ["net.o", "a_name_of_more_characters.o"])
def test_an_archive_as_ar_reads_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "lib.a"
    path.write_bytes(archive(name, b"12345", ["net_run"]))
    listed = subprocess.run(["ar", "t", path], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == [name]
    assert subprocess.run(["ar", "p", path], capture_output=True, check=True).stdout == b"12345"


@pytest.mark.parametrize(
    ("triple", "cpu", "features", "isa"),
    [
        ("x86_64-linux-gnu", "", "", "generic"),
        ("x86_64-linux-gnu", "haswell", "", "avx2"),
        ("x86_64-linux-gnu", "haswell", "-avx2", "generic"),
        ("x86_64-linux-gnu", "alderlake", "", "avx2-vnni"),
        ("x86_64-linux-gnu", "znver4", "", "avx512-vnni"),
        ("aarch64-linux-gnu", "cortex-a53", "", "neon"),
        ("aarch64-linux-gnu", "cortex-a76", "", "neon-dotprod"),
        ("aarch64-linux-gnu", "cortex-a76", "-dotprod", "neon"),
        ("armv7-linux-gnueabihf", "cortex-m4", "", "generic"),
        ("riscv64-linux-gnu", "generic-rv64", "+m", "generic"),
        ("wasm32-wasi", "", "", "generic"),
        ("wasm32-wasi", "", "+simd128", "wasm-simd"),
    ],
)
def test_the_instruction_set_of_a_processor(triple: str, cpu: str, features: str, isa: str) -> None:
    """What the manuals of the processors say that they have."""
    assert best_isa(CodeTarget(triple, cpu, features).processor.features) == isa


@pytest.mark.parametrize(
    ("triple", "expected"),
    [
        ("armv7-linux-gnueabihf", "armv7-unknown-linux-gnueabihf"),
        ("arm-none-eabi", "arm-none-unknown-eabi"),
        ("wasm32-wasi", "wasm32-unknown-wasi"),
        ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
        ("arm64-apple-darwin", "arm64-apple-darwin"),
        ("riscv64", "riscv64"),
    ],
)
def test_a_triple_has_every_part(triple: str, expected: str) -> None:
    """As LLVM normalizes triples."""
    assert with_every_part(triple) == expected


def test_floats_are_in_registers_where_the_triple_says_so() -> None:
    """A function takes and gives floats there."""
    machine = CodeTarget("armv7-linux-gnueabihf", "cortex-a9").machine()
    assert "vmul.f32\ts0, s0, s1" in machine.emit_assembly(llvm.parse_assembly(PRODUCT))


PRODUCT = """
define float @product(float %a, float %b) {
  %c = fmul float %a, %b
  ret float %c
}
"""


def test_this_processor() -> None:
    found = code_target(AheadMachine(cpu="host"))
    assert found.triple == llvm.get_process_triple()
    here = {name for name, is_there in llvm.get_host_cpu_features().items() if is_there}
    assert found.processor.features <= here


@pytest.mark.parametrize(
    ("triple", "cpu", "machine"),
    [
        ("aarch64-linux-gnu", "cortex-a76", b"\x7fELF\x02\x01"),
        ("armv7-linux-gnueabihf", "cortex-a9", b"\x7fELF\x01\x01"),
        ("riscv64-linux-gnu", "generic-rv64", b"\x7fELF\x02\x01"),
        ("wasm32-wasi", "", b"\0asm"),
    ],
)
def test_objects_of_other_machines(triple: str, cpu: str, machine: bytes) -> None:
    """What is called and not there is the C library's."""
    made = qmlir.emit(quantized(2), format="object", name="net", triple=triple, cpu=cpu)
    data = made.files["net.o"]
    assert isinstance(data, bytes)
    assert data.startswith(machine)
    if machine.startswith(b"\x7fELF"):
        assert all(name in data for name in (b"net_run\0", b"net_run_in\0"))


_BIG_ENDIAN = (
    "mips-linux-gnu", "mips64-linux-gnuabi64", "powerpc-linux-gnu", "powerpc64-linux-gnu", "s390x-linux-gnu",
    "sparcv9-linux-gnu", "aarch64_be-linux-gnu", "armebv7-linux-gnueabi", "thumbebv7m-none-eabi",
)  # fmt: skip
"""By the registry of ELF and the ABIs of these machines: their numbers begin with the highest byte."""


@pytest.mark.parametrize(
    ("triple", "form"), [*((triple, "object") for triple in _BIG_ENDIAN), ("s390x-linux-gnu", "static"),
                         ("s390x-linux-gnu", "shared")]
)  # fmt: skip
def test_big_endian_machines_are_refused(triple: str, form: str) -> None:
    """The constants of a program are bytes of little-endian numbers: a program of them would give wrong ones."""
    with pytest.raises(DiagnosticError) as raised:
        qmlir.emit(quantized(2), format=form, triple=triple, isa="portable")
    assert f"the triple '{triple}' is big-endian" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("triple", ["powerpc64le-linux-gnu", "mipsel-linux-gnu", "mips64el-linux-gnuabi64"])
def test_little_endian_machines_of_the_same_families(triple: str) -> None:
    data = qmlir.emit(quantized(2), format="object", name="net", triple=triple).files["net.o"]
    assert isinstance(data, bytes)
    assert data[5] == 1  # ELFDATA2LSB


_EXTREME_ENDS = np.array([0.0, -0.0, 1.0, -1.0, 1e-40, -1e-40, np.inf, -np.inf, np.nan])


def _extremes(element: str, count: int) -> str:
    """A module of the four extremes of two arrays, in registers, and lane after lane."""
    kinds = ("minimumf", "maximumf", "minnumf", "maxnumf")
    type_, lines = f"memref<{count}x{element}>", ["%c0 = arith.constant 0 : index"]
    lines += [f"%{name} = simd.load %m{name}[%c0] : {type_} to vector<{count}x{element}>" for name in "ab"]
    results: list[str] = []
    for kind in kinds:
        results.append(f"%o{len(results)}: {type_} {{nn.result}}")
        lines.append(f"%{kind} = arith.{kind} %a, %b : vector<{count}x{element}>")
        lines.append(f"simd.store %{kind}, %o{len(results) - 1}[%c0] : vector<{count}x{element}>, {type_}")
    for kind in kinds:
        results.append(f"%o{len(results)}: {type_} {{nn.result}}")
        for position in range(count):
            at = f"{kind}{position}"
            lines += [
                f"%i{at} = arith.constant {position} : index",
                f"%x{at} = memref.load %ma[%i{at}] : {type_}",
                f"%y{at} = memref.load %mb[%i{at}] : {type_}",
                f"%f{at} = vector.broadcast %x{at} : {element} to vector<2x{element}>",
                f"%r{at} = vector.reduction <{kind}>, %f{at}, %y{at} : vector<2x{element}> into {element}",
                f"memref.store %r{at}, %o{len(results) - 1}[%i{at}] : {type_}",
            ]
    body = "\n  ".join(lines)
    return f"func.func @main(%ma: {type_}, %mb: {type_}, {', '.join(results)}) {{\n  {body}\n  func.return\n}}"


@needs_cc
@pytest.mark.parametrize("has_extremes", [False, True])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_extremes_of_floats(element: str, has_extremes: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """IEEE 754-2019: NaN spreads through `minimum` and not through `minimumNumber`, and -0 is less than 0."""
    monkeypatch.setattr(Processor, "has_extremes", property(lambda _: has_extremes))
    dtype = np.dtype(np.float32 if element == "f32" else np.float64)
    a, b = (each.reshape(-1).astype(dtype) for each in np.meshgrid(_EXTREME_ENDS, _EXTREME_ENDS))
    emit_ahead(parsed(_extremes(element, a.size)), "shared", "net", AheadMachine(), "").save(tmp_path)
    code = ctypes.CDLL(str(tmp_path / "libnet.so"))
    found = [np.zeros_like(a) for _ in range(8)]
    assert code.net_run(*map(pointer, (a, b, *found))) == 0

    def ordered(x: float, y: float, sign: int) -> float:
        """Python's order of pairs of a number and of its sign."""
        return min(x, y, key=lambda each: (each * sign, np.copysign(1, each) * sign))

    for number, outputs in enumerate(found):
        sign, is_number = (1, -1)[number % 2], number % 4 >= 2
        for x, y, output in zip(a.tolist(), b.tolist(), outputs.tolist(), strict=True):
            others = [each for each in (x, y) if not np.isnan(each)]
            if len(others) == 2:
                wanted = ordered(x, y, sign)
            else:
                wanted = others[0] if others and is_number else np.nan
            assert np.array([wanted], dtype).tobytes() == np.array([output], dtype).tobytes() or (
                np.isnan(wanted) and np.isnan(output)
            ), (number, x, y, output)


_OF_C99_OR_THE_COMPILER = re.compile(r"__\w+|mem(cpy|move|set)|(l?rint|floor|ceil|trunc|round|sqrt|fma|fabs)f?")
"""What may be called: functions of the compiler's library, which has names of its own, of string.h and of math.h."""


@pytest.mark.skipif(shutil.which("arm-none-eabi-nm") is None, reason="no nm for ARM")
@pytest.mark.parametrize(
    ("cpu", "triple"),
    [("cortex-m0", "thumbv6m-none-eabi"), ("cortex-m3", "thumbv7m-none-eabi"), ("cortex-m4", "thumbv7em-none-eabi")],
)
@pytest.mark.parametrize("is_quantized", [False, True])
def test_objects_of_microcontrollers_call_c99(cpu: str, triple: str, is_quantized: bool, tmp_path: Path) -> None:
    """Extremes among them: a function of C23 is in few of their libraries. The instruction set is that of C."""
    module = quantized(2) if is_quantized else qmlir.load(perceptron(2).model("Relu1"))
    made = qmlir.emit(module, format="object", name="net", triple=triple, cpu=cpu)
    made.save(tmp_path)
    listed = subprocess.run(
        ["arm-none-eabi-nm", "-u", tmp_path / "net.o"], capture_output=True, text=True, check=True
    ).stdout.split()
    names = [name for name in listed if name != "U"]
    assert [name for name in names if not _OF_C99_OR_THE_COMPILER.fullmatch(name)] == []
    isa = json.loads((tmp_path / "net.json").read_text())["isa"]
    assert isa == ("generic" if cpu == "cortex-m4" else "portable-integer")


STATISTICS = """
func.func @main(%x: memref<8xf32> {nn.name = "x"}, %y: memref<8xf32> {nn.result, nn.name = "y"}) {
  func.return
}
"""


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = quantized(2)
    with pytest.raises(DiagnosticError, match="LLVM has no target for the triple 'pdp11-unknown'"):
        qmlir.emit(module, format="object", triple="pdp11-unknown")
    with pytest.raises(
        DiagnosticError,
        match=r"--cpu host \(this computer\) cannot be combined with another triple, but got 'aarch64-linux-gnu'",
    ):
        qmlir.emit(module, format="object", triple="aarch64-linux-gnu", cpu="host")
    with pytest.raises(DiagnosticError, match="requires avx2, but x86_64-linux-gnu generic lacks avx2, fma"):
        qmlir.emit(module, format="object", triple="x86_64-linux-gnu", isa="avx2")
    monkeypatch.setattr(linkers, "LINKERS", {"cc": lambda _: None})
    with pytest.raises(DiagnosticError, match=r"cannot link a shared library for .*: found none of cc"):
        qmlir.emit(module, format="shared")


CUSTOM = """
func.func @main(%x: memref<4xf32> {nn.name = "x"}, %y: memref<4xf32> {nn.result, nn.name = "y"}) {
  kernel.custom "mine.kernels:silu" ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
    computes {op = "nn.swish", operands = [tensor<4xf32>], results = [tensor<4xf32>]} {origin = "act1"}
  func.return
}
"""


def test_operations_that_are_code_of_python() -> None:
    message = (
        r"\(act1\).*is a custom numba kernel, 'mine.kernels:silu', which requires codegen 'numba' \(--codegen numba\)"
    )
    with pytest.raises(DiagnosticError, match=message):
        emit_ahead(parsed(CUSTOM), "object", "net")


@needs_cc
def test_the_command(tmp_path: Path, image: np.ndarray) -> None:
    save_module(quantized(2), tmp_path / "module.mlir")
    options = ["--emit", "static", "--name", "net", "--triple", "aarch64-linux-gnu", "--cpu", "cortex-a76"]
    assert main(["compile", str(tmp_path / "module.mlir"), "-o", str(tmp_path / "out"), *options]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {LIST, "libnet.a", "net.h", "net.json"}


@pytest.fixture
def unread(tmp_path: Path) -> str:
    """A file that is no model: options that contradict each other are found before it is read."""
    path = tmp_path / "unread.mlir"
    path.write_text("no MLIR")
    return str(path)


@pytest.mark.parametrize(
    ("option", "form"),
    [("--triple", "c"), ("--features", "c"), ("--triple", "program"), ("--cpu", "program")],
)
def test_a_machine_where_none_is_chosen(
    option: str, form: str, unread: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", unread, "-o", "out", "--emit", form, option, "x"]) == 1
    wanted = f"error: {option} requires --emit object, static, shared, wasm, but got --emit {form}\n"
    assert capsys.readouterr().err == wanted


@pytest.mark.parametrize(
    ("triple", "cpu", "features", "message"),
    [
        ("aarch64-linux-gnu", "cortex-a99", "", "unknown processor 'cortex-a99' for the triple"),
        ("aarch64-linux-gnu", "cortex-a76", "+dotprodd", "unknown feature 'dotprodd' for the triple"),
        ("aarch64-linux-gnu", "", "+neon,-sse2", "unknown feature 'sse2' for the triple"),
        ("aarch64-linux-gnu", "", "+help", "unknown name 'help' for the triple"),
        ("x86_64-linux-gnu", "help", "", "unknown name 'help' for the triple"),
        ("x86_64-linux-gnu", "haswel", "+avx2", "unknown processor 'haswel' for the triple"),
        (
            "x86_64-linux-gnu",
            "i386",
            "",
            "LLVM cannot generate code for 'i386' of the triple 'x86_64-linux-gnu': LLVM ERROR",
        ),
        ("x86_64-linux-gnu", "", "+soft-float", "LLVM cannot generate code for '+soft-float' of the triple"),
        ("aarch64-linux-gnu", "", "+sve,-neon", "'aarch64-linux-gnu': Don't know how to custom expand this"),
        ("armv7-linux-gnueabihf", "", "+soft-float", "'armv7-linux-gnueabihf': LLVM ERROR: Do not know how to soften"),
        ("riscv64-linux-gnu", "generic-rv32", "", "LLVM ERROR: RV64 target requires an RV64 CPU"),
        (
            "x86_64-linux-gnu-coff",
            "",
            "",
            "LLVM cannot generate code for the triple 'x86_64-linux-gnu-coff': Assertion",
        ),
        ("spirv64", "", "", "LLVM cannot generate code for the triple 'spirv64': "),
        ("nvptx64-nvidia-cuda", "", "", "LLVM cannot generate code for the triple 'nvptx64-nvidia-cuda': "),
        ("x86_64-linux-gnu", "", "avx2", "invalid features 'avx2' (example: +dotprod,-fullfp16)"),
        ("x86_64-linux-gnu", "", "+avx2,", "invalid features '+avx2,' (example: +dotprod,-fullfp16)"),
        ("x86_64-linux-gnu", "", '+avx2" "x"="', 'invalid features \'+avx2" "x"="\' (example: +dotprod,-fullfp16)'),
        ("x86_64-linux-gnu", 'a" }', "", "invalid cpu 'a\" }' (example: cortex-a76, or host)"),
        ('x86_64-linux"\n', "", "", "invalid triple 'x86_64-linux\"\\n' (example: aarch64-linux-gnu)"),
    ],
)
def test_machines_that_are_not_there(triple: str, cpu: str, features: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        qmlir.emit(quantized(2), format="object", triple=triple, cpu=cpu, features=features)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (NAME, "foo", "NUMBA_CPU_NAME: unknown processor 'foo' for the triple"),
        (FEATURES, "+sse2,+nonsense", "NUMBA_CPU_FEATURES: unknown feature 'nonsense' for the triple"),
    ],
)
def test_a_processor_of_the_environment(name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What numba and LLVM would end the process for, in programs for Python, too."""
    monkeypatch.setenv(name, value)
    check_named_processor.cache_clear()
    for make in (
        partial(qmlir.compile, codegen="llvm"),
        qmlir.compile,
        partial(qmlir.emit, format="object", cpu="host"),
    ):
        code_target.cache_clear()
        with pytest.raises(DiagnosticError, match=message):
            make(quantized(2))
    monkeypatch.undo()
    check_named_processor.cache_clear()
    check_named_processor()


COPIED = """
func.func @main(%x: memref<4xf32> {nn.name = "x"}, %y: memref<4xf32> {nn.result, nn.name = "y"}) {
  func.call @NAME(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @NAME(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %a = memref.load %x[%zero] : memref<4xf32>
  memref.store %a, %y[%zero] : memref<4xf32>
  func.return
}
"""


@pytest.mark.parametrize("form", ["c", "object"])
def test_kernels_with_names_of_the_module(form: str) -> None:
    """Every symbol that a module has beside its kernels, as the end of its name."""
    text = standalone_text(EntryPoint(program_of(parsed(COPIED.replace("NAME", "k"))), "small", AheadMachine()), ANY)
    symbols = {each.removeprefix("small_") for each in re.findall(r"@(\w+)", text)}
    assert {"run", "run_in", "steps", "arena", "constants"} <= symbols
    for symbol in (*symbols, "constant0", "lead", "serve", "small"):
        emit_ahead(parsed(COPIED.replace("NAME", symbol)), form, "small")
        emit_module(parsed(COPIED.replace("NAME", symbol)), ANY)


def test_a_long_name() -> None:
    with pytest.raises(DiagnosticError, match="a name must have at most 100 characters, but got 101: 'xxx") as e:
        qmlir.emit(quantized(2), name="x" * 101)
    assert "\n" not in str(e.value)


def test_an_emitter_of_python_where_no_python_is(unread: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", unread, "-o", "out", "--emit", "c", "--codegen", "llvm"]) == 1
    assert capsys.readouterr().err == "error: --codegen requires --emit program, but got --emit c\n"


def test_c_is_for_every_machine() -> None:
    with pytest.raises(DiagnosticError, match=r"triple x requires one of the formats object, static, .* but got 'c'"):
        qmlir.emit(quantized(2), format="c", triple="x")
    with pytest.raises(DiagnosticError, match="unknown cpu 'cortex-m33x' for --emit c; did you mean"):
        qmlir.emit(quantized(2), format="c", cpu="cortex-m33x")


def test_a_processor_and_an_instruction_set_of_c(unread: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A processor says which loops, so another instruction set beside it contradicts it, and the same one does not."""
    module = quantized(2)
    message = "--emit c with cpu cortex-m4 uses isa armv7e-m, but got isa portable; pass only one of them"
    with pytest.raises(DiagnosticError, match=message):
        qmlir.emit(module, format="c", cpu="cortex-m4", isa="portable")
    options = ["--emit", "c", "--cpu", "cortex-m4", "--isa", "portable"]
    assert main(["compile", unread, "-o", "out", *options]) == 1
    assert capsys.readouterr().err == f"error: {message}\n"
    made = [qmlir.emit(module, cpu=cpu, isa=isa) for cpu in ("", "cortex-m4") for isa in ("", "armv7e-m")]
    texts = [each.files["model.c"] for each in made]
    assert texts[1] == texts[2] == texts[3] != texts[0]


def test_a_processor_of_c_that_is_not_known(unread: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", unread, "-o", "out", "--emit", "c", "--cpu", "z80"]) == 1
    found = capsys.readouterr().err
    assert found.startswith("error: unknown cpu 'z80' for --emit c (available: cortex-m0, ")


def test_c_for_a_processor_without_floats(tmp_path: Path) -> None:
    save_module(quantized(2), tmp_path / "module.mlir")
    options = ["--emit", "c", "--name", "net", "--cpu", "cortex-m3"]
    assert main(["compile", str(tmp_path / "module.mlir"), "-o", str(tmp_path / "out"), *options]) == 0
    assert '"any machine, made for cortex-m3"' in (tmp_path / "out" / "net.json").read_text()


def test_the_same_object_again() -> None:
    loops = parsed(STATISTICS)
    made = [emit_ahead(loops.clone(), "object", "net").files["net.o"] for _ in range(2)]
    assert made[0] == made[1]


def test_what_lies_in_the_working_directory_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for a machine that is named is made in another process, which imports modules."""
    for name in ("json", "sys", "llvmlite"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'seen')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    data, said = compiled_aside(PROBE, "aarch64-linux-gnu", "cortex-a76", "")
    assert data is not None, said
    assert not (tmp_path / "seen").exists()
