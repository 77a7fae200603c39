"""Models of MLPerf Tiny as C on Cortex-M4 and M3: flash and RAM, and the interpreter's integers on emulated boards.

`python -m benchmarks.objects --microcontroller`. A program of a start, the emitted C and a main that reads inputs and
writes outputs by semihosting is linked by the GNU toolchain and run by QEMU. Flash is all of its image. RAM is its
static memory, arrays of inputs and outputs among it, and the deepest stack of a run, which the start paints before.

The bar is four fifths of TensorFlow Lite Micro's memory with kernels of CMSIS-NN and nothing but the operators of the
model, as Arm's comparison on an Ensemble E8 has it (`e8_tiny_current_summary.md`, 17 September 2026, GCC 15.2 `-Oz`,
kernels `-O3`). It leaves out start, libraries and stack, which ours have. It is of a Cortex-M55: we know of no such
table of a Cortex-M4, and tensors, most of it, don't depend on the processor.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.compared import differing_elements, outputs_in
from benchmarks.emitted import memory_of
from benchmarks.rows import BenchRow
from qmlir.arithmetic.arrays import Array
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of

COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"
NAME = "model"
CALIBRATING, SAMPLES = 16, 4

_OPTIONS = (
    "-std=c99", "-mthumb", "-ffp-contract=off", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections",
    "-nostartfiles", "--specs=nosys.specs",
)  # fmt: skip


@dataclass(frozen=True)
class Chip:
    """A processor: what the compiler is told, the board of QEMU that has it, and whose loops the C has."""

    name: str
    options: Sequence[str]
    machine: str
    cpu: str = ""


M4_PLAIN = Chip("Cortex-M4 by C for all", ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"), "mps2-an386")
M4 = replace(M4_PLAIN, name="Cortex-M4", cpu="cortex-m4")
M3 = Chip("Cortex-M3", ("-mcpu=cortex-m3", "-mfloat-abi=soft"), "mps2-an385", "cortex-m3")
"""It has no floats: what computes on them calls functions of the compiler's library."""

_OF_FLOATS = re.compile(
    r"\b__aeabi_(?:[fd](?:add|sub|rsub|mul|div|neg|cmp\w+|2\w+)|u?[il]2[fd]|c[fdr]\w+)$", re.MULTILINE
)
"""The names of these functions: `__aeabi_fmul`, `__aeabi_d2f`, `__aeabi_i2f`; `__aeabi_ldivmod` is of integers."""

_BAR = 0.8
"""Of TensorFlow Lite Micro's memory."""

_MOST_STEPS, _INSTRUCTIONS_OF_A_STEP = 0xFFFFFF, 40
"""The timer of the processor begins with the one; QEMU counts a nanosecond an instruction, and this board 25 MHz."""

_STACK_BYTES, _PAINT = 16384, 0xA5
"""What is painted before a run, and by what."""

_SCRIPT = """
ENTRY(start)
MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > FLASH
  .ARM.exidx : { *(.ARM.exidx*) } > FLASH
  .data : { data_begin = .; *(.data*) . = ALIGN(4); data_end = .; } > RAM AT> FLASH
  data_source = LOADADDR(.data);
  .bss (NOLOAD) : { bss_begin = .; *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; } > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
}
"""
"""Code and constants in flash from 0 on, what is written in RAM, the stack at its end: as the board mps2-an386 is."""

_START = """
#include <stdint.h>
extern unsigned char data_begin[], data_end[], data_source[], bss_begin[], bss_end[], stack_top[];
int main(void);

void start(void);

void start(void) {
  volatile unsigned char *byte, *source = data_source;
  for (byte = data_begin; byte < data_end; byte++) *byte = *source++;
  for (byte = bss_begin; byte < bss_end; byte++) *byte = 0;
  *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* floats */
  __asm__ volatile("dsb\\n isb");
  *(volatile uint32_t *)0xE000E014u = 0xFFFFFFu; /* the timer counts down */
  *(volatile uint32_t *)0xE000E010u = 5u;
  main();
}

#define STEPS ((volatile uint32_t *)0xE000E018u)

__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {stack_top, (const void *)start};

static int host(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static int opened(const char *name, uint32_t length, uint32_t mode) {
  const uint32_t given[3] = {(uint32_t)(uintptr_t)name, mode, length};
  return host(1, given);
}

static int moved(int operation, int file, void *bytes, uint32_t count) {
  const uint32_t given[3] = {(uint32_t)file, (uint32_t)(uintptr_t)bytes, count};
  return host(operation, given);
}

static void ended(uint32_t code) {
  const uint32_t given[2] = {0x20026, code};
  host(0x20, given);
}
"""
"""What a program begins with, and the calls of a host: to open a file, to read or write it, to end."""


