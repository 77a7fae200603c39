"""`convert-nn-to-kernel`: lowers `nn` and `quant` to plain integers and floats, with explicit zero points and
multipliers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    UnitAttr,
    i1,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir import registry
from qmlir.dialects.check.ops import ExpectCloseOp, ExpectEqOp
from qmlir.dialects.kernel.custom import CustomOp, custom_kernel_for, custom_kernels
from qmlir.dialects.kernel.lowering.lowering import Lowering, integer_types, is_unsigned, no_lowering, small_float_of
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.indexing.lower import gathered_slices
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import (
    CalibratedQuantizedType,
    Granularity,
    QuantizedType,
    StoredType,
    UniformQuantizedType,
    holds_nan,
)
from qmlir.interpreter.values import value_dtype
from qmlir.ir.builtin_types import as_integer, element_of, ranked_tensor, shape_of
from qmlir.ir.control_flow import CONTROL
from qmlir.ir.conversion import ConvertForwarding, Legality, TypeConversion, convert
from qmlir.ir.decomposition import Parts, results_given
from qmlir.ir.evaluation import evaluator_of
from qmlir.ir.interfaces import HeldElement
from qmlir.ir.limits import budget, over
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.signature import ELEMENT, NAME, REFUSES_NAN


def _bound_rows(ops: Iterable[Operation]) -> None:
    """States on products of quantized probabilities how much the integers of a row add up to.

    Lowering a softmax leaves no trace of the bound. Without it, 2048 probabilities in 16 bits by bytes need sums of 64
    bits; with it, 25 bits suffice.
    """
    for each in ops:
        softmax = each.lhs.owner if isinstance(each, MatMulOp) else None
        if not isinstance(each, MatMulOp) or not isinstance(softmax, SoftmaxOp):
            continue
        is_along_rows = softmax.axis.value.data in (-1, len(shape_of(softmax.result)) - 1)
        total = softmax.row_total() if is_along_rows else None
        if total is not None:
            each.lhs_total = IntegerAttr(total, i64)
            count("products with bounded rows")


def _parts_of(op: Operation, rewriter: PatternRewriter) -> Sequence[SSAValue] | None:
    """Returns the results of a composite's parts, inserted before it; `None` if it has none."""
    parts = Parts(op)
    results = decompose(op, parts)
    if results is not None:
        rewriter.insert(parts.operations)
        _bound_rows(parts.operations)
    return results


def _by_hand(op: Operation, at: Lowering) -> Sequence[SSAValue] | None:
    """Returns the results of a call of the custom kernel for the operation; `None` if there is none."""
    kernel = custom_kernel_for(op)
    if kernel is None:
        return None
    if evaluator_of(op) is None:
        raise at.error(
            f"cannot use kernel '{kernel.function}': it would be checked against the interpreter, which cannot "
            "evaluate this operation"
        )
    call = CustomOp.of(op, kernel, [at.value(operand) for operand in op.operands])
    at.insert(call)
    return call.results


def _check_size(at: Lowering, result: SSAValue) -> None:
    """Raises `DiagnosticError` for a result that exceeds any arena: a short text can declare it, before tables are
    built."""
    type_ = ranked_tensor(result.type)
    dtype = None if type_ is None else value_dtype(type_.get_element_type())
    if type_ is None or dtype is None or not type_.has_static_shape():
        return
    size = math.prod(type_.get_shape()) * dtype.itemsize
    if size > budget("arena-bytes"):
        raise at.error(f"result '{result.type}' is too large: its size in bytes is {over('arena-bytes', size)}")


@dataclass(frozen=True)
class Lower(RewritePattern):
    """Lowers an operation to the integer level with the function that its dialect or another package registered.

    A custom kernel for the operation has priority. A composite without a lowering is replaced with its parts, which are
    lowered one by one.
    """

    types: TypeConversion

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, DequantizeCastOp) and any(_gathers_stored(use.operation) for use in op.result.uses):
            return
        lowering = registry.lowerings().get(type(op), no_lowering)
        at = Lowering(op, rewriter, self.types)
        for result in op.results:
            _check_size(at, result)
        values = at.without_elements() or _by_hand(op, at)
        if values is None and (given := lowering(op, at)) is not None:
            values = results_given(op, lowering, given, self._is_accepted)
        if values is None and (values := _parts_of(op, rewriter)) is None:
            return
        casts = [self.types.restored(rewriter, value, old.type) for value, old in zip(values, op.results, strict=True)]
        rewriter.replace(op, [], casts)

    def _is_accepted(self, found: Attribute, wanted: Attribute) -> bool:
        """Returns True if the type of a result is that of the operation, at its own level or at the integer level."""
        return found in (wanted, self.types.converted(wanted))


