"""Programs of several targets give the bits that the interpreter gives on the whole model."""

import pickle
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.target.description import Description, Support
from qmlir.environment import default_environment, plugins
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.specialize import specialize
from qmlir.target import PART, ExecutionOptions
from qmlir.targets.cpu.runtime.program import InputError
from qmlir.targets.heterogeneous import HybridProgram, compile_parts, without_calls
from qmlir.targets.partitioning.preferences import Preferences
from qmlir.targets.partitioning.quant_partition import partition as divide
from qmlir.text.parsing import parse_module
from qmlir.workflows.partitioning import partition
from tests.levels.generator import case_of
from tests.support.sampled import seeds

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "docs/examples"


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    with plugins([str(ROOT / "tests/plugins/devices/devices.py")]):
        yield


def _same(found, expected) -> None:
    assert list(found) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


def test_digits_on_two_devices_and_the_host() -> None:
    module = qmlir.load(EXAMPLES / "digits_cnn.onnx", shapes={"input": (1, 1, 8, 8)})
    quantized = qmlir.quantize(module, {"input": np.load(EXAMPLES / "digits_samples.npz")["input"]}).module
    program = qmlir.compile(quantized, device="npu,dsp,cpu", codegen="llvm")
    assert isinstance(program, HybridProgram)
    assert {step.target for step in program.steps} == {"npu", "dsp", "cpu"}
    for image in np.load(EXAMPLES / "digits_test.npz")["input"][:4]:
        _same(program({"input": image[None]}), qmlir.interpret(quantized, {"input": image[None]}))


_OPEN = """
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
builtin.module attributes {target.specs = [#target.spec<"npu", supports =
    [{op = "nn.fully_connected"}, {op = "nn.relu"}]>]} {
  func.func @main(%x: tensor<?x4x!x> {nn.name = "x", nn.dims = ["batch", ""]}) -> (tensor<?x2x!x> {nn.name = "y"}) {
    %w = nn.constant dense<[[1, -2, 3, 4], [5, 6, -7, 8]]> : tensor<2x4xi8> -> tensor<2x4x!w>
    %0 = nn.fully_connected %x, %w : (tensor<?x4x!x>, tensor<2x4x!w>) -> tensor<?x2x!x> {origin = "fc"}
    %1 = nn.relu %0 : tensor<?x2x!x> {origin = "relu"}
    %2 = nn.mul %1, %1 : (tensor<?x2x!x>, tensor<?x2x!x>) -> tensor<?x2x!x> {origin = "square"}
    func.return %2 : tensor<?x2x!x>
  }
}
"""


def _rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(-128, 128, (count, 4)).astype(np.int8)


def test_open_sizes_are_compiled_when_they_are_seen() -> None:
    module = _parsed(_OPEN)
    program = qmlir.compile(partition(module).module, codegen="llvm")
    for count in (3, 1, 3):
        _same(program([_rows(count)]), qmlir.interpret(module, [_rows(count)]))
    with pytest.raises(DiagnosticError, match=r"the program has dynamic dimensions; fix them with --shape \(shapes=\)"):
        program.save("nowhere")


def test_a_saved_program_has_what_targets_emit_beside_it(tmp_path: Path) -> None:
    module = specialize(_parsed(_OPEN), {"x": (2, 4)})
    program = qmlir.compile(partition(module).module)
    folder = tmp_path / "program"
    program.save(folder)
    assert [step.name for step in program.steps] == ["main_npu_0", "main_cpu_0"]
    assert (folder / "main_npu_0.npu.txt").read_text().startswith("main_npu_0: ")
    assert "kernel.matmul" in (folder / "main_npu_0.npu.txt").read_text()
    assert (folder / "main_cpu_0" / "kernels.py").is_file()
    assert repr(program).splitlines()[1:] == [
        "takes x: 2x4 i8, scale 0.25, zero point 0", "gives y: 2x2 i8, scale 0.25, zero point 0",
        "part main_npu_0: npu", "part main_cpu_0: cpu",
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"program\(\{'x': …\}\)"):
        program(x=_rows(2))
    again = qmlir.load_program(folder)
    assert type(again).__name__ in qmlir.load_program.__annotations__["return"].split(" | ")
    _same(again([_rows(2)]), qmlir.interpret(module, [_rows(2)]))
    (folder / "notes.txt").write_text("the user's")
    program.save(folder)
    assert (folder / "notes.txt").read_text() == "the user's"
    _same(qmlir.load_program(folder)([_rows(2)]), qmlir.interpret(module, [_rows(2)]))


def test_a_program_is_saved_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = qmlir.compile(partition(specialize(_parsed(_OPEN), {"x": (2, 4)})).module, codegen="llvm")

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("qmlir.targets.heterogeneous.Program.write", full)
    with pytest.raises(DiagnosticError, match=r"cannot write '.*program': no space left$"):
        program.save(tmp_path / "program")
    assert list(tmp_path.iterdir()) == []


