"""Parsing never ends otherwise than with a module or a one-line error; weights are checked."""

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save
from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    Float16Type,
    Float32Type,
    Float64Type,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    UnknownLoc,
    f32,
)
from xdsl.ir import Attribute
from xdsl.printer import Printer

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.equivalence import equivalent
from qmlir.ir.verification import verify
from qmlir.text.parsing import load_module, parse_module
from qmlir.text.printing import ModulePrinter, PrintOptions, Weights, module_text, op_excerpt, save_module
from qmlir.text.sources import split_source

ENVIRONMENT = default_environment()
FILES = Path(__file__).resolve().parents[2] / "filecheck"
SAMPLES = sorted((FILES / "dialects").rglob("ops.mlir"))
UPSTREAM = sorted(path for path in (FILES / "interpreter" / "upstream").glob("*.mlir") if "invalid" not in path.stem)


def _parse(text: str) -> ModuleOp | None:
    try:
        module = parse_module(ENVIRONMENT.new_context(), text, "input.mlir")
        verify(module)
    except DiagnosticError as error:
        complaint = error
    else:
        return module
    assert "\n" not in str(complaint)
    assert complaint.diagnostic.location is not None
    return None


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("cuts", [150, pytest.param(2000, marks=pytest.mark.sweep)])
def test_every_truncation(path: Path, cuts: int) -> None:
    """At places all over the text, which come to lie in every kind of token."""
    text = "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("//"))
    step = max(1, len(text) // cuts)
    for end in range(0, len(text), step):
        _parse(text[:end])


@settings(max_examples=300)
@given(st.sampled_from(SAMPLES), st.data())
def test_random_damage(path: Path, data: st.DataObject) -> None:
    text = path.read_text()[:1500]
    position = data.draw(st.integers(0, len(text) - 1))
    junk = data.draw(st.text(alphabet='<>{}[]():,"!#%@ -=0x9efnq\n\\é', max_size=6))
    length = data.draw(st.integers(0, 8))
    _parse(text[:position] + junk + text[position + length :])


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("generic", [False, True])
def test_text_reads_back_as_the_same_module(path: Path, generic: bool) -> None:
    module = _parse(path.read_text())
    assert module is not None
    text = module_text(module, PrintOptions(generic=generic, weights=Weights.INLINE))
    again = _parse(text)
    assert again is not None
    assert equivalent(module, again)
    assert module_text(again, PrintOptions(generic=generic, weights=Weights.INLINE)) == text


def _positions(module: ModuleOp, kind: str) -> list[Attribute]:
    """The locations of all operations, or those of all arguments of blocks."""
    if kind == "operations":
        return [op.location for op in module.walk()]
    return [
        arg.location for op in module.walk() for region in op.regions for block in region.blocks for arg in block.args
    ]


@pytest.mark.parametrize("path", [*SAMPLES, *UPSTREAM], ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize("generic", [False, True])
def test_locations_read_back(path: Path, generic: bool) -> None:
    for chunk in split_source(path.read_text()):
        module = parse_module(ENVIRONMENT.new_context(), chunk.text, 'a "größer".mlir')
        named = NameLoc(StringAttr("#x"), FileLineColLoc(StringAttr("b"), IntAttr(0), IntAttr(0)))
        module.location = FusedLoc((named, CallSiteLoc(named, UnknownLoc())), StringAttr("meta"))
        for number, op in enumerate(module.walk()):
            for region in op.regions:
                for block in region.blocks:
                    for arg in block.args:
                        arg.location = FileLineColLoc(StringAttr("arg"), IntAttr(number), IntAttr(arg.index))
        text = module_text(module, PrintOptions(generic=generic, debuginfo=True, weights=Weights.INLINE))
        again = parse_module(ENVIRONMENT.new_context(), text, "again.mlir")
        assert equivalent(module, again)
        assert _positions(again, "operations") == _positions(module, "operations")
        # The syntax of loops has no place for those of their arguments, upstream neither.
        for mine, other in zip(_positions(module, "arguments"), _positions(again, "arguments"), strict=True):
            assert other == mine or (not generic and other == UnknownLoc())


def _in_attribute(text: str) -> str:
    return f'"test.op"() {{a = {text}}} : () -> ()'


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        (_in_attribute("dense<[1, 2 |: tensor<2xi32>"), "']' expected"),
        (_in_attribute("dense<[1, 2]> |tensor<2xi32>"), "Expected ':' in dense attribute"),
        (_in_attribute("dense<[1, 2]> : i32|"), "Expected memref, vector or tensor type"),
        (_in_attribute("dense<[1, |x]> : tensor<2xi32>"), "Expected either a float, integer, or complex literal"),
        (_in_attribute("dense<[1, |true]> : tensor<2xi32>"), "Boolean values are only allowed for i1 types"),
        (_in_attribute("array<|index: 1>"), "dense array element type must be an integer or floating point type"),
        (_in_attribute("array<i8 |1>"), "':' expected in dense array"),
        (_in_attribute("array<i8: 1, |300>"), "300"),
        (_in_attribute("array<f32: |1>"), "Expected float literal"),
        (_in_attribute("array<f16: 0x7C00, |0x10000>"), ""),
        (_in_attribute("dense_resource<|1> : tensor<1xi8>"), "identifier expected for resource handle"),
        ("module {} loc(|1)", "Unexpected location syntax."),
        ('module {} loc(fused["a", callsite("b" |"c")])', "Expected 'at'"),
        ("#a = 1 : i8\nmodule {} loc(#a|)", "Expected location alias."),
        ("!t = i8\n!t |= i16\nmodule {}", "re-declaration of alias '!t'"),
        ("module {}\n|^a:", "Could not parse entire input!"),
        (
            'func.func @f() {\n  "cf.br"()[^a] : () -> ()\n^a:\n  func.return\n|^a:\n  func.return\n}',
            "redefinition of block '^a'",
        ),
    ],
)
def test_an_error_has_its_line_and_column(marked: str, message: str) -> None:
    before, _, after = marked.partition("|")
    with pytest.raises(DiagnosticError) as caught:
        parse_module(ENVIRONMENT.new_context(allow_unregistered=True), before + after, "input.mlir")
    found = caught.value.diagnostic
    assert message in found.message
    assert found.location is not None
    assert (found.location.line, found.location.column) == (
        before.count("\n") + 1,
        len(before) - (before.rfind("\n") + 1) + 1,
    )