def _attributes_of(type_: Attribute, is_quantized: bool, is_named: bool) -> DictionaryAttr:
    """Returns the attributes that a caller needs for an argument or result.

    They state the scale and zero point of stored integers, if the argument or result has a name for callers, that
    integers are unsigned, that one bit is not a Boolean, that integers are the bits of low-precision floats, and that
    NaN is rejected.
    """
    element = element_type(type_)
    is_scaled = isinstance(element, UniformQuantizedType) and element.granularity is Granularity.TENSOR
    if is_named and is_scaled and as_integer(storage_element(element)) != i1:  # which would read as a Boolean
        return DictionaryAttr({ELEMENT: element})
    element = element.held_as if isinstance(element, HeldElement) else element
    if isinstance(element, AnyFloat | CalibratedQuantizedType) and is_quantized:
        return DictionaryAttr({REFUSES_NAN: UnitAttr()})
    small = small_float_of(element)
    if small is not None:
        return DictionaryAttr({ELEMENT: small})
    integer = IntegerType(element.bits) if isinstance(element, StoredType) else as_integer(element)
    if integer is None or element == i1 or not (integer.bitwidth == 1 or is_unsigned(element)):
        return DictionaryAttr({})
    signedness = Signedness.UNSIGNED if is_unsigned(element) else Signedness.SIGNED
    return DictionaryAttr({ELEMENT: IntegerType(integer.bitwidth, signedness)})


def _takes_nan(op: QuantizeCastOp) -> bool:
    element = element_type(op.result.type)
    return isinstance(element, QuantizedType) and holds_nan(element)


def _state_elements(function: FuncOp) -> None:
    """Adds the attributes to the arguments and results of `function` that their new types do not express."""
    type_: FunctionType = function.function_type
    is_quantized = any(isinstance(op, QuantizeCastOp) and not _takes_nan(op) for op in function.walk())
    for name, types in (("arg_attrs", type_.inputs), ("res_attrs", type_.outputs)):
        old = function.arg_attrs if name == "arg_attrs" else function.res_attrs
        before = [DictionaryAttr({})] * len(types) if old is None else [*old]
        is_input = name == "arg_attrs"
        ports = zip(types, before, strict=True)
        added = [_attributes_of(each, is_quantized and is_input, NAME in entry.data) for each, entry in ports]
        if not any(each.data for each in added):
            continue
        joined = [DictionaryAttr({**a.data, **b.data}) for a, b in zip(before, added, strict=True)]
        function.properties[name] = ArrayAttr(joined)


def _gathers_stored(op: Operation) -> bool:
    """Returns True if `op` gathers dequantized integers, which can be dequantized after they are gathered."""
    cast = op.input.owner if isinstance(op, GatherOp) else None
    if not isinstance(cast, DequantizeCastOp) or not isinstance(element_of(cast.input), UniformQuantizedType):
        return False
    return 0 not in shape_of(op.results[0]) and custom_kernel_for(op) is None


@dataclass(frozen=True)
class LowerGatherOfStored(RewritePattern):
    """Gathers stored integers, and makes floats of the gathered ones only, so that programs hold no float table.

    The cast of the whole table is lowered afterwards, if anything else reads it.
    """

    types: TypeConversion

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GatherOp, rewriter: PatternRewriter, /) -> None:
        cast = op.input.owner
        if not _gathers_stored(op) or not isinstance(cast, DequantizeCastOp):
            return
        rewriter.replace(op, [], [gathered_slices(op, Lowering(op, rewriter, self.types), cast.input)])
        if cast.result.first_use is None:
            rewriter.erase(cast)
        else:
            rewriter.notify_op_modified(cast)


@dataclass(frozen=True)
class ConvertNnToKernel(ModulePass):
    """Lowers every `nn` and `quant` operation to the integer level: `kernel`, `linalg`, `tensor` and `arith`.

    No quantized types remain: values are stored as signless integers, and zero points, multipliers and limits become
    constants in the bodies of operations. Results are bit-identical, except for float contractions and float functions,
    whose errors are within the bounds in `docs/arithmetic.md`. Shapes must be static (`fix-shapes`).

    Before:

    ```mlir
    func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32> {
      %0 = quant.dcast %x : tensor<4x!quant.uniform<i8:f32, 0.5:3>> to tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4xi8>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : tensor<4xi8>) outs(%0 : tensor<4xf32>) {
      ^bb0(%q: i8, %old: f32):
        %2 = arith.extsi %q : i8 to i32
        %3 = arith.constant 3 : i32
        %4 = arith.subi %2, %3 : i32
        %5 = arith.constant 5.000000e-01 : f32
        %6 = arith.sitofp %4 : i32 to f32
        %7 = arith.mulf %5, %6 : f32
        linalg.yield %7 : f32
      } -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }
    ```
    """

    name = "convert-nn-to-kernel"

    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                _state_elements(function)
        _bound_rows(op.walk())
        types = integer_types()
        forwarded = (FuncOp, CallOp, ReturnOp, ExpectEqOp, ExpectCloseOp, *CONTROL, ExtractOp)
        legality = Legality(
            illegal_dialects=frozenset({"nn", "quant", "calib"}),
            illegal_operations=(*registry.lowerings(), *registry.decompositions(), *custom_kernels()),
            accepted="operations that a dialect or a package has a lowering or a kernel for",
            types=types,
        )
        patterns = [LowerGatherOfStored(types), Lower(types), ConvertForwarding(types, forwarded)]
        convert(op, patterns, legality, ctx)
