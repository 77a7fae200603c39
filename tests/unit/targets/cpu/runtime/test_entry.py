"""Compiled code is called with few arguments, and with more than ctypes passes one by one."""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import llvmlite.binding as llvm
import numpy as np
import pytest

from qmlir.targets.cpu.runtime.entry import entry, entry_engine

KINDS = {"i1": "i1", "i8": "i8", "index": "i64", "f32": "float", "f64": "double"}


@pytest.mark.parametrize("count", [3, 1200])
def test_arguments_of_every_kind(count: int) -> None:
    """Code that stores its scalars, which follow an array of each, in these arrays."""
    names = [list(KINDS)[position % len(KINDS)] for position in range(count)]
    taken, body = ["ptr %r", "ptr %e"], list[str]()
    for position, name in enumerate(names):
        held = "i8" if name == "i1" else KINDS[name]
        taken.append(
            f"ptr %o{position}, ptr %p{position}, i64 %n{position}, i64 %z{position}, "
            f"ptr %d{position}, i64 %s{position}"
        )
        taken += [f"i64 %t{position}", f"{KINDS[name]} %v{position}"]
        if name == "i1":
            body.append(f"%w{position} = zext i1 %v{position} to i8")
        body.append(f"store {held} %{'w' if name == 'i1' else 'v'}{position}, ptr %d{position}")
    text = f"define i32 @stores{count}({', '.join(taken)}) {{\n" + "\n".join([*body, "ret i32 0"]) + "\n}"
    engine = entry_engine()
    engine.add_module(llvm.parse_assembly(text))
    engine.finalize_object()
    kinds = {"i1": "bool", "i8": "int8", "index": "int64", "f32": "float32", "f64": "float64"}
    arrays = [np.zeros(1, kinds[name]) for name in names]
    scalars = [position % 2 == 1 if name == "i1" else position % 100 - 50 for position, name in enumerate(names)]
    words = [word for name in names for word in (kinds[name], f"value {name}")]
    call = entry(engine.get_function_address(f"stores{count}"), words)
    call(*(each for pair in zip(arrays, scalars, strict=True) for each in pair))
    assert [array[0] for array in arrays] == scalars