@pytest.mark.parametrize("text", ["", "!t = i8", "#a = loc(unknown)", "{-# dialect_resources: {builtin: {}} #-}"])
def test_a_text_without_operations_is_an_empty_module(text: str) -> None:
    assert not parse_module(ENVIRONMENT.new_context(), text).ops


@pytest.mark.parametrize("rest", ["}\n", '\\q" }', '\\" }', '\\"'])
def test_a_bad_string_is_found_at_once(rest: str) -> None:
    assert _parse('func.func @f() attributes {a = "' + "a\\\\b" * 1000 + rest) is None


def test_deep_nesting_is_an_error() -> None:
    assert _parse("func.func @f(" + "tensor<" * 3000) is None


FLOATS = {np.float16: Float16Type(), np.float32: Float32Type(), np.float64: Float64Type()}


@settings(max_examples=300)
@given(st.sampled_from([np.float16, np.float32, np.float64]), st.data())
def test_floats_keep_every_bit(dtype: type[np.floating], data: st.DataObject) -> None:
    width = np.dtype(dtype).itemsize
    bits = data.draw(st.lists(st.integers(0, 2 ** (8 * width) - 1), min_size=1, max_size=20))
    array = np.array(bits, dtype=f"u{width}").view(dtype)
    module = ModuleOp([ConstantOp.of(array, TensorType(FLOATS[dtype], array.shape))])
    again = _parse(module_text(module, PrintOptions(weights=Weights.INLINE)))
    assert again is not None
    constant = again.body.block.first_op
    assert isinstance(constant, ConstantOp)
    assert constant.array.tobytes() == array.tobytes()


