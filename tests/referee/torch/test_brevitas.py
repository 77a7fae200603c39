"""Learned quantization in single layers, its gradients beside those of brevitas: `pip install -e '.[referees]'`.

Brevitas learns scales and base-2 logarithms of thresholds. A value is clipped there where its rounding is outside, as
in `tqt` and `affine`; LSQ says so of the value itself, so what it is given is nowhere between the two. PACT and LSQ+
are no part of brevitas: `tests/unit/dialects/calib/test_gradients.py` has their formulas.
"""

import math
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.environment import default_environment
from qmlir.text.parsing import parse_module
from tests.support.gradients import gradients_of

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install -e '.[torch]'")
quant: Any = pytest.importorskip("brevitas.core.quant", reason="needs brevitas: pip install -e '.[referees]'")
scaling: Any = pytest.importorskip("brevitas.core.scaling")
restrict: Any = pytest.importorskip("brevitas.core.restrict_val")
wrapper: Any = pytest.importorskip("brevitas.core.function_wrapper")
zero: Any = pytest.importorskip("brevitas.core.zero_point")
width: Any = pytest.importorskip("brevitas.core.bit_width")

pytestmark = pytest.mark.referee

CHANNELS = 3


def of_brevitas(bits: int, signed: bool, initial: Array, *, is_power: bool) -> Any:
    """A quantizer of weights, or of data, in f64. What it learns are its `scaling_impl.value`s."""
    value = restrict.PowerOfTwoRestrictValue(wrapper.CeilSte()) if is_power else restrict.FloatRestrictValue()
    shape = () if initial.ndim == 0 else (len(initial), 1)
    learned = scaling.ParameterScaling(
        torch.tensor(initial.reshape(shape)), scaling_shape=shape or None, restrict_scaling_impl=value
    )
    steps = scaling.PowerOfTwoIntScaling(signed) if is_power else scaling.IntScaling(narrow_range=False, signed=signed)
    rounding = quant.IntQuant(
        narrow_range=False, signed=signed, input_view_impl=wrapper.Identity(),
        float_to_int_impl=wrapper.RoundSte(), tensor_clamp_impl=wrapper.TensorClamp(),
    )  # fmt: skip
    return quant.RescalingIntQuant(
        rounding, learned, steps, zero.ZeroZeroPoint(), width.BitWidthConst(bits)
    ).double()  # fmt: skip


def layer(method: str, bits: int, signed: bool, axis: int | None) -> ModuleOp:
    """`x * fq(w)^T` with a learned grid of the weights, one or one for each row."""
    grid = "tensor<f64>" if axis is None else f"tensor<{CHANNELS}xf64>"
    zeros = f"{grid[:-4]}f64>" if method == "affine" else ""
    names, types = ("%t, %z", f"{grid}, {zeros}") if zeros else ("%t", grid)
    said = f'bits = {bits} : i64, signed = {str(signed).lower()}, method = "{method}"'
    said += "" if axis is None else f", axis = {axis} : i64"
    constant = f"%z = nn.constant dense<0.0> : {zeros}" if zeros else ""
    text = f"""func.func @main(%x: tensor<4x8xf64> {{nn.name = "x"}}, %w: tensor<{CHANNELS}x8xf64> {{nn.name = "w"}},
                    %t: {grid} {{nn.name = "t"}}) -> (tensor<4x{CHANNELS}xf64> {{nn.name = "y"}}) {{
      {constant}
      %0 = calib.fake_quant %w, {names} {{{said}}} : tensor<{CHANNELS}x8xf64>, {types} -> tensor<{CHANNELS}x8xf64>
      %1 = nn.matmul %x, %0 {{transpose_b = true}} : (tensor<4x8xf64>, tensor<{CHANNELS}x8xf64>) -> tensor<4x{CHANNELS}xf64>
      func.return %1 : tensor<4x{CHANNELS}xf64>
    }}"""  # noqa: E501
    return parse_module(default_environment().new_context(), text, "layer")


@pytest.mark.parametrize("axis", [None, 0], ids=["tensor", "channel"])
@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("method", ["tqt", "affine", "lsq"])
def test_a_layer(method: str, signed: bool, axis: int | None) -> None:
    random = np.random.default_rng(13)
    for bits in (2, 4, 8):
        shape = () if axis is None else (CHANNELS,)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        is_power = method == "tqt"
        # A threshold from which values are clipped; by a float scale it is that of all steps.
        threshold = random.uniform(0.6, 1.4, shape)
        theirs = of_brevitas(bits, signed, threshold, is_power=is_power)
        x, seed = random.uniform(-1, 1, (4, 8)), random.uniform(-1, 1, (4, CHANNELS))
        w = random.uniform(-2, 2, (CHANNELS, 8))
        count = float(theirs.int_scaling_impl(torch.tensor(float(bits))))
        parameter = np.log2(threshold) if is_power else threshold / count
        if method == "lsq":
            s = np.broadcast_to(parameter if axis is None else parameter[:, None], w.shape)
            between = (np.abs(w / s - low) <= 0.5) | (np.abs(w / s - high) <= 0.5)
            w = np.where(between, ((low + high) / 2 + 0.2) * s, w)
        given, weight = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
        result = given @ theirs(weight)[0].T
        (result * torch.tensor(seed)).sum().backward()
        module, inputs = layer(method, bits, signed, axis), {"x": x, "w": w, "t": np.asarray(parameter)}
        np.testing.assert_allclose(qmlir.interpret(module, inputs)["y"], result.detach().numpy(), rtol=1e-6)
        found = gradients_of(module, inputs, {"y": seed})
        # theirs is by the threshold, ours by the scale or by the logarithm
        by_parameter = theirs.scaling_impl.value.grad.numpy().reshape(shape) * (1 if is_power else count)
        if method == "lsq":
            by_parameter = by_parameter / math.sqrt(w.size / (1 if axis is None else CHANNELS) * high)
        for name, wanted in {"x": given.grad.numpy(), "w": weight.grad.numpy(), "t": by_parameter}.items():
            np.testing.assert_allclose(found[name], wanted, rtol=1e-6, atol=1e-9, err_msg=f"{bits} bits: {name}")
