"""Machine code without Python on other machines: `python -m benchmarks.objects`, `--model` and `--machine` narrow it.

Quantized models are emitted as objects for each machine, linked with a main in C by its compiler, and run by an
emulator, or by node for WebAssembly. The elements of outputs whose bits are not those of the interpreter are counted.
A machine whose tools are missing is a row that says which. `--instructions` counts, instead, what the inner loops of
convolutions are made of for a processor of ARM that has `sdot`, `--microcontroller` the memory of C on a Cortex-M4
(`benchmarks.microcontroller`). It ends with 1 where a bar is missed.
"""

import argparse
import importlib.util
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.compared import COMPARED, ComparedModel, add_models, compared_models, differing_elements, outputs_in
from benchmarks.emitted import main_text
from benchmarks.layers import Convolution
from benchmarks.microcontroller import TINY_MODELS, microcontroller_rows
from benchmarks.rows import BenchRow, add_output, print_rows
from qmlir.arithmetic.arrays import Array
from qmlir.targets.cpu.host import HOST


@dataclass(frozen=True)
class OtherMachine:
    """A machine, by what LLVM calls it, what links for it, and what runs its programs."""

    triple: str
    cpu: str = ""
    features: str = ""
    linker: Sequence[str] = ("cc",)
    emulator: Sequence[str] = ()

    @property
    def missing(self) -> str:
        """The tools that are not here, separated by commas."""
        commands = [self.linker[0], *self.emulator[:1]]
        absent = [command for command in commands if shutil.which(command) is None]
        if "ziglang" in self.linker and importlib.util.find_spec("ziglang") is None:
            absent.append("ziglang of PyPI")
        return ", ".join(absent)


_WASI = """
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1", returnOnExit: true });
const module = await WebAssembly.compile(readFileSync(process.argv.at(-1)));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
"""
"""What node runs a program of WebAssembly by, which is its argument."""

_NODE = ("node", "--no-warnings", "--input-type=module", "--eval", _WASI, "--")
_ZIG = (sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi")


def _arm64(cpu: str) -> OtherMachine:
    emulator = ("qemu-aarch64-static", "-cpu", cpu)
    return OtherMachine("aarch64-linux-gnu", cpu, "", ("aarch64-linux-gnu-gcc", "-static"), emulator)


def _arm(cpu: str) -> OtherMachine:
    linker = ("arm-linux-gnueabihf-gcc", "-static")
    return OtherMachine("armv7-linux-gnueabihf", cpu, "", linker, ("qemu-arm-static", "-cpu", cpu))


MACHINES: Mapping[str, OtherMachine] = {
    "this computer": OtherMachine("", HOST),
    "x86-64": OtherMachine("x86_64-linux-gnu", "x86-64"),
    "AArch64, Cortex-A53": _arm64("cortex-a53"),
    "AArch64, Cortex-A76": _arm64("cortex-a76"),
    "ARMv7, Cortex-A9": _arm("cortex-a9"),
    "ARMv7, Cortex-A7": _arm("cortex-a7"),
    "RISC-V 64": OtherMachine(
        "riscv64-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c",
        ("riscv64-linux-gnu-gcc", "-static"), ("qemu-riscv64-static",),
    ),
    "WebAssembly": OtherMachine("wasm32-wasi", "", "", _ZIG, _NODE),
    "WebAssembly, vectors": OtherMachine("wasm32-wasi", "", "+simd128", (*_ZIG, "-msimd128"), _NODE),
}  # fmt: skip
"""Cortex-A53 has no `sdot`, Cortex-A76 has; Cortex-A9 has no fused multiply-add, Cortex-A7 has."""


def outputs_on(
    machine: OtherMachine, module: ModuleOp, samples: Sequence[Sequence[Array]], outputs: Sequence[Array]
) -> list[list[Array]]:
    """What a program computes on a machine of each sample, outputs of the types and shapes of `outputs`.

    Raises `CalledProcessError` where it is not linked, or does not run to its end.
    """
    with TemporaryDirectory(prefix="qmlir-emitted-") as name:
        folder = Path(name)
        made = qmlir.emit(
            module, format="object", name="net", triple=machine.triple, cpu=machine.cpu, features=machine.features
        )
        made.save(folder)
        (folder / "main.c").write_text(main_text("net", samples[0], outputs))
        run = partial(subprocess.run, cwd=folder, check=True)
        run([*machine.linker, "main.c", "net.o", "-o", "program.wasm", "-lm"])
        given = b"".join(array.tobytes() for sample in samples for array in sample)
        data = run([*machine.emulator, str(folder / "program.wasm")], input=given, stdout=subprocess.PIPE).stdout
    wanted = len(samples) * sum(array.nbytes for array in outputs)
    assert len(data) == wanted, f"the program wrote {len(data)} bytes, {wanted} are the outputs"
    return list(outputs_in(data, outputs))


def differing(machine: OtherMachine, module: ModuleOp, samples: Sequence[Sequence[Array]]) -> tuple[int, int]:
    """How many elements have other bits than those of the interpreter, and of how many."""
    wanted = [list(qmlir.interpret(module, sample).values()) for sample in samples]
    return differing_elements(outputs_on(machine, module, samples, wanted[0]), wanted)


def machine_rows(models: Iterable[ComparedModel], machines: Sequence[str]) -> Iterator[BenchRow]:
    """Of each model and machine, how many elements differ."""
    for model in models:
        for title in machines:
            machine, subject = MACHINES[title], f"{model.name}, {title}"
            if machine.missing:
                yield BenchRow(f"not run, missing: {machine.missing}", 0, None, "elements", subject=subject)
                continue
            found = outputs_on(machine, model.module, model.inputs, model.wanted[0])
            wrong, count = differing_elements(found, model.wanted)
            yield BenchRow("other bits", wrong, 0, f"of {count} elements", subject=subject)


LAYERS = Convolution(28, 128, 128, 3), Convolution(28, 128, 128)
"""A convolution by 3x3 and one by 1x1."""

DISASSEMBLER = "aarch64-linux-gnu-objdump"

IDEAL = 1.0
"""Instructions for 16 multiply-adds where a loop is nothing but `sdot`."""

SLACK = 1.25
"""The bar, of the ideal."""

_INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t[0-9a-f ]+\t(\S+)(?:\t(.*))?$", re.MULTILINE)
_BRANCH = re.compile(r"\b([0-9a-f]+) <")


def inner_loop(assembly: str, instruction: str) -> list[str]:
    """The instructions of the loop without loops in it that has the most of one, in what `objdump -d` prints."""
    code = [(int(position, 16), name, rest) for position, name, rest in _INSTRUCTION.findall(assembly)]
    ends = {position: number for number, (position, _, _) in enumerate(code)}
    loops: list[tuple[int, int]] = []
    for number, (position, name, rest) in enumerate(code):
        target = _BRANCH.search(rest) if name.startswith(("b.", "cb", "tb")) or name == "b" else None
        if target is not None and int(target[1], 16) <= position:
            loops.append((ends[int(target[1], 16)], number))
    inner = [
        loop
        for loop in loops
        if not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in loops)
    ]
    bodies = [[name for _, name, _ in code[start : end + 1]] for start, end in inner]
    return max(bodies, key=lambda body: body.count(instruction), default=list[str]())