@dataclass(frozen=True)
class Peer:
    """KiB of TensorFlow Lite Micro: of a model with its operators and the runtime, and of memory without a stack."""

    flash: float
    ram: float


@dataclass(frozen=True)
class TinyModel:
    """A model of MLPerf Tiny: how it is made from the folder of models, samples for it, and what its peer needs."""

    made: Callable[[Path], str | Path | ModelProto]
    shape: Sequence[int]
    peer: Peer
    has_floats: bool = False
    """Whether something is left that is no function of integers by one float: a softmax."""


def _keywords(models: Path) -> ModelProto:
    """DS-CNN of keywords, as MLPerf Tiny has it, with weights drawn at random: its memory is that of any others."""
    rng = np.random.default_rng(0)
    constants: dict[str, Array] = {}
    nodes: list[NodeProto] = []

    def layer(kind: str, source: str, shape: Sequence[int], **attributes: Any) -> str:
        name = f"{kind}{len(nodes)}"
        fan_in = int(np.prod(shape[1:]))
        constants[f"{name}.w"] = rng.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)
        constants[f"{name}.b"] = rng.normal(0, 0.1, shape[0]).astype(np.float32)
        nodes.append(helper.make_node(kind, [source, f"{name}.w", f"{name}.b"], [name], name, **attributes))
        return name

    def plain(kind: str, source: str, **attributes: Any) -> str:
        name = f"{kind}{len(nodes)}"
        nodes.append(helper.make_node(kind, [source], [name], name, **attributes))
        return name

    found = plain("Relu", layer("Conv", "x", (64, 1, 10, 4), strides=[2, 2], pads=[4, 1, 5, 1]))
    for _ in range(4):
        found = plain("Relu", layer("Conv", found, (64, 1, 3, 3), pads=[1] * 4, group=64))
        found = plain("Relu", layer("Conv", found, (64, 64, 1, 1)))
    found = plain("Flatten", plain("GlobalAveragePool", found))
    found = plain("Softmax", layer("Gemm", found, (12, 64), transB=1))
    shapes = {"x": (1, 1, 49, 10), found: (1, 12)}
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "ds_cnn", ports[:1], ports[1:], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


_KB = 1024
TINY_MODELS: Mapping[str, TinyModel] = {
    "resnet8_cifar": TinyModel(lambda models: models / "resnet8_cifar.onnx", (1, 3, 32, 32), Peer(131.94, 54.51)),
    "ds_cnn": TinyModel(_keywords, (1, 1, 49, 10), Peer(93.55, 27.48), has_floats=True),
}
"""Image classification and keyword spotting."""


def _main(inputs: Sequence[Array], outputs: Sequence[Array], samples: int) -> str:
    """The program: so many samples of a file computed, the outputs and the bytes of stack written to another one."""
    names, memory = memory_of(inputs, outputs)
    given = ", ".join(f"(void *){name}.bytes" for name in names)
    read = [f"    moved(6, source, {name}.bytes, {each.nbytes});" for name, each in zip(names, inputs, strict=False)]
    written = zip(names[len(inputs) :], outputs, strict=True)
    write = [f"    moved(5, target, {name}.bytes, {each.nbytes});" for name, each in written]
    body = [
        '  int source = opened("in", 2, 1), target = opened("out", 3, 5), sample, wrong;',
        "  uint32_t used, steps = 0;",
        f"  volatile unsigned char *low = stack_top - {_STACK_BYTES}, *byte, *here = __builtin_frame_address(0);",
        f"  for (byte = low; byte < here - 64; byte++) *byte = {_PAINT};",
        f"  for (sample = 0; sample < {samples}; sample++) {{",
        *read,
        "    *STEPS = 0; /* it begins anew */",
        f"    wrong = {NAME}_run({given});",
        f"    steps = {_MOST_STEPS} - *STEPS;",
        "    if (wrong) ended((uint32_t)wrong);",
        *write,
        "  }",
        f"  for (byte = low; *byte == {_PAINT}; byte++) {{}}",
        "  used = (uint32_t)(stack_top - byte);",
        "  moved(5, target, &used, 4);",
        "  moved(5, target, &steps, 4);",
        "  ended(0);",
        "  return 0;",
    ]
    return "\n".join([f'#include "{NAME}.h"', _START, *memory, "int main(void) {", *body, "}", ""])