_TEXT = """
!x = !quant.uniform<i4:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
  func.func @main(%x: tensor<2x!x> {nn.name = "x"}, %unused: tensor<3xi1>, %free: tensor<3xi1> {nn.name = "b"})
      -> (tensor<2x!x> {nn.name = "y"}, tensor<3xi1> {nn.name = "same"}, tensor<2x!x> {nn.name = "known"},
          tensor<3xi1> {nn.name = "other"}) {
    %c = nn.constant dense<[3, -8]> : tensor<2xi4> -> tensor<2x!x>
    %0 = nn.add %x, %c : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x>
    %1 = nn.sigmoid %0 : (tensor<2x!x>) -> tensor<2x!x>
    %2 = nn.relu %1 : tensor<2x!x>
    %3 = nn.not %free : tensor<3xi1>
    func.return %2, %free, %c, %3 : tensor<2x!x>, tensor<3xi1>, tensor<2x!x>, tensor<3xi1>
  }
}
"""


def _parsed(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text, "test.mlir")


def test_inputs_constants_and_booleans_pass_through() -> None:
    module = _parsed(_TEXT)
    program = qmlir.compile(partition(module).module, codegen="llvm")
    inputs = [np.array([-8, 7], np.int8), np.array([True, False, True]), np.array([False, False, True])]
    expected = qmlir.interpret(module, inputs)
    _same(program(inputs), expected)
    outputs = {"y": np.empty(2, np.int8)}
    assert program(inputs, outputs)["y"] is outputs["y"]
    np.testing.assert_array_equal(outputs["y"], expected["y"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros(3, np.int8)}, "input 'x' must have shape 2, but got 3"),
        ({"x": np.zeros(2, np.float32)}, "input 'x' must be int8, but got float32"),
        ({"z": np.zeros(2, np.int8)}, "the program has no input 'z'"),
    ],
)
def test_inputs_that_do_not_fit(change: dict[str, np.ndarray], message: str) -> None:
    program = qmlir.compile(partition(_parsed(_TEXT)).module, codegen="llvm")
    inputs = {"x": np.zeros(2, np.int8), "input1": np.zeros(3, bool), "b": np.zeros(3, bool)}
    with pytest.raises(InputError, match=message):
        program({**inputs, **change})


_STORED = ("i1", "u1", "i2", "u2", "i3", "i4", "u4", "i8", "u8", "i12", "u16", "i32", "f8E4M3FN", "f8E5M2", "f6E2M3FN",
           "f4E2M1FN")  # fmt: skip
"""Types of stored values, most of which do not fill the elements of NumPy that hold them."""


def _cut(stored: str, first: str, second: str) -> ModuleOp:
    """A program of two targets that hand on values of a stored type, which go in and come out, too."""
    return _parsed(f"""
!x = !quant.uniform<{stored}:f32, 0.5>
builtin.module {{
  func.func @main(%x: tensor<2x4xf32> {{nn.name = "x"}}, %same: tensor<2x4x!x> {{nn.name = "same"}},
                  %unused: tensor<2x4x!x> {{nn.name = "unused"}})
      -> (tensor<2x4xf32> {{nn.name = "y"}}, tensor<2x4x!x> {{nn.name = "q"}}, tensor<2x4x!x> {{nn.name = "s"}}) {{
    %0 = func.call @main_a_0(%x) : (tensor<2x4xf32>) -> tensor<2x4x!x>
    %1 = func.call @main_b_0(%0) : (tensor<2x4x!x>) -> tensor<2x4xf32>
    func.return %1, %0, %same : tensor<2x4xf32>, tensor<2x4x!x>, tensor<2x4x!x>
  }}
  func.func private @main_a_0(%x: tensor<2x4xf32>) -> tensor<2x4x!x> attributes {{{PART} = "{first}"}} {{
    %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!x>
    func.return %0 : tensor<2x4x!x>
  }}
  func.func private @main_b_0(%x: tensor<2x4x!x>) -> tensor<2x4xf32> attributes {{{PART} = "{second}"}} {{
    %0 = quant.dcast %x : tensor<2x4x!x> to tensor<2x4xf32>
    func.return %0 : tensor<2x4xf32>
  }}
}}
""")


@pytest.mark.parametrize("order", [("cpu", "interpreter"), ("interpreter", "cpu")])
@pytest.mark.parametrize("stored", _STORED)
def test_values_of_every_stored_type_are_handed_on(stored: str, order: tuple[str, str], tmp_path: Path) -> None:
    module = _cut(stored, *order)
    program = qmlir.compile(module, codegen="llvm")  # the fastest to compile
    assert isinstance(program, HybridProgram)
    x = np.linspace(-5, 5, 8, dtype=np.float32).reshape(2, 4)
    (_, quantized, _) = (port.dtype for port in program.outputs)
    inputs = [x, np.zeros((2, 4), quantized), np.zeros((2, 4), quantized)]
    program.save(tmp_path / "program")
    for each in (program, qmlir.load_program(tmp_path / "program"), pickle.loads(pickle.dumps(program))):
        _same(each(inputs), qmlir.interpret(module, inputs))


