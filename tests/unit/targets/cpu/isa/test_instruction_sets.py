"""Instruction sets: what each file says fits together, the host's is found by features, and a package adds one."""

import io
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir import registry
from qmlir.dialects.kernel.attributes import TargetAttr, isa_names
from qmlir.dialects.kernel.variants import variant_named, variant_names
from qmlir.dialects.simd.lanes import DotAccumulateOp
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.host import best_isa, host_isa, limits_to, resolved_isa, runs_here
from qmlir.targets.cpu.isa import instruction_set, instruction_sets, isas_of_processors
from qmlir.targets.cpu.isa.arm import NEON_DOTPROD
from qmlir.targets.cpu.isa.base import DOT_US
from qmlir.targets.cpu.isa.predicates import takes_any
from qmlir.targets.cpu.isa.x86 import AVX2
from qmlir.targets.cpu.lowering import lowered
from qmlir.targets.cpu.runtime.machine_code import FEATURES
from qmlir.targets.cpu.runtime.operations.lanes import by_intrinsics
from qmlir.text.parsing import parse_module
from qmlir.tools import qmlir_opt
from tests.support.nets import Net

COPY = replace(AVX2, name="avx2-copy")
"""What a package adds: the same set by another name."""

MIXED = replace(
    NEON_DOTPROD,
    name="neon-i8mm",
    needs=NEON_DOTPROD.needs | {"i8mm"},
    instructions={**NEON_DOTPROD.instructions, DOT_US: {128: "llvm.aarch64.neon.usdot.v4i32.v16i8"}},
)
"""A better one than the tree's."""


@contextmanager
def _added() -> Generator[None]:
    rows = registry.Contribution(isas={"avx2-copy": f"{__name__}:COPY", "neon-i8mm": f"{__name__}:MIXED"})
    with registry.plugged([registry.Package("added", "1.0", contributions=(rows,))]):
        yield


@pytest.mark.parametrize("name", isa_names())
def test_what_a_set_says_fits_together(name: str) -> None:
    isa = instruction_set(name)
    assert isa.name == name
    assert registry.TREE.isas[name].endswith(f":{name.replace('-', '_').upper()}")
    assert isa.rows[-1].accepts is takes_any
    assert {row.variant for row in isa.rows} <= set(variant_names())
    for row in isa.rows:
        if variant_named(row.variant).is_interleaved:  # registers of sums are as many as rows in a lane
            assert row.vectors == variant_named(row.variant).group
        else:
            assert row.rows * row.vectors + row.vectors < isa.registers
    assert all(isa.bits in widths for widths in isa.instructions.values())


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ((), "generic"),
        (("sse2", "avx"), "generic"),
        (("avx2", "fma"), "avx2"),
        (("avx2", "fma", "avxvnni"), "avx2-vnni"),
        (("avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512dq"), "avx2"),
        (("avx2", "fma", "avxvnni", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni"), "avx512-vnni"),
        (("neon",), "neon"),
        (("neon", "dotprod"), "neon-dotprod"),
        (("simd128",), "wasm-simd"),
    ],
)
def test_the_best_set_of_some_features(features: tuple[str, ...], expected: str) -> None:
    assert best_isa(features) == expected
    with _added():
        assert best_isa(features) == expected  # an equal of a package takes no place of the tree's


def test_a_better_set_of_a_package_is_the_hosts() -> None:
    features = ("neon", "dotprod", "i8mm")
    assert best_isa(features) == "neon-dotprod"
    with _added():
        assert best_isa(features) == "neon-i8mm"


# No processor has those of C as its best: they need nothing, as `generic` does, which stands before them.
@pytest.mark.parametrize("name", [name for name in isa_names() if runs_here(name) and not name.startswith("portable")])
def test_a_processor_that_is_limited_to_a_set_has_it_as_its_best(name: str) -> None:
    features = limits_to(name)[FEATURES].split(",")
    assert best_isa([each[1:] for each in features if each[0] == "+"]) == name


def test_a_set_of_a_package_has_a_name_wherever_the_package_is() -> None:
    with _added():
        assert TargetAttr.of("avx2-copy").isa == "avx2-copy"
        assert resolved_isa("avx2-copy") == "avx2-copy"
        assert resolved_isa("host") == host_isa()
        err = io.StringIO()
        arguments = ["-p", "kernel-assign-schedule{isa=avx2-cpy}"]
        assert qmlir_opt.main(arguments, stdin=io.StringIO(""), stdout=io.StringIO(), stderr=err) == 1
        known = ", ".join((*registry.TREE.isas, "avx2-copy", "neon-i8mm"))
        assert (
            f"unknown instruction set 'avx2-cpy'; did you mean 'avx2-copy'? (available: host, {known})"
            in err.getvalue()
        )
    with pytest.raises(DiagnosticError, match="unknown instruction set 'avx2-copy'"):
        resolved_isa("avx2-copy")


def _quantized() -> ModuleOp:
    """A convolution, a depthwise one and a product, in int8."""
    rng = np.random.default_rng(0)
    net = Net()
    image = net.input(rng.standard_normal((1, 3, 8, 8), np.float32), (1, 3, 8, 8))
    first = net.node("Conv", image, net.constant(rng.standard_normal((8, 3, 3, 3), np.float32)))
    each = net.node("Conv", first, net.constant(rng.standard_normal((8, 1, 3, 3), np.float32)), group=8)
    flat = net.node("Flatten", net.node("Relu", each))
    net.node("Gemm", flat, net.constant(rng.standard_normal((10, 128), np.float32)), transB=1)
    module = qmlir.load(net.model("Gemm4"))
    return qmlir.quantize(module, [rng.standard_normal((1, 3, 8, 8), np.float32) for _ in range(3)]).module


