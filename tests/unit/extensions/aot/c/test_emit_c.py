"""C programs against the interpreter, bit for bit: models of several kinds, scalar helpers, what is refused."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.emitted import BUILDS, Build, differing_bits, run_c
from qmlir.extensions.aot.ahead import emit_ahead
from qmlir.extensions.aot.c.emit import EMISSIONS
from qmlir.extensions.aot.c.statements import Declaration, Lanes, rendered
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.emitted import parsed
from tests.support.residual import TILED_SHAPE, tiled_network
from tests.support.sampled import sampled
from tests.unit.targets.cpu.emitters.programs import PROGRAMS, LoopProgram

BY_NAME = {build.name: build for build in BUILDS}


GCC = ["gcc -O0", "gcc -O2", "gcc sanitizers"]


def _installed(name: str) -> Build:
    """The build of this name; without its compiler the test is skipped."""
    found = BY_NAME[name]
    if not found.is_installed():
        pytest.skip(f"{found.compiler} is not installed")
    return found


@pytest.fixture(params=GCC)
def build(request: pytest.FixtureRequest) -> Build:
    return _installed(request.param)


def _classifier(channels: int, seed: int) -> ModuleOp:
    """A convolution, a depthwise one, an average and a product of matrices, quantized."""
    random = np.random.default_rng(seed)

    def weights(name: str, *shape: int) -> object:
        return numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w1"], ["c"], group=channels, strides=[2, 2]),
        helper.make_node("Add", ["c", "c0"], ["d"]),
        helper.make_node("Sigmoid", ["d"], ["e"]),
        helper.make_node("GlobalAveragePool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["g"]),
        helper.make_node("Gemm", ["g", "w2", "b2"], ["y"], transB=1),
    ]
    constants = [
        weights("w0", channels, 2, 3, 3), weights("b0", channels), weights("w1", channels, 1, 3, 3),
        weights("c0", 1, channels, 1, 1), weights("w2", 5, channels), weights("b2", 5),
    ]  # fmt: skip
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, [1, 2, 7, 7])], [value("y", TensorProto.FLOAT, [1, 5])], constants
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    samples = [{"x": random.uniform(-1, 1, (1, 2, 7, 7)).astype(np.float32)} for _ in range(8)]
    return qmlir.quantize(qmlir.load(model), samples).module


@pytest.mark.parametrize(
    ("build", "made_for"),
    sampled(GCC, [(3, ""), (20, ""), (20, "cortex-m3"), (20, "cortex-m4")], strength=1),
    indirect=["build"],
)
def test_a_quantized_model_computes_the_same_bits(made_for: tuple[int, str], build: Build, tmp_path: Path) -> None:
    channels, cpu = made_for
    module = _classifier(channels, channels)
    inputs = {"x": np.random.default_rng(1).uniform(-1.2, 1.2, (1, 2, 7, 7)).astype(np.float32)}
    wanted = qmlir.interpret(module, inputs)
    emitted = qmlir.emit(module, cpu=cpu)
    assert ("dot_bytes" in str(emitted.files["model.c"])) == (cpu == "cortex-m4")
    ended, found = run_c(emitted, build, inputs, wanted, tmp_path)
    assert ended == 0
    assert differing_bits(wanted, found) == 0


TILES = ("dots_2x2", "dots_1x2", "dots_1x4", "taps_2x2", "taps_1x2")


@pytest.mark.parametrize("name", ["gcc -O0", "gcc sanitizers"])
def test_tiles_of_dot_products_are_calls(name: str, tmp_path: Path) -> None:
    """For CPUs without such instructions the called functions are plain C."""
    module, build = tiled_network(), _installed(name)
    inputs = {"x": np.random.default_rng(1).integers(-128, 128, TILED_SHAPE).astype(np.int8)}
    wanted = qmlir.interpret(module, inputs)
    emitted = qmlir.emit(module, cpu="cortex-m4")
    text = str(emitted.files["model.c"])
    kernels = text[text.index("Constants, which stand at the end") :]
    assert [tile for tile in TILES if f" {tile}(" in kernels] == list(TILES)
    assert "ssat_8(" in kernels
    assert not re.search("dots_|taps_|[su]sat_", str(qmlir.emit(module, cpu="cortex-m3").files["model.c"]))
    ended, found = run_c(emitted, build, inputs, wanted, tmp_path)
    assert ended == 0
    assert differing_bits(wanted, found) == 0


NEST = """
func.func private @k(%x: memref<64xi8>, %w: memref<64xi8>, %y: memref<4xi32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %tap = arith.constant {tap} : index
  %step = arith.constant {step} : index
  %row = arith.constant 5 : index
  %weights = arith.constant {weights} : index
  %z = arith.constant dense<0> : vector<1xi32>
  %0, %1, %2, %3 = scf.for %t = %c0 to %c2 step %c1 iter_args(%a = %z, %b = %z, %c = %z, %d = %z)
      -> (vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>) {{
    %4, %5, %6, %7 = scf.for %s = %c0 to %c3 step %c1 iter_args(%e = %a, %f = %b, %g = %c, %h = %d)
        -> (vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>) {{
      %xt = arith.muli %t, %tap : index
      %xs = arith.muli %s, %step : index
      %x0 = arith.addi %xt, %xs : index
      %x1 = arith.addi %x0, %row : index
      %wt = arith.muli %t, %weights : index
      %ws = arith.muli %s, %c8 : index
      %w0 = arith.addi %wt, %ws : index
      %w1 = arith.addi %w0, %c4 : index
      %p = simd.load_group_splat %x[%x0] : memref<64xi8> to vector<4xi8>
      %q = simd.load_group_splat %x[%x1] : memref<64xi8> to vector<4xi8>
      %u = simd.load %w[%w0] : memref<64xi8> to vector<4xi8>
      %v = simd.load %w[%w1] : memref<64xi8> to vector<4xi8>
      %e2 = simd.dot_accumulate %e, %p, %u : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
      %f2 = simd.dot_accumulate %f, %q, %u : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
      %g2 = simd.dot_accumulate %g, %p, %v : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
      %h2 = simd.dot_accumulate %h, %q, %v : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
      scf.yield %e2, %f2, %g2, %h2 : vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>
    }}
    scf.yield %4, %5, %6, %7 : vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>
  }}
  simd.store %0, %y[%c0] : vector<1xi32>, memref<4xi32>
  simd.store %1, %y[%c1] : vector<1xi32>, memref<4xi32>
  simd.store %2, %y[%c2] : vector<1xi32>, memref<4xi32>
  simd.store %3, %y[%c3] : vector<1xi32>, memref<4xi32>
  func.return
}}
func.func @main(%x: memref<64xi8> {{nn.name = "x"}}, %w: memref<64xi8> {{nn.name = "w"}},
    %y: memref<4xi32> {{nn.result, nn.name = "y"}}) {{
  func.call @k(%x, %w, %y) : (memref<64xi8>, memref<64xi8>, memref<4xi32>) -> ()
  func.return
}}
"""
"""Dot products of two rows, 5 bytes apart, by two channels of weights, over two taps of three steps."""


@pytest.mark.parametrize(
    ("tap", "step", "weights", "call"),
    [
        (20, 4, 24, "dots_2x2(x, 5, w, sums, 2, 8, 3)"),
        (3, 4, 24, "dots_2x2(x, 5, w, sums, 2, -9, 3)"),
        (0, 4, 24, "dots_2x2(x, 5, w, sums, 2, -12, 3)"),
        (20, 8, 24, "taps_2x2(x + t*20, 5, w + t*24, sums, 3, 4)"),
        (20, 4, 32, "dots_2x2(x + t*20, 5, w + t*32, sums, 1, 0, 3)"),
        (20, 4, 22, ""),
    ],
)
def test_loops_of_one_form_become_calls(tap: int, step: int, weights: int, call: str, tmp_path: Path) -> None:
    """Both loops, the inner one, or none if the weights are not aligned; all give the sums of products."""
    emitted = emit_ahead(parsed(NEST.format(tap=tap, step=step, weights=weights)))
    calls = re.findall(r"(?:dots|taps)_\dx\d\(x.*\)(?=;)", str(emitted.files["model.c"]))
    assert calls == [call] * bool(call)
    rng = np.random.default_rng(tap + step)
    x, w = (rng.integers(-128, 128, 64).astype(np.int8) for _ in range(2))
    wanted = np.zeros((2, 2), np.int32)
    for t, s, row, channel in np.ndindex(2, 3, 2, 2):
        first, own = t * tap + s * step + 5 * row, t * weights + s * 8 + 4 * channel
        wanted[channel, row] += x[first : first + 4].astype(np.int32) @ w[own : own + 4]
    ended, found = run_c(emitted, _installed("gcc sanitizers"), {"x": x, "w": w}, {"y": wanted.reshape(-1)}, tmp_path)
    assert ended == 0
    np.testing.assert_array_equal(found["y"], wanted.reshape(-1))


def test_loops_that_become_calls_stay_inside_their_memory() -> None:
    with pytest.raises(DiagnosticError, match="reaches element"):
        emit_ahead(parsed(NEST.format(tap=200, step=4, weights=24)))


SHORTS = """
!q = !quant.uniform<i16:f32, 1.0>
!s = !quant.uniform<i16:f32, 65536.0>
func.func @main(%x: tensor<3x40x!q> {nn.name = "x"}, %w: tensor<40x7x!q> {nn.name = "w"})
    -> (tensor<3x7x!s> {nn.name = "y"}) {
  %y = nn.matmul %x, %w : (tensor<3x40x!q>, tensor<40x7x!q>) -> tensor<3x7x!s>
  func.return %y : tensor<3x7x!s>
}
"""
"""Sums that 32 bits do not hold."""


@pytest.mark.parametrize("cpu", ["", "cortex-m3", "cortex-m4"])
def test_sums_may_be_wider_than_a_register(cpu: str, tmp_path: Path) -> None:
    build = _installed("gcc -O2")
    random = np.random.default_rng(0)
    inputs = {
        "x": random.integers(32000, 32768, (3, 40)).astype(np.int16),
        "w": random.integers(-32768, 32768, (40, 7)).astype(np.int16),
    }
    exact = inputs["x"].astype(np.int64) @ inputs["w"].astype(np.int64)
    assert np.abs(exact).max() > 1 << 32
    wanted = {"y": np.clip(np.rint(exact / 65536), -32768, 32767).astype(np.int16)}
    ended, found = run_c(qmlir.emit(parsed(SHORTS), cpu=cpu), build, inputs, wanted, tmp_path)
    assert ended == 0
    assert differing_bits(wanted, found) == 0


COLUMNS = """
!x = !quant.uniform<i8:f32, 1.0:-128>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @main(%x: tensor<36x4x!x> {nn.name = "x"}) -> (tensor<4x!sum> {nn.name = "y"}) {
  %y = nn.reduce_sum %x {axes = [0], keep_dims = false} : (tensor<36x4x!x>) -> tensor<4x!sum>
  return %y : tensor<4x!sum>
}
"""
"""Sums of columns, which compilers add up side by side."""


@pytest.mark.parametrize("name", ["gcc -O2", "gcc -O3"])
def test_no_term_of_a_vectorized_sum_is_lost(name: str, tmp_path: Path) -> None:
    """GCC 12.2 lost three of four terms of sums that changed their signedness (GCC bug 107212)."""
    x = np.random.default_rng(0).integers(-128, 128, (36, 4)).astype(np.int8)
    wanted = {"y": (x.astype(np.int32) + 128).sum(0, dtype=np.int32)}
    ended, found = run_c(qmlir.emit(parsed(COLUMNS)), _installed(name), {"x": x}, wanted, tmp_path)
    assert ended == 0
    assert differing_bits(wanted, found) == 0


def test_nan_is_refused_by_the_number_of_the_input(build: Build, tmp_path: Path) -> None:
    module = _classifier(3, 3)
    inputs = {"x": np.zeros((1, 2, 7, 7), np.float32)}
    wanted = qmlir.interpret(module, inputs)
    inputs["x"][0, 1, 2, 3] = np.nan
    assert run_c(qmlir.emit(module), build, inputs, wanted, tmp_path) == (1, {})


_KERNEL = """
func.func private @k(%a: memref<{n}x{t}>, %b: memref<{n}x{t}>, %y: memref<{n}x{t}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {n} : index
  scf.for %i = %c0 to %n step %c1 {{
    %p = memref.load %a[%i] : memref<{n}x{t}>
    %q = memref.load %b[%i] : memref<{n}x{t}>
    %r = {op} : {t}
    memref.store %r, %y[%i] : memref<{n}x{t}>
  }}
  func.return
}}
func.func @main(%a: memref<{n}x{t}> {{nn.name = "a"}}, %b: memref<{n}x{t}> {{nn.name = "b"}},
                %y: memref<{n}x{t}> {{nn.result, nn.name = "y"}}) {{
  func.call @k(%a, %b, %y) : (memref<{n}x{t}>, memref<{n}x{t}>, memref<{n}x{t}>) -> ()
  func.return
}}
"""


def test_an_element_outside_of_its_type_is_refused(tmp_path: Path) -> None:
    build, wanted = _installed("gcc -O2"), {"y": np.zeros(4, np.int8)}
    emitted = emit_ahead(parsed(_KERNEL.format(op="arith.addi %p, %q", t="i4", n=4)))
    ones = np.ones(4, np.int8)
    ended, found = run_c(emitted, build, {"a": np.array([-8, 7, 0, -1], np.int8), "b": ones}, wanted, tmp_path)
    assert ended == 0
    assert found["y"].tolist() == [-7, -8, 1, 0]
    assert run_c(emitted, build, {"a": ones, "b": np.array([0, 8, 0, 0], np.int8)}, wanted, tmp_path)[0] == 2


_SCALARS = [
    each
    for case in PROGRAMS
    if case.name != "arithmetic-index" and (each := case.only({op.name for op in EMISSIONS})).rows
]
"""The loop programs of all emitters, with the operations that have a form in C.

