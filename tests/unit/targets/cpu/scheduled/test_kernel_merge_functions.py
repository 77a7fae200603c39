"""Shared kernels compute, bit for bit, what each of them did, for numbers of every type."""

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.text.parsing import parse_module

KERNEL = """
func.func private @kernel_{number}(
    %x: memref<4x{type}>, %y: memref<4x{type}> {{kernel.may_overwrite = array<i64: 0>}}) {{
  linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
      ins(%x : memref<4x{type}>) outs(%y : memref<4x{type}>) {{
  ^bb0(%a: {type}, %old: {type}):
    %common = arith.constant {common} : {type}
    %own = arith.constant {own} : {type}
    %0 = arith.{multiply} %a, %own : {type}
    %1 = arith.{add} %0, %common : {type}
    linalg.yield %1 : {type}
  }}
  func.return
}}
"""
MAIN = """
func.func @main(%x: memref<4x{type}>, %y: memref<4x{type}> {{nn.result}}) {{
  func.call @kernel_0(%x, %y) : (memref<4x{type}>, memref<4x{type}>) -> ()
  func.call @kernel_1(%y, %y) : (memref<4x{type}>, memref<4x{type}>) -> ()
  func.call @kernel_2(%y, %y) : (memref<4x{type}>, memref<4x{type}>) -> ()
  func.return
}}
"""


@pytest.mark.parametrize(
    ("type_", "common", "owns"),
    [
        ("i8", "3", ("-128", "127", "-1")),
        ("i16", "-300", ("7", "-32768", "0")),
        ("i32", "5", ("2147483647", "-1", "-2147483648")),
        ("i64", "1", ("-9223372036854775808", "3", "3")),
        ("f16", "0.5", ("0.1", "-0.0", "0.0")),
        ("f32", "-0.0", ("0.1", "1.0e-30", "-0.0")),
        ("f64", "1.0", ("0.1", "0.2", "0.3")),
    ],
)
def test_same_bits(type_: str, common: str, owns: tuple[str, ...]) -> None:
    names = ("mulf", "addf") if type_.startswith("f") else ("muli", "addi")
    kernels = "".join(
        KERNEL.format(type=type_, number=number, common=common, own=own, multiply=names[0], add=names[1])
        for number, own in enumerate(owns)
    )
    environment = default_environment()
    context = environment.new_context()
    module = parse_module(context, kernels + MAIN.format(type=type_), "test.mlir")
    shared = module.clone()
    PassManager(context, parse_pipeline("kernel-merge-functions", environment.passes)).run(shared)
    assert [op.sym_name.data for op in shared.ops if isinstance(op, FuncOp)] == ["kernel_0", "main"]
    x = np.array([-3, 0, 1, 100], np.dtype(type_.replace("i", "int").replace("f", "float")))
    (expected,), (found,) = (list(interpret(each, [x]).values()) for each in (module, shared))
    assert found.tobytes() == expected.tobytes()
