"""Statistics that merge, and fake quantization by the published formula."""

import numpy as np
import pytest
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, f32, i64
from xdsl.utils.test_value import create_ssa_value

import qmlir
from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.evaluate import EVALUATORS
from qmlir.dialects.calib.ops import FakeQuantOp
from qmlir.dialects.calib.types import StatsAttr
from qmlir.environment import default_environment
from qmlir.text.parsing import parse_module


def test_attribute_holds_the_summary_exactly() -> None:
    summary = Statistics.of(np.array([0.1, 0.2, 0.7])).summary
    assert StatsAttr.of(summary).summary == summary
    per_axis = StatsAttr.of(summary, 1, [0.1, 0.2], [0.2, 0.7])
    assert per_axis.axis_minima.tolist() == [0.1, 0.2]


def _fake_quant(
    values: list[float], threshold: list[float], bits: int, signed: bool, axis: int | None = None
) -> list[float]:
    x = np.array(values, dtype=np.float32)
    t = np.array(threshold[0] if axis is None else threshold, dtype=np.float32)
    types = [TensorType(f32, each.shape) for each in (x, t)]
    properties = {"bits": IntegerAttr(bits, i64), "signed": BoolAttr.from_bool(signed)}
    if axis is not None:
        properties["axis"] = IntegerAttr(axis, i64)
    op = FakeQuantOp.create(
        operands=[create_ssa_value(type_) for type_ in types], result_types=types[:1], properties=properties
    )
    op.verify_()
    return EVALUATORS[FakeQuantOp](op, x, (t,))[0].tolist()


def test_fake_quant_by_hand() -> None:
    # 3 bits signed, threshold 2^1: s = 2 / 4 = 0.5, steps -4 to 3. Ties go to even: 0.25 -> 0, 0.75 -> 1.0.
    assert _fake_quant([0.25, 0.75, 9.0, -9.0, -0.6], [1.0], 3, True) == [0.0, 1.0, 1.5, -2.0, -0.5]
    # The threshold is rounded up to a power of two: 2^0.3 counts as 2^1.
    assert _fake_quant([9.0], [0.3], 3, True) == [1.5]
    # Unsigned: s = 2 / 8 = 0.25, steps 0 to 7.
    assert _fake_quant([-1.0, 0.3, 9.0], [1.0], 3, False) == [0.0, 0.25, 1.75]
    # One threshold for each index of the axis.
    assert _fake_quant([9.0, 9.0], [0.0, 1.0], 3, True, axis=0) == [0.75, 1.5]


_METHODS = {
    "tqt": ("{method = \"tqt\", bits = 4 : i64, axis = 1 : i64}", [[0.3, -1.0, 2.0]]),
    "lsq": ("{method = \"lsq\"}", [0.017]),
    "lsq_plus": ("{method = \"lsq_plus\", bits = 3 : i64, signed = false}", [0.31, -0.7]),
    "pact": ("{method = \"pact\", bits = 4 : i64, signed = false}", [1.3]),
    "affine": ("{method = \"affine\", axis = 0 : i64}", [[0.02, 0.5], [3.5, -200.0]]),
    "range": ("{method = \"range\", signed = false}", [-0.7, 1.9]),
}  # fmt: skip


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_compiled_fake_quant_has_the_bits_of_the_interpreter(element: str) -> None:
    values: dict[str, np.ndarray] = {
        "x": np.random.default_rng(0).normal(0, 2, (2, 3)).astype(element.replace("f", "float"))
    }
    values["x"][0] = [-0.0, -0.001, 0.0255]  # a zero with a sign, what rounds to one, and a tie of `lsq`
    inputs, body = [f'%x: tensor<2x3x{element}> {{nn.name = "x"}}'], ""
    for method, (attributes, parameters) in _METHODS.items():
        names, types = [], []
        for position, parameter in enumerate(parameters):
            array = np.array(parameter, values["x"].dtype)
            kind = f"tensor<{''.join(f'{size}x' for size in array.shape)}{element}>"
            names.append(f"%{method}{position}")
            types.append(kind)
            inputs.append(f'{names[-1]}: {kind} {{nn.name = "{method}{position}"}}')
            values[f"{method}{position}"] = array
        kind = f"tensor<2x3x{element}>"
        body += (
            f"%{method} = calib.fake_quant %x, {', '.join(names)} {attributes} : {kind}, {', '.join(types)} -> {kind}\n"
        )
    results = ", ".join(f'tensor<2x3x{element}> {{nn.name = "{method}"}}' for method in _METHODS)
    returned = ", ".join(f"%{method}" for method in _METHODS)
    kinds = ", ".join([f"tensor<2x3x{element}>"] * len(_METHODS))
    source = f"func.func @main({', '.join(inputs)}) -> ({results}) {{\n{body}func.return {returned} : {kinds}\n}}"
    module = parse_module(default_environment().new_context(), source)
    wanted, found = qmlir.interpret(module, values), qmlir.compile(module, codegen="llvm")(values)
    for method in _METHODS:
        assert wanted[method].tobytes() == found[method].tobytes(), method