@pytest.mark.skipif(not runs_here("avx2"), reason="this processor has no AVX2")
def test_a_copy_of_a_set_compiles_to_the_same_code_and_computes_what_the_interpreter_does() -> None:
    module = _quantized()
    images = np.random.default_rng(1).standard_normal((3, 1, 3, 8, 8), np.float32)
    with _added():
        program = qmlir.compile(module, isa="avx2-copy")
        for image in images:
            (found,), (expected,) = program([image]).values(), qmlir.interpret(module, [image]).values()
            np.testing.assert_array_equal(found, expected, strict=True)
        code = emit_module(lowered(specialize(module), "avx2-copy"))
    assert "vpdp" not in code
    assert code.count("dot_pairs(") > 8
    assert code == emit_module(lowered(specialize(module), "avx2"))


_DOTS = """
builtin.module attributes {{kernel.target = #kernel.target<isa = "{isa}">}} {{
  func.func @main(%m: memref<{lanes}xi32>, %x: memref<{bytes}xi8>, %w: memref<{bytes}xi8>,
                  %y: memref<{lanes}xi32> {{nn.result}}) {{
    %c0 = arith.constant 0 : index
    %a = simd.load %m[%c0] : memref<{lanes}xi32> to vector<{lanes}xi32>
    %b = simd.load %x[%c0] : memref<{bytes}xi8> to vector<{bytes}xi8>
    %c = simd.load %w[%c0] : memref<{bytes}xi8> to vector<{bytes}xi8>
    %r = simd.dot_accumulate %a, %b, %c {{signs = "{signs}"}}
      : vector<{lanes}xi32>, vector<{bytes}xi8>, vector<{bytes}xi8> -> vector<{lanes}xi32>
    simd.store %r, %y[%c0] : vector<{lanes}xi32>, memref<{lanes}xi32>
    func.return
  }}
}}
"""


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("signs", ["us", "ss"])
@pytest.mark.parametrize("isa", ["neon-dotprod", "avx2-vnni"])
def test_bytes_of_other_signs_are_those_that_there_is_an_instruction_for(isa: str, signs: str, lanes: int) -> None:
    """`sum x w` by the instruction for the other signs, against NumPy, the ends of the types among the bytes."""
    rng = np.random.default_rng(lanes)
    own = "ss" if isa == "neon-dotprod" else "us"
    m = rng.integers(-(2**31), 2**31, lanes, np.int32)
    x, w = (rng.choice(np.array([-128, -127, -1, 0, 1, 5, 127], np.int8), 4 * lanes) for _ in range(2))
    wide = (x.view(np.uint8) if signs == "us" else x).astype(np.int64) * w
    expected = (m + wide.reshape(lanes, 4).sum(axis=1)).astype(np.int32)
    environment = default_environment()
    context = environment.new_context()
    module = parse_module(context, _DOTS.format(isa=isa, signs=signs, lanes=lanes, bytes=4 * lanes))
    PassManager(context, parse_pipeline("simd-legalize", environment.passes)).run(module)
    dots = [op for op in module.walk() if isinstance(op, DotAccumulateOp)]
    assert {op.signs.data for op in dots} == {own}
    if lanes == 4 and own == signs:
        assert len(dots) == 1
    (found,) = interpret(module, [m, x, w]).values()
    text = emit_module(module)
    np.testing.assert_array_equal(found, expected)
    name, other = ("dot_ss", "dot_us") if isa == "neon-dotprod" else ("dot_us", "dot_ss")
    assert f'{name} = by_intrinsics("{name}", (128, "{instruction_of(isa, name)}")' in text
    assert f"{other}(" not in text


def instruction_of(isa: str, name: str) -> str:
    """LLVM's name of it in 128 bits."""
    return {"neon-dotprod": "llvm.aarch64.neon.sdot.v4i32.v16i8", "avx2-vnni": "llvm.x86.avx512.vpdpbusd.128"}[isa]


def test_what_a_set_has_no_instruction_for_is_not_emitted() -> None:
    module = parse_module(default_environment().new_context(), _DOTS.format(isa="avx2", signs="us", lanes=8, bytes=32))
    with pytest.raises(DiagnosticError, match="avx2 has no 'dot_us' for registers of 256 bits; run simd-legali"):
        emit_module(module)


def test_processors_of_c_have_one_set_each() -> None:
    named = [processor for _, isa in instruction_sets() for processor in isa.processors]
    assert sorted(named) == sorted(isas_of_processors())
    wanted = {"cortex-m3": "portable-integer", "cortex-m4": "armv7e-m"}
    assert {name: isas_of_processors()[name] for name in wanted} == wanted


def test_an_operation_by_the_same_intrinsics_is_one() -> None:
    """numba would take what each kernel declares for another operation, and compile it anew."""
    assert by_intrinsics("dot_us", (128, "one")) is by_intrinsics("dot_us", (128, "one"))
    assert by_intrinsics("dot_us", (128, "one")) is not by_intrinsics("dot_us", (128, "another"))