Index arithmetic on values of all 64 bits is left out: C computes symbolic indices as signed integers, which must not
overflow, where the other emitters wrap.
"""


@pytest.mark.parametrize("case", _SCALARS, ids=lambda case: case.name)
def test_scalars_are_those_of_the_interpreter(case: LoopProgram, tmp_path: Path) -> None:
    build, module = _installed("gcc sanitizers"), case.module()
    wanted = qmlir.interpret(module, case.inputs)
    ended, found = run_c(emit_ahead(module), build, case.inputs, wanted, tmp_path)
    assert ended == 0
    assert differing_bits(wanted, found) == 0


def test_what_has_no_form_in_c_is_named() -> None:
    module = parsed(_KERNEL.format(op="math.sin %p", t="f64", n=4))
    with pytest.raises(DiagnosticError, match=r"'math\.sin' op cannot be compiled: expected an operation of") as raised:
        emit_ahead(module)
    assert "\n" not in raised.value.diagnostic.message


@pytest.mark.parametrize("name", ["1st", "for", "a-b", "", "class"])
def test_names_are_those_of_c(name: str) -> None:
    with pytest.raises(DiagnosticError, match=f"'{name}' must be a C identifier of ASCII letters"):
        qmlir.emit(_classifier(3, 3), name=name)


TAKEN = (
    "constant", "constant_2", "matmul_1x8x8_f32", "LANES_0", "load_f32", "memcpy", "arena", "arena_bytes", "place", "i",
    "n", "l", "model_run", "model_run_in", "MODEL_H", "MODEL_ARENA_BYTES", "NULL", "SIZE_MAX", "INTPTR_MAX", "x_t",
    "WCHAR_MIN", "SIG_ATOMIC_MAX", "PTRDIFF_MAX", "I", "errno", "INT8_C",
)  # fmt: skip
"""Names of a C file, of its header and of C's headers."""


