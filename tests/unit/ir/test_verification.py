"""The verifier on what no text can say, and on a module of real size."""

import cProfile

import numpy as np
import pytest
from xdsl.dialects import test as anything
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import dense
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.provenance import Origin, set_origins
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module


def _message(module: ModuleOp) -> str:
    with pytest.raises(DiagnosticError) as caught:
        verify(module)
    return caught.value.diagnostic.message


def test_a_value_that_was_erased() -> None:
    source, user = anything.TestOp(result_types=[i32]), anything.TestOp()
    user.operands = source.results
    set_origins(user, [Origin("fc1")])
    module = ModuleOp([source, user])
    source.detach()
    source.erase(safe_erase=False)
    assert _message(module) == "'test.op' op (fc1) uses a value that was erased"


def test_a_branch_out_of_its_region() -> None:
    elsewhere = Block()
    Region([Block([anything.TestOp()]), elsewhere])
    module = ModuleOp([anything.TestOp(regions=[Region(Block([anything.TestTermOp(successors=[elsewhere])]))])])
    assert _message(module) == "'test.termop' op must not branch to a block of another region"


def test_the_error_does_not_hold_the_module() -> None:
    weights = np.zeros((5000, 5000), np.float32)
    constant = ConstantOp(dense(weights.tobytes(), TensorType(f32, weights.shape)))
    wrong = ReluOp.create(operands=[constant.result], result_types=[TensorType(f32, [7])])
    module = ModuleOp([FuncOp("main", ((), ()), Region(Block([constant, wrong, ReturnOp()])))])
    with pytest.raises(DiagnosticError) as caught:
        verify(module)
    assert len(str(caught.value)) < 500
    assert not getattr(caught.value, "__notes__", [])


def test_calls_grow_with_the_operations() -> None:
    def calls(count: int) -> int:
        chain = "\n".join(f"  %{number + 1} = nn.relu %{number} : tensor<2xf32>" for number in range(count))
        source = f"func.func @main(%0: tensor<2xf32>) {{\n{chain}\n  func.return\n}}"
        module = parse_module(default_environment().new_context(), source)
        profile = cProfile.Profile()
        profile.runcall(verify, module)
        return sum(entry.callcount for entry in profile.getstats())

    once = calls(500)
    assert calls(2000) <= 4.1 * once
