"""One row by weights that no cache holds, as a decoder has it for each token: how near the time is to that of reading.

Products one after another, integers in and out, whose weights are read once in a call. Beside them, in the same turns,
a loop that reads as many bytes and does nothing with them: what the memory of this machine gives now. Also in the same
turns, if `llama-cpp-python` is installed: ggml's products of these sizes by its own types of weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import qmlir
from benchmarks.contest import Contest, Run, check_close
from benchmarks.ggml import ggml_products, llama_token
from benchmarks.models import Decoder
from benchmarks.peak import loops_program
from benchmarks.rows import BenchRow, Section, ratio_row, row_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import QUANTIZE
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import DOT_US

Array = npt.NDArray[Any]

_OPSET, _IR_VERSION = 25, 13
"""The first with integers of 2 bits."""

_SIZES = (4096, 11008)
"""The terms and channels of a matmul; the next one swaps them."""

_BLOCK, _SUPER_BLOCK = 32, 256
_BAR = 1 / 0.75
"""The time over that of reading as many bytes: three quarters of the bandwidth."""

_FLOAT_BOUND = 1e-4
"""The largest allowed difference from the interpreter, relative to the largest value: sums have other orders."""

_READING, _OURS = "reading as many bytes", "our products"


@dataclass(frozen=True)
class Form:
    """Products whose weights are held in one form."""

    title: str
    bits: int
    block: int
    """The block size of the scales; 0 if each channel has one scale."""

    is_float: bool
    """True if activations are floats, multiplied by an ONNX Runtime operator; False for integers in QDQ form."""

    count: int
    bars: tuple[float | None, float | None]
    """The bars on CPUs with dot products of bytes, and on CPUs without them."""

    scale: type[Any] = np.float16
    """The type to which block scales are rounded."""

    factor_bits: int = 0
    """The bits of the integers of two-level scales; 0 for other scales."""

    peer: str = ""
    """The type of ggml that is compared, and the bar of our time over its own."""

    peer_bar: float | None = None

    @property
    def weights(self) -> int:
        """The number of all weights."""
        return self.count * _SIZES[0] * _SIZES[1]

    @property
    def size(self) -> int:
        """The bytes of all weights, and of the scales of their blocks."""
        held, scale = self.weights * self.bits // 8, np.dtype(self.scale).itemsize
        if self.factor_bits:
            return held + self.weights // self.block + self.weights // _SUPER_BLOCK * scale
        return held + (self.weights // self.block * scale if self.block else 0)

    @property
    def bar(self) -> float | None:
        """The bar of this machine."""
        return self.bars[not instruction_set(host_isa()).widths(DOT_US)]


FORMS: Sequence[Form] = (
    Form("8 bits", 8, 0, is_float=False, count=5, bars=(1.05, None), peer="Q8_0", peer_bar=0.8),
    Form("4 bits", 4, 0, is_float=False, count=9, bars=(_BAR, _BAR)),
    Form("4 bits by block, f16", 4, _BLOCK, is_float=False, count=9, bars=(1.1, 1.15), peer="Q4_0", peer_bar=0.8),
    Form("4 bits by block, f32", 4, _BLOCK, is_float=False, count=8, bars=(_BAR, _BAR), scale=np.float32),
    Form(
        "4 bits by block, two levels", 4, _BLOCK, is_float=False, count=9, bars=(1.1, 1.15), scale=ml_dtypes.bfloat16,
        factor_bits=6, peer="Q4_K", peer_bar=0.85,
    ),
    Form("2 bits by block, f16", 2, _BLOCK, is_float=False, count=15, bars=(1.15, 1.5)),
    Form(
        "2 bits by block of 16, two levels", 2, 16, is_float=False, count=15, bars=(1.15, 1.5),
        scale=ml_dtypes.bfloat16, factor_bits=4, peer="Q2_K", peer_bar=0.55,
    ),
    Form("ternary", 2, 0, is_float=False, count=18, bars=(1.15, 1.5), peer="TQ2_0", peer_bar=0.6),
    Form("MatMulNBits, f32", 4, _BLOCK, is_float=True, count=8, bars=(None, None), scale=np.float32),
)  # fmt: skip
"""At least 200 MB each."""

_WEIGHT_LIMITS = {2: 1, 4: 7, 8: 127}
_INPUT_DEVIATION, _SPREAD = 73.0, 40.0
"""The standard deviations of the first input, and of outputs, in their steps: most of them do not saturate."""


@dataclass(frozen=True)
class _Product:
    """One product of a chain."""

    form: Form
    number: int

    @property
    def shape(self) -> tuple[int, int]:
        """Terms and channels."""
        return _SIZES[self.number % 2], _SIZES[1 - self.number % 2]

    def _scales(self, terms: int, channels: int) -> Array:
        block = self.form.block or terms
        scales = np.outer(np.linspace(0.5, 1, terms // block), np.linspace(0.5, 1, channels))
        return np.asarray(scales if self.form.block else scales[0], np.float32)

    def _held(self, scales: Array) -> Array:
        if not self.form.factor_bits:
            return scales.astype(self.form.scale).astype(np.float32) if self.form.block else scales
        run, most = _SUPER_BLOCK // self.form.block, (1 << self.form.factor_bits) - 1
        steps = np.repeat((scales[::run] / most).astype(self.form.scale).astype(np.float32), run, axis=0)
        return steps * np.clip(np.rint(scales / steps), 1, most).astype(np.float32)

    def parts(self, weights: Array) -> tuple[list[NodeProto], dict[str, Array]]:
        """The nodes from `v<number>` to the next one, and their constants."""
        return (self._of_floats if self.form.is_float else self._of_integers)(weights)

    def _of_integers(self, weights: Array) -> tuple[list[NodeProto], dict[str, Array]]:
        n, node, (terms, channels) = self.number, helper.make_node, self.shape
        scales = self._scales(terms, channels)
        deviation = np.sqrt(terms) * float(weights[:8].std()) * float(scales.mean())
        deviation *= _SPREAD if n else _INPUT_DEVIATION
        blocks: dict[str, Any] = {"axis": 0, "block_size": self.form.block} if self.form.block else {"axis": 1}
        nodes = [
            node("DequantizeLinear", [f"v{n}", "one", "zero"], [f"x{n}"]),
            node("DequantizeLinear", [f"w{n}", f"scale{n}"], [f"real{n}"], **blocks),
            node("MatMul", [f"x{n}", f"real{n}"], [f"sum{n}"]),
            node("QuantizeLinear", [f"sum{n}", "one", "zero"], [f"v{n + 1}"]),
        ]
        dtype = {2: ml_dtypes.int2, 4: ml_dtypes.int4, 8: np.int8}[self.form.bits]
        constants = {f"w{n}": weights.astype(dtype), f"scale{n}": self._held(scales * np.float32(_SPREAD / deviation))}
        return nodes, constants

    def _of_floats(self, weights: Array) -> tuple[list[NodeProto], dict[str, Array]]:
        n, (terms, channels), block = self.number, self.shape, self.form.block
        scales = self._scales(terms, channels).T / np.float32(np.sqrt(terms) * weights[:8].std())
        unsigned = (weights.T + 8).astype(np.uint8)
        packed = (unsigned[:, 1::2] << 4 | unsigned[:, ::2]).reshape(channels, terms // block, block // 2)
        node = helper.make_node(
            "MatMulNBits", [f"v{n}", f"w{n}", f"scale{n}"], [f"v{n + 1}"], domain="com.microsoft",
            K=terms, N=channels, bits=self.form.bits, block_size=block,
        )  # fmt: skip
        return [node], {f"w{n}": packed, f"scale{n}": np.ascontiguousarray(scales, np.float32).reshape(-1)}


def products(form: Form) -> ModelProto:
    """Products one after another, each of the channels that the one before gives."""
    generator, limit = np.random.default_rng(0), _WEIGHT_LIMITS[form.bits]
    nodes = list[NodeProto]()
    constants: dict[str, Array] = {"one": np.array(1, np.float32), "zero": np.array(0, np.int8)}
    for number in range(form.count):
        product = _Product(form, number)
        own, values = product.parts(generator.integers(-limit, limit + 1, product.shape, np.int8))
        nodes += own
        constants |= values
    kind, last = TensorProto.FLOAT if form.is_float else TensorProto.INT8, f"v{form.count}"
    taken = helper.make_tensor_value_info("v0", kind, [1, _SIZES[0]])
    given = helper.make_tensor_value_info(last, kind, [1, _SIZES[form.count % 2]])
    used = {name for node in nodes for name in node.input}
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items() if name in used]
    graph = helper.make_graph(nodes, "products", [taken], [given], initializers)
    domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=_IR_VERSION)


# --- Reading ----------------------------------------------------------------------------------------------------------

_CHUNK, _LINE, _UNROLLED = 1 << 16, 64, 4
"""Bytes that a thread reads before it takes the next ones, of a register, and registers of a step."""


def _reading_text(size: int, threads: int) -> str:
    """The module: all chunks of so many bytes, each into one register, by all threads."""
    registers, vector = range(_UNROLLED), f"vector<{_LINE}xi8>"
    body = list[str]()
    for each in registers:
        body += [
            f"%o{each} = arith.constant {each * _LINE} : index",
            f"%p{each} = arith.addi %i, %o{each} : index",
            f"%v{each} = simd.load %x[%p{each}] : memref<{size}xi8> to {vector}",
            f"%n{each} = arith.xori %s{each}, %v{each} : {vector}",
        ]
    start = ", ".join(f"%s{each} = %zero" for each in registers)
    types = ", ".join([vector] * _UNROLLED)
    joined = [
        f"%j{each} = arith.xori {f'%j{each - 1}' if each > 1 else '%all#0'}, %all#{each} : {vector}"
        for each in registers[1:]
    ]
    lines = "\n        ".join(
        [
            "%first = arith.muli %chunk, %size : index",
            "%end = arith.addi %first, %size : index",
            f"%all:{_UNROLLED} = scf.for %i = %first to %end step %step iter_args({start}) -> ({types}) {{",
            *(f"  {line}" for line in body),
            f"  scf.yield {', '.join(f'%n{each}' for each in registers)} : {types}",
            "}",
            *joined,
            "%place = arith.muli %chunk, %line : index",
            f"simd.store %j{_UNROLLED - 1}, %y[%place] : {vector}, memref<{size // _CHUNK * _LINE}xi8>",
        ]
    )
    x, y = f"memref<{size}xi8>", f"memref<{size // _CHUNK * _LINE}xi8>"
    return f"""
