"""Programs as npm packages: what node says of them, what is refused, and arithmetic that WebAssembly lacks."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.extensions.aot.ahead import emit_ahead
from qmlir.extensions.aot.llvm import linkers, wasm
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.emitted import parsed
from tests.unit.targets.cpu.conftest import quantized

needs_linker = pytest.mark.skipif(
    all(linker("wasm32") is None for linker in linkers.WASM_LINKERS.values()), reason="no wasm-ld, no ziglang"
)
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node")

CALL = """
import { readFileSync } from "node:fs";
const { load } = await import(process.argv.at(-1));
const program = await load(), rows = JSON.parse(readFileSync(0));
const arrays = (row) => Object.fromEntries(Object.entries(row).map(([name, [type, values]]) =>
  [name, new globalThis[type](values.map((each) => type.startsWith("Big") ? BigInt(each) : each ?? NaN))]));
console.log(JSON.stringify(rows.map((row) => {
  try {
    return Object.fromEntries(Object.entries(program.run(arrays(row))).map(([name, array]) => [name, [...array]]));
  } catch (error) { return String(error); }
})));
"""


def in_node(folder: Path, rows: list[Mapping[str, tuple[str, list[Any]]]]) -> list[Any]:
    """What a package gives of the arrays of each row, or its error."""
    command = ["node", "--input-type=module", "--eval", CALL, "--", f"{folder}/small.js"]
    done = subprocess.run(command, input=json.dumps(rows), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@needs_node
@needs_linker
def test_a_package_and_its_errors(tmp_path: Path) -> None:
    module = quantized(2)
    emitted = qmlir.emit(module, format="wasm", name="small")
    assert {"small.wasm", "small.js", "small.d.ts", "package.json"} <= set(emitted.files)
    emitted.save(tmp_path)
    (port,) = qmlir.inspect(module).inputs
    size = int(np.prod(port.shape))
    image = np.linspace(-1, 1, size, dtype=np.float32)
    found, *errors = in_node(
        tmp_path,
        [
            {port.name: ("Float32Array", image.tolist())},
            {port.name: ("Float32Array", [None, *image.tolist()[1:]])},
            {port.name: ("Float64Array", image.tolist())},
            {port.name: ("Float32Array", [0.0])},
            {},
            {port.name: ("Float32Array", image.tolist()), "other": ("Int8Array", [1])},
        ],
    )
    wanted = qmlir.interpret(module, [image.reshape(port.shape)])
    assert {name: np.array(each, np.float32).tobytes() for name, each in found.items()} == {
        name: array.tobytes() for name, array in wanted.items()
    }
    wants = f"TypeError: input '{port.name}' is Float32Array of {size} elements, found"
    assert errors == [
        f"RangeError: input '{port.name}' holds NaN, or what is no value of its type",
        f"{wants} Float64Array of {size}",
        f"{wants} Float32Array of 1",
        f"{wants} undefined of 0",
        "TypeError: there is no input 'other'",
    ]


FUSED = """
func.func @main(%x: memref<64xf32> {nn.name = "x"}, %y: memref<64xf32> {nn.name = "y"},
                %z: memref<64xf32> {nn.name = "z"}, %o: memref<64xf32> {nn.result, nn.name = "fused"},
                %i: memref<64xi32> {nn.result, nn.name = "rounded"}) {
  func.call @k(%x, %y, %z, %o, %i) : (memref<64xf32>, memref<64xf32>, memref<64xf32>, memref<64xf32>, memref<64xi32>)
    -> ()
  func.return
}
func.func private @k(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>, %o: memref<64xf32>,
                     %i: memref<64xi32>) {
  %zero = arith.constant 0 : index
  %end = arith.constant 64 : index
  %step = arith.constant 4 : index
  scf.for %n = %zero to %end step %step {
    %a = vector.load %x[%n] : memref<64xf32>, vector<4xf32>
    %b = vector.load %y[%n] : memref<64xf32>, vector<4xf32>
    %c = vector.load %z[%n] : memref<64xf32>, vector<4xf32>
    %f = vector.fma %a, %b, %c : vector<4xf32>
    vector.store %f, %o[%n] : memref<64xf32>, vector<4xf32>
    %r = simd.round_to_int %b : vector<4xf32> to vector<4xi32>
    vector.store %r, %i[%n] : memref<64xi32>, vector<4xi32>
  }
  func.return
}
"""


def nearest(number: Fraction) -> float:
    """The float of 32 bits that is nearest, of two the even one."""
    near = np.float32(float(number))
    near_ones = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    return float(min(near_ones, key=lambda each: (abs(Fraction(float(each)) - number), int(each.view(np.uint32)) & 1)))


@needs_node
@needs_linker
def test_fused_products_and_rounding(tmp_path: Path) -> None:
    """Products beside halfway points, where rounding twice goes wrong; numbers between two integers."""
    generator = np.random.default_rng(0)
    x = (1 + generator.integers(0, 1 << 23, 64) / 2**23).astype(np.float32)
    x[::2] = 1 + 2**-12
    y = np.where(np.arange(64) % 2, generator.integers(-20, 20, 64) / 2, 1 + 2**-12).astype(np.float32)
    z = (generator.choice([-1.0, 1.0], 64) * 2.0 ** generator.integers(-60, -20, 64)).astype(np.float32)
    emit_ahead(parsed(FUSED), "wasm", "small").save(tmp_path)
    given = {name: ("Float32Array", each.tolist()) for name, each in (("x", x), ("y", y), ("z", z))}
    (found,) = in_node(tmp_path, [given])
    exact = [
        nearest(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))) for a, b, c in zip(x, y, z, strict=True)
    ]
    assert found["fused"] == exact
    assert exact != (x.astype(np.float64) * y + z).astype(np.float32).tolist()  # some are rounded twice there
    assert found["rounded"] == np.rint(y).astype(np.int32).tolist()


STACK = """
func.func @main(%x: memref<32768xf32> {nn.name = "x"}, %y: memref<32768xf32> {nn.result, nn.name = "y"}) {
  %s = memref.alloca() : memref<32768xf32>
  func.call @first(%x, %s) : (memref<32768xf32>, memref<32768xf32>) -> ()
  func.call @second(%s, %y) : (memref<32768xf32>, memref<32768xf32>) -> ()
  func.return
}
func.func private @first(%x: memref<32768xf32>, %s: memref<32768xf32>) {
  %zero = arith.constant 0 : index
  %end = arith.constant 32768 : index
  %one = arith.constant 1 : index
  scf.for %n = %zero to %end step %one {
    %v = memref.load %x[%n] : memref<32768xf32>
    memref.store %v, %s[%n] : memref<32768xf32>
  }
  func.return
}
func.func private @second(%s: memref<32768xf32>, %y: memref<32768xf32>) {
  %zero = arith.constant 0 : index
  %end = arith.constant 32768 : index
  %last = arith.constant 32767 : index
  %one = arith.constant 1 : index
  %t = memref.alloca() : memref<32768xf32>
  scf.for %n = %zero to %end step %one {
    %v = memref.load %s[%n] : memref<32768xf32>
    %r = arith.subi %last, %n : index
    memref.store %v, %t[%r] : memref<32768xf32>
  }
  scf.for %n = %zero to %end step %one {
    %v = memref.load %t[%n] : memref<32768xf32>
    %w = memref.load %s[%n] : memref<32768xf32>
    %q = arith.addf %v, %w : f32
    memref.store %q, %y[%n] : memref<32768xf32>
  }
  func.return
}
"""


def test_the_bytes_of_a_stack() -> None:
    """Where an array is in the largest kernel, where it is in `@main`, and where both have one."""
    array = "= memref.alloca() : memref<32768xf32>"
    kernel_alone = STACK.replace(f"  %s {array}\n", "").replace("%x, %s)", "%x, %y)").replace("(%s,", "(%x,")
    main_alone = STACK.replace(f"  %t {array}\n", "").replace("%t[", "%y[")
    sizes = [emit_ahead(parsed(text), "c", "small").card.stack_bytes for text in (kernel_alone, main_alone, STACK)]
    assert sizes == [131072, 131072, 262144]


@needs_node
@needs_linker
def test_arrays_on_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of `@main` and of a kernel are there at once; where the stack is too small, the call ends."""
    emitted = emit_ahead(parsed(STACK), "wasm", "small")
    assert emitted.card.stack_bytes == 2 * 4 * 32768
    emitted.save(tmp_path / "whole")
    given = {"x": ("Float32Array", list(range(32768)))}
    assert in_node(tmp_path / "whole", [given]) == [{"y": [32767] * 32768}]
    monkeypatch.setattr(wasm, "_SPARE_STACK", -4 * 32768)
    emit_ahead(parsed(STACK), "wasm", "small").save(tmp_path / "short")
    assert in_node(tmp_path / "short", [given]) == ["RuntimeError: memory access out of bounds"]


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = quantized(2)
    with pytest.raises(
        DiagnosticError, match="an npm package requires the triple wasm32-unknown-unknown, but got x86_64-linux-gnu"
    ):
        qmlir.emit(module, format="wasm", triple="x86_64-linux-gnu")
    with pytest.raises(
        DiagnosticError,
        match=r"--cpu host \(this computer\) cannot be combined with another triple, but got 'wasm32-unknown-unknown'",
    ):
        qmlir.emit(module, format="wasm", cpu="host")
    for name in ("package", "fs", "net", "Path", "constants"):
        with pytest.raises(DiagnosticError, match=f"an npm package cannot be named '{name}'"):
            qmlir.emit(module, format="wasm", name=name)
    monkeypatch.setattr(linkers, "WASM_LINKERS", {"wasm-ld": lambda _: None})
    with pytest.raises(DiagnosticError, match="cannot link a module of WebAssembly: found none of wasm-ld"):
        qmlir.emit(module, format="wasm")


ROOTS = """
func.func @main(%x: memref<4xf64> {nn.name = "x"}, %y: memref<4xf64> {nn.result, nn.name = "y"}) {
  func.call @k(%x, %y) : (memref<4xf64>, memref<4xf64>) -> ()
  func.return
}
func.func private @k(%x: memref<4xf64>, %y: memref<4xf64>) {
  %zero = arith.constant 0 : index
  %a = memref.load %x[%zero] : memref<4xf64>
  %b = math.exp %a : f64
  memref.store %b, %y[%zero] : memref<4xf64>
  func.return
}
"""


@needs_linker
def test_functions_of_the_c_library() -> None:
    with pytest.raises(DiagnosticError, match=r"^error: (ziglang|wasm-ld\S*) cannot link .*: calls exp, which"):
        emit_ahead(parsed(ROOTS), "wasm", "small")