def instruction_rows(cpu: str = "cortex-a76") -> Iterator[BenchRow]:
    """Of each convolution, the instructions of the inner loop for each `sdot`, and what stands beside it."""
    if shutil.which(DISASSEMBLER) is None:
        yield BenchRow(f"not counted, missing: {DISASSEMBLER}", 0, None, "instructions")
        return
    for layer in LAYERS:
        module = qmlir.load(layer.models(np.random.default_rng(0))[0])
        made = qmlir.emit(module, format="object", name="net", triple="aarch64-linux-gnu", cpu=cpu)
        with TemporaryDirectory(prefix="qmlir-emitted-") as folder:
            made.save(folder)
            command = [DISASSEMBLER, "-d", f"{folder}/net.o"]
            assembly = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        body = inner_loop(assembly, "sdot")
        count = body.count("sdot")
        names = sorted(set(body), key=lambda name: (-body.count(name), name))
        figure, title = len(body) / count if count else math.inf, "instructions for 16 multiply-adds"
        yield BenchRow(title, figure, SLACK * IDEAL, f"(ideal {IDEAL:g})", subject=layer.title)
        for name in names:
            yield BenchRow(name, body.count(name), None, "in the inner loop", subject=layer.title)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows; how the command ends."""
    parser = argparse.ArgumentParser("python -m benchmarks.objects", description=__doc__)
    add_models(parser, [name for name in TINY_MODELS if name not in COMPARED])
    parser.add_argument("--machine", action="append", choices=list(MACHINES), help="this one alone; may be repeated")
    parser.add_argument("--instructions", action="store_true", help="count instructions of inner loops instead")
    parser.add_argument("--microcontroller", action="store_true", help="flash and RAM of C on a Cortex-M4 instead")
    add_output(parser)
    given = parser.parse_args(arguments)
    if given.instructions:
        made = instruction_rows()
    elif given.microcontroller:
        made = microcontroller_rows(given.models, [name for name in given.model or TINY_MODELS if name in TINY_MODELS])
    else:
        made = machine_rows(compared_models(given), given.machine or list(MACHINES))
    rows: list[BenchRow] = []
    for row in made:
        print(f"{row.title}: {row.figure:g} {row.unit}", file=sys.stderr, flush=True)
        rows.append(row)
    print_rows(rows, given)
    return int(any(row.bar is not None and row.figure > row.bar for row in rows))


if __name__ == "__main__":
    sys.exit(main())
