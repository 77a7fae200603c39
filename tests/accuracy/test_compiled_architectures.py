"""Real architectures with random weights, quantized to 8 bits: compiled programs have the interpreter's integers.

Softmax of random logits is nearly one-hot, and tells little. So the logits are outputs too, and with them every value
that several operations read: what residuals, concatenations and branches join. Those are in memory anyway: each gets
one copy in the caller's layout, and the operations are fused as they are without.
"""

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

import qmlir
from benchmarks.architectures import ARCHITECTURES, random_inputs, with_random_weights
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from qmlir.ir.verification import verify
from qmlir.specialization.inputs import function_of

SAMPLES = 2
"""Images that the ranges of values come from; a third one is compared."""

SMALL = "squeezenet"
"""The one of the ordinary run of the referees; each of the others takes 10 s to 80 s."""


def _is_shown(value: SSAValue) -> bool:
    """Whether a quantized value is worth an output of its own: no constant, and read by several or by a softmax."""
    readers = {use.operation for use in value.uses}
    return (
        (type_ := ranked_tensor(value.type)) is not None
        and isinstance(type_.get_element_type(), UniformQuantizedType)
        and not isinstance(value.owner, ConstantOp)
        and (len(readers) > 1 or any(isinstance(reader, SoftmaxOp) for reader in readers))
        and not any(isinstance(reader, ReturnOp) for reader in readers)
    )


def show_values(module: ModuleOp) -> int:
    """Add such values to the outputs of `main`; how many there are."""
    function = function_of(module, "main")
    end = function.body.block.last_op
    assert isinstance(end, ReturnOp)
    shown = [result for op in function.body.block.ops for result in op.results if _is_shown(result)]
    ports = [Port(f"shown{position}", value.type) for position, value in enumerate(shown)]
    inputs, outputs = inputs_of(function), [*outputs_of(function), *ports]
    function.body.block.insert_op_before(ReturnOp(*end.arguments, *shown), end)
    end.detach()
    end.erase()
    function.properties["function_type"] = FunctionType.from_lists(
        list(function.function_type.inputs), [port.type for port in outputs]
    )
    set_ports(function, inputs, outputs)
    verify(module)
    return len(shown)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.referee if name == SMALL else pytest.mark.sweep) for name in ARCHITECTURES],
)
def test_compiled_is_the_interpreter(name: str) -> None:
    """At the size of images that the architecture has, 224 x 224: outputs bit by bit, and what is shown besides."""
    model = with_random_weights(name)
    module = qmlir.quantize(qmlir.load(model), [random_inputs(model, seed) for seed in range(SAMPLES)]).module
    assert show_values(module) > 0
    image = random_inputs(model, SAMPLES)
    found, expected = qmlir.compile(module, codegen="llvm")(image), qmlir.interpret(module, image)
    assert list(found) == list(expected)
    for key, wanted in expected.items():
        ours = found[key]
        assert (ours.dtype, ours.shape) == (wanted.dtype, wanted.shape), key
        assert ours.tobytes() == wanted.tobytes(), f"{key}: {np.mean(ours != wanted):%} of {ours.size} differ"
    levels = [len(np.unique(wanted)) for key, wanted in expected.items() if key.startswith("shown")]
    assert np.median(levels) > 30, "the integers that are compared are more than a few"