builtin.module attributes {{kernel.target = #kernel.target<isa = "{host_isa()}", threads = {threads}>}} {{
  func.func private @read(%x: {x}, %y: {y}) {{
    %zero = arith.constant dense<0> : {vector}
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %line = arith.constant {_LINE} : index
    %size = arith.constant {_CHUNK} : index
    %step = arith.constant {_UNROLLED * _LINE} : index
    %chunks = arith.constant {size // _CHUNK} : index
    "scf.parallel"(%c0, %chunks, %c1) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
      ^bb0(%chunk: index):
        {lines}
        scf.reduce
    }}) : (index, index, index) -> ()
    func.return
  }}
  func.func @main(%x: {x}, %y: {y} {{nn.result}}) {{
    func.call @read(%x, %y) : ({x}, {y}) -> ()
    func.return
  }}
}}
"""


@cache
def _memory(size: int) -> Array:
    return np.ones(size, np.int8)


def reading(size: int, threads: int) -> Run:
    """What reads so many bytes, rounded up to chunks, on so many threads."""
    whole = -(-size // _CHUNK) * _CHUNK
    return partial(loops_program(_reading_text(whole, threads), "simd-legalize,team-divide"), [_memory(whole)])


# --- Rows -------------------------------------------------------------------------------------------------------------


def _rows(form: Form, threads: int, contest: Contest) -> Iterator[BenchRow]:
    model = qmlir.load(products(form))
    module = model if form.is_float else run_pipeline(model, QUANTIZE.passes("propagate", "raise", "rescale"))
    generator = np.random.default_rng(1)
    inputs = {
        "v0": generator.standard_normal((1, _SIZES[0]), np.float32)
        if form.is_float
        else generator.integers(-128, 128, (1, _SIZES[0])).astype(np.int8)
    }
    contest.say(f"{form.title}: compiling")
    program = qmlir.compile(module, threads=threads)
    check_close(program(inputs), qmlir.interpret(module, inputs), _FLOAT_BOUND if form.is_float else 0.0)
    subject = f"{form.count} products of {_SIZES[0]}x{_SIZES[1]}, {form.title}"
    shapes = [_Product(form, number).shape for number in range(form.count)]
    runs: dict[str, Run] = {_OURS: partial(program, inputs), _READING: reading(form.size, threads)}
    with ggml_products(form.peer, shapes, threads) as peers:
        found = contest.times({**runs, **peers})
    for name, times in found.items():
        yield row_of(times, name, 1e3, "ms", subject)
        if name not in peers:
            yield BenchRow(f"{name}, a second", form.size / times.median / 1e9, None, "GB/s", subject=subject)
        if name != _READING:
            yield BenchRow(f"{name}, weights", form.weights / times.median / 1e9, None, "G/s", subject=subject)
    yield ratio_row(subject, f"{_OURS} over {_READING}", found[_OURS], [found[_READING]], form.bar)
    if peers:
        yield ratio_row(subject, f"{_OURS} over ggml", found[_OURS], [found[each] for each in peers], form.peer_bar)


_DECODER = Decoder(layers=2, width=1024, hidden=2816, past=2048, is_extended=True)


def _token_rows(contest: Contest) -> Iterator[BenchRow]:
    """A token of a decoder with weights of 4 bits and caches of bytes, for which llama.cpp takes f16."""
    samples = [_DECODER.sample(np.random.default_rng(seed)) for seed in range(2)]
    contest.say("decoder: quantizing")
    quantized = qmlir.quantize(
        _DECODER.model(), samples, weights="i4", granularity=f"block:{_BLOCK}:k6", states=_DECODER.states(),
        validate=False,
    )  # fmt: skip
    inputs = {
        name: np.clip(np.rint(32 * value), -128, 127).astype(np.int8) if name.startswith("past") else value
        for name, value in samples[0].items()
    }
    program = qmlir.compile(quantized, threads=1)
    check_close(program(inputs), qmlir.interpret(quantized, inputs), 0.0)
    subject = f"a token of a decoder, {_DECODER.layers} layers of {_DECODER.width}, {_DECODER.past} rows"
    peers = llama_token("Q4_K", _DECODER, contest.folder)
    found = contest.times({"ours": partial(program, inputs), **peers})
    for name, times in found.items():
        yield row_of(times, name, 1e3, "ms", subject)
    if peers:
        yield ratio_row(subject, "ours over llama.cpp", found["ours"], [found[each] for each in peers], 1.0)


def decode_sections(threads: Sequence[int], contest: Contest) -> Iterator[Section]:
    """All forms, on so many threads each."""
    for count in threads:
        rows = [row for form in FORMS for row in _rows(form, count, contest)]
        rows += _token_rows(contest) if count == 1 else []
        yield Section("One row by weights that no cache holds, calls from Python", rows, count)