@dataclass(frozen=True)
class Board:
    """What a program needs, and what it gave."""

    flash: int
    ram: int
    stack: int
    """Of the RAM, what a run took of the stack."""

    instructions: int
    """Those of the last run."""

    outputs: list[list[Array]]

    of_floats: Sequence[str]
    """Functions of the compiler's library that it calls to compute on floats."""


def on_board(
    module: ModuleOp, samples: Sequence[Sequence[Array]], outputs: Sequence[Array], chip: Chip = M4, level: str = "-Os"
) -> Board:
    """A program of a module on an emulated board, of outputs of the types and shapes of `outputs`.

    The compiler optimizes at `level`.

    Raises `CalledProcessError` where it is not linked, or does not run to its end.
    """
    with TemporaryDirectory(prefix="qmlir-board-") as name:
        folder = Path(name)
        qmlir.emit(module, name=NAME, cpu=chip.cpu).save(folder)
        (folder / "main.c").write_text(_main(samples[0], outputs, len(samples)))
        (folder / "board.ld").write_text(_SCRIPT)
        (folder / "in").write_bytes(b"".join(array.tobytes() for sample in samples for array in sample))

        def run(*command: str) -> str:
            return subprocess.run(
                command, cwd=folder, check=True, timeout=300, stdout=subprocess.PIPE, text=True
            ).stdout

        options = (*chip.options, level, *_OPTIONS)
        run(COMPILER, *options, "-T", "board.ld", "main.c", f"{NAME}.c", "-o", "program", "-lm")
        run(COMPILER, *options, "-c", f"{NAME}.c")
        called = run(COMPILER.replace("gcc", "nm"), "-u", f"{NAME}.o")
        text, data, bss = map(int, run(COMPILER.replace("gcc", "size"), "program").splitlines()[1].split()[:3])
        host = ("-icount", "shift=0", "-nographic", "-semihosting-config", "enable=on,target=native")
        run(EMULATOR, "-M", chip.machine, *host, "-kernel", "program")
        given = (folder / "out").read_bytes()
    stack, steps = np.frombuffer(given, np.uint32, 2, len(given) - 8).tolist()
    read = list(outputs_in(given[:-8], outputs))
    count = steps * _INSTRUCTIONS_OF_A_STEP
    return Board(text + data, data + bss + stack, stack, count, read, _OF_FLOATS.findall(called))


def microcontroller_rows(models: Path, names: Sequence[str]) -> Iterator[BenchRow]:
    """Of each model its flash, its RAM, and how many integers differ from those of the interpreter."""
    missing = [command for command in (COMPILER, EMULATOR) if shutil.which(command) is None]
    if missing:
        yield BenchRow(f"not run, missing: {', '.join(missing)}", 0, None, "bytes")
        return
    for name in names:
        model = TINY_MODELS[name]
        made = model.made(models)
        (port,) = inputs_of(function_of(qmlir.load(made), "main"))
        float_model = qmlir.load(made, shapes={port.name: model.shape})
        rng = np.random.default_rng(1)
        drawn = [{port.name: rng.normal(0, 1, model.shape).astype(np.float32)} for _ in range(CALIBRATING)]
        # As the converter of TensorFlow Lite quantizes: inputs, outputs, and what convolutions give to an addition are
        # bytes.
        module = qmlir.quantize(float_model, drawn, accumulator="i8", inputs_as="i8", outputs_as="i8").module
        samples = [[rng.integers(-128, 128, model.shape).astype(np.int8)] for _ in range(SAMPLES)]
        wanted = [list(qmlir.interpret(module, sample).values()) for sample in samples]
        for chip in (M4, M4_PLAIN, M3):
            board = on_board(module, samples, wanted[0], chip)
            wrong, count = differing_elements(board.outputs, wanted)
            subject = name if chip is M4 else f"{name}, {chip.name}"
            bars = (_BAR * model.peer.flash, _BAR * model.peer.ram) if chip is M4 else (None, None)
            yield BenchRow("flash", board.flash / _KB, bars[0], "KiB", subject=subject)
            yield BenchRow("RAM", board.ram / _KB, bars[1], "KiB", subject=subject)
            yield BenchRow("stack of that", board.stack, None, "bytes", subject=subject)
            yield BenchRow("instructions of a run", board.instructions / 1e6, None, "millions", subject=subject)
            yield BenchRow("other integers", wrong, 0, f"of {count}", subject=subject)
            if chip is M3:
                most = None if model.has_floats else 0
                yield BenchRow("functions of floats", len(board.of_floats), most, "called", subject=subject)