@pytest.mark.parametrize("name", ["same", "unused"])
@pytest.mark.parametrize(
    ("stored", "code", "said"),
    [
        ("i4", 8, r"\[-8, 7\], but got 8"),
        ("i4", 0xF7, r"\[-8, 7\], but got -9"), ("u4", 16, r"\[0, 15\], but got 16"),
        ("i2", 2, r"\[-2, 1\], but got 2"), ("i1", 1, r"\[-1, 0\], but got 1"), ("u1", 2, r"\[0, 1\], but got 2"),
        ("f4E2M1FN", 16, r"\[0, 15\], but got 16"), ("f6E2M3FN", 64, r"\[0, 63\], but got 64"),
    ],
)  # fmt: skip
def test_what_is_no_value_of_its_type_is_refused_at_the_door(stored: str, code: int, said: str, name: str) -> None:
    """By an input that no part reads, too, as by a program of one target."""
    module = _cut(stored, "cpu", "interpreter")
    whole = without_calls(module)
    program, single = (qmlir.compile(each, codegen="llvm") for each in (module, whole))
    dtype = next(port.dtype for port in program.inputs if port.name == name)
    inputs = {"x": np.zeros((2, 4), np.float32), **dict.fromkeys(("same", "unused"), np.zeros((2, 4), dtype))}
    wrong = np.zeros((2, 4), np.uint8)
    wrong[1, 2] = code
    inputs[name] = wrong.view(dtype)
    for each in (program, single):
        with pytest.raises(InputError, match=rf"^input '{name}' must be in {said} at \[1, 2\]$"):
            each(inputs)
    with pytest.raises(
        DiagnosticError, match=rf"test.mlir:4:3: error: .*input '{name}' must be in {said} at \[1, 2\]$"
    ):
        qmlir.interpret(module, inputs)


@pytest.mark.parametrize("copied", [deepcopy, lambda program: pickle.loads(pickle.dumps(program))])
def test_copies(copied: Any) -> None:
    program = qmlir.compile(partition(_parsed(_TEXT)).module, codegen="llvm")
    inputs = [np.array([1, -2], np.int8), np.array([True, False, True]), np.zeros(3, bool)]
    expected, found = program(inputs), copied(program)(inputs)
    assert list(found) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


def test_outputs_that_do_not_fit() -> None:
    program = qmlir.compile(partition(_parsed(_TEXT)).module, codegen="llvm")
    inputs = [np.zeros(2, np.int8), np.zeros(3, bool), np.zeros(3, bool)]
    with pytest.raises(InputError, match="no output 'z'"):
        program(inputs, {"z": np.zeros(2, np.int8)})
    with pytest.raises(
        InputError, match="outputs must be a dict of arrays by name, but got int; help: pass several inputs as one list"
    ):
        program(inputs, 3)
    with pytest.raises(InputError, match="output 'y' must be an array to write to, but got list"):
        program(inputs, {"y": [0, 0]})
    with pytest.raises(InputError, match="output 'y' must be int8 of shape 2, but got int8 of shape 3"):
        program(inputs, {"y": np.zeros(3, np.int8)})


def test_a_call_of_what_is_no_part() -> None:
    module = _parsed("""
    func.func private @callee(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @callee(%x) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    """)
    with pytest.raises(DiagnosticError, match="calls @callee, which is not a part; inline it before partitioning"):
        compile_parts(module, "main", ExecutionOptions())


@pytest.mark.parametrize(
    "name", ["../outside", "/tmp/outside", "a/b", "..", ".hidden", "", "x" * 3000, "a\\00b", "a\\0Ab"]
)
def test_names_of_parts_lead_nowhere_else(name: str) -> None:
    """A saved program has a folder for each part of the host, and files of what targets emit, by their names."""
    module = _parsed(f"""
    func.func private @"{name}"(%x: tensor<2xf32>) -> tensor<2xf32> attributes {{{PART} = "cpu"}} {{
      func.return %x : tensor<2xf32>
    }}
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
      %0 = func.call @"{name}"(%x) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }}
    """)
    with pytest.raises(DiagnosticError, match=r"whose name must consist of letters, digits, '_', '-' and '\.'"):
        compile_parts(module, "main", ExecutionOptions())


def _descriptions(module: ModuleOp, seed: int) -> list[Description]:
    """Two devices of which each computes some of the kinds of operations of a module."""
    kinds = sorted({op.name for op in module.walk() if op.name.startswith(("nn.", "quant."))})
    random = np.random.default_rng(seed)
    chosen = [[kind for kind in kinds if random.random() < share] for share in (0.4, 0.3)]
    return [
        Description(name, supports=tuple(Support(kind) for kind in each))
        for name, each in zip(("npu", "dsp"), chosen, strict=True)
    ]


@pytest.mark.parametrize("seed", seeds(3, 60))
def test_random_graphs(seed: int) -> None:
    case = case_of(seed)
    divided = case.module.clone()
    (report,) = divide(divided, _descriptions(case.module, seed), Preferences())
    expected = qmlir.interpret(case.module, case.inputs)
    _same(qmlir.interpret(divided, case.inputs), expected)
    assert len(report.stays) + sum(part.operations for part in report.parts) > 0
    _same(compile_parts(divided, "main", ExecutionOptions(isa="generic", tuned=False))(case.inputs), expected)
