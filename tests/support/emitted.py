"""Emitted modules in tests: written to a file, imported beside the tree's own runtime, and run on arrays."""

import importlib.util
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.memref import GlobalOp

from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import as_dense
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.targets.cpu.emitters.llvm.emit import emit_module as emit_ir
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.emitters.program import constants_of
from qmlir.targets.cpu.host import host_processor
from qmlir.targets.cpu.package import IR_PROGRAM, load_package, write_package
from qmlir.targets.cpu.runtime.machine_code import compiled_objects, facts_of, header_of, host_machine, made
from qmlir.targets.cpu.runtime.program import places_of
from qmlir.text.elements import dense_array
from qmlir.text.parsing import parse_module

_numbers = itertools.count()


def parsed(text: str) -> ModuleOp:
    """A verified module."""
    module = parse_module(default_environment().new_context(), text, "test.mlir")
    verify(module)
    return module


def divided(module: ModuleOp) -> ModuleOp:
    """`module` with its parallel loops divided among the threads of its target."""
    passes = parse_pipeline("kernel-mark-read-only,team-divide", default_environment().passes)
    PassManager(default_environment().new_context(), passes).run(module)
    return module


def imported(source: str, folder: Path) -> ModuleType:
    """The emitted module, compiled."""
    name = f"emitted_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(f"qmlir.targets.cpu.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flat(array: Any) -> Any:
    """An array as compiled code takes it."""
    array = np.ascontiguousarray(array).reshape(-1)
    if array.dtype.kind in "ub":
        return array.view(f"i{array.itemsize}")
    return array.view(np.uint16) if array.dtype.kind in "fV" and array.itemsize == 2 else array


def compiled_by_llvm(module: ModuleOp, _: Path) -> Any:
    """The module by the emitter `llvm`, compiled."""
    text = emit_ir(module, host_processor())
    objects = compiled_objects(text, host_machine())
    return made(header_of(facts_of(text), "", objects), b"".join(objects), Path("test.ll"))


def compiled_by_numba(module: ModuleOp, folder: Path) -> Any:
    """The module by the emitter `numba`, compiled."""
    return imported(emit_module(module), folder)


EMITTERS: Mapping[str, Callable[[ModuleOp, Path], Any]] = {"numba": compiled_by_numba, "llvm": compiled_by_llvm}
"""By name: what compiles a module of loops."""


def write_emitted(folder: Path, module: ModuleOp, emitter: str = "numba") -> None:
    """Write the package of a module of loops by an emitter into `folder`, which exists."""
    if emitter == "llvm":
        write_package(folder, emit_ir(module, host_processor()), constants_of(module), form=IR_PROGRAM)
    else:
        write_package(folder, emit_module(module), constants_of(module))


def loaded(module: ModuleOp, folder: Path, emitter: str = "llvm") -> Any:
    """The program of a module of loops, written into `folder`. The default emitter is the one that compiles faster."""
    write_emitted(folder, module, emitter)
    return load_package(folder, f"emitted_{next(_numbers)}").program


def compiled_outputs(module: ModuleOp, inputs: Sequence[Any], folder: Path, emitter: str = "numba") -> dict[str, Any]:
    """The outputs of @main by name, computed by the compiled module."""
    code = EMITTERS[emitter](module, folder)
    values = {op.sym_name.data: as_dense(op.initial_value) for op in module.ops if isinstance(op, GlobalOp)}
    constants = [flat(dense_array(dense)) for name, *_ in code.CONSTANTS if (dense := values[name]) is not None]
    outputs = {name: np.zeros(shape, dtype) for name, dtype, shape, *_ in code.OUTPUTS}
    arena = np.full(code.ARENA_BYTES, 0x55, np.int8)
    targets = [flat(each) for each in outputs.values()]
    code.main(arena, places_of(constants), *map(flat, inputs), *targets)
    return {
        name: target.view(array.dtype).reshape(array.shape)
        for (name, array), target in zip(outputs.items(), targets, strict=True)
    }


def _same(array: Any, wanted: Any) -> Any:
    """Where two arrays of one type hold the same bits, or both NaN."""
    bits = f"u{array.itemsize}"
    same = array.view(bits) == wanted.view(bits)
    if array.dtype.kind in "iub":
        return same
    with np.errstate(invalid="ignore"):
        return same | (np.isnan(array.astype(np.float64)) & np.isnan(wanted.astype(np.float64)))


def assert_equal_outputs(
    module: ModuleOp, inputs: Sequence[Any], folder: Path, reference: ModuleOp | None = None
) -> None:
    """Hold the module compiled by each emitter against the interpreter, bit for bit; every NaN equals every other.

    The interpreter runs `reference`, where it is given.
    """
    expected = interpret(module if reference is None else reference, list(inputs))
    for emitter in EMITTERS:
        assert_same(compiled_outputs(module, inputs, folder, emitter), expected, emitter)


def assert_same(found: Mapping[str, Any], expected: Mapping[str, Any], emitter: str) -> None:
    assert list(found) == list(expected)
    for name, array in found.items():
        wanted = expected[name]
        assert array.dtype == wanted.dtype
        same = _same(array, wanted)
        wrong = np.argwhere(~np.asarray(same))
        assert not wrong.size, f"{emitter}: {name}{wrong[0]}: {array[tuple(wrong[0])]} for {wanted[tuple(wrong[0])]}"
