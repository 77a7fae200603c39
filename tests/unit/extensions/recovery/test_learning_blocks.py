"""Codes of a block that are learned together: their error by NumPy alone, beside that of layers learned one by one."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.elementwise.ops import AddOp, FloorOp
from qmlir.dialects.nn.reduction.ops import CumProdOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.recovery import quant_adaround
from qmlir.extensions.recovery.repairing import BLOCKS, EFFORTS
from qmlir.extensions.recovery.rounded_weights import bias_beside, rounded_weights
from qmlir.ir.builtin_types import tensor
from qmlir.ir.diagnostics import diagnostic_handler
from qmlir.ir.provenance import Origin, set_origins
from qmlir.passmanager.manager import run_pipeline
from qmlir.quantization.report import LayerImprovement
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import retype
from qmlir.text.printing import module_text
from qmlir.workflows.calibrated import stages_of
from qmlir.workflows.profiling import profile
from qmlir.workflows.quantizing import quantize

_TERMS = 12
_W3: QuantizeSettings = {"weights": "i3"}
_FEW = "steps=150"
"""Enough steps to change codes, and to change others for weights of errors that differ by 1%."""


class _Net:
    """`y = relu(h + W2 relu(W1 h))` behind `h = relu(W0 x)`, decided, with its float program and its samples."""

    def __init__(self, samples: int = 96) -> None:
        random = np.random.default_rng(0)
        self.weights = [random.normal(size=(_TERMS, _TERMS)).astype(np.float32) for _ in range(3)]
        drawn = ", ".join(
            f"float[{_TERMS}, {_TERMS}] w{at} = {{{', '.join(map(str, each.reshape(-1).tolist()))}}}"
            for at, each in enumerate(self.weights)
        )
        zeros = ", ".join(["0.125"] * _TERMS)
        biases = ", ".join(f"float[{_TERMS}] b{at} = {{{zeros}}}" for at in range(3))
        self.model = qmlir.load(
            parser.parse_model(f"""
            <ir_version: 10, opset_import: ["": 21]>
            g (float[N, {_TERMS}] x) => (float[N, {_TERMS}] y) <{drawn}, {biases}> {{
                s = Gemm <transB = 1> (x, w0, b0)
                h = Relu (s)
                one = Gemm <transB = 1> (h, w1, b1)
                r = Relu (one)
                two = Gemm <transB = 1> (r, w2, b2)
                sum = Add (two, h)
                y = Relu (sum)
            }}""")
        )
        mixed = random.normal(size=(_TERMS, _TERMS))
        self.samples = (random.normal(size=(samples, _TERMS)) @ mixed).astype(np.float32)
        run = stages_of(_W3, self.model, repair="quant-adaround")
        self.floats = self.model.clone()
        run(self.floats, "target", "lower")
        run(self.floats, "profile", "mask", "balance", taken=profile(self.floats, {"x": self.samples}))
        self._decided = self.floats.clone()
        run(self._decided, "decide", "propagate")

    def repaired(
        self,
        passes: str,
        gains: list[LayerImprovement] | None = None,
        *,
        with_floats: bool = True,
        floats: ModuleOp | None = None,
    ) -> ModuleOp:
        module = self._decided.clone()
        told = [] if gains is None else gains
        floats = (floats or self.floats) if with_floats else None
        run_pipeline(module, passes, samples={"x": self.samples}, floats=floats, gained=told.append)
        return module

    def block_error(self, module: ModuleOp) -> float:
        """The mean squared error of `y`, of the rounded program against the float one."""
        return float(np.square(self.found(module) - self.exact()).mean())

    def found(self, module: ModuleOp) -> Array:
        """`y` of the rounded program."""
        function = function_of(module, "main")
        parts = list(rounded_weights(function))
        biases = [bias_beside(each.readers[0][0]) for each in parts]
        (given,) = (op for op in function.walk() if isinstance(op, QuantizeCastOp) and op.input in function.args)
        types = [quantized_type(op.result) for op in function.walk() if isinstance(op, AddOp)]
        of_stem, of_one, _, of_sum = types
        added = [each.rounded.reshape(-1) for each in biases if each is not None]
        stem, one, two = (each.rounded.astype(np.float64).T for each in parts)
        x = _rounded(self.samples, quantized_type(given.result))
        h = np.maximum(_rounded(x @ stem + added[0], of_stem), 0)
        r = np.maximum(_rounded(h @ one + added[1], of_one), 0)
        return np.maximum(_rounded(r @ two + added[2] + h, of_sum), 0)

    def exact(self) -> Array:
        stem, one, two = (each.astype(np.float64).T for each in self.weights)
        h = np.maximum(self.samples @ stem + 0.125, 0)
        return np.maximum(np.maximum(h @ one + 0.125, 0) @ two + 0.125 + h, 0)


def _rounded(values: Array, element: UniformQuantizedType | None) -> Array:
    assert element is not None
    codes = np.clip(np.rint(values / element.scales) + element.zero_points, element.storage_min, element.storage_max)
    return (codes - element.zero_points) * element.scales


@pytest.fixture(scope="module")
def net() -> _Net:
    return _Net()


@pytest.mark.parametrize(("before", "share"), [("quant-adaround", 0.97), ("quant-gptq,quant-adaround", 0.9)])
def test_a_block_has_a_smaller_error_than_its_layers_one_by_one(net: _Net, before: str, share: float) -> None:
    learned = f"{before},quant-adaround{{blocks=2 steps=2000}}"
    errors = [net.block_error(net.repaired(each)) for each in (before, learned)]
    assert errors[1] < share * errors[0]


def test_the_error_that_is_told_is_that_of_the_block(net: _Net) -> None:
    gains: list[LayerImprovement] = []
    module = net.repaired(f"quant-adaround{{blocks=2 {_FEW}}}", gains)
    expected = 10 * np.log10(np.square(net.exact()).mean() / net.block_error(module))
    assert [each.after_db for each in gains] == [pytest.approx(expected, abs=0.01)] * 2


def test_two_runs_give_the_same_bits(net: _Net) -> None:
    one, other = (module_text(net.repaired(f"quant-gptq,quant-adaround{{blocks=2 {_FEW}}}")) for _ in range(2))
    assert one == other


def test_without_the_float_program_the_floats_of_the_weights_are_the_aim(net: _Net) -> None:
    plain, learned = (
        net.repaired(each, with_floats=False) for each in ("quant-correct-bias", "quant-adaround{blocks=2}")
    )
    assert net.block_error(learned) < net.block_error(plain)


# Weights of errors


class _Weighted(_Net):
    """The error of the block with weights that are given: any that are 1 in the mean."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, weights: Array) -> None:
        super().__init__(len(weights))
        self.given = weights
        monkeypatch.setattr(quant_adaround, "error_weights", self._weights)

    def _weights(
        self, module: ModuleOp, name: str, value: SSAValue, batches: Sequence[Sequence[Array]], shape: Sequence[int]
    ) -> list[Array]:
        positions = [[int(np.flatnonzero((self.samples == row).all(1))[0]) for row in x] for (x,) in batches]
        assert sorted(position for each in positions for position in each) == [*range(len(self.samples))]
        assert all((len(each), _TERMS) == tuple(shape) for each in positions)
        return [self.given[each].astype(np.float32) for each in positions]

    def errors(self, module: ModuleOp) -> Array:
        return self.given * np.square(self.found(module) - self.exact())