@pytest.mark.parametrize("given", [0, 1])
def test_ports_hide_nothing_of_the_file(given: int, tmp_path: Path) -> None:
    """Inputs with every other of the names, outputs with the others, each output of weights of its own."""
    build = _installed("gcc -O2")
    random = np.random.default_rng(0)
    inputs, outputs = TAKEN[given::2], TAKEN[1 - given :: 2]
    weights = random.integers(-9, 9, (len(outputs), 8, 8)).astype(np.float32)
    arguments = ", ".join(f'%x{k}: tensor<1x8xf32> {{nn.name = "{name}"}}' for k, name in enumerate(inputs))
    results = ", ".join(f'tensor<1x8xf32> {{nn.name = "{name}"}}' for name in outputs)
    body = "".join(
        f"  %w{k} = nn.constant dense<{each.tolist()}> : tensor<8x8xf32>\n"
        f"  %y{k} = nn.matmul %x{k}, %w{k} : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>\n"
        for k, each in enumerate(weights)
    )
    returned = ", ".join(f"%y{k}" for k in range(len(outputs)))
    types = ", ".join(["tensor<1x8xf32>"] * len(outputs))
    text = f"func.func @main({arguments}) -> ({results}) {{\n{body}  func.return {returned} : {types}\n}}"
    fed = {name: random.integers(-9, 9, (1, 8)).astype(np.float32) for name in inputs}
    wanted = {out: fed[name] @ each for out, name, each in zip(outputs, inputs, weights, strict=True)}
    ended, found = run_c(qmlir.emit(parsed(text)), build, fed, wanted, tmp_path)
    assert ended == 0
    assert differing_bits(wanted, found) == 0


