"""Many cases in one go: one ONNX model for ONNX Runtime and one `nn` function for us, over the same numbers.

ONNX Runtime is run in exact mode: without optimizations, and on the unsigned twin of every signed 8-bit operand, since
its signed kernels saturate on CPUs without VNNI.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import FunctionType, IntegerType, ModuleOp, Signedness, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.run import interpret
from qmlir.ir.verification import verify

OPSET, IR_VERSION = 21, 10
MICROSOFT = "com.microsoft"

needs_onnxruntime = [
    pytest.mark.referee,
    pytest.mark.skipif(
        find_spec("onnxruntime") is None,
        reason="onnxruntime is not installed (extra: peers)",
    ),
]


def run_onnxruntime(model: Any) -> list[np.ndarray]:
    """The outputs of a model without inputs, computed without optimizations."""
    import onnxruntime  # noqa: PLC0415 - absent where the referee is skipped

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {})


@dataclass(frozen=True)
class Case:
    """What is compared: the output of ONNX Runtime, and ours with what was drawn for it."""

    expected: str
    actual: SSAValue
    adjust: Callable[[np.ndarray], np.ndarray]
    drawn: Mapping[str, Any]


def _same(array: np.ndarray) -> np.ndarray:
    return array


@dataclass
class Sheet:
    """Cases that are run together."""

    nodes: list[Any] = field(default_factory=list)
    initializers: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    block: Block = field(default_factory=Block)
    arrays: list[np.ndarray] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)

    def constant(self, array: Any, dtype: int | None = None) -> str:
        """An ONNX initializer; `dtype` names the type where NumPy has none."""
        name = f"c{len(self.initializers)}"
        array = np.asarray(array)
        if dtype is None:
            tensor = numpy_helper.from_array(array, name)
        else:
            tensor = helper.make_tensor(name, dtype, array.shape, array.reshape(-1).tolist())
        self.initializers.append(tensor)
        return name

    def node(self, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """An ONNX node; the name of its output."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], domain=domain, **attributes))
        return name

    def value(self, array: Any, element: Attribute = f32) -> SSAValue:
        """An argument of our function: stored integers for a quantized element."""
        dtype = storage_dtype(element) if isinstance(element, UniformQuantizedType) else None
        self.arrays.append(np.asarray(array, dtype))
        return self.block.insert_arg(TensorType(element, np.shape(array)), len(self.block.args))

    def op(self, kind: type[Operation], operands: Sequence[Any], result: Attribute, **properties: Any) -> SSAValue:
        """One of our operations; its result."""
        op = kind.create(
            operands=[operand for operand in operands if operand is not None],
            result_types=[result],
            properties={name: value for name, value in properties.items() if value is not None},
        )
        self.block.add_op(op)
        return op.results[0]

    def expect(
        self,
        actual: SSAValue,
        expected: str,
        adjust: Callable[[np.ndarray], np.ndarray] = _same,
        **drawn: Any,
    ) -> None:
        """Compare ours with `adjust` of ONNX Runtime's."""
        self.outputs.append(helper.make_empty_tensor_value_info(expected))
        self.cases.append(Case(expected, actual, adjust, drawn))

    def model(self) -> Any:
        """The ONNX model."""
        graph = helper.make_graph(self.nodes, "sheet", [], self.outputs, self.initializers)
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)

    def module(self) -> ModuleOp:
        """Our module."""
        results = [case.actual for case in self.cases]
        self.block.add_op(ReturnOp(*results))
        signature = FunctionType.from_lists([arg.type for arg in self.block.args], [each.type for each in results])
        return ModuleOp([FuncOp("main", signature, Region(self.block))])

    def pairs(self) -> list[tuple[Case, np.ndarray, np.ndarray]]:
        """Each case with our result and the expected one."""
        module = self.module()
        verify(module)
        ours = interpret(module, self.arrays).values()
        theirs = run_onnxruntime(self.model())
        return [
            (case, actual, case.adjust(expected))
            for case, actual, expected in zip(self.cases, ours, theirs, strict=True)
        ]


def _bits(array: np.ndarray) -> np.ndarray:
    """Integers as they are, floats as their bits."""
    return array.view(np.int32) if array.dtype == np.float32 else array.astype(np.int64)


def check(sheet: Sheet) -> None:
    """Every case of `sheet` is equal, element by element; a failure shows what was drawn."""
    for case, actual, expected in sheet.pairs():
        assert actual.shape == expected.shape, case.drawn
        wrong = _bits(actual) != _bits(expected)
        if wrong.any():
            position = tuple(np.argwhere(wrong)[0])
            drawn = "\n".join(
                f"{name} = {value if isinstance(value, Attribute) else repr(value)}"
                for name, value in case.drawn.items()
            )
            pytest.fail(f"{wrong.sum()} differ, at {position} {actual[position]}, not {expected[position]}\n{drawn}")