@pytest.fixture(params=[1 << 20, 1], ids=["read", "mapped"])
def saved(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in ("files", "weights"):
        monkeypatch.setattr(f"qmlir.text.{module}.MAPPED", request.param)
    array = np.arange(2048, dtype=np.float32)
    constants = [ConstantOp.of(array, TensorType(f32, shape)) for shape in ([2048], [2, 1024], [2048])]
    path = tmp_path / "model.mlir"
    save_module(ModuleOp(constants), path, PrintOptions(weights=Weights.SIDECAR))
    return path


def _load_error(path: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        load_module(ENVIRONMENT.new_context(), path)
    assert caught.value.diagnostic.location is not None
    return caught.value.diagnostic.message


def test_weights_come_back_and_are_kept_once(saved: Path) -> None:
    module = load_module(ENVIRONMENT.new_context(), saved)
    constants = [op for op in module.walk() if isinstance(op, ConstantOp)]
    assert [constant.array.shape for constant in constants] == [(2048,), (2, 1024), (2048,)]
    assert all((constant.array.ravel() == np.arange(2048)).all() for constant in constants)
    assert saved.with_suffix(".safetensors").stat().st_size < 2 * 4 * 2048
    assert sorted(path.name for path in saved.parent.iterdir()) == ["model.mlir", "model.safetensors"]


def test_weights_are_written_as_the_library_writes_them(tmp_path: Path) -> None:
    arrays = [np.arange(300 + position, dtype=np.float32) for position in range(12)]
    constants = [ConstantOp.of(each, TensorType(f32, each.shape)) for each in arrays]
    save_module(ModuleOp(constants), tmp_path / "model.mlir", PrintOptions(weights=Weights.SIDECAR))
    held = {f"w{position}": each.view(np.uint8) for position, each in enumerate(arrays)}
    assert (tmp_path / "model.safetensors").read_bytes() == save(held)


def test_altered_weights(saved: Path) -> None:
    weights = saved.with_suffix(".safetensors")
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert "was modified: its digest differs; write the module again" in _load_error(saved)


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, b"\x10\x00\x00\x00\x00\x00\x00\x00{"])
def test_weights_of_another_format(saved: Path, content: bytes) -> None:
    saved.with_suffix(".safetensors").write_bytes(content)
    assert "is not a safetensors file" in _load_error(saved)


def test_cut_off_weights(saved: Path) -> None:
    weights = saved.with_suffix(".safetensors")
    weights.write_bytes(weights.read_bytes()[:-10])
    assert "is not a safetensors file" in _load_error(saved)


@pytest.mark.parametrize("name", ["../other.safetensors", "/etc/hostname", "sub/../../x.safetensors"])
def test_weights_outside_the_folder(saved: Path, name: str) -> None:
    text = saved.read_text().replace("model.safetensors", name)
    saved.write_text(text)
    assert "must be in the folder of the module" in _load_error(saved)


def test_link_out_of_the_folder(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    weights = saved.with_suffix(".safetensors")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "weights"
    weights.rename(elsewhere)
    weights.symlink_to(elsewhere)
    assert "must be in the folder of the module" in _load_error(saved)


def test_missing_key_and_size(saved: Path) -> None:
    text = saved.read_text()
    saved.write_text(text.replace('"w0"', '"w7"'))
    assert "has no tensor 'w7'" in _load_error(saved)
    saved.write_text(text.replace("tensor<2048xf32>", "tensor<2047xf32>"))
    assert "must have 8188 bytes (tensor<2047xf32>), but got 8192" in _load_error(saved)


def test_nothing_is_left_where_a_file_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "model.mlir"
    folder.mkdir()
    with pytest.raises(DiagnosticError, match="cannot write"):
        save_module(ModuleOp([]), folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model.mlir"]


def test_excerpt_is_short() -> None:
    array = np.zeros(1 << 20, dtype=np.float32)
    constant = ConstantOp.of(array, TensorType(f32, [1 << 20]))
    ModuleOp([constant])
    assert len(op_excerpt(constant)) < 300


@pytest.mark.parametrize("data", [b"", *(bytes([byte]) for byte in range(256)), bytes(range(256))])
def test_bytes_print_as_those_of_xdsl(data: bytes) -> None:
    streams = [StringIO(), StringIO()]
    for printer, stream in zip((Printer(), ModulePrinter(PrintOptions())), streams, strict=True):
        printer.stream = stream
        printer.print_bytes_literal(data)
    assert streams[0].getvalue() == streams[1].getvalue()