@pytest.mark.parametrize(
    ("unread", "dtype"), [("f32", "float32"), ("ui32", "uint32"), ("i4", "int8"), ("bf16", "uint16")]
)
def test_an_output_may_be_a_constant_and_an_input_unread(unread: str, dtype: str, tmp_path: Path) -> None:
    build = _installed("gcc -O2")
    text = f"""
    func.func @main(%x: tensor<3x{unread}> {{nn.name = "x"}}) -> (tensor<3xf32> {{nn.name = "w"}}) {{
      %w = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> {{nn.name = "w"}}
      func.return %w : tensor<3xf32>
    }}"""
    wanted = {"w": np.array([1, 2, 3], np.float32)}
    ended, found = run_c(qmlir.emit(parsed(text)), build, {"x": np.zeros(3, dtype)}, wanted, tmp_path)
    assert ended == 0
    assert differing_bits(wanted, found) == 0


def test_what_nothing_reads_is_left_out() -> None:
    """Nor what only such variables read; a vector is written where it has its lanes, and read before."""
    statements = [
        Declaration(1, "int32_t", "a", "x[0]"),
        Declaration(1, "int32_t", "b", "a + 1"),
        Declaration(1, "int32_t", "c", "x[1]"),
        Lanes(1, 4, "c", "v", "int32_t", size=4),
        Lanes(1, 4, "y[l] = v[l]"),
        Lanes(1, 4, "v[l] + 1", "v"),
        Lanes(1, 4, "v[l]", "w", "int32_t", size=4),
    ]
    text = "\n".join(rendered(statements))
    assert {name for name in "abcvw" if re.search(rf"\b{name}\b", text)} == {"c", "v"}


def test_an_unknown_form_is_told() -> None:
    with pytest.raises(DiagnosticError, match="unknown output format 'cpp'"):
        qmlir.emit(_classifier(3, 3), format="cpp")


def test_no_string_of_a_model_becomes_code() -> None:
    module = parsed(
        _KERNEL.format(op="arith.addi %p, %q", t="i32", n=4)
        .replace('"y"', '"*/ int main;"')
        .replace("(%a, %b, %y) :", '(%a, %b, %y) {origin = "*/ x"} :')
        .replace("%y: memref<4xi32>) {", '%y: memref<4xi32>) attributes {origin = "*/ int z; ??/"} {')
    )
    files = emit_ahead(module).files
    for text in (str(files[name]) for name in ("model.c", "model.h")):
        assert "*/ int" not in text
        assert "??/" not in text
    compiler = shutil.which("gcc")
    if compiler is not None:
        source = str(files["model.c"]).replace('#include "model.h"', str(files["model.h"]))
        options = ["-std=c99", "-Werror", "-fsyntax-only", "-xc", "-"]
        subprocess.run([compiler, *options], input=source, text=True, check=True)