class Draw:
    """Random parameters and data of one case."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def chance(self, probability: float) -> bool:
        """True as often as `probability` says."""
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`."""
        return int(self.rng.integers(low, high + 1))

    def scales(self, count: int | None, exponent: int) -> np.ndarray:
        """f32 scales about `2^exponent`: small odd multiples of powers of two, which make ties, or any number."""
        shape = () if count is None else (count,)
        if self.chance(0.7):
            odd = self.rng.choice([1, 3, 5, 7], shape)
            return np.float32(odd * 2.0 ** (exponent - 2 + self.rng.integers(0, 2, shape)))
        return np.float32(2.0**exponent * self.rng.uniform(0.5, 1.5, shape))

    def element(
        self,
        exponent: int,
        axis: int | None = None,
        count: int | None = None,
        one_zero_point: bool = False,
        bits: int | None = None,
    ) -> UniformQuantizedType:
        """A type of at most 8 bits, signed or not, of full or narrow range, its zero points anywhere."""
        bits, is_signed = bits or (self.integer(2, 8) if self.chance(0.4) else 8), self.chance(0.5)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        if self.chance(0.3):
            low, high = low + 1, high - self.integer(0, 1)
        low, high = min(low, high - 1), high
        storage = IntegerType(bits, Signedness.SIGNLESS if is_signed else Signedness.UNSIGNED)
        scales = self.scales(count, exponent)
        zero_points = self.rng.integers(low, high + 1, () if one_zero_point else scales.shape)
        if axis is None:
            return UniformQuantizedType.per_tensor(storage, f32, float(scales), int(zero_points), (low, high))
        return UniformQuantizedType.per_axis(storage, f32, axis, scales, zero_points, (low, high))

    def operand_bits(self) -> int | None:
        """A width for operands: in half of the cases few bits, whose small sums meet ties often."""
        return self.integer(2, 4) if self.chance(0.5) else None

    def result_exponent(self, terms: int, *factors: UniformQuantizedType) -> int:
        """The exponent of a scale for sums of `terms` products of elements whose scales are about 1.

        It leaves most of them inside 8 bits, and where they are small rounds a few bits away.
        """
        spread = np.sqrt(terms)
        for factor in factors:
            spread *= (factor.storage_max - factor.storage_min) / 3
        return max(int(np.ceil(np.log2(spread / 64))), self.integer(0, 2))

    def stored(self, element: UniformQuantizedType, *shape: int) -> np.ndarray:
        """Stored integers."""
        values = self.rng.integers(element.storage_min, element.storage_max + 1, shape)
        return values.astype(storage_dtype(element))


def offset(element: UniformQuantizedType) -> int:
    """What the unsigned twin of an 8-bit value adds to it."""
    return 128 if element.is_signed else 0


def twin(stored: np.ndarray, element: UniformQuantizedType) -> np.ndarray:
    """Stored values as unsigned ones."""
    return (stored.astype(np.int64) + offset(element)).astype(np.uint8)


def twin_parameters(sheet: Sheet, element: UniformQuantizedType) -> tuple[str, str]:
    """Scale and unsigned zero point as ONNX initializers."""
    return sheet.constant(element.scales.astype(np.float32)), sheet.constant(twin(element.zero_points, element))


def untwin(element: UniformQuantizedType) -> Callable[[np.ndarray], np.ndarray]:
    """An unsigned result as stored values of `element`, whose narrower range saturates after the 8 bits."""

    def adjusted(array: np.ndarray) -> np.ndarray:
        return np.clip(array.astype(np.int64) - offset(element), element.storage_min, element.storage_max)

    return adjusted


def rescale(element: UniformQuantizedType, scale: float, zero_point: int | None = None) -> UniformQuantizedType:
    """`element` with other parameters."""
    zero = element.zero_point if zero_point is None else zero_point
    limits = element.storage_min, element.storage_max
    return UniformQuantizedType.per_tensor(element.storage, f32, float(np.float32(scale)), zero, limits)


def dequantized(sheet: Sheet, stored: np.ndarray, element: UniformQuantizedType) -> str:
    """The real values of stored integers, by ONNX Runtime."""
    return sheet.node("DequantizeLinear", sheet.constant(twin(stored, element)), *twin_parameters(sheet, element))


def quantized(sheet: Sheet, values: str, element: UniformQuantizedType) -> str:
    """The unsigned twin of quantized values, by ONNX Runtime."""
    return sheet.node("QuantizeLinear", values, *twin_parameters(sheet, element))