def test_weights_of_ones_give_what_none_give_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    net = _Weighted(monkeypatch, np.ones((96, _TERMS)))
    plain, weighted = (net.repaired(f"quant-adaround{{blocks=2 {_FEW}{each}}}") for each in ("", " weighted"))
    assert module_text(plain) == module_text(weighted)


def test_what_counts_more_has_a_smaller_error_and_what_is_told_has_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.where(np.arange(_TERMS) < 8, 0.01, 1.0) * np.ones((96, 1))
    net = _Weighted(monkeypatch, weights / weights.mean())
    gains: list[LayerImprovement] = []
    learned = "quant-gptq,quant-adaround{blocks=2 steps=1000"
    plain, weighted = (net.repaired(f"{learned}{each}", gains) for each in ("}", " weighted}"))
    assert net.errors(weighted).mean() < 0.9 * net.errors(plain).mean()
    assert net.block_error(weighted) > net.block_error(plain)
    expected = 10 * np.log10((net.given * np.square(net.exact())).mean() / net.errors(weighted).mean())
    assert [each.after_db for each in gains[-2:]] == [pytest.approx(expected, abs=0.01)] * 2


def test_a_block_whose_result_is_the_output_has_no_weights_but_ones(net: _Net) -> None:
    plain, weighted = (net.repaired(f"quant-adaround{{blocks=2 {_FEW}{each}}}") for each in ("", " weighted"))
    assert module_text(plain) == module_text(weighted)


