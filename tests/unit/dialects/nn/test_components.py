"""Quantized composites with the types of their parts: they mean exactly those parts, to the last integer."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, IntegerType, ModuleOp, Signedness, TensorType, f32, i1
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ConvOp, MatMulOp
from qmlir.dialects.nn.elementwise.ops import WhereOp
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.equivalence import equivalent
from qmlir.ir.verification import verify
from tests.support.composites import CONTRACTIONS, SEEDS, decomposed, module_of, raised, tensor

I32 = IntegerType(32)


def _any_type(generator: np.random.Generator) -> UniformQuantizedType:
    """8 or 16 bits, signed or not, with any zero point; values up to 2.5 at least fit on one side of it."""
    bits = int(generator.choice([8, 16]))
    is_signed = bool(generator.integers(2))
    storage = IntegerType(bits, Signedness.SIGNLESS if is_signed else Signedness.UNSIGNED)
    zero_point = int(generator.integers(-20, 20)) + (0 if is_signed else 1 << (bits - 1))
    return UniformQuantizedType.per_tensor(storage, f32, float(np.float32(generator.uniform(0.02, 0.04))), zero_point)


def _retyped(value: SSAValue, element: Attribute) -> SSAValue:
    return Rewriter.replace_value_with_new_type(value, TensorType(element, shape_of(value)))


def _sums(op: ConvOp | MatMulOp, generator: np.random.Generator, is_implied: bool) -> UniformQuantizedType:
    """The type of the sums of products: the accumulator's, or any one."""
    if not is_implied:
        return _any_type(generator)
    data, weight, axis = (op.lhs, op.rhs, 1) if isinstance(op, MatMulOp) else (op.data, op.weight, 1)
    x, w = element_of(data), element_of(weight)
    assert isinstance(x, UniformQuantizedType)
    assert isinstance(w, UniformQuantizedType)
    scales = accumulator_scale(x.scales, w.scales)
    if scales.ndim:
        return UniformQuantizedType.per_axis(I32, f32, axis, scales)
    return UniformQuantizedType.per_tensor(I32, f32, float(scales))


def quantized(parts: ModuleOp, generator: np.random.Generator, *, is_implied: bool = True) -> ModuleOp:
    """The module with quantized types: contractions as they must be, all others chosen at random."""
    module = parts.clone()
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    block = function.body.block
    contraction = next((op for op in block.ops if isinstance(op, ConvOp | MatMulOp)), None)
    types: dict[SSAValue, UniformQuantizedType] = {}
    if contraction is not None:
        data, weight = block.args[:2]
        channels = shape_of(weight)[0]
        x = _any_type(generator)
        scales = np.float32(generator.uniform(0.01, 0.02, channels))
        w = UniformQuantizedType.per_axis(IntegerType(int(generator.choice([8, 16]))), f32, 0, scales)
        types = {data: x, weight: w}
        if len(block.args) == 3:
            types[block.args[2]] = UniformQuantizedType.per_axis(I32, f32, 0, accumulator_scale(x.scales, w.scales))
    for argument in list(block.args):
        _retyped(argument, types.get(argument) or _any_type(generator))
    # A choice moves its data: both operands have one type.
    types |= {op.lhs: element_of(op.rhs) for op in block.ops if isinstance(op, WhereOp)}
    for op in list(block.ops):
        if isinstance(op, ConstantOp):
            element = _any_type(generator)
            stored = quantize(op.array, element)
            op.properties["value"] = ConstantOp.of(stored, TensorType(element, stored.shape)).value
            _retyped(op.result, element)
        elif op is contraction and isinstance(op.next_op, NnOp):
            _retyped(op.results[0], _sums(contraction, generator, is_implied))
        elif isinstance(op, NnOp) and element_of(op.results[0]) != i1:
            moves = op.quantization_slots().shares_parameters
            inferred = op.infer_result_types()[0].get_element_type() if moves else _any_type(generator)
            _retyped(op.results[0], types.get(op.results[0]) or inferred)
        elif isinstance(op, ReturnOp):
            function.function_type = FunctionType.from_lists(block.arg_types, [each.type for each in op.operands])
    verify(module)
    return module


def stored_inputs(module: ModuleOp, generator: np.random.Generator) -> list[np.ndarray]:
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    inputs: list[np.ndarray] = []
    for argument in function.body.block.args:
        element = element_of(argument)
        assert isinstance(element, UniformQuantizedType)
        low, high = max(element.storage_min, -(2**15)), min(element.storage_max, 2**15)
        values = generator.integers(low, high, shape_of(argument), endpoint=True)
        inputs.append(values.astype(storage_dtype(element)))
    return inputs


def check_quantized(parts: ModuleOp, kind: str, generator: np.random.Generator) -> NnOp:
    """The parts are raised with all of their parameters, and both compute the same integers; the composite."""
    whole = raised(parts)
    assert equivalent(decomposed(whole), parts)
    assert equivalent(raised(whole), whole)
    inputs = stored_inputs(parts, generator)
    for before, after in zip(interpret(parts, inputs).values(), interpret(whole, inputs).values(), strict=True):
        assert before.dtype == after.dtype
        assert before.tobytes() == after.tobytes()
    (composite,) = (op for op in whole.walk() if isinstance(op, NnOp))
    assert composite.name == f"nn.{kind}"
    return composite


QUANTIZED = [
    "gelu", "gelu {tanh_approximation = true}", "hard_swish", "swish", "swish {alpha = 1.5}", "mish", "hard_sigmoid",
    "selu", "celu", "celu {alpha = 0.5}", "softmax {axis = 1}",
]  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(QUANTIZED), SEEDS)
def test_quantized_functions_of_one_tensor(operation: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    module = module_of(f"nn.{operation}", [tensor((2, 3, 4))], [tensor((2, 3, 4))])
    parts = quantized(decomposed(module), generator)
    composite = check_quantized(parts, operation.partition(" ")[0], generator)
    assert isinstance(composite.components, DictionaryAttr)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(CONTRACTIONS), SEEDS, st.booleans())
def test_quantized_contractions(
    case: tuple[str, list[tuple[int, ...]], tuple[int, ...]], seed: int, is_implied: bool
) -> None:
    """What a contraction adds up with its bias is what its parts add up, so that the accumulator is left unsaid.

    Where 32 bits do not hold every sum, it saturates, and has to be said.
    """
    operation, shapes, result = case
    generator = np.random.default_rng(seed)
    module = module_of(f"nn.{operation}", [tensor(shape) for shape in shapes], [tensor(result)])
    has_sum = len(shapes) == 3
    parts = quantized(decomposed(module), generator, is_implied=is_implied)
    composite = check_quantized(parts, operation.partition(" ")[0], generator)
    x, w = (element_of(operand) for operand in composite.operands[:2])
    assert isinstance(x, UniformQuantizedType)
    assert isinstance(w, UniformQuantizedType)
    reach = max(x.storage_max - x.zero_point, x.zero_point - x.storage_min)
    is_held = reach * -w.storage_min * math.prod(shapes[1][1:]) < 2**31
    assert (composite.components is None) == ((is_implied and is_held) or not has_sum)
