"""What the emitter refuses: strings that would become code, functions that no package gives, accesses outside."""

import ast
import io
from collections.abc import Iterator

import pytest

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.text.parsing import parse_module
from qmlir.tools.qmlir_translate import main


def _emitted(text: str) -> str:
    module = parse_module(default_environment().new_context(), text)
    verify(module)
    return emit_module(module)


NAMED = """
"memref.global"() <{{constant, sym_name = "g{0}", sym_visibility = "private", type = memref<4xf32>,
  initial_value = dense<7.0> : tensor<4xf32>}}> : () -> ()
func.func private @"k{0}"(%x: memref<4xf32>, %y: memref<4xf32>) attributes {{origin = "o{0}"}} {{
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xf32>
  memref.store %v, %y[%c0] : memref<4xf32>
  func.return
}}
func.func @main(%x: memref<4xf32> {{nn.name = "x{0}"}}, %y: memref<4xf32> {{nn.result, nn.name = "y{0}"}}) {{
  %g = memref.get_global @"g{0}" : memref<4xf32>
  func.call @"k{0}"(%x, %y) {{origin = ["p{0}", "q{0}"]}} : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @"k{0}"(%g, %y) {{origin = "r{0}"}} : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}}
"""
"""A module whose every string ends in the same text."""


class _Shape(ast.NodeTransformer):
    """What a program does, whatever its names and its strings are."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def _name(self, name: str) -> str:
        return self.names.setdefault(name, f"n{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._name(node.id), node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self._name(node.name)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("text") if isinstance(node.value, str) else node


def _shape(source: str) -> str:
    return ast.dump(_Shape().visit(ast.parse(source)))


@pytest.mark.parametrize(
    "text",
    [
        r"\0Aprint(1)\0A", r"\22\22\22\0Aprint(1)\0A\22\22\22", r"\22", r"\5C", r"\5C\22\22\22", r"'''", r"{}", r"%s",
        r"\E2\80\A8print(1)", r"\0Cprint(1)", r"\0Dprint(1)", r"\00", "import", "é", r"\E2\80\AE", " ", "*)", "#",
        r"\0A#", ":=(", "np", "\t", "x" * 3000,
    ],
)  # fmt: skip
def test_no_string_of_a_module_becomes_code(text: str) -> None:
    source = _emitted(NAMED.format(text))
    assert _shape(source) == _shape(_emitted(NAMED.format("tame")))
    assert source.isascii()


HAND_MADE = """
func.func private @k(%x: memref<4xi32>, %y: memref<4xi32>) {{
  kernel.custom "{0}" ins(%x : memref<4xi32>) outs(%y : memref<4xi32>) computes {{
    op = "{1}", operands = [tensor<4xi32>], results = [tensor<4xi32>]{2}}}
  func.return
}}
func.func @main(%x: memref<4xi32>, %y: memref<4xi32> {{nn.result}}) {{
  func.call @k(%x, %y) : (memref<4xi32>, memref<4xi32>) -> ()
  func.return
}}
"""


@pytest.fixture
def _plugged() -> Iterator[None]:
    with registry.plugged([registry.plugin("tests.support.custom_kernels")]):
        yield


@pytest.mark.usefixtures("_plugged")
@pytest.mark.parametrize(
    ("function", "operation", "message"),
    [
        ("os:getcwd", "nn.relu", "but no package lists it in `Contribution.kernels`"),
        ("tests.support.custom_kernels:off_by_one", "nn.relu", "but no package lists it in `Contribution.kernels`"),
        ("tests.support.custom_kernels:split", "soft.split", "that the kernel does not support"),
        ("tests.support.custom_kernels:off_by_one", "wrong.nowhere", "which the interpreter cannot evaluate"),
    ],
)
def test_only_functions_that_packages_give_are_called(function: str, operation: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        _emitted(HAND_MADE.format(function, operation, ""))
    _emitted(HAND_MADE.format("tests.support.custom_kernels:off_by_one", "wrong.off_by_one", ""))


OUTSIDE = """
func.func private @k(%x: memref<4x4xf32>, %f: memref<16xf32>, %y: memref<4x4xf32>, %n: index, %b: memref<64xi8>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  %c13 = arith.constant 13 : index
  %m1 = arith.constant -1 : index
  %huge = arith.constant 9223372036854775807 : index
  %z = arith.constant 0.0 : f32
  %v = arith.constant dense<0.0> : vector<4xf32>
  %mask = arith.constant dense<true> : vector<4xi1>
  %t = arith.constant true
  {0}
  func.return
}}
func.func @main(%x: memref<4x4xf32>, %f: memref<16xf32>, %y: memref<4x4xf32> {{nn.result}}, %b: memref<64xi8>) {{
  %c1 = arith.constant 1 : index
  func.call @k(%x, %f, %y, %c1, %b) : (memref<4x4xf32>, memref<16xf32>, memref<4x4xf32>, index, memref<64xi8>) -> ()
  func.return
}}
"""


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (f"{head} {positions} {tail}", f"{head} {others} {tail}")
        for head, positions, tail, others in [
            ("%0 = memref.load %x", "[%c3, %c3]", ": memref<4x4xf32>", "[%c0, %c4]"),
            ("%0 = memref.load %x", "[%c0, %c0]", ": memref<4x4xf32>", "[%m1, %c0]"),
            ("memref.store %z, %y", "[%c3, %c3]", ": memref<4x4xf32>", "[%huge, %c3]"),
            ("simd.store %v, %f", "[%c12]", ": vector<4xf32>, memref<16xf32>", "[%c13]"),
            ("vector.store %v, %f", "[%c12]", ": memref<16xf32>, vector<4xf32>", "[%c13]"),
            ("simd.store %v, %y", "[%c3, %c0]", ": vector<4xf32>, memref<4x4xf32>", "[%c3, %c1]"),
            ("simd.store_partial %v, %f", "[%c13], %c3", ": vector<4xf32>, memref<16xf32>", "[%c13], %c4"),
            ("%0 = simd.load %f", "[%c12]", ": memref<16xf32> to vector<4xf32>", "[%huge]"),
            ("%0 = vector.load %f", "[%c12]", ": memref<16xf32>, vector<4xf32>", "[%m1]"),
            ("%0 = simd.load_partial %f", "[%c13], %c3", ": memref<16xf32> to vector<4xf32>", "[%c13], %c4"),
            ("vector.maskedstore %f", "[%c12], %mask, %v", ": memref<16xf32>, vector<4xi1>, vector<4xf32>",
             "[%m1], %mask, %v"),
            ("%0 = memref.view %b", "[%c4][]", ": memref<64xi8> to memref<15xf32>", "[%c12][]"),
            ("%0 = memref.subview %x", "[2, 0] [2, 4] [1, 1]",
             ": memref<4x4xf32> to memref<2x4xf32, strided<[4, 1], offset: 8>>", "[3, 0] [2, 4] [1, 1]"),
            ("%0 = memref.subview %x", "[%c3, 0] [1, 4] [1, 1]",
             ": memref<4x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>", "[%c4, 0] [1, 4] [1, 1]"),
            ("%0 = memref.subview %x[0, 0] [2, 2] [2, 1] : memref<4x4xf32> to memref<2x2xf32,", "strided<[8, 1]>", ">",
             "strided<[16, 1]>"),
            ('%0 = "memref.cast"(%f) : (memref<16xf32>) ->', "memref<16xf32>", "", "memref<64xf32>"),
            ("%0 = memref.reinterpret_cast %f to offset:", "[12], sizes: [4]",
             ", strides: [1] : memref<16xf32> to memref<4xf32, strided<[1], offset: ?>>", "[13], sizes: [4]"),
            ("scf.for %i = %c0 to", "%c4", "step %c1 {\nmemref.store %z, %y[%i, %c0] : memref<4x4xf32>\n}", "%c13"),
            ("scf.for %i = %c0 to", "%c4", "step %c1 {\n%j = arith.subi %c3, %i : index\n"
             "memref.store %z, %y[%j, %c0] : memref<4x4xf32>\n}", "%c13"),
            ("scf.for %i = %c0 to %c4 step", "%c1", "{\nscf.for %j = %c0 to %c4 step %c1 {\n%p = arith.muli %i, %c4 : "
             "index\n%q = arith.addi %p, %j : index\nmemref.store %z, %f[%q] : memref<16xf32>\n}\n}", "%c0"),
            ("scf.for %i = %c0 to %c4 step %c1 {\nscf.for %j = %c0 to %c4 step %c1 {\n%p = arith.muli %i,", "%c4",
             ": index\n%q = arith.addi %p, %j : index\nmemref.store %z, %f[%q] : memref<16xf32>\n}\n}", "%c13"),
            ("scf.if %t {\nmemref.store %z, %f", "[%c4]", ": memref<16xf32>\n}", "[%huge]"),
            ("%0 = memref.alloca() : memref<", "64x64", "xf32>", "4096x4096"),
        ]
    ],
)  # fmt: skip
def test_what_is_known_to_lie_outside_is_refused(inside: str, outside: str) -> None:
    _emitted(OUTSIDE.format(inside))
    with pytest.raises(DiagnosticError):
        _emitted(OUTSIDE.format(outside))


@pytest.mark.parametrize(
    "text",
    [
        "%v0 = memref.load %x[%n, %n] : memref<4x4xf32>",  # comes with the inputs: nobody knows here
        "scf.for %i = %c4 to %c0 step %c1 {\nmemref.store %z, %y[%i, %c0] : memref<4x4xf32>\n}",  # never runs
        "scf.for %i = %c0 to %n step %c1 {\nmemref.store %z, %y[%i, %c0] : memref<4x4xf32>\n}",
        "scf.for %i = %c0 to %c13 step %c1 {\n%in = arith.cmpi slt, %i, %c4 : index\nscf.if %in {\n"
        "memref.store %z, %y[%i, %c0] : memref<4x4xf32>\n}\n}",  # only where it is inside
    ],
)
def test_what_may_lie_inside_is_not_refused(text: str) -> None:
    _emitted(OUTSIDE.format(text))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ('@"g" : memref<4xf32>', '@"g" : memref<9xf32>'),
        ("tensor<4xf32>", "tensor<2xf32>"),
        ("dense<7.0> : tensor<4xf32>", "unit"),
    ],
)
def test_a_global_has_the_size_of_its_type_and_of_its_numbers(text: str, other: str) -> None:
    module = NAMED.format("").replace("(%g, %y)", "(%x, %y)")
    assert text in module
    _emitted(module)
    with pytest.raises(DiagnosticError):
        _emitted(module.replace(text, other))


def test_the_command_says_it_in_one_line() -> None:
    err = io.StringIO()
    text = OUTSIDE.format("memref.store %z, %f[%huge] : memref<16xf32>")
    assert main(["--emit-numba", "-"], stdin=io.StringIO(text), stdout=io.StringIO(), stderr=err) == 1
    first = err.getvalue().splitlines()[0]
    assert first.endswith("'memref.store' op reaches element 9223372036854775807 of axis 0 of 16 elements")