def _without_origins(floats: ModuleOp) -> None:
    for op in function_of(floats, "main").body.block.ops:
        set_origins(op, (Origin("another"),))


def _behind(make: Callable[[SSAValue], Operation]) -> Callable[[ModuleOp], None]:
    """What makes an operation behind the output of a program its output."""

    def change(floats: ModuleOp) -> None:
        end = function_of(floats, "main").body.block.last_op
        assert end is not None
        made = make(end.operands[0])
        Rewriter.insert_op(made, InsertPoint.before(end))
        end.operands[0] = made.results[0]

    return change


def _running_products(value: SSAValue) -> Operation:
    return CumProdOp(operands=[value, None], properties={"axis": IntegerAttr(1, i64)}, result_types=[value.type])


def _for_one_row(floats: ModuleOp) -> None:
    function = function_of(floats, "main")
    for value in (*function.args, *(result for op in function.body.block.ops for result in op.results)):
        type_ = tensor(value.type)
        if type_.get_shape()[0] == DYNAMIC_INDEX:
            retype(value, TensorType(type_.get_element_type(), (1, *type_.get_shape()[1:])))
    function.update_function_type()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_without_origins, "the float program does not have the output of the block"),
        (_for_one_row, "the runs cannot be batched in the float program"),
        (_behind(FloorOp), "the gradients of the outputs are 0 or not finite"),
        (_behind(_running_products), "cumulative products have no gradient rule"),
    ],
)
def test_a_block_without_weights_says_why_and_is_learned_all_the_same(
    change: Callable[[ModuleOp], None], why: str, net: _Net
) -> None:
    floats = net.floats.clone()
    change(floats)
    gains: list[LayerImprovement] = []
    said: list[str] = []
    learned = f"quant-adaround{{blocks=2 {_FEW}"
    plain = net.repaired(f"{learned}}}", floats=floats)
    with diagnostic_handler(lambda each: said.append(each.message)):
        weighted = net.repaired(f"{learned} weighted}}", gains, floats=floats)
    assert [each for each in said if "errors of its block are not weighted: " in each and why in each]
    assert len(gains) == 2  # both layers of the block
    assert module_text(plain) == module_text(weighted)


def test_a_block_with_weights_does_not_say_that_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    net = _Weighted(monkeypatch, np.ones((96, _TERMS)))
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(each.message)):
        net.repaired(f"quant-adaround{{blocks=2 {_FEW} weighted}}")
    assert not [each for each in said if "no weights" in each]


def test_a_block_that_would_take_too_long_is_not_learned(net: _Net, monkeypatch: pytest.MonkeyPatch) -> None:
    gains: list[LayerImprovement] = []
    said: list[str] = []
    monkeypatch.setattr(quant_adaround, "_MULTIPLY_ADDS", 1.0)
    with diagnostic_handler(lambda each: said.append(each.message)):
        net.repaired("quant-adaround{blocks=2}", gains)
    assert gains == []
    assert any(
        "weights of its block are not rounded together: a block of this size would get only 0 steps" in each
        for each in said
    )


def test_effort_3_tries_blocks_beside_all_that_it_tried_before(net: _Net) -> None:
    repair = quantize(net.model, {"x": net.samples[:32]}, effort=3, validate=False, **_W3).repair
    assert repair is not None
    tried = {repair.passes: repair.after_db, **dict(repair.others)}
    assert set(tried) >= {*(EFFORTS[effort] for effort in (1, 2, 3)), BLOCKS[EFFORTS[3]]}
    assert repair.after_db == max(tried.values())
